//! The second opinion: who `[roles] challenger` names reads what the critic has approved, and may want
//! another draft or none.

use serde_json::{Value, json};

use crate::support::kill::{abort_at, kill_at_request};
use crate::support::pty::Terminal;
use crate::support::todo::PRD;
use crate::support::{Reply, Sandbox, at};

const RESUME: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "prd"];
const WAIT: [&str; 5] = ["resume", "--review", "wait", "--stop-after", "prd"];
const SECOND: &str = "[models.second]\nmodel = \"second-1\"\n[roles]\nchallenger = \"second\"\n";
const COMPLAINT: &str = "prd.md, REQ-002: nothing says in which order todos are listed.";

/// The next stage is prd, with a second opinion that says this about its first draft and approves the
/// others.
fn challenged(said: &str) -> Sandbox {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.user_config(&format!("{SECOND}[review]\nchallenge = [\"prd\"]\n"));
    sandbox.server.on_with(at("prd", "actor").turn(1), |received| {
        let text = format!("{PRD}\nDraft {}, fixed.\n", received.iteration);
        (received.iteration > 1).then(|| Reply::call("save_prd_doc", json!({"content": text})))
    });
    sandbox.server.on(at("prd", "challenger"), Reply::text("Every command holds.\n\nAPPROVED"));
    sandbox.server.on(at("prd", "challenger").iteration(1), Reply::text(said));
    sandbox.server.forget();
    sandbox
}

fn refusing() -> String {
    format!("{COMPLAINT}\nNEEDS_REVISION")
}

fn rejecting() -> String {
    format!("{COMPLAINT}\nREJECTED")
}

fn asked(sandbox: &Sandbox) -> (usize, usize) {
    let of = |role| sandbox.server.requests_of("prd", role).len();
    (of("critic"), of("challenger"))
}

fn history(sandbox: &Sandbox) -> Vec<Value> {
    let commit = sandbox.stage_commit("prd");
    let text = sandbox.blob(&commit, ".cowork/sessions/todo/feedback_history.json");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn what_the_critic_approved_is_read_by_another_model_without_writing_tools() {
    let sandbox = challenged("Read all of it; nothing to fix.\n\nAPPROVED");
    let writes = Reply::call("save_prd_doc", json!({"content": "mine"}));
    sandbox.server.times(1, at("prd", "challenger"), writes);
    let told = sandbox.cowork(&RESUME).exits(0).stderr;
    let approval = "prd: the challenger approved: Read all of it; nothing to fix.";
    assert!(told.contains(approval), "{told}");
    let requests = sandbox.server.requests();
    let roles: Vec<&str> = requests.iter().map(|r| r.role.as_str()).collect();
    let critic = roles.iter().rposition(|role| *role == "critic").unwrap();
    assert!(roles.iter().position(|role| *role == "challenger").unwrap() > critic, "{roles:?}");
    let second = &sandbox.server.requests_of("prd", "challenger")[0];
    assert_eq!(second.body["model"], "second-1");
    assert!(second.text().contains("REQ-002"), "{}", second.text());
    let tools = second.tools();
    assert!(tools.contains(&"read_file".to_owned()), "{tools:?}");
    assert!(!tools.iter().any(|tool| tool.starts_with("save_")), "{tools:?}");
    let commit = sandbox.stage_commit("prd");
    assert!(!sandbox.blob(&commit, ".cowork/sessions/todo/prd.md").contains("mine"));
    let body = sandbox.git(&["log", "-1", "--format=%B", &commit]);
    assert!(body.contains("The challenger approved: Read all of it; nothing to fix."), "{body}");
    assert!(body.contains("second-1") || body.contains("scripted-1"), "{body}");
    sandbox.assert_sound();
}

#[test]
fn without_a_challenger_and_in_other_stages_nobody_gives_a_second_opinion() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.user_config(SECOND);
    sandbox.cowork(&RESUME).exits(0);
    assert_eq!(asked(&sandbox), (1, 0));
}

