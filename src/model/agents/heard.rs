//! What an agent program says on its standard output: JSON lines, read leniently, for their kinds change
//! with every version; of a command of the user's own also plain text.

use serde_json::Value;

use super::presets::Preset;
use crate::event::Usage;

/// Bytes of plain text that are kept.
const PLAIN: usize = 1024 * 1024;

/// What was heard of one run.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// The last text it said.
    pub text: String,
    /// What it says went wrong.
    pub error: Option<String>,
    /// The id it has for the conversation.
    pub session: Option<String>,
    /// The tokens it says it used.
    pub usage: Option<Usage>,
    /// What it says that cost, in dollars.
    pub usd: Option<f64>,
    /// The model it says it used.
    pub model: Option<String>,
    /// Its last event came.
    pub is_whole: bool,
    /// The last line that was no event.
    pub last_line: String,
    plain: String,
}

impl Heard {
    /// One line, without its end.
    pub(super) fn line(&mut self, line: &[u8], row: &Preset) {
        let line = String::from_utf8_lossy(line);
        match serde_json::from_str::<Value>(&line) {
            Ok(event @ Value::Object(_)) => (row.read)(self, &event),
            _ => {
                if !line.trim().is_empty() {
                    line.trim().clone_into(&mut self.last_line);
                }
                if row.speaks_plainly && self.plain.len() + line.len() < PLAIN {
                    self.plain.push_str(&line);
                    self.plain.push('\n');
                }
            }
        }
    }

    /// Nothing more comes; it ended well or not.
    pub(super) fn end(&mut self, well: bool) {
        if well && self.text.is_empty() && !self.plain.trim().is_empty() {
            self.plain.trim().clone_into(&mut self.text);
            self.is_whole = true;
        }
    }
}

/// A text in an event: `text(event, "/part/text")`.
pub(super) fn text(event: &Value, place: &str) -> Option<String> {
    event.pointer(place).and_then(Value::as_str).map(str::to_owned)
}

/// A number in an event; none is nought.
pub(super) fn count(event: &Value, place: &str) -> u64 {
    event.pointer(place).and_then(Value::as_u64).unwrap_or(0)
}
