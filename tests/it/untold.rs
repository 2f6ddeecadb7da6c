//! Artifacts without trailers: a squash or a foreign clone has dropped what the commits said. Nothing
//! is begun again before a person has said what counts as done.

use serde_json::json;

use crate::support::Sandbox;
use crate::support::todo::{DESIGN, IDEA, PRD};

const DIR: &str = ".cowork/sessions/todo";

/// A session that was squashed into one commit without a trailer after this stage.
fn squashed(stage: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.auto(&["--stop-after", stage]).exits(0);
    sandbox.git(&["reset", "-q", "--soft", "main"]);
    sandbox.git(&["commit", "-q", "-m", "All of it"]);
    // As in a clone: no tags, no drafts.
    for name in sandbox.refs("refs/tags/cowork/").into_iter().chain(sandbox.refs("refs/cowork/")) {
        sandbox.git(&["update-ref", "-d", &name]);
    }
    sandbox.server.forget();
    sandbox
}

fn done(sandbox: &Sandbox) -> serde_json::Value {
    sandbox.cowork(&["status", "--json"]).exits(0).json()["done"].clone()
}

#[test]
fn nothing_runs_before_a_person_says_what_is_done() {
    let sandbox = squashed("plan");
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    for mode in ["auto", "wait"] {
        let told = sandbox.cowork(&["resume", "--review", mode]).exits(5).stderr;
        assert!(told.contains("the files show idea, prd, design, plan"), "{told}");
        assert!(told.contains("git cowork resume todo --goto-stage coding\n"), "{told}");
        assert!(told.contains("git cowork resume todo --goto-stage idea\n"), "{told}");
    }
    assert_eq!(sandbox.server.requests().len(), 0);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), before);
    assert_eq!(sandbox.artifact("idea.md"), IDEA);
    sandbox.assert_clean();
    let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
    assert_eq!(status["state"], "stopped");
    assert!(status["reason"].as_str().unwrap().contains("the files show idea"), "{status}");
    let shown = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(shown.contains("Next     git cowork resume todo --goto-stage coding\n"), "{shown}");
}

#[test]
fn what_the_files_show_can_be_taken_as_done() {
    let sandbox = squashed("plan");
    sandbox.cowork(&["resume", "--goto-stage", "coding", "--review", "auto"]).exits(0);
    for stage in ["idea", "prd", "design", "plan"] {
        assert!(sandbox.server.requests_of(stage, "actor").is_empty(), "{stage}");
    }
    assert_eq!([sandbox.artifact("prd.md"), sandbox.artifact("design.md")], [PRD, DESIGN]);
    let commit = sandbox.commit_of("HEAD", "plan: completed from existing files");
    let trailers = sandbox.trailers(&commit);
    assert_eq!(trailers["Cowork-Stage"], ["plan"]);
    assert!(trailers["Cowork-From"][0].starts_with("files "), "{trailers:?}");
    assert_eq!(trailers["Reviewed-by"], ["Ana Example <ana@example.org>"]);
    let all = ["idea.md@", "prd.md@", "requirements.json@", "design.md@", "plan.md@"];
    assert!(
        all.iter().all(|name| trailers["Cowork-Approved"].join(" ").contains(name)),
        "{trailers:?}"
    );
    assert_eq!(sandbox.cowork(&["status", "--json"]).json()["state"], "completed");
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.assert_sound();
    sandbox.cowork(&["merge"]).exits(0);
}

