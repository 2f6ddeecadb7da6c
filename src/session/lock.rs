//! One run at a time of a session, and in a working tree: advisory locks that name their holder. A
//! second run in the same tree would switch the branch away from under the first.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::SessionName;
use crate::clock;
use crate::error::Error;
use crate::git::Git;
use crate::moment;

/// The holder of a lock, as in the lock file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// `git cowork resume`.
    pub command: String,
    /// When it took the lock, RFC 3339 in UTC.
    pub since: String,
    /// The session that it works on; empty in the file of an older version.
    #[serde(default)]
    pub session: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({}, since {})", self.pid, self.command, self.since)
    }
}

/// A held lock, released when dropped; the kernel releases it when the process dies in any way.
#[derive(Debug)]
pub struct RunLock {
    holder: Holder,
    file: File,
}

/// Number of attempts to take the lock before reporting another holder, and the time between them:
/// a process that only reads the holder has the lock for a few microseconds.
const TRIES: (u32, Duration) = (5, Duration::from_millis(10));

impl RunLock {
    /// Takes the lock of a session.
    ///
    /// # Errors
    /// Exit 5 with the holder, if another process has the lock.
    pub fn take(path: &Path, name: &SessionName, command: &str) -> anyhow::Result<Self> {
        match Self::try_take(path, name, command)? {
            Ok(lock) => Ok(lock),
            Err(holder) => {
                let who = holder.map_or_else(|| "another process".to_owned(), |h| h.to_string());
                Err(Error::repository(format!("session '{name}' is locked: {who} is running"))
                    .hint("wait for it to end, or stop that process")
                    .into())
            }
        }
    }

    /// Takes the lock of a working tree for a run of a session, or returns who holds it, if that
    /// can be read.
    ///
    /// # Errors
    /// The lock file cannot be written.
    pub fn take_tree(
        git: &Git,
        name: &SessionName,
        command: &str,
    ) -> anyhow::Result<Result<Self, Option<Holder>>> {
        let path = tree_lock(git);
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)
            .with_context(|| format!("creating {}", folder.display()))?;
        Self::try_take(&path, name, command)
    }

    /// Returns the live process that holds the lock of a working tree, if any.
    pub fn tree_holder(git: &Git) -> Option<Option<Holder>> {
        Self::held(&tree_lock(git))
    }

    fn try_take(
        path: &Path,
        name: &SessionName,
        command: &str,
    ) -> anyhow::Result<Result<Self, Option<Holder>>> {
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .open(path)
            .with_context(|| format!("opening {}", path.display()))?;
        let mut tries = 1;
        while let Err(error) = file.try_lock() {
            match error {
                TryLockError::WouldBlock if tries < TRIES.0 => std::thread::sleep(TRIES.1),
                TryLockError::WouldBlock => return Ok(Err(read(&mut file))),
                TryLockError::Error(error) => {
                    return Err(error).with_context(|| format!("locking {}", path.display()));
                }
            }
            tries += 1;
        }
        // The last holder may have moved references until now.
        moment::end();
        let since = clock::rfc3339(clock::now());
        let (pid, command) = (std::process::id(), command.to_owned());
        let holder = Holder { pid, command, since, session: name.to_string() };
        let mut lock = Self { holder, file };
        lock.write()?;
        Ok(Ok(lock))
    }

    /// Records that the run works on another session now.
    ///
    /// # Errors
    /// The lock file cannot be written.
    pub fn rename(&mut self, name: &SessionName) -> anyhow::Result<()> {
        self.holder.session = name.to_string();
        self.write()
    }

    fn write(&mut self) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(&self.holder).context("writing the lock")?;
        line.push(b'\n');
        let file = &mut self.file;
        file.set_len(0).and_then(|()| file.rewind()).context("writing the lock")?;
        file.write_all(&line).context("writing the lock")
    }

    /// The holder: this process.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// Returns the live process that holds a lock, if any. Does not keep the lock.
    pub(super) fn held(path: &Path) -> Option<Option<Holder>> {
        let mut file = File::open(path).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(read(&mut file)),
            // The lock is free, or the file system does not support locks.
            _ => None,
        }
    }
}

/// The lock file of a working tree, in its own git directory.
fn tree_lock(git: &Git) -> PathBuf {
    git.git_dir().join("cowork/tree-lock")
}

/// The holder in the lock file; `None` if another version of git-cowork wrote it.
fn read(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_process_gets_the_name_of_the_holder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let name: SessionName = "todo".parse().unwrap();
        let held = RunLock::take(&path, &name, "git cowork new").unwrap();
        let error = RunLock::take(&path, &name, "x").unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&std::process::id().to_string()) && text.contains("new"), "{text}");
        drop(held);
        RunLock::take(&path, &name, "x").unwrap();
    }

    #[test]
    fn reading_the_holder_does_not_take_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let name: SessionName = "todo".parse().unwrap();
        assert_eq!(RunLock::held(&path), None);
        assert!(!path.exists());
        let lock = RunLock::take(&path, &name, "git cowork new").unwrap();
        let holder = RunLock::held(&path);
        assert_eq!(holder, Some(Some(lock.holder().clone())));
        drop(lock);
        // The lock file still has the holder's name.
        assert_eq!(RunLock::held(&path), None);
        RunLock::take(&path, &name, "x").unwrap();
    }
}
