//! Reads the events of each program.

use serde_json::Value;

use super::output::AgentOutput;
use super::usage;

/// A text in an event: `text(event, "/part/text")`.
fn text(event: &Value, place: &str) -> Option<String> {
    event.pointer(place).and_then(Value::as_str).map(str::to_owned)
}

/// A number in an event; 0 if missing.
fn count(event: &Value, place: &str) -> u64 {
    event.pointer(place).and_then(Value::as_u64).unwrap_or(0)
}

fn kind(event: &Value) -> &str {
    event["type"].as_str().unwrap_or_default()
}

pub(super) fn claude(output: &mut AgentOutput, event: &Value) {
    output.session = text(event, "/session_id").or(output.session.take());
    output.model = text(event, "/model").or(output.model.take());
    if kind(event) == "system" {
        if let Some(why) = text(event, "/error") {
            output.error = Some(why);
        }
        return;
    }
    if kind(event) == "assistant" {
        // If the program is killed, this is the only sign of how far it got.
        let blocks = event["message"]["content"].as_array();
        let text_block = blocks.into_iter().flatten().rev().find_map(|block| text(block, "/text"));
        if let Some(text_block) = text_block {
            output.text = text_block;
        }
    }
    if kind(event) != "result" {
        return;
    }
    output.is_whole = true;
    let answer = text(event, "/result").unwrap_or_default();
    let tokens = |name: &str| count(event, &format!("/usage/{name}"));
    let cached_tokens = tokens("cache_read_input_tokens");
    let input = tokens("input_tokens") + cached_tokens + tokens("cache_creation_input_tokens");
    if input > 0 {
        output.usage = Some(usage(input, tokens("output_tokens"), cached_tokens));
    }
    output.usd = event["total_cost_usd"].as_f64();
    // The subtype is "success" even if the run failed.
    match event["is_error"].as_bool() {
        Some(true) => output.error = Some(answer),
        _ => (output.text, output.error) = (answer, None),
    }
}

pub(super) fn codex(output: &mut AgentOutput, event: &Value) {
    match kind(event) {
        "thread.started" => output.session = text(event, "/thread_id"),
        "item.completed" if event["item"]["type"] == "agent_message" => {
            output.text = text(event, "/item/text").unwrap_or_default();
        }
        "turn.completed" => {
            (output.is_whole, output.error) = (true, None);
            let tokens = |name: &str| count(event, &format!("/usage/{name}"));
            if event["usage"].is_object() {
                let output_tokens = tokens("output_tokens");
                let cached_tokens = tokens("cached_input_tokens");
                output.usage = Some(usage(tokens("input_tokens"), output_tokens, cached_tokens));
            }
        }
        "turn.failed" => {
            output.is_whole = true;
            output.error = text(event, "/error/message").or(output.error.take());
        }
        // The run may continue after an error; then `turn.completed` clears it.
        "error" => output.error = text(event, "/message"),
        _ => {}
    }
}

pub(super) fn gemini(output: &mut AgentOutput, event: &Value) {
    let answer = text(event, "/content").unwrap_or_default();
    match kind(event) {
        "init" => {
            output.session = text(event, "/session_id");
            output.model = text(event, "/model");
        }
        "message" if event["role"] == "assistant" && event["delta"] == true => {
            output.text.push_str(&answer);
        }
        "message" if event["role"] == "assistant" => output.text = answer,
        // Text before a tool call is not the answer.
        "tool_use" => output.text.clear(),
        "result" => {
            output.is_whole = true;
            if event["status"] == "error" {
                output.error = text(event, "/error/message").or(Some("no reason given".to_owned()));
            }
            let tokens = |name: &str| count(event, &format!("/stats/{name}"));
            if event["stats"].is_object() {
                let (input, output_tokens) = (tokens("input_tokens"), tokens("output_tokens"));
                output.usage = Some(usage(input, output_tokens, tokens("cached")));
            }
        }
        _ => {}
    }
}

pub(super) fn opencode(output: &mut AgentOutput, event: &Value) {
    output.session = text(event, "/sessionID").or(output.session.take());
    match kind(event) {
        "step_start" => {
            output.text.clear();
            output.is_whole = false;
        }
        "text" => output.text += &text(event, "/part/text").unwrap_or_default(),
        "step_finish" => {
            output.is_whole = true;
            let tokens = |name: &str| count(event, &format!("/part/tokens/{name}"));
            if event["part"]["tokens"].is_object() {
                let cached_tokens = tokens("cache/read");
                let input = tokens("input") + cached_tokens + tokens("cache/write");
                let mut all = output.usage.unwrap_or_default();
                all += usage(input, tokens("output"), cached_tokens);
                output.usage = Some(all);
            }
            if let Some(usd) = event["part"]["cost"].as_f64() {
                output.usd = Some(output.usd.unwrap_or(0.0) + usd);
            }
        }
        "error" => {
            let why = text(event, "/error/data/message").or_else(|| text(event, "/error/name"));
            output.error = why.or_else(|| Some("no reason given".to_owned()));
        }
        _ => {}
    }
}

/// True for an event that a user's own command may print; any other object is part of its answer.
pub(super) fn is_own(event: &Value) -> bool {
    ["result", "error"].contains(&kind(event))
}

/// The protocol that `git cowork man agents` describes.
pub(super) fn own(output: &mut AgentOutput, event: &Value) {
    match kind(event) {
        "result" => {
            output.is_whole = true;
            output.text = text(event, "/text").unwrap_or_default();
            output.model = text(event, "/model");
            output.usd = event["cost_usd"].as_f64();
            let tokens = |name: &str| count(event, &format!("/usage/{name}"));
            if event["usage"].is_object() {
                let cached_tokens = tokens("cached_input_tokens");
                let output_tokens = tokens("output_tokens");
                output.usage = Some(usage(tokens("input_tokens"), output_tokens, cached_tokens));
            }
        }
        "error" => output.error = text(event, "/message"),
        _ => {}
    }
}
