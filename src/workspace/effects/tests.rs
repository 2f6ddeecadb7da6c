//! Which changes are attributed to a command.

use std::rc::Rc;

use super::left_out::BULK_FILES;
use super::*;
use crate::workspace::testing::Tree;
use crate::workspace::tracking::{GitControlFiles, Tracking};
use crate::workspace::user_files::UserFileChangeKind;

/// A repository that tracks `src/`; every other file is uncommitted.
struct Listing(PathBuf);

impl Tracking for Listing {
    fn uncommitted(&self) -> anyhow::Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        let mut folders = vec![self.0.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let path = path.strip_prefix(&self.0)?.to_string_lossy().into_owned();
                    found.extend((!path.starts_with(".git/")).then_some(path));
                }
            }
        }
        Ok(found)
    }

    fn is_uncommitted(&self, path: &str) -> anyhow::Result<bool> {
        Ok(self.uncommitted()?.contains(path))
    }

    fn wrote(&self, _: &str) {}

    fn tracks_below(&self, folder: &str) -> anyhow::Result<bool> {
        Ok(folder == "src")
    }

    fn tracks(&self, _: &str) -> anyhow::Result<bool> {
        Ok(false)
    }

    fn would_run(&self, git_dir: &std::path::Path) -> anyhow::Result<Option<String>> {
        Ok(git_dir.join("runs").exists().then(|| "runs".to_owned()))
    }

    fn ignored(&self) -> anyhow::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn submodules(&self) -> anyhow::Result<BTreeSet<String>> {
        Ok(BTreeSet::from(["vendor/lib".to_owned()]))
    }

    fn acted_on(&self) -> anyhow::Result<GitControlFiles> {
        Ok(GitControlFiles::default())
    }
}

fn tree() -> Tree {
    Tree::with(|options| options.tracking = Some(Rc::new(Listing(options.root.clone()))))
}

#[test]
fn files_from_before_a_command_are_not_attributed_to_it() {
    let tree = tree();
    tree.put("mine", "a person's");
    let watch = watch(&tree.workspace.tree).unwrap();
    tree.put("mine", "still a person's");
    tree.put("made", "by the command");
    assert!(watch.end().unwrap().bulk.is_empty());
    assert_eq!(tree.workspace.written().paths(), ["made"]);
    assert!(tree.workspace.written().is_as_written("made"));
    tree.put("later", "a person's");
    take_left(&tree.workspace.tree).unwrap();
    assert_eq!(tree.workspace.written().paths(), ["made"]);
}

#[test]
fn a_persons_files_are_as_they_were_after_a_command() {
    let tree = tree();
    for name in ["changed", "gone", "untouched"] {
        tree.put(name, name);
    }
    let watch = watch(&tree.workspace.tree).unwrap();
    tree.put("changed", "by the command");
    std::fs::remove_file(tree.root().join("gone")).unwrap();
    watch.end().unwrap();
    assert_eq!([tree.get("changed"), tree.get("gone")], ["changed", "gone"]);
    let [changed, gone] = tree.workspace.command_effects().take_user_files().try_into().unwrap();
    assert_eq!([changed.path.as_str(), gone.path.as_str()], ["changed", "gone"]);
    let UserFileChangeKind::PutBack(Some(copy)) = changed.kind else { panic!("{changed:?}") };
    assert_eq!(std::fs::read_to_string(copy).unwrap(), "by the command");
    assert_eq!(gone.kind, UserFileChangeKind::PutBack(None));
    assert!(tree.workspace.written().paths().is_empty());
}

#[cfg(unix)]
#[test]
fn a_command_leaves_no_setuid_files_and_a_persons_own_stay() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let tree = tree();
    let set = |path: &str, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(tree.root().join(path), permissions).unwrap();
    };
    let mode = |path: &str| tree.root().join(path).metadata().unwrap().mode() & 0o7777;
    tree.put("mine", "a person's");
    set("mine", 0o4755);
    // The time of a change of the mode cannot be set, and a clock of a file system is coarse.
    let changed = std::time::Instant::now();
    while changed.elapsed() < 2 * repositories::COARSE {
        std::hint::spin_loop();
    }
    let watch = watch(&tree.workspace.tree).unwrap();
    for (path, bits) in [("made", 0o4755), ("deep/er/group", 0o2750), ("deep/both", 0o6711)] {
        tree.put(path, "by the command");
        set(path, bits);
    }
    set("deep", 0o2775);
    watch.end().unwrap();
    let modes = ["made", "deep/er/group", "deep/both", "mine", "deep"].map(mode);
    assert_eq!(modes, [0o755, 0o750, 0o711, 0o4755, 0o2775]);
    let told = tree.workspace.command_effects().take_user_files();
    assert!(told.iter().all(|change| change.kind == UserFileChangeKind::SetIdTaken), "{told:?}");
    assert_eq!(told.len(), 3);
}

