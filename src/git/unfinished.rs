//! What git was about to do to a working tree, noted in the state directory before it begins and
//! forgotten when it has ended: the run after a crash finishes it or takes it back. A path whose content is neither what
//! it was, nor what git writes, nor the beginning of that, is a person's and is left alone.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::take_back::{Move, Restore};
use super::worktree::{Added, Removed};
use super::{Git, Oid};
use crate::error::Error;
use crate::shell_quote::quoted;

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
    /// The working tree, as text.
    top: String,
    step: Step,
}

impl Git {
    /// Does `run` while a note says what it does. What an error leaves half done is for the next run.
    pub(super) fn noting<T>(
        &self,
        step: impl FnOnce() -> Result<Step>,
        run: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let Some(path) = self.note_path() else { return run() };
        let note = Note { top: self.top_text(), step: step()? };
        // A path that is no text cannot be noted.
        let Ok(bytes) = serde_json::to_vec(&note) else { return run() };
        write(&path, &bytes).with_context(|| format!("writing {}", path.display()))?;
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
        let here = note.top == self.top_text();
        let git = if here { Some(self.clone()) } else { self.at(Path::new(&note.top)).ok() };
        // The working tree may be gone with all that was half done there.
        if let Some(git) = git {
            let ended = git.end(&note.step).map_err(|error| {
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

    /// What was done about it, if anything had to be.
    fn end(&self, step: &Step) -> Result<Option<&'static str>> {
        let (done, what) = match step {
            Step::Move(step) => (self.take_back(step)?, "undid a checkout"),
            Step::Restore(step) => (self.finish_restore(step)?, "finished a restore of files"),
            Step::Commit { tip, paths } => {
                if tip.is_some() && self.resolve("HEAD^1")? == *tip {
                    self.index_as_committed(paths)?;
                }
                (false, "")
            }
            Step::Add(step) => {
                self.end_adding(step)?;
                (true, "cleaned up a new linked worktree")
            }
            Step::Remove(step) => (self.end_removing(step)?, "finished a worktree removal"),
        };
        Ok(done.then_some(what))
    }

    fn top_text(&self) -> String {
        self.top.to_string_lossy().into_owned()
    }

    fn note_path(&self) -> Option<PathBuf> {
        Some(self.children.as_ref()?.beside(UNFINISHED))
    }
}

/// Whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
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
