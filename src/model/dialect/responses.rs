//! Responses: what the hosted API and its kin speak to their newest models.
//!
//! Asked without state at the server, so each request says everything: what the model put out
//! before, its encrypted thoughts included, goes back as it came. Events and items are those of
//! <https://platform.openai.com/docs/api-reference/responses-streaming>.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{CallPiece, Chunk, Refusals, plain_schema, sendable, usage};
use crate::model::{Message, Opaque, Origin, Request, ToolCall, ToolSpec};

/// The request body. The rules are the first item, not `instructions`: not every server has those,
/// and the beginning of the input is what is cached.
pub fn body(request: &Request, to: &Origin, refused: Refusals) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), to.model.as_str().into());
    body.insert("store".into(), false.into());
    if !refused.include {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    let input = request.messages.iter().flat_map(|message| input(message, to, refused)).collect();
    body.insert("input".into(), input);
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
    Value::Object(body)
}

fn tool(spec: &ToolSpec, plain: bool) -> Value {
    let mut parameters = spec.parameters.clone();
    if plain {
        plain_schema(&mut parameters);
    }
    // Not strict: optional arguments would have to be required.
    json!({"type": "function", "name": spec.name, "description": spec.description,
           "parameters": parameters, "strict": false})
}

/// The items that stand for a message.
fn input(message: &Message, to: &Origin, refused: Refusals) -> Vec<Value> {
    match message {
        Message::System { content } => vec![json!({"role": "system", "content": content})],
        Message::User { content } => vec![json!({"role": "user", "content": content})],
        Message::Tool { tool_call_id, content } => vec![json!({
            "type": "function_call_output", "call_id": call_id(tool_call_id), "output": content})],
        Message::Assistant { content, tool_calls, opaque } => {
            let own = opaque.as_ref().filter(|opaque| opaque.origin == *to && !refused.items);
            match own.filter(|opaque| stand_for(opaque, tool_calls)) {
                Some(opaque) => as_they_came(opaque, refused),
                None => plain(content, tool_calls),
            }
        }
    }
}

/// Whether the items say what the conversation says: the same calls, which others may have been
/// found in the text, with arguments that are not refused.
fn stand_for(opaque: &Opaque, tool_calls: &[ToolCall]) -> bool {
    let calls = opaque.items.iter().filter(|item| kind(item) == "function_call");
    let said = calls.map(|item| (word(item, "call_id"), word(item, "arguments")));
    let known = tool_calls.iter().map(|call| (call.id.as_str(), call.arguments.as_str()));
    !opaque.items.is_empty()
        && said.eq(known)
        && tool_calls.iter().all(|call| sendable(&call.arguments) == call.arguments)
}

fn as_they_came(opaque: &Opaque, refused: Refusals) -> Vec<Value> {
    let mut items = opaque.items.clone();
    // A thought of which nothing came is only a name, and the server that gave it kept nothing.
    items.retain(|item| kind(item) != "reasoning" || is_thought(item));
    if refused.item_ids {
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            item.remove("id");
        }
    }
    items
}

fn is_thought(item: &Value) -> bool {
    let text = item.get("encrypted_content").and_then(Value::as_str);
    let parts = item.get("content").and_then(Value::as_array);
    text.is_some_and(|text| !text.is_empty()) || parts.is_some_and(|parts| !parts.is_empty())
}

/// What somebody else said, or nobody's own items stand for.
fn plain(content: &str, tool_calls: &[ToolCall]) -> Vec<Value> {
    let text = json!({"role": "assistant", "content": content});
    let calls = tool_calls.iter().map(|call| {
        json!({"type": "function_call", "call_id": call_id(&call.id), "name": call.name,
               "arguments": sendable(&call.arguments)})
    });
    let said = !content.is_empty() || tool_calls.is_empty();
    said.then_some(text).into_iter().chain(calls).collect()
}

/// A call's id as it is taken: 64 characters at most, and some gateways hide a signature in theirs.
fn call_id(id: &str) -> &str {
    id.char_indices().nth(64).map_or(id, |(end, _)| &id[..end])
}

/// Reads the events of one answer: what came in pieces is not taken again from the whole item that
/// follows, and what did not is.
#[derive(Debug, Default)]
pub struct Reader {
    /// Items of which text or arguments came.
    heard: BTreeSet<u64>,
    /// Calls that were announced.
    opened: BTreeSet<u64>,
    /// The item that spoke last.
    spoke: Option<u64>,
    items: usize,
    called: bool,
}

