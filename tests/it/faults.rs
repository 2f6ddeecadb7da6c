//! What model servers do wrong: each fault is survived, or ends with a clear reason.

use serde_json::{Value, json};

use crate::support::script::Script;
use crate::support::server::Received;
use crate::support::todo::{IDEA, PRD, prd_draft};
use crate::support::{Fault, Reply, Sandbox, Wire, anywhere, at};

fn save_idea() -> Reply {
    Reply::call("save_idea", json!({"content": IDEA}))
}

/// A session up to the idea, where the first answer goes wrong once.
#[track_caller]
fn survives(fault: Reply) {
    let sandbox = Sandbox::new();
    sandbox.server.times(1, at("idea", "actor").turn(1), fault);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    assert_eq!(sandbox.artifact("idea.md"), IDEA);
    assert_eq!(sandbox.server.requests().len(), 2);
    sandbox.assert_sound();
}

/// A session that ends with exit 4 because the first answer always goes wrong.
#[track_caller]
fn gives_up(sandbox: &Sandbox, fault: Reply) -> String {
    sandbox.server.on(anywhere(), fault);
    let outcome = sandbox.auto(&[]).exits(4);
    assert!(!outcome.stderr.contains("test-key"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
    sandbox.assert_sound();
    outcome.stderr
}

#[test]
fn too_many_requests_is_retried() {
    survives(Reply::too_many_requests("0"));
}

#[test]
fn a_server_error_is_retried() {
    survives(Reply::status(500, "oops"));
    survives(Reply::status(503, "loading the model"));
}

#[test]
fn a_cut_stream_is_retried_and_never_taken_for_an_answer() {
    survives(Reply::text("Half an ans").fault(Fault::CutAfter(2)));
    // Cut in the middle of a call, when it would even parse as one.
    survives(save_idea().fault(Fault::CutAfter(3)));
    survives(save_idea().wire(Wire::WHOLE).fault(Fault::CutAfter(2)));
}

#[test]
fn a_stream_without_an_end_is_retried() {
    survives(Reply::text("All done.").fault(Fault::Unfinished));
    survives(save_idea().fault(Fault::Unfinished));
}

#[test]
fn a_finish_reason_alone_is_an_end() {
    let sandbox = Sandbox::new();
    sandbox.server.on(at("idea", "actor").turn(1), save_idea().fault(Fault::NoDone));
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    assert_eq!(sandbox.server.requests().len(), 1);
}

#[test]
fn an_error_with_status_200_is_retried() {
    survives(Reply::empty().fault(Fault::ErrorBody));
}

#[test]
fn a_lasting_server_error_ends_after_three_retries() {
    let sandbox = Sandbox::new();
    let stderr = gives_up(&sandbox, Reply::status(500, "the disk is full"));
    assert!(stderr.contains("the disk is full"), "{stderr}");
    assert_eq!(sandbox.server.requests().len(), 4);
    // What was begun goes on when the server is back.
    sandbox.server.on_with(anywhere(), |received| Script::todo().answer(received));
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "idea"]).exits(0);
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea"]);
}

#[test]
fn a_refused_key_is_not_retried() {
    let sandbox = Sandbox::new();
    let stderr = gives_up(&sandbox, Reply::status(401, "invalid key"));
    assert!(stderr.contains("invalid key"), "{stderr}");
    assert_eq!(sandbox.server.requests().len(), 1);
}

#[test]
fn a_server_that_never_answers_is_left() {
    let sandbox = Sandbox::new();
    // Before the first token the silence may be ten times as long: ten seconds here.
    sandbox.user_config("[llm]\ntimeout_s = 1\nmax_retries = 0\n");
    gives_up(&sandbox, Reply::empty().fault(Fault::NeverAnswers));
    assert_eq!(sandbox.server.requests().len(), 1);
}

#[test]
fn a_server_that_falls_silent_is_left() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[llm]\ntimeout_s = 1\nmax_retries = 0\n");
    gives_up(&sandbox, Reply::text("One, two, ").fault(Fault::SilentAfter(2)));
    assert_eq!(sandbox.server.requests().len(), 1);
}

