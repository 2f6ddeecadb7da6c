//! Repositories of other shapes: a whole session, back, forward, away and back again.

use super::{Belongings, keeps, scatter};
use crate::support::Sandbox;

/// Goes through everything a session can have done to it, with other work lying about.
#[track_caller]
fn there_and_back(sandbox: &Sandbox) {
    keeps(sandbox, &NEW, 0);
    keeps(sandbox, &["revert", "--to", "plan", "--no-run"], 0);
    keeps(sandbox, &["undo"], 0);
    keeps(
        sandbox,
        &["resume", "--goto-stage", "coding", "--review", "auto", "--stop-after", "coding"],
        0,
    );
    keeps(sandbox, &["archive"], 0);
    keeps(sandbox, &["restore", "todo"], 0);
    keeps(sandbox, &["delete", "todo", "--yes"], 0);
    keeps(sandbox, &["undo"], 0);
    keeps(sandbox, &["verify", "todo"], 0);
    assert_eq!(sandbox.cowork(&["status", "todo", "--json"]).json()["stage"], "check");
    in_a_tree_of_its_own(sandbox);
}

/// The same for a session in a linked working tree, `../side`, which is left there clean.
#[track_caller]
fn in_a_tree_of_its_own(sandbox: &Sandbox) {
    let uncommitted = sandbox.git(&["status", "--porcelain=v2", "-z"]);
    let new = ["new", "-n", "side", "-w=../side", "another list", "--review", "auto"];
    keeps(sandbox, &[&new[..], &["--stop-after", "coding"]].concat(), 0);
    let there = |args: &[&str], code: i32| {
        let before = Belongings::of(sandbox);
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_git-cowork"));
        let output = command.current_dir(sandbox.path("../side")).args(args).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        before.assert_kept(sandbox, &format!("{args:?}\n{told}"));
        assert_eq!(output.status.code(), Some(code), "{args:?}\n{told}");
    };
    there(&["revert", "--to", "design", "--no-run"], 0);
    there(&["undo"], 0);
    there(&["restore", "side", "2"], 0);
    there(&["resume", "--review", "auto", "--stop-after", "coding"], 0);
    assert_eq!(sandbox.git(&["-C", "../side", "status", "--porcelain"]), "");
    assert_eq!(sandbox.git(&["status", "--porcelain=v2", "-z"]), uncommitted);
}

const NEW: [&str; 8] = [
    "new",
    "-n",
    "todo",
    "a todo list for the terminal",
    "--review",
    "auto",
    "--stop-after",
    "coding",
];

fn with_files() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.log\n.env\nbuild/\n");
    for name in ["gone.txt", "kept.txt", "mode.sh", "moved.txt", "staged.txt"] {
        sandbox.write(name, &format!("{name}\n"));
    }
    sandbox.commit_all("other people's");
    sandbox
}

#[test]
fn with_a_submodule_that_has_changes() {
    let sandbox = with_files();
    sandbox.git(&["init", "-q", "../library"]);
    sandbox.git(&["-C", "../library", "commit", "-q", "--allow-empty", "-m", "library"]);
    sandbox.git(&["submodule", "--quiet", "add", "../library", "vendor/library"]);
    sandbox.commit_all("a submodule");
    sandbox.write("vendor/library/mine.txt", "mine, in the submodule\n");
    sandbox.git(&["-C", "vendor/library", "commit", "-q", "--allow-empty", "-m", "ahead"]);
    let inner = sandbox.git(&["-C", "vendor/library", "rev-parse", "HEAD"]);
    scatter(&sandbox);
    there_and_back(&sandbox);
    assert_eq!(sandbox.read("vendor/library/mine.txt"), "mine, in the submodule\n");
    assert_eq!(sandbox.git(&["-C", "vendor/library", "rev-parse", "HEAD"]), inner);
    // What the branch says of it is what others have.
    let theirs = sandbox.git(&["rev-parse", "main:vendor/library"]);
    for branch in ["todo", "side"] {
        let path = format!("cowork/{branch}:vendor/library");
        assert_eq!(sandbox.git(&["rev-parse", &path]), theirs, "{branch}");
    }
}

