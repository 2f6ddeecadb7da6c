//! The git child processes that write for a session. Each child inherits the lock on one file in
//! the state directory, which records the running child and its start time: after a crash, the next
//! run waits for it or cleans up ([`crate::git::recover`]).
//!
//! The file is not the session lock: a process that a hook left running inherits the lock as well,
//! and must not block the session for as long as it lives.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::git::processes;
use crate::keyboard;

/// How often to check whether an orphaned child has ended.
pub(crate) const STEP: Duration = Duration::from_millis(20);

/// Width of the process id in the file, so that writing it changes nothing else.
const PID_WIDTH: usize = 10;

/// The lock file that writing children inherit.
#[derive(Debug)]
pub(crate) struct Children {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    /// References below these prefixes belong to the session.
    pub(crate) own: Vec<String>,
}

impl PartialEq for Children {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for Children {}

/// A descriptor of the lock file: the child that is started next inherits it, and with it the lock.
#[cfg(unix)]
pub(crate) type Inherited = std::os::fd::OwnedFd;
#[cfg(not(unix))]
pub(crate) type Inherited = ();

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
    pub(crate) fn begin(&self, verb: &str, top: &Path) -> Option<Inherited> {
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
    pub(crate) fn started(&self, pid: u32) {
        let mut file = &self.file;
        let _ = file.rewind().and_then(|()| write!(file, "{pid:<PID_WIDTH$}"));
    }

    /// Records that no child is running.
    pub(crate) fn ended(&self) {
        let _ = self.file.set_len(0);
    }

    /// Waits for git processes that a child left running when it died (`git worktree add` starts
    /// others to do its work), then returns the start time of that child.
    pub(crate) fn outlived(&self) -> Option<SystemTime> {
        while processes::that_opened(&self.path).iter().any(processes::Process::is_git) {
            std::thread::sleep(STEP);
        }
        Orphan::read(&self.file).ok()?.map(|orphan| orphan.since)
    }

    /// The path of a file in the same folder as the lock file.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
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
pub(crate) struct Orphan {
    /// `None` if the run was killed between starting the child and recording its id.
    pid: Option<i32>,
    verb: String,
    /// `None` if the run was killed while writing the record: then no child was started yet.
    pub(crate) top: Option<PathBuf>,
    pub(crate) since: SystemTime,
}

impl Orphan {
    pub(crate) fn read(mut file: &File) -> Result<Option<Self>> {
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
    pub(crate) fn is_at_work(&self, file: &Path) -> bool {
        if !Path::new("/proc/self").exists() || self.pid.is_none() {
            return self.pid.is_none_or(is_running);
        }
        // Another process may have the same id by now.
        let itself = |pid: u32| i32::try_from(pid).is_ok_and(|pid| self.pid == Some(pid));
        let at_work = processes::that_opened(file);
        at_work.iter().any(|process| process.is_git() || itself(process.pid))
    }

    pub(crate) fn name(&self) -> String {
        let verb = &self.verb;
        match self.pid {
            Some(pid) => format!("git {verb} (process {pid})"),
            None => format!("git {verb}"),
        }
    }
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
