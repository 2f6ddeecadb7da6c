//! The actor's self-review (`[project] self_review`): after the checks, said as what it did, and
//! what it could not fix is heard by critic, person and history.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::kill::{kill_at_request, signal_at_request};
use crate::support::todo::{PRD, reject, requirement};
use crate::support::{Reply, Sandbox, at};

const PROBLEM: &str = "REQ-003 does not say what ticking twice does.";
const RESUME: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "prd"];

/// The next stage is prd, whose actor reviews its draft.
fn before_prd() -> Sandbox {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.user_config("[project]\nself_review = [\"prd\"]\n");
    sandbox.server.forget();
    sandbox
}

/// The self-review makes this call, then closes with these words.
fn self_review(sandbox: &Sandbox, call: Option<Reply>, words: &str) {
    let replies = call.into_iter().chain([Reply::text(words)]).collect();
    sandbox.server.sequence(at("prd", "self-review"), replies);
}

fn save(text: &str) -> Reply {
    Reply::call("save_prd_doc", json!({"content": text}))
}

fn revised() -> String {
    format!("{PRD}\nOne more thought.\n")
}

fn history(sandbox: &Sandbox) -> Vec<Value> {
    let path = ".cowork/sessions/todo/feedback_history.json";
    let commit = sandbox.stage_commit("prd");
    if sandbox.git(&["ls-tree", &commit, path]).is_empty() {
        return Vec::new();
    }
    serde_json::from_str(&sandbox.blob(&commit, path)).unwrap()
}

fn json_run(sandbox: &Sandbox, event: &str) -> Vec<Value> {
    let args = [&RESUME[..], &["--json"]].concat();
    let mut events = sandbox.cowork(&args).exits(0).json_lines();
    events.retain(|line| line["event"] == event);
    events
}

fn completed(sandbox: &Sandbox) -> Value {
    let steps = sandbox.cowork(&["log", "--json"]).exits(0).json_lines();
    let done = |step: &Value| step["event"] == "stage_completed" && step["stage"] == "prd";
    steps.into_iter().find(done).unwrap()
}

#[test]
fn a_draft_the_checks_refuse_is_not_self_reviewed() {
    let sandbox = before_prd();
    let thin =
        save("# PRD\n\nWhat it must do.\n").and("create_requirement", requirement("Add a todo"));
    sandbox.server.on(at("prd", "actor").iteration(1).turn(1), thin);
    let rest = Reply::call("create_requirement", requirement("List todos"))
        .and("create_requirement", requirement("Tick a todo off"))
        .and("add_feature", crate::support::todo::feature("Adding", &["REQ-001"]))
        .and("add_feature", crate::support::todo::feature("Reading", &["REQ-002", "REQ-003"]));
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), rest);
    sandbox.cowork(&RESUME).exits(0);
    let reviews = sandbox.server.requests_of("prd", "self-review");
    let drafts: Vec<u32> = reviews.iter().map(|review| review.iteration).collect();
    assert_eq!(drafts, [2], "the first draft that the checks pass, once");
}

#[test]
fn a_self_review_that_changed_files_has_revised_them() {
    let base = before_prd();
    // Whatever its marker says: what it did is what the files show.
    for marker in ["<review>PASS</review>", ""] {
        let sandbox = base.fork();
        self_review(&sandbox, Some(save(&revised())), marker);
        let outcome = sandbox.cowork(&RESUME).exits(0).says("prd: self-review revised prd.md");
        assert!(!outcome.stderr.contains("self-review passed"), "{}", outcome.stderr);
        assert_eq!(outcome.stderr.contains("no <review> marker"), marker.is_empty());
        let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
        assert_eq!(trailers["Cowork-Self-Review"], ["revised"]);
        assert_eq!(trailers["Cowork-Iterations"], ["1"]);
        assert_eq!(completed(&sandbox)["self_review"], "revised");
        let shown = sandbox.cowork(&["log", "-v"]).exits(0).stdout;
        assert!(shown.contains("1 draft · auto · self-review revised"), "{shown}");
        assert!(sandbox.artifact("prd.md").ends_with("One more thought.\n"));
        assert!(history(&sandbox).is_empty());
    }
    let sandbox = base.fork();
    self_review(&sandbox, Some(save(&revised())), "<review>PASS</review>");
    let said = json_run(&sandbox, "self_review");
    assert_eq!(said.len(), 1);
    assert_eq!((&said[0]["stage"], &said[0]["iteration"]), (&json!("prd"), &json!(1)));
    assert_eq!(said[0]["outcome"], "revised");
    assert_eq!(said[0]["files"], json!([".cowork/sessions/todo/prd.md"]));
}

