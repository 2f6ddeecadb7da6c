//! The conversation of an agent program. Its id is stored with each answer, so that a later run,
//! also in another process, can resume the same conversation.

use serde_json::{Map, Value, json};

use super::presets::Preset;
use super::usage;
use crate::event::Usage;
use crate::headings;
use crate::model::{Message, ModelOrigin, Opaque};

/// A conversation with a program.
#[derive(Debug)]
pub(super) struct ResumableConversation {
    /// The program's id for it.
    pub id: String,
    /// The usage it has counted so far.
    pub usage: Usage,
}

/// The data to store with an answer.
pub(super) fn to_store(
    row: &Preset,
    name: &str,
    id: Option<&str>,
    all: Usage,
) -> Option<Box<Opaque>> {
    let fields =
        json!({"conversation": id?, "in": all.input, "out": all.output, "cached": all.cached});
    let message: Map<String, Value> = fields.as_object().cloned()?;
    Some(Box::new(Opaque { origin: origin(row, name), message, ..Opaque::default() }))
}

/// The conversation of the newest answer, if this program gave that answer.
pub(super) fn resumable(
    row: &Preset,
    name: &str,
    messages: &[Message],
) -> Option<ResumableConversation> {
    let newest = messages.iter().rev().find_map(|message| match message {
        Message::Assistant { opaque, .. } => Some(opaque.as_deref()),
        _ => None,
    });
    let data = newest?.filter(|data| data.origin == origin(row, name))?;
    let count = |key: &str| data.message.get(key).and_then(Value::as_u64).unwrap_or(0);
    let id = data.message.get("conversation")?.as_str()?.to_owned();
    Some(ResumableConversation { id, usage: usage(count("in"), count("out"), count("cached")) })
}

fn origin(row: &Preset, name: &str) -> ModelOrigin {
    ModelOrigin { base_url: format!("agent:{}", row.name), model: name.to_owned() }
}

/// The input for the program: only the messages since the last answer if the conversation
/// continues, else all.
pub(super) fn input_text(messages: &[Message], goes_on: bool) -> String {
    let is_answer = |message: &Message| matches!(message, Message::Assistant { .. });
    match messages.iter().rposition(is_answer).filter(|_| goes_on) {
        Some(last) => whole(&messages[last + 1..]),
        None => whole(messages),
    }
}

/// Messages as one text.
fn whole(messages: &[Message]) -> String {
    let mut out = String::new();
    for message in messages {
        let text = match message {
            Message::System { content }
            | Message::User { content }
            | Message::Tool { content, .. } => content.clone(),
            Message::Assistant { content, .. } => {
                format!("# Your answer was\n\n{}", headings::set_off(content))
            }
        };
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        out.push_str(text.trim_end());
    }
    out.push('\n');
    out
}
