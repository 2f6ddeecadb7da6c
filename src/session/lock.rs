//! One run per session at a time: an advisory lock that names its holder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

use anyhow::Context as _;

use super::SessionName;
use crate::clock;
use crate::error::Error;

/// Held for as long as it lives; the kernel lets go when the process dies, however it dies.
#[derive(Debug)]
pub struct SessionLock {
    _file: File,
}

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
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let holder = holder.trim();
                let who = if holder.is_empty() { "another process" } else { holder };
                return Err(Error::repository(format!(
                    "session '{name}' is locked: {who} is running"
                ))
                .hint("wait for it to end, or stop that process")
                .into());
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("locking {}", path.display()));
            }
        }
        file.set_len(0).and_then(|()| file.rewind()).context("writing the session lock")?;
        let since = clock::rfc3339(clock::now());
        writeln!(file, "process {} ({command}, since {since})", std::process::id())
            .context("writing the session lock")?;
        Ok(Self { _file: file })
    }
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
}
