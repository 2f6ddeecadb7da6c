//! The git children of a session that write. Each inherits the lock on one file in J, whose text
//! says which child is at work, so that the run after a crash waits for the one that outlived us,
//! and removes the locks of one that died (contract, section 1), and nobody else's.
//!
//! The file is not the session's own lock: a process that a hook left behind inherits it, too, and
//! must not keep the session for as long as it lives.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::Git;

/// How often we look whether a child that outlived us has ended.
const STEP: Duration = Duration::from_millis(20);

/// Width of the process id in the file, so that writing it changes nothing else.
const PID_WIDTH: usize = 10;

/// What a writing child inherits.
#[derive(Debug)]
pub(super) struct Children {
    path: PathBuf,
    file: File,
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

impl Children {
    /// Says that a child is about to start. `None` where it could not inherit the lock.
    pub(super) fn begin(&self, args: &str) -> Option<Inherited> {
        let text = format!("{:PID_WIDTH$}\n{args}\n", "");
        self.write(&text).ok()?;
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

    fn write(&self, text: &str) -> std::io::Result<()> {
        let mut file = &self.file;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(text.as_bytes())
    }
}

/// The child a run was killed with.
struct Orphan {
    /// Unknown when we died between starting it and writing it down.
    pid: Option<i32>,
    args: String,
}

impl Orphan {
    fn read(mut file: &File) -> Result<Option<Self>> {
        let mut text = String::new();
        file.rewind().and_then(|()| file.read_to_string(&mut text)).context("reading J")?;
        let Some((pid, args)) = text.split_once('\n') else { return Ok(None) };
        Ok(Some(Self { pid: pid.trim().parse().ok(), args: args.trim().to_owned() }))
    }

    fn is_at_work(&self) -> bool {
        self.pid.is_none_or(is_running)
    }

    fn name(&self) -> String {
        let verb = self.args.split(' ').next().unwrap_or_default();
        match self.pid {
            Some(pid) => format!("git {verb} (process {pid})"),
            None => format!("git {verb}"),
        }
    }
}

impl Git {
    /// The same repository, whose writing children inherit the lock on `file` and are named in it.
    ///
    /// A child of an earlier run that is still at work is waited for, after `waiting` was told its
    /// name. One that died takes its `index.lock`, and the locks of HEAD and of references below
    /// `own`, with it.
    ///
    /// # Errors
    /// The file cannot be read or locked, a lock cannot be removed.
    pub fn with_children_in(
        &self,
        file: &Path,
        own: &[String],
        waiting: &dyn Fn(&str),
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
            orphan = Orphan::read(&lock)?;
            match orphan.as_ref().filter(|orphan| orphan.is_at_work()) {
                Some(orphan) => {
                    if !std::mem::replace(&mut said, true) {
                        waiting(&orphan.name());
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
        if orphan.is_some() || Orphan::read(&lock)?.is_some() {
            self.remove_locks(own)?;
        }
        let children = Children { path: file.to_owned(), file: lock };
        children.ended();
        Ok(Self { children: Some(Arc::new(children)), ..self.clone() })
    }

    fn remove_locks(&self, own: &[String]) -> Result<()> {
        let mut locks = vec![self.git_dir.join("index.lock"), self.git_dir.join("HEAD.lock")];
        for name in own {
            locks.extend(locks_below(&self.common_dir.join(name)));
        }
        for lock in locks.into_iter().filter(|lock| lock.is_file()) {
            std::fs::remove_file(&lock).with_context(|| format!("removing {}", lock.display()))?;
        }
        Ok(())
    }
}

fn open(path: &Path) -> Result<File> {
    let file = OpenOptions::new().create(true).read(true).write(true).truncate(false).open(path);
    file.with_context(|| format!("opening {}", path.display()))
}

fn locks_below(path: &Path) -> Vec<PathBuf> {
    let mut own = path.as_os_str().to_owned();
    own.push(".lock");
    let mut found = vec![PathBuf::from(own)];
    if let Ok(entries) = std::fs::read_dir(path) {
        let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        found.extend(paths.filter(|path| path.extension().is_some_and(|ext| ext == "lock")));
    }
    found
}

#[cfg(unix)]
fn is_running(pid: i32) -> bool {
    let Some(id) = rustix::process::Pid::from_raw(pid) else { return false };
    if rustix::process::test_kill_process(id).is_err() {
        return false;
    }
    // One that ended and that nobody asked about has an empty command line.
    match std::fs::read(format!("/proc/{pid}/cmdline")) {
        Ok(line) => !line.is_empty(),
        Err(_) => !Path::new("/proc/self").exists(),
    }
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

    fn nobody(name: &str) {
        panic!("waiting for {name}");
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
            std::fs::write(&lock, "").unwrap();
            std::fs::write(tag.join("prd.lock"), "").unwrap();
            std::fs::write(&file, format!("{pid:10}\ncommit\n")).unwrap();
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
        drop(children.begin("commit --only"));
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
        assert_eq!(waited.take(), [format!("git commit (process {pid})")]);

        // No child is under way, and something holds the lock all the same.
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
