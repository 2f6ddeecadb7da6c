//! A critic's second look: its own feedback and what changed since it read the draft come
//! first; a whole document only where the difference is larger.

use rustix::process::Signal;
use serde_json::json;

use crate::support::kill::{kill_at_request, signal_at_request};
use crate::support::server::Received;
use crate::support::todo::{PRD, prd_draft, reject};
use crate::support::{Reply, Sandbox, at};

const COMPLAINT: &str = "REQ-002 does not say in which order";
const RESUME: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "prd"];

/// Prose in the middle of the document, far from what changes.
const PROSE: &str = "Paper slips get lost; line 100 of what people told us.";

fn big() -> String {
    let line = |n| format!("Paper slips get lost; line {n} of what people told us.\n");
    format!("{PRD}\n## Background\n{}", (1..=200).map(line).collect::<String>())
}

/// The next stage is prd; its first draft is refused, the second one is `second`.
fn refused_once(first: &str, second: &str) -> Sandbox {
    let sandbox = Sandbox::stopped_after("idea");
    let save = |text: &str| Reply::call("save_prd_doc", json!({"content": text, "whole": true}));
    let mut draft = save(first);
    draft.calls.extend(prd_draft().calls.into_iter().skip(1));
    sandbox.server.on(at("prd", "actor").iteration(1).turn(1), draft);
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), save(second));
    sandbox.server.on(at("prd", "critic").iteration(1), reject(COMPLAINT));
    sandbox.server.forget();
    sandbox
}

fn by_date() -> String {
    big().replace("REQ-002 List todos", "REQ-002 List todos by date")
}

/// The user message of the critic's newest first request.
#[track_caller]
fn looks(sandbox: &Sandbox, stage: &str) -> (Received, String) {
    let mut critics = sandbox.server.requests_of(stage, "critic");
    critics.retain(|critic| critic.turn == 1);
    let second = critics.pop().unwrap();
    let text = second.messages()[1]["content"].as_str().unwrap().to_owned();
    (second, text)
}

/// Feedback first, then the difference, and not the whole.
#[track_caller]
fn holds_the_difference_only(text: &str) {
    let feedback = text.find(COMPLAINT).unwrap();
    let change = text.find("+### REQ-002 List todos by date").unwrap();
    let heading = text.find("## Changed since you last read it").unwrap();
    assert!(text.starts_with("## Your feedback so far"), "{}", &text[..200.min(text.len())]);
    assert!(feedback < heading && heading < change, "{text}");
    assert!(text.find("# Your role").unwrap() > change, "{text}");
    assert!(!text.contains(PROSE), "the whole document is there: {text}");
}

#[test]
fn feedback_and_difference_come_first_and_the_whole_stays_away() {
    let sandbox = refused_once(&big(), &by_date());
    sandbox.cowork(&RESUME).exits(0);
    let first = &sandbox.server.requests_of("prd", "critic")[0];
    assert!(first.text().contains(PROSE) && first.text().contains("## .cowork/"));
    let (second, text) = looks(&sandbox, "prd");
    assert_eq!(second.iteration, 2);
    holds_the_difference_only(&text);
    assert!(second.bytes * 2 < first.bytes, "{} of {}", second.bytes, first.bytes);
    // What did not change is named with the tool that reads it.
    assert!(text.contains("requirements.json"), "{text}");
    for tool in ["read_file", "search_files"] {
        assert!(second.tools().contains(&tool.to_owned()), "{tool}");
        assert!(text.contains(tool), "{tool} is not named in {text}");
    }
}

#[test]
fn a_document_that_is_smaller_than_its_difference_is_sent_whole() {
    let short = format!("{PRD}\nAll of it again.\n");
    let sandbox = refused_once(&big(), &short);
    sandbox.cowork(&RESUME).exits(0);
    let (_, text) = looks(&sandbox, "prd");
    assert!(text.starts_with("## Your feedback so far"), "{text}");
    assert!(text.contains("## .cowork/sessions/todo/prd.md\n\n# Product requirements"), "{text}");
    assert!(text.contains("All of it again."), "{text}");
    assert!(!text.contains(PROSE) && !text.contains("+All of it again."), "{text}");
}

