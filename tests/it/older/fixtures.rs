//! Sessions of the release before, kept in one bundle: the refs, the folder J and the working tree
//! of every state they stopped in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::Sandbox;

/// Where the sandbox lay, in the files of J.
const ROOT: &str = "@ROOT@";
/// Commits of the working tree and of J, as long as a state is on its way.
const WORK: &str = "refs/kept/work";
const STATE: &str = "refs/kept/state";

/// The bundle.
pub fn bundle() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/older/sessions.bundle")
}

/// Git with a folder as its working tree, and an index of its own.
fn git_at(sandbox: &Sandbox, tree: &Path, args: &[&str]) -> String {
    let mut git = sandbox.command("git");
    git.env("GIT_DIR", sandbox.path(".git")).env("GIT_WORK_TREE", tree);
    git.env("GIT_INDEX_FILE", sandbox.root().join("kept-index")).current_dir(tree).args(args);
    output(git)
}

fn output(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Puts a state into a repository that collects them.
pub fn keep(sandbox: &Sandbox, collected: &Path, name: &str) {
    let j = sandbox.path(".git/cowork");
    rename_root(&j, &sandbox.root().display().to_string(), ROOT);
    let head = sandbox.git(&["symbolic-ref", "HEAD"]);
    for (tree, name) in [(sandbox.repo(), WORK), (j, STATE)] {
        git_at(sandbox, &tree, &["read-tree", "--empty"]);
        git_at(sandbox, &tree, &["add", "-A", "-f", "."]);
        let written = git_at(sandbox, &tree, &["write-tree"]);
        let commit = git_at(sandbox, &tree, &["commit-tree", "-m", &head, &written]);
        git_at(sandbox, &tree, &["update-ref", name, &commit]);
    }
    let mut git = Command::new("git");
    git.current_dir(collected).args(["fetch", "-q", "--no-tags"]).arg(sandbox.repo());
    output({
        git.arg(format!("refs/*:refs/older/{name}/*"));
        git
    });
}

/// Writes the bundle.
pub fn write(collected: &Path) {
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(collected).args(args);
        output(git)
    };
    git(&["repack", "-a", "-d", "-f", "-q", "--depth=50", "--window=250"]);
    git(&["bundle", "create", "-q", bundle().to_str().unwrap(), "--all"]);
}

/// A sandbox with a session as the release before left it.
pub fn older(name: &str) -> Sandbox {
    let sandbox = Sandbox::unborn(&[]);
    let wanted = format!("refs/older/{name}/*:refs/*");
    let bundle = bundle();
    let fetch = ["fetch", "-q", "--no-tags", "--update-head-ok", bundle.to_str().unwrap()];
    sandbox.git(&[&fetch[..], &[&wanted]].concat());
    let head = sandbox.git(&["log", "-1", "--format=%s", STATE]);
    sandbox.git(&["symbolic-ref", "HEAD", &head]);
    sandbox.git(&["reset", "-q", "--hard"]);
    sandbox.git(&["checkout", "-q", WORK, "--", "."]);
    sandbox.git(&["reset", "-q"]);
    let j = sandbox.path(".git/cowork");
    fs::create_dir_all(&j).unwrap();
    git_at(&sandbox, &j, &["read-tree", STATE]);
    git_at(&sandbox, &j, &["checkout-index", "-a", "-f"]);
    rename_root(&j, ROOT, &sandbox.root().display().to_string());
    for kept in [WORK, STATE] {
        sandbox.git(&["update-ref", "-d", kept]);
    }
    fs::remove_file(sandbox.path(".git/FETCH_HEAD")).ok();
    sandbox
}

/// Changes a path in all text files below a folder.
fn rename_root(folder: &Path, from: &str, to: &str) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            rename_root(&path, from, to);
        } else if let Ok(text) = fs::read_to_string(&path)
            && text.contains(from)
        {
            fs::write(&path, text.replace(from, to)).unwrap();
        }
    }
}
