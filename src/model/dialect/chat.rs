//! Chat completions: the API of every compatible server.

use serde_json::{Map, Value, json};

use super::vendor::VendorRules;
use super::{
    CallPiece, Chunk, NO_ANSWER, Refusals, cache_marks, call_ids, is_thought, plain_schema,
    sendable, text, usage,
};
use crate::config::ModelConfig;
use crate::model::{Message, ModelOrigin, Request, ToolSpec};

/// Fields of an answer's message that are read here, or that no server needs back.
const READ: [&str; 10] = [
    "role",
    "content",
    "tool_calls",
    "function_call",
    "refusal",
    "annotations",
    "audio",
    "name",
    "id",
    "index",
];

/// The request body.
pub fn body(request: &Request, to: &ModelOrigin, refusals: Refusals) -> Value {
    let manners = VendorRules::for_model(to, refusals.opaque);
    let mut body = Map::new();
    body.insert("model".into(), to.model.as_str().into());
    let mut messages: Vec<Value> = request.messages.iter().map(message).collect();
    manners.give_back(&request.messages, &mut messages);
    if refusals.short_ids || manners.takes_short_ids() {
        call_ids::shorten(&mut messages);
    }
    body.insert("messages".into(), messages.into());
    body.extend(manners.parameters());
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|spec| tool(spec, refusals.schema)).collect();
        body.insert("tools".into(), tools);
        if !refusals.parallel_tool_calls {
            body.insert("parallel_tool_calls".into(), true.into());
        }
        if refusals.reasoning {
            body.insert("reasoning_effort".into(), "none".into());
        }
    }
    if !refusals.temperature {
        body.insert("temperature".into(), request.temperature.into());
    }
    body.insert("stream".into(), (!refusals.stream).into());
    if !refusals.stream && !refusals.stream_options {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    let mut body = Value::Object(body);
    if !refusals.cache && cache_marks::are_passed_on(&to.base_url, &to.model) {
        cache_marks::mark_chat(&mut body);
    }
    body
}

/// Adds the configured parameters.
pub fn configure(body: &mut Map<String, Value>, config: &ModelConfig, refusals: Refusals) {
    if config.max_tokens > 0 {
        let key = if refusals.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
        body.insert(key.into(), refusals.at_most(config.max_tokens).into());
    }
    if !config.reasoning_effort.is_empty() && !refusals.reasoning && !refusals.bare {
        body.insert("reasoning_effort".into(), config.reasoning_effort.as_str().into());
    }
}

fn message(message: &Message) -> Value {
    match message {
        Message::System { content } => json!({"role": "system", "content": content}),
        Message::User { content } => json!({"role": "user", "content": content}),
        Message::Tool { tool_call_id, content } => {
            json!({"role": "tool", "tool_call_id": tool_call_id, "content": content})
        }
        Message::Assistant { content, tool_calls, .. } if tool_calls.is_empty() => {
            let content = if content.trim().is_empty() { NO_ANSWER } else { content };
            json!({"role": "assistant", "content": content})
        }
        Message::Assistant { content, tool_calls, .. } => {
            let calls: Vec<Value> = tool_calls
                .iter()
                .map(|call| {
                    let arguments = sendable(&call.arguments);
                    json!({"id": call.id, "type": "function",
                           "function": {"name": call.name, "arguments": arguments}})
                })
                .collect();
            // Gateways refuse an empty text beside calls; the hosted API sends null.
            let content =
                if content.trim().is_empty() { Value::Null } else { content.as_str().into() };
            json!({"role": "assistant", "content": content, "tool_calls": calls})
        }
    }
}

pub(super) fn tool(spec: &ToolSpec, plain: bool) -> Value {
    let mut parameters = spec.parameters.clone();
    if plain {
        plain_schema(&mut parameters);
    }
    json!({"type": "function", "function": {
        "name": spec.name, "description": spec.description, "parameters": parameters}})
}

/// Reads a chunk or a whole answer. Unknown content is ignored.
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
    let content = delta.get("content");
    chunk.text = content.map(text).unwrap_or_default();
    let refusal = delta.get("refusal").and_then(Value::as_str);
    chunk.refusal = refusal.unwrap_or_default().to_owned();
    chunk.parts = content.and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(calls) = delta.get("tool_calls").and_then(Value::as_array) {
        chunk.calls = calls.iter().map(call_piece).collect();
    }
    chunk.fields = fields_but(delta, &READ);
    chunk.marked = take_mark(&mut chunk.fields);
    let thinks = |(key, value): (&String, &Value)| {
        (key.starts_with("reasoning") || key.starts_with("thinking"))
            && !matches!(value, Value::String(text) if text.is_empty())
    };
    chunk.thinking =
        chunk.marked || chunk.fields.iter().any(thinks) || chunk.parts.iter().any(is_thought);
    chunk
}

