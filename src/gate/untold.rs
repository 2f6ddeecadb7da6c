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

/// Asks for text that begins with it, with a prompt behind what stands on the line `before` it.
pub(super) fn text_after(
    terminal: &dyn Terminal,
    (before, prompt): (&str, &str),
    untold: &dyn Untold,
) -> Result<Text> {
    let typed = untold.text();
    let first: Vec<&str> = typed.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let first = first.join(" ");
    Ok(match terminal::text_from(terminal, before, prompt, &first)? {
        Text::Given(text) => {
            untold.said();
            // Its lines are shown as one, and told as they were.
            Text::Given(if text == first { typed.trim().to_owned() } else { text })
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
