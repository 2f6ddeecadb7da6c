//! When a conversation is over: at its closing act, or at words that need no answer.

use super::brief::Brief;
use super::verdict;
use crate::model::{BoxFuture, Reply};
use crate::stage::Role;
use crate::tool::Outcome;

/// How often a model is told to go on when its answer leads nowhere.
const MAX_NUDGES: u32 = 2;
/// How often a model is told what its draft lacks.
const MAX_TOLD: u32 = 3;

/// Whether a turn with the closing act has brought a conversation to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// There is more to come.
    Open,
    /// It is over.
    Ends,
    /// Something is missing: what the model is told.
    Lacks(String),
}

/// Whoever knows what a conversation has to leave behind.
pub trait Ending {
    /// Asked after a turn of which all calls succeeded and one changed something, once the closing
    /// act was made.
    fn standing<'a>(&'a mut self, outcome: &'a Outcome) -> BoxFuture<'a, anyhow::Result<Standing>>;

    /// Asked of an actor's words without a call, where the closing act was not made. `told` is how often
    /// the program has said something to the model.
    fn after_words(&self, _words: &str, _told: u32) -> anyhow::Result<AfterWords> {
        Ok(AfterWords::Ends)
    }
}

/// What becomes of an answer without calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterWords {
    /// It ends the conversation.
    Ends,
    /// It holds the stage's document.
    Document {
        /// The tool that saves it.
        tool: &'static str,
        /// The document.
        text: String,
    },
    /// Something is missing: what the model is told.
    Lacks(String),
}

/// Of a conversation that ends with words or a verdict alone.
#[derive(Debug)]
pub struct WithWords;

impl Ending for WithWords {
    fn standing<'a>(&'a mut self, _: &'a Outcome) -> BoxFuture<'a, anyhow::Result<Standing>> {
        Box::pin(async { Ok(Standing::Open) })
    }
}

/// Whether a model that answers in words may still be told what to do.
pub(super) const fn may_nudge(nudges: u32) -> bool {
    nudges < MAX_NUDGES
}

/// Whether what is missing may still be told, after so many words from the program.
pub(super) const fn may_tell(nudges: u32) -> bool {
    nudges < MAX_TOLD
}

/// What to say to an answer without tool calls, after so many words from the program; `None` ends
/// the run.
pub(super) fn nudge(brief: &Brief, reply: &Reply, nudges: u32) -> Option<&'static str> {
    if !may_nudge(nudges) {
        return None;
    }
    if reply.is_cut() {
        Some("Your answer was cut because it was too long. Go on from there, in smaller steps.")
    } else if let Some(missing) = verdict::missing(brief, &reply.content) {
        Some(missing)
    } else if reply.content.trim().is_empty() && brief.role == Role::Actor {
        Some("Your answer was empty. Go on with the tools you have.")
    } else {
        None
    }
}
