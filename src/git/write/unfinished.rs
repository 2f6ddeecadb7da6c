//! Records in the state directory what git is about to do to a working tree, until it is done:
//! after a crash, the next run finishes or undoes it ([`crate::git::recover`]). A path whose content is neither the old one,
//! nor what git writes, nor the beginning of that, was changed by a person and is left alone.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::git::{Git, Oid};
use crate::replace_file::replace_file;

/// Name of the record, beside the file that [`Git::with_children_in`] is given.
pub const UNFINISHED: &str = "unfinished.json";

/// An operation of several steps.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Step {
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

/// The goal of a move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Goal {
    /// HEAD goes to this branch.
    Branch(String),
    /// HEAD goes to this branch, which is created.
    NewBranch(String),
    /// HEAD stays on this branch, which moves.
    MovedBranch(String),
    /// HEAD goes to the commit.
    Detached,
    /// HEAD stays where it is.
    Tree,
    /// A merge of this commit is committed.
    Merged(Oid),
    /// A merge is aborted.
    MergeAborted,
}

/// See [`Step::Move`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Move {
    pub(crate) goal: Goal,
    /// Branch and commit of HEAD before the move.
    pub(crate) head: (Option<String>, Option<Oid>),
    /// Commit or tree in the index before the move.
    pub(crate) from: Oid,
    /// Commit or tree in the index after the move.
    pub(crate) to: Oid,
}

/// See [`Step::Restore`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Restore {
    /// Commit of HEAD.
    pub(crate) head: Option<Oid>,
    /// Commit or tree from which the paths are restored.
    pub(crate) source: Oid,
    /// True to restore the index as well.
    pub(crate) staged: bool,
    /// The paths, each with its blob before the restore.
    pub(crate) paths: Vec<(String, Option<Oid>)>,
}

/// A working tree that is about to be created.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Added {
    pub(crate) path: PathBuf,
    pub(crate) branch: String,
    pub(crate) start: Option<Oid>,
    /// The branch exists already.
    pub(crate) had_branch: bool,
    /// The folder exists already.
    pub(crate) had_path: bool,
    /// The folders of other working trees in `worktrees/` of the git directory.
    pub(crate) others: Vec<String>,
}

/// A working tree that is about to be removed; it has no changes and no untracked files.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Removed {
    pub(crate) path: PathBuf,
    /// Its folder in the git directory.
    pub(crate) git_dir: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The working tree, as text.
    pub(crate) top: String,
    pub(crate) step: Step,
}

/// Calls `run` while a record of the operation exists, which is removed if `run` succeeds. If `run`
/// fails, the next run of git-cowork cleans up.
pub(crate) fn noting<T>(
    git: &Git,
    step: impl FnOnce() -> Result<Step>,
    run: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let Some(path) = note_path(git) else { return run() };
    let note = Note { top: top_text(git), step: step()? };
    // A path that is not UTF-8 cannot be recorded.
    let Ok(bytes) = serde_json::to_vec(&note) else { return run() };
    replace_file(&path, &bytes).with_context(|| format!("writing {}", path.display()))?;
    let result = run()?;
    remove(&path)?;
    Ok(result)
}

pub(crate) fn top_text(git: &Git) -> String {
    git.top.to_string_lossy().into_owned()
}

pub(crate) fn note_path(git: &Git) -> Option<PathBuf> {
    Some(git.children.as_ref()?.beside(UNFINISHED))
}

pub(crate) fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", path.display()))
        }
        _ => Ok(()),
    }
}
