//! Refused paths, and the messages.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use super::*;
use crate::workspace::RefusalKind;
use crate::workspace::testing::Tree;

fn read(tree: &Tree, path: &str) -> Result<String, Refusal> {
    tree.workspace.read(path, None, None)
}

#[track_caller]
fn guarded(result: Result<String, Refusal>, says: &str) {
    let refusal = result.unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Guard, "{refusal}");
    assert!(refusal.message.contains(says), "{refusal}");
}

#[test]
fn paths_out_of_the_tree_are_refused() {
    let tree = Tree::new();
    for path in ["/etc/passwd", "/", "C:\\x", "c:/x", "\\\\host\\x", "~/x"] {
        guarded(read(&tree, path), "Security: Absolute paths are not allowed");
        guarded(tree.workspace.write(path, ""), "Security: Absolute paths are not allowed");
    }
    let parent = "Security: Parent directory access (..) is not allowed";
    for path in ["..", "../outside", "a/../b", "./../x"] {
        assert_eq!(read(&tree, path).unwrap_err().message, parent);
        assert_eq!(tree.workspace.write(path, "").unwrap_err().message, parent);
    }
    guarded(tree.workspace.write("a\nb", ""), "Control characters");
    tree.workspace.write("a..b/..c", "x").unwrap();
    assert_eq!(tree.get("a..b/..c"), "x");
}

#[test]
fn absolute_paths_below_the_root_are_accepted() {
    let tree = Tree::new();
    tree.put("src/a", "text");
    let path = tree.root().join("src/a");
    assert!(read(&tree, path.to_str().unwrap()).unwrap().starts_with("src/a, "));
    assert!(read(&tree, &format!("{}-x/a", tree.root().display())).is_err());
}

#[test]
fn dot_git_is_refused_in_any_spelling() {
    let tree = Tree::new();
    symlink(".git", tree.root().join("link")).unwrap();
    symlink(".git/config", tree.root().join("config")).unwrap();
    for path in [
        ".git/config",
        "./.git/config",
        ".GIT/config",
        ".git./config",
        ".git /config",
        "git~1/config",
        ".g\u{200c}it/config",
        "sub/.Git/config",
        ".git::$INDEX_ALLOCATION/config",
        "a\\.git\\config",
        "link/config",
        "config",
        "link",
    ] {
        guarded(read(&tree, path), ".git is not allowed");
    }
    guarded(tree.workspace.write("link/hooks/pre-commit", "x"), ".git is not allowed");
    guarded(tree.workspace.write("config", "x"), ".git is not allowed");
    guarded(tree.workspace.delete("link/config"), ".git is not allowed");
    guarded(tree.workspace.list("link", None, None), ".git is not allowed");
    guarded(tree.workspace.search("s", ".git", None), ".git is not allowed");
    std::fs::hard_link(tree.root().join(".git/config"), tree.root().join("hard")).unwrap();
    guarded(read(&tree, "hard"), ".git is not allowed");
    guarded(tree.edit("hard", "s", "x"), ".git is not allowed");
    assert!(tree.workspace.search("secret", ".", None).unwrap().starts_with("no match"));
    assert_eq!(tree.get(".git/config"), "secret");
    tree.put("digit~x", "");
    tree.put(".gitignore", "");
    assert!(read(&tree, "digit~x").is_ok() && read(&tree, ".gitignore").is_ok());
}

#[test]
fn links_are_followed_within_the_tree_only() {
    let tree = Tree::new();
    tree.put("real", "text\n");
    symlink("real", tree.root().join("inside")).unwrap();
    symlink("../outside", tree.root().join("out")).unwrap();
    symlink(tree.root().parent().unwrap().join("outside"), tree.root().join("abs")).unwrap();
    symlink("/proc/self/root/etc", tree.root().join("proc")).unwrap();
    symlink("..", tree.root().join("up")).unwrap();
    symlink("nowhere", tree.root().join("dangling")).unwrap();
    assert!(read(&tree, "inside").unwrap().ends_with("text\n"));
    for path in ["out", "abs", "proc/passwd", "up/outside", "up/new"] {
        guarded(tree.workspace.write(path, "x"), "leads out");
        if path != "up/new" {
            guarded(read(&tree, path), "leads out");
        }
    }
    assert!(read(&tree, "dangling").unwrap_err().message.contains("leads nowhere"));
    assert!(tree.workspace.write("dangling", "x").unwrap_err().message.contains("nowhere"));
    tree.edit("inside", "text", "new").unwrap();
    assert_eq!(tree.get("real"), "new\n");
    assert!(tree.root().join("inside").is_symlink());
    tree.workspace.delete("inside").unwrap();
    assert!(tree.root().join("real").exists());
}

