//! Colours of a gate, or their absence.

use crate::gate::terminal::Terminal;

/// Colours, or their absence.
#[derive(Clone, Copy)]
pub(super) struct Paint(pub(super) bool);

impl Paint {
    pub(super) fn of(terminal: &dyn Terminal) -> Self {
        Self(terminal.colors())
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    pub(super) fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub(super) fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }

    /// A line of a diff, by its sign.
    pub(super) fn signed(self, sign: char, line: &str) -> String {
        match sign {
            '+' => self.good(line),
            '-' => self.bad(line),
            '@' => self.dim(line),
            _ => line.to_owned(),
        }
    }
}
