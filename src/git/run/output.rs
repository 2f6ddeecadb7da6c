//! The result of a git child: its exit code, its output as text or paths, and its error messages.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::{Error, says_disk_full};
use crate::path_text::decoded;

/// The result of a finished child.
#[derive(Debug)]
pub struct Output {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error, with the output of hooks.
    pub stderr: String,
}

impl Output {
    /// True if the exit code is 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// True if a signal ended it, whatever it had done by then.
    pub fn killed(&self) -> bool {
        self.signal.is_some()
    }

    /// Standard output as text, undecodable bytes replaced.
    pub fn text(&self) -> String {
        lossy(&self.stdout)
    }

    /// The reason for a failure in git's words: its error lines without their label, otherwise the
    /// last lines that it printed.
    pub fn complaint(&self) -> String {
        let label = |line: &str| {
            ["fatal: ", "error: "].iter().find_map(|l| line.strip_prefix(l)).map(str::to_owned)
        };
        let mut lines: Vec<String> = Vec::new();
        for line in self.stderr.lines() {
            match (line.strip_prefix('\t'), lines.last_mut()) {
                // The files that the previous line refers to.
                (Some(path), Some(last)) => last.extend([" ", path]),
                _ => lines.extend(label(line)),
            }
        }
        if lines.is_empty() {
            let all: Vec<&str> = self.stderr.lines().filter(|l| !l.trim().is_empty()).collect();
            lines = all.iter().rev().take(3).rev().map(|l| l.trim().to_owned()).collect();
        }
        match (lines.is_empty(), self.code) {
            (false, _) => lines.join("; "),
            (true, Some(code)) => format!("exit {code}"),
            (true, None) => format!("signal {}", self.signal.unwrap_or_default()),
        }
    }
}

/// The signal that ended a process.
#[cfg(unix)]
pub(crate) fn signal_of(status: std::process::ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
pub(crate) fn signal_of(_status: std::process::ExitStatus) -> Option<i32> {
    None
}

/// Bytes as text, undecodable ones replaced.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    // Text that needs no replacement is checked much faster than it is replaced.
    match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// NUL-separated output as texts; for paths, see [`crate::path_text`].
pub(crate) fn nul_texts(bytes: &[u8]) -> impl Iterator<Item = String> {
    bytes.split(|&b| b == 0).filter(|item| !item.is_empty()).map(decoded)
}

/// A path as git printed it.
pub(crate) fn path_buf(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt as _;
        OsString::from_vec(bytes.to_vec()).into()
    }
    #[cfg(not(unix))]
    {
        lossy(bytes).into()
    }
}

/// What git says if the tables of references are locked; it does not name the file.
pub(crate) const TABLES_LOCKED: &str = "cannot lock references";

/// True if git complains about a lock file, or about a linked working tree that is just being
/// created (its `commondir` is empty for a moment). Some of these messages are recognized by the
/// file name alone, because a command that runs hooks prints them in the user's language.
pub(crate) fn names_a_busy_lock(stderr: &str) -> bool {
    let busy = |line: &str| line.contains(".lock'") && line.contains("File exists");
    // Git reads a working tree that another git process is just creating.
    let begun = |line: &str| line.contains("worktrees/") && line.contains("/commondir");
    let names_lock = |line: &str| {
        busy(line) || begun(line) || line.contains("/index.lock") || line.contains(TABLES_LOCKED)
    };
    // The error for a full disk names the lock as well, but waiting does not help.
    !says_disk_full(stderr) && stderr.lines().any(names_lock)
}

/// True if git complains about an object that is missing or broken.
pub(crate) fn names_damage(stderr: &str) -> bool {
    const COMPLAINTS: [&str; 5] =
        ["loose object", "object file", "bad object", "traverse parents", "unable to read tree"];
    COMPLAINTS.iter().any(|complaint| stderr.contains(complaint))
}

/// The error for a repository that has lost something.
pub(crate) fn damaged(message: String) -> Error {
    Error::repository(message)
        .hint("look for other damage: git fsck")
        .hint("get what a remote has of it: git fetch --refetch")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_not_a_busy_lock() {
        assert!(names_a_busy_lock("fatal: Unable to create '/r/.git/index.lock': File exists."));
        let full = "fatal: sha1 file '/r/.git/index.lock' write error. Out of diskspace";
        assert!(!names_a_busy_lock(full));
    }
}
