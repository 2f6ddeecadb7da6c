//! The second dialect: a server that speaks Responses, one that says so when it is asked for chat,
//! and one that has chat alone. What the model put out goes back as it came, and to it alone: the
//! server refuses anything else.

use serde_json::Value;

use crate::support::kill::resumed_with;
use crate::support::received::Api;
use crate::support::responses::{Speaks, turns};
use crate::support::todo::lingers;
use crate::support::{Fault, Reply, Sandbox, at};

const WHOLE: [&str; 7] = ["start", "idea", "prd", "design", "plan", "coding", "check"];
const CHAT: &str = "/v1/chat/completions";

/// A sandbox whose server has these APIs, and what `llm.api` is set to.
fn sandbox(speaks: Speaks, api: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.server.manner(lingers);
    sandbox.server.speaks(speaks);
    if !api.is_empty() {
        sandbox.git(&["config", "cowork.llm.api", api]);
    }
    sandbox
}

#[track_caller]
fn delivered(sandbox: &Sandbox) {
    let stages = sandbox.stages("main..cowork/todo");
    for stage in WHOLE.iter().chain(&["delivery"]) {
        assert!(stages.iter().any(|s| s == stage), "{stage} in {stages:?}");
    }
    let requests = sandbox.server.requests();
    assert!(requests.iter().all(|r| r.api == Api::Responses), "some of it was chat");
    assert!(requests.iter().any(|r| r.turn > 1 && !turns(&r.body).is_empty()));
    sandbox.assert_sound();
}

#[test]
fn a_whole_session_is_delivered_through_responses() {
    let sandbox = sandbox(Speaks::Responses, "responses");
    sandbox
        .server
        .on(at("idea", "actor").turn(2), Reply::text("The draft is saved.").usage(1000, 10, 900));
    sandbox.auto(&[]).exits(0);
    delivered(&sandbox);
    assert_eq!(sandbox.server.turned_away(), [""; 0]);
    let idea = sandbox.commit_of("cowork/todo", "idea: ");
    // Cached tokens are counted, and the model is called what the server calls it.
    let trailers = sandbox.trailers(&idea);
    let said = format!("{trailers:?}");
    assert!(said.contains("scripted-1") && said.contains("900"), "{said}");
}

#[test]
fn a_server_that_wants_responses_says_so_once_and_the_session_is_delivered() {
    let sandbox = sandbox(Speaks::Responses, "");
    let outcome = sandbox.auto(&[]).exits(0).says("using the Responses API");
    assert_eq!(outcome.stderr.matches("Responses API").count(), 1, "{}", outcome.stderr);
    assert_eq!(sandbox.server.turned_away(), [CHAT]);
    delivered(&sandbox);
}

#[test]
fn where_only_chat_is_to_be_had_the_session_continues_without_reasoning() {
    for (api, away) in [("chat", &[CHAT][..]), ("auto", &[CHAT, "/v1/responses"])] {
        let sandbox = sandbox(Speaks::ChatWithoutReasoning, api);
        let outcome = sandbox.auto(&["--stop-after", "prd"]).exits(0);
        let said = outcome.stderr.matches("reasoning_effort \"none\"").count();
        assert_eq!(said, 1, "{}", outcome.stderr);
        assert_eq!(sandbox.server.turned_away(), away);
        let requests = sandbox.server.requests();
        assert!(
            requests.iter().all(|r| r.body["reasoning_effort"] == "none" && r.api == Api::Chat)
        );
        assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea", "prd"]);
    }
}

#[test]
fn a_server_without_responses_that_is_asked_for_them_is_an_error_that_says_what_to_do() {
    let sandbox = sandbox(Speaks::Chat, "responses");
    sandbox.auto(&[]).exits(4).says("git config cowork.llm.api auto");
    assert_eq!(sandbox.server.turned_away(), ["/v1/responses"]);
}

fn kinds(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["type"].as_str().unwrap_or("message")).collect()
}

#[test]
fn a_run_that_continues_sends_back_what_the_model_put_out_before() {
    let (_sandbox, next) = resumed_with(sandbox(Speaks::Responses, "responses"), "scripted");
    let said = &turns(&next.body)[0];
    assert_eq!(kinds(said)[0], "reasoning");
    assert!(said[0]["encrypted_content"].as_str().unwrap().starts_with("gAAA"), "{said:?}");
}

#[test]
fn another_model_that_continues_gets_the_words_and_not_the_items() {
    let (_sandbox, next) = resumed_with(sandbox(Speaks::Responses, "responses"), "another");
    let said = &turns(&next.body)[0];
    assert!(said.iter().all(|item| item.get("id").is_none()), "{said:?}");
    assert!(!kinds(said).contains(&"reasoning") && kinds(said).contains(&"function_call"));
}

#[test]
fn an_answer_that_was_cut_is_asked_for_again() {
    let idea = || Reply::call("save_idea", serde_json::json!({"content": "# Half an idea"}));
    for fault in [Fault::CutAfter(6), Fault::Unfinished, Fault::ErrorBody] {
        let sandbox = sandbox(Speaks::Responses, "responses");
        sandbox.server.times(1, at("idea", "actor").turn(1), idea().fault(fault.clone()));
        sandbox.auto(&["--stop-after", "idea"]).exits(0);
        assert_eq!(sandbox.server.requests().len(), 3, "{fault:?}");
        assert!(!sandbox.artifact("idea.md").contains("Half"), "{fault:?}");
    }
}

#[test]
fn an_answer_that_was_too_long_continues_in_smaller_steps() {
    let sandbox = sandbox(Speaks::Responses, "responses");
    sandbox.server.sequence(
        at("idea", "actor"),
        vec![
            Reply::text("I will now").finish("length"),
            Reply::call("save_idea", serde_json::json!({"content": "# An idea\n\nIt is whole.\n"})),
            Reply::text("Saved."),
        ],
    );
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let asked = &sandbox.server.requests_of("idea", "actor")[1];
    assert!(asked.text().contains("cut because it was too long"), "{}", asked.text());
}

#[test]
fn without_streaming_it_is_the_same_session() {
    let sandbox = sandbox(Speaks::Responses, "responses");
    sandbox.auto(&["--stop-after", "prd", "--no-stream"]).exits(0);
    assert!(
        sandbox
            .server
            .requests()
            .iter()
            .all(|r| r.body["stream"] == false && r.api == Api::Responses)
    );
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea", "prd"]);
}

#[test]
fn a_recording_of_it_plays_back_without_a_server() {
    let original = sandbox(Speaks::Responses, "responses");
    let file = original.root().join("said.jsonl").display().to_string();
    original.auto(&["--stop-after", "prd", "--record", &file]).exits(0);
    assert!(std::fs::read_to_string(&file).unwrap().contains("encrypted_content"));
    let copy = Sandbox::new();
    copy.auto(&["--stop-after", "prd", "--replay", &file]).exits(0);
    assert_eq!(copy.subjects("main..cowork/todo"), original.subjects("main..cowork/todo"));
    assert!(copy.server.requests().is_empty());
}

#[test]
fn an_unknown_api_is_named_with_its_file() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[llm]\napi = \"completions\"\n");
    let outcome = sandbox.auto(&[]).exits(4).says("`llm.api`").says("config.toml:2");
    assert!(outcome.stderr.contains("\"responses\""), "{}", outcome.stderr);
}
