//! Reads the events of an answer: blocks that are opened, filled piece by piece, and closed.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::{CallPiece, Chunk};
use super::{input, kind, word};
use crate::event::Usage;

/// Reads the events of one answer, in order.
#[derive(Debug, Default)]
pub struct MessagesReader {
    open: BTreeMap<u64, OpenBlock>,
    /// The text block that sent text last.
    spoke: Option<u64>,
    counts: TokenCounts,
    has_calls: bool,
    is_over: bool,
}

/// A block that is not closed yet.
#[derive(Debug)]
struct OpenBlock {
    block: Value,
    arguments: String,
}

/// Token counts; each is the maximum reported, since some servers count at the beginning, some at
/// the end.
#[derive(Clone, Copy, Debug, Default)]
struct TokenCounts {
    input: u64,
    read: u64,
    written: u64,
    output: u64,
}

impl TokenCounts {
    fn hear(&mut self, usage: Option<&Value>) {
        let count = |key: &str| usage.and_then(|u| u.get(key)).and_then(Value::as_u64).unwrap_or(0);
        self.input = self.input.max(count("input_tokens"));
        self.read = self.read.max(count("cache_read_input_tokens"));
        self.written = self.written.max(count("cache_creation_input_tokens"));
        self.output = self.output.max(count("output_tokens"));
    }

    /// Adds cached tokens to the input: this API does not count tokens read from the cache or
    /// written to it as input.
    fn usage(self) -> Option<Usage> {
        let input = self.input.saturating_add(self.read).saturating_add(self.written);
        let usage = Usage { input, output: self.output, cached: self.read };
        (input > 0 || self.output > 0).then_some(usage)
    }
}

impl MessagesReader {
    /// Reads an event or a whole answer. Unknown events are ignored, pings included.
    pub fn chunk(&mut self, event: &Value) -> Chunk {
        let at = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        let nothing = Value::Null;
        let part = |name: &str| event.get(name).unwrap_or(&nothing);
        match kind(event) {
            "message_start" => self.begin(part("message")),
            "content_block_start" => self.opens(at, part("content_block")),
            "content_block_delta" => self.grows(at, part("delta")),
            "content_block_stop" => self.closes(at),
            "message_delta" => {
                self.counts.hear(event.get("usage"));
                self.end(part("delta"))
            }
            "message_stop" if !self.is_over => self
                .end(&json!({"stop_reason": if self.has_calls { "tool_use" } else { "end_turn" }})),
            _ if is_answer(event) => self.whole(event),
            _ => Chunk::default(),
        }
    }

    fn begin(&mut self, message: &Value) -> Chunk {
        self.counts.hear(message.get("usage"));
        let model = message.get("model").and_then(Value::as_str).map(str::to_owned);
        Chunk { model, usage: self.counts.usage(), ..Chunk::default() }
    }

    fn opens(&mut self, at: u64, block: &Value) -> Chunk {
        let mut chunk = Chunk::default();
        match kind(block) {
            "text" => chunk.text = self.paragraph(at, word(block, "text")),
            "thinking" => (chunk.quiet, chunk.thinking) = (Some(true), true),
            "redacted_thinking" => chunk.thinking = true,
            "tool_use" => {
                self.has_calls = true;
                let (id, name) = (word(block, "id").to_owned(), word(block, "name").to_owned());
                chunk.calls.push(CallPiece { index: Some(at), id, name, ..CallPiece::default() });
            }
            _ => {}
        }
        self.open.insert(at, OpenBlock { block: block.clone(), arguments: String::new() });
        chunk
    }

    fn grows(&mut self, at: u64, delta: &Value) -> Chunk {
        let (field, piece) = match kind(delta) {
            "text_delta" => ("text", word(delta, "text")),
            "thinking_delta" => ("thinking", word(delta, "thinking")),
            "signature_delta" => ("signature", word(delta, "signature")),
            "input_json_delta" => ("", word(delta, "partial_json")),
            _ => return Chunk::default(),
        };
        let Some(open) = self.open.get_mut(&at) else { return Chunk::default() };
        if field.is_empty() {
            open.arguments.push_str(piece);
            let arguments = piece.to_owned();
            let piece = CallPiece { index: Some(at), arguments, ..CallPiece::default() };
            return Chunk { calls: vec![piece], ..Chunk::default() };
        }
        if let Some(fields) = open.block.as_object_mut() {
            match fields.get_mut(field) {
                Some(Value::String(whole)) => whole.push_str(piece),
                _ => {
                    fields.insert(field.to_owned(), piece.into());
                }
            }
        }
        match field {
            "text" => Chunk { text: self.paragraph(at, piece), ..Chunk::default() },
            _ => Chunk { thinking: true, ..Chunk::default() },
        }
    }