/// Everything goes well, but every answer takes this way.
fn all_over(wire: Wire) -> impl Fn(&Received) -> Option<Reply> + Send + Sync + 'static {
    move |received| Script::todo().answer(received).map(|reply| reply.wire(wire))
}

#[test]
fn odd_splits_of_a_stream_change_nothing() {
    for wire in [Wire::ODD, Wire::WHOLE] {
        let sandbox = Sandbox::new();
        sandbox.server.on_with(anywhere(), all_over(wire));
        sandbox.auto(&["--stop-after", "prd"]).exits(0);
        assert_eq!(sandbox.artifact("idea.md"), IDEA);
        assert_eq!(sandbox.artifact("prd.md"), PRD);
        let list: Value = serde_json::from_str(&sandbox.artifact("requirements.json")).unwrap();
        assert_eq!(list["requirements"].as_array().unwrap().len(), 3);
    }
}

/// A refusal of a request because of one parameter, as the hosted API words it.
fn refusal(parameter: &str) -> Reply {
    let message = format!("Unsupported parameter: '{parameter}' is not supported");
    let error = json!({"error": {
        "message": message, "type": "invalid_request_error", "param": parameter,
        "code": "unsupported_parameter",
    }});
    Reply::empty().fault(Fault::Status { code: 400, headers: Vec::new(), body: error.to_string() })
}

#[test]
fn a_server_that_cannot_stream_is_asked_without() {
    let sandbox = Sandbox::new();
    sandbox.server.on_with(anywhere(), |received| {
        (received.body["stream"] == true).then(|| refusal("stream"))
    });
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let streamed = sandbox.server.requests().iter().filter(|r| r.body["stream"] == true).count();
    assert_eq!(streamed, 1);
    assert_eq!(sandbox.artifact("prd.md"), PRD);
    let trailers = sandbox.trailers(&sandbox.stage_commit("idea"));
    assert_eq!(trailers["Cowork-Tokens"], ["in=200 out=40 cached=0"]);
}

#[test]
fn the_models_text_is_shown_or_not() {
    for (flag, shown) in [("--stream", true), ("--no-stream", false)] {
        let sandbox = Sandbox::new();
        let outcome = sandbox.auto(&[flag, "--stop-after", "idea"]).exits(0);
        assert_eq!(outcome.stderr.contains("The draft is saved."), shown, "{}", outcome.stderr);
    }
}

#[test]
fn usage_of_the_last_chunk_is_counted() {
    let sandbox = Sandbox::new();
    sandbox.server.on(at("idea", "actor").turn(1), save_idea().usage(1000, 50, 900));
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let trailers = sandbox.trailers(&sandbox.stage_commit("idea"));
    assert_eq!(trailers["Cowork-Tokens"], ["in=1100 out=70 cached=900"]);
}

#[test]
fn broken_arguments_go_back_to_the_model() {
    let sandbox = Sandbox::new();
    let broken = Reply::empty().and_raw("save_idea", "{\"content\": \"# Half");
    sandbox.server.sequence(at("idea", "actor"), vec![broken, save_idea(), Reply::text("Saved.")]);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let told = sandbox.server.requests()[1].tool_results().join("\n");
    assert!(told.contains("JSON"), "{told}");
    assert_eq!(sandbox.artifact("idea.md"), IDEA);
}

#[test]
fn an_unknown_tool_goes_back_to_the_model() {
    let sandbox = Sandbox::new();
    let unknown = Reply::call("save_the_world", json!({"when": "now"}));
    sandbox.server.sequence(at("idea", "actor"), vec![unknown, save_idea(), Reply::text("Saved.")]);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let told = sandbox.server.requests()[1].tool_results().join("\n");
    assert!(told.contains("save_the_world") && told.contains("save_idea"), "{told}");
}

