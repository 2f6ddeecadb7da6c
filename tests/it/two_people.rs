//! Two people go on with the same session on two machines: the second push is refused, says why, and
//! whichever way they bring the two together the session goes on.

use serde_json::json;

use crate::support::sandbox::Outcome;
use crate::support::todo::PRD;
use crate::support::{Sandbox, at};

const PUSH: [&str; 3] = ["push", "origin", "cowork/todo"];
const FILE: &str = ".cowork/sessions/todo/prd.md";

/// Ana has pushed an idea, then a PRD; Ben, who only knows the idea, has made another PRD. We stand
/// where Ben does.
fn both_went_on(hooks: bool) -> Sandbox {
    let sandbox = with_prds("\nBen's way.\n", hooks);
    assert!(sandbox.blob("HEAD", FILE).contains("Ben's way."));
    sandbox
}

/// The same, with this at the end of Ben's PRD.
fn with_prds(bens: &str, hooks: bool) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.git(&["init", "-q", "--bare", "../hub.git"]);
    sandbox.git(&["remote", "add", "origin", "../hub.git"]);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    sandbox.git(&["push", "-q", "origin", "main", "cowork/todo"]);
    sandbox.git(&["clone", "-q", "../hub.git", "../second"]);
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    sandbox.git(&["push", "-q", "origin", "cowork/todo"]);
    sandbox.enter("../second");
    sandbox.set_env("GIT_AUTHOR_NAME", "Ben Example");
    sandbox.set_env("GIT_COMMITTER_NAME", "Ben Example");
    if hooks {
        sandbox.cowork(&["init", "--hooks"]).exits(0);
    }
    let other = json!({"content": format!("{PRD}{bens}")});
    sandbox.server.on_with(at("prd", "actor").turn(1), move |_| {
        Some(crate::support::todo::prd_draft().and("save_prd_doc", other.clone()))
    });
    let resume = ["resume", "todo", "--review", "auto", "--stop-after", "prd"];
    sandbox.cowork(&resume).exits(0);
    sandbox
}

fn hub(sandbox: &Sandbox) -> String {
    sandbox.git(&["--git-dir", "../hub.git", "rev-parse", "cowork/todo"])
}

#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str]) -> Outcome {
    let before = hub(sandbox);
    let outcome = sandbox.git_outcome(args);
    assert_ne!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(hub(sandbox), before, "overwritten");
    outcome
}

/// The session goes on here and on the other machine.
#[track_caller]
fn resumes(mut sandbox: Sandbox, prd: &str) {
    sandbox.server.forget();
    let design = ["resume", "--review", "auto", "--stop-after", "design"];
    sandbox.cowork(&design).exits(0);
    assert!(sandbox.server.requests_of("prd", "actor").is_empty(), "drafted again");
    assert_eq!(sandbox.blob("HEAD", FILE), prd);
    sandbox.git(&PUSH);
    sandbox.assert_sound();
    sandbox.enter("");
    sandbox.git(&["pull", "-q", "--ff-only", "origin", "cowork/todo"]);
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "plan"]).exits(0);
    assert_eq!(sandbox.stages("main..HEAD").last().unwrap(), "plan");
    sandbox.assert_sound();
}

#[test]
fn the_second_push_is_refused_and_resume_says_the_ways_on() {
    let sandbox = both_went_on(false);
    refused(&sandbox, &PUSH).says("rejected");
    sandbox.git(&["fetch", "-q"]);
    sandbox.server.forget();
    let refs = sandbox.all_refs();
    for args in [&["resume", "--review", "auto"][..], &["revert", "--to", "prd"]] {
        let told = sandbox.cowork(args).exits(5).stderr;
        for words in [
            "cowork/todo and origin/cowork/todo have diverged: 1 commit here, 1 commit there",
            "git log --oneline --graph cowork/todo origin/cowork/todo",
            "git merge origin/cowork/todo",
            "git reset --keep origin/cowork/todo",
            "then run the command again",
        ] {
            assert!(told.contains(words), "{words}: {told}");
        }
    }
    assert!(sandbox.server.requests().is_empty());
    assert_eq!(sandbox.all_refs(), refs);
}

#[test]
fn with_our_hooks_the_push_explains_itself_also_when_it_is_forced() {
    let sandbox = both_went_on(true);
    for args in [&PUSH[..], &["push", "--force", "origin", "cowork/todo"]] {
        let told = refused(&sandbox, args);
        let told = told.says("origin has").says("somebody continued the branch elsewhere");
        told.says("git fetch origin").says("git cowork resume todo").says("--no-verify");
    }
    // Seen, but not taken: still theirs.
    sandbox.git(&["fetch", "-q"]);
    refused(&sandbox, &["push", "--force", "origin", "cowork/todo"]).says("somebody continued");
    // What was here once and was left behind is one's own.
    sandbox.git(&["reset", "-q", "--keep", "origin/cowork/todo"]);
    sandbox.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
    sandbox.git(&["push", "-q", "--force-with-lease", "origin", "cowork/todo"]);
    assert_eq!(hub(&sandbox), sandbox.git(&["rev-parse", "HEAD"]));
    // And an ordinary push is not asked about.
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    sandbox.git(&PUSH);
}

#[test]
fn theirs_only() {
    let sandbox = both_went_on(false);
    sandbox.git(&["fetch", "-q"]);
    let mine = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["reset", "-q", "--keep", "origin/cowork/todo"]);
    // One's own is behind its tag.
    assert_eq!(sandbox.stage_commit("prd"), mine);
    resumes(sandbox, PRD);
}

#[test]
fn merged() {
    let sandbox = both_went_on(false);
    sandbox.git(&["fetch", "-q"]);
    sandbox.git(&["merge", "-q", "-X", "ours", "-m", "both", "origin/cowork/todo"]);
    resumes(sandbox, &format!("{PRD}\nBen's way.\n"));
}

#[test]
fn merged_by_hand() {
    let sandbox = both_went_on(false);
    assert!(sandbox.git_fails(&["pull", "--no-rebase", "origin", "cowork/todo"]));
    // In the middle of it nothing is done.
    sandbox.cowork(&["resume", "--review", "auto"]).exits(5).says("a merge is in progress");
    sandbox.git(&["checkout", "-q", "--theirs", "."]);
    sandbox.commit_all("take what Ana has");
    resumes(sandbox, PRD);
}

#[test]
fn rebased() {
    let sandbox = both_went_on(false);
    // In a rebase "theirs" is what is put on top.
    sandbox.git(&["pull", "-q", "--rebase", "-X", "theirs", "origin", "cowork/todo"]);
    assert_eq!(sandbox.stages("main..HEAD"), ["start", "idea", "prd"]);
    resumes(sandbox, &format!("{PRD}\nBen's way.\n"));
}

/// Both did the same stage, and it came to the same: nothing conflicts.
#[test]
fn the_same_work_twice_merges_by_itself() {
    let sandbox = with_prds("", false);
    sandbox.git(&["pull", "-q", "--no-rebase", "--no-edit", "origin", "cowork/todo"]);
    resumes(sandbox, PRD);
}
