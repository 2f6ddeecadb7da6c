//! `--json`: standard output is JSON lines, everything else goes to standard error.

use serde_json::Value;

use crate::support::todo::{STAGES, lingers};
use crate::support::{Reply, Sandbox, at};

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|e| e["event"].as_str().unwrap()).collect()
}

#[test]
fn a_run_is_a_stream_of_events() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.auto(&["--json"]).exits(0);
    let events = outcome.json_lines();
    for event in &events {
        assert_eq!(event["session"], "todo", "{event}");
        let at = event["at"].as_str().unwrap();
        assert!(at.contains('T') && at.ends_with('Z'), "{event}");
    }
    let names = names(&events);
    assert_eq!(names[0], "session_started");
    assert_eq!(*names.last().unwrap(), "session_completed");
    let count = |name: &str| names.iter().filter(|n| **n == name).count();
    assert_eq!(count("stage_started"), 7);
    assert_eq!(count("stage_completed"), 7);
    assert_eq!(count("model_request"), sandbox.server.requests().len());
    assert!(count("tool_call") >= 20, "{names:?}");
    assert_eq!(count("error"), 0);
    let completed = events.iter().filter(|e| e["event"] == "stage_completed");
    for (event, stage) in completed.zip(STAGES) {
        assert_eq!(event["stage"], stage);
        assert_eq!(event["commit"], sandbox.stage_commit(stage).as_str());
        assert_eq!(event["tag"], format!("cowork/todo/{stage}"));
    }
}

#[test]
fn a_waiting_review_is_an_event() {
    let sandbox = Sandbox::new();
    let events = sandbox.wait(&["--json"]).exits(3).json_lines();
    let last = events.iter().rfind(|e| e["event"] == "review_requested").unwrap();
    assert_eq!(last["stage"], "idea");
}

#[test]
fn feedback_and_errors_are_events() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[limits]\niterations = { prd = 1 }\n");
    sandbox.server.on(at("prd", "critic"), crate::support::todo::reject("no user is named"));
    let events = sandbox.auto(&["--json"]).exits(1).json_lines();
    let feedback = events.iter().find(|e| e["event"] == "feedback").unwrap();
    assert_eq!(feedback["stage"], "prd");
    assert_eq!(feedback["from"], "critic");
    assert_eq!(feedback["details"], "no user is named");
    assert_eq!(events.last().unwrap()["event"], "error");
    assert!(!names(&events).contains(&"session_completed"));
}

#[test]
fn an_error_before_anything_is_an_event_too() {
    let sandbox = Sandbox::nowhere();
    let events = sandbox.cowork(&["--json", "resume"]).exits(5).json_lines();
    assert_eq!(names(&events), ["error"]);
}

#[test]
fn status_has_all_its_fields() {
    let sandbox = Sandbox::stopped_after("prd");
    let outcome = sandbox.cowork(&["status", "--json"]).exits(0);
    assert_eq!(outcome.stdout.lines().count(), 1);
    let status = outcome.json();
    assert_eq!(status["session"], "todo");
    assert_eq!(status["id"], sandbox.trailers("HEAD")["Cowork-Session-Id"][0].as_str());
    assert_eq!(status["kind"], "new");
    assert_eq!(status["state"], "in_progress");
    assert_eq!(status["stage"], "design");
    assert_eq!(status["done"], serde_json::json!(["idea", "prd"]));
    assert!(status.get("iteration").is_some(), "{status}");
    assert_eq!(status["tip"], sandbox.git(&["rev-parse", "HEAD"]).as_str());
    assert_eq!(status["base"]["branch"], "main");
    assert!(status.get("tokens").is_some(), "{status}");
}

#[test]
fn list_is_a_status_a_line() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.cowork(&["list", "--json"]).exits(0).stdout, "");
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    sandbox.cowork(&["new", "-n", "other", "x", "--review", "wait"]).exits(3);
    let mut lines = sandbox.cowork(&["list", "--json"]).exits(0).json_lines();
    lines.sort_by_key(|line| line["session"].to_string());
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["session"], "other");
    assert_eq!(lines[0]["state"], "waiting");
    assert_eq!(lines[1]["session"], "todo");
    assert_eq!(lines[1]["state"], "in_progress");
}

#[test]
fn streamed_text_does_not_get_into_the_json() {
    let sandbox = Sandbox::new();
    sandbox.server.manner(lingers);
    let chatty = Reply::text("I have thought\nabout \"this\" for long.");
    sandbox.server.on(at("idea", "actor").turn(2), chatty);
    sandbox.auto(&["--json", "--stream", "--stop-after", "idea"]).exits(0).json_lines();
}

#[test]
fn bad_usage_is_an_event_too() {
    let sandbox = Sandbox::nowhere();
    for args in [&["--json", "bogus"][..], &["resume", "--json", "--stop-after", "lunch"]] {
        let events = sandbox.cowork(args).exits(2).json_lines();
        assert_eq!(names(&events), ["error"]);
        assert_eq!((&events[0]["kind"], &events[0]["exit"]), (&"usage".into(), &2.into()));
        assert!(!events[0]["hints"].as_array().unwrap().is_empty(), "{events:?}");
    }
    assert!(!sandbox.cowork(&["bogus", "--", "--json"]).exits(2).stderr.is_empty());
    sandbox.cowork(&["--json", "--help"]).exits(0);
}
