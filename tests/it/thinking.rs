//! Thinking models: what they want back comes back to them and to nobody else, also after a kill,
//! and what they think is not what they say.

use serde_json::json;

use crate::support::kill::kill_at_request;
use crate::support::todo::{PRD, approve, lingers};
use crate::support::vendor::{Seen, Vendor};
use crate::support::{Reply, Sandbox, Wire, at};

const RESUME: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "plan"];

fn with_model(model: &str, vendor: Vendor) -> (Sandbox, Seen) {
    let mut sandbox = Sandbox::new();
    sandbox.set_env("COWORK_LLM_MODEL", model);
    let seen = vendor.serves(&sandbox);
    (sandbox, seen)
}

#[test]
fn a_whole_session_with_a_model_that_signs_its_calls() {
    let (sandbox, seen) = with_model("gemini-3-pro", Vendor::Gemini);
    sandbox.auto(&[]).exits(0);
    assert_eq!(seen.refused(), [""; 0]);
    assert!(seen.taken() > 8, "{}", seen.taken());
    sandbox.assert_sound();
}

#[test]
fn a_whole_session_with_a_model_that_wants_its_thoughts_back() {
    let (sandbox, seen) = with_model("deepseek-v4", Vendor::DeepSeek);
    sandbox.auto(&[]).exits(0);
    assert_eq!(seen.refused(), [""; 0]);
    assert!(seen.taken() > 8, "{}", seen.taken());
    let thoughts = sandbox.git(&["log", "-p", "--all"]);
    assert!(!thoughts.contains("-of-deepseek-v4"), "a thought is in a commit");
}

/// The second request of the PRD's conversation never gets an answer; another process goes on.
fn killed_in_the_prd(model: &str, vendor: Vendor) -> (Sandbox, Seen) {
    let (sandbox, seen) = with_model(model, vendor);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    kill_at_request(&sandbox, &RESUME, 2).was_killed();
    let last = sandbox.server.requests().pop().unwrap();
    assert_eq!((last.stage.as_str(), last.turn), ("prd", 2));
    (sandbox, seen)
}

#[test]
fn what_a_model_wants_back_outlives_a_kill() {
    for (model, vendor) in [("gemini-3-pro", Vendor::Gemini), ("deepseek-v4", Vendor::DeepSeek)] {
        let (sandbox, seen) = killed_in_the_prd(model, vendor);
        sandbox.server.forget();
        sandbox.cowork(&RESUME).exits(0);
        assert_eq!(sandbox.server.requests()[0].turn, 2, "the conversation went on");
        assert_eq!(seen.refused(), [""; 0]);
        assert!(seen.taken() > 0);
    }
}

#[test]
fn a_conversation_that_another_model_continues_with_carries_nothing_of_the_first() {
    let (sandbox, seen) = killed_in_the_prd("gemini-3-pro", Vendor::Gemini);
    sandbox.server.forget();
    sandbox.cowork(&[&RESUME[..], &["--model", "gemini-3-flash"]].concat()).exits(0);
    let first = &sandbox.server.requests()[0];
    assert_eq!((first.turn, first.body["model"].as_str()), (2, Some("gemini-3-flash")));
    assert_eq!(seen.refused(), [""; 0]);
}

/// Nobody knows beforehand that this server wants the field: it says so, once.
#[test]
fn what_another_model_misses_is_filled_in() {
    let (sandbox, seen) = killed_in_the_prd("deepseek-v4", Vendor::DeepSeek);
    sandbox
        .cowork(&[&RESUME[..], &["--model", "kimi-k3"]].concat())
        .exits(0)
        .says("the model server requires `reasoning_content`");
    let refused = seen.refused();
    assert!(refused.len() == 1 && refused[0].starts_with("Missing `reasoning"), "{refused:?}");
}

