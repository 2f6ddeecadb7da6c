//! An actor that answers in words where it should have called a tool: it is told what is missing, its
//! document is taken from its text, and no draft is used up.

use crate::support::kill::kill_at_request;
use crate::support::todo::{self, task_work};
use crate::support::{Reply, Sandbox, at};

const RESUME: [&str; 3] = ["resume", "--review", "auto"];

/// What was said last in each request to an actor.
fn told(sandbox: &Sandbox, stage: &str) -> Vec<String> {
    let requests = sandbox.server.requests_of(stage, "actor");
    let newest = |request: &crate::support::server::Received| {
        request.messages().last().unwrap()["content"].as_str().unwrap().to_owned()
    };
    requests.iter().map(newest).collect()
}

/// The idea is done; the actor of prd says these things, one a turn.
fn says(words: &[&str]) -> Sandbox {
    let sandbox = Sandbox::stopped_after("idea");
    for (turn, words) in (1..).zip(words) {
        sandbox.server.on(at("prd", "actor").iteration(1).turn(turn), Reply::text(words));
    }
    sandbox.server.forget();
    sandbox
}

/// The PRD is what the actor wrote, with its records, in one draft.
#[track_caller]
fn has_its_prd(sandbox: &Sandbox) {
    assert_eq!(sandbox.artifact("prd.md"), todo::PRD);
    assert!(sandbox.artifact("requirements.json").contains("REQ-003"));
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Iterations"], ["1"]);
    sandbox.assert_sound();
}

#[test]
fn who_has_saved_nothing_is_told_so() {
    let sandbox = says(&["I would write a PRD with three requirements."]);
    sandbox.server.on(at("prd", "actor").iteration(1).turn(2), todo::prd_draft());
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "prd"]].concat()).exits(0);
    let told = told(&sandbox, "prd");
    assert!(told[1].contains("prd.md is not saved yet. Call save_prd_doc"), "{}", told[1]);
    has_its_prd(&sandbox);
}

#[test]
fn who_cannot_call_tools_is_asked_for_the_document_between_tags() {
    let tagged =
        format!("Here it is.\n<document>\n{}</document>\nTell me what you think.", todo::PRD);
    let sandbox = says(&["A PRD, then.", "Still thinking.", &tagged]);
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "prd"]].concat()).exits(0);
    let told = told(&sandbox, "prd");
    assert_eq!(told.len(), 3);
    assert!(told[2].contains("between <document> and </document>"), "{}", told[2]);
    has_its_prd(&sandbox);
}

#[test]
fn a_text_that_is_the_document_is_taken() {
    for text in [todo::PRD.to_owned(), format!("```markdown\n{}```", todo::PRD)] {
        let sandbox = says(&[&text]);
        sandbox.cowork(&[&RESUME[..], &["--stop-after", "prd"]].concat()).exits(0);
        assert_eq!(told(&sandbox, "prd").len(), 1);
        has_its_prd(&sandbox);
    }
}

#[test]
fn what_a_document_in_words_lacks_is_told_like_that_of_any_other() {
    let sandbox = says(&["# A todo list\n\n## Summary\n\nNothing to see.\n", todo::PRD]);
    sandbox.server.on(at("prd", "actor").iteration(1).turn(2), todo::prd_draft());
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "prd"]].concat()).exits(0);
    let told = told(&sandbox, "prd");
    assert!(told[1].contains("no requirement; at least one is needed"), "{}", told[1]);
    assert!(sandbox.artifact("requirements.json").contains("REQ-003"));
}

#[test]
fn who_ends_a_task_without_its_status_is_told_so() {
    let sandbox = Sandbox::stopped_after("plan");
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.on(first.clone().turn(1), Reply::text("I will add the file."));
    sandbox.server.on(first.turn(2), task_work("TASK-001"));
    sandbox.server.forget();
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "coding"]].concat()).exits(0);
    let told = told(&sandbox, "coding");
    assert!(told[1].contains("TASK-001 is not completed."), "{}", told[1]);
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("coding"))["Cowork-Iterations"], ["1"]);
}

#[test]
fn a_later_draft_may_answer_in_words() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.times(1, at("prd", "critic"), todo::reject("REQ-002 is vague."));
    sandbox.server.on(at("prd", "actor").iteration(2), Reply::text("REQ-002 says it all."));
    sandbox.server.forget();
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "prd"]].concat());
    // It was asked once for each of its two drafts.
    assert_eq!(told(&sandbox, "prd").len(), 2);
}

#[test]
fn a_run_killed_behind_such_words_has_used_no_draft() {
    let resume = [&RESUME[..], &["--stop-after", "prd"]].concat();
    for n in 1..=3 {
        let sandbox = says(&["A PRD, then.", "Still thinking.", todo::PRD]);
        kill_at_request(&sandbox, &resume, n).was_killed();
        sandbox.cowork(&resume).exits(0);
        has_its_prd(&sandbox);
    }
}

#[test]
fn drafts_in_which_nothing_is_saved_are_called_that() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.on(at("prd", "actor"), Reply::text("I would write a PRD."));
    sandbox.cowork(&RESUME).exits(1).says("two drafts in a row change nothing");
    let status = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(status.contains("prd: three drafts in a row change nothing"), "{status}");
}

#[test]
fn after_a_draft_that_saved_nothing_the_whole_document_is_asked_for() {
    let sandbox = says(&[]);
    sandbox.server.on(at("prd", "actor").iteration(1), Reply::text("I would write a PRD."));
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "prd"]].concat()).exits(0);
    let told = told(&sandbox, "prd");
    let again = told.iter().find(|text| text.contains("was judged")).unwrap();
    assert!(again.contains("Nothing of it was saved"), "{again}");
    assert!(!again.contains("send only the sections"), "{again}");
}
