//! What an agent program prints on its standard output: its answer, its usage, its error.

use crate::event::Usage;

/// Maximum bytes of plain text that are kept.
const PLAIN: usize = 1024 * 1024;

/// The output of one run.
#[derive(Debug, Default)]
pub(super) struct AgentOutput {
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

impl AgentOutput {
    /// Adds a line that is not an event; `is_answer` is true if it is part of the answer.
    pub(super) fn add_plain(&mut self, line: &str, is_answer: bool) {
        if !line.trim().is_empty() {
            line.trim().clone_into(&mut self.last_line);
        }
        if is_answer && self.plain.len() + line.len() < PLAIN {
            self.plain.push_str(line);
            self.plain.push('\n');
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

#[cfg(test)]
mod tests {
    use super::super::presets::named;
    use super::*;

    #[test]
    fn an_answer_of_ones_own_command_may_be_json_on_one_line() {
        let answer = |lines: &[&str], program: &str| {
            let mut heard = AgentOutput::default();
            lines.iter().for_each(|line| named(program).read_line(&mut heard, line.as_bytes()));
            heard.end(true);
            heard.text
        };
        let name = r#"{"name": "todo", "title": "A todo list"}"#;
        assert_eq!(answer(&[name], ""), name);
        assert_eq!(answer(&[r#"{"type": "result", "text": "done"}"#], ""), "done");
        assert_eq!(answer(&[name], "claude"), "");
    }
}
