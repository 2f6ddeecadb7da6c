//! What git was about to do to a working tree, noted in J before it begins and forgotten when it has
//! ended: the run after a crash finishes it or takes it back. A path whose content is neither what
//! it was, nor what git writes, nor the beginning of that, is a person's and is left alone.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::take_back::{Move, Restore};
use super::worktree::{Added, Removed};
use super::{Git, Oid};
use crate::error::Error;

/// Name of the note, beside the file that [`Git::with_children_in`] is given.
pub const UNFINISHED: &str = "unfinished.json";

/// Something that takes more than one moment.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Step {
    /// Index and working tree go from one tree to another, then HEAD follows.
    Move(Move),
    /// Single paths get the content they have in a commit.
    Restore(Restore),
    /// A commit on `tip`, after which the index gets what these paths have in it.
    Commit { tip: Option<Oid>, paths: Vec<String> },
    /// A linked working tree is made.
    Add(Added),
    /// A linked working tree is removed.
    Remove(Removed),
}

#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// The working tree.
    top: PathBuf,
    step: Step,
}

impl Git {
    /// Does `run` while J says what it does. What an error leaves half done is for the next run.
    pub(super) fn noting<T>(
        &self,
        step: impl FnOnce() -> Result<Step>,
        run: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let Some(path) = self.note_path() else { return run() };
        let note = Note { top: self.top.clone(), step: step()? };
        write(&path, &note).with_context(|| format!("writing {}", path.display()))?;
        let done = run()?;
        remove(&path)?;
        Ok(done)
    }

    /// Finishes or takes back what a run that was killed was about to do.
    pub(super) fn end_unfinished(&self, say: &dyn Fn(&str)) -> Result<()> {
        let Some(path) = self.note_path() else { return Ok(()) };
        let Ok(bytes) = std::fs::read(&path) else { return Ok(()) };
        let note: Note = serde_json::from_slice(&bytes)
            .with_context(|| format!("{} cannot be read", path.display()))?;
        // The working tree may be gone with all that was half done there.
        if let Some(git) =
            if note.top == self.top { Some(self.clone()) } else { self.at(&note.top).ok() }
        {
            let ended = git.end(&note.step).map_err(|error| {
                Error::repository(format!("what an earlier run left half done stays: {error:#}"))
                    .hint("git status shows it; clean it up, then:")
                    .hint(format!("rm {}", path.display()))
            })?;
            if let Some(what) = ended {
                say(&format!("{what} a run that was killed had left half done"));
            }
        }
        remove(&path)
    }

    /// What was done about it, if anything had to be.
    fn end(&self, step: &Step) -> Result<Option<&'static str>> {
        Ok(match step {
            Step::Move(step) => {
                self.take_back(step)?.then_some("took back a move between commits that")
            }
            Step::Restore(step) => {
                self.finish_restore(step)?.then_some("finished restoring files, which")
            }
            Step::Commit { tip, paths } => {
                if tip.is_some() && self.resolve("HEAD^1")? == *tip {
                    self.index_as_committed(paths)?;
                }
                None
            }
            Step::Add(step) => {
                self.end_adding(step)?.then_some("finished or removed a working tree that")
            }
            Step::Remove(step) => {
                self.end_removing(step)?.then_some("removed a working tree, which")
            }
        })
    }

    fn note_path(&self) -> Option<PathBuf> {
        Some(self.children.as_ref()?.beside(UNFINISHED))
    }
}

/// Whole or not at all.
fn write(path: &Path, note: &Note) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&mut file, note)?;
    file.persist(path)?;
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", path.display()))
        }
        _ => Ok(()),
    }
}
