//! Puts a reply together from chunks, whatever way a server cut them. No I/O here.

use std::collections::HashSet;

use serde_json::Value;

use super::dialect::{CallPiece, Chunk};
use super::{Opaque, Origin, ToolCall, opaque};
use crate::event::Usage;

/// Most bytes of text and arguments one reply may have; what is longer comes from a server
/// that is broken or hostile.
const MAX_REPLY: usize = 16 << 20;

/// A reply in the making.
#[derive(Debug, Default)]
pub struct Assembly {
    /// Text so far.
    pub content: String,
    /// Why the model stopped, once it has.
    pub finish_reason: Option<String>,
    /// What the server counted; the last word counts, as some repeat running totals.
    pub usage: Option<Usage>,
    /// What it cost in dollars, where the server says so.
    pub usd: Option<f64>,
    /// The model's name as the server says it.
    pub model: Option<String>,
    calls: Vec<OpenCall>,
    items: Vec<Value>,
    thought: bool,
    quiet: bool,
    size: usize,
}

#[derive(Debug, Default)]
struct OpenCall {
    index: Option<u64>,
    call: ToolCall,
}

impl Assembly {
    /// Takes in a chunk. False when the reply has grown beyond all bounds.
    pub fn push(&mut self, chunk: Chunk) -> bool {
        self.size += chunk.text.len();
        self.content.push_str(&chunk.text);
        self.thought |= chunk.thinking;
        self.quiet = chunk.quiet.unwrap_or(self.quiet);
        self.size += chunk.items.iter().map(opaque::length).sum::<usize>();
        self.items.extend(chunk.items);
        for piece in chunk.calls {
            self.size += piece.arguments.len() + piece.name.len();
            self.push_call(piece);
        }
        // An empty reason is one server's way to say "not yet".
        self.finish_reason =
            chunk.finish_reason.filter(|r| !r.is_empty()).or(self.finish_reason.take());
        self.usage = chunk.usage.or(self.usage);
        self.usd = chunk.usd.or(self.usd);
        self.model = chunk.model.filter(|name| !name.is_empty()).or(self.model.take());
        self.size <= MAX_REPLY
    }

    /// Whether the model has begun: a role alone is no beginning.
    pub fn started(&self) -> bool {
        self.thought || self.has_answer() || self.finish_reason.is_some()
    }

    /// Whether the model thinks without a word of it: it may be silent as long as at the beginning.
    pub fn thinks_quietly(&self) -> bool {
        self.quiet
    }

    /// What `origin` wants back with this answer. What was cut off is not taken back by anybody.
    pub fn take_opaque(&mut self, origin: Origin) -> Option<Box<Opaque>> {
        let items = std::mem::take(&mut self.items);
        let whole = matches!(self.finish_reason.as_deref(), Some("stop" | "tool_calls"));
        let items = if whole { items } else { Vec::new() };
        let opaque = Opaque { origin, items, ..Opaque::default() };
        (!opaque.is_empty()).then(|| Box::new(opaque))
    }

    /// Whether there is anything to keep.
    pub fn has_answer(&self) -> bool {
        !self.content.is_empty() || !self.calls.is_empty()
    }

    /// Characters generated, for a guess at tokens.
    pub fn chars(&self) -> usize {
        let calls = self.calls.iter().map(|c| c.call.name.len() + c.call.arguments.len());
        self.content.chars().count() + calls.sum::<usize>()
    }

    /// The finished calls, each with an id of its own; `turn` keeps made-up ids apart from those
    /// of other turns.
    pub fn take_calls(&mut self, turn: u32) -> Vec<ToolCall> {
        let mut taken = HashSet::new();
        let calls = std::mem::take(&mut self.calls).into_iter().enumerate();
        calls
            .map(|(n, OpenCall { mut call, .. })| {
                if call.id.is_empty() || taken.contains(&call.id) {
                    call.id = made_up_id(turn, n);
                }
                taken.insert(call.id.clone());
                call
            })
            .collect()
    }

    fn push_call(&mut self, piece: CallPiece) {
        let Some(at) = self.belongs_to(&piece) else {
            let CallPiece { index, id, name, arguments } = piece;
            self.calls.push(OpenCall { index, call: ToolCall { id, name, arguments } });
            return;
        };
        let call = &mut self.calls[at].call;
        if call.id.is_empty() {
            call.id = piece.id;
        }
        // Some servers repeat the name in each piece, a few split it.
        if call.arguments.is_empty() && call.name != piece.name {
            call.name.push_str(&piece.name);
        }
        call.arguments.push_str(&piece.arguments);
    }

    /// The open call a piece continues; none when it opens one.
    fn belongs_to(&self, piece: &CallPiece) -> Option<usize> {
        let same_index = |open: &OpenCall| piece.index.is_none() || open.index == piece.index;
        let at = match piece.index {
            Some(_) => self.calls.iter().rposition(same_index)?,
            None => self.by_id(&piece.id).or_else(|| self.calls.len().checked_sub(1))?,
        };
        let open = &self.calls[at].call;
        // Several servers number every call 0, or not at all: a new id or a name after complete
        // arguments opens another one.
        let other_id = !piece.id.is_empty() && !open.id.is_empty() && piece.id != open.id;
        let named = !piece.name.is_empty();
        let other_name = piece.index.is_none() && piece.name != open.name;
        // Parsing comes last: arguments may be long, and pieces many.
        let complete = || serde_json::from_str::<Value>(&open.arguments).is_ok();
        let opens = named && (other_id || other_name || complete());
        (!opens).then_some(at)
    }

    fn by_id(&self, id: &str) -> Option<usize> {
        self.calls.iter().rposition(|open| !id.is_empty() && open.call.id == id)
    }
}

/// An id for a call that came without one.
pub fn made_up_id(turn: u32, n: usize) -> String {
    format!("call_{turn}_{}", n + 1)
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
            assert!(assembly.push(Dialect::Chat.reader().chunk(&chunk)));
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
    fn calls_without_ids_and_indexes_are_told_apart() {
        let got = calls(&[
            json!({"function": {"name": "a", "arguments": "{\"x\":"}}),
            json!({"function": {"arguments": "1}"}}),
            json!({"function": {"name": "a", "arguments": {"x": 2}}}),
            json!({"function": {"name": "b", "arguments": ""}}),
            json!({"function": {"name": "c"}}),
        ]);
        let want = [
            call("call_3_1", "a", r#"{"x":1}"#),
            call("call_3_2", "a", r#"{"x":2}"#),
            call("call_3_3", "b", ""),
            call("call_3_4", "c", ""),
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
        assert_eq!(got, [call("p", "a", "{}"), call("q", "a", "{}"), call("call_3_3", "b", "{}")]);
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
    fn a_model_that_thinks_without_a_word_may_be_silent_again() {
        let (mut assembly, mut reader) = (Assembly::default(), Dialect::Responses.reader());
        let thought = json!({"type": "reasoning", "id": "rs_1"});
        let mut quiet_after = |event: Value| {
            assert!(assembly.push(reader.chunk(&event)));
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
    fn a_role_is_no_beginning_and_running_totals_are_not_summed() {
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