#[test]
fn a_session_can_start_over_and_nothing_is_lost() {
    let sandbox = squashed("plan");
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    // Also what was not committed.
    sandbox.write(&format!("{DIR}/plan.md"), "# My plan\n");
    let idea = ["--review", "auto", "--stop-after", "idea"];
    sandbox.cowork(&[&["resume", "--goto-stage", "idea"][..], &idea].concat()).exits(0);
    assert_eq!(done(&sandbox), json!(["idea"]));
    assert!(!sandbox.exists(&format!("{DIR}/prd.md")));
    assert_eq!(sandbox.blob(&before, &format!("{DIR}/prd.md")), PRD);
    assert_eq!(sandbox.git(&["merge-base", &before, "HEAD"]), before);
    let kept = sandbox.blob("refs/cowork/attempts/todo/1", &format!("{DIR}/plan.md"));
    assert_eq!(kept, "# My plan\n");
    assert_eq!(sandbox.server.requests_of("idea", "actor").len(), 1);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn a_session_can_go_on_in_between_and_from_an_earlier_stage_later() {
    let sandbox = squashed("plan");
    let go = |stage: &str, until: &str| {
        let args = ["resume", "--goto-stage", stage, "--review", "auto", "--stop-after", until];
        sandbox.cowork(&args)
    };
    go("check", "check").exits(5).says("do not show that coding is done");
    go("design", "design").exits(0);
    assert_eq!(done(&sandbox), json!(["idea", "prd", "design"]));
    assert!(sandbox.server.requests_of("prd", "actor").is_empty());
    assert!(!sandbox.server.requests_of("design", "actor").is_empty());
    assert!(!sandbox.exists(&format!("{DIR}/plan.md")));
    // History tells nothing of the prd: going back before it is the same once more.
    sandbox.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
    assert_eq!(done(&sandbox), json!(["idea"]));
    assert!(!sandbox.exists(&format!("{DIR}/prd.md")));
    assert!(!sandbox.exists(&format!("{DIR}/design.md")));
    sandbox.assert_sound();
}

#[test]
fn at_a_terminal_it_is_a_question() {
    let sandbox = squashed("plan");
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    let resume = ["resume", "--stop-after", "plan"];
    let mut terminal = sandbox.terminal(&resume);
    let shown = terminal.sees("cancel: nothing is changed");
    assert!(shown.contains("idea: start over"), "{shown}");
    assert!(shown.contains("coding: mark all of these as done"), "{shown}");
    terminal.types("q");
    assert_eq!(terminal.ends().0, 130);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), before);
    let mut terminal = sandbox.terminal(&resume);
    terminal.sees("cancel: nothing is changed");
    terminal.types("jjjjj\r");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(done(&sandbox), json!(["idea", "prd", "design", "plan"]));
    assert_eq!(sandbox.server.requests().len(), 0);
    sandbox.assert_sound();
}

#[test]
fn code_counts_where_every_task_is_completed() {
    let sandbox = squashed("coding");
    let told = sandbox.cowork(&["resume"]).exits(5).stderr;
    assert!(told.contains("design, plan, coding;"), "{told}");
    sandbox.cowork(&["resume", "--goto-stage", "check", "--review", "auto"]).exits(0);
    assert!(sandbox.server.requests_of("coding", "actor").is_empty());
    assert_eq!(sandbox.cowork(&["status", "--json"]).json()["state"], "completed");
    sandbox.cowork(&["verify"]).exits(0);
    // Written again, it is written task by task.
    let sandbox = squashed("coding");
    sandbox.cowork(&["resume", "--goto-stage", "coding", "--review", "auto"]).exits(0);
    assert!(sandbox.server.requests_of("coding", "actor").len() >= 5);
}

#[test]
fn where_all_is_done_the_command_that_says_so_can_be_pasted() {
    let sandbox = squashed("delivery");
    let told = sandbox.cowork(&["resume"]).exits(5).stderr;
    let line = told.lines().find_map(|line| line.split_once("mark these as done: ")).unwrap().1;
    let mut shell = sandbox.command("sh");
    assert!(shell.args(["-c", line]).status().unwrap().success(), "{line}");
    assert_eq!(sandbox.cowork(&["status", "--json"]).json()["state"], "completed");
    sandbox.cowork(&["resume"]).exits(0);
    assert_eq!(sandbox.server.requests().len(), 0);
}

#[test]
fn files_in_a_repository_that_never_saw_the_session_are_asked_about_too() {
    let origin = Sandbox::stopped_after("design");
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "-q", "-c", "cowork/todo"]);
    let folder = sandbox.path(".cowork");
    let copied = std::process::Command::new("cp")
        .arg("-R")
        .args([&origin.path(".cowork"), &folder])
        .status()
        .unwrap();
    assert!(copied.success());
    sandbox.commit_all("from elsewhere");
    let told = sandbox.cowork(&["resume"]).exits(5).stderr;
    assert!(told.contains("the files show idea, prd, design;"), "{told}");
    sandbox.cowork(&["resume", "--goto-stage", "plan", "--review", "auto"]).exits(0);
    assert!(sandbox.server.requests_of("design", "actor").is_empty());
    assert_eq!(sandbox.cowork(&["status", "--json"]).json()["state"], "completed");
}
