//! Builds a reply from chunks, however the server split it. No I/O here.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};

use super::dialect::vendor::SIGNED_ID;
use super::dialect::{CallPiece, Chunk, is_thought};
use super::failure::{self, Failure};
use super::thinking::Speech;
use super::{ModelOrigin, Opaque, ToolCall, opaque, pieces};
use crate::event::Usage;

/// Maximum bytes of text and arguments in one reply; only a broken or hostile server sends more.
const MAX_REPLY: usize = 16 << 20;

/// Start of the first text after thoughts that the server marked as such.
const GEMINI_CLOSES: &str = "</thought>";

/// An incomplete reply.
#[derive(Debug, Default)]
pub struct Assembly {
    /// The reason why the model stopped, once it has.
    pub finish_reason: Option<String>,
    /// Token usage counted by the server; the last value counts, since some servers send running
    /// totals.
    pub usage: Option<Usage>,
    /// The cost in dollars, if the server reports it.
    pub usd: Option<f64>,
    /// The model's name, as the server reports it.
    pub model: Option<String>,
    /// The original text, with thoughts in tags.
    raw: String,
    /// The text in parts, if the server sent it in parts.
    parts: Vec<Value>,
    speech: Speech,
    calls: Vec<OpenCall>,
    /// Fields of the message that git-cowork does not read.
    fields: Map<String, Value>,
    /// Unread fields of the calls already taken, by id.
    call_fields: BTreeMap<String, Map<String, Value>>,
    items: Vec<Value>,
    /// The model's explanation of why it refuses.
    refusal: String,
    thought: bool,
    quiet: bool,
    /// The server marked the last text as a thought.
    marked: bool,
    size: usize,
}

#[derive(Debug, Default)]
struct OpenCall {
    index: Option<u64>,
    call: ToolCall,
    fields: Map<String, Value>,
}

impl Assembly {
    /// An empty reply. `template_thinks`: see [`Speech::new`].
    pub fn new(template_thinks: bool) -> Self {
        Self { speech: Speech::new(template_thinks), ..Self::default() }
    }

    /// Adds a chunk and returns the text that may be shown; `None` if the reply is too large.
    pub fn push(&mut self, chunk: Chunk) -> Option<String> {
        self.size += chunk.text.len() + chunk.refusal.len() + opaque_size(&chunk.fields);
        self.refusal.push_str(&chunk.refusal);
        self.size += chunk.parts.iter().map(opaque::length).sum::<usize>();
        let visible = self.push_text(&chunk.text, chunk.marked, chunk.parts);
        self.thought |= chunk.thinking;
        pieces::join(&mut self.fields, chunk.fields);
        self.quiet = chunk.quiet.unwrap_or(self.quiet);
        self.size += chunk.items.iter().map(opaque::length).sum::<usize>();
        self.items.extend(chunk.items);
        for piece in chunk.calls {
            self.size += piece.arguments.len() + piece.name.len() + opaque_size(&piece.fields);
            self.push_call(piece);
        }
        // One server sends an empty reason for "not yet".
        self.finish_reason =
            chunk.finish_reason.filter(|r| !r.is_empty()).or(self.finish_reason.take());
        self.usage = chunk.usage.or(self.usage);
        self.usd = chunk.usd.or(self.usd);
        self.model = chunk.model.filter(|name| !name.is_empty()).or(self.model.take());
        (self.size <= MAX_REPLY).then_some(visible)
    }

    fn push_text(&mut self, text: &str, is_marked: bool, parts: Vec<Value>) -> String {
        if is_marked {
            self.marked = true;
            return String::new();
        }
        let text = match text.trim_start().strip_prefix(GEMINI_CLOSES) {
            Some(rest) if self.marked => rest.trim_start(),
            _ => text,
        };
        self.marked &= text.is_empty();
        // Once a part has come, store everything in parts: earlier text becomes the first part.
        if !parts.is_empty() && self.parts.is_empty() && !self.raw.is_empty() {
            self.parts.push(json!({"type": "text", "text": self.raw}));
        }
        let in_parts = !parts.is_empty();
        parts.into_iter().for_each(|part| pieces::join_item(&mut self.parts, part));
        if !in_parts && !self.parts.is_empty() && !text.is_empty() {
            pieces::join_item(&mut self.parts, json!({"type": "text", "text": text}));
        }
        self.raw.push_str(text);
        self.speech.push(text)
    }

    /// Ends the text; returns the rest to show.
    pub fn end_text(&mut self) -> String {
        self.speech.end()
    }

    /// True if the model's thoughts end with a tag that it did not open.
    pub fn template_thinks(&self) -> bool {
        self.speech.template_thinks()
    }

    /// The model's text, without thoughts.
    pub fn text(&self) -> &str {
        self.speech.text()
    }

