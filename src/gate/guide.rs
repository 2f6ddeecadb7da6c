//! Explains a gate to a new user (`git cowork demo --ask`): what it shows, what its keys do, what
//! is recorded. The text is shown before the gate.

use std::cell::RefCell;
use std::collections::BTreeSet;

use anyhow::Result;

use crate::gate::paint::Paint;
use crate::gate::screen::{header, labelled};
use crate::gate::terminal::{self, Key};
use crate::gate::{Draft, Gate, Terminal};
use crate::stages::{Approves, row};

/// Explains each gate; each thing only once, so that an explanation has at most 12 lines on a screen
/// of 80 columns.
#[derive(Debug, Default)]
pub struct Guide {
    told: RefCell<BTreeSet<&'static str>>,
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
        terminal.write(&self.text(terminal, draft))?;
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

    fn text(&self, terminal: &dyn Terminal, draft: &Draft<'_>) -> String {
        let paint = Paint::of(terminal);
        let width = terminal.width().max(20);
        let title = format!("the gate of {}, explained", draft.stage);
        let mut out = header(paint, width, &title, &[]);
        labelled(&mut out, width, "Now", &now(draft));
        for (label, sentences) in
            [("Shown", shown(draft)), ("Then", then(draft)), ("Keys", keys(draft))]
        {
            let new: Vec<_> =
                sentences.into_iter().filter(|text| self.told.borrow_mut().insert(text)).collect();
            if !new.is_empty() {
                labelled(&mut out, width, label, &new.join(" "));
            }
        }
        out
    }
}

/// The state of the stage.
fn now(draft: &Draft<'_>) -> String {
    let Draft { stage, iteration, place: (number, of), .. } = draft;
    let draft = match (iteration, row(*stage).approves) {
        (1, Approves::Artifacts) => "the actor's draft, which git-cowork has checked",
        (1, Approves::Tree) => "the actor has done the tasks, each of which is a commit",
        _ => "another draft, after the previous one was rejected",
    };
    format!("Stage {number} of {of}: {draft}.")
}

/// The parts of the screen that need an explanation.
fn shown(draft: &Draft<'_>) -> Vec<&'static str> {
    let mut parts = Vec::new();
    if draft.main().is_some() {
        parts.push("The beginning of the document, the checks (✓ or ✗), the keys.");
    }
    if draft.since.as_ref().is_some_and(|since| !since.diff.trim().is_empty()) {
        parts.push("First, what changed since you last looked.");
    }
    if draft.records.as_ref().is_some_and(|records| !records.rows.is_empty()) {
        parts.push("The table has the records of the document, each with its id.");
    }
    if draft.diffstat.is_some() {
        parts.push("The files that changed; d shows the difference, h goes through it by hunks.");
    }
    if !draft.said.is_empty() {
        parts.push("Your feedback, and how it was addressed.");
    }
    parts
}

/// What happens after approval and after feedback.
fn then(draft: &Draft<'_>) -> Vec<&'static str> {
    let passed = match draft.critic_next {
        true => {
            "After p a second model, the critic, reads the draft; if it rejects it, the gate opens \
             again."
        }
        false => "After p the next stage begins.",
    };
    let recorded = match row(draft.stage).approves {
        Approves::Artifacts => {
            "What you pass is a commit with a tag: its trailers have your name (Reviewed-by) and what \
             you saw (Cowork-Approved)."
        }
        Approves::Tree => "What you pass is the whole tree: no file can change unseen.",
    };
    vec![passed, recorded]
}

/// The keys that a first gate needs.
fn keys(draft: &Draft<'_>) -> Vec<&'static str> {
    let mut keys = vec![
        "p passes the draft, e opens it in your editor, f says what should change (kept in \
         feedback_history.json), q stops for now, ? lists all.",
    ];
    if draft.place.0 > 1 {
        keys.push("g goes back; nothing is lost.");
    }
    keys
}