impl Reader {
    /// Reads an event or a whole answer.
    pub fn chunk(&mut self, event: &Value) -> Chunk {
        let at = event.get("output_index").and_then(Value::as_u64).unwrap_or(0);
        let nothing = Value::Null;
        let part = |name: &str| event.get(name).unwrap_or(&nothing);
        match kind(event) {
            "response.output_text.delta" | "response.refusal.delta" => {
                Chunk { text: self.said(at, word(event, "delta")), ..Chunk::default() }
            }
            "response.function_call_arguments.delta" if self.opened.contains(&at) => {
                self.heard.insert(at);
                let arguments = word(event, "delta").to_owned();
                let piece = CallPiece { index: Some(at), arguments, ..CallPiece::default() };
                Chunk { calls: vec![piece], ..Chunk::default() }
            }
            "response.function_call_arguments.delta"
            | "response.reasoning_summary_part.added"
            | "response.reasoning_summary_text.delta"
            | "response.reasoning_text.delta" => Chunk { thinking: true, ..Chunk::default() },
            "response.output_item.added" => self.opens(at, part("item")),
            "response.output_item.done" => self.item(at, part("item")),
            "response.completed" | "response.incomplete" => self.end(part("response")),
            "response.created" | "response.in_progress" => {
                Chunk { model: model(part("response")), ..Chunk::default() }
            }
            "" if is_answer(event) => self.end(event),
            _ => Chunk::default(),
        }
    }

    /// Text of an item; what another item said before is a paragraph of its own.
    fn said(&mut self, at: u64, text: &str) -> String {
        self.heard.insert(at);
        if text.is_empty() {
            return String::new();
        }
        let apart = self.spoke.is_some_and(|before| before != at);
        self.spoke = Some(at);
        if apart { format!("\n\n{text}") } else { text.to_owned() }
    }

    fn opens(&mut self, at: u64, item: &Value) -> Chunk {
        match kind(item) {
            "function_call" => {
                self.opened.insert(at);
                let (id, name) = (word(item, "call_id").to_owned(), word(item, "name").to_owned());
                let piece = CallPiece { index: Some(at), id, name, arguments: String::new() };
                Chunk { calls: vec![piece], ..Chunk::default() }
            }
            "reasoning" => Chunk { quiet: Some(true), ..Chunk::default() },
            _ => Chunk::default(),
        }
    }

    /// An item that is complete.
    fn item(&mut self, at: u64, item: &Value) -> Chunk {
        self.items += 1;
        let mut chunk = match kind(item) {
            "message" if !self.heard.contains(&at) => {
                Chunk { text: self.said(at, &message_text(item)), ..Chunk::default() }
            }
            "function_call" => {
                self.called = true;
                let mut chunk = match self.opened.contains(&at) {
                    true => Chunk::default(),
                    false => self.opens(at, item),
                };
                if self.heard.insert(at) {
                    let arguments = word(item, "arguments").to_owned();
                    let piece = CallPiece { index: Some(at), arguments, ..CallPiece::default() };
                    chunk.calls.push(piece);
                }
                chunk
            }
            _ => Chunk::default(),
        };
        chunk.quiet = Some(false);
        chunk.items.push(item.clone());
        chunk
    }

    /// The end of an answer, or one that came in one piece.
    fn end(&mut self, response: &Value) -> Chunk {
        let mut chunk = Chunk {
            usage: response.get("usage").and_then(usage),
            usd: response.pointer("/usage/cost").and_then(Value::as_f64).filter(|usd| *usd >= 0.0),
            model: model(response),
            quiet: Some(false),
            ..Chunk::default()
        };
        if self.items == 0 {
            let output = response.get("output").and_then(Value::as_array);
            for (at, item) in (0..).zip(output.into_iter().flatten()) {
                let of_item = self.item(at, item);
                chunk.text.push_str(&of_item.text);
                chunk.calls.extend(of_item.calls);
                chunk.items.extend(of_item.items);
            }
        }
        let why = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        let reason = match why {
            _ if word(response, "status") != "incomplete" && self.called => "tool_calls",
            _ if word(response, "status") != "incomplete" => "stop",
            None | Some("max_output_tokens") => "length",
            Some(why) => why,
        };
        chunk.finish_reason = Some(reason.to_owned());
        chunk
    }
}

/// The error an event or a whole answer holds.
pub fn error(value: &Value) -> Option<&Value> {
    match kind(value) {
        "error" => Some(value),
        "response.failed" => Some(value.get("response").unwrap_or(value)),
        _ => None,
    }
}

/// Whether a JSON document is a whole answer: one that was begun only is not.
pub fn is_answer(value: &Value) -> bool {
    let ended = matches!(word(value, "status"), "" | "completed" | "incomplete");
    ended && value.get("output").is_some_and(Value::is_array)
}

fn message_text(item: &Value) -> String {
    let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
    parts.map(|part| [word(part, "text"), word(part, "refusal")].concat()).collect()
}

fn model(response: &Value) -> Option<String> {
    response.get("model").and_then(Value::as_str).map(str::to_owned)
}

fn kind(value: &Value) -> &str {
    word(value, "type")
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
