//! A waiting review between two machines: pushed, fetched elsewhere, edited with plain git or in
//! the working tree, answered there, pushed back, resumed.

use crate::support::Sandbox;
use crate::support::server::Received;
use crate::support::todo::{IDEA, PRD};

const FILE: &str = ".cowork/sessions/todo/prd.md";

/// A session whose PRD waits, pushed to a bare repository, and a second clone of that.
fn two() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(&["init", "-q", "--bare", "../hub.git"]);
    sandbox.git(&["remote", "add", "origin", "../hub.git"]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    resume(&sandbox, 3);
    sandbox.git(&["push", "-q", "origin", "cowork/todo"]);
    sandbox.git(&["clone", "-q", "../hub.git", "../second"]);
    sandbox
}

fn second(sandbox: &mut Sandbox) {
    sandbox.enter("../second");
}

/// Pushes, and goes to the first machine, which takes it.
fn back(sandbox: &mut Sandbox) {
    sandbox.git(&["push", "-q", "origin", "cowork/todo"]);
    sandbox.enter("");
    sandbox.git(&["pull", "-q", "--ff-only", "origin", "cowork/todo"]);
}

fn resume(sandbox: &Sandbox, code: i32) -> String {
    sandbox.cowork(&["resume", "--review", "wait"]).exits(code).stderr
}

fn blob(sandbox: &Sandbox, file: &str) -> String {
    sandbox.git(&["rev-parse", "--short=12", &format!("HEAD:.cowork/sessions/todo/{file}")])
}

/// The PRD is recorded on the first machine with exactly these verdict and bytes, without a draft.
#[track_caller]
fn recorded(sandbox: &Sandbox, verdict: &str, prd: &str) {
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "prd"]).exits(0);
    // The records may have to follow an edit of the document; nothing is drafted again.
    let drafting = |request: &Received| !request.text().contains("bring the draft in line");
    assert!(!sandbox.server.requests_of("prd", "actor").iter().any(drafting), "drafted again");
    assert_eq!(sandbox.blob("HEAD", FILE), prd);
    let trailers = sandbox.trailers("HEAD");
    assert_eq!(trailers["Cowork-Review"], [verdict]);
    let approved: Vec<_> = ["prd.md", "requirements.json", "feature_list.json"]
        .map(|file| format!("{file}@{}", blob(sandbox, file)))
        .into();
    assert_eq!(trailers["Cowork-Approved"], approved);
    sandbox.assert_sound();
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn answered_on_another_machine() {
    let mut sandbox = two();
    second(&mut sandbox);
    // Only the remote has the branch: it is made here, tracking.
    sandbox.cowork(&["review", "todo", "--pass"]).exits(0);
    let upstream = sandbox.git(&["rev-parse", "--abbrev-ref", "cowork/todo@{upstream}"]);
    assert_eq!(upstream, "origin/cowork/todo");
    back(&mut sandbox);
    recorded(&sandbox, "passed", PRD);
}

#[test]
fn edited_there_with_plain_git_and_passed() {
    let mut sandbox = two();
    second(&mut sandbox);
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    let mine = PRD.replace("Tick a todo off", "Tick off a todo");
    let top = sandbox.root().join("second");
    std::fs::write(top.join(FILE), &mine).unwrap();
    let json = ".cowork/sessions/todo/requirements.json";
    let text = std::fs::read_to_string(top.join(json)).unwrap();
    std::fs::write(top.join(json), text.replace("Tick a todo off", "Tick off a todo")).unwrap();
    sandbox.git(&["commit", "-q", "-a", "-m", "say it in the right order"]);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.cowork(&["review", "--pass", "--at", &tip]).exits(0);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["edited"]);
    back(&mut sandbox);
    recorded(&sandbox, "edited", &mine);
}

#[test]
fn edited_there_in_the_working_tree_and_passed() {
    let mut sandbox = two();
    second(&mut sandbox);
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    let mine = format!("{PRD}\nA line of mine.\n");
    std::fs::write(sandbox.root().join("second").join(FILE), &mine).unwrap();
    sandbox.cowork(&["review", "--pass"]).exits(0);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    back(&mut sandbox);
    recorded(&sandbox, "edited", &mine);
}

#[test]
fn a_commit_after_the_answer_is_asked_about() {
    let mut sandbox = two();
    second(&mut sandbox);
    sandbox.cowork(&["review", "todo", "--pass"]).exits(0);
    let mine = format!("{PRD}\nA line of mine.\n");
    std::fs::write(sandbox.root().join("second").join(FILE), &mine).unwrap();
    sandbox.git(&["commit", "-q", "-a", "-m", "one more thing"]);
    assert!(sandbox.cowork(&["status"]).stdout.contains("prd.md is not what was approved"));
    sandbox.cowork(&["verify"]).exits(1);
    back(&mut sandbox);
    resume(&sandbox, 3);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Event"], ["draft"]);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    // What a person wrote into a draft and then passed is edited.
    recorded(&sandbox, "edited", &mine);
}