#[test]
fn with_a_repository_inside() {
    let sandbox = with_files();
    sandbox.git(&["init", "-q", "inner"]);
    sandbox.write("inner/mine.txt", "mine, in a repository of its own\n");
    scatter(&sandbox);
    there_and_back(&sandbox);
    assert_eq!(sandbox.read("inner/mine.txt"), "mine, in a repository of its own\n");
}

#[test]
fn in_a_sparse_cone() {
    let sandbox = with_files();
    sandbox.write("inside/x.txt", "x\n");
    sandbox.write("outside/y.txt", "y\n");
    sandbox.commit_all("two folders");
    sandbox.git(&["sparse-checkout", "set", "--cone", "inside", ".cowork", "lib"]);
    scatter(&sandbox);
    sandbox.write("outside/mine.txt", "mine, outside the cone\n");
    there_and_back(&sandbox);
    assert_eq!(sandbox.read("outside/mine.txt"), "mine, outside the cone\n");
    for (branch, tree) in [("todo", "."), ("side", "../side")] {
        assert!(!sandbox.exists(&format!("{tree}/outside/y.txt")), "the cone was widened");
        assert_eq!(sandbox.blob(&format!("cowork/{branch}"), "outside/y.txt"), "y\n");
    }
}

#[test]
fn with_a_filter_that_keeps_pointers() {
    let sandbox = with_files();
    let store = sandbox.root().join("store");
    std::fs::create_dir(&store).unwrap();
    let store = store.display();
    let bin = sandbox.root().join("bin");
    sandbox.executable(
        &bin.join("lfs-clean"),
        &format!(
            "cat >'{store}/new'; id=$(git hash-object '{store}/new'); \
                  mv '{store}/new' '{store}/'$id; echo pointer $id"
        ),
    );
    sandbox.executable(
        &bin.join("lfs-smudge"),
        &format!("read word id; if [ \"$word\" = pointer ]; then cat '{store}/'$id; fi"),
    );
    sandbox.git(&["config", "filter.fake.clean", "lfs-clean"]);
    sandbox.git(&["config", "filter.fake.smudge", "lfs-smudge"]);
    sandbox.git(&["config", "filter.fake.required", "true"]);
    sandbox.write(".gitattributes", "*.bin filter=fake\n");
    sandbox.write("big.bin", "big\n");
    sandbox.write("other.bin", "other\n");
    sandbox.commit_all("large files");
    assert!(sandbox.blob("HEAD", "big.bin").starts_with("pointer "));
    scatter(&sandbox);
    sandbox.write("big.bin", "big, and changed\n");
    there_and_back(&sandbox);
    assert_eq!(sandbox.read("big.bin"), "big, and changed\n");
    for (branch, tree) in [("todo", "."), ("side", "../side")] {
        assert_eq!(sandbox.read(&format!("{tree}/other.bin")), "other\n");
        let pointer = sandbox.blob(&format!("cowork/{branch}"), "other.bin");
        assert!(pointer.starts_with("pointer "), "{branch}: {pointer}");
    }
}

#[test]
fn with_hooks_kept_in_the_tree() {
    let sandbox = with_files();
    for hook in ["pre-commit", "post-checkout", "post-commit", "commit-msg"] {
        let path = sandbox.path(".husky").join(hook);
        sandbox.executable(&path, "echo \"$0\" >>\"$(git rev-parse --git-common-dir)/ran\"");
    }
    sandbox.git(&["config", "core.hooksPath", ".husky"]);
    sandbox.commit_all("hooks");
    scatter(&sandbox);
    there_and_back(&sandbox);
    let ran = sandbox.read(".git/ran");
    assert!(ran.contains("pre-commit"), "{ran}");
    // What is refused runs none.
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write(".git/ran", "");
    sandbox.cowork(&["resume", "side", "--review", "auto"]).exits(5).says("side");
    assert_eq!(sandbox.read(".git/ran"), "");
}