#[test]
fn only_regular_files_are_opened() {
    let tree = Tree::new();
    let socket = UnixListener::bind(tree.root().join("socket")).unwrap();
    let fifo = tree.root().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    for path in ["socket", "fifo"] {
        guarded(read(&tree, path), "not a regular file");
        guarded(tree.workspace.write(path, "x"), "not a regular file");
        guarded(tree.workspace.delete(path), "not a regular file");
    }
    drop(socket);
    tree.put("dir/a", "");
    assert!(read(&tree, "dir").unwrap_err().message.contains("is a directory"));
    assert!(tree.workspace.delete("dir").unwrap_err().message.contains("is a directory"));
    assert!(tree.workspace.write("dir/a/b", "x").is_err());
}

#[test]
fn only_the_sessions_own_documents_in_cowork_can_be_read() {
    let tree = Tree::new();
    tree.put(".cowork/sessions/todo/prd.md", "text");
    tree.put(".cowork/sessions/todo-2/prd.md", "text");
    tree.put(".cowork/sessions/todo/changes/dates/session.json", "text");
    tree.put(".cowork/config.toml", "text");
    assert!(read(&tree, ".cowork/sessions/todo/prd.md").is_ok());
    let own = tree.workspace.write(".cowork/sessions/todo/prd.md", "x");
    guarded(own, "written with their own tools");
    for path in [
        ".cowork/config.toml",
        ".cowork/sessions/todo-2/prd.md",
        ".cowork",
        ".Cowork/x",
        ".cowork./config.toml",
        ".co\u{200c}work/config.toml",
        "COWORK~1/config.toml",
    ] {
        guarded(read(&tree, path), ".cowork is not allowed");
        guarded(tree.workspace.write(path, "x"), ".cowork is not allowed");
    }
    for path in ["changes/dates/session.json", "Changes/dates/session.json", "changes"] {
        let path = format!(".cowork/sessions/todo/{path}");
        guarded(read(&tree, &path), ".cowork is not allowed");
        guarded(tree.workspace.write(&path, "x"), "written with their own tools");
    }
    let listed = tree.workspace.list(".cowork/sessions/todo", None, None).unwrap();
    assert_eq!(listed, ".cowork/sessions/todo/prd.md");
    let found = tree.workspace.search("text", ".cowork/sessions/todo", None).unwrap();
    assert_eq!(found, ".cowork/sessions/todo/prd.md:1: text");
}

#[test]
fn nested_repositories_are_read_only() {
    let tree = Tree::new();
    tree.put("vendor/lib/.git", "gitdir: ../../.git/modules/lib\n");
    tree.put("vendor/lib/src/a", "text\n");
    tree.put("vendor/own", "text\n");
    assert!(read(&tree, "vendor/lib/src/a").is_ok());
    for path in ["vendor/lib/src/a", "vendor/lib/new", "vendor/lib/new/b"] {
        guarded(tree.workspace.write(path, "x"), "a separate repository");
    }
    guarded(tree.edit("vendor/lib/src/a", "text", "x"), "a separate repository");
    guarded(tree.workspace.delete("vendor/lib/src/a"), "a separate repository");
    for path in ["vendor/lib/.git", "vendor/lib/.GIT/config"] {
        guarded(read(&tree, path), ".git is not allowed");
        guarded(tree.workspace.delete(path), ".git is not allowed");
    }
    tree.edit("vendor/own", "text", "new").unwrap();
}

#[test]
fn a_persons_files_are_protected_until_allowed() {
    let tree = Tree::new();
    tree.put("mine", "text");
    symlink("mine", tree.root().join("link")).unwrap();
    tree.workspace.protection().protect(["mine".to_owned(), "new".to_owned()]);
    for path in ["mine", "./mine", "link", "new"] {
        let refusal = tree.workspace.write(path, "x").unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Protected);
        assert!(refusal.message.contains("has uncommitted changes: "));
    }
    assert!(tree.edit("mine", "text", "x").is_err());
    assert!(tree.workspace.delete("mine").is_err());
    assert!(read(&tree, "mine").is_ok());
    tree.workspace.protection().allow("mine");
    tree.workspace.write("mine", "x").unwrap();
}
