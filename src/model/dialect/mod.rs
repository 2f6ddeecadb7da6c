//! Dialects: how a [`Request`] is written for a server, and how the server's events are read. One
//! file per dialect; no HTTP and no state here.
//!
//! Events are read by hand from [`Value`]: compatible servers omit fields, add some and invent enum
//! values, and a typed reader would reject a good answer because of a field that nobody needs.

mod cache_marks;
mod call_ids;
mod chat;
mod choice;
mod learned;
mod messages;
mod refusals;
mod responses;
pub mod vendor;

pub use cache_marks::cost_more;
pub use choice::{DialectChoice, DialectHint};
pub use refusals::Refusals;
use reqwest::Url;
use serde_json::{Map, Value, json};

use super::{Message, ModelOrigin, Request};
use crate::config::ModelConfig;
use crate::event::Usage;

/// The API of a model server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `POST /chat/completions`.
    Chat,
    /// `POST /responses`; the server stores no state.
    Responses,
    /// `POST /messages`.
    Messages,
}

impl Dialect {
    /// The dialect to start with: Responses for the hosted API, Azure's v1 route and xAI, whose
    /// newest models accept tools only there; chat for every other server.
    pub fn usual(base_url: &str) -> Self {
        let Ok(url) = Url::parse(base_url) else { return Self::Chat };
        let host = url.host_str().unwrap_or_default();
        let is = |name: &str| host == name || host.ends_with(&format!(".{name}"));
        let azure = ["openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com"];
        let v1 = url.path() == "/openai/v1" || url.path().starts_with("/openai/v1/");
        if is("api.openai.com") || is("api.x.ai") || v1 && azure.iter().any(|name| is(name)) {
            Self::Responses
        } else {
            Self::Chat
        }
    }

    /// The path of its requests, below the base URL.
    pub fn path(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Responses => "/responses",
            Self::Messages => "/messages",
        }
    }

    /// The body of a request to the model that `to` names and `config` describes.
    pub fn body(
        self,
        request: &Request,
        to: &ModelOrigin,
        config: &ModelConfig,
        refusals: Refusals,
    ) -> Value {
        let (mut body, configure): (_, fn(&mut _, &_, _)) = match self {
            Self::Chat => (chat::body(request, to, refusals), chat::configure),
            Self::Responses => (responses::body(request, to, refusals), responses::configure),
            Self::Messages => (messages::body(request, to, refusals), messages::configure),
        };
        if let Some(fields) = body.as_object_mut() {
            configure(fields, config, refusals);
            lay_over(fields, &config.extra_body);
        }
        body
    }

    /// Returns a reader for one answer.
    pub fn reader(self) -> AnswerReader {
        match self {
            Self::Chat => AnswerReader::Chat,
            Self::Responses => AnswerReader::Responses(responses::ResponsesReader::default()),
            Self::Messages => AnswerReader::Messages(messages::MessagesReader::default()),
        }
    }
}

/// Merges fields into others, recursively; null removes a field.
fn lay_over(below: &mut Map<String, Value>, fields: &Map<String, Value>) {
    for (key, value) in fields {
        match (below.get_mut(key), value) {
            (Some(Value::Object(below)), Value::Object(fields)) => lay_over(below, fields),
            (_, Value::Null) => drop(below.shift_remove(key)),
            (_, value) => drop(below.insert(key.clone(), value.clone())),
        }
    }
}

/// Reads the events of one answer, in order.
#[derive(Debug)]
pub enum AnswerReader {
    /// Each chunk is complete in itself.
    Chat,
    /// Skips text of a whole item that already came in pieces.
    Responses(responses::ResponsesReader),
    /// Joins the pieces of each block.
    Messages(messages::MessagesReader),
}

