//! The git child processes that write for a session. Each child inherits the lock on one file in
//! the state directory, which records the running child and its start time. After a crash, the next
//! run waits for a child that is still running and removes the locks of a child that died, and no
//! other locks.
//!
//! The file is not the session lock: a process that a hook left running inherits the lock as well,
//! and must not block the session for as long as it lives.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::{Git, processes};
use crate::git::{locks, unfinished};
use crate::keyboard;
use crate::moment;

/// How often to check whether an orphaned child has ended.
const STEP: Duration = Duration::from_millis(20);

/// Width of the process id in the file, so that writing it changes nothing else.
const PID_WIDTH: usize = 10;

/// The lock file that writing children inherit.
#[derive(Debug)]
pub(super) struct Children {
    path: PathBuf,
    file: File,
    /// References below these prefixes belong to the session.
    pub(super) own: Vec<String>,
}

impl PartialEq for Children {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for Children {}

/// A descriptor of the lock file: the child that is started next inherits it, and with it the lock.
#[cfg(unix)]
pub(super) type Inherited = std::os::fd::OwnedFd;
#[cfg(not(unix))]
pub(super) type Inherited = ();

/// The record of a child in the file, after its process id.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// The git command; a former version wrote the whole line.
    #[serde(alias = "args")]
    verb: String,
    /// Its working tree; if the path is not UTF-8, later runs do not find it.
    top: String,
    /// Its start time by the clock of the file system, so that it can be compared with the times of
    /// the child's lock files.
    since: SystemTime,
}

impl Children {
    /// Records that a child is about to start in the working tree `top`. `None` if it cannot
    /// inherit the lock. The child may read the keyboard, because its hooks and its signing program
    /// may prompt.
    pub(super) fn begin(&self, verb: &str, top: &Path) -> Option<Inherited> {
        keyboard::lend();
        self.write_note(verb, top).ok()?;
        #[cfg(unix)]
        {
            // A duplicate is not closed when a program is started. No other program is started
            // until the duplicate is dropped: there is only one thread.
            rustix::io::dup(&self.file).ok()
        }
        #[cfg(not(unix))]
        {
            None
        }
    }

    /// Records the child's process id. Best effort: without it, the next run waits for the lock
    /// alone.
    pub(super) fn started(&self, pid: u32) {
        let mut file = &self.file;
        let _ = file.rewind().and_then(|()| write!(file, "{pid:<PID_WIDTH$}"));
    }

    /// Records that no child is running.
    pub(super) fn ended(&self) {
        let _ = self.file.set_len(0);
    }

    /// Waits for git processes that a child left running when it died (`git worktree add` starts
    /// others to do its work), then returns the start time of that child.
    pub(super) fn outlived(&self) -> Option<SystemTime> {
        while processes::that_opened(&self.path).iter().any(processes::Process::is_git) {
            std::thread::sleep(STEP);
        }
        Orphan::read(&self.file).ok()?.map(|orphan| orphan.since)
    }

    /// The path of a file in the same folder as the lock file.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    fn write_note(&self, verb: &str, top: &Path) -> Result<()> {
        let mut file = &self.file;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(format!("{:PID_WIDTH$}\n", "").as_bytes())?;
        let since = file.metadata()?.modified()?;
        let note = Note { verb: verb.to_owned(), top: top.to_string_lossy().into_owned(), since };
        Ok(file.write_all(&serde_json::to_vec(&note)?)?)
    }
}

/// The child that was running when a run was killed.
struct Orphan {
    /// `None` if the run was killed between starting the child and recording its id.
    pid: Option<i32>,
    verb: String,
    /// `None` if the run was killed while writing the record: then no child was started yet.
    top: Option<PathBuf>,
    since: SystemTime,
}

impl Orphan {
    fn read(mut file: &File) -> Result<Option<Self>> {
        let mut text = String::new();
        file.rewind()
            .and_then(|()| file.read_to_string(&mut text))
            .context("reading the record of a git process")?;
        let Some((pid, rest)) = text.split_once('\n') else { return Ok(None) };
        let pid = pid.trim().parse().ok();
        Ok(Some(match serde_json::from_str::<Note>(rest) {
            Ok(Note { verb, top, since }) => Self { pid, verb, top: Some(top.into()), since },
            Err(_) => {
                let since = file.metadata()?.modified()?;
                Self { pid, verb: rest.trim().to_owned(), top: None, since }
            }
        }))
    }

    /// True if the child, or a git process that it started, is still running.
    fn is_at_work(&self, file: &Path) -> bool {
        if !Path::new("/proc/self").exists() || self.pid.is_none() {
            return self.pid.is_none_or(is_running);
        }
        // Another process may have the same id by now.
        let itself = |pid: u32| i32::try_from(pid).is_ok_and(|pid| self.pid == Some(pid));
        let at_work = processes::that_opened(file);
        at_work.iter().any(|process| process.is_git() || itself(process.pid))
    }

    fn name(&self) -> String {
        let verb = &self.verb;
        match self.pid {
            Some(pid) => format!("git {verb} (process {pid})"),
            None => format!("git {verb}"),
        }
    }
}

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
        let mut said = false;
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
                    if !std::mem::replace(&mut said, true) {
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
            let there = elsewhere.and_then(|top| git.at(&top).ok());
            locks::remove(there.as_ref().unwrap_or(&git), orphan.since)?;
        }
        if let Some(children) = &git.children {
            children.ended();
        }
        unfinished::end_all(&git, say)?;
        Ok(git)
    }
}

fn open(path: &Path) -> Result<File> {
    let file = OpenOptions::new().create(true).read(true).write(true).truncate(false).open(path);
    file.with_context(|| format!("opening {}", path.display()))
}

#[cfg(unix)]
fn is_running(pid: i32) -> bool {
    rustix::process::Pid::from_raw(pid)
        .is_some_and(|id| rustix::process::test_kill_process(id).is_ok())
}

#[cfg(not(unix))]
fn is_running(_pid: i32) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::process::{Command, Stdio};

    use super::super::test_repo::Repo;
    use super::*;

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
