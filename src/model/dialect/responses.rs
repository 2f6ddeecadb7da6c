//! The Responses API: the API that OpenAI and similar servers offer for their newest models.
//!
//! The server stores no state, so each request contains the whole conversation: the model's earlier
//! output is sent back unchanged, including its encrypted thoughts. For the events and items see
//! <https://platform.openai.com/docs/api-reference/responses-streaming>.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{
    CallPiece, Chunk, NO_ANSWER, Refusals, call_ids, kind, messages, plain_schema, sendable, usage,
    word,
};
use crate::config::ModelConfig;
use crate::model::{Message, ModelOrigin, Opaque, Request, ToolCall, ToolSpec};

/// The request body. The system prompt is the first item, not `instructions`: not every server
/// supports that field, and the cache works on the beginning of the input.
pub fn body(request: &Request, to: &ModelOrigin, refusals: Refusals) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), to.model.as_str().into());
    body.insert("store".into(), false.into());
    if !refusals.include {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    let mut items: Vec<Value> =
        request.messages.iter().flat_map(|message| input(message, to, refusals)).collect();
    if refusals.short_ids {
        call_ids::shorten(&mut items);
    }
    body.insert("input".into(), items.into());
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|spec| tool(spec, refusals.schema)).collect();
        body.insert("tools".into(), tools);
        if !refusals.parallel_tool_calls {
            body.insert("parallel_tool_calls".into(), true.into());
        }
    }
    if !refusals.temperature {
        body.insert("temperature".into(), request.temperature.into());
    }
    body.insert("stream".into(), (!refusals.stream).into());
    Value::Object(body)
}

/// Adds the configured parameters.
pub fn configure(body: &mut Map<String, Value>, config: &ModelConfig, refusals: Refusals) {
    if config.max_tokens > 0 {
        body.insert("max_output_tokens".into(), refusals.at_most(config.max_tokens).into());
    }
    if !config.reasoning_effort.is_empty() && !refusals.bare {
        body.insert("reasoning".into(), json!({"effort": config.reasoning_effort}));
    }
}

fn tool(spec: &ToolSpec, plain: bool) -> Value {
    let mut parameters = spec.parameters.clone();
    if plain {
        plain_schema(&mut parameters);
    }
    // Not strict: strict mode would make optional arguments required.
    json!({"type": "function", "name": spec.name, "description": spec.description,
           "parameters": parameters, "strict": false})
}

/// The items for a message.
fn input(message: &Message, to: &ModelOrigin, refusals: Refusals) -> Vec<Value> {
    match message {
        Message::System { content } => vec![json!({"role": "system", "content": content})],
        Message::User { content } => vec![json!({"role": "user", "content": content})],
        Message::Tool { tool_call_id, content } => vec![json!({
            "type": "function_call_output", "call_id": call_id(tool_call_id), "output": content})],
        Message::Assistant { content, tool_calls, opaque } => {
            let own_answer =
                opaque.as_ref().filter(|opaque| opaque.origin == *to && !refusals.items);
            match own_answer.filter(|opaque| stand_for(opaque, tool_calls)) {
                Some(opaque) => as_they_came(opaque, refusals),
                None => plain(content, tool_calls),
            }
        }
    }
}

/// True if the items match the conversation: they contain the same calls, with arguments that
/// servers accept. Calls found in the text are not in the items.
fn stand_for(opaque: &Opaque, tool_calls: &[ToolCall]) -> bool {
    let calls = opaque.items.iter().filter(|item| kind(item) == "function_call");
    let item_calls = calls.map(|item| (word(item, "call_id"), word(item, "arguments")));
    let message_calls = tool_calls.iter().map(|call| (call.id.as_str(), call.arguments.as_str()));
    !opaque.items.is_empty()
        && !opaque.items.iter().any(messages::is_block)
        && item_calls.eq(message_calls)
        && tool_calls.iter().all(|call| sendable(&call.arguments) == call.arguments)
}