#[test]
fn a_self_review_that_changed_nothing_has_revised_nothing() {
    let base = before_prd();
    let sandbox = base.fork();
    // It saves what is there already.
    self_review(&sandbox, Some(save(PRD)), "Better now. <review>PASS</review>");
    let outcome = sandbox.cowork(&RESUME).exits(0).says("prd: self-review passed, nothing changed");
    assert!(!outcome.stderr.contains("revised"), "{}", outcome.stderr);
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Self-Review"], ["passed"]);
    let sandbox = base.fork();
    self_review(&sandbox, None, &format!("{PROBLEM}\n<review>NEEDS_REVISION</review>"));
    let said = json_run(&sandbox, "self_review");
    assert_eq!((&said[0]["outcome"], &said[0]["files"]), (&json!("needs_revision"), &json!([])));
    assert_eq!(completed(&sandbox)["self_review"], "needs_revision");
    let outcome = base.fork();
    self_review(&outcome, None, &format!("{PROBLEM}\n<review>NEEDS_REVISION</review>"));
    let outcome = outcome.cowork(&RESUME).exits(0);
    assert!(!outcome.stderr.contains("revised"), "{}", outcome.stderr);
    outcome.says("self-review changed nothing and could not fix 1 problem");
}

#[test]
fn what_a_self_review_could_not_fix_reaches_critic_and_history() {
    let sandbox = before_prd();
    let problem = json!({
        "feedback_type": "missing_requirement", "severity": "minor", "details": PROBLEM,
        "suggested_fix": "Ask the person.",
    });
    let both = save(&revised()).and("provide_feedback", problem);
    self_review(&sandbox, Some(both), "The rest is good. <review>PASS</review>");
    let told = json_run(&sandbox, "feedback");
    assert_eq!((told.len(), &told[0]["from"]), (1, &json!("self-review")));
    let critic = &sandbox.server.requests_of("prd", "critic")[0];
    assert!(critic.text().contains(PROBLEM), "{}", critic.text());
    assert!(critic.text().contains("self-review could not fix"), "{}", critic.text());
    let said = history(&sandbox);
    assert_eq!(said.len(), 1);
    assert_eq!((&said[0]["from"], &said[0]["details"]), (&json!("self-review"), &json!(PROBLEM)));
    assert_eq!((&said[0]["stage"], &said[0]["iteration"]), (&json!("prd"), &json!(1)));
    assert_eq!(said[0]["severity"], "minor");
    // It refuses nothing by itself: one draft, and no rejection.
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Iterations"], ["1"]);
    let shown = sandbox.cowork(&["log"]).exits(0).stdout;
    assert!(shown.contains("draft 1: self-review could not fix: REQ-003"), "{shown}");
    assert!(!shown.contains("rejected"), "{shown}");
    assert!(sandbox.cowork(&["show", "feedback"]).exits(0).stdout.contains(PROBLEM));
}

#[test]
fn the_next_draft_is_told_what_the_self_review_could_not_fix() {
    let sandbox = before_prd();
    self_review(&sandbox, None, &format!("{PROBLEM}\n<review>NEEDS_REVISION</review>"));
    sandbox.server.times(1, at("prd", "critic"), reject("REQ-002 is vague"));
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), save(&revised()));
    sandbox.cowork(&RESUME).exits(0);
    let drafts = sandbox.server.requests_of("prd", "actor");
    let second = drafts.iter().find(|draft| draft.iteration == 2).unwrap();
    assert!(second.text().contains(&format!("self-review, major: {PROBLEM}")), "{}", second.text());
    assert_eq!(sandbox.server.requests_of("prd", "self-review").len(), 1);
}

#[test]
fn the_gate_shows_what_the_self_review_could_not_fix() {
    let sandbox = before_prd();
    self_review(&sandbox, None, &format!("{PROBLEM}\n<review>NEEDS_REVISION</review>"));
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    let shown = terminal.sees("stop for now");
    assert!(shown.contains(&format!("Unfixed  self-review: {PROBLEM}")), "{shown}");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    // Where the draft waits it is in the draft's commit, and shown again.
    let sandbox = before_prd();
    self_review(&sandbox, None, &format!("{PROBLEM}\n<review>NEEDS_REVISION</review>"));
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3).says(PROBLEM);
    let mut terminal = sandbox.terminal(&["review"]);
    let shown = terminal.sees("stop for now");
    assert!(shown.contains(&format!("Unfixed  self-review: {PROBLEM}")), "{shown}");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "prd"]).exits(0);
    let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
    assert_eq!(trailers["Cowork-Self-Review"], ["needs_revision"]);
    assert_eq!(sandbox.server.requests_of("prd", "self-review").len(), 1);
}