impl AnswerReader {
    /// Reads a chunk or a whole answer. Unknown content is ignored.
    pub fn chunk(&mut self, value: &Value) -> Chunk {
        match self {
            Self::Chat => chat::chunk(value),
            Self::Responses(reader) => reader.chunk(value),
            Self::Messages(reader) => reader.chunk(value),
        }
    }

    /// The error that an event or a whole answer contains instead of an answer.
    pub fn error<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        match self {
            Self::Chat | Self::Messages(_) => None,
            Self::Responses(_) => responses::error(value),
        }
        .or_else(|| {
            let has_error = value.get("error").is_some_and(|error| !error.is_null());
            (has_error || value["object"] == "error").then_some(value)
        })
    }

    /// True if a JSON document is a whole answer.
    pub fn is_answer(&self, value: &Value) -> bool {
        match self {
            Self::Chat => value.pointer("/choices/0").is_some(),
            Self::Responses(_) => responses::is_answer(value),
            Self::Messages(_) => messages::is_answer(value),
        }
    }

    /// True if `[DONE]` ends an answer that has no finish reason.
    pub fn ends_with_done(&self) -> bool {
        matches!(self, Self::Chat)
    }
}

/// Replaces an empty answer in later requests: servers refuse an empty message.
const NO_ANSWER: &str = "(no answer)";

/// Returns arguments that a server can parse: some servers that receive their model's broken JSON
/// return 500 for this and every later turn.
fn sendable(arguments: &str) -> String {
    match (serde_json::from_str(arguments), super::arguments::parse(arguments)) {
        (Ok(Value::Object(_)), _) => arguments.to_owned(),
        (_, Ok(object)) => Value::Object(object).to_string(),
        (_, Err(_)) => json!({"invalid_json": arguments}).to_string(),
    }
}

/// Keeps only the schema keywords that every known server accepts.
pub fn plain_schema(schema: &mut Value) {
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
    /// The model's explanation of why it refuses, to append.
    pub refusal: String,
    /// The content in parts, if the server sends it in parts.
    pub parts: Vec<Value>,
    /// The model sends its thoughts: this is not text, but a sign of life.
    pub thinking: bool,
    /// The server marks this chunk's text as a thought.
    pub marked: bool,
    /// Fields of the message that git-cowork does not read, to be sent back.
    pub fields: Map<String, Value>,
    /// True if the model starts to think without sending its thoughts; false if it has stopped.
    pub quiet: Option<bool>,
    /// Output items to be sent back as they are.
    pub items: Vec<Value>,
    /// Pieces of tool calls, in order.
    pub calls: Vec<CallPiece>,
    /// The reason why the model stopped, once it has.
    pub finish_reason: Option<String>,
    /// Token usage so far.
    pub usage: Option<Usage>,
    /// The cost in dollars, if the server reports it.
    pub usd: Option<f64>,
    /// The model's name, as the server reports it.
    pub model: Option<String>,
}

#[cfg(test)]
impl Chunk {
    /// Joins a whole stream, with the fields that tests of a dialect compare.
    fn joined(chunks: impl IntoIterator<Item = Self>) -> Self {
        chunks.into_iter().fold(Self::default(), |mut all, chunk| {
            all.text.push_str(&chunk.text);
            all.refusal.push_str(&chunk.refusal);
            all.calls.extend(chunk.calls);
            all.items.extend(chunk.items);
            all.thinking |= chunk.thinking;
            all.model = chunk.model.or(all.model);
            all.usage = chunk.usage.or(all.usage);
            all.finish_reason = chunk.finish_reason.or(all.finish_reason);
            all
        })
    }
}

/// A piece of a tool call.
#[derive(Debug, Default, PartialEq)]
pub struct CallPiece {
    /// Index of the call, if the server sends one.
    pub index: Option<u64>,
    /// The call's id, or empty.
    pub id: String,
    /// The tool, or empty.
    pub name: String,
    /// Arguments to append, or empty.
    pub arguments: String,
    /// Fields that git-cowork does not read, to be sent back.
    pub fields: Map<String, Value>,
}

