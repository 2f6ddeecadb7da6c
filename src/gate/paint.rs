//! Colours of a gate, or their absence.

use crate::gate::terminal::Terminal;
use crate::palette::{self, Slot};

/// Paints text, or leaves it as it is if colours are off.
#[derive(Clone, Copy)]
pub(super) struct Paint(pub(super) bool);

impl Paint {
    pub(super) fn of(terminal: &dyn Terminal) -> Self {
        Self(terminal.colors())
    }

    fn with(self, slot: Slot, text: &str) -> String {
        if self.0 { palette::paint(slot, text) } else { text.to_owned() }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.with(Slot::Header, text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.with(Slot::Dim, text)
    }

    pub(super) fn good(self, text: &str) -> String {
        self.with(Slot::Success, text)
    }

    pub(super) fn bad(self, text: &str) -> String {
        self.with(Slot::Error, text)
    }

    pub(super) fn warned(self, text: &str) -> String {
        self.with(Slot::Warning, text)
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
