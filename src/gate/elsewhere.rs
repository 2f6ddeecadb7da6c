//! Another terminal from which an open gate can be answered.

use anyhow::Result;

use crate::choice::Chosen;
use crate::gate::menu::say;
use crate::gate::terminal::Terminal;
use crate::gate::{Decision, Untold};

/// Access to the answers of other terminals.
pub trait Elsewhere {
    /// True if the open gate was answered there.
    fn has_answered(&self) -> bool;

    /// Closes the gate to other terminals. Returns their decision if it came first.
    fn decide(&self) -> Option<Decision>;

    /// Like [`Self::decide`], for a menu: returns the key pressed there.
    fn choose(&self) -> Option<Chosen>;
}

/// No other terminal.
#[derive(Clone, Copy, Debug)]
pub struct NobodyElse;

impl Elsewhere for NobodyElse {
    fn has_answered(&self) -> bool {
        false
    }

    fn decide(&self) -> Option<Decision> {
        None
    }

    fn choose(&self) -> Option<Chosen> {
        None
    }
}

/// Reports the answer of another terminal; `late` if there was also an answer here.
pub(super) fn answered_elsewhere(terminal: &dyn Terminal, what: &str, late: bool) -> Result<()> {
    if !late {
        terminal.write("\n")?;
    }
    let late = if late { "; your answer came later" } else { "" };
    say(terminal, &format!("answered from another terminal: {what}{late}"))
}

/// Keeps the words of an answer that came later among the notes, with which the next feedback
/// begins.
pub(super) fn keep_words(terminal: &dyn Terminal, untold: &dyn Untold, words: &str) -> Result<()> {
    untold.keep(words);
    say(terminal, "what you typed is kept for your next feedback")
}
