//! What the next run does about git children that died with a run, or outlived it: it waits for one
//! that is still running, removes the locks of one that died, and finishes or undoes its work.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};

use crate::error::Error;
use crate::git::Git;
use crate::git::child::{Children, Orphan, STEP};
use crate::git::unfinished::{Note, Step, note_path, remove, top_text};
use crate::git::{commit, locks, put_back, take_back, worktree};
use crate::moment;
use crate::shell_quote::quoted;

impl Git {
    /// The same repository, except that its writing children inherit the lock on `file` and are
    /// recorded in it.
    ///
    /// Waits for a child of an earlier run that is still running. If a child has died, its
    /// `index.lock` and its locks of HEAD, of its branch and of references below `own` are removed,
    /// and its unfinished work is completed or undone. Both are reported to `say`.
    ///
    /// # Errors
    /// The file cannot be read or locked, or a lock cannot be removed.
    pub fn with_children_in(
        &self,
        file: &Path,
        own: &[String],
        say: &dyn Fn(&str),
    ) -> Result<Self> {
        let mut lock = open(file)?;
        let mut orphan = None;
        let mut is_told = false;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => {
                    return Err(error).with_context(|| format!("locking {}", file.display()));
                }
            }
            orphan = Orphan::read(&lock)?.or(orphan);
            match orphan.as_ref().filter(|orphan| orphan.is_at_work(file)) {
                Some(orphan) => {
                    if !std::mem::replace(&mut is_told, true) {
                        let name = orphan.name();
                        say(&format!("waiting for {name}, started by a run that was killed"));
                    }
                    std::thread::sleep(STEP);
                }
                None => {
                    // A process that a hook left running holds the lock: replace the locked file.
                    std::fs::remove_file(file)
                        .with_context(|| format!("removing {}", file.display()))?;
                    lock = open(file)?;
                }
            }
        }
        // A killed run, or its child, may have changed something until now.
        moment::end();
        let orphan = Orphan::read(&lock)?.or(orphan);
        let children = Children { path: file.to_owned(), file: lock, own: own.to_vec() };
        let git = Self { children: Some(Arc::new(children)), ..self.clone() };
        if let Some(orphan) = orphan {
            // The working tree of the child may be gone.
            let elsewhere = orphan.top.filter(|top| *top != self.top);
            let other_tree = elsewhere.and_then(|top| git.at(&top).ok());
            locks::remove(other_tree.as_ref().unwrap_or(&git), orphan.since)?;
        }
        if let Some(children) = &git.children {
            children.ended();
        }
        end_all(&git, say)?;
        Ok(git)
    }
}

fn open(path: &Path) -> Result<File> {
    let file = OpenOptions::new().create(true).read(true).write(true).truncate(false).open(path);
    file.with_context(|| format!("opening {}", path.display()))
}

/// Finishes or undoes what a killed run was about to do.
fn end_all(git: &Git, say: &dyn Fn(&str)) -> Result<()> {
    let Some(path) = note_path(git) else { return Ok(()) };
    let Ok(bytes) = std::fs::read(&path) else { return Ok(()) };
    let note: Note = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    let is_same_tree = note.top == top_text(git);
    let git = if is_same_tree { Some(git.clone()) } else { git.at(Path::new(&note.top)).ok() };
    // The working tree may be gone, with everything unfinished in it.
    if let Some(git) = git {
        let outcome = end_one(&git, &note.step).map_err(|error| {
            Error::repository(format!("cannot clean up after a killed run: {error:#}"))
                .hint("git status shows what it left; when you have cleaned it up:")
                .hint(format!("rm {}", quoted(&path.display().to_string())))
        })?;
        if let Some(what) = outcome {
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
            (put_back::finish_restore(git, step)?, "finished a restore of files")
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::git::test_repo::Repo;

    fn nobody(said: &str) {
        panic!("{said}");
    }

    #[test]
    fn only_the_locks_of_a_dead_child_are_removed() {
        let repo = Repo::with_commit();
        let (git, file) = (repo.git(), repo.path(".git/child"));
        let lock = repo.path(".git/index.lock");
        std::fs::write(&lock, "").unwrap();
        git.with_children_in(&file, &[], &nobody).unwrap();
        assert!(lock.exists(), "no child is recorded: the lock is not ours");

        let tag = repo.path(".git/refs/tags/cowork/todo");
        std::fs::create_dir_all(&tag).unwrap();
        let own = ["refs/tags/cowork/todo".to_owned()];
        // The empty id: the run was killed before it could record the process id.
        for pid in ["", "2147483647"] {
            std::fs::write(&file, format!("{pid:10}\ncommit\n")).unwrap();
            std::fs::write(&lock, "").unwrap();
            std::fs::write(tag.join("prd.lock"), "").unwrap();
            // A program that another test is just starting may hold the lock, until it runs.
            git.with_children_in(&file, &own, &|_| {}).unwrap();
            assert!(!lock.exists() && !tag.join("prd.lock").exists());
            assert_eq!(std::fs::read(&file).unwrap(), b"");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_next_run_waits_for_a_running_child_but_not_for_a_process_of_a_hook() {
        let repo = Repo::with_commit();
        let file = repo.path(".git/child");
        let alive = |held: &File| {
            let inherited = rustix::io::dup(held).unwrap();
            let child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
            drop(inherited);
            child.unwrap()
        };
        let first = repo.git().with_children_in(&file, &[], &nobody).unwrap();
        let children = first.children.clone().unwrap();
        drop(children.begin("commit", repo.path("").as_path()));
        let child = RefCell::new(alive(&children.file));
        let pid = child.borrow().id();
        children.started(pid);
        drop((first, children));
        let waited = RefCell::new(Vec::new());
        let git = repo.git().with_children_in(&file, &[], &|name| {
            waited.borrow_mut().push(name.to_owned());
            drop(child.borrow_mut().stdin.take());
            child.borrow_mut().wait().unwrap();
        });
        let said = waited.take().concat();
        assert!(said.contains(&format!("git commit (process {pid})")), "{said}");

        // No child runs, but another process holds the lock.
        let git = git.unwrap();
        let mut left = alive(&git.children.as_ref().unwrap().file);
        drop(git);
        let git = repo.git().with_children_in(&file, &[], &nobody).unwrap();
        // The new file is locked like the old one.
        assert!(open(&file).unwrap().try_lock().is_err());
        drop((git, left.stdin.take()));
        left.wait().unwrap();
    }
}
