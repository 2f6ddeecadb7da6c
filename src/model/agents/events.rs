//! Reads the events of each program.

use serde_json::Value;

use super::heard::{Heard, count, text};
use super::usage;

fn kind(event: &Value) -> &str {
    event["type"].as_str().unwrap_or_default()
}

pub(super) fn claude(heard: &mut Heard, event: &Value) {
    heard.session = text(event, "/session_id").or(heard.session.take());
    heard.model = text(event, "/model").or(heard.model.take());
    if kind(event) == "system" {
        if let Some(why) = text(event, "/error") {
            heard.error = Some(why);
        }
        return;
    }
    if kind(event) == "assistant" {
        // If the program is killed, this is the only sign of how far it got.
        let blocks = event["message"]["content"].as_array();
        let said = blocks.into_iter().flatten().rev().find_map(|block| text(block, "/text"));
        if let Some(said) = said {
            heard.text = said;
        }
    }
    if kind(event) != "result" {
        return;
    }
    heard.is_whole = true;
    let said = text(event, "/result").unwrap_or_default();
    let tokens = |name: &str| count(event, &format!("/usage/{name}"));
    let cached = tokens("cache_read_input_tokens");
    let input = tokens("input_tokens") + cached + tokens("cache_creation_input_tokens");
    if input > 0 {
        heard.usage = Some(usage(input, tokens("output_tokens"), cached));
    }
    heard.usd = event["total_cost_usd"].as_f64();
    // The subtype is "success" even if the run failed.
    match event["is_error"].as_bool() {
        Some(true) => heard.error = Some(said),
        _ => (heard.text, heard.error) = (said, None),
    }
}

pub(super) fn codex(heard: &mut Heard, event: &Value) {
    match kind(event) {
        "thread.started" => heard.session = text(event, "/thread_id"),
        "item.completed" if event["item"]["type"] == "agent_message" => {
            heard.text = text(event, "/item/text").unwrap_or_default();
        }
        "turn.completed" => {
            (heard.is_whole, heard.error) = (true, None);
            let tokens = |name: &str| count(event, &format!("/usage/{name}"));
            if event["usage"].is_object() {
                let output = tokens("output_tokens");
                let cached = tokens("cached_input_tokens");
                heard.usage = Some(usage(tokens("input_tokens"), output, cached));
            }
        }
        "turn.failed" => {
            heard.is_whole = true;
            heard.error = text(event, "/error/message").or(heard.error.take());
        }
        // The run may continue after an error; then `turn.completed` clears it.
        "error" => heard.error = text(event, "/message"),
        _ => {}
    }
}

pub(super) fn gemini(heard: &mut Heard, event: &Value) {
    let said = text(event, "/content").unwrap_or_default();
    match kind(event) {
        "init" => {
            heard.session = text(event, "/session_id");
            heard.model = text(event, "/model");
        }
        "message" if event["role"] == "assistant" && event["delta"] == true => {
            heard.text.push_str(&said);
        }
        "message" if event["role"] == "assistant" => heard.text = said,
        // Text before a tool call is not the answer.
        "tool_use" => heard.text.clear(),
        "result" => {
            heard.is_whole = true;
            if event["status"] == "error" {
                heard.error = text(event, "/error/message").or(Some("no reason given".to_owned()));
            }
            let tokens = |name: &str| count(event, &format!("/stats/{name}"));
            if event["stats"].is_object() {
                let (input, output) = (tokens("input_tokens"), tokens("output_tokens"));
                heard.usage = Some(usage(input, output, tokens("cached")));
            }
        }
        _ => {}
    }
}

pub(super) fn opencode(heard: &mut Heard, event: &Value) {
    heard.session = text(event, "/sessionID").or(heard.session.take());
    match kind(event) {
        "step_start" => {
            heard.text.clear();
            heard.is_whole = false;
        }
        "text" => heard.text += &text(event, "/part/text").unwrap_or_default(),
        "step_finish" => {
            heard.is_whole = true;
            let tokens = |name: &str| count(event, &format!("/part/tokens/{name}"));
            if event["part"]["tokens"].is_object() {
                let cached = tokens("cache/read");
                let input = tokens("input") + cached + tokens("cache/write");
                let mut all = heard.usage.unwrap_or_default();
                all += usage(input, tokens("output"), cached);
                heard.usage = Some(all);
            }
            if let Some(usd) = event["part"]["cost"].as_f64() {
                heard.usd = Some(heard.usd.unwrap_or(0.0) + usd);
            }
        }
        "error" => {
            let why = text(event, "/error/data/message").or_else(|| text(event, "/error/name"));
            heard.error = why.or_else(|| Some("no reason given".to_owned()));
        }
        _ => {}
    }
}

/// The protocol described in the README.
/// True for an event that a user's own command may print; any other object is part of its answer.
pub(super) fn is_own(event: &Value) -> bool {
    ["result", "error"].contains(&kind(event))
}

pub(super) fn own(heard: &mut Heard, event: &Value) {
    match kind(event) {
        "result" => {
            heard.is_whole = true;
            heard.text = text(event, "/text").unwrap_or_default();
            heard.model = text(event, "/model");
            heard.usd = event["cost_usd"].as_f64();
            let tokens = |name: &str| count(event, &format!("/usage/{name}"));
            if event["usage"].is_object() {
                let cached = tokens("cached_input_tokens");
                let output = tokens("output_tokens");
                heard.usage = Some(usage(tokens("input_tokens"), output, cached));
            }
        }
        "error" => heard.error = text(event, "/message"),
        _ => {}
    }
}
