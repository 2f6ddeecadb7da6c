//! The same script through the Responses API: converts requests to chat, checks them against the
//! earlier responses, and writes responses as items and their events.

use serde_json::{Value, json};

use super::reply::{Fault, Reply};

/// The APIs of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speaks {
    /// Only chat completions.
    #[default]
    Chat,
    /// Responses; tools on chat completions are refused, as by the hosted API.
    Responses,
    /// Only chat completions, and tools only without reasoning.
    ChatWithoutReasoning,
    /// Anthropic's Messages.
    Messages,
}

/// The error message for tools on chat completions.
pub fn refusal(model: &Value) -> String {
    let model = model.as_str().unwrap_or_default();
    let message = format!(
        "Function tools with reasoning_effort are not supported for {model} in \
         /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort \
         to 'none'."
    );
    let kind = "invalid_request_error";
    json!({"error": {"message": message, "type": kind, "param": "reasoning_effort", "code": null}})
        .to_string()
}

/// Responses that were given: the model and the items.
pub type Given = Vec<(Value, Vec<Value>)>;

fn kind(item: &Value) -> &str {
    item["type"].as_str().unwrap_or("message")
}

fn is_assistants(item: &Value) -> bool {
    match kind(item) {
        "message" => item["role"] == "assistant",
        kind => kind != "function_call_output",
    }
}

/// The items of the model's turns, each turn by itself.
pub fn turns(body: &Value) -> Vec<Vec<Value>> {
    let input = body["input"].as_array().map_or(&[][..], Vec::as_slice);
    let runs = input.chunk_by(|a, b| is_assistants(a) == is_assistants(b));
    runs.filter(|run| is_assistants(&run[0])).map(<[Value]>::to_vec).collect()
}

/// The conversation as chat completions.
pub fn as_chat(body: &Value) -> Value {
    let input = body["input"].as_array().map_or(&[][..], Vec::as_slice);
    let mut messages: Vec<Value> = Vec::new();
    for run in input.chunk_by(|a, b| is_assistants(a) && is_assistants(b)) {
        messages.push(match kind(&run[0]) {
            _ if is_assistants(&run[0]) => chat_turn(run),
            "function_call_output" => json!({"role": "tool", "tool_call_id": run[0]["call_id"],
                "content": run[0]["output"]}),
            _ => run[0].clone(),
        });
    }
    Value::Array(messages)
}