#[test]
fn with_crlf_line_endings() {
    for settings in ["* text=auto eol=crlf\n", "* -text\n*.txt text eol=crlf\n"] {
        let sandbox = with_files();
        sandbox.write(".gitattributes", settings);
        sandbox.git(&["add", "--renormalize", "."]);
        sandbox.commit_all("line endings");
        sandbox.git(&["rm", "-q", "-r", "--cached", "."]);
        sandbox.git(&["reset", "-q", "--hard"]);
        scatter(&sandbox);
        sandbox.write("mixed.txt", "one\r\ntwo\n");
        there_and_back(&sandbox);
        assert_eq!(sandbox.read("mixed.txt"), "one\r\ntwo\n");
        for (branch, tree) in [("todo", "."), ("side", "../side")] {
            assert_eq!(sandbox.read(&format!("{tree}/kept.txt")), "kept.txt\r\n");
            assert_eq!(sandbox.blob(&format!("cowork/{branch}"), "kept.txt"), "kept.txt\n");
        }
    }
}

#[test]
fn in_a_shallow_clone() {
    let mut sandbox = with_files();
    sandbox.write("more.txt", "more\n");
    sandbox.commit_all("more");
    let url = format!("file://{}", sandbox.repo().display());
    sandbox.git(&["clone", "-q", "--depth", "1", &url, "../shallow"]);
    std::fs::rename(sandbox.repo(), sandbox.root().join("origin")).unwrap();
    std::fs::rename(sandbox.root().join("shallow"), sandbox.repo()).unwrap();
    sandbox.enter("");
    scatter(&sandbox);
    assert_eq!(sandbox.git(&["rev-parse", "--is-shallow-repository"]), "true");
    there_and_back(&sandbox);
    assert_eq!(sandbox.git(&["rev-parse", "--is-shallow-repository"]), "true");
}

#[test]
fn with_a_branch_named_like_the_prefix() {
    let sandbox = with_files();
    sandbox.git(&["branch", "cowork"]);
    scatter(&sandbox);
    keeps(&sandbox, &NEW, 5);
    sandbox.git(&["config", "cowork.project.branchprefix", "session"]);
    there_and_back(&sandbox);
}

#[test]
fn with_paths_of_every_kind() {
    let sandbox = with_files();
    let names = [
        "a file",
        "new\nline",
        "tab\there",
        "quote\"d",
        "back\\slash",
        "\u{fc}ml\u{e4}ut",
        "\u{65e5}\u{672c}/\u{8a9e}.txt",
        "-rf",
        "--force",
        "*",
        "[a]",
        ":(top)x",
        ":!x",
        "~",
        "$HOME",
        " lead",
        "trail ",
        "#x",
        "!x",
        "dir with\nnewline/file",
    ];
    for name in names {
        sandbox.write(name, "theirs\n");
    }
    sandbox.commit_all("names");
    scatter(&sandbox);
    for name in names {
        sandbox.write(name, &format!("mine: {name}\n"));
        sandbox.write(&format!("{name}.untracked"), &format!("untracked: {name}\n"));
    }
    sandbox.git(&["add", "-u", "--", ":(literal)*", ":(literal)-rf"]);
    there_and_back(&sandbox);
    for name in names {
        assert_eq!(sandbox.read(name), format!("mine: {name}\n"));
    }
}

#[test]
fn with_links_in_place_of_files_and_folders() {
    let sandbox = with_files();
    std::fs::create_dir(sandbox.root().join("outside")).unwrap();
    std::fs::write(sandbox.root().join("outside/store.sh"), "outside\n").unwrap();
    scatter(&sandbox);
    std::os::unix::fs::symlink("../outside", sandbox.path("away")).unwrap();
    std::os::unix::fs::symlink("nowhere", sandbox.path("dangling")).unwrap();
    std::fs::remove_file(sandbox.path("kept.txt")).unwrap();
    std::os::unix::fs::symlink("README.md", sandbox.path("kept.txt")).unwrap();
    there_and_back(&sandbox);
    // The folder the code will come to is a link out of the tree.
    let sandbox = with_files();
    std::fs::create_dir(sandbox.root().join("outside")).unwrap();
    std::fs::write(sandbox.root().join("outside/store.sh"), "outside\n").unwrap();
    std::os::unix::fs::symlink("../outside", sandbox.path("lib")).unwrap();
    let before = Belongings::of(&sandbox);
    let told = sandbox.cowork(&NEW);
    before.assert_kept(&sandbox, &told.stderr);
    let outside = std::fs::read_to_string(sandbox.root().join("outside/store.sh")).unwrap();
    assert_eq!(outside, "outside\n");
}
