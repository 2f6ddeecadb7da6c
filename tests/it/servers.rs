//! What a person sees of a server's manners: what it refuses, what it asks to wait, what it will not
//! answer. The table of servers is in `src/model/servers.toml`.

use serde_json::json;

use crate::support::todo::{IDEA, lingers};
use crate::support::{Fault, Reply, Sandbox, anywhere, at};

const IDEA_ONLY: [&str; 2] = ["--stop-after", "idea"];
const RESUME: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "idea"];

fn refusal(code: u16, headers: &[(&str, &str)], message: &str) -> Reply {
    let error = json!({"error": {"message": message}});
    let headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    Reply::empty().fault(Fault::Status { code, headers, body: error.to_string() })
}

#[test]
fn a_server_is_waited_for_as_long_as_it_asks_and_the_person_is_told() {
    let sandbox = Sandbox::new();
    let busy = |headers: &[(&str, &str)], message: &str| refusal(429, headers, message);
    let replies = vec![
        busy(&[("retry-after-ms", "31000")], "slow down"),
        busy(&[("x-ratelimit-reset-tokens", "6m0s")], "slow down"),
        busy(&[], "Please try again in 44s."),
    ];
    sandbox.server.sequence(at("idea", "actor").turn(1), replies);
    let outcome = sandbox.auto(&IDEA_ONLY).exits(0);
    for wait in ["31 s, as requested", "6 min, as requested", "44 s, as requested"] {
        assert!(outcome.stderr.contains(wait), "{}", outcome.stderr);
    }
    sandbox.assert_sound();
}

#[test]
fn a_wait_of_hours_is_left_to_the_person() {
    let sandbox = Sandbox::new();
    sandbox.server.on(anywhere(), refusal(429, &[("retry-after", "7200")], "slow down"));
    let outcome = sandbox.auto(&IDEA_ONLY).exits(4).says("it asks to wait 2 h");
    outcome.says("git cowork resume");
    assert_eq!(sandbox.server.requests().len(), 1);
    sandbox.assert_sound();
}

#[test]
fn what_can_never_fit_is_not_asked_again() {
    let sandbox = Sandbox::new();
    let message = "Request too large for m on tokens per min (TPM): Limit 6000, Requested 9000";
    sandbox.server.on(anywhere(), refusal(429, &[], message));
    sandbox.auto(&IDEA_ONLY).exits(4).says("Request too large").says("contextwindow");
    assert_eq!(sandbox.server.requests().len(), 1);
}

#[test]
fn a_refusal_and_a_filter_are_told_with_their_text() {
    let filtered = Reply::text("I began to").finish("content_filter");
    let refused = Reply::empty().thought(json!({"refusal": "I cannot help with that."}));
    let told = [
        (filtered, "a content filter ended the answer (content_filter) after: I began to"),
        (refused, "the model refuses: I cannot help with that."),
    ];
    for (reply, says) in told {
        let sandbox = Sandbox::new();
        sandbox.server.times(1, at("idea", "actor"), reply);
        sandbox.auto(&IDEA_ONLY).exits(4).says(says).says("reword the idea");
        assert_eq!(sandbox.server.requests().len(), 1);
        sandbox.assert_sound();
        sandbox.cowork(&RESUME).exits(0);
    }
}

#[test]
fn a_conversation_that_was_refused_is_begun_again() {
    let sandbox = Sandbox::new();
    sandbox.server.manner(lingers);
    // What is wrong is in the conversation: without a beginning of its own it stays wrong.
    sandbox.server.on_with(at("idea", "actor"), |received| {
        (received.turn == 2 && received.number < 4)
            .then(|| refusal(400, &[], "messages.3: invalid content"))
    });
    sandbox.auto(&IDEA_ONLY).exits(4).says("invalid content").says("git cowork resume");
    let before = sandbox.server.requests();
    // Once as it is, once with the bare minimum.
    assert_eq!(before.iter().map(|request| request.turn).collect::<Vec<_>>(), [1, 2, 2]);
    sandbox.cowork(&RESUME).exits(0);
    assert_eq!(sandbox.server.requests()[before.len()].turn, 1);
    assert_eq!(sandbox.artifact("idea.md"), IDEA);
}

#[test]
fn a_model_without_tools_writes_its_calls() {
    let sandbox = Sandbox::new();
    sandbox.server.on_with(at("idea", "actor"), |received| {
        if !received.tools().is_empty() {
            return Some(refusal(400, &[], "m does not support tools"));
        }
        let call = json!({"name": "save_idea", "arguments": {"content": IDEA}});
        let other = json!({"name": "read_file", "arguments": {"path": "nowhere.txt"}});
        let calls =
            format!("<tool_call>\n{call}\n</tool_call>\n<tool_call>\n{other}\n</tool_call>");
        let first = Reply::text(&format!("I save it.\n{calls}"));
        Some(if received.turn == 1 { first } else { Reply::text("The draft is saved.") })
    });
    sandbox
        .auto(&IDEA_ONLY)
        .exits(0)
        .says("the model server refuses tools: sending requests without it");
    assert_eq!(sandbox.artifact("idea.md"), IDEA);
    let asked = sandbox.server.requests();
    assert_eq!(asked.len(), 3);
    let system = asked[1].messages()[0]["content"].as_str().unwrap();
    assert!(system.contains("save_idea"), "{system}");
    let last = asked[2].messages().last().unwrap();
    assert_eq!(last["role"], "user");
    assert!(last["content"].as_str().unwrap().starts_with("<tool_response>"), "{last}");
    assert!(asked[2].messages().iter().all(|message| message["role"] != "tool"));
    sandbox.assert_sound();
}

#[test]
fn an_empty_answer_is_never_sent_back_empty() {
    let sandbox = Sandbox::new();
    sandbox.server.times(1, at("idea", "actor"), Reply::empty());
    sandbox.auto(&IDEA_ONLY).exits(0);
    for request in sandbox.server.requests() {
        for message in request.messages().iter().filter(|m| m["role"] == "assistant") {
            let text = message["content"].as_str().unwrap_or_default();
            assert!(!text.is_empty() || message["tool_calls"].is_array(), "{message}");
        }
    }
}
