//! Refusals: requests of a model that were denied, with the reason.

/// Why a [`Refusal`] was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// A request for a path or command that the model may not use. After a number of these, a
    /// person is asked.
    Guard,
    /// A person's uncommitted work, or a file only a person changes.
    Protected,
    /// Could not be done: no such file, no match, a full disk.
    Failed,
}

/// A denied request and the reason, worded for a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The kind of refusal.
    pub kind: RefusalKind,
    /// What was refused, why, and what to do instead.
    pub message: String,
}

impl Refusal {
    /// Outside what a model may touch.
    pub fn guard(message: impl Into<String>) -> Self {
        Self { kind: RefusalKind::Guard, message: message.into() }
    }

    /// Refuses a private file.
    pub(crate) fn private(path: &str) -> Self {
        Self::protected(format!(
            "{path} is private: the person you work for keeps it from every model, tool and command; \
             do without it"
        ))
    }

    /// Protected: a person's work or file.
    pub fn protected(message: impl Into<String>) -> Self {
        Self { kind: RefusalKind::Protected, message: message.into() }
    }

    /// Failed: could not be done.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { kind: RefusalKind::Failed, message: message.into() }
    }
}