#[test]
fn a_draft_that_did_not_change_is_said_not_to_have() {
    let sandbox = refused_once(&big(), &big());
    sandbox.server.on(at("prd", "critic").iteration(2), crate::support::todo::approve());
    sandbox.cowork(&RESUME).exits(0);
    let (_, text) = looks(&sandbox, "prd");
    assert!(text.starts_with("## Your feedback so far"), "{text}");
    assert!(text.contains("Nothing in it has changed"), "{text}");
    assert!(!text.contains(PROSE), "{text}");
}

#[test]
fn a_critic_without_a_verdict_gets_the_whole_again() {
    let sandbox = refused_once(&big(), &by_date());
    sandbox.server.on(at("prd", "critic").iteration(1), Reply::text("Hm."));
    sandbox.cowork(&RESUME).exits(1);
    sandbox.server.on(at("prd", "critic").iteration(1), crate::support::todo::approve());
    sandbox.cowork(&RESUME).exits(0);
    let text = sandbox.server.requests_of("prd", "critic").pop().unwrap().text();
    assert!(text.contains(PROSE) && !text.contains("Your feedback so far"), "{text}");
}

#[test]
fn the_difference_survives_the_end_of_the_run() {
    let base = refused_once(&big(), &by_date());
    // 1 to 3: first draft and its critic. 4: the second draft is asked for, 5: it is written, 6:
    // the critic is asked again.
    let kill = Signal::KILL;
    for (n, signal) in [(4, kill), (5, kill), (6, kill), (4, Signal::INT), (5, Signal::INT)] {
        let sandbox = base.fork();
        sandbox.server.manner(crate::support::todo::lingers);
        let prose = big();
        let mut draft = Reply::call("save_prd_doc", json!({"content": prose}));
        draft.calls.extend(prd_draft().calls.into_iter().skip(1));
        sandbox.server.on(at("prd", "actor").iteration(1).turn(1), draft);
        let save = json!({"content": by_date()});
        sandbox
            .server
            .on(at("prd", "actor").iteration(2).turn(1), Reply::call("save_prd_doc", save));
        sandbox.server.on(at("prd", "critic").iteration(1), reject(COMPLAINT));
        signal_at_request(&sandbox, &RESUME, n, signal);
        sandbox.server.forget();
        sandbox.cowork(&RESUME).exits(0);
        let (second, text) = looks(&sandbox, "prd");
        assert_eq!(second.iteration, 2, "{n} {signal:?}");
        holds_the_difference_only(&text);
    }
}

#[test]
fn the_difference_is_there_after_a_draft_waited() {
    let sandbox = refused_once(&big(), &by_date());
    let resume = ["resume", "--review", "wait", "--stop-after", "prd"];
    sandbox.cowork(&resume).exits(3);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&resume).exits(3);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&resume).exits(0);
    holds_the_difference_only(&looks(&sandbox, "prd").1);
}

#[test]
fn code_is_compared_with_the_code_that_was_read() {
    let base = Sandbox::stopped_after("plan");
    for kill in [false, true] {
        let sandbox = base.fork();
        sandbox.server.on(at("coding", "critic").iteration(1), reject("todo.sh says nothing"));
        let correct = json!({"path": "todo.sh", "content": "# TASK-005: Read\necho corrected\n"});
        sandbox
            .server
            .on(at("coding", "actor").iteration(2).turn(1), Reply::call("write_file", correct));
        let resume = ["resume", "--review", "auto", "--stop-after", "coding"];
        sandbox.server.forget();
        if kill {
            // A request a task, the critic, then the correction's second turn.
            kill_at_request(&sandbox, &resume, 8).was_killed();
            sandbox.server.forget();
        }
        sandbox.cowork(&resume).exits(0);
        let (second, text) = looks(&sandbox, "coding");
        assert_eq!(second.iteration, 2, "{kill}");
        assert!(text.starts_with("## Your feedback so far"), "{kill}: {text}");
        assert!(
            text.contains("todo.sh says nothing") && text.contains("+echo corrected"),
            "{text}"
        );
        assert!(!text.contains("lib/add.sh b/lib/add.sh"), "the whole difference: {text}");
        assert!(!text.contains("The code as a diff"), "{kill}: {text}");
    }
}
