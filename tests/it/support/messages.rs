//! The same script through Anthropic's Messages API: converts requests to chat, and checks them
//! against the API's rules and the earlier responses.

use serde_json::{Value, json};

use super::received::Received;
use super::reply::{Fault, Reply, pieces};
use super::responses::Given;

/// Tokens that a response wrote to the cache, if it was large enough.
const WRITTEN: u64 = 10;

fn kind(block: &Value) -> &str {
    block["type"].as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[][..], Vec::as_slice)
}

/// The blocks of the model's turns, each turn by itself.
pub fn turns(body: &Value) -> Vec<Vec<Value>> {
    let turns = list(&body["turns"]).iter().filter(|turn| turn["role"] == "assistant");
    turns.map(|turn| list(&turn["content"]).to_vec()).collect()
}

/// A body with its conversation as chat completions, and with the original one under `turns`.
pub fn as_chat(mut body: Value) -> Value {
    let turns = body["messages"].take();
    let mut messages: Vec<Value> = list(&body["system"])
        .iter()
        .map(|block| json!({"role": "system", "content": block["text"]}))
        .collect();
    for turn in list(&turns) {
        let blocks = list(&turn["content"]);
        if turn["role"] == "assistant" {
            messages.push(chat_turn(blocks));
            continue;
        }
        messages.extend(blocks.iter().map(|block| match kind(block) {
            "tool_result" => json!({"role": "tool", "tool_call_id": block["tool_use_id"],
                "content": block["content"]}),
            _ => json!({"role": "user", "content": block["text"]}),
        }));
    }
    body["messages"] = Value::Array(messages);
    body["turns"] = turns;
    body
}

fn chat_turn(blocks: &[Value]) -> Value {
    let of_kind = |wanted: &'static str| blocks.iter().filter(move |block| kind(block) == wanted);
    let said: Vec<&Value> = of_kind("text").map(|block| &block["text"]).collect();
    let calls: Vec<Value> = of_kind("tool_use")
        .map(|call| {
            json!({"id": call["id"], "type": "function",
                "function": {"name": call["name"], "arguments": call["input"].to_string()}})
        })
        .collect();
    let text: String = said.iter().filter_map(|text| text.as_str()).collect();
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    message
}

/// What is wrong with a request, if anything.
pub fn wrong(received: &Received, given: &Given) -> Option<String> {
    let body = &received.body;
    if !received.headers.contains_key("anthropic-version") {
        return Some("anthropic-version: header is required".to_owned());
    }
    if body["max_tokens"].as_u64().unwrap_or(0) == 0 {
        return Some("max_tokens: Field required".to_owned());
    }
    if list(&body["tools"]).iter().any(|tool| !tool["input_schema"].is_object()) {
        return Some("tools.0.input_schema: Field required".to_owned());
    }
    if marks(body) > 4 {
        return Some("A maximum of 4 blocks with cache_control may be provided.".to_owned());
    }
    wrong_turns(body).or_else(|| wrong_answers(body, given))
}

/// Cache marks in a request.
pub fn marks(body: &Value) -> usize {
    ["tools", "system", "turns"]
        .iter()
        .map(|key| {
            body[key].to_string().matches("\"cache_control\":{\"type\":\"ephemeral\"}").count()
        })
        .sum()
}

fn wrong_turns(body: &Value) -> Option<String> {
    let turns = list(&body["turns"]);
    let roles: Vec<&Value> = turns.iter().map(|turn| &turn["role"]).collect();
    let alternate = roles
        .iter()
        .enumerate()
        .all(|(at, role)| **role == if at % 2 == 0 { "user" } else { "assistant" });
    if !alternate || roles.len().is_multiple_of(2) {
        return Some(format!("messages: roles must alternate between the two: {roles:?}"));
    }
    for (at, turn) in turns.iter().enumerate() {
        let blocks = list(&turn["content"]);
        let blank =
            |b: &Value| kind(b) == "text" && b["text"].as_str().is_none_or(|t| t.trim().is_empty());
        if blocks.is_empty() || blocks.iter().any(blank) {
            return Some(format!("messages.{at}: text content blocks must be non-empty"));
        }
        let called = ids(blocks, "tool_use", "id");
        let next =
            turns.get(at + 1).map(|next| ids(list(&next["content"]), "tool_result", "tool_use_id"));
        if !called.is_empty() && next != Some(called) {
            return Some(format!("messages.{at}: `tool_use` ids were found without `tool_result`"));
        }
    }
    None
}

fn ids<'a>(blocks: &'a [Value], of: &str, key: &str) -> Vec<&'a Value> {
    let mut ids: Vec<&Value> =
        blocks.iter().filter(|block| kind(block) == of).map(|block| &block[key]).collect();
    ids.sort_by_key(ToString::to_string);
    ids
}

