//! The git children of a session that write. Each inherits the lock on one file in J, whose text
//! says which child is at work and since when, so that the run after a crash waits for the one that
//! outlived us, removes the locks of one that died (contract, section 1), and nobody else's.
//!
//! The file is not the session's own lock: a process that a hook left behind inherits it, too, and
//! must not keep the session for as long as it lives.

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

/// How often we look whether a child that outlived us has ended.
const STEP: Duration = Duration::from_millis(20);

/// Width of the process id in the file, so that writing it changes nothing else.
const PID_WIDTH: usize = 10;

/// What a writing child inherits.
#[derive(Debug)]
pub(super) struct Children {
    path: PathBuf,
    file: File,
    /// References below these are the session's own.
    pub(super) own: Vec<String>,
}

impl PartialEq for Children {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for Children {}

/// A descriptor that a child started now inherits, and with it the lock.
#[cfg(unix)]
pub(super) type Inherited = std::os::fd::OwnedFd;
#[cfg(not(unix))]
pub(super) type Inherited = ();

/// What the file says about a child, after its process id.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// Its command line.
    args: String,
    /// The working tree it works in; a name that is no text is found by no later run.
    top: String,
    /// When it began, by the clock of the file system, which its locks go by as well.
    since: SystemTime,
}

impl Children {
    /// Says that a child is about to start in the working tree `top`. `None` where it could not
    /// inherit the lock. A hook of it may ask at the terminal, and so may what signs.
    pub(super) fn begin(&self, args: &str, top: &Path) -> Option<Inherited> {
        keyboard::lend();
        self.write_note(args, top).ok()?;
        #[cfg(unix)]
        {
            // A duplicate is not closed when a program is started. Nothing else starts one between
            // here and its end: there is one thread.
            rustix::io::dup(&self.file).ok()
        }
        #[cfg(not(unix))]
        {
            None
        }
    }

    /// Says which process it is. Best effort: without it the lock alone is waited for.
    pub(super) fn started(&self, pid: u32) {
        let mut file = &self.file;
        let _ = file.rewind().and_then(|()| write!(file, "{pid:<PID_WIDTH$}"));
    }

    /// Says that none is at work.
    pub(super) fn ended(&self) {
        let _ = self.file.set_len(0);
    }

    /// Waits for git processes that a child left behind when it died (`git worktree add` has
    /// others do its work), then says since when it had been at work.
    pub(super) fn outlived(&self) -> Option<SystemTime> {
        while processes::that_opened(&self.path).iter().any(processes::Process::is_git) {
            std::thread::sleep(STEP);
        }
        Orphan::read(&self.file).ok()?.map(|orphan| orphan.since)
    }

    /// A file beside it.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    fn write_note(&self, args: &str, top: &Path) -> Result<()> {
        let mut file = &self.file;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(format!("{:PID_WIDTH$}\n", "").as_bytes())?;
        let since = file.metadata()?.modified()?;
        let note = Note { args: args.to_owned(), top: top.to_string_lossy().into_owned(), since };
        Ok(file.write_all(&serde_json::to_vec(&note)?)?)
    }
}

/// The child a run was killed with.
struct Orphan {
    /// Unknown when we died between starting it and writing it down.
    pid: Option<i32>,
    args: String,
    /// Unknown when we died while we wrote it down: nothing was started.
    top: Option<PathBuf>,
    since: SystemTime,
}

impl Orphan {
    fn read(mut file: &File) -> Result<Option<Self>> {
        let mut text = String::new();
        file.rewind().and_then(|()| file.read_to_string(&mut text)).context("reading J")?;
        let Some((pid, rest)) = text.split_once('\n') else { return Ok(None) };
        let pid = pid.trim().parse().ok();
        Ok(Some(match serde_json::from_str::<Note>(rest) {
            Ok(Note { args, top, since }) => Self { pid, args, top: Some(top.into()), since },
            Err(_) => {
                let since = file.metadata()?.modified()?;
                Self { pid, args: rest.trim().to_owned(), top: None, since }
            }
        }))
    }

