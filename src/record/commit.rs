//! One commit on the session's branch: the checks before it and after it.

use std::collections::BTreeSet;
use std::fmt;

use super::hook_additions::Before;
use super::leaks::{self, Leak};
use super::{Recorder, commit_location, hook_additions};
use crate::config::project_tools;
use crate::error::Error;
use crate::git::{self, CommitOptions, CommitOutcome, Oid};
use crate::interrupt;
use crate::session::{Message, with_edited};

/// The result of an attempt to commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The commit exists.
    Done(Oid),
    /// The commit was refused; the reason is feedback for the actor.
    Refused(Refused),
}

/// The reason why a commit was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A hook of the repository refused.
    Hook {
        /// Hook name.
        hook: String,
        /// The hook's output.
        output: String,
    },
    /// It would contain what must not be committed.
    Leaks(Vec<Leak>),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hook { hook, output } => {
                write!(f, "the repository's {hook} hook refused the commit:\n{}", output.trim())
            }
            Self::Leaks(leaks) => {
                f.write_str("the commit was refused because this must not be recorded:")?;
                leaks.iter().try_for_each(|leak| write!(f, "\n{leak}"))
            }
        }
    }
}

/// A subject template that conventional commits accept.
pub(super) const CONVENTIONAL: &str = "chore({stage}): {summary_lower}";

/// How often the changes of a hook that refuses are committed before its refusal counts.
const MOST_CHANGES: u32 = 3;

/// Commits these paths with this message on the tip of the session's branch.
pub(super) fn commit(
    recorder: &Recorder<'_>,
    tip: &Oid,
    paths: &[String],
    message: &Message,
) -> anyhow::Result<Recorded> {
    recorder.expect_tip(tip)?;
    let leaks = leaks::find_in(recorder, tip, paths)?;
    if !leaks.is_empty() {
        return Ok(Recorded::Refused(Refused::Leaks(leaks)));
    }
    let mut message = recorder.without_secrets(message);
    let held = |path: &String| paths.contains(path);
    let edited = recorder.edited.iter().filter(|path| held(path));
    let edited: Vec<&str> = edited.filter_map(|path| path.rsplit('/').next()).collect();
    message.body = with_edited(&message.body, &edited);
    hook_additions::tell(recorder, &mut message.trailers)?;
    let message = &message;
    let text = message.render();
    let (outcome, before) = match with_hooks(recorder, tip, paths, &text) {
        Ok(done) => done,
        Err(error) => {
            if let Some(commit) = commit_location::made_before_it_failed(recorder, tip, message)? {
                // Git may have failed to update the index: the user's next commit would then revert
                // this one.
                git::commit::index_as_committed(recorder.git, paths)?;
                hook_additions::told(recorder)?;
                return Ok(Recorded::Done(commit));
            }
            // If something has changed since the last check, that explains git's failure best.
            recorder.expect_tip(tip)?;
            return Err(error);
        }
    };
    match outcome {
        CommitOutcome::Committed(oid) => {
            commit_location::expect_on_tip(recorder, tip, &oid, paths)?;
            commit_location::expect_readable(recorder, tip, &oid, paths, message)?;
            hook_additions::told(recorder)?;
            if let Some(before) = &before {
                hook_additions::compare(recorder, tip, &oid, paths, before)?;
            }
            Ok(Recorded::Done(oid))
        }
        CommitOutcome::HookRefused { hook, output } if is_message_hook(&hook) => {
            let subject = text.lines().next().unwrap_or_default();
            let mut error = Error::repository(format!(
                "the {hook} hook refused the message '{subject}':\n{}",
                output.trim()
            ));
            error = error
                .hint(format!("to give subjects the form it expects: git config cowork.project.subject '{CONVENTIONAL}'"))
                .hint("if it expects a sign-off: git config cowork.project.signoff true")
                .hint("nothing was lost; afterwards run the command again");
            Err(error.into())
        }
        CommitOutcome::HookRefused { hook, output } => {
            // A hook may print its whole environment.
            let output = recorder.workspace.secrets().withheld(&output).into_owned();
            if is_about_generated(&output, paths) {
                let what = format!("the {hook} hook refused files that only git-cowork writes");
                return Err(Error::repository(format!("{what}:\n{}", output.trim()))
                    .hint(project_tools::exclusion(recorder.git.top()))
                    .hint("nothing was lost; afterwards run the command again")
                    .into());
            }
            Ok(Recorded::Refused(Refused::Hook { hook, output }))
        }
    }
}

/// Commits these paths. A hook that changes some of them and refuses (a formatter of pre-commit) gets
/// its changes committed: no model has to be asked for what is there already.
pub(super) fn with_hooks(
    recorder: &Recorder<'_>,
    tip: &Oid,
    paths: &[String],
    message: &str,
) -> anyhow::Result<(CommitOutcome, Option<Before>)> {
    let options = CommitOptions { signoff: recorder.signs_off()?, ..CommitOptions::default() };
    let mut taken = BTreeSet::new();
    let mut rounds = 0;
    loop {
        let before = hook_additions::look(recorder, tip, paths)?;
        let outcome = git::commit::only(recorder.git, paths, message, options)?;
        let CommitOutcome::HookRefused { hook, .. } = &outcome else {
            hook_additions::note_taken(recorder, &taken)?;
            return Ok((outcome, before));
        };
        let changed = match &before {
            Some(before) => hook_additions::changed_by(recorder, tip, paths, before)?,
            None => Vec::new(),
        };
        // Ctrl-C ends a hook as well: that is not a refusal.
        interrupt::check()?;
        let is_final = changed.is_empty() || rounds == MOST_CHANGES || is_message_hook(hook);
        // A hook may write a key, or copy a file: the refusal stands then.
        if is_final || !leaks::find_in(recorder, tip, paths)?.is_empty() {
            return Ok((outcome, None));
        }
        taken.extend(changed.into_iter().map(|path| format!("{path} ({hook})")));
        rounds += 1;
    }
}

/// True if a hook's output names files of the commit, but only such as git-cowork alone writes.
fn is_about_generated(output: &str, paths: &[String]) -> bool {
    let is_generated = |path: &String| path.starts_with(".cowork/") && !path.ends_with(".md");
    let mut named = paths.iter().filter(|path| output.contains(path.as_str())).peekable();
    named.peek().is_some() && named.all(is_generated)
}

/// True if a hook refuses messages, not content.
pub(super) fn is_message_hook(hook: &str) -> bool {
    matches!(hook, "commit-msg" | "prepare-commit-msg")
}