fn as_they_came(opaque: &Opaque, refusals: Refusals) -> Vec<Value> {
    let mut items = opaque.items.clone();
    // A thought without content is only an id, and the server stored nothing for it.
    items.retain(|item| kind(item) != "reasoning" || is_thought(item));
    if refusals.item_ids {
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

/// Items for an answer of another model, or one whose own items do not match.
fn plain(content: &str, tool_calls: &[ToolCall]) -> Vec<Value> {
    let silent = content.trim().is_empty();
    let text = json!({"role": "assistant", "content": if silent { NO_ANSWER } else { content }});
    let calls = tool_calls.iter().map(|call| {
        json!({"type": "function_call", "call_id": call_id(&call.id), "name": call.name,
               "arguments": sendable(&call.arguments)})
    });
    let has_text = !silent || tool_calls.is_empty();
    has_text.then_some(text).into_iter().chain(calls).collect()
}

/// A call's id, cut to 64 characters, which servers accept: some gateways add a signature to ids.
fn call_id(id: &str) -> &str {
    id.char_indices().nth(64).map_or(id, |(end, _)| &id[..end])
}

/// Reads the events of one answer. Text that came in pieces is not read again from the complete
/// item that follows; other text is.
#[derive(Debug, Default)]
pub struct ResponsesReader {
    /// Items whose text or arguments came in pieces.
    received_items: BTreeSet<u64>,
    /// Calls that were announced.
    announced_calls: BTreeSet<u64>,
    /// The item that sent text last.
    spoke: Option<u64>,
    items: usize,
    has_calls: bool,
}

impl ResponsesReader {
    /// Reads an event or a whole answer.
    pub fn chunk(&mut self, event: &Value) -> Chunk {
        let at = event.get("output_index").and_then(Value::as_u64).unwrap_or(0);
        let nothing = Value::Null;
        let part = |name: &str| event.get(name).unwrap_or(&nothing);
        match kind(event) {
            "response.output_text.delta" => {
                Chunk { text: self.paragraph(at, word(event, "delta")), ..Chunk::default() }
            }
            "response.refusal.delta" => {
                self.received_items.insert(at);
                Chunk { refusal: word(event, "delta").to_owned(), ..Chunk::default() }
            }
            "response.function_call_arguments.delta" if self.announced_calls.contains(&at) => {
                self.received_items.insert(at);
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

    /// Text of an item; after text of another item a new paragraph starts.
    fn paragraph(&mut self, at: u64, text: &str) -> String {
        self.received_items.insert(at);
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
                self.announced_calls.insert(at);
                let (id, name) = (word(item, "call_id").to_owned(), word(item, "name").to_owned());
                let piece = CallPiece { index: Some(at), id, name, ..CallPiece::default() };
                Chunk { calls: vec![piece], ..Chunk::default() }
            }
            "reasoning" => Chunk { quiet: Some(true), ..Chunk::default() },
            _ => Chunk::default(),
        }
    }

    /// Reads a complete item.
    fn item(&mut self, at: u64, item: &Value) -> Chunk {
        self.items += 1;
        let mut chunk = match kind(item) {
            "message" if !self.received_items.contains(&at) => {
                let (text, refusal) = (parts(item, "text"), parts(item, "refusal"));
                Chunk { text: self.paragraph(at, &text), refusal, ..Chunk::default() }
            }
            "function_call" => {
                self.has_calls = true;
                let mut chunk = match self.announced_calls.contains(&at) {
                    true => Chunk::default(),
                    false => self.opens(at, item),
                };
                if self.received_items.insert(at) {
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

    /// Reads the end of an answer, or a whole answer that came in one piece.
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
                let part = self.item(at, item);
                chunk.text.push_str(&part.text);
                chunk.refusal.push_str(&part.refusal);
                chunk.calls.extend(part.calls);
                chunk.items.extend(part.items);
            }
        }
        let why = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        let reason = match why {
            _ if word(response, "status") != "incomplete" && self.has_calls => "tool_calls",
            _ if word(response, "status") != "incomplete" => "stop",
            None | Some("max_output_tokens") => "length",
            Some(why) => why,
        };
        chunk.finish_reason = Some(reason.to_owned());
        chunk
    }
}

/// The error in an event or in a whole answer.
pub fn error(value: &Value) -> Option<&Value> {
    match kind(value) {
        "error" => Some(value),
        "response.failed" => Some(value.get("response").unwrap_or(value)),
        _ => None,
    }
}

/// True if a JSON document is a whole answer, and not only the beginning of one.
pub fn is_answer(value: &Value) -> bool {
    let is_complete = matches!(word(value, "status"), "" | "completed" | "incomplete");
    is_complete && value.get("output").is_some_and(Value::is_array)
}

/// Joins the parts of one kind in a message.
fn parts(item: &Value, kind: &str) -> String {
    let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
    parts.map(|part| word(part, kind)).collect()
}

fn model(response: &Value) -> Option<String> {
    response.get("model").and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Usage;
    use crate::model::test_server::request;

    fn origin() -> ModelOrigin {
        ModelOrigin::new("http://127.0.0.1:1/v1", "m")
    }

    fn read(events: &[Value]) -> Chunk {
        let mut reader = ResponsesReader::default();
        Chunk::joined(events.iter().map(|event| reader.chunk(event)))
    }

    fn message_item(text: &str) -> Value {
        json!({"type": "message", "id": "msg_1", "role": "assistant",
               "content": [{"type": "output_text", "text": text, "annotations": []}]})
    }

    fn call_item(call_id: &str, arguments: &str) -> Value {
        json!({"type": "function_call", "id": format!("fc_{call_id}"), "call_id": call_id,
               "name": "read_file", "arguments": arguments, "status": "completed"})
    }

    fn thought() -> Value {
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"})
    }

    fn said(content: &str, calls: &[(&str, &str)], opaque: Option<Opaque>) -> Message {
        let call = |(id, arguments): &(&str, &str)| ToolCall {
            id: (*id).to_owned(),
            name: "read_file".to_owned(),
            arguments: (*arguments).to_owned(),
        };
        Message::Assistant {
            content: content.to_owned(),
            tool_calls: calls.iter().map(call).collect(),
            opaque: opaque.map(Box::new),
        }
    }

    #[test]
    fn a_request_holds_no_state_at_the_server() {
        let full = body(&request(), &origin(), Refusals::default());
        let want = json!({
            "model": "m", "store": false, "include": ["reasoning.encrypted_content"],
            "input": [{"role": "system", "content": "rules"}, {"role": "user", "content": "work"}],
            "tools": [{"type": "function", "name": "read_file", "description": "reads",
                "parameters": {"type": "object", "additionalProperties": false}, "strict": false}],
            "parallel_tool_calls": true, "temperature": 0.7, "stream": true,
        });
        assert_eq!(full, want);
        let refused = Refusals {
            temperature: true,
            parallel_tool_calls: true,
            include: true,
            stream: true,
            schema: true,
            ..Refusals::default()
        };
        let bare = body(&request(), &origin(), refused);
        for key in ["temperature", "parallel_tool_calls", "include"] {
            assert!(bare.get(key).is_none(), "{key}");
        }
        assert_eq!(bare["stream"], false);
        let (max_tokens, reasoning_effort) = (9, "low".to_owned());
        let config = ModelConfig { max_tokens, reasoning_effort, ..ModelConfig::default() };
        let mut sent = Map::new();
        configure(&mut sent, &config, Refusals::default());
        let want = json!({"max_output_tokens": 9, "reasoning": {"effort": "low"}});
        assert_eq!(Value::Object(sent), want);
        assert_eq!(bare["tools"][0]["parameters"], json!({"type": "object"}));
    }

    #[test]
    fn items_are_sent_back_only_to_their_origin_and_unchanged() {
        let items = vec![thought(), message_item("Let me look."), call_item("c1", r#"{"a": 1}"#)];
        let message = |model: &str| {
            let origin = ModelOrigin::new("http://127.0.0.1:1/v1", model);
            let opaque = Opaque { origin, items: items.clone(), ..Opaque::default() };
            said("Let me look.", &[("c1", r#"{"a": 1}"#)], Some(opaque))
        };
        let none = Refusals::default();
        assert_eq!(input(&message("m"), &origin(), none), items);
        let plain = [
            json!({"role": "assistant", "content": "Let me look."}),
            json!({"type": "function_call", "call_id": "c1", "name": "read_file",
                   "arguments": r#"{"a": 1}"#}),
        ];
        assert_eq!(input(&message("another"), &origin(), none), plain);
        assert_eq!(input(&message("m"), &origin(), Refusals { items: true, ..none }), plain);
        let nameless = input(&message("m"), &origin(), Refusals { item_ids: true, ..none });
        assert!(nameless.iter().all(|item| item.get("id").is_none()), "{nameless:?}");
        assert_eq!(nameless[2]["call_id"], "c1");
    }

    #[test]
    fn items_that_do_not_say_what_the_conversation_says_are_not_sent() {
        let none = Refusals::default();
        let with = |items: Vec<Value>| Opaque { origin: origin(), items, ..Opaque::default() };
        // A call that was found in the text.
        let found = said("", &[("call_1_1", "{}")], Some(with(vec![message_item("read_file {}")])));
        assert_eq!(input(&found, &origin(), none)[0]["type"], "function_call");
        // Arguments that no server accepts.
        let broken = said("", &[("c1", "{")], Some(with(vec![call_item("c1", "{")])));
        assert_eq!(input(&broken, &origin(), none)[0]["arguments"], r#"{"invalid_json":"{"}"#);
        // The same model, used through another API before.
        let block = json!({"type": "text", "text": "x"});
        let other = said("x", &[], Some(with(vec![block])));
        assert_eq!(input(&other, &origin(), none), [json!({"role": "assistant", "content": "x"})]);
        // A thought that came with only its id.
        let nothing = json!({"type": "reasoning", "id": "rs_1", "summary": []});
        let empty = said("x", &[], Some(with(vec![nothing, message_item("x")])));
        assert_eq!(input(&empty, &origin(), none), [message_item("x")]);
    }

    #[test]
    fn a_foreign_id_is_cut_the_same_in_call_and_answer() {
        let id = format!("call_x__thought__{}", "é".repeat(200));
        let call = input(&said("", &[(&id, "{}")], None), &origin(), Refusals::default());
        let message = Message::Tool { tool_call_id: id, content: "done".to_owned() };
        let answer = input(&message, &origin(), Refusals::default());
        assert_eq!(call[0]["call_id"], answer[0]["call_id"]);
        assert_eq!(call[0]["call_id"].as_str().unwrap().chars().count(), 64);
    }

    #[test]
    fn text_that_came_in_pieces_is_not_read_twice() {
        let all = read(&[
            json!({"type": "response.created", "response": {"model": "m-1", "output": []}}),
            json!({"type": "response.output_item.added", "output_index": 0, "item": thought()}),
            json!({"type": "response.reasoning_summary_text.delta", "delta": "secret"}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": thought()}),
            json!({"type": "response.output_item.added", "output_index": 1, "item": message_item("")}),
            json!({"type": "response.output_text.delta", "output_index": 1, "delta": "Let "}),
            json!({"type": "response.output_text.delta", "output_index": 1, "delta": "me."}),
            json!({"type": "response.output_text.done", "output_index": 1, "text": "Let me."}),
            json!({"type": "response.output_item.done", "output_index": 1, "item": message_item("Let me.")}),
            json!({"type": "response.output_item.added", "output_index": 2, "item": call_item("c1", "")}),
            json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{\"a\""}),
            json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": ":1}"}),
            json!({"type": "response.function_call_arguments.done", "output_index": 2, "arguments": "{\"a\":1}"}),
            json!({"type": "response.output_item.done", "output_index": 2, "item": call_item("c1", "{\"a\":1}")}),
            json!({"type": "response.completed", "response": {"status": "completed", "output": [],
                "usage": {"input_tokens": 9, "output_tokens": 4,
                          "input_tokens_details": {"cached_tokens": 5}}}}),
        ]);
        assert_eq!(all.text, "Let me.");
        assert!(all.thinking);
        let arguments: String = all.calls.iter().map(|piece| piece.arguments.as_str()).collect();
        assert_eq!((all.calls[0].id.as_str(), arguments.as_str()), ("c1", "{\"a\":1}"));
        assert!(all.calls.iter().all(|piece| piece.index == Some(2)));
        assert_eq!(all.items.len(), 3);
        assert_eq!(all.usage, Some(Usage { input: 9, output: 4, cached: 5 }));
        assert_eq!(all.finish_reason.as_deref(), Some("tool_calls"));
    }

    #[test]
    fn text_that_did_not_come_in_pieces_is_read_from_the_items() {
        let done = |at: u64, item: Value| json!({"type": "response.output_item.done", "output_index": at, "item": item});
        let refusal =
            json!({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]});
        let items = [message_item("First."), refusal, call_item("c1", "{}")];
        let mut events: Vec<Value> = (0..).zip(items.clone()).map(|(at, i)| done(at, i)).collect();
        events.push(json!({"type": "response.completed",
            "response": {"status": "completed", "output": items.clone()}}));
        let whole = json!({"object": "response", "status": "completed", "output": items.clone()});
        let ended = json!({"type": "response.completed", "response": whole.clone()});
        for said in [events, vec![ended], vec![whole]] {
            let all = read(&said);
            assert_eq!((all.text.as_str(), all.refusal.as_str()), ("First.", "No."), "{said:?}");
            assert_eq!(all.items, items);
            let names: Vec<&str> = all.calls.iter().map(|piece| piece.name.as_str()).collect();
            let arguments: String = all.calls.iter().map(|p| p.arguments.as_str()).collect();
            assert_eq!((names.concat(), arguments), ("read_file".to_owned(), "{}".to_owned()));
        }
    }

    #[test]
    fn finish_reasons_are_converted_to_those_of_chat() {
        let end = |response: Value| {
            read(&[json!({"type": "response.incomplete", "response": response})]).finish_reason
        };
        let incomplete = |why: &str| json!({"status": "incomplete", "incomplete_details": {"reason": why}, "output": []});
        assert_eq!(end(incomplete("max_output_tokens")).as_deref(), Some("length"));
        assert_eq!(end(incomplete("content_filter")).as_deref(), Some("content_filter"));
        assert_eq!(end(json!({"status": "completed"})).as_deref(), Some("stop"));
        assert!(!is_answer(&json!({"status": "in_progress", "output": []})));
        assert!(!is_answer(&json!({"status": "completed"})));
    }
}