/// Text as a string, or as the list of parts that some gateways send; without thoughts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let visible = parts.iter().filter(|part| !is_thought(part));
            visible.filter_map(|part| part.get("text")).filter_map(Value::as_str).collect()
        }
        _ => String::new(),
    }
}

/// The type of an event, item or block; empty if it has none.
fn kind(value: &Value) -> &str {
    word(value, "type")
}

/// A text in an object; empty if it is missing.
fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// True if a content part is a thought: `thinking` (Mistral), `reasoning` and similar types.
pub fn is_thought(part: &Value) -> bool {
    ["thinking", "reasoning", "thought"].iter().any(|word| kind(part).contains(word))
}

fn usage(value: &Value) -> Option<Usage> {
    let count = |pointers: &[&str]| {
        pointers
            .iter()
            .find_map(|pointer| value.pointer(pointer))
            .and_then(|n| n.as_u64().or_else(|| n.as_f64().map(|n| n.max(0.0) as u64)))
    };
    let usage = Usage {
        input: count(&["/prompt_tokens", "/input_tokens"]).unwrap_or(0),
        output: count(&["/completion_tokens", "/output_tokens"]).unwrap_or(0),
        cached: count(&[
            "/prompt_tokens_details/cached_tokens",
            "/input_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
        ])
        .unwrap_or(0),
    };
    (usage.input > 0 || usage.output > 0).then_some(usage)
}

/// Estimates the usage, for a server that does not count it: four characters a token.
pub fn estimate(request: &Request, answer_chars: usize) -> Usage {
    let length = |message: &Message| match message {
        Message::System { content } | Message::User { content } | Message::Tool { content, .. } => {
            content.chars().count()
        }
        Message::Assistant { content, tool_calls, opaque } => {
            let calls: usize =
                tool_calls.iter().map(|call| call.name.len() + call.arguments.len()).sum();
            content.chars().count() + calls + opaque.as_ref().map_or(0, |opaque| opaque.size())
        }
    };
    let messages: usize = request.messages.iter().map(length).sum();
    let tools: usize = request.tools.iter().map(|t| chat::tool(t, false).to_string().len()).sum();
    let tokens = |chars: usize| chars.div_ceil(4) as u64;
    Usage { input: tokens(messages + tools), output: tokens(answer_chars), cached: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_servers_are_asked_for_responses() {
        for url in [
            "https://api.openai.com/v1",
            "https://eu.api.openai.com/v1",
            "https://api.x.ai/v1",
            "https://us-east-1.api.x.ai/v1",
            "https://mine.openai.azure.com/openai/v1",
            "https://mine.services.ai.azure.com/openai/v1",
        ] {
            assert_eq!(Dialect::usual(url), Dialect::Responses, "{url}");
        }
        for url in [
            "http://127.0.0.1:11434/v1",
            "https://api.openai.com.example.org/v1",
            "https://notapi.x.ai.example/v1",
            "https://myapi.openai.com/v1",
            "https://example.org/api.openai.com/v1",
            "https://mine.openai.azure.com/openai/deployments/m",
            "https://mine.openai.azure.com/openai/v10",
            "https://openrouter.ai/api/v1",
            "no address",
        ] {
            assert_eq!(Dialect::usual(url), Dialect::Chat, "{url}");
        }
    }

    #[test]
    fn an_extra_body_is_merged_recursively() {
        let fields = |value: Value| value.as_object().cloned().unwrap();
        let mut body = fields(json!({"a": {"b": 1, "c": 2}, "d": [1], "e": 1}));
        lay_over(&mut body, &fields(json!({"a": {"c": 3}, "d": [2], "e": null, "f": {"g": 1}})));
        assert_eq!(Value::Object(body), json!({"a": {"b": 1, "c": 3}, "d": [2], "f": {"g": 1}}));
    }

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
}
