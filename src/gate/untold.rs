//! What a person typed for the actor before a gate opened, and the actor was not told.

use anyhow::Result;

use crate::gate::terminal::{self, Terminal, Text};

/// What the gate asks about it.
pub trait Untold {
    /// The text; possibly empty.
    fn text(&self) -> String;

    /// It was said at the gate, as it is or otherwise.
    fn said(&self);
}

/// Asks for text that begins with it.
pub(super) fn text_after(
    terminal: &dyn Terminal,
    prompt: &str,
    untold: &dyn Untold,
) -> Result<Text> {
    let before = untold.text();
    let first: Vec<&str> = before.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let first = first.join(" ");
    Ok(match terminal::text_from(terminal, prompt, &first)? {
        Text::Given(text) => {
            untold.said();
            // Its lines are shown as one, and told as they were.
            Text::Given(if text == first { before.trim().to_owned() } else { text })
        }
        other => other,
    })
}

/// Nobody has typed anything.
#[derive(Clone, Copy, Debug)]
pub struct NothingTyped;

impl Untold for NothingTyped {
    fn text(&self) -> String {
        String::new()
    }

    fn said(&self) {}
}