    fn closes(&mut self, at: u64) -> Chunk {
        let Some(OpenBlock { mut block, arguments }) = self.open.remove(&at) else {
            return Chunk::default();
        };
        let mut chunk = Chunk { quiet: Some(false), ..Chunk::default() };
        if kind(&block) == "tool_use" {
            if arguments.is_empty() {
                // The arguments came with the call, or there are none.
                let arguments = match &block["input"] {
                    Value::Object(fields) => Value::Object(fields.clone()).to_string(),
                    _ => "{}".to_owned(),
                };
                block["input"] = input(&arguments);
                let piece = CallPiece { index: Some(at), arguments, ..CallPiece::default() };
                chunk.calls.push(piece);
            } else {
                block["input"] = input(&arguments);
            }
        }
        chunk.items.push(block);
        chunk
    }

    /// Text of a block. Adjacent text blocks are joined; after a thought in between, a new
    /// paragraph starts.
    fn paragraph(&mut self, at: u64, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        let apart = self.spoke.is_some_and(|before| before + 1 < at);
        self.spoke = Some(at);
        if apart { format!("\n\n{text}") } else { text.to_owned() }
    }

    /// Reads the stop reason, if there is one.
    fn end(&mut self, delta: &Value) -> Chunk {
        let mut chunk = Chunk { usage: self.counts.usage(), ..Chunk::default() };
        let Some(reason) = delta.get("stop_reason").and_then(Value::as_str) else { return chunk };
        self.is_over = true;
        if reason == "refusal" {
            let why = delta.pointer("/stop_details/explanation").and_then(Value::as_str);
            chunk.refusal = why.unwrap_or_default().to_owned();
        }
        chunk.finish_reason = Some(finish_reason(reason).to_owned());
        chunk.quiet = Some(false);
        chunk
    }

    /// An answer that came in one piece.
    fn whole(&mut self, message: &Value) -> Chunk {
        let mut chunk = self.begin(message);
        let blocks = message.get("content").and_then(Value::as_array);
        for (at, block) in (0..).zip(blocks.into_iter().flatten()) {
            for piece in [self.opens(at, block), self.closes(at)] {
                chunk.text.push_str(&piece.text);
                chunk.calls.extend(piece.calls);
                chunk.items.extend(piece.items);
            }
        }
        let Chunk { refusal, finish_reason, .. } = self.end(message);
        Chunk { refusal, finish_reason, quiet: Some(false), ..chunk }
    }
}

/// The finish reason in the terms of chat completions, if there is one. A paused turn is treated
/// like one that was cut: the model continues when asked.
fn finish_reason(reason: &str) -> &str {
    match reason {
        "end_turn" | "stop_sequence" => "stop",
        "tool_use" => "tool_calls",
        "max_tokens" | "pause_turn" => "length",
        other => other,
    }
}

