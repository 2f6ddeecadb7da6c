//! Decides when a conversation is over: at its closing act, or at an answer that needs no reply.

use super::brief::Brief;
use super::verdict;
use crate::model::{BoxFuture, Reply};
use crate::stage::Role;
use crate::tool::Outcome;

/// Maximum number of nudges after answers that lead nowhere.
const MAX_NUDGES: u32 = 2;
/// Maximum number of messages about what a draft lacks.
const MAX_TOLD: u32 = 3;

/// Whether a turn with the closing act ends the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClosingCheck {
    /// The conversation continues.
    Open,
    /// The conversation is over.
    Ends,
    /// Something is missing; the text to send to the model.
    Lacks(String),
}

/// Checks what a conversation must produce before it ends.
pub trait Ending {
    /// Called after the closing act, for a turn in which every call succeeded and at least one
    /// changed something.
    fn standing<'a>(
        &'a mut self,
        outcome: &'a Outcome,
    ) -> BoxFuture<'a, anyhow::Result<ClosingCheck>>;

    /// Called for an actor's answer without tool calls, if the closing act was not made. `nudges` is
    /// the number of messages that git-cowork has added.
    fn after_words(&self, _words: &str, _nudges: u32) -> anyhow::Result<AfterWords> {
        Ok(AfterWords::Ends)
    }

    /// Called for an actor's answer without tool calls after the closing act.
    fn after_act(&self) -> anyhow::Result<AfterWords> {
        Ok(AfterWords::Ends)
    }
}

/// The handling of an answer without calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterWords {
    /// The answer ends the conversation.
    Ends,
    /// The answer contains the stage's document.
    Document {
        /// The tool that saves it.
        tool: &'static str,
        /// The document.
        text: String,
    },
    /// Something is missing; the text to send to the model.
    Lacks(String),
}

/// The [`Ending`] of a conversation that ends with words or a verdict alone.
#[derive(Debug)]
pub struct WithWords;

impl Ending for WithWords {
    fn standing<'a>(&'a mut self, _: &'a Outcome) -> BoxFuture<'a, anyhow::Result<ClosingCheck>> {
        Box::pin(async { Ok(ClosingCheck::Open) })
    }
}

/// True if a model that answered in words may be nudged again.
pub(super) const fn may_nudge(nudges: u32) -> bool {
    nudges < MAX_NUDGES
}

/// True if the model may be told again what is missing, after `nudges` messages from git-cowork.
pub(super) const fn may_tell(nudges: u32) -> bool {
    nudges < MAX_TOLD
}

/// Returns the reply to an answer without tool calls, after `nudges` messages from git-cowork;
/// `None` ends the run. `has_reminder` is true if one of them asked for the verdict, which is done once.
pub(super) fn nudge(
    brief: &Brief,
    reply: &Reply,
    nudges: u32,
    has_reminder: bool,
) -> Option<&'static str> {
    if !may_nudge(nudges) {
        return None;
    }
    if reply.is_cut() {
        Some("Your answer was cut because it was too long. Go on from there, in smaller steps.")
    } else if let Some(missing) = verdict::missing(brief, &reply.content) {
        (!has_reminder).then_some(missing)
    } else if reply.content.trim().is_empty() && brief.role == Role::Actor {
        Some("Your answer was empty. Go on with the tools you have.")
    } else {
        None
    }
}