#[test]
fn a_revision_is_feedback_for_the_next_draft_and_told_everywhere() {
    let sandbox = challenged(&refusing());
    sandbox.cowork(&RESUME).exits(0);
    assert_eq!(asked(&sandbox), (2, 2));
    let drafts = sandbox.server.requests_of("prd", "actor");
    let second = drafts.iter().find(|r| r.iteration == 2).unwrap();
    assert!(
        second.text().contains(&format!("challenger, major: {COMPLAINT}")),
        "{}",
        second.text()
    );
    let entries = history(&sandbox);
    assert_eq!(
        (&entries[0]["from"], &entries[0]["details"]),
        (&json!("challenger"), &json!(COMPLAINT))
    );
    let log = sandbox.cowork(&["log"]).exits(0).stdout;
    assert!(log.contains("challenger") && log.contains("nothing says in which order"), "{log}");
    // It judges its own feedback by what changed, and is not asked again about what it approved.
    let second = &sandbox.server.requests_of("prd", "challenger")[1].text();
    assert!(second.contains("## Your feedback so far") && second.contains(COMPLAINT), "{second}");
    assert!(second.contains("+Draft 2, fixed."), "{second}");
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    assert_eq!(asked(&sandbox), (0, 0));
    let report = sandbox.artifact("delivery_report.md");
    assert!(report.contains("- prd, by the second opinion: "), "{report}");
}

#[test]
fn its_refusals_use_up_the_drafts() {
    let sandbox = challenged("APPROVED");
    sandbox.server.on_with(at("prd", "challenger"), |received| {
        let what = ["no user is named", "the list has no end", "ticking off is unclear"];
        let what = what.get(received.iteration as usize - 1)?;
        Some(Reply::text(&format!("{what}\nNEEDS_REVISION")))
    });
    sandbox.cowork(&RESUME).exits(1).says("ticking off is unclear");
    assert_eq!(asked(&sandbox), (3, 3));
    sandbox.assert_sound();
}

#[test]
fn a_rejection_ends_the_run_and_the_next_one_without_a_request() {
    for mode in ["auto", "wait"] {
        let sandbox = challenged(&rejecting());
        let resume = ["resume", "--review", mode, "--stop-after", "prd"];
        if mode == "wait" {
            sandbox.cowork(&resume).exits(3);
            sandbox.cowork(&["review", "--pass"]).exits(0);
        }
        let told = "the challenger rejected the draft";
        sandbox.cowork(&resume).exits(1).says(told).says(COMPLAINT);
        assert_eq!(asked(&sandbox), (1, 1));
        assert!(sandbox.refs("refs/tags/cowork/todo/prd").is_empty());
        sandbox.server.forget();
        sandbox.cowork(&resume).exits(1).says(told).says(COMPLAINT);
        assert_eq!(sandbox.server.requests().len(), 0, "{mode}");
        let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
        assert_eq!(status["state"], "stopped", "{status}");
        assert!(status["reason"].as_str().unwrap().contains(told), "{status}");
        sandbox.assert_sound();
    }
}

fn at_the_menu(sandbox: &Sandbox) -> Terminal {
    let mut terminal = sandbox.terminal(&RESUME);
    let shown = terminal.sees("What now");
    assert!(shown.contains("rejected by the second opinion"), "{shown}");
    assert!(shown.contains("in which order todos are listed"), "{shown}");
    terminal.sees("resume asks again");
    terminal
}

/// Answers the review that the menu leads to.
#[track_caller]
fn reviewed_with(sandbox: &Sandbox, key: &str, code: i32) {
    let mut terminal = at_the_menu(sandbox);
    terminal.types("r");
    terminal.sees("stop for now");
    terminal.types(key);
    let (exit, rest) = terminal.ends();
    assert_eq!(exit, code, "{rest}");
}

#[test]
fn a_person_may_have_what_was_rejected_done_again() {
    let sandbox = challenged(&rejecting());
    let mut terminal = at_the_menu(&sandbox);
    terminal.types("2");
    terminal.sees("what should the actor do?");
    terminal.enters("list them by date");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let drafts = sandbox.server.requests_of("prd", "actor");
    let second = drafts.iter().find(|r| r.iteration == 2).unwrap().text();
    assert!(second.contains("human, critical: list them by date"), "{second}");
    assert!(second.contains(&format!("challenger, critical: {COMPLAINT}")), "{second}");
    assert_eq!(asked(&sandbox), (2, 2));
    sandbox.assert_sound();
}

#[test]
fn a_person_may_pass_what_was_rejected_and_nobody_is_asked_again() {
    let sandbox = challenged(&rejecting());
    reviewed_with(&sandbox, "p", 0);
    assert_eq!(asked(&sandbox), (1, 1));
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Iterations"], ["1"]);
}

#[test]
fn a_person_may_pass_it_later_too() {
    let sandbox = challenged(&rejecting());
    reviewed_with(&sandbox, "q", 3);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&WAIT).exits(0);
    assert_eq!(asked(&sandbox), (1, 1));
}