#[test]
fn the_checks_run_again_after_a_self_reviews_edits() {
    let sandbox = before_prd();
    let lie = format!("{PRD}\nIt syncs, as REQ-009 says.\n");
    self_review(&sandbox, Some(save(&lie)), "<review>PASS</review>");
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), save(&revised()));
    sandbox.cowork(&RESUME).exits(0);
    let said = history(&sandbox);
    assert!(said.iter().all(|entry| entry["from"] == "validator"), "{said:?}");
    assert!(said[0]["details"].as_str().unwrap().contains("REQ-009"), "{said:?}");
    let critics = sandbox.server.requests_of("prd", "critic");
    assert_eq!(critics.iter().map(|critic| critic.iteration).collect::<Vec<_>>(), [2]);
    assert_eq!(sandbox.server.requests_of("prd", "self-review").len(), 2, "one conversation");
}

#[test]
fn a_self_review_that_was_stopped_continues_and_knows_what_it_changed() {
    let base = before_prd();
    for signal in [Signal::KILL, Signal::INT] {
        let sandbox = base.fork();
        // The first turn edits, the second one closes.
        self_review(&sandbox, Some(save(&revised())), "Done. <review>PASS</review>");
        signal_at_request(&sandbox, &RESUME, 3, signal);
        sandbox.server.forget();
        self_review(&sandbox, None, "Done. <review>PASS</review>");
        sandbox.cowork(&RESUME).exits(0).says("prd: self-review revised prd.md");
        assert!(sandbox.server.requests_of("prd", "actor").is_empty(), "{signal:?}");
        let reviews = sandbox.server.requests_of("prd", "self-review");
        assert_eq!(reviews.iter().map(|r| r.turn).collect::<Vec<_>>(), [2], "{signal:?}");
        let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
        assert_eq!(trailers["Cowork-Self-Review"], ["revised"], "{signal:?}");
        assert_eq!(trailers["Cowork-Iterations"], ["1"], "{signal:?}");
        sandbox.assert_sound();
    }
}

#[test]
fn a_self_review_that_is_done_is_not_done_again() {
    let base = before_prd();
    for signal in [Signal::KILL, Signal::INT] {
        let sandbox = base.fork();
        self_review(&sandbox, None, &format!("{PROBLEM}\n<review>NEEDS_REVISION</review>"));
        // The critic's request.
        signal_at_request(&sandbox, &RESUME, 3, signal);
        sandbox.server.forget();
        sandbox.cowork(&RESUME).exits(0);
        assert!(sandbox.server.requests_of("prd", "self-review").is_empty(), "{signal:?}");
        let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
        assert_eq!(trailers["Cowork-Self-Review"], ["needs_revision"], "{signal:?}");
        let said = history(&sandbox);
        assert_eq!((said.len(), &said[0]["from"]), (1, &json!("self-review")), "{signal:?}");
    }
}

#[test]
fn a_self_review_of_code_reads_the_difference_and_may_fix_it() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.user_config("[project]\nself_review = [\"coding\"]\n");
    let fix = json!({"path": "todo.sh", "content": "echo reviewed\n"});
    sandbox.server.sequence(
        at("coding", "self-review"),
        vec![
            Reply::call("write_file", fix),
            Reply::text("todo.sh said nothing. <review>PASS</review>"),
        ],
    );
    sandbox.server.forget();
    let resume = ["resume", "--review", "auto", "--stop-after", "coding"];
    sandbox.cowork(&resume).exits(0).says("coding: self-review revised todo.sh");
    let review = &sandbox.server.requests_of("coding", "self-review")[0];
    assert!(review.text().contains("+# TASK-005: Read the command line"), "{}", review.text());
    let critic = &sandbox.server.requests_of("coding", "critic")[0];
    assert!(critic.text().contains("+echo reviewed"), "the critic reads what came of it");
    let commit = sandbox.stage_commit("coding");
    assert_eq!(sandbox.blob(&commit, "todo.sh"), "echo reviewed\n");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Self-Review"], ["revised"]);
}

#[test]
fn a_person_who_was_first_ends_the_self_review() {
    let sandbox = before_prd();
    // Killed while the actor reads its draft; before that goes on, a person edits it.
    kill_at_request(&sandbox, &RESUME, 2).was_killed();
    let theirs = PRD.replace("REQ-001 Add a todo", "REQ-001 Add a todo by name");
    sandbox.write(".cowork/sessions/todo/prd.md", &theirs);
    sandbox.server.forget();
    sandbox.server.on(at("prd", "actor"), Reply::text("It fits."));
    sandbox.cowork(&RESUME).exits(0);
    assert!(sandbox.server.requests_of("prd", "self-review").is_empty());
    assert!(sandbox.artifact("prd.md").contains("by name"));
}
