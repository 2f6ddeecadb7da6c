//! Messages: Anthropic's own API, and that of servers which offer it.
//!
//! What a model put out is kept block by block and goes back as it came, its signed thoughts
//! included: <https://platform.claude.com/docs/en/build-with-claude/extended-thinking>.

mod reader;
mod request;

use serde_json::Value;

pub use reader::{Reader, is_answer};
pub use request::{body, configure};

/// Kinds of blocks that an answer is made of.
const BLOCKS: [&str; 4] = ["text", "tool_use", "thinking", "redacted_thinking"];

/// Whether an item of an answer is a block of this API.
pub fn is_block(item: &Value) -> bool {
    BLOCKS.contains(&kind(item))
}

fn is_thought(block: &Value) -> bool {
    matches!(kind(block), "thinking" | "redacted_thinking")
}

fn is_blank(block: &Value) -> bool {
    kind(block) == "text" && word(block, "text").trim().is_empty()
}

fn kind(value: &Value) -> &str {
    word(value, "type")
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The arguments of a call as the object that this API wants.
fn input(arguments: &str) -> Value {
    serde_json::from_str(&super::sendable(arguments)).unwrap_or_default()
}
