//! Reads what an agent program prints on its standard output: JSON lines, parsed leniently, because
//! the event types change with every version; for a user's own command also plain text.

use serde_json::Value;

use super::events;
use super::presets::Preset;
use crate::event::Usage;

/// Maximum bytes of plain text that are kept.
const PLAIN: usize = 1024 * 1024;

/// The output of one run.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// The last text that the program printed.
    pub text: String,
    /// The error that the program reported.
    pub error: Option<String>,
    /// The program's id for the conversation.
    pub session: Option<String>,
    /// The token usage that the program reported.
    pub usage: Option<Usage>,
    /// The cost that the program reported, in dollars.
    pub usd: Option<f64>,
    /// The model that the program reported.
    pub model: Option<String>,
    /// True if the final event has arrived.
    pub is_whole: bool,
    /// The last line that was not an event.
    pub last_line: String,
    plain: String,
}

impl Heard {
    /// Reads one line, without its line end.
    pub(super) fn line(&mut self, line: &[u8], row: &Preset) {
        let line = String::from_utf8_lossy(line);
        // An answer may be JSON as well, on one line: the name and title of a session, for example.
        let is_event = |event: &Value| !row.speaks_plainly || events::is_own(event);
        match serde_json::from_str::<Value>(&line) {
            Ok(event @ Value::Object(_)) if is_event(&event) => (row.read)(self, &event),
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

    /// Ends the run; `well` is true if the program succeeded.
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

/// A number in an event; 0 if missing.
pub(super) fn count(event: &Value, place: &str) -> u64 {
    event.pointer(place).and_then(Value::as_u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::presets::named;
    use super::*;

    #[test]
    fn an_answer_of_ones_own_command_may_be_json_on_one_line() {
        let answer = |lines: &[&str], program: &str| {
            let mut heard = Heard::default();
            lines.iter().for_each(|line| heard.line(line.as_bytes(), named(program)));
            heard.end(true);
            heard.text
        };
        let name = r#"{"name": "todo", "title": "A todo list"}"#;
        assert_eq!(answer(&[name], ""), name);
        assert_eq!(answer(&[r#"{"type": "result", "text": "done"}"#], ""), "done");
        assert_eq!(answer(&[name], "claude"), "");
    }
}