/// Also those that changed places, one that lies in another, and one in the way of which a command
/// made something.
#[cfg(unix)]
#[test]
fn repositories_that_a_command_moved_are_where_they_were() {
    let tree = tree();
    for path in ["a", "b", "src/c", "src/c/d"] {
        tree.put(&format!("{path}/.git/HEAD"), path);
    }
    let watch = watch(&tree.workspace.tree).unwrap();
    let rename = |from: &str, to: &str| {
        std::fs::rename(tree.root().join(from), tree.root().join(to)).unwrap();
    };
    let moves = [("a", "x"), ("b", "a"), ("x", "b"), ("src/c/d", "d"), ("src", "moved")];
    moves.into_iter().for_each(|(from, to)| rename(from, to));
    tree.put("src/c/made", "by the command");
    watch.end().unwrap();
    for path in ["a", "b", "src/c", "src/c/d"] {
        assert_eq!(tree.get(&format!("{path}/.git/HEAD")), path);
    }
    assert_eq!(tree.get("moved/c/made"), "by the command");
}

/// The disk may be full, or a person may have cleared the state directory.
#[test]
fn a_persons_file_whose_copy_is_gone_is_left_alone() {
    let tree = tree();
    tree.put("mine", "a person's");
    let watch = watch(&tree.workspace.tree).unwrap();
    std::fs::remove_dir_all(tree.workspace.tree.state_dir.join("set-aside")).unwrap();
    tree.put("mine", "by the command, or by the person");
    watch.end().unwrap();
    assert_eq!(tree.get("mine"), "by the command, or by the person");
    let [told] = tree.workspace.command_effects().take_user_files().try_into().unwrap();
    assert_eq!(told.kind, UserFileChangeKind::NotPutBack(None));
}

#[test]
fn a_tools_file_stays_a_tools_after_a_formatter() {
    let tree = tree();
    assert!(tree.workspace.write("vendor/lib/a", "a").is_err(), "a submodule is not filled");
    tree.workspace.write("formatted", "a").unwrap();
    tree.workspace.write("edited", "a").unwrap();
    tree.put("edited", "by a person");
    let watch = watch(&tree.workspace.tree).unwrap();
    tree.put("formatted", "a\n");
    tree.put("edited", "by a person\n");
    watch.end().unwrap();
    assert!(tree.workspace.written().is_as_written("formatted"));
    assert!(!tree.workspace.written().is_as_written("edited"));
}

#[test]
fn effects_of_dropped_and_killed_commands_are_recorded() {
    let tree = tree();
    let watch = watch(&tree.workspace.tree).unwrap();
    tree.put("made", "x");
    drop(watch);
    assert_eq!(tree.workspace.written().paths(), ["made"]);
    std::mem::forget(super::watch(&tree.workspace.tree).unwrap());
    tree.put("more", "x");
    assert_eq!(tree.reopened().written().paths(), ["made", "more"]);
}

#[test]
fn files_created_long_after_a_crash_are_a_persons() {
    let tree = tree();
    tree.workspace.write("written", "a tool's").unwrap();
    std::mem::forget(super::watch(&tree.workspace.tree).unwrap());
    let note = std::fs::File::options().append(true).open(note_file(&tree.workspace.tree)).unwrap();
    note.set_modified(SystemTime::now() - 3 * BEAT).unwrap();
    tree.put("later", "a person's");
    tree.put("written", "a tool's, edited by a person");
    let reopened = tree.reopened();
    assert_eq!(reopened.written().paths(), ["written"]);
    assert!(!reopened.written().is_as_written("written"));
    assert!(!note_file(&tree.workspace.tree).exists());
}

#[test]
fn many_files_are_bulk_only_in_a_new_folder() {
    let tree = tree();
    let watch = watch(&tree.workspace.tree).unwrap();
    for n in 0..=BULK_FILES {
        tree.put(&format!("src/generated-{n}"), "");
        tree.put(&format!("src/vendor/lib/{n}"), "");
    }
    tree.put("small/one", "");
    assert_eq!(watch.end().unwrap().bulk, [("src/vendor".to_owned(), BULK_FILES + 1)]);
    let written = tree.workspace.written().paths();
    assert!(written.contains(&"src/generated-0".to_owned()));
    assert!(written.contains(&"small/one".to_owned()));
    assert!(!written.iter().any(|path| path.starts_with("src/vendor")));
    assert_eq!(
        tree.workspace.command_effects().bulk(),
        [("src/vendor".to_owned(), BULK_FILES + 1)]
    );
}
