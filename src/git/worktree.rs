//! Linked working trees: making and removing them, also where git dies in the middle of it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::locks;
use super::spawn::STARTS;
use super::switch::same_place;
use super::unfinished::Step;
use super::{Change, Git, Oid, RefName, RefTransaction, StatusKind};

/// In the git directory of a linked working tree, git's note while it makes one.
const LOCKED: &str = "locked";

/// A working tree that is about to be made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Added {
    path: PathBuf,
    branch: String,
    start: Oid,
    /// There is such a branch already.
    had_branch: bool,
    /// There is such a folder already.
    had_path: bool,
    /// The folders of other working trees in `worktrees/` of the git directory.
    others: Vec<String>,
}

/// A working tree without changes and untracked files that is about to be removed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Removed {
    path: PathBuf,
    /// Its folder in the git directory.
    git_dir: PathBuf,
}

impl Git {
    /// Makes a branch at `start` and a linked working tree for it at `path` (from the top when
    /// relative).
    ///
    /// # Errors
    /// Branch or path exists, git fails: exit 5.
    pub fn worktree_add(&self, path: &Path, branch: &str, start: &Oid) -> Result<Self> {
        let name = RefName::branch(branch)?;
        let path = self.top.join(path);
        let step = Added {
            had_path: path.exists(),
            had_branch: self.branch_exists(branch)?,
            path: path.clone(),
            branch: branch.to_owned(),
            start: start.clone(),
            others: self.linked_git_dirs().map(|dir| name_of(&dir)).collect(),
        };
        let (add, output) = self.noting(
            || Ok(Step::Add(step.clone())),
            || {
                let add = self.hooked(["worktree", "add", "--quiet", "--no-track", "-b", branch]);
                let mut add = add.arg("--").arg(&path).arg(start.as_str());
                // A second try would meet what the first one made.
                let nothing_made =
                    || !path.exists() && matches!(self.branch_exists(branch), Ok(false));
                let mut output = add.attempt(nothing_made, || false)?;
                for _ in 1..STARTS {
                    if !output.killed() || self.end_adding(&step)? {
                        break;
                    }
                    output = add.attempt(nothing_made, || false)?;
                }
                let only_branch = !step.had_path && !path.exists() && !step.had_branch;
                if output.code.is_some_and(|code| code != 0)
                    && only_branch
                    && self.branch_exists(branch)?
                {
                    // Only the branch was made, while somebody else was at it.
                    add = self.hooked(["worktree", "add", "--quiet", "--"]).arg(&path).arg(branch);
                    output = add.attempt(|| !path.exists(), || false)?;
                }
                Ok((add, output))
            },
        )?;
        match self.at(&path) {
            Ok(linked) if output.success() => Ok(linked),
            // Only the post-checkout hook was unhappy, or git died when it was done.
            Ok(linked) if !step.had_path && linked.head()?.branch() == Some(&name) => Ok(linked),
            Err(error) if output.success() => Err(error),
            _ => Err(add.failure(&output).into()),
        }
    }

    /// Removes a linked working tree that is clean; git refuses any other.
    ///
    /// # Errors
    /// It has changes, or is not one.
    pub fn worktree_remove(&self, path: &Path) -> Result<()> {
        let git_dir = self.at(path)?.git_dir;
        let step = Removed { path: path.to_owned(), git_dir };
        let remove = self.hooked(["worktree", "remove"]).arg(path);
        self.noting(
            || Ok(Step::Remove(step.clone())),
            || {
                let output = remove.attempt(|| true, || false)?;
                if output.killed() {
                    self.end_removing(&step)?;
                }
                Ok(output)
            },
        )
        .and_then(|output| match output.success() || !step.git_dir.exists() {
            true => Ok(()),
            false => Err(remove.failure(&output).into()),
        })
    }