    /// The data that `origin` wants back with this answer; call it after [`Self::take_calls`].
    /// Items of an interrupted answer are dropped, since no server accepts them.
    pub fn take_opaque(&mut self, origin: ModelOrigin) -> Option<Box<Opaque>> {
        let mut message = std::mem::take(&mut self.fields);
        if self.parts.iter().any(is_thought) {
            message.insert("content".into(), std::mem::take(&mut self.parts).into());
        } else if self.speech.tags_go_back() {
            message.insert("content".into(), std::mem::take(&mut self.raw).into());
        }
        let calls = std::mem::take(&mut self.call_fields);
        let items = std::mem::take(&mut self.items);
        let whole = matches!(self.finish_reason.as_deref(), Some("stop" | "tool_calls"));
        let items = if whole { items } else { Vec::new() };
        let opaque = Opaque { origin, message, calls, items };
        (!opaque.is_empty()).then(|| Box::new(opaque))
    }

    /// True if the model has started; a role alone does not count.
    pub fn started(&self) -> bool {
        let began = self.has_answer() || !self.refusal.is_empty();
        self.thought || began || self.finish_reason.is_some()
    }

    /// The failure, if the complete reply is not an answer.
    pub fn failed(&self) -> Option<Failure> {
        let reason = self.finish_reason.as_deref().unwrap_or_default();
        failure::from_end(reason, &self.refusal, self.text())
    }

    /// True if the model thinks without sending its thoughts: it may be silent as long as before
    /// the first token.
    pub fn thinks_quietly(&self) -> bool {
        self.quiet
    }

    /// True if there is any answer so far.
    pub fn has_answer(&self) -> bool {
        !self.raw.is_empty() || !self.calls.is_empty()
    }

    /// The call that is being written.
    pub fn newest_call(&self) -> Option<&ToolCall> {
        self.calls.last().map(|open| &open.call)
    }

    /// Number of characters generated, to estimate tokens.
    pub fn chars(&self) -> usize {
        let calls = self.calls.iter().map(|c| c.call.name.len() + c.call.arguments.len());
        let thoughts = self.fields.values().filter_map(Value::as_str).map(|s| s.chars().count());
        self.raw.chars().count() + calls.sum::<usize>() + thoughts.sum::<usize>()
    }

    /// The finished calls, each with a unique id; `turn` makes generated ids different from those
    /// of other turns.
    pub fn take_calls(&mut self, turn: u32) -> Vec<ToolCall> {
        let mut ids = HashSet::new();
        let calls = std::mem::take(&mut self.calls).into_iter().enumerate();
        calls
            .map(|(n, OpenCall { mut call, fields, .. })| {
                if call.id.is_empty() || ids.contains(&call.id) {
                    call.id = made_up_id(turn, n);
                }
                ids.insert(call.id.clone());
                if !fields.is_empty() || call.id.contains(SIGNED_ID) {
                    self.call_fields.insert(call.id.clone(), fields);
                }
                call
            })
            .collect()
    }

    fn push_call(&mut self, piece: CallPiece) {
        let Some(at) = self.belongs_to(&piece) else {
            let CallPiece { index, id, name, arguments, fields } = piece;
            self.calls.push(OpenCall { index, call: ToolCall { id, name, arguments }, fields });
            return;
        };
        let OpenCall { call, fields, .. } = &mut self.calls[at];
        pieces::join(fields, piece.fields);
        if call.id.is_empty() {
            call.id = piece.id;
        }
        // Some servers repeat the name in each piece, a few split it.
        if call.arguments.is_empty() && call.name != piece.name {
            call.name.push_str(&piece.name);
        }
        call.arguments.push_str(&piece.arguments);
    }

    /// The open call that a piece continues; none if it starts a new call.
    fn belongs_to(&self, piece: &CallPiece) -> Option<usize> {
        let same_index = |open: &OpenCall| piece.index.is_none() || open.index == piece.index;
        let at = match piece.index {
            Some(_) => self.calls.iter().rposition(same_index)?,
            None => self.by_id(&piece.id).or_else(|| self.calls.len().checked_sub(1))?,
        };
        let open = &self.calls[at].call;
        // Several servers number every call 0, or none: a new id, or a name after complete
        // arguments, starts a new call.
        let other_id = !piece.id.is_empty() && !open.id.is_empty() && piece.id != open.id;
        let has_name = !piece.name.is_empty();
        let other_name = piece.index.is_none() && piece.name != open.name;
        // A repeated id and name without arguments, such as a signature at the end, is not a new
        // call.
        let same = !piece.id.is_empty() && piece.id == open.id && piece.arguments.is_empty();
        if same && piece.name == open.name {
            return Some(at);
        }
        // Parsing comes last: arguments may be long, and pieces many.
        let complete = || serde_json::from_str::<Value>(&open.arguments).is_ok();
        let opens = has_name && (other_id || other_name || complete());
        (!opens).then_some(at)
    }

    fn by_id(&self, id: &str) -> Option<usize> {
        self.calls.iter().rposition(|open| !id.is_empty() && open.call.id == id)
    }
}

fn opaque_size(fields: &Map<String, Value>) -> usize {
    fields.iter().map(|(key, value)| key.len() + opaque::length(value)).sum()
}

