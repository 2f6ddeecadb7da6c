//! What is not done for a model, and why.

/// Why a [`Refusal`] was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// Outside what a model may touch. Counts towards asking a person.
    Guard,
    /// A person's uncommitted work, or a file only a person changes.
    Protected,
    /// Could not be done: no such file, no match, a full disk.
    Failed,
}

/// Something that was not done, and why, in words for a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What kind.
    pub kind: RefusalKind,
    /// What was refused, why, and what to do instead.
    pub message: String,
}

impl Refusal {
    /// Outside what a model may touch.
    pub fn guard(message: impl Into<String>) -> Self {
        Self { kind: RefusalKind::Guard, message: message.into() }
    }

    /// A person's.
    pub fn protected(message: impl Into<String>) -> Self {
        Self { kind: RefusalKind::Protected, message: message.into() }
    }

    /// Could not be done.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { kind: RefusalKind::Failed, message: message.into() }
    }
}
