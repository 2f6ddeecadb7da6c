//! What goes over the wire of a chat-completions server: the request as we write it, and its
//! chunks as we are willing to read them. No HTTP and no state here.
//!
//! Reading is by hand from [`Value`]: compatible servers leave fields out, add some and invent
//! enum values, and a typed reader would refuse a good answer because of a field nobody needs.

use serde_json::{Map, Value, json};

use super::{Message, Request, ToolSpec};
use crate::event::Usage;

/// What a server refused once and is not sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// No `temperature`.
    pub temperature: bool,
    /// No `stream_options`.
    pub stream_options: bool,
    /// No `parallel_tool_calls`.
    pub parallel_tool_calls: bool,
    /// Tool schemas reduced to the keywords every server knows.
    pub schema: bool,
    /// No streaming.
    pub stream: bool,
}

/// The request body.
pub fn body(request: &Request, model: &str, refused: Refusals) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), model.into());
    body.insert("messages".into(), request.messages.iter().map(message).collect());
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|spec| tool(spec, refused.schema)).collect();
        body.insert("tools".into(), tools);
        if !refused.parallel_tool_calls {
            body.insert("parallel_tool_calls".into(), true.into());
        }
    }
    if !refused.temperature {
        body.insert("temperature".into(), request.temperature.into());
    }
    body.insert("stream".into(), (!refused.stream).into());
    if !refused.stream && !refused.stream_options {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    Value::Object(body)
}

fn message(message: &Message) -> Value {
    match message {
        Message::System { content } => json!({"role": "system", "content": content}),
        Message::User { content } => json!({"role": "user", "content": content}),
        Message::Tool { tool_call_id, content } => {
            json!({"role": "tool", "tool_call_id": tool_call_id, "content": content})
        }
        Message::Assistant { content, tool_calls } if tool_calls.is_empty() => {
            json!({"role": "assistant", "content": content})
        }
        Message::Assistant { content, tool_calls } => {
            let calls: Vec<Value> = tool_calls
                .iter()
                .map(|call| {
                    let arguments = sendable(&call.arguments);
                    json!({"id": call.id, "type": "function",
                           "function": {"name": call.name, "arguments": arguments}})
                })
                .collect();
            // Gateways refuse an empty text beside calls; null is what the hosted API sends.
            let content = if content.is_empty() { Value::Null } else { content.as_str().into() };
            json!({"role": "assistant", "content": content, "tool_calls": calls})
        }
    }
}

/// Arguments a server will parse again: one that is fed back its model's broken JSON answers
/// 500 to this and every later turn.
fn sendable(arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => arguments.to_owned(),
        _ if arguments.trim().is_empty() => "{}".to_owned(),
        _ => json!({"invalid_json": arguments}).to_string(),
    }
}

fn tool(spec: &ToolSpec, plain: bool) -> Value {
    let mut parameters = spec.parameters.clone();
    if plain {
        plain_schema(&mut parameters);
    }
    json!({"type": "function", "function": {
        "name": spec.name, "description": spec.description, "parameters": parameters}})
}

/// Keeps only the schema keywords that every server known to us takes.
fn plain_schema(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    fields.retain(|key, _| {
        matches!(
            key.as_str(),
            "type" | "description" | "properties" | "required" | "items" | "enum"
        )
    });
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(plain_schema);
    }
    if let Some(items) = fields.get_mut("items") {
        plain_schema(items);
    }
}

/// One chunk of a stream, or a whole answer read as if it were one.
#[derive(Debug, Default, PartialEq)]
pub struct Chunk {
    /// Text to append.
    pub text: String,
    /// The model thinks aloud; nothing to keep, but a sign of life.
    pub thinking: bool,
    /// Pieces of tool calls, in order.
    pub calls: Vec<CallPiece>,
    /// Why the model stopped, once it has.
    pub finish_reason: Option<String>,
    /// What was counted so far.
    pub usage: Option<Usage>,
    /// What it cost in dollars, where the server says so.
    pub usd: Option<f64>,
    /// The model's name as the server says it.
    pub model: Option<String>,
}

/// A piece of a tool call.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CallPiece {
    /// Which call it belongs to, where the server says.
    pub index: Option<u64>,
    /// The call's id, or empty.
    pub id: String,
    /// The tool, or empty.
    pub name: String,
    /// Arguments to append, or empty.
    pub arguments: String,
}

/// Reads a chunk or a whole answer. Anything unknown is passed over.
pub fn chunk(value: &Value) -> Chunk {
    let mut chunk = Chunk {
        usage: value.get("usage").and_then(usage),
        usd: value.pointer("/usage/cost").and_then(Value::as_f64).filter(|usd| *usd >= 0.0),
        model: value.get("model").and_then(Value::as_str).map(str::to_owned),
        ..Chunk::default()
    };
    let Some(choice) = value.get("choices").and_then(|choices| choices.get(0)) else {
        return chunk;
    };
    chunk.finish_reason = choice.get("finish_reason").and_then(Value::as_str).map(str::to_owned);
    let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) else {
        return chunk;
    };
    chunk.text = delta.get("content").map(text).unwrap_or_default();
    chunk.thinking = ["reasoning_content", "reasoning"]
        .iter()
        .any(|key| delta.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty()));
    if let Some(calls) = delta.get("tool_calls").and_then(Value::as_array) {
        chunk.calls = calls.iter().map(call_piece).collect();
    }
    chunk
}