    /// Itself, or a git that it has started in turn.
    fn is_at_work(&self, file: &Path) -> bool {
        if !Path::new("/proc/self").exists() || self.pid.is_none() {
            return self.pid.is_none_or(is_running);
        }
        // Another process may have its number by now.
        let itself = |pid: u32| i32::try_from(pid).is_ok_and(|pid| self.pid == Some(pid));
        let at_work = processes::that_opened(file);
        at_work.iter().any(|process| process.is_git() || itself(process.pid))
    }

    fn name(&self) -> String {
        let verb = self.args.split(' ').find(|arg| !arg.starts_with('-')).unwrap_or_default();
        match self.pid {
            Some(pid) => format!("git {verb} (process {pid})"),
            None => format!("git {verb}"),
        }
    }
}

impl Git {
    /// The same repository, whose writing children inherit the lock on `file` and are named in it.
    ///
    /// A child of an earlier run that is still at work is waited for. One that died takes its
    /// `index.lock`, and the locks of HEAD, of its branch and of references below `own`, with it,
    /// and what it left half done is finished or taken back. `say` hears of both.
    ///
    /// # Errors
    /// The file cannot be read or locked, a lock cannot be removed.
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
                    // What a hook left behind holds on to the old file.
                    std::fs::remove_file(file)
                        .with_context(|| format!("removing {}", file.display()))?;
                    lock = open(file)?;
                }
            }
        }
        let orphan = Orphan::read(&lock)?.or(orphan);
        let children = Children { path: file.to_owned(), file: lock, own: own.to_vec() };
        let git = Self { children: Some(Arc::new(children)), ..self.clone() };
        if let Some(orphan) = orphan {
            // The tree it worked in may be gone.
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

/// Does what a writing child would do, in this process: should we die meanwhile, the next run
/// removes its locks as those of a child.
pub(super) fn as_child<T>(git: &Git, what: &str, run: impl FnOnce() -> T) -> T {
    let children = git.children.as_deref();
    if let Some(children) = children {
        drop(children.begin(what, &git.top));
    }
    let done = run();
    if let Some(children) = children {
        children.ended();
    }
    done
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
    fn a_dead_childs_locks_go_and_nobody_elses() {
        let repo = Repo::with_commit();
        let (git, file) = (repo.git(), repo.path(".git/child"));
        let lock = repo.path(".git/index.lock");
        std::fs::write(&lock, "").unwrap();
        git.with_children_in(&file, &[], &nobody).unwrap();
        assert!(lock.exists(), "nobody is named: the lock is somebody else's");

        let tag = repo.path(".git/refs/tags/cowork/todo");
        std::fs::create_dir_all(&tag).unwrap();
        let own = ["refs/tags/cowork/todo".to_owned()];
        // Also when we died before we could write down which process it is.
        for pid in ["", "2147483647"] {
            std::fs::write(&file, format!("{pid:10}\ncommit\n")).unwrap();
            std::fs::write(&lock, "").unwrap();
            std::fs::write(tag.join("prd.lock"), "").unwrap();
            git.with_children_in(&file, &own, &nobody).unwrap();
            assert!(!lock.exists() && !tag.join("prd.lock").exists());
            assert_eq!(std::fs::read(&file).unwrap(), b"");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_child_that_outlived_us_is_waited_for_and_what_a_hook_left_is_not() {
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
        drop(children.begin("commit --only", repo.path("").as_path()));
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

        // No child runs, and something holds the lock all the same.
        let git = git.unwrap();
        let mut left = alive(&git.children.as_ref().unwrap().file);
        drop(git);
        let git = repo.git().with_children_in(&file, &[], &nobody).unwrap();
        // The new file is locked as the old one was.
        assert!(open(&file).unwrap().try_lock().is_err());
        drop((git, left.stdin.take()));
        left.wait().unwrap();
    }
}
