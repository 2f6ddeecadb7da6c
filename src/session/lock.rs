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

/// Who holds a session's lock, as the lock file has it.
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

/// Held for as long as it lives; the kernel lets go when the process dies, however it dies.
#[derive(Debug)]
pub struct SessionLock {
    holder: Holder,
    _file: File,
}

/// How often the lock is tried before another process is believed to hold it, and the time between:
/// whoever only asks for the holder has the lock for some microseconds.
const TRIES: (u32, Duration) = (5, Duration::from_millis(10));

impl SessionLock {
    /// Takes the lock of a session.
    ///
    /// # Errors
    /// Exit 5 naming the holder when another process has it.
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
        let since = clock::rfc3339(clock::now());
        let holder = Holder { pid: std::process::id(), command: command.to_owned(), since };
        file.set_len(0).and_then(|()| file.rewind()).context("writing the session lock")?;
        serde_json::to_writer(&file, &holder).context("writing the session lock")?;
        file.write_all(b"\n").context("writing the session lock")?;
        Ok(Self { holder, _file: file })
    }

    /// Who holds it: this process.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// Whether a living process holds the lock of a session, and which. Takes nothing away from it.
    pub(super) fn held(path: &Path) -> Option<Option<Holder>> {
        let mut file = File::open(path).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(read(&mut file)),
            // Nobody has it; or the file system knows no locks, and then nobody can tell.
            _ => None,
        }
    }
}

/// The holder that the file names; none where another version of this program wrote it.
fn read(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_taker_is_told_who_holds_it() {
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
    fn who_only_asks_is_told_and_takes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let name: SessionName = "todo".parse().unwrap();
        assert_eq!(SessionLock::held(&path), None);
        assert!(!path.exists());
        let lock = SessionLock::take(&path, &name, "git cowork new").unwrap();
        let holder = SessionLock::held(&path);
        assert_eq!(holder, Some(Some(lock.holder().clone())));
        drop(lock);
        // Its file still names it.
        assert_eq!(SessionLock::held(&path), None);
        SessionLock::take(&path, &name, "x").unwrap();
    }
}
