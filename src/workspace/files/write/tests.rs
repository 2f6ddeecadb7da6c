//! Writes, the journal, and saved copies.

use super::*;
use crate::workspace::files::content;
use crate::workspace::testing::Tree;

#[test]
fn a_write_reports_its_effect() {
    let tree = Tree::new();
    let write = |text| tree.workspace.write("a/b/c.txt", text).unwrap();
    assert_eq!(write("1\n2\n"), "created a/b/c.txt (2 lines)");
    assert_eq!(write("1\n"), "wrote a/b/c.txt (1 lines)");
    assert!(write("1\n").starts_with("unchanged"));
    assert_eq!(std::fs::read_dir(tree.root().join("a/b")).unwrap().count(), 1);
    let huge = "x".repeat(WHOLE_FILE_MAX as usize + 1);
    assert!(tree.workspace.write("huge", &huge).unwrap_err().message.contains("2 MiB"));
    tree.put("huge", &huge);
    assert!(tree.edit("huge", "x", "y").is_err());
}

#[cfg(unix)]
#[test]
fn the_mode_is_kept_and_hard_links_are_not_written_through() {
    use std::os::unix::fs::PermissionsExt as _;
    let tree = Tree::new();
    tree.put("run.sh", "old");
    let path = tree.root().join("run.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o751)).unwrap();
    std::fs::hard_link(&path, tree.root().join("twin")).unwrap();
    tree.workspace.write("run.sh", "new").unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o751);
    assert_eq!(tree.get("twin"), "old");
    tree.edit("run.sh", "new", "newer").unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o751);
}

#[test]
fn placeholders_for_code_are_refused_unless_already_there() {
    let tree = Tree::new();
    for line in [
        "// ... rest of the code unchanged ...",
        "    # ... existing code ...",
        "/* rest of file remains the same */",
        "<!-- ... rest of the file ... -->",
        "... existing code ...",
        "// … rest of code",
        "// ... other methods ...",
        "# ... imports unchanged",
        "{/* ... remaining props ... */}",
        "-- rest of the class stays",
    ] {
        let refusal = tree.workspace.write("a", &format!("x\n{line}\n")).unwrap_err();
        assert!(refusal.message.contains("line 2 is a placeholder for code"), "{refusal}");
        tree.put("b", "x\n");
        assert!(tree.edit("b", "x", line).is_err());
        tree.workspace.read_tracker().forget();
        tree.put("c", &format!("{line}\nzz\n"));
        tree.edit("c", "zz", &format!("y\n{line}")).unwrap();
    }
    for line in [
        "// existing code paths that need a lock are listed in LOCKS.md",
        "x = '...'",
        "* rest",
        "// other platforms, such as ...",
        "# unchanged",
        "...args",
        "print(1, ...)",
    ] {
        tree.workspace.write("d", line).unwrap();
    }
}

#[test]
fn the_journal_survives_and_distinguishes_tools_from_people() {
    let tree = Tree::new();
    tree.put("old", "before");
    tree.put("gone", "before");
    tree.workspace.write("old", "by a tool").unwrap();
    tree.workspace.write("new", "by a tool").unwrap();
    tree.workspace.delete("gone").unwrap();
    let next = tree.reopened();
    assert_eq!(next.written().paths(), ["gone", "new", "old"]);
    assert!(next.written().paths().iter().all(|path| next.written().is_as_written(path)));
    tree.put("new", "by a person");
    tree.put("gone", "by a person");
    assert!(!next.written().is_as_written("new") && !next.written().is_as_written("gone"));
    assert!(!next.written().is_as_written("never written"));
    next.written().adopt(&["new".to_owned()]).unwrap();
    assert!(next.written().is_as_written("new"));
    next.written()
        .forget_all_but(&["new".to_owned(), "old".to_owned(), "never".to_owned()])
        .unwrap();
    assert_eq!(tree.reopened().written().paths(), ["new", "old"]);
    next.written().forget(&["new".to_owned(), "gone".to_owned()]).unwrap();
    assert_eq!(tree.reopened().written().paths(), ["old"]);
    next.written().clear().unwrap();
    assert!(tree.reopened().written().entries().is_empty());
}

#[test]
fn a_crash_between_journal_and_rename_leaves_a_known_version() {
    let tree = Tree::new();
    tree.put("src/a", "before");
    let before = Some(Fingerprint::of(b"before"));
    tree.workspace.tree.note("src/a", Some(Fingerprint::of(b"after")), before).unwrap();
    let temporary = format!("src/{}", content::temporary_name("a"));
    tree.put(&temporary, "aft");
    let next = tree.reopened();
    assert!(next.written().is_as_written("src/a"), "the write never happened");
    assert!(!tree.root().join(temporary).exists());
    tree.put("src/a", "after");
    assert!(next.written().is_as_written("src/a"), "the write happened");
    tree.put("src/a", "aft");
    assert!(!next.written().is_as_written("src/a"));
}

#[test]
fn a_broken_journal_makes_every_file_a_persons() {
    let tree = Tree::new();
    tree.workspace.write("a", "x").unwrap();
    let state = tree.root().parent().unwrap().join("state/todo/written.json");
    std::fs::write(state, "{").unwrap();
    assert!(!tree.reopened().written().is_as_written("a"));
}

#[test]
fn a_write_that_cannot_be_recorded_is_refused() {
    let tree = Tree::new();
    std::fs::remove_dir_all(tree.root().parent().unwrap().join("state")).unwrap();
    assert!(tree.workspace.write("a", "x").unwrap_err().message.contains("was not touched"));
    assert!(!tree.root().join("a").exists());
}
