//! Sessions whose history went through other tools, and repositories laid out in other ways.

use std::fs;

use crate::support::Sandbox;

fn clone(sandbox: &mut Sandbox, options: &[&str], place: &str) {
    let url = sandbox.repo().display().to_string();
    sandbox.git(&[&["clone", "-q"], options, &[&url, place]].concat());
    sandbox.enter(place);
    sandbox.git(&["config", "user.name", "Ana Example"]);
    sandbox.git(&["config", "user.email", "ana@example.org"]);
}

/// The commits of stages that change nothing are mailed with a signature in their message.
#[test]
fn a_session_that_was_mailed_can_be_merged() {
    let mut sandbox = Sandbox::new();
    sandbox.auto(&[]).exits(0);
    let mail = sandbox.git(&["format-patch", "--always", "--stdout", "main..cowork/todo"]);
    let path = sandbox.root().join("mail");
    fs::write(&path, mail + "\n").unwrap();
    clone(&mut sandbox, &["--single-branch", "-b", "main"], "../clone");
    sandbox.git(&["remote", "remove", "origin"]);
    sandbox.git(&["switch", "-q", "-c", "cowork/todo"]);
    sandbox.git(&["am", "-q", "--empty=keep", path.to_str().unwrap()]);
    let status = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(!status.contains("in a later commit"), "{status}");
    sandbox.cowork(&["verify", "--fix"]).exits(0);
    sandbox.cowork(&["merge"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn a_session_whose_base_was_rewritten_is_read_from_its_own_commits() {
    for stop in ["plan", "delivery"] {
        let sandbox = Sandbox::new();
        sandbox.auto(&["--stop-after", stop]).exits(0);
        if stop == "delivery" {
            sandbox.cowork(&["merge"]).exits(0);
        }
        let rewrite = "GIT_AUTHOR_EMAIL=new@example.org";
        let all = ["--tag-name-filter", "cat", "--", "--all"];
        sandbox.git(&[&["filter-branch", "-f", "--env-filter", rewrite][..], &all].concat());
        for old in sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/original"]).lines() {
            sandbox.git(&["update-ref", "-d", old]);
        }
        sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
        sandbox.git(&["gc", "-q", "--prune=now"]);
        let stat = sandbox.cowork(&["diff", "todo", "--stat"]).exits(0).stdout;
        assert!(stat.contains("prd.md") && !stat.contains("README.md"), "{stat}");
        sandbox.cowork(&["verify", "todo"]).exits(0);
        if stop == "plan" {
            sandbox.cowork(&["resume", "todo", "--review", "auto"]).exits(0);
            sandbox.cowork(&["merge"]).exits(0);
        }
    }
}

/// git says that the branch of a bare repository's HEAD is checked out there.
#[test]
fn work_in_a_worktree_of_a_bare_clone_can_be_merged() {
    let mut sandbox = Sandbox::new();
    clone(&mut sandbox, &["--bare"], "../bare.git");
    sandbox.git(&["worktree", "add", "-q", "../work", "main"]);
    sandbox.enter("../work");
    sandbox.auto(&[]).exits(0);
    let status = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(status.contains("Next     git cowork merge todo"), "{status}");
    sandbox.cowork(&["merge"]).exits(0);
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
    sandbox.assert_sound();
}

/// A host that is an alias in the user's ssh configuration.
#[test]
fn a_pull_request_goes_to_the_host_that_ssh_connects_to() {
    let sandbox = Sandbox::new();
    sandbox.auto(&[]).exits(0);
    let ssh = "[ \"$1\" = -G ] && [ \"$3\" = work ] && echo 'hostname github.com'; exit 0";
    sandbox.executable(&sandbox.root().join("bin/ssh"), ssh);
    sandbox.git(&["remote", "add", "origin", "git@work:ana/todo.git"]);
    let told = sandbox.cowork(&["pr", "--dry-run"]).exits(0).stdout;
    assert!(told.contains("https://github.com/ana/todo/compare/main...cowork/todo"), "{told}");
}

/// Settings with which git sees less of the working tree.
#[test]
fn a_commit_has_every_file_of_its_task_whatever_git_is_told_to_overlook() {
    let sandbox = Sandbox::new();
    sandbox.commit_file("lib/store.sh", "# TASK-001: Keep todos in b file\n", "old");
    let monitor = sandbox.root().join("monitor");
    sandbox.executable(&monitor, "printf 'nothing\\0'");
    for (key, value) in [
        ("core.fsmonitor", monitor.to_str().unwrap()),
        ("status.showUntrackedFiles", "no"),
        ("core.checkStat", "minimal"),
    ] {
        sandbox.git(&["config", key, value]);
    }
    sandbox.git(&["update-index", "--assume-unchanged", "lib/store.sh"]);
    sandbox.auto(&[]).exits(0);
    assert_eq!(sandbox.blob("cowork/todo", "lib/store.sh"), sandbox.read("lib/store.sh"));
    let tree = sandbox.git(&["ls-tree", "-r", "--name-only", "cowork/todo"]);
    for file in ["lib/add.sh", "lib/list.sh", "lib/done.sh", "todo.sh"] {
        assert!(tree.contains(file), "{tree}");
    }
}
