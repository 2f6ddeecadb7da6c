//! The Messages API of Anthropic, and of servers that offer it too.
//!
//! The model's output is stored block by block and sent back unchanged, including its signed
//! thoughts: <https://platform.claude.com/docs/en/build-with-claude/extended-thinking>.

mod reader;
mod request;

use serde_json::Value;

use super::{kind, word};

pub use reader::{MessagesReader, is_answer};
pub use request::{body, configure};

/// Types of blocks in an answer.
const BLOCKS: [&str; 4] = ["text", "tool_use", "thinking", "redacted_thinking"];

/// True if an item of an answer is a block of this API.
pub fn is_block(item: &Value) -> bool {
    BLOCKS.contains(&kind(item))
}

fn is_thought(block: &Value) -> bool {
    matches!(kind(block), "thinking" | "redacted_thinking")
}

fn is_blank(block: &Value) -> bool {
    kind(block) == "text" && word(block, "text").trim().is_empty()
}

/// The arguments of a call as the object that this API requires.
fn input(arguments: &str) -> Value {
    serde_json::from_str(&super::sendable(arguments)).unwrap_or_default()
}
