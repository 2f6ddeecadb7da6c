//! One run per session at a time: an advisory lock that names its holder.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::SessionName;
use crate::clock;
use crate::error::Error;
use crate::moment;

/// The holder of a session's lock, as in the lock file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// `git cowork resume`.
    pub command: String,
    /// When it took the lock, RFC 3339 in UTC.
    pub since: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({}, since {})", self.pid, self.command, self.since)
    }
}

/// A held lock, released when dropped; the kernel releases it when the process dies in any way.
#[derive(Debug)]
pub struct SessionLock {
    holder: Holder,
    _file: File,
}

/// Number of attempts to take the lock before reporting another holder, and the time between them:
/// a process that only reads the holder has the lock for a few microseconds.
const TRIES: (u32, Duration) = (5, Duration::from_millis(10));

impl SessionLock {
    /// Takes the lock of a session.
    ///
    /// # Errors
    /// Exit 5 with the holder, if another process has the lock.
    pub fn take(path: &Path, name: &SessionName, command: &str) -> anyhow::Result<Self> {
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
                TryLockError::WouldBlock => {
                    let who = read(&mut file);
                    let who = who.map_or_else(|| "another process".to_owned(), |h| h.to_string());
                    return Err(Error::repository(format!(
                        "session '{name}' is locked: {who} is running"
                    ))
                    .hint("wait for it to end, or stop that process")
                    .into());
                }
                TryLockError::Error(error) => {
                    return Err(error).with_context(|| format!("locking {}", path.display()));
                }
            }
            tries += 1;
        }
        // The last holder may have moved references until now.
        moment::end();
        let since = clock::rfc3339(clock::now());
        let holder = Holder { pid: std::process::id(), command: command.to_owned(), since };
        file.set_len(0).and_then(|()| file.rewind()).context("writing the session lock")?;
        let mut line = serde_json::to_vec(&holder).context("writing the session lock")?;
        line.push(b'\n');
        file.write_all(&line).context("writing the session lock")?;
        Ok(Self { holder, _file: file })
    }

    /// The holder: this process.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// Returns the live process that holds the lock of a session, if any. Does not keep the lock.
    pub(super) fn held(path: &Path) -> Option<Option<Holder>> {
        let mut file = File::open(path).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(read(&mut file)),
            // The lock is free, or the file system does not support locks.
            _ => None,
        }
    }
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
        let held = SessionLock::take(&path, &name, "git cowork new").unwrap();
        let error = SessionLock::take(&path, &name, "x").unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&std::process::id().to_string()) && text.contains("new"), "{text}");
        drop(held);
        SessionLock::take(&path, &name, "x").unwrap();
    }

    #[test]
    fn reading_the_holder_does_not_take_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let name: SessionName = "todo".parse().unwrap();
        assert_eq!(SessionLock::held(&path), None);
        assert!(!path.exists());
        let lock = SessionLock::take(&path, &name, "git cowork new").unwrap();
        let holder = SessionLock::held(&path);
        assert_eq!(holder, Some(Some(lock.holder().clone())));
        drop(lock);
        // The lock file still has the holder's name.
        assert_eq!(SessionLock::held(&path), None);
        SessionLock::take(&path, &name, "x").unwrap();
    }
}
