//! The error type, whose kind decides the exit code; callers never match on text.
//!
//! Functions return [`anyhow::Result`]; if a caller or the exit code depends on the cause, the
//! source is an [`Error`]. Messages are lower-case without a final period and say what failed and
//! why; each next step is a hint on its own line.

use std::fmt;

/// The kind of a failure, which decides the exit code (see the table in `docs/commands.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The session failed: iterations exhausted, checks failing, aborted. Exit 1.
    Failed,
    /// The command line or the idea is invalid. Exit 2.
    Usage,
    /// A person must act first. Exit 3.
    Waiting,
    /// A problem with the model, credentials, configuration or budget. Exit 4.
    Model,
    /// The repository is not ready for the operation. Exit 5.
    Repository,
    /// Interrupted by a signal. Exit 130.
    Interrupted,
}

impl Kind {
    /// The process exit code.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Waiting => 3,
            Self::Model => 4,
            Self::Repository => 5,
            Self::Interrupted => 130,
        }
    }
}

/// The subject of a failure, for callers that handle it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorSubject {
    /// Any other subject.
    #[default]
    Other,
    /// HEAD or the session's branch is not where the run left it.
    Moved,
    /// A branch is named like a session's and holds none.
    NoSession,
}

/// A failure with its kind and hints.
#[derive(Debug)]
pub struct Error {
    /// Decides the exit code.
    pub kind: Kind,
    /// The subject of the failure.
    pub about: ErrorSubject,
    /// What failed and why.
    pub message: String,
    /// The next steps, one per line.
    pub hints: Vec<String>,
}

impl Error {
    /// Creates an error of this kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, about: ErrorSubject::Other, message: message.into(), hints: Vec::new() }
    }

    /// The session failed (exit 1).
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(Kind::Failed, message)
    }

    /// The command line is invalid (exit 2).
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// A person must act first (exit 3).
    pub fn waiting(message: impl Into<String>) -> Self {
        Self::new(Kind::Waiting, message)
    }

    /// A problem with the model or configuration (exit 4).
    pub fn model(message: impl Into<String>) -> Self {
        Self::new(Kind::Model, message)
    }

    /// The repository is not ready for the operation (exit 5).
    pub fn repository(message: impl Into<String>) -> Self {
        Self::new(Kind::Repository, message)
    }

    /// HEAD or the session's branch is not where the run left it (exit 5).
    pub fn moved(message: impl Into<String>) -> Self {
        Self { about: ErrorSubject::Moved, ..Self::repository(message) }
    }

    /// Adds a line with a next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Returns the kind of an error, wherever it is in its chain; an unclassified error (I/O, full
/// disk) is a problem of the environment, so exit 5.
pub fn kind_of(error: &anyhow::Error) -> Kind {
    error.downcast_ref::<Error>().map_or(Kind::Repository, |e| e.kind)
}

/// Returns the subject of an error, found like [`kind_of`].
pub fn about(error: &anyhow::Error) -> ErrorSubject {
    error.downcast_ref::<Error>().map_or(ErrorSubject::Other, |e| e.about)
}

/// Returns the hints of an error, if any.
pub fn hints_of(error: &anyhow::Error) -> &[String] {
    error.downcast_ref::<Error>().map_or(&[], |e| e.hints.as_slice())
}

/// Adds a line with a next step to an error, after its other ones.
pub fn with_hint(error: anyhow::Error, hint: impl Into<String>) -> anyhow::Error {
    let mut error_with_hint = Error::new(kind_of(&error), format!("{error:#}"));
    error_with_hint.about = about(&error);
    error_with_hint.hints = hints_of(&error).to_vec();
    error_with_hint.hint(hint).into()
}

/// True if a full disk (or quota) caused the error: in a system call, or reported by git.
pub fn is_disk_full(error: &anyhow::Error) -> bool {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    let by_kind = error.chain().any(|cause| {
        let io = cause.downcast_ref::<std::io::Error>();
        io.is_some_and(|io| matches!(io.kind(), StorageFull | QuotaExceeded))
    });
    by_kind || says_disk_full(&format!("{error:#}"))
}

/// True if a message of git or the system reports a full disk (or quota).
pub fn says_disk_full(text: &str) -> bool {
    ["No space left on device", "Disk quota exceeded", "Out of diskspace"]
        .iter()
        .any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn a_full_disk_is_recognized() {
        let io = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert!(is_disk_full(&anyhow::Error::from(io).context("writing a")));
        for git in [
            "git commit failed: unable to write a: No space left on device",
            "git update-index failed: sha1 file 'i' write error. Out of diskspace",
        ] {
            assert!(is_disk_full(&Error::repository(git).into()), "{git}");
        }
        assert!(!is_disk_full(&Error::repository("git commit failed: exit 1").into()));
    }

    #[test]
    fn the_kind_survives_context() {
        let error: anyhow::Error = Error::waiting("a review").hint("answer it").into();
        let error = Err::<(), _>(error).context("resuming").unwrap_err();
        assert_eq!(kind_of(&error), Kind::Waiting);
        assert_eq!(hints_of(&error), ["answer it"]);
    }
}
