//! The prompt after an edit that broke a record or fails the checks: like `visudo`, it shows where
//! and why, and asks what to do.

use anyhow::Result;

use crate::gate::Gate;
use crate::gate::clean::clean_line;
use crate::gate::menu::say;
use crate::gate::menu_lines::PROMPT;
use crate::gate::paint::Paint;
use crate::gate::terminal::{self, Key};

/// Problems in documents that a person edited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Broken {
    /// The problems, a line each: `prd.md:12: …`.
    pub lines: Vec<String>,
    /// True if the documents can be read, but fail the checks.
    pub is_readable: bool,
}

/// What the person chose to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterEdit {
    /// The editor opens again.
    EditAgain,
    /// The edit is saved as an attempt, and then undone.
    TakeBack,
    /// The actor gets the edited draft as it is.
    HandOver,
    /// The edit remains, and the draft waits; also if the terminal was closed.
    Leave,
}

/// Shows the problems and asks until there is an answer.
pub(super) fn ask(gate: &Gate<'_>, broken: &Broken, to_actor: bool) -> Result<AfterEdit> {
    let terminal = gate.terminal;
    let mark = Paint::of(terminal).bad("✗");
    for line in &broken.lines {
        say(terminal, &format!("{mark} {}", clean_line(line)))?;
    }
    let hands_over = to_actor && broken.is_readable;
    let mut keys = vec![vec![('e', "edit again".to_owned())]];
    keys.push(vec![('x', "take my edit back (it is saved as an attempt first)".to_owned())]);
    if hands_over {
        keys.push(vec![('p', "hand it to the actor as it is, to fix these problems".to_owned())]);
    }
    keys.push(vec![('q', "leave it as it is and stop".to_owned())]);
    terminal.discard_typed();
    let what = if broken.is_readable { "does not pass the checks" } else { "cannot be read" };
    say(terminal, &format!("Your edit {what}. What now?"))?;
    terminal.write(&super::screen::keys(terminal, &keys))?;
    terminal.write(PROMPT)?;
    loop {
        let (key, answer) = match terminal::menu_key(terminal, &[])? {
            Key::Char('e') => ('e', AfterEdit::EditAgain),
            Key::Char('x') => ('x', AfterEdit::TakeBack),
            Key::Char('p') if hands_over => ('p', AfterEdit::HandOver),
            Key::Char('q') | Key::End => ('q', AfterEdit::Leave),
            Key::Char(_) | Key::Other => {
                terminal.write("\x07")?;
                continue;
            }
            Key::Enter | Key::Escape | Key::Interrupt => continue,
        };
        terminal.write(&format!("{key}\n"))?;
        return Ok(answer);
    }
}
