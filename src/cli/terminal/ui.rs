//! Who shows what happens: to people or to programs.

use std::sync::Arc;

use crate::event::{Event, Sink};
use crate::session::{SessionName, TypedNotes};
use crate::spent::Spent;
use crate::ui::{JsonLines, Terminal};

/// The two renderers; one of them listens.
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

    /// Takes in what was typed below a live status line.
    pub(crate) fn keys(&self) {
        if let Self::Terminal(terminal) = self {
            terminal.keys();
        }
    }

    /// Where what is typed below a live status line goes, if anywhere.
    pub(crate) fn listen(&self, notes: Option<Arc<TypedNotes>>) {
        if let Self::Terminal(terminal) = self {
            terminal.listen(notes);
        }
    }

    /// Tells a live status line what the session has used, and what it may.
    pub(crate) fn uses(&self, used: Spent, budget: f64) {
        if let Self::Terminal(terminal) = self {
            terminal.uses(used, budget);
        }
    }

    /// Takes a live status line away before something else is shown.
    pub(crate) fn clear(&self) {
        if let Self::Terminal(terminal) = self {
            terminal.clear();
        }
    }

    /// Whether the end of a run is told at length.
    pub(crate) fn tells_end(&self) -> bool {
        matches!(self, Self::Terminal(terminal) if terminal.tells_end())
    }

    /// Shows a message on the desktop, where the terminal can.
    pub(crate) fn message(&self, text: &str) {
        if let Self::Terminal(terminal) = self {
            terminal.message(text);
        }
    }

    /// Tells the JSON renderer which session it speaks of.
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