/// True if a JSON document is a whole answer.
pub fn is_answer(value: &Value) -> bool {
    kind(value) == "message" && value.get("content").is_some_and(Value::is_array)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(events: &[Value]) -> Chunk {
        let mut reader = MessagesReader::default();
        Chunk::joined(events.iter().map(|event| reader.chunk(event)))
    }

    fn start(at: u64, block: Value) -> Value {
        json!({"type": "content_block_start", "index": at, "content_block": block})
    }

    fn delta(at: u64, delta: Value) -> Value {
        json!({"type": "content_block_delta", "index": at, "delta": delta})
    }

    fn stop(at: u64) -> Value {
        json!({"type": "content_block_stop", "index": at})
    }

    fn ended(reason: &str) -> Value {
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": 30}})
    }

    fn arguments(all: &Chunk) -> String {
        all.calls.iter().map(|piece| piece.arguments.as_str()).collect()
    }

    /// The blocks that [`streamed`] adds up to.
    fn blocks() -> Vec<Value> {
        vec![
            json!({"type": "thinking", "thinking": "I should look.", "signature": "EqQB=="}),
            json!({"type": "redacted_thinking", "data": "Emw="}),
            json!({"type": "text", "text": "Let me look."}),
            json!({"type": "tool_use", "id": "toolu_1", "name": "read_file",
                "input": {"path": "a"}}),
        ]
    }

    fn streamed() -> Vec<Value> {
        vec![
            json!({"type": "message_start", "message": {"type": "message", "role": "assistant",
                "model": "claude-1", "content": [], "stop_reason": null, "usage": {
                "input_tokens": 5, "cache_read_input_tokens": 900,
                "cache_creation_input_tokens": 95, "output_tokens": 1}}}),
            start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
            json!({"type": "ping"}),
            delta(0, json!({"type": "thinking_delta", "thinking": "I should"})),
            delta(0, json!({"type": "thinking_delta", "thinking": " look."})),
            delta(0, json!({"type": "signature_delta", "signature": "EqQB=="})),
            stop(0),
            start(1, json!({"type": "redacted_thinking", "data": "Emw="})),
            stop(1),
            start(2, json!({"type": "text", "text": ""})),
            delta(2, json!({"type": "text_delta", "text": "Let me "})),
            delta(2, json!({"type": "text_delta", "text": "look."})),
            stop(2),
            start(
                3,
                json!({"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {}}),
            ),
            delta(3, json!({"type": "input_json_delta", "partial_json": ""})),
            delta(3, json!({"type": "input_json_delta", "partial_json": "{\"path\":"})),
            delta(3, json!({"type": "input_json_delta", "partial_json": " \"a\"}"})),
            stop(3),
            ended("tool_use"),
            json!({"type": "message_stop"}),
        ]
    }

    #[test]
    fn blocks_are_put_together_as_they_were() {
        let all = read(&streamed());
        assert_eq!(all.items, blocks());
        assert_eq!(serde_json::to_string(&all.items).unwrap(), json!(blocks()).to_string());
        assert_eq!(all.text, "Let me look.");
        assert!(all.thinking);
        assert_eq!(
            (all.calls[0].id.as_str(), all.calls[0].name.as_str()),
            ("toolu_1", "read_file")
        );
        assert_eq!(arguments(&all), r#"{"path": "a"}"#);
        assert_eq!(all.usage, Some(Usage { input: 1000, output: 30, cached: 900 }));
        assert_eq!(all.model.as_deref(), Some("claude-1"));
        assert_eq!(all.finish_reason.as_deref(), Some("tool_calls"));
    }

    #[test]
    fn an_answer_in_one_piece_is_the_same() {
        let whole = json!({"type": "message", "role": "assistant", "model": "claude-1",
            "content": blocks(), "stop_reason": "tool_use", "usage": {"input_tokens": 5,
            "cache_read_input_tokens": 900, "cache_creation_input_tokens": 95,
            "output_tokens": 30}});
        assert!(is_answer(&whole));
        let (all, pieces) = (read(&[whole]), read(&streamed()));
        assert_eq!((&all.items, &all.text), (&pieces.items, &pieces.text));
        assert_eq!((&all.finish_reason, all.usage), (&pieces.finish_reason, pieces.usage));
        assert_eq!(arguments(&all), r#"{"path":"a"}"#);
    }

    #[test]
    fn calls_come_with_their_arguments_without_any_or_with_broken_ones() {
        let call =
            |input: Value| json!({"type": "tool_use", "id": "t", "name": "f", "input": input});
        let with = read(&[start(0, call(json!({"a": 1}))), stop(0)]);
        assert_eq!(
            (arguments(&with).as_str(), &with.items[0]),
            (r#"{"a":1}"#, &call(json!({"a": 1})))
        );
        let without = read(&[start(0, call(json!({}))), stop(0)]);
        assert_eq!(arguments(&without), "{}");
        let piece = delta(0, json!({"type": "input_json_delta", "partial_json": "{\"a\":"}));
        let broken = read(&[start(0, call(json!({}))), piece, stop(0)]);
        assert_eq!(arguments(&broken), "{\"a\":");
        assert_eq!(broken.items[0]["input"], json!({"invalid_json": "{\"a\":"}));
    }

    #[test]
    fn texts_with_a_thought_in_between_are_paragraphs() {
        let text =
            |at: u64, text: &str| [start(at, json!({"type": "text", "text": text})), stop(at)];
        let thought = [start(2, json!({"type": "thinking", "thinking": ""})), stop(2)];
        let all = read(&[text(0, "One"), text(1, " two."), thought, text(3, "Three.")].concat());
        assert_eq!(all.text, "One two.\n\nThree.");
    }

    #[test]
    fn finish_reasons_are_converted_to_those_of_chat() {
        for (reason, want) in [
            ("end_turn", "stop"),
            ("stop_sequence", "stop"),
            ("tool_use", "tool_calls"),
            ("max_tokens", "length"),
            ("pause_turn", "length"),
            ("refusal", "refusal"),
            ("model_context_window_exceeded", "model_context_window_exceeded"),
        ] {
            assert_eq!(read(&[ended(reason)]).finish_reason.as_deref(), Some(want));
        }
        let silent = [json!({"type": "message_stop"})];
        assert_eq!(read(&silent).finish_reason.as_deref(), Some("stop"));
        let refusal = json!({"type": "message_delta", "delta": {"stop_reason": "refusal",
            "stop_details": {"type": "refusal", "explanation": "It may not."}}});
        assert_eq!(read(&[refusal]).refusal, "It may not.");
    }

    #[test]
    fn token_counts_at_the_end_of_a_stream_count() {
        let begun = json!({"type": "message_start", "message": {"usage": {"input_tokens": 0}}});
        let late = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"input_tokens": 7, "cache_read_input_tokens": null, "output_tokens": 2}});
        let all = read(&[begun, late]);
        assert_eq!(all.usage, Some(Usage { input: 7, output: 2, cached: 0 }));
    }
}
