//! Notes that a person typed for the actor before a gate opened, and that the actor has not
//! received.

use anyhow::Result;

use crate::gate::terminal::{self, Terminal, Text};

/// The notes' source, for the gate.
pub trait Untold {
    /// The notes as text; may be empty.
    fn text(&self) -> String;

    /// Keeps words that were typed at a gate in place of the notes, until they are recorded: the
    /// run may fail before.
    fn keep(&self, words: &str);
}

/// Asks for text that starts with the notes; `before` is the text in front of the prompt.
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
            // The notes are shown on one line; if they are not edited, they keep their line breaks.
            let text = if text == first { typed.trim().to_owned() } else { text };
            untold.keep(&text);
            Text::Given(text)
        }
        other => other,
    })
}

/// No notes were typed.
#[derive(Clone, Copy, Debug)]
pub struct NothingTyped;

impl Untold for NothingTyped {
    fn text(&self) -> String {
        String::new()
    }

    fn keep(&self, _words: &str) {}
}
