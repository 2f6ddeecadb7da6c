//! Records in the state directory what git is about to do to a working tree, until it is done:
//! after a crash, the next run finishes or undoes it. A path whose content is neither the old one,
//! nor what git writes, nor the beginning of that, was changed by a person and is left alone.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::take_back::{Move, Restore};
use super::worktree::{Added, Removed};
use super::{Git, Oid};
use crate::error::Error;
use crate::git::{commit, take_back, worktree};
use crate::replace_file::replace_file;
use crate::shell_quote::quoted;

/// Name of the record, beside the file that [`Git::with_children_in`] is given.
pub const UNFINISHED: &str = "unfinished.json";

/// An operation of several steps.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Step {
    /// Index and working tree change from one tree to another, then HEAD follows.
    Move(Move),
    /// Single paths are restored from a commit.
    Restore(Restore),
    /// A commit on `tip`, after which these paths in the index are set to their content in the
    /// commit.
    Commit { tip: Option<Oid>, paths: Vec<String> },
    /// A linked working tree is created.
    Add(Added),
    /// A linked working tree is removed.
    Remove(Removed),
}

#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// The working tree, as text.
    top: String,
    step: Step,
}

/// Calls `run` while a record of the operation exists, which is removed if `run` succeeds. If `run`
/// fails, the next run of git-cowork cleans up.
pub(super) fn noting<T>(
    git: &Git,
    step: impl FnOnce() -> Result<Step>,
    run: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let Some(path) = note_path(git) else { return run() };
    let note = Note { top: top_text(git), step: step()? };
    // A path that is not UTF-8 cannot be recorded.
    let Ok(bytes) = serde_json::to_vec(&note) else { return run() };
    replace_file(&path, &bytes).with_context(|| format!("writing {}", path.display()))?;
    let done = run()?;
    remove(&path)?;
    Ok(done)
}

/// Finishes or undoes what a killed run was about to do.
pub(super) fn end_all(git: &Git, say: &dyn Fn(&str)) -> Result<()> {
    let Some(path) = note_path(git) else { return Ok(()) };
    let Ok(bytes) = std::fs::read(&path) else { return Ok(()) };
    let note: Note = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    let here = note.top == top_text(git);
    let git = if here { Some(git.clone()) } else { git.at(Path::new(&note.top)).ok() };
    // The working tree may be gone, with everything unfinished in it.
    if let Some(git) = git {
        let ended = end_one(&git, &note.step).map_err(|error| {
            Error::repository(format!("cannot clean up after a killed run: {error:#}"))
                .hint("git status shows what it left; when you have cleaned it up:")
                .hint(format!("rm {}", quoted(&path.display().to_string())))
        })?;
        if let Some(what) = ended {
            say(&format!("{what} that a killed run left unfinished"));
        }
    }
    remove(&path)
}

/// Ends one operation; returns what was done, or `None` if there is nothing to report.
fn end_one(git: &Git, step: &Step) -> Result<Option<&'static str>> {
    let (done, what) = match step {
        Step::Move(step) => (take_back::undo(git, step)?, "undid a checkout"),
        Step::Restore(step) => {
            (take_back::finish_restore(git, step)?, "finished a restore of files")
        }
        Step::Commit { tip, paths } => {
            if tip.is_some() && git.resolve("HEAD^1")? == *tip {
                commit::index_as_committed(git, paths)?;
            }
            (false, "")
        }
        Step::Add(step) => {
            worktree::end_adding(git, step)?;
            (true, "cleaned up a new linked worktree")
        }
        Step::Remove(step) => (worktree::end_removing(git, step)?, "finished a worktree removal"),
    };
    Ok(done.then_some(what))
}

fn top_text(git: &Git) -> String {
    git.top.to_string_lossy().into_owned()
}

fn note_path(git: &Git) -> Option<PathBuf> {
    Some(git.children.as_ref()?.beside(UNFINISHED))
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", path.display()))
        }
        _ => Ok(()),
    }
}
