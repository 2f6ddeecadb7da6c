//! Checks of finished stages that no longer hold: limits are said and nothing is done again; what check
//! finds goes back to the stage it belongs to.

use crate::support::{Reply, Sandbox, at};

const DIR: &str = ".cowork/sessions/todo";

fn up_to(stage: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.auto(&["--stop-after", stage]).exits(0);
    sandbox.server.forget();
    sandbox
}

/// A person changes a document and commits it.
fn edit(sandbox: &Sandbox, file: &str, old: &str, new: &str) {
    let path = format!("{DIR}/{file}");
    let text = sandbox.read(&path);
    assert!(text.contains(old), "{text}");
    sandbox.commit_file(&path, &text.replacen(old, new, 1), "by hand");
}

/// No component carries the second feature any more.
fn uncover(sandbox: &Sandbox) {
    edit(sandbox, "design.md", " `FEAT-002`", "");
}

const UNCOVERED: &str = "is covered by no component";

#[test]
fn limits_that_no_longer_hold_are_said_and_nothing_is_done_again() {
    let sandbox = up_to("plan");
    sandbox.git(&["config", "cowork.limits.tasks", "[1, 4]"]);
    let told = sandbox.cowork(&["resume", "--review", "auto"]).exits(0).stderr;
    let said = "plan no longer passes its checks: 5 tasks; at most 4 are allowed";
    assert_eq!(told.matches(said).count(), 1, "{told}");
    assert!(sandbox.server.requests_of("plan", "actor").is_empty());
    let stages = sandbox.stages("main..cowork/todo");
    assert_eq!(stages.iter().filter(|stage| *stage == "coding").count(), 1, "{stages:?}");
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("coding"))["Cowork-Iterations"], ["1"]);
    assert!(sandbox.artifact("check_report.md").contains("not met: 5 tasks"));
    let found = sandbox.cowork(&["verify", "todo", "--json"]).exits(1).stdout;
    assert!(found.contains("task-count"), "{found}");
}

#[test]
fn coverage_that_no_longer_holds_is_said_before_the_next_stage() {
    let sandbox = up_to("design");
    uncover(&sandbox);
    let plan = ["resume", "--review", "auto", "--stop-after", "plan"];
    let told = sandbox.cowork(&plan).exits(0).stderr;
    assert!(told.contains("design no longer passes its checks: feature FEAT-002"), "{told}");
    assert!(told.contains(UNCOVERED), "{told}");
    assert!(sandbox.server.requests_of("design", "actor").is_empty());
}

#[test]
fn what_check_finds_goes_back_to_the_stage_it_belongs_to() {
    let base = up_to("coding");
    for (stage, words) in [
        ("design", UNCOVERED),
        ("plan", "tasks wait for each other"),
        ("prd", "REQ-002 has no criteria"),
    ] {
        let sandbox = base.fork();
        match stage {
            "design" => uncover(&sandbox),
            "plan" => edit(&sandbox, "plan.md", "`lib/store.sh`", "`TASK-005` `lib/store.sh`"),
            _ => edit(&sandbox, "prd.md", "- List todos works\n", ""),
        }
        let left = sandbox.git(&["rev-parse", "HEAD"]);
        sandbox.server.on(at(stage, "actor"), Reply::status(401, "enough"));
        sandbox.cowork(&["resume", "--review", "auto"]).exits(4);
        assert!(sandbox.server.requests_of("coding", "actor").is_empty(), "coding cannot help");
        assert!(sandbox.server.requests_of("check", "actor").is_empty());
        let drafts = sandbox.server.requests_of(stage, "actor");
        assert!(drafts[0].text().contains(words), "{stage} is not told: {}", drafts[0].text());
        assert!(!sandbox.stages("main..HEAD").contains(&stage.to_owned()));
        let kept = sandbox.git(&["log", "-1", "--format=%P %s", "refs/cowork/attempts/todo/1"]);
        assert!(kept.starts_with(&left) && kept.contains("what check found: "), "{kept}");
        let log = sandbox.cowork(&["log", "todo"]).exits(0).stdout;
        assert!(log.contains("what check found: "), "{log}");
        sandbox.assert_sound();
    }
}

#[test]
fn without_a_person_it_waits_and_nobody_is_asked() {
    let sandbox = up_to("coding");
    uncover(&sandbox);
    for _ in 0..2 {
        let refs = sandbox.all_refs();
        let told = sandbox.cowork(&["resume", "--review", "wait"]).exits(3).stderr;
        assert!(told.contains(UNCOVERED), "{told}");
        assert!(told.contains("git cowork revert todo --to design"), "{told}");
        assert_eq!(sandbox.all_refs(), refs);
    }
    assert!(sandbox.server.requests().is_empty());
    // Corrected by hand it goes on.
    sandbox.git(&["revert", "--no-edit", "HEAD"]);
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "check"]).exits(0);
    assert!(sandbox.server.requests_of("design", "actor").is_empty());
}

#[test]
fn models_do_not_go_back_more_often_than_they_may() {
    let sandbox = up_to("coding");
    sandbox.user_config("[limits]\nmax_replans = 0\n");
    uncover(&sandbox);
    let refs = sandbox.all_refs();
    let told = sandbox.cowork(&["resume", "--review", "auto"]).exits(1).stderr;
    assert!(told.contains("max_replans = 0 does not allow") && told.contains(UNCOVERED), "{told}");
    assert_eq!(sandbox.all_refs(), refs);
    assert!(sandbox.server.requests().is_empty());
}

#[cfg(unix)]
#[test]
fn a_person_at_the_terminal_decides() {
    let base = up_to("coding");
    uncover(&base);
    let menu = |sandbox: &Sandbox| {
        let mut terminal = sandbox.terminal(&["resume"]);
        let shown = terminal.sees("What now");
        assert!(shown.contains("design has to be done again"), "{shown}");
        assert!(shown.contains(UNCOVERED), "{shown}");
        terminal.sees("resume asks again");
        terminal
    };
    let sandbox = base.fork();
    sandbox.server.on(at("design", "actor"), Reply::status(401, "enough"));
    let refs = sandbox.all_refs();
    let mut terminal = menu(&sandbox);
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    assert_eq!(sandbox.all_refs(), refs);
    assert!(sandbox.server.requests().is_empty());
    // With a word of the person's it goes back, and the word is told.
    let mut terminal = menu(&sandbox);
    terminal.types("2");
    terminal.sees("what should the actor do?");
    terminal.enters("one component is enough");
    assert_eq!(terminal.ends().0, 4);
    let drafts = sandbox.server.requests_of("design", "actor");
    assert!(drafts[0].text().contains("one component is enough"), "{}", drafts[0].text());
    assert!(drafts[0].text().contains(UNCOVERED));
}
