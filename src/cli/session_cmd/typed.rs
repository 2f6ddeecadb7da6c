//! What a person types for the actor while a run works: where it is read, and what becomes of it when
//! the run ends.

use std::sync::Arc;

use crate::clean::one_line;
use crate::cli::context::Context;
use crate::event::{Event, Sink as _};
use crate::gate::Untold;
use crate::session::TypedNotes;

/// Provider of recorded answers, which know nothing of what is typed.
const REPLAY: &str = "replay";
/// Columns of a text that is told.
const TOLD: usize = 200;

/// Somebody may type.
pub(crate) struct Listening<'a> {
    context: &'a Context,
    notes: Arc<TypedNotes>,
}

/// Reads what is typed at this terminal, if somebody sits there and an actor can answer.
pub(crate) fn listen(context: &Context, notes: Arc<TypedNotes>) -> anyhow::Result<Listening<'_>> {
    let plays = context.embedded.is_some()
        || context.global.replay.is_some()
        || context.config()?.llm.provider == REPLAY;
    if context.attended && !plays {
        context.ui.listen(Some(Arc::clone(&notes)));
    }
    Ok(Listening { context, notes })
}

impl Listening<'_> {
    /// Says what did not reach the actor. It is kept for the next run, if there is one.
    pub(crate) fn ends(&self, is_completed: bool) {
        self.context.ui.clear();
        let text = one_line(&self.notes.untold(), TOLD);
        if text.is_empty() {
            return;
        }
        let then = match is_completed {
            true => "the session is delivered; git cowork modify changes it",
            false => "it is kept for the next run",
        };
        let text = format!("the actor was not told \"{text}\": {then}");
        self.context.ui.emit(Event::Note { text });
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.context.ui.clear();
        self.context.ui.listen(None);
        self.notes.keep();
    }
}

/// What a gate begins feedback with.
pub(crate) struct BeforeGate<'a>(pub &'a TypedNotes);

impl Untold for BeforeGate<'_> {
    fn text(&self) -> String {
        self.0.all_untold()
    }

    fn said(&self) {
        self.0.clear();
    }
}