fn call_piece(value: &Value) -> CallPiece {
    let word = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let function = value.get("function").unwrap_or(value);
    CallPiece {
        index: value.get("index").and_then(Value::as_u64),
        id: word(value.get("id")),
        name: word(function.get("name")),
        arguments: match function.get("arguments") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        },
    }
}

/// Text as a string, or as the list of parts some gateways send.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text")).filter_map(Value::as_str).collect()
        }
        _ => String::new(),
    }
}

fn usage(value: &Value) -> Option<Usage> {
    let count = |pointers: [&str; 2]| {
        pointers
            .iter()
            .find_map(|pointer| value.pointer(pointer))
            .and_then(|n| n.as_u64().or_else(|| n.as_f64().map(|n| n.max(0.0) as u64)))
    };
    let usage = Usage {
        input: count(["/prompt_tokens", "/input_tokens"]).unwrap_or(0),
        output: count(["/completion_tokens", "/output_tokens"]).unwrap_or(0),
        cached: count(["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens"])
            .unwrap_or(0),
    };
    (usage.input > 0 || usage.output > 0).then_some(usage)
}

/// A guess where a server counts nothing: four characters a token.
pub fn estimate(request: &Request, answer_chars: usize) -> Usage {
    let said = |message: &Message| match message {
        Message::System { content } | Message::User { content } | Message::Tool { content, .. } => {
            content.chars().count()
        }
        Message::Assistant { content, tool_calls } => {
            let calls: usize =
                tool_calls.iter().map(|call| call.name.len() + call.arguments.len()).sum();
            content.chars().count() + calls
        }
    };
    let messages: usize = request.messages.iter().map(said).sum();
    let tools: usize = request.tools.iter().map(|t| tool(t, false).to_string().len()).sum();
    let tokens = |chars: usize| chars.div_ceil(4) as u64;
    Usage { input: tokens(messages + tools), output: tokens(answer_chars), cached: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToolCall;
    use crate::model::testserver::request;

    #[test]
    fn broken_arguments_are_never_sent_back_as_they_are() {
        assert_eq!(sendable(r#"{"a":1}"#), r#"{"a":1}"#);
        assert_eq!(sendable(" "), "{}");
        let sent: Value = serde_json::from_str(&sendable(r#"{"a":"#)).unwrap();
        assert_eq!(sent["invalid_json"], r#"{"a":"#);
    }

    #[test]
    fn a_plain_schema_keeps_properties_whatever_they_are_called() {
        let mut schema = json!({"$schema": "x", "type": "object", "additionalProperties": false,
            "properties": {"pattern": {"type": "string", "minLength": 1}}, "required": ["pattern"]});
        plain_schema(&mut schema);
        let want = json!({"type": "object", "properties": {"pattern": {"type": "string"}},
            "required": ["pattern"]});
        assert_eq!(schema, want);
    }

    #[test]
    fn refused_parameters_are_left_out() {
        let mut request = request();
        let full = body(&request, "m", Refusals::default());
        assert_eq!(full["temperature"], 0.7);
        assert_eq!(full["parallel_tool_calls"], true);
        assert_eq!(full["stream_options"]["include_usage"], true);
        let refused = Refusals {
            temperature: true,
            stream_options: true,
            parallel_tool_calls: true,
            ..Refusals::default()
        };
        let bare = body(&request, "m", refused);
        for key in ["temperature", "parallel_tool_calls", "stream_options"] {
            assert!(bare.get(key).is_none(), "{key}");
        }
        request.tools.clear();
        let bare = body(&request, "m", Refusals::default());
        assert!(bare.get("tools").is_none() && bare.get("parallel_tool_calls").is_none());
    }

    #[test]
    fn an_assistant_message_with_calls_has_null_content() {
        let call = ToolCall { id: "1".into(), name: "t".into(), arguments: "{}".into() };
        let sent = message(&Message::Assistant { content: String::new(), tool_calls: vec![call] });
        assert_eq!(sent["content"], Value::Null);
        assert_eq!(sent["tool_calls"][0]["function"]["arguments"], "{}");
    }

    #[test]
    fn chunks_are_read_however_they_come() {
        let read =
            chunk(&json!({"choices": [{"message": {"content": [{"type": "text", "text": "a"}],
            "tool_calls": [{"function": {"name": "t", "arguments": {"b": 1}}}]}}],
            "usage": {"prompt_tokens": 9.0, "completion_tokens": 2, "cost": 0.0015,
                      "prompt_tokens_details": {"cached_tokens": 5}}}));
        assert_eq!(read.text, "a");
        assert_eq!(read.calls[0].arguments, r#"{"b":1}"#);
        assert_eq!(read.usage, Some(Usage { input: 9, output: 2, cached: 5 }));
        assert_eq!(read.usd, Some(0.0015));
        assert_eq!(chunk(&json!({"choices": []})), Chunk::default());
    }
}