/// Checks that responses come back byte for byte; to another model without their thoughts, and as
/// text if no tools are offered.
fn wrong_answers(body: &Value, given: &Given) -> Option<String> {
    for turn in turns(body) {
        let said = bytes(&turn);
        let own = |(model, blocks): &(Value, Vec<Value>)| {
            *model == body["model"] && bytes(blocks) == said
        };
        let plain = !turn.iter().any(|block| kind(block).contains("thinking"));
        let elsewhere = |(model, blocks): &(Value, Vec<Value>)| {
            *model != body["model"] && calls(blocks).eq(calls(&turn))
        };
        let words = body["tools"].is_null() && turn.iter().all(|block| kind(block) == "text");
        if !(words || given.iter().any(own) || plain && given.iter().any(elsewhere)) {
            return Some(format!("`thinking` blocks cannot be modified: {turn:?}"));
        }
    }
    None
}

fn bytes(blocks: &[Value]) -> String {
    serde_json::to_string(blocks).unwrap()
}

fn calls(blocks: &[Value]) -> impl Iterator<Item = (&Value, &Value)> {
    let calls = blocks.iter().filter(|block| kind(block) == "tool_use");
    calls.map(|call| (&call["id"], &call["input"]))
}

/// The blocks of the server's `n`th response: thoughts, text and calls.
pub fn blocks(reply: &Reply, n: usize) -> Vec<Value> {
    let mut blocks = vec![
        json!({"type": "thinking", "thinking": format!("secret thought {n}"),
            "signature": format!("EqQB{n}==")}),
        json!({"type": "redacted_thinking", "data": format!("Emw{n}=")}),
    ];
    if !reply.text.is_empty() {
        blocks.push(json!({"type": "text", "text": reply.text}));
    }
    for (i, call) in reply.calls.iter().enumerate() {
        let input: Value = serde_json::from_str(&call.arguments).unwrap_or(json!({}));
        blocks.push(json!({"type": "tool_use", "id": format!("toolu_{n}_{i}"), "name": call.name,
            "input": input}));
    }
    blocks
}

/// The part of a response that is remembered. A response that was cut counts as not given.
pub fn given(body: &Value, reply: &Reply, n: usize) -> (Value, Vec<Value>) {
    let whole = reply.finish.is_none();
    (if whole { body["model"].clone() } else { Value::Null }, blocks(reply, n))
}

fn stop_reason(reply: &Reply) -> &str {
    match reply.finish.as_deref() {
        Some("length") => "max_tokens",
        Some(other) => other,
        None if reply.calls.is_empty() => "end_turn",
        None => "tool_use",
    }
}

fn usage(reply: &Reply) -> Value {
    let [input, output, cached] = reply.usage;
    let written = if cached > 0 { WRITTEN } else { 0 };
    json!({"input_tokens": input - cached - written, "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written, "output_tokens": output})
}

/// The whole response as one JSON object.
pub fn whole(reply: &Reply, n: usize) -> Value {
    json!({"id": format!("msg_{n}"), "type": "message", "role": "assistant",
        "model": "scripted-1", "content": blocks(reply, n), "stop_reason": stop_reason(reply),
        "stop_sequence": null, "usage": usage(reply)})
}

/// The response as server-sent events, in order, without the fault.
pub fn events(reply: &Reply, n: usize) -> Vec<String> {
    let mut begun = whole(reply, n);
    (begun["content"], begun["stop_reason"]) = (json!([]), Value::Null);
    begun["usage"]["output_tokens"] = json!(1);
    let mut events =
        vec![json!({"type": "message_start", "message": begun}), json!({"type": "ping"})];
    for (at, block) in blocks(reply, n).into_iter().enumerate() {
        events.extend(block_events(at, block, reply.wire.fragment));
    }
    if !matches!(reply.fault, Fault::Unfinished) {
        events.push(json!({"type": "message_delta", "usage": {"output_tokens": reply.usage[1]},
            "delta": {"stop_reason": stop_reason(reply), "stop_sequence": null}}));
        events.push(json!({"type": "message_stop"}));
    }
    let line = |event: Value| format!("event: {}\ndata: {event}\n\n", kind(&event));
    events.into_iter().map(line).collect()
}

fn block_events(at: usize, mut block: Value, size: usize) -> Vec<Value> {
    let mut deltas = Vec::new();
    let parts = [
        ("thinking", "thinking_delta", "thinking"),
        ("signature", "signature_delta", "signature"),
        ("text", "text_delta", "text"),
        ("input", "input_json_delta", "partial_json"),
    ];
    for (field, delta, key) in
        parts.iter().filter(|(field, ..)| block.get(field).is_some()).collect::<Vec<_>>()
    {
        let whole = block[field].take();
        let text = whole.as_str().map_or(whole.to_string(), str::to_owned);
        block[field] = if *field == "input" { json!({}) } else { json!("") };
        let piece = |piece: String| {
            json!({"type": "content_block_delta", "index": at,
                "delta": {"type": *delta, *key: piece}})
        };
        deltas.extend(pieces(&text, size).into_iter().map(piece));
    }
    let start = json!({"type": "content_block_start", "index": at, "content_block": block});
    let stop = json!({"type": "content_block_stop", "index": at});
    [vec![start], deltas, vec![stop]].concat()
}
