//! A draft, or one task of it, made by an agent program instead of a model with git-cowork's tools.
//!
//! The program works in a linked working tree of its own (`worktree`) that contains the draft. Its
//! changes are copied into the session's tree as a tool's writes are (`bring_in`); a document it
//! wrote or a task it finished is reported to the conversation through the calls a model would have
//! made (`worker`). So checks, messages about missing parts, transcripts and limits work as they do
//! for a model.

mod bring_in;
mod way_out;
mod worker;
mod worktree;

pub(crate) use way_out::{own_files, reachable, workplace};
pub(crate) use worktree::{discard, discard_empty};

use std::cell::RefCell;

use crate::agent::{AfterWords, ClosingCheck, Conversation, Ending};
use crate::error::Error;
use crate::model::BoxFuture;
use crate::pipeline::brief::conversation;
use crate::pipeline::brief::part::Part;
use crate::pipeline::run::Run;
use crate::tool::Outcome;
use crate::workspace::{Refusal, RefusalKind};
use worker::Worker;
use worktree::AgentWorktree;

/// Runs a conversation of an actor: with a model, or with an agent program in its own working tree.
pub(crate) async fn converse(
    run: &Run<'_>,
    part: &Part<'_>,
    refusals: u32,
    ending: &mut dyn Ending,
) -> anyhow::Result<Conversation> {
    let player = run.player(part.spec.stage, part.role)?;
    let model = player.model.as_ref();
    let Some(needs) = model.agent() else {
        return conversation::converse(run, part, refusals, ending).await;
    };
    // After a branch switch the files in the working tree are not the draft's.
    run.expect_tip()?;
    let title = needs.title.clone();
    let worktree =
        AgentWorktree::open(run, part, needs).map_err(|error| no_place(&title, &error))?;
    let refused_changes = RefCell::default();
    let worker = Worker::new(model, run, part, &worktree, &refused_changes);
    let mut ending = TellsRefused { inner: ending, refused: &refused_changes };
    let result = conversation::converse_with(run, part, &worker, refusals, &mut ending).await;
    if result.is_err() {
        // The error may be that the changes were not copied after a branch switch: report the
        // switch.
        run.expect_tip()?;
    }
    result
}

/// The error for a program that cannot work here, with a hint.
fn no_place(title: &str, error: &anyhow::Error) -> Error {
    let Some(refusal) = error.downcast_ref::<Refusal>() else {
        return Error::model(format!("cannot create a working tree for {title}: {error:#}"))
            .hint("fix the problem, then: git cowork resume");
    };
    if refusal.kind == RefusalKind::Protected {
        return Error::model(format!("{title} is not run: you did not allow it"))
            .hint("let another model write: git config cowork.roles.actor NAME");
    }
    Error::model(format!(
        "{title} is not run: nothing confines it on this machine, and nobody is there to allow that"
    ))
    .hint("find out what is missing: git cowork doctor")
    .hint("allow it on a terminal: git cowork resume")
}

/// Wraps the end of a program's conversation: each refused change is reported to the program once.
struct TellsRefused<'a> {
    inner: &'a mut dyn Ending,
    refused: &'a RefCell<Vec<String>>,
}

impl TellsRefused<'_> {
    /// The changes refused since the last call, as a list, if there are any.
    fn list(&self) -> Option<String> {
        let changes = std::mem::take(&mut *self.refused.borrow_mut());
        (!changes.is_empty()).then(|| {
            format!(
                "The following changes were not copied:\n\n- {}\n\nWork without them: if \
                 necessary, change something else, or say in a sentence what is missing now.",
                changes.join("\n- ")
            )
        })
    }
}

impl Ending for TellsRefused<'_> {
    fn standing<'a>(
        &'a mut self,
        outcome: &'a Outcome,
    ) -> BoxFuture<'a, anyhow::Result<ClosingCheck>> {
        Box::pin(async move {
            let standing = self.inner.standing(outcome).await?;
            Ok(match (standing, self.list()) {
                (ClosingCheck::Lacks(what), Some(list)) => {
                    ClosingCheck::Lacks(format!("{what}\n\n{list}"))
                }
                (ClosingCheck::Ends, Some(list)) => ClosingCheck::Lacks(list),
                (standing, _) => standing,
            })
        })
    }

    fn after_words(&self, words: &str, told: u32) -> anyhow::Result<AfterWords> {
        Ok(match self.inner.after_words(words, told)? {
            document @ AfterWords::Document { .. } => document,
            AfterWords::Lacks(what) => match self.list() {
                Some(list) => AfterWords::Lacks(format!("{what}\n\n{list}")),
                None => AfterWords::Lacks(what),
            },
            AfterWords::Ends => self.list().map_or(AfterWords::Ends, AfterWords::Lacks),
        })
    }

    fn after_act(&self) -> anyhow::Result<AfterWords> {
        self.inner.after_act()
    }
}
