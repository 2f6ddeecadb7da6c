//! What people say to a run beside its gate's own dialogue: notes that a person types for the actor,
//! and the answers that other terminals give to gates (`git cowork watch`).

use std::sync::Arc;

use crate::choice::Chosen;
use crate::clean::one_line;
use crate::cli::context::Context;
use crate::gate::{Decision, Elsewhere, Untold};
use crate::session::{GateAnswer, RunGates, Said, TypedNotes};

/// Provider of recorded responses, which cannot react to typed notes.
const REPLAY: &str = "replay";
/// Maximum width of a note in a message, in columns.
const TOLD: usize = 200;

/// Reads typed notes until it is dropped.
pub(crate) struct Listening<'a> {
    context: &'a Context,
    notes: Arc<TypedNotes>,
}

/// Reads notes typed at this terminal, if a person is there and an actor can answer.
pub(crate) fn listen(context: &Context, notes: Arc<TypedNotes>) -> anyhow::Result<Listening<'_>> {
    let plays = context.embedded.is_some()
        || context.global.replay.is_some()
        || context.config()?.llm.provider == REPLAY;
    if context.attended() && !plays {
        context.ui.listen(Some(Arc::clone(&notes)));
    }
    Ok(Listening { context, notes })
}

impl Listening<'_> {
    /// Reports notes that did not reach the actor. They are saved for the next run, if there is
    /// one.
    pub(crate) fn ends(&self, is_completed: bool) {
        self.context.ui.clear();
        let text = one_line(&self.notes.untold(), TOLD);
        if text.is_empty() {
            return;
        }
        let then = match is_completed {
            true => "the session is delivered; to change it: git cowork modify",
            false => "it is kept for the next run",
        };
        self.context.note(format!("the actor has not seen \"{text}\": {then}"));
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.context.ui.clear();
        self.context.ui.listen(None);
        self.notes.keep();
    }
}

/// The undelivered notes, with which the feedback at a gate begins.
pub(crate) struct BeforeGate<'a>(pub &'a TypedNotes);

impl Untold for BeforeGate<'_> {
    fn text(&self) -> String {
        self.0.all_untold()
    }

    fn keep(&self, words: &str) {
        self.0.keep_at_gate(words);
    }
}

/// Reads answers from other terminals.
pub(crate) struct FromElsewhere<'a>(pub &'a RunGates);

impl Elsewhere for FromElsewhere<'_> {
    fn has_answered(&self) -> bool {
        self.0.answer().is_some()
    }

    fn decide(&self) -> Option<Decision> {
        let GateAnswer { said, .. } = self.0.decide()?;
        match said {
            Said::Pass => Some(Decision::PassedElsewhere),
            Said::Feedback(text) => Some(Decision::Feedback(text)),
            Said::There | Said::Chose(_) => None,
        }
    }

    fn choose(&self) -> Option<Chosen> {
        match self.0.decide()?.said {
            Said::Chose(chosen) => Some(chosen),
            Said::Pass | Said::Feedback(_) | Said::There => None,
        }
    }
}