#[test]
fn feedback_from_another_machine_reaches_the_actor() {
    let mut sandbox = two();
    second(&mut sandbox);
    sandbox.cowork(&["review", "todo", "--feedback", "say it in a haiku"]).exits(0);
    back(&mut sandbox);
    sandbox.server.forget();
    resume(&sandbox, 3);
    let drafts = sandbox.server.requests_of("prd", "actor");
    assert!(drafts[0].text().contains("say it in a haiku"));
    assert_eq!(sandbox.blob("HEAD", ".cowork/sessions/todo/idea.md"), IDEA);
}

#[test]
fn what_the_remote_has_more_is_not_passed_over() {
    let mut sandbox = two();
    second(&mut sandbox);
    sandbox.cowork(&["review", "todo", "--pass"]).exits(0);
    sandbox.git(&["push", "-q", "origin", "cowork/todo"]);
    sandbox.enter("");
    sandbox.git(&["fetch", "-q", "origin"]);
    let before = sandbox.all_refs();
    sandbox.server.forget();
    let told = resume(&sandbox, 5);
    assert!(told.contains("git merge --ff-only origin/cowork/todo"), "{told}");
    // Answered here as well, the two have parted.
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "mine"]);
    let told = resume(&sandbox, 5);
    assert!(told.contains("diverged") && told.contains("git merge origin/cowork/todo"), "{told}");
    assert!(sandbox.server.requests().is_empty());
    sandbox.git(&["reset", "-q", "--keep", "HEAD^"]);
    assert_eq!(sandbox.all_refs(), before);
    sandbox.git(&["merge", "-q", "--ff-only", "origin/cowork/todo"]);
    recorded(&sandbox, "passed", PRD);
}

#[test]
fn answered_on_both_and_merged_it_continues() {
    let mut sandbox = two();
    second(&mut sandbox);
    sandbox.cowork(&["review", "todo", "--pass"]).exits(0);
    sandbox.git(&["push", "-q", "origin", "cowork/todo"]);
    sandbox.enter("");
    // Two people: the same answer of one and the same person in one second is one commit.
    sandbox.set_env("GIT_COMMITTER_NAME", "Ben Example");
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.git(&["fetch", "-q", "origin"]);
    resume(&sandbox, 5);
    sandbox.git(&["merge", "-q", "-m", "both passed it", "origin/cowork/todo"]);
    recorded(&sandbox, "passed", PRD);
}

#[test]
fn going_back_after_a_push_is_no_divergence() {
    let sandbox = two();
    sandbox.cowork(&["revert", "--to", "idea", "--no-run"]).exits(0);
    resume(&sandbox, 3);
    let told = sandbox.cowork(&["status", "--json"]).exits(0).json();
    assert_eq!(told["stage"], "idea");
}

/// As on a server: there is no working tree, and nothing is written.
#[test]
fn a_bare_repository_shows_its_sessions() {
    let mut sandbox = two();
    let here = ["status", "log", "show prd", "diff --stat", "status --json", "list --json"];
    let told = |sandbox: &Sandbox, command: &str| {
        let mut args: Vec<&str> = command.split(' ').collect();
        args.extend((args[0] != "list").then_some("--session=todo"));
        sandbox.cowork(&args).exits(0).stdout
    };
    second(&mut sandbox);
    let first: Vec<String> = here.iter().map(|command| told(&sandbox, command)).collect();
    sandbox.enter("../hub.git");
    let before = sandbox.all_refs();
    let bare: Vec<String> = here.iter().map(|command| told(&sandbox, command)).collect();
    assert!(bare[0].contains("Session  todo · not on branch cowork/todo"), "{}", bare[0]);
    assert!(bare[0].contains("Next     git worktree add"), "{}", bare[0]);
    assert_eq!(bare[1..4], first[1..4]);
    let listed = sandbox.cowork(&["list"]).exits(0).stdout;
    assert!(listed.contains("todo"));
    assert_eq!(sandbox.cowork(&[]).exits(0).stdout, listed);
    for command in ["new x", "resume todo", "review todo --pass", "revert todo --to idea"] {
        let args: Vec<&str> = command.split(' ').collect();
        sandbox.cowork(&args).exits(5).says("this is a bare repository");
    }
    assert_eq!(sandbox.all_refs(), before);
    // One that lies in a working tree may be part of a clone; git finds it all the same.
    sandbox.enter("");
    sandbox.git(&["clone", "-q", "--bare", "../hub.git", "inner"]);
    sandbox.enter("inner");
    sandbox.cowork(&["list"]).exits(5).says("this is a bare repository");
    sandbox.set_env("GIT_DIR", ".");
    assert!(sandbox.cowork(&["list"]).exits(0).stdout.contains("todo"));
}
