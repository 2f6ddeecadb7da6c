//! Plain git between two commands: the session goes on from what is there.

use super::{Belongings, RESUME, designed, keeps};
use crate::support::Sandbox;

/// What a person does, by `sh`, in the repository; then the session goes on and loses nothing.
#[track_caller]
fn resumed_after(base: &Sandbox, script: &str) -> Sandbox {
    let sandbox = base.fork();
    sh(&sandbox, script);
    sandbox.cowork(&["status"]).exits(0);
    sandbox.cowork(&["log"]).exits(0);
    sandbox.server.forget();
    keeps(&sandbox, &[&RESUME[..], &["todo", "--stop-after", "plan"]].concat(), 0);
    let again: Vec<_> = sandbox.server.requests().iter().map(|r| r.stage.clone()).collect();
    assert!(again.iter().all(|stage| stage == "plan"), "{script}: {again:?}");
    sandbox.assert_sound();
    sandbox
}

#[track_caller]
fn sh(sandbox: &Sandbox, script: &str) {
    let mut sh = sandbox.command("sh");
    let output = sh.args(["-ec", script]).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A commit on main that the session does not have.
const MOVE_MAIN: &str = "git switch -q main; echo theirs >theirs.txt; git add theirs.txt; \
    git commit -qm theirs; git switch -q cowork/todo;";

#[test]
fn amended_rebased_merged_into_and_picked_onto() {
    let base = designed();
    for script in [
        "git commit -q --amend --allow-empty -C HEAD --date=2001-01-01T00:00:00",
        "echo more >>.cowork/sessions/todo/design.md; git commit -qa --amend --no-edit",
        &format!("{MOVE_MAIN} git rebase -q main"),
        &format!("{MOVE_MAIN} git merge -q --no-ff -m 'merge main' main"),
        &format!("{MOVE_MAIN} git cherry-pick main >/dev/null"),
        &format!("{MOVE_MAIN} git rebase -q --onto main main cowork/todo"),
        "echo mine >mine.txt; git add mine.txt; git commit -qm mine",
        "git tag -d cowork/todo/prd cowork/todo/design >/dev/null",
        "git tag -f cowork/todo/prd main >/dev/null; git tag -f cowork/todo/design cowork/todo/idea",
        "git pack-refs --all --prune; git repack -qad; git reflog expire --expire=now --all; \
         git gc -q --prune=now",
        "git revert --no-edit HEAD >/dev/null; git revert --no-edit HEAD >/dev/null",
        "git switch -q --detach; git branch -qD cowork/todo; git switch -qc cowork/todo",
        "git stash list; echo dirty >>README.md; git stash -q",
    ] {
        resumed_after(&base, script);
    }
}

#[test]
fn squashed() {
    let base = designed();
    // The newest stage implies the earlier ones.
    let sandbox = resumed_after(
        &base,
        "message=$(git log -1 --format=%B); git reset -q --soft main; git commit -qm \"$message\"",
    );
    assert_eq!(sandbox.stages("main..cowork/todo"), ["design", "plan"]);
}

#[test]
fn merged_into_main_and_main_merged_back() {
    let base = designed();
    for script in [
        "git switch -q main; git merge -q --no-ff -m merged cowork/todo; git switch -q cowork/todo; \
         git merge -q main",
        "git switch -q main; git merge -q cowork/todo; git switch -q cowork/todo",
        "git switch -q main; git merge -q --no-ff -m merged cowork/todo; echo x >x.txt; \
         git add x.txt; git commit -qm x; git switch -q cowork/todo; git merge -q --no-ff -m back main",
    ] {
        let sandbox = resumed_after(&base, script);
        // And back over the merge.
        let main = sandbox.git(&["rev-parse", "main"]);
        keeps(&sandbox, &["revert", "--to", "prd", "--no-run"], 0);
        assert_eq!(sandbox.git(&["rev-parse", "main"]), main);
        keeps(&sandbox, &["undo"], 0);
        keeps(&sandbox, &["archive", "todo"], 0);
        assert_eq!(sandbox.git(&["rev-parse", "main"]), main);
    }
}

#[test]
fn a_renamed_branch_is_a_session_of_that_name_or_none() {
    let base = designed();
    for name in ["cowork/errands", "mine/errands"] {
        let sandbox = base.fork();
        sandbox.git(&["branch", "-m", name]);
        let before = Belongings::of(&sandbox);
        for args in [
            &["status"][..],
            &["list"],
            &["verify"],
            &["resume", "--review", "auto", "--stop-after", "plan"],
            &["revert", "--to", "prd", "--no-run"],
            &["undo"],
        ] {
            let told = sandbox.cowork(args);
            before.assert_kept(&sandbox, &format!("{name} {args:?}\n{}", told.stderr));
            assert!(matches!(told.code, 0 | 1 | 5), "{name} {args:?}: {}", told.stderr);
        }
        // The old name again, and it goes on.
        sandbox.git(&["branch", "-m", "cowork/todo"]);
        keeps(&sandbox, &["resume", "--review", "auto", "--stop-after", "plan"], 0);
    }
}

#[test]
fn checked_out_elsewhere_it_stays_there() {
    let sandbox = designed();
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["worktree", "add", "-q", "../elsewhere", "cowork/todo"]);
    sandbox.write("../elsewhere/mine.txt", "mine\n");
    for args in [
        &["resume", "todo", "--review", "auto"][..],
        &["revert", "todo", "--to", "prd", "--no-run"],
        &["archive", "todo"],
        &["delete", "todo", "--yes"],
    ] {
        let told = keeps(&sandbox, args, 5);
        assert!(told.contains("elsewhere"), "{args:?}: {told}");
    }
}

