//! The third dialect: a server that speaks Anthropic's Messages. It refuses what the API refuses: turns
//! that do not alternate, thoughts that are not as they were given, more than four cache marks.

use serde_json::{Value, json};

use crate::support::kill::resumed_with;
use crate::support::messages::{marks, turns};
use crate::support::received::Api;
use crate::support::responses::Speaks;
use crate::support::todo::{IDEA, lingers};
use crate::support::{Fault, Reply, Sandbox, at};

/// A sandbox with Claude's own provider, whose address is that of the scripted server.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.server.manner(lingers);
    sandbox.server.speaks(Speaks::Messages);
    sandbox.git(&["config", "cowork.llm.provider", "anthropic"]);
    sandbox
}

fn refused(code: u16, kind: &str, message: &str) -> Reply {
    let body = json!({"type": "error", "error": {"type": kind, "message": message}});
    let (headers, body) = (vec![("retry-after".to_owned(), "0".to_owned())], body.to_string());
    Reply::empty().fault(Fault::Status { code, headers, body })
}

fn first_kinds(blocks: &[Value]) -> Vec<&str> {
    blocks.iter().take(2).filter_map(|block| block["type"].as_str()).collect()
}

#[test]
fn a_whole_session_is_delivered_through_messages() {
    let sandbox = sandbox();
    let server = &sandbox.server;
    server.on(at("idea", "actor").turn(2), Reply::call("read_file", json!({"path": "README.md"})));
    let last = Reply::text("The draft is saved.").usage(1000, 10, 900);
    server.on(at("idea", "actor").turn(3), last);
    let outcome = sandbox.auto(&[]).exits(0);
    let stages = sandbox.stages("main..cowork/todo");
    for stage in ["start", "idea", "prd", "design", "plan", "coding", "check", "delivery"] {
        assert!(stages.iter().any(|s| s == stage), "{stage} in {stages:?}");
    }
    assert_eq!(sandbox.server.turned_away(), [""; 0]);
    let requests = sandbox.server.requests();
    assert!(requests.iter().all(|request| request.api == Api::Messages));
    for request in &requests {
        assert_eq!(request.headers["x-api-key"], "test-key");
        assert_eq!(request.headers["anthropic-version"], "2023-06-01");
        let ours = request.messages().iter().filter(|m| m["role"] == "assistant").count();
        assert_eq!(marks(&request.body), if ours == 0 { 3 } else { 4 }, "{}", request.position());
    }
    // Thoughts of every turn go back; the server compares them byte for byte.
    let longest = requests.iter().max_by_key(|request| request.turn).unwrap();
    assert!(longest.turn > 2, "{}", longest.position());
    for said in turns(&longest.body) {
        assert_eq!(first_kinds(&said), ["thinking", "redacted_thinking"], "{said:?}");
    }
    // What is read from the cache and written to it is counted once, and the thoughts are nowhere.
    let idea = sandbox.commit_of("cowork/todo", "idea: ");
    let said = format!("{:?}", sandbox.trailers(&idea));
    assert!(said.contains("scripted-1") && said.contains("900"), "{said}");
    let seen =
        format!("{}{}{}", outcome.stdout, outcome.stderr, sandbox.git(&["log", "-p", "--all"]));
    assert!(!seen.contains("secret thought"), "a thought is shown or recorded");
    sandbox.assert_sound();
}

#[test]
fn a_compatible_address_needs_no_version_at_its_end() {
    let mut sandbox = sandbox();
    let address = sandbox.server.base_url().replace("/v1", "/anthropic");
    sandbox.set_env("COWORK_LLM_BASE_URL", &address);
    sandbox.git(&["config", "cowork.llm.provider", "openai"]);
    sandbox.git(&["config", "cowork.llm.api", "messages"]);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    for request in sandbox.server.requests() {
        assert_eq!(request.target, "/anthropic/v1/messages");
        assert_eq!(request.headers["authorization"], "Bearer test-key");
        assert_eq!(request.headers["x-api-key"], "test-key");
    }
}

#[test]
fn the_key_other_programs_use_is_found_where_none_is_configured() {
    let mut sandbox = sandbox();
    sandbox.set_env("COWORK_LLM_API_KEY", "");
    sandbox.set_env("OPENAI_API_KEY", "sk-of-somebody-else");
    sandbox.set_env("ANTHROPIC_API_KEY", "sk-ant-usual-key");
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let requests = sandbox.server.requests();
    assert!(requests.iter().all(|request| request.headers["x-api-key"] == "sk-ant-usual-key"));
}

#[test]
fn a_run_that_continues_sends_back_the_thoughts_of_the_one_before() {
    let (_sandbox, next) = resumed_with(sandbox(), "scripted");
    assert_eq!(first_kinds(&turns(&next.body)[0]), ["thinking", "redacted_thinking"]);
}

#[test]
fn another_model_that_continues_gets_the_words_and_no_thoughts() {
    let (_sandbox, next) = resumed_with(sandbox(), "another");
    let said = &turns(&next.body)[0];
    assert!(said.iter().all(|block| matches!(block["type"].as_str(), Some("text" | "tool_use"))));
    assert!(said.iter().any(|block| block["type"] == "tool_use"), "{said:?}");
}