#[test]
fn critic_first_both_read_before_the_gate_and_what_passed_is_not_read_again() {
    let sandbox = challenged("Whole.\nAPPROVED");
    sandbox.user_config(&format!(
        "{SECOND}[review]\nchallenge = [\"prd\"]\norder = \"critic-first\"\n"
    ));
    sandbox.cowork(&WAIT).exits(3);
    assert_eq!(asked(&sandbox), (1, 1));
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&WAIT).exits(0);
    assert_eq!(asked(&sandbox), (1, 1));
}

#[test]
fn a_name_no_model_has_is_said_before_anything_is_made() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[roles]\nchallenger = \"nobody\"\n[review]\nchallenge = []\n");
    sandbox.auto(&[]).exits(4).says("no model is called 'nobody'");
    assert!(sandbox.refs("refs/heads/cowork/").is_empty());
    assert_eq!(sandbox.server.requests().len(), 0);
}

#[test]
fn killed_while_it_reads_it_is_asked_again_and_the_critic_is_not() {
    let sandbox = challenged(&refusing());
    let undisturbed = sandbox.fork();
    undisturbed.server.on(at("prd", "challenger"), Reply::text("APPROVED"));
    let before = sandbox.server.requests().len();
    assert_eq!(before, 0);
    // Actor, its closing words, critic, challenger.
    let n = {
        let count = sandbox.fork();
        count.user_config("");
        count.cowork(&RESUME).exits(0);
        count.server.requests().len() + 1
    };
    kill_at_request(&sandbox, &RESUME, n).was_killed();
    assert_eq!(asked(&sandbox), (1, 1));
    sandbox.server.forget();
    sandbox.cowork(&RESUME).exits(0);
    // The first draft by the challenger only, the second by both.
    assert_eq!(asked(&sandbox), (1, 2));
    assert_eq!(history(&sandbox).len(), 1);
    sandbox.assert_sound();
}

#[test]
fn killed_after_it_approved_it_is_not_asked_again() {
    let mut sandbox = challenged("Whole.\nAPPROVED");
    abort_at(&mut sandbox, &RESUME, "stage.before-commit:1").was_killed();
    assert_eq!(asked(&sandbox), (1, 1));
    sandbox.server.forget();
    sandbox.cowork(&RESUME).exits(0);
    assert_eq!(asked(&sandbox), (0, 0));
    let body = sandbox.git(&["log", "-1", "--format=%B", &sandbox.stage_commit("prd")]);
    assert!(body.contains("The challenger approved: Whole."), "{body}");
}

#[test]
fn who_gives_no_verdict_is_reminded_and_then_the_run_ends_with_the_draft_kept() {
    let sandbox = challenged("Looks fine to me.");
    let outcome = sandbox.cowork(&RESUME).exits(1);
    let outcome = outcome.says("gave no verdict").says("Looks fine to me.");
    outcome.says("git config cowork.roles.challenger ''");
    assert_eq!(asked(&sandbox), (1, 2));
    let reminded = sandbox.server.requests_of("prd", "challenger")[1].text();
    assert!(reminded.contains("APPROVED, NEEDS_REVISION or REJECTED"), "{reminded}");
    sandbox.server.forget();
    sandbox.git(&["config", "cowork.roles.challenger", ""]);
    sandbox.cowork(&RESUME).exits(0);
    assert_eq!(asked(&sandbox), (0, 0));
    sandbox.assert_sound();
}

#[test]
fn a_person_decides_where_the_challenger_gives_no_verdict_and_it_is_not_asked_again() {
    const MIXED: &str = "APPROVED\n\nOn second thought, the order is missing:\n\nREJECTED";
    for key in ["p", "q"] {
        let sandbox = challenged(MIXED);
        let mut terminal = sandbox.terminal(&RESUME);
        let shown = terminal.sees("stop for now");
        assert!(shown.contains("gave no verdict; it said: APPROVED On second"), "{shown}");
        terminal.types(key);
        let (code, rest) = terminal.ends();
        assert_eq!(code, if key == "p" { 0 } else { 3 }, "{rest}");
        if key == "q" {
            sandbox.cowork(&["review", "--pass"]).exits(0);
            sandbox.cowork(&WAIT).exits(0);
        }
        assert_eq!(asked(&sandbox), (1, 2));
        let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
        assert_eq!(trailers["Cowork-Iterations"], ["1"]);
        sandbox.assert_sound();
    }
}