fn chat_turn(items: &[Value]) -> Value {
    let calls: Vec<Value> = items
        .iter()
        .filter(|item| kind(item) == "function_call")
        .map(|call| {
            json!({"id": call["call_id"], "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]}})
        })
        .collect();
    let said = items.iter().filter(|item| kind(item) == "message").map(|item| &item["content"]);
    let mut message = json!({"role": "assistant", "content": said.collect::<Vec<_>>()});
    if let [said] = message["content"].as_array().unwrap().as_slice() {
        message["content"] = said.clone();
    }
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    message
}

/// What is wrong with a request, if anything.
pub fn wrong(body: &Value, given: &Given) -> Option<String> {
    if body["store"] != false || body["include"] != json!(["reasoning.encrypted_content"]) {
        return Some("it leaves state at the server".to_owned());
    }
    if body["tools"].as_array().into_iter().flatten().any(|tool| !tool["name"].is_string()) {
        return Some("Missing required parameter: 'tools[0].name'.".to_owned());
    }
    for turn in turns(body) {
        let own = |(model, items): &(Value, Vec<Value>)| *model == body["model"] && *items == turn;
        let plain = turn.iter().all(|item| item.get("id").is_none() && kind(item) != "reasoning");
        let elsewhere = |(model, items): &(Value, Vec<Value>)| {
            *model != body["model"] && calls(items).eq(calls(&turn))
        };
        if !(given.iter().any(own) || plain && given.iter().any(elsewhere)) {
            return Some(format!("these items are not as they were given: {turn:?}"));
        }
    }
    let input = body["input"].as_array().map_or(&[][..], Vec::as_slice);
    let of_kind = |wanted: &'static str| {
        let mut ids: Vec<&Value> =
            input.iter().filter(|item| kind(item) == wanted).map(|item| &item["call_id"]).collect();
        ids.sort_by_key(ToString::to_string);
        ids
    };
    (of_kind("function_call") != of_kind("function_call_output"))
        .then(|| "No tool output found for function call.".to_owned())
}

fn calls(items: &[Value]) -> impl Iterator<Item = (&Value, &Value)> {
    let calls = items.iter().filter(|item| kind(item) == "function_call");
    calls.map(|call| (&call["call_id"], &call["arguments"]))
}

/// The items of the server's `n`th response: a thought, the text and the calls.
pub fn items(reply: &Reply, n: usize) -> Vec<Value> {
    let mut items = vec![json!({"type": "reasoning", "id": format!("rs_{n}"), "summary": [],
        "encrypted_content": format!("gAAAAA{n}==")})];
    if !reply.text.is_empty() {
        let part = json!({"type": "output_text", "text": reply.text, "annotations": [],
            "logprobs": []});
        items.push(json!({"type": "message", "id": format!("msg_{n}"), "status": "completed",
            "role": "assistant", "content": [part]}));
    }
    for (i, call) in reply.calls.iter().enumerate() {
        items.push(json!({"type": "function_call", "id": format!("fc_{n}_{i}"),
            "call_id": format!("call_{n}_{i}"), "name": call.name, "arguments": call.arguments,
            "status": "completed"}));
    }
    items
}

/// The part of a response that is remembered. A response that was cut counts as not given.
pub fn given(body: &Value, reply: &Reply, n: usize) -> (Value, Vec<Value>) {
    let whole = reply.finish.is_none();
    (if whole { body["model"].clone() } else { Value::Null }, items(reply, n))
}

/// The whole response as one JSON object.
pub fn whole(reply: &Reply, n: usize) -> Value {
    let [input, output, cached] = reply.usage;
    let cut = reply.finish.as_deref() == Some("length");
    let details = cut.then(|| json!({"reason": "max_output_tokens"}));
    json!({
        "id": format!("resp_{n}"), "object": "response", "created_at": 1, "model": "scripted-1",
        "status": if cut { "incomplete" } else { "completed" }, "error": null,
        "incomplete_details": details, "output": items(reply, n), "store": false,
        "usage": {"input_tokens": input, "output_tokens": output, "total_tokens": input + output,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens_details": {"reasoning_tokens": 0}},
    })
}

/// The response as server-sent events, in order, without the fault.
pub fn events(reply: &Reply, n: usize) -> Vec<String> {
    let whole = whole(reply, n);
    let mut begun = whole.clone();
    (begun["status"], begun["output"], begun["usage"]) =
        (json!("in_progress"), json!([]), Value::Null);
    let mut events = vec![json!({"type": "response.created", "response": begun})];
    for (at, item) in whole["output"].as_array().unwrap().iter().enumerate() {
        let mut opened = item.clone();
        for key in ["arguments", "encrypted_content"] {
            if opened.get(key).is_some() {
                opened[key] = json!("");
            }
        }
        if opened.get("content").is_some() {
            opened["content"] = json!([]);
        }
        events.push(
            json!({"type": "response.output_item.added", "output_index": at, "item": opened}),
        );
        let (name, text) = match kind(item) {
            "message" => ("response.output_text", item["content"][0]["text"].as_str()),
            "function_call" => ("response.function_call_arguments", item["arguments"].as_str()),
            _ => ("", None),
        };
        for piece in super::reply::pieces(text.unwrap_or_default(), reply.wire.fragment) {
            events.push(json!({"type": format!("{name}.delta"), "output_index": at,
                "item_id": item["id"], "delta": piece}));
        }
        events.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
    }
    if !matches!(reply.fault, Fault::Unfinished) {
        let status = whole["status"].as_str().unwrap();
        events.push(json!({"type": format!("response.{status}"), "response": whole}));
    }
    let numbered = (0..).zip(events).map(|(n, mut event): (u32, Value)| {
        event["sequence_number"] = json!(n);
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
    });
    numbered.collect()
}