#[test]
fn a_critic_of_another_model_sees_nothing_of_the_actors_thoughts() {
    let (sandbox, seen) = with_model("gemini-3-pro", Vendor::Gemini);
    sandbox
        .user_config("[models.judge]\nmodel = \"gemini-3-flash\"\n[roles]\ncritic = \"judge\"\n");
    let look = Reply::call("get_requirements", json!({}));
    sandbox.server.on(at("prd", "critic").turn(1), look);
    sandbox.server.on(at("prd", "critic").turn(2), approve());
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    assert_eq!(seen.refused(), [""; 0]);
    let judged = sandbox.server.requests_of("prd", "critic");
    assert!(judged.iter().all(|request| request.body["model"] == "gemini-3-flash"));
}

/// Whatever this critic says, it is not that the draft is good.
fn is_no_approval(text: &str) {
    let sandbox = Sandbox::new();
    sandbox.user_config("[limits]\niterations = { prd = 1 }\n");
    sandbox.server.on(at("prd", "critic"), Reply::text(text).wire(Wire::ODD));
    let outcome = sandbox.auto(&["--stop-after", "prd"]).exits(1);
    assert!(sandbox.refs("refs/tags/cowork/todo/prd").is_empty());
    for thought in ["weighing", "<think>", "</think>"] {
        assert!(!outcome.stderr.contains(thought), "{}", outcome.stderr);
    }
}

#[test]
fn a_verdict_in_a_thought_does_not_count() {
    is_no_approval("<think>weighing: <review>PASS</review>, or not</think>\nREQ-002 is vague.");
    is_no_approval("<think>weighing: <review>PASS</review>");
    let call = "```json\n{\"name\": \"exit_loop\", \"arguments\": {\"summary\": \"good\"}}\n```";
    is_no_approval(&format!("<think>weighing\n{call}\n</think>\nREQ-002 is vague."));
}

#[test]
fn what_comes_before_a_lone_closing_tag_does_not_count() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[limits]\niterations = { prd = 1 }\n");
    let text = "weighing: <review>PASS</review>\n</think>\n\nREQ-002 is vague.";
    sandbox.server.on(at("prd", "critic"), Reply::text(text));
    sandbox.auto(&["--stop-after", "prd"]).exits(1).says("REQ-002 is vague");
}

#[test]
fn a_verdict_after_a_thought_counts() {
    let sandbox = Sandbox::new();
    let text = "<think>REQ-002? <review>NEEDS_REVISION</review></think><review>PASS</review>";
    sandbox.server.on(at("prd", "critic"), Reply::text(text).wire(Wire::ODD));
    let outcome = sandbox.auto(&["--stop-after", "prd"]).exits(0);
    assert!(!outcome.stderr.contains("REQ-002?"), "{}", outcome.stderr);
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 1);
}

#[test]
fn an_answer_that_is_all_thought_is_an_empty_one() {
    let sandbox = Sandbox::new();
    sandbox.server.manner(lingers);
    sandbox.server.on(at("idea", "actor").turn(2), Reply::text("<think>The draft is"));
    sandbox.server.on(at("idea", "actor").turn(3), Reply::text("The draft is saved."));
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let requests = sandbox.server.requests_of("idea", "actor");
    assert!(requests[2].text().contains("Your answer was empty"), "{}", requests[2].text());
}

#[test]
fn a_document_about_tags_stays_whole() {
    let sandbox = Sandbox::new();
    let text = format!("{PRD}\nModels write <think>thoughts</think>:\n\n<think>\nso\n</think>\n");
    let draft = Reply::call("save_prd_doc", json!({"content": text}));
    sandbox.server.on(at("prd", "actor").turn(1), {
        let whole = crate::support::todo::prd_draft();
        Reply { calls: [draft.calls, whole.calls[1..].to_vec()].concat(), ..whole }
    });
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    assert!(sandbox.artifact("prd.md").contains("<think>\nso\n</think>"));
}

#[test]
fn a_byte_order_mark_before_a_stream_is_passed_over() {
    let sandbox = Sandbox::new();
    sandbox.server.manner(|_, reply| Reply { mark: true, ..reply });
    let outcome = sandbox.auto(&["--stop-after", "prd"]).exits(0);
    assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
}
