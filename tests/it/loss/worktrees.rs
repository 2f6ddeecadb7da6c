//! Pain 9: what becomes of a linked working tree when its session is put away.

use super::{Belongings, keeps};
use crate::support::Sandbox;

/// A session in a working tree of its own, `../tree`.
fn linked() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", ".env\ntarget/\n");
    sandbox.commit_all("ignore");
    sandbox.auto(&["-w=../tree", "--stop-after", "idea"]).exits(0);
    sandbox
}

fn trees(sandbox: &Sandbox) -> usize {
    sandbox.git(&["worktree", "list"]).lines().count()
}

#[test]
fn with_ignored_files_it_stays_on_no_branch_and_blocks_nothing() {
    let ways: [(&[&str], &[&str]); 2] =
        [(&["archive", "todo"], &["restore", "todo"]), (&["delete", "todo", "--yes"], &["undo"])];
    for (command, back) in ways {
        let sandbox = linked();
        sandbox.write("../tree/.env", "SECRET=mine\n");
        sandbox.write("../tree/target/debug/todo", "built\n");
        let told = keeps(&sandbox, command, 0);
        assert!(told.contains(".env, target/"), "{told}");
        assert!(told.contains("git worktree remove"), "{told}");
        assert!(sandbox.refs("refs/heads/cowork").is_empty(), "{command:?}: it was not put away");
        assert_eq!(sandbox.read("../tree/.env"), "SECRET=mine\n");
        assert_eq!(sandbox.read("../tree/target/debug/todo"), "built\n");
        let inside = |args: &[&str]| sandbox.git(&[&["-C", "../tree"], args].concat());
        assert_eq!(inside(&["rev-parse", "--abbrev-ref", "HEAD"]), "HEAD");
        assert_eq!(inside(&["status", "--porcelain"]), "");
        // It is in nobody's way: the session comes back and goes on.
        keeps(&sandbox, back, 0);
        let resume = ["resume", "todo", "--review", "auto", "--stop-after", "prd"];
        keeps(&sandbox, &resume, 0);
        assert_eq!(trees(&sandbox), 2);
        // What was said works.
        sandbox.git(&["worktree", "remove", "../tree"]);
        assert_eq!(trees(&sandbox), 1);
    }
}

#[test]
fn with_anything_git_knows_of_nothing_is_begun() {
    for (path, text) in [("notes.txt", "mine\n"), ("README.md", "# Mine\n")] {
        let sandbox = linked();
        sandbox.write("../tree/target/debug/todo", "built\n");
        sandbox.write(&format!("../tree/{path}"), text);
        for command in ["archive", "delete"] {
            let told = keeps(&sandbox, &[command, "todo"], 5);
            assert!(told.contains(path) && !told.contains("target"), "{told}");
            assert_eq!(sandbox.read(&format!("../tree/{path}")), text);
            assert!(sandbox.refs("refs/cowork/archive").is_empty(), "something was begun");
            assert!(sandbox.refs("refs/cowork/attempts").is_empty(), "something was begun");
        }
    }
}

#[test]
fn what_git_does_not_remove_stays() {
    let sandbox = linked();
    sandbox.git(&["worktree", "lock", "../tree"]);
    let told = keeps(&sandbox, &["archive", "todo"], 0);
    assert!(told.contains("git cannot remove it"), "{told}");
    assert_eq!(sandbox.refs("refs/cowork/archive"), ["refs/cowork/archive/todo"]);
    assert!(sandbox.exists("../tree/README.md"));

    let sandbox = Sandbox::new();
    sandbox.git(&["init", "-q", "../library"]);
    sandbox.git(&["-C", "../library", "commit", "-q", "--allow-empty", "-m", "library"]);
    sandbox.git(&["submodule", "--quiet", "add", "../library", "vendor/library"]);
    sandbox.commit_all("a submodule");
    sandbox.auto(&["-w=../tree", "--stop-after", "idea"]).exits(0);
    sandbox.git(&["-C", "../tree", "submodule", "--quiet", "update", "--init"]);
    keeps(&sandbox, &["delete", "todo", "--yes"], 0);
    assert!(sandbox.exists("../tree/vendor/library/.git"));
    keeps(&sandbox, &["undo"], 0);
}

#[test]
fn clean_it_goes_and_the_session_comes_back_without_it() {
    let sandbox = linked();
    let before = Belongings::of(&sandbox);
    let told = sandbox.cowork(&["archive", "todo"]).exits(0).stderr;
    assert!(!sandbox.exists("../tree"), "{told}");
    before.assert_kept(&sandbox, &told);
    keeps(&sandbox, &["restore", "todo"], 0);
}

/// A working tree that is not there may be on a disk that is not: only the person knows.
#[test]
fn one_that_is_not_there_is_named_with_the_fix() {
    let sandbox = linked();
    std::fs::remove_dir_all(sandbox.path("../tree")).unwrap();
    let resume = ["resume", "todo", "--review", "auto", "--stop-after", "prd"];
    for args in [&["archive", "todo"][..], &["delete", "todo", "--yes"], &resume] {
        let told = keeps(&sandbox, args, 5);
        assert!(told.contains("is not there") && told.contains("git worktree prune"), "{told}");
    }
    keeps(&sandbox, &["status", "todo"], 0);
    sandbox.git(&["worktree", "prune"]);
    keeps(&sandbox, &resume, 0);
}