    /// After git died: fills a working tree that has its git directory, removes what there is of any
    /// other. Answers whether there is one now.
    pub(super) fn end_adding(&self, step: &Added) -> Result<bool> {
        let name = RefName::branch(&step.branch)?;
        let pointer = step.path.join(".git");
        let is_new = |dir: &PathBuf| !step.others.contains(&name_of(dir));
        let is_its = |dir: &PathBuf| match std::fs::read_to_string(dir.join("gitdir")) {
            Ok(text) => {
                let its = Path::new(text.trim_end()).parent();
                its.is_some_and(|its| same_place(its, &step.path))
            }
            // Git had not come so far.
            Err(_) => {
                let folder = step.path.file_name().unwrap_or_default().to_string_lossy();
                name_of(dir).starts_with(&*folder)
            }
        };
        let git_dir = self.linked_git_dirs().filter(is_new).find(is_its);
        if git_dir.as_ref().is_some_and(|dir| !is_being_made(dir)) {
            // Git came to its end without us. What is there now is a person's.
            return Ok(true);
        }
        if let Ok(linked) = self.at(&step.path) {
            if git_dir.is_some() && linked.head().is_ok_and(|head| head.branch() == Some(&name)) {
                linked.fill()?;
                return Ok(true);
            }
            if git_dir.is_none() {
                // Somebody has made another one there.
                return Ok(false);
            }
        }
        if let Some(dir) = git_dir {
            std::fs::remove_dir_all(&dir).with_context(|| format!("removing {}", dir.display()))?;
            // Without it the rest was never filled; what a person has put there stays.
            let _ = std::fs::remove_file(&pointer);
        }
        if !step.had_path {
            let _ = std::fs::remove_dir(&step.path);
        }
        if !step.had_branch && self.resolve(name.as_str())?.as_ref() == Some(&step.start) {
            let why = "cowork: its working tree was not made";
            RefTransaction::new(why).delete(&name, &step.start).commit(self)?;
        }
        Ok(false)
    }

    /// Checks out what is missing in a working tree that git had begun to fill.
    fn fill(&self) -> Result<()> {
        let lock = self.git_dir.join("index.lock");
        if lock.is_file() && locks::holder(&lock, &self.top).is_some() {
            self.require_unlocked()?;
        } else if lock.is_file() {
            std::fs::remove_file(&lock).with_context(|| format!("removing {}", lock.display()))?;
        }
        if !self.git_dir.join("index").exists() {
            self.write(["read-tree", "HEAD"]).checked()?;
        }
        let Some(head) = self.resolve("HEAD")? else { return Ok(()) };
        let mut missing = Vec::new();
        for entry in self.status()? {
            let path = entry.path;
            let ours = match entry.kind {
                StatusKind::Tracked { unstaged: Change::Deleted, .. } => true,
                StatusKind::Tracked { unstaged: Change::Modified, .. } => {
                    self.is_cut(&path, &[self.blob_id(&head, &path)?.as_ref()])?
                }
                _ => false,
            };
            if ours {
                missing.push(path);
            }
        }
        self.write_paths(&head, &missing, false)?;
        let locked = self.git_dir.join(LOCKED);
        if is_initializing(&locked) {
            std::fs::remove_file(&locked)
                .with_context(|| format!("removing {}", locked.display()))?;
        }
        Ok(())
    }

    /// After git died: removes the rest, unless somebody has put something there since.
    pub(super) fn end_removing(&self, step: &Removed) -> Result<bool> {
        if !step.git_dir.exists() {
            return Ok(false);
        }
        if step.path.exists() {
            let pointer = step.path.join(".git");
            if !pointer.exists() {
                let text = format!("gitdir: {}\n", step.git_dir.display());
                std::fs::write(&pointer, text)
                    .with_context(|| format!("writing {}", pointer.display()))?;
            }
            let linked = self.at(&step.path)?;
            let gone = |kind| {
                matches!(
                    kind,
                    StatusKind::Tracked { staged: Change::None, unstaged: Change::Deleted }
                )
            };
            let more = linked.status()?.into_iter().any(|entry| !gone(entry.kind));
            if more || !linked.unknown_files()?.is_empty() {
                linked.fill()?;
                return Ok(false);
            }
        }
        let remove = self.hooked(["worktree", "remove", "--force"]).arg(&step.path);
        remove.checked().map(|_| true)
    }

    fn linked_git_dirs(&self) -> impl Iterator<Item = PathBuf> + use<> {
        let entries = std::fs::read_dir(self.common_dir.join("worktrees"));
        entries.into_iter().flatten().flatten().map(|entry| entry.path())
    }
}

fn name_of(dir: &Path) -> String {
    dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
/// Whether git has not come to the end of making the working tree of this git directory
/// (`builtin/worktree.c`, `add_worktree`).
fn is_being_made(git_dir: &Path) -> bool {
    !git_dir.join("HEAD").exists() || is_initializing(&git_dir.join(LOCKED))
}

fn is_initializing(locked: &Path) -> bool {
    std::fs::read_to_string(locked).is_ok_and(|why| why.trim_end() == "initializing")
}