#[test]
fn every_call_of_a_turn_is_answered_by_its_id() {
    let sandbox = Sandbox::new();
    let six = prd_draft()
        .and("get_requirements", json!({}))
        .and("load_prd_doc", json!({}))
        .and("update_requirement", json!({"id": "REQ-001", "priority": "low"}))
        .and("update_requirement", json!({"id": "REQ-002", "priority": "low"}))
        .and("read_file", json!({"path": "nowhere.txt"}));
    sandbox.server.on(at("prd", "actor").turn(1), six.wire(Wire::ODD));
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let second = &sandbox.server.requests_of("prd", "actor")[1];
    assert_eq!(second.tool_results().len(), 6);
    let assistant = second.messages().iter().find(|m| m["role"] == "assistant").unwrap();
    let calls = assistant["tool_calls"].as_array().unwrap();
    let answers = second.messages().iter().filter(|m| m["role"] == "tool");
    for (call, answer) in calls.iter().zip(answers) {
        assert_eq!(call["id"], answer["tool_call_id"]);
        assert!(!call["id"].as_str().unwrap().is_empty());
    }
}

#[test]
fn an_empty_answer_is_asked_about_again() {
    let sandbox = Sandbox::new();
    sandbox
        .server
        .sequence(at("idea", "actor"), vec![Reply::empty(), save_idea(), Reply::text("Saved.")]);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    assert_eq!(sandbox.artifact("idea.md"), IDEA);
}

#[test]
fn a_call_written_as_a_fenced_block_is_understood() {
    let sandbox = Sandbox::new();
    let call = json!({"name": "save_idea", "arguments": {"content": IDEA}});
    let prose = format!("I will save it now.\n```json\n{call}\n```\n");
    sandbox
        .server
        .sequence(at("idea", "actor"), vec![Reply::text(&prose), Reply::text("It is saved.")]);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    assert_eq!(sandbox.artifact("idea.md"), IDEA);
}

#[test]
fn a_parameter_the_server_refuses_is_left_out_from_then_on() {
    for parameter in ["temperature", "stream_options", "parallel_tool_calls"] {
        let sandbox = Sandbox::new();
        sandbox.server.on_with(anywhere(), move |received| {
            received.body.get(parameter).map(|_| refusal(parameter))
        });
        sandbox.auto(&["--stop-after", "idea"]).exits(0);
        let requests = sandbox.server.requests();
        let refused = requests.iter().filter(|r| r.body.get(parameter).is_some()).count();
        assert!(refused <= 1, "{parameter} was sent {refused} times");
    }
}

#[test]
fn an_answer_cut_by_length_continues() {
    let sandbox = Sandbox::new();
    let cut = Reply::empty().and_raw("save_idea", "{\"content\": \"# A to").finish("length");
    sandbox.server.sequence(at("idea", "actor"), vec![cut, save_idea(), Reply::text("Saved.")]);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    assert_eq!(sandbox.artifact("idea.md"), IDEA);
}

#[test]
fn a_model_that_repeats_itself_is_stopped() {
    let sandbox = Sandbox::new();
    let again = Reply::call("read_file", json!({"path": "README.md"}));
    sandbox.server.on(at("idea", "actor"), again);
    let outcome = sandbox.auto(&[]);
    assert!([1, 3].contains(&outcome.code), "{outcome:?}");
    let asked = sandbox.server.requests().len();
    assert!(asked <= 200, "{asked} requests for the same call");
    sandbox.assert_sound();
}

#[test]
fn control_sequences_of_a_model_do_not_reach_the_terminal() {
    let sandbox = Sandbox::new();
    let nasty = save_idea().saying("Saved.\u{1b}[2J\u{1b}]0;owned\u{7} Yes.");
    sandbox.server.on(at("idea", "actor").turn(1), nasty);
    let outcome = sandbox.auto(&["--stream", "--stop-after", "idea"]).exits(0);
    assert!(!outcome.stderr.contains('\u{1b}') && !outcome.stdout.contains('\u{1b}'));
}

#[test]
fn the_key_is_written_nowhere() {
    let sandbox = Sandbox::new();
    sandbox.server.on(at("prd", "critic"), Reply::status(401, "bad key test-key"));
    let outcome = sandbox.auto(&["-v"]).exits(4);
    assert!(!outcome.stderr.contains("test-key"), "{}", outcome.stderr);
    let found = std::process::Command::new("grep")
        .args(["-r", "-l", "-a", "test-key"])
        .arg(sandbox.root())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}