/// Removes Gemini's mark for a chunk that is a thought; the mark does not apply to the whole
/// message.
fn take_mark(fields: &mut Map<String, Value>) -> bool {
    let google = fields.get_mut("extra_content").and_then(|extra| extra.get_mut("google"));
    let Some(google) = google.and_then(Value::as_object_mut) else { return false };
    let mark = google.remove("thought");
    if google.is_empty() {
        fields.remove("extra_content");
    }
    mark == Some(Value::Bool(true))
}

/// The fields of an object, except those in `read` and those that are null.
fn fields_but(value: &Value, known_fields: &[&str]) -> Map<String, Value> {
    let fields = value.as_object().into_iter().flatten();
    fields
        .filter(|(key, value)| !value.is_null() && !known_fields.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn call_piece(value: &Value) -> CallPiece {
    let word = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let function = value.get("function").unwrap_or(value);
    let mut fields = fields_but(value, &["index", "id", "type", "function", "name", "arguments"]);
    if let Some(function) = value.get("function") {
        let inner = fields_but(function, &["name", "arguments"]);
        if !inner.is_empty() {
            fields.insert("function".into(), inner.into());
        }
    }
    CallPiece {
        index: value.get("index").and_then(Value::as_u64),
        id: word(value.get("id")),
        name: word(function.get("name")),
        arguments: match function.get("arguments") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        },
        fields,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Usage;
    use crate::model::ToolCall;
    use crate::model::test_server::request;

    #[test]
    fn refused_parameters_are_left_out() {
        let mut request = request();
        let full = body(&request, &ModelOrigin::new("u", "m"), Refusals::default());
        assert_eq!(full["temperature"], 0.7);
        assert_eq!(full["parallel_tool_calls"], true);
        assert_eq!(full["stream_options"]["include_usage"], true);
        let refused = Refusals {
            temperature: true,
            stream_options: true,
            parallel_tool_calls: true,
            ..Refusals::default()
        };
        let bare = body(&request, &ModelOrigin::new("u", "m"), refused);
        for key in ["temperature", "parallel_tool_calls", "stream_options"] {
            assert!(bare.get(key).is_none(), "{key}");
        }
        request.tools.clear();
        let bare = body(&request, &ModelOrigin::new("u", "m"), Refusals::default());
        assert!(bare.get("tools").is_none() && bare.get("parallel_tool_calls").is_none());
    }

    #[test]
    fn configured_parameters_are_sent_and_a_gateway_to_claude_gets_cache_marks() {
        let config =
            ModelConfig { max_tokens: 9, reasoning_effort: "low".into(), ..ModelConfig::default() };
        let mut sent = Map::new();
        configure(&mut sent, &config, Refusals::default());
        assert_eq!(Value::Object(sent), json!({"max_tokens": 9, "reasoning_effort": "low"}));
        let mut sent = Map::new();
        let refused = Refusals {
            completion_tokens: true,
            reasoning: true,
            max_tokens: Some(5),
            ..Refusals::default()
        };
        configure(&mut sent, &config, refused);
        assert_eq!(Value::Object(sent), json!({"max_completion_tokens": 5}));
        let mut sent = Map::new();
        configure(&mut sent, &config, Refusals::default().bare_minimum());
        assert_eq!(Value::Object(sent), json!({"max_tokens": 9}));
        let marks = |model: &str, refused| {
            let to = ModelOrigin::new("https://openrouter.ai/api/v1", model);
            body(&request(), &to, refused).to_string().matches("cache_control").count()
        };
        assert_eq!(marks("anthropic/claude-opus-5.5", Refusals::default()), 2);
        assert_eq!(marks("openai/gpt-5", Refusals::default()), 0);
        let refused = Refusals { cache: true, ..Refusals::default() };
        assert_eq!(marks("anthropic/claude-opus-5.5", refused), 0);
    }

    #[test]
    fn an_assistant_message_with_calls_has_null_content() {
        let call = ToolCall { id: "1".into(), name: "t".into(), arguments: "{}".into() };
        let sent = message(&Message::Assistant {
            content: String::new(),
            tool_calls: vec![call],
            opaque: None,
        });
        assert_eq!(sent["content"], Value::Null);
        assert_eq!(sent["tool_calls"][0]["function"]["arguments"], "{}");
    }

    #[test]
    fn an_answer_that_said_nothing_is_not_sent_empty() {
        for content in ["", " \n"] {
            let said = Message::Assistant {
                content: content.into(),
                tool_calls: Vec::new(),
                opaque: None,
            };
            assert_eq!(message(&said)["content"], NO_ANSWER);
        }
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