/// An id for a call without one, in the form that every server accepts: nine letters and digits.
pub fn made_up_id(turn: u32, n: usize) -> String {
    format!("c{:04}{:04}", turn % 10_000, (n + 1) % 10_000)
}

#[cfg(test)]
mod tests {
    use super::super::dialect::Dialect;
    use super::*;
    use serde_json::json;

    fn calls(pieces: &[Value]) -> Vec<(String, String, String)> {
        let mut assembly = Assembly::default();
        for piece in pieces {
            let chunk = json!({"choices": [{"delta": {"tool_calls": [piece]}}]});
            assert!(assembly.push(Dialect::Chat.reader().chunk(&chunk)).is_some());
        }
        assembly.take_calls(3).into_iter().map(|c| (c.id, c.name, c.arguments)).collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.into(), name.into(), arguments.into())
    }

    #[test]
    fn the_first_argument_piece_may_come_with_the_name() {
        let got = calls(&[
            json!({"index": 0, "id": "Zu", "function": {"name": "read_file", "arguments": "{"}}),
            json!({"index": 0, "function": {"arguments": "\n    \""}}),
            json!({"index": 0, "function": {"arguments": "path\": \"a\"}"}}),
        ]);
        assert_eq!(got, [call("Zu", "read_file", "{\n    \"path\": \"a\"}")]);
    }

    #[test]
    fn calls_without_ids_and_indexes_are_distinguished() {
        let got = calls(&[
            json!({"function": {"name": "a", "arguments": "{\"x\":"}}),
            json!({"function": {"arguments": "1}"}}),
            json!({"function": {"name": "a", "arguments": {"x": 2}}}),
            json!({"function": {"name": "b", "arguments": ""}}),
            json!({"function": {"name": "c"}}),
        ]);
        let want = [
            call("c00030001", "a", r#"{"x":1}"#),
            call("c00030002", "a", r#"{"x":2}"#),
            call("c00030003", "b", ""),
            call("c00030004", "c", ""),
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn every_call_numbered_zero_is_still_several() {
        let got = calls(&[
            json!({"index": 0, "id": "p", "function": {"name": "a", "arguments": "{}"}}),
            json!({"index": 0, "id": "q", "function": {"name": "a", "arguments": "{}"}}),
            json!({"index": 0, "id": "q", "function": {"name": "b", "arguments": "{}"}}),
        ]);
        assert_eq!(got, [call("p", "a", "{}"), call("q", "a", "{}"), call("c00030003", "b", "{}")]);
    }

    #[test]
    fn interleaved_pieces_go_where_their_index_says() {
        let got = calls(&[
            json!({"index": 0, "id": "p", "function": {"name": "a", "arguments": "{\"k\""}}),
            json!({"index": 1, "id": "q", "function": {"name": "b", "arguments": "{"}}),
            json!({"index": 0, "function": {"name": "a", "arguments": ":1}"}}),
            json!({"index": 1, "function": {"arguments": "}"}}),
        ]);
        assert_eq!(got, [call("p", "a", r#"{"k":1}"#), call("q", "b", "{}")]);
    }

    #[test]
    fn a_name_in_pieces_is_one_name() {
        let got = calls(&[
            json!({"index": 0, "id": "p", "function": {"name": "read_"}}),
            json!({"index": 0, "function": {"name": "file", "arguments": "{}"}}),
        ]);
        assert_eq!(got, [call("p", "read_file", "{}")]);
    }

    #[test]
    fn a_model_that_thinks_silently_may_be_silent_again() {
        let (mut assembly, mut reader) = (Assembly::default(), Dialect::Responses.reader());
        let thought = json!({"type": "reasoning", "id": "rs_1"});
        let mut quiet_after = |event: Value| {
            assert!(assembly.push(reader.chunk(&event)).is_some());
            (assembly.started(), assembly.thinks_quietly())
        };
        let text = json!({"type": "response.output_text.delta", "delta": "a"});
        assert_eq!(quiet_after(text), (true, false));
        let added = json!({"type": "response.output_item.added", "item": thought});
        assert_eq!(quiet_after(added), (true, true));
        let done = json!({"type": "response.output_item.done", "item": thought});
        assert_eq!(quiet_after(done), (true, false));
    }

    #[test]
    fn a_role_alone_does_not_start_a_reply_and_running_totals_are_not_summed() {
        let mut assembly = Assembly::default();
        assembly.push(
            Dialect::Chat
                .reader()
                .chunk(&json!({"choices": [{"delta": {"role": "assistant", "content": null}}]})),
        );
        assert!(!assembly.started());
        for n in [1, 2] {
            let usage = json!({"prompt_tokens": 7, "completion_tokens": n});
            assembly.push(
                Dialect::Chat
                    .reader()
                    .chunk(&json!({"choices": [{"delta": {"content": "x"}}], "usage": usage})),
            );
        }
        assert!(assembly.started());
        assert_eq!(assembly.usage, Some(Usage { input: 7, output: 2, cached: 0 }));
    }
}
