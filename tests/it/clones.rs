//! Clones that lack objects or history: blobless, treeless and shallow ones.

use crate::support::Sandbox;

/// A clone beside the repository, which becomes the place of the next commands.
fn clone(sandbox: &mut Sandbox, options: &[&str]) {
    sandbox.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", sandbox.repo().display());
    sandbox.git(&[&["clone", "-q"], options, &[&url, "../clone"]].concat());
    sandbox.enter("../clone");
    sandbox.git(&["config", "user.name", "Ana Example"]);
    sandbox.git(&["config", "user.email", "ana@example.org"]);
}

#[test]
fn a_partial_clone_finds_what_was_approved() {
    for filter in ["--filter=blob:none", "--filter=tree:0"] {
        let mut sandbox = Sandbox::new();
        sandbox.auto(&[]).exits(0);
        sandbox.git(&["switch", "-q", "main"]);
        clone(&mut sandbox, &[filter]);
        sandbox.cowork(&["verify", "todo"]).exits(0);
        let status = sandbox.cowork(&["status", "todo"]).exits(0).stdout;
        assert!(!status.contains("Changed"), "{filter}: {status}");
        let dry_run = sandbox.cowork(&["merge", "todo", "--dry-run"]).exits(0);
        assert!(!dry_run.stderr.contains("changed after approval"), "{}", dry_run.stderr);
        sandbox.cowork(&["merge", "todo"]).exits(0);
    }
}

/// As a runner checks a branch out.
fn shallow(stop_after: &str) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.auto(&["--stop-after", stop_after]).exits(0);
    clone(&mut sandbox, &["--depth=1", "--no-single-branch"]);
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox
}

#[test]
fn a_run_in_a_shallow_clone_fetches_the_commits_of_its_session() {
    let sandbox = shallow("plan");
    let lacks = "this shallow clone does not have all commits of todo; fetch them: \
                 git fetch --deepen=100 origin cowork/todo";
    for command in ["status", "log", "verify", "diff"] {
        sandbox.cowork(&[command]).exits(0).says(lacks);
    }
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0).says("fetching the commits of todo");
    let critic = sandbox.server.requests_of("coding", "critic");
    assert!(critic[0].text().contains("lib/store.sh"), "{}", critic[0].text());
    let report = sandbox.cowork(&["show", "report"]).exits(0);
    assert!(report.stdout.contains("5 files: 5 lines added"), "{}", report.stdout);
    let verified = sandbox.cowork(&["verify"]).exits(0);
    assert!(!verified.stderr.contains("shallow"), "{}", verified.stderr);
    sandbox.git(&["branch", "-q", "main", "origin/main"]);
    sandbox.cowork(&["merge"]).exits(0);
}

#[test]
fn a_run_that_cannot_fetch_them_says_how() {
    let sandbox = shallow("coding");
    sandbox.git(&["remote", "set-url", "origin", "file:///nowhere"]);
    let before = sandbox.all_refs();
    let told = sandbox.cowork(&["resume", "--review", "auto"]).exits(5);
    told.says("does not have all commits of todo")
        .says("git fetch --deepen=100 origin cowork/todo");
    assert_eq!(sandbox.all_refs(), before);
    sandbox.git(&["remote", "remove", "origin"]);
    sandbox.cowork(&["resume"]).exits(5).says("git fetch --unshallow");
}

/// The newest commit is a person's, and the base went on.
#[test]
fn a_shallow_clone_that_has_no_commit_of_the_session_fetches_them() {
    let mut sandbox = Sandbox::new();
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    sandbox.commit_file("notes.txt", "mine\n", "notes");
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.commit_file("more.txt", "more\n", "more");
    clone(&mut sandbox, &["--depth=1", "--no-single-branch"]);
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    for command in ["status", "log", "verify"] {
        sandbox.cowork(&[command]).says("does not have all commits of todo");
    }
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let stat = sandbox.cowork(&["diff", "--stat"]).exits(0).stdout;
    assert!(stat.contains("lib/store.sh") && stat.contains("notes.txt"), "{stat}");
}
