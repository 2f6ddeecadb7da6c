//! A model that asks to go back: history names the stage and the role that asked, and its draft.

use serde_json::{Value, json};

use crate::support::todo::{DESIGN, design_draft, reject};
use crate::support::{Reply, Sandbox, at};

const REASON: &str = "REQ-001 cannot be built as COMP-001 has it";

fn goto(stage: &str) -> Reply {
    Reply::call("goto_stage", json!({"stage": stage, "reason": REASON}))
}

/// What `feedback_history.json` of the session's tip says about going back.
fn asked(sandbox: &Sandbox) -> Value {
    let path = ".cowork/sessions/todo/feedback_history.json";
    let said: Vec<Value> = serde_json::from_str(&sandbox.blob("cowork/todo", path)).unwrap();
    let mut asked: Vec<Value> =
        said.into_iter().filter(|entry| entry["details"] == REASON).collect();
    assert_eq!(asked.len(), 1, "{asked:?}");
    asked.remove(0)
}

fn names(entry: &Value, from: &str, stage: &str, iteration: u32) {
    assert_eq!(
        (&entry["from"], &entry["stage"], &entry["iteration"]),
        (&json!(from), &json!(stage), &json!(iteration)),
        "{entry}"
    );
}

/// The attempt and the log say the same as the feedback.
fn is_told(sandbox: &Sandbox, who: &str, stage: &str, iteration: u32, to: &str) {
    let trailers = sandbox.trailers("refs/cowork/attempts/todo/1");
    let [back] = &trailers["Cowork-Back"][..] else { panic!("{trailers:?}") };
    assert!(back.starts_with(&format!("{to} ")), "{back}");
    assert!(back.ends_with(&format!(" {stage} {who} {iteration}")), "{back}");
    let steps = sandbox.cowork(&["log", "--json"]).exits(0).json_lines();
    let back = steps.iter().find(|step| step["event"] == "went_back").unwrap();
    assert_eq!((&back["actor"], &back["decision"]), (&json!(who), &json!("auto")), "{back}");
    assert_eq!((&back["stage"], &back["iteration"]), (&json!(stage), &json!(iteration)), "{back}");
    assert_eq!((&back["from"], &back["to"]), (&json!(stage), &json!(to)), "{back}");
    let said = steps.iter().find(|step| step["event"] == "feedback" && step["reason"] == REASON);
    let said = said.unwrap();
    assert_eq!((&said["actor"], &said["stage"]), (&json!(who), &json!(stage)), "{said}");
    let shown = sandbox.cowork(&["log", "-v"]).exits(0).stdout;
    let by = format!("from {stage} to {to}, by the {stage} {who} (draft {iteration})");
    assert!(shown.contains(&by), "no '{by}' in {shown}");
    let asks = format!("draft {iteration}: {who} asks to go back to {to}: {REASON}");
    assert!(shown.contains(&asks), "no '{asks}' in {shown}");
}

/// The stage that is done again is told why.
fn is_heard(sandbox: &Sandbox, stage: &str) {
    let drafts = sandbox.server.requests_of(stage, "actor");
    assert!(drafts.iter().any(|draft| draft.text().contains(REASON)), "{stage} is not told why");
}

#[test]
fn codings_wish_is_codings() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.server.times(1, at("coding", "actor").task("TASK-002").turn(1), goto("design"));
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
    names(&asked(&sandbox), "actor", "coding", 1);
    is_told(&sandbox, "actor", "coding", 1, "design");
    is_heard(&sandbox, "design");
    // It was an answer to the stage that is done again, not to the code that comes then.
    let coding = sandbox.server.requests_of("coding", "actor");
    assert!(!coding.last().unwrap().text().contains(REASON));
    let trailers = sandbox.trailers(&sandbox.stage_commit("coding"));
    assert_eq!(trailers["Cowork-Iterations"], ["1"]);
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn checks_wish_is_checks_with_the_number_of_its_draft() {
    let sandbox = Sandbox::stopped_after("coding");
    // Its first draft leaves nothing; the second one asks.
    sandbox.server.on(at("check", "actor").iteration(1), Reply::text("Hm."));
    sandbox.server.times(1, at("check", "actor").iteration(2).turn(1), goto("plan"));
    sandbox.server.forget();
    let resume = ["resume", "--review", "auto", "--stop-after", "check"];
    sandbox.cowork(&resume).exits(0);
    names(&asked(&sandbox), "actor", "check", 2);
    is_told(&sandbox, "actor", "check", 2, "plan");
    is_heard(&sandbox, "plan");
}

#[test]
fn a_critics_wish_names_its_stage_and_the_draft_it_read() {
    let sandbox = Sandbox::stopped_after("prd");
    let later = Reply::call("save_design_doc", json!({"content": format!("{DESIGN}\nMore.\n")}));
    sandbox.server.on(at("design", "actor").iteration(2).turn(1), later);
    sandbox.server.times(1, at("design", "critic").iteration(1), reject("COMP-002 is vague"));
    sandbox.server.times(1, at("design", "critic").iteration(2), goto("prd"));
    sandbox.server.times(1, at("design", "actor").iteration(1).turn(1), design_draft());
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "design"]).exits(0);
    names(&asked(&sandbox), "critic", "design", 2);
    is_told(&sandbox, "critic", "design", 2, "prd");
    is_heard(&sandbox, "prd");
    // The draft with that number in the next run of the stage has not been refused by it.
    let trailers = sandbox.trailers(&sandbox.stage_commit("design"));
    assert_eq!(trailers["Cowork-Iterations"], ["1"]);
}

#[test]
fn a_wish_that_waits_for_a_person_says_whose_it_is() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.server.times(1, at("coding", "actor").task("TASK-001").turn(1), goto("design"));
    let says = format!("the coding actor asks to go back to design: {REASON}");
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3).says(&says);
    assert!(sandbox.cowork(&["status"]).exits(0).stdout.contains(&says));
    // A person who agrees does so because of these words, and the stage hears them.
    let mut terminal = sandbox.terminal(&["resume"]);
    terminal.sees("stop for now");
    terminal.types("g");
    terminal.sees("Go back to which stage?");
    terminal.sees("any other key: stay here");
    terminal.types("3");
    terminal.sees("stop for now");
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    is_heard(&sandbox, "design");
    let shown = sandbox.cowork(&["log", "-v"]).exits(0).stdout;
    assert!(shown.contains("from coding to design, by Ana Example"), "{shown}");
    assert!(shown.contains("the coding actor asks to go back to design"), "{shown}");
}
