//! Explains a gate to a new user (`git cowork demo --ask`): what it shows, what its keys do, what
//! is recorded. The text is shown before the gate.

use std::cell::RefCell;
use std::collections::BTreeSet;

use anyhow::Result;

use crate::gate::paint::Paint;
use crate::gate::screen::{self, header, labelled};
use crate::gate::terminal::{self, Key};
use crate::gate::{Draft, Gate, menu_lines};
use crate::stages::{Approves, row};

/// Explains each gate; each key only once.
#[derive(Debug, Default)]
pub struct Guide {
    told: RefCell<BTreeSet<String>>,
}

/// The prompt after the explanation.
const READ: &str = "Enter shows the gate ▸ ";

impl Guide {
    /// Explains a draft's gate and waits for Enter. Returns false if the terminal was closed.
    ///
    /// # Errors
    /// Interrupted by Ctrl-C, or the terminal cannot be written.
    pub(super) fn explain(&self, gate: &Gate<'_>, draft: &Draft<'_>) -> Result<bool> {
        let terminal = gate.terminal;
        terminal.write(&self.text(gate, draft))?;
        terminal.discard_typed();
        loop {
            terminal.write(READ)?;
            let key = terminal::menu_key(terminal, &[])?;
            terminal.write("\n")?;
            match key {
                Key::Enter => return Ok(true),
                Key::End => return Ok(false),
                _ => {}
            }
        }
    }

    fn text(&self, gate: &Gate<'_>, draft: &Draft<'_>) -> String {
        let paint = Paint::of(gate.terminal);
        let width = gate.terminal.width().max(20);
        let title = format!("the gate of {}, explained", draft.stage);
        let mut out = header(paint, width, &title, &[]);
        labelled(&mut out, width, "Now", &now(draft));
        labelled(&mut out, width, "Shown", &shown(draft));
        labelled(&mut out, width, "Then", &then(draft));
        let first = self.told.borrow().is_empty();
        let keys = self.new_keys(gate, draft);
        if !keys.is_empty() {
            let text = match first {
                true => "each key acts at once, without Enter:",
                false => "new at this gate:",
            };
            labelled(&mut out, width, "Keys", text);
            out.push_str(&screen::keys(gate.terminal, &keys));
        }
        labelled(&mut out, width, "Recorded", &recorded(draft, first));
        out
    }

    /// The keys of this gate that no earlier gate had.
    fn new_keys(&self, gate: &Gate<'_>, draft: &Draft<'_>) -> Vec<Vec<(char, String)>> {
        let mut told = self.told.borrow_mut();
        let mut keys = menu_lines::rows(gate, draft);
        keys.retain(|row| row.iter().any(|(key, text)| told.insert(format!("{key} {text}"))));
        keys
    }
}

/// The state of the stage.
fn now(draft: &Draft<'_>) -> String {
    let Draft { stage, iteration, place: (number, of), .. } = draft;
    let draft = match (iteration, row(*stage).approves) {
        (1, Approves::Artifacts) => "The actor has written a draft and git-cowork has checked it.",
        (1, Approves::Tree) => {
            "The actor has worked on the tasks: each one is a commit already, made when its checks were done."
        }
        _ => "The previous draft was rejected, and the actor has written another one.",
    };
    format!("Stage {number} of {of}. {draft} The stage is complete when you pass the draft.")
}

/// The parts of the screen, from top to bottom.
fn shown(draft: &Draft<'_>) -> String {
    let mut parts = Vec::new();
    if draft.since.as_ref().is_some_and(|since| !since.diff.trim().is_empty()) {
        parts.push("what changed since you last looked");
    }
    if draft.diffstat.is_some() {
        parts.push("the files that changed (d shows the difference)");
    }
    if draft.records.as_ref().is_some_and(|records| !records.rows.is_empty()) {
        parts.push("the records as a table: each is a section of the document, with its id");
    }
    if draft.main().is_some() {
        parts.push("the beginning of the document, as far as there is room (v reads all of it)");
    }
    parts.push("the checks that git-cowork ran (✓ or ✗)");
    if draft.actor_said.is_some() {
        parts.push("the actor's closing message");
    }
    if !draft.said.is_empty() {
        parts.push("your feedback, and how it was addressed");
    }
    parts.push("the menu");
    format!("From top to bottom: {}.", parts.join("; "))
}

/// What happens after approval and after feedback.
fn then(draft: &Draft<'_>) -> String {
    let passed = match draft.critic_next {
        true => {
            "After p a second model, the critic, reads the draft. It may reject the draft you passed: \
             then there is another draft, and the gate opens again."
        }
        false => "After p the next stage begins.",
    };
    format!(
        "{passed} Feedback leads to another draft. Your own edits count as you saved them, and a \
         later draft that changes them is flagged."
    )
}

/// What is recorded in history.
fn recorded(draft: &Draft<'_>, first: bool) -> String {
    let stage = draft.stage;
    let bytes = match row(stage).approves {
        Approves::Artifacts => "the documents",
        Approves::Tree => "the code",
    };
    let mut text = format!(
        "p, and e without comments: one commit, \"{stage}: …\", with a tag. Its trailers contain your name \
         (Reviewed-by) and the ids of {bytes} you saw (Cowork-Approved)."
    );
    if first {
        text.push_str(
            "\nf, and comments: an entry in feedback_history.json, committed with the stage.\
             \ng, a: the abandoned work becomes a ref, refs/cowork/attempts/…; `git cowork undo` restores it.\
             \nq: the draft becomes a commit (Cowork-Event: draft), and the command to continue is shown.",
        );
    }
    text
}