#[test]
fn an_answer_that_was_cut_is_asked_for_again() {
    let idea = || Reply::call("save_idea", json!({"content": "# Half an idea"}));
    for fault in [Fault::CutAfter(9), Fault::Unfinished, Fault::ErrorBody] {
        let sandbox = sandbox();
        sandbox.server.times(1, at("idea", "actor").turn(1), idea().fault(fault.clone()));
        sandbox.auto(&["--stop-after", "idea"]).exits(0);
        assert_eq!(sandbox.server.requests().len(), 3, "{fault:?}");
        assert!(!sandbox.artifact("idea.md").contains("Half"), "{fault:?}");
    }
}

#[test]
fn an_answer_that_was_too_long_continues_in_smaller_steps() {
    let sandbox = sandbox();
    sandbox.server.sequence(
        at("idea", "actor"),
        vec![
            Reply::text("I will now").finish("length"),
            Reply::call("save_idea", json!({"content": "# An idea\n\nIt is whole.\n"})),
            Reply::text("Saved."),
        ],
    );
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let asked = &sandbox.server.requests_of("idea", "actor")[1];
    assert!(asked.text().contains("cut because it was too long"), "{}", asked.text());
}

#[test]
fn without_streaming_it_is_the_same_session() {
    let sandbox = sandbox();
    sandbox.auto(&["--stop-after", "prd", "--no-stream"]).exits(0);
    let requests = sandbox.server.requests();
    assert!(requests.iter().all(|r| r.body["stream"] == false && r.api == Api::Messages));
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea", "prd"]);
}

#[test]
fn what_a_server_refuses_is_left_out_and_an_overload_is_waited_for() {
    let sandbox = sandbox();
    let wrong = "`temperature` is deprecated for this model.";
    sandbox.server.on_with(at("idea", "actor"), move |received| {
        let hot = received.body.get("temperature").is_some();
        hot.then(|| refused(400, "invalid_request_error", wrong))
    });
    sandbox.server.times(
        1,
        at("idea", "actor").turn(2),
        refused(529, "overloaded_error", "Overloaded"),
    );
    let outcome = sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let outcome = outcome.says("the model server refuses temperature").says("HTTP 529: Overloaded");
    assert_eq!(outcome.stderr.matches("refuses temperature").count(), 1, "{}", outcome.stderr);
}

#[test]
fn a_refusal_is_told_with_its_text_and_the_next_run_begins_again() {
    let sandbox = sandbox();
    let reply = Reply::text("I will not write that.").finish("refusal");
    sandbox.server.times(1, at("idea", "actor").turn(2), reply);
    let outcome = sandbox.auto(&["--stop-after", "idea"]).exits(4);
    outcome.says("the model refuses: I will not write that.").says("reword the idea");
    let before = sandbox.server.requests().len();
    assert_eq!(before, 2);
    sandbox.assert_sound();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "idea"]).exits(0);
    assert_eq!(sandbox.server.requests()[before].turn, 1);
}

#[test]
fn a_model_without_tools_writes_its_calls() {
    let sandbox = sandbox();
    sandbox.server.on_with(at("idea", "actor"), |received| {
        if !received.tools().is_empty() {
            return Some(refused(400, "invalid_request_error", "m does not support tools"));
        }
        let call = json!({"name": "save_idea", "arguments": {"content": IDEA}});
        let other = json!({"name": "read_file", "arguments": {"path": "nowhere.txt"}});
        let calls =
            format!("<tool_call>\n{call}\n</tool_call>\n<tool_call>\n{other}\n</tool_call>");
        let first = Reply::text(&format!("I save it.\n{calls}"));
        Some(if received.turn == 1 { first } else { Reply::text("The draft is saved.") })
    });
    let outcome = sandbox.auto(&["--stop-after", "idea"]).exits(0);
    outcome.says("the model server refuses tools: sending requests without it");
    assert_eq!(sandbox.artifact("idea.md"), IDEA);
    let asked = sandbox.server.requests();
    assert_eq!(asked.len(), 3);
    assert!(asked[2].text().contains("<tool_response>"), "{}", asked[2].text());
    assert_eq!(first_kinds(&turns(&asked[2].body)[0]), ["text"]);
    sandbox.assert_sound();
}

#[test]
fn a_conversation_that_does_not_fit_is_not_asked_for_again() {
    let sandbox = sandbox();
    let long = "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000";
    let reply = refused(400, "invalid_request_error", long);
    sandbox.server.on(at("idea", "actor"), reply);
    let outcome = sandbox.auto(&["--stop-after", "idea"]).exits(4);
    outcome.says("exceed context limit").says("contextwindow");
    assert_eq!(sandbox.server.requests().len(), 1);
}

#[test]
fn a_recording_of_it_plays_back_without_a_server() {
    let original = sandbox();
    let file = original.root().join("said.jsonl").display().to_string();
    original.auto(&["--stop-after", "prd", "--record", &file]).exits(0);
    assert!(std::fs::read_to_string(&file).unwrap().contains("redacted_thinking"));
    let copy = Sandbox::new();
    copy.auto(&["--stop-after", "prd", "--replay", &file]).exits(0);
    assert_eq!(copy.subjects("main..cowork/todo"), original.subjects("main..cowork/todo"));
    assert!(copy.server.requests().is_empty());
}
