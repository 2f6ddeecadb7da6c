//! Shows events to people or to programs.

use std::sync::Arc;

use crate::event::{Event, Sink};
use crate::session::{SessionName, TypedNotes};
use crate::spent::Spent;
use crate::ui::{JsonLines, Terminal};

/// One of the two renderers.
pub(crate) enum Ui {
    /// For people, on stderr.
    Terminal(Box<Terminal>),
    /// For programs, on stdout.
    Json(JsonLines),
}

impl Ui {
    /// Shows an error.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        match self {
            Self::Terminal(terminal) => terminal.error(error),
            Self::Json(json) => json.error(error),
        }
    }

    /// Redraws a live status line.
    pub(crate) fn tick(&self) {
        if let Self::Terminal(terminal) = self {
            terminal.tick();
        }
    }

    /// Reads keys typed below a live status line.
    pub(crate) fn keys(&self) {
        if let Self::Terminal(terminal) = self {
            terminal.keys();
        }
    }

    /// Sets the destination of text typed below a live status line, if any.
    pub(crate) fn listen(&self, notes: Option<Arc<TypedNotes>>) {
        if let Self::Terminal(terminal) = self {
            terminal.listen(notes);
        }
    }

    /// Updates the usage and the budget in a live status line.
    pub(crate) fn uses(&self, used: Spent, budget: f64) {
        if let Self::Terminal(terminal) = self {
            terminal.uses(used, budget);
        }
    }

    /// Erases a live status line before other output.
    pub(crate) fn clear(&self) {
        if let Self::Terminal(terminal) = self {
            terminal.clear();
        }
    }

    /// True if the renderer shows the end of a run in detail.
    pub(crate) fn tells_end(&self) -> bool {
        matches!(self, Self::Terminal(terminal) if terminal.tells_end())
    }

    /// Shows a desktop notification, if the terminal can.
    pub(crate) fn message(&self, text: &str) {
        if let Self::Terminal(terminal) = self {
            terminal.message(text);
        }
    }

    /// Sets the session that JSON events name.
    pub(crate) fn set_session(&self, name: &SessionName) {
        if let Self::Json(json) = self {
            json.set_session(name.as_str());
        }
    }
}

impl Sink for Ui {
    fn emit(&self, event: Event) {
        match self {
            Self::Terminal(terminal) => terminal.emit(event),
            Self::Json(json) => json.emit(event),
        }
    }
}