/// Commits on no branch are reached by HEAD alone: it does not go away from them.
#[test]
fn commits_on_a_detached_head_are_not_left_behind() {
    let base = designed();
    base.git(&["switch", "-q", "--detach", "main"]);
    base.write("mine.txt", "mine\n");
    base.commit_all("on no branch");
    let commands = [
        &["resume", "todo", "--review", "auto", "--stop-after", "plan"][..],
        &["revert", "todo", "--to", "prd", "--no-run"],
        &["new", "-n", "other", "-b", "main", "another list", "--review", "wait"],
    ];
    for args in commands {
        let sandbox = base.fork();
        let told = keeps(&sandbox, args, 5);
        assert!(told.contains("git branch NAME"), "{args:?}: {told}");
        assert_eq!(sandbox.git(&["log", "-1", "--format=%s", "HEAD"]), "on no branch");
        sandbox.git(&["branch", "mine"]);
        keeps(&sandbox, args, if args[0] == "new" { 3 } else { 0 });
    }
    // From there, into a session or beside it, nothing is left.
    keeps(&base.fork(), &["new", "-n", "other", "another list", "--review", "wait"], 3);
    keeps(&base, &["new", "-n", "other", "-w=../tree", "another list", "--review", "wait"], 3);
}

/// Pain 25: two sessions take turns in one checkout.
#[test]
fn two_sessions_in_one_working_tree() {
    let sandbox = designed();
    sandbox.write("README.md", "# Mine\n");
    sandbox.write("notes.txt", "mine\n");
    let other = ["new", "-n", "other", "another list", "--review", "wait"];
    keeps(&sandbox, &other, 3);
    sandbox.write(".cowork/sessions/other/idea.md", "Another idea of mine.\n");
    let before = Belongings::of(&sandbox);
    let told = sandbox.cowork(&["resume", "todo", "--review", "auto", "--stop-after", "plan"]);
    before.assert_kept(&sandbox, &told.stderr);
    assert_eq!(sandbox.read("README.md"), "# Mine\n");
}

/// Pain 16: nothing two sessions write is the same file.
#[test]
fn two_sessions_merge_without_a_conflict() {
    let sandbox = designed();
    sandbox.git(&["switch", "-q", "main"]);
    let other =
        ["new", "-n", "other", "another list", "--review", "auto", "--stop-after", "design"];
    sandbox.cowork(&other).exits(0);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "one", "cowork/todo"]);
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "two", "cowork/other"]);
    keeps(&sandbox, &["resume", "other", "--review", "auto", "--stop-after", "plan"], 0);
}
