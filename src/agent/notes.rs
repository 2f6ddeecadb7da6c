//! Notes that the user types to the actor while it works.

/// A note that the actor has not yet received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserNote {
    /// When it was typed; this time identifies the note.
    pub at: String,
    /// The user's words.
    pub text: String,
    /// The text sent to the model.
    pub told: String,
}

/// The store of the user's notes.
pub trait Notes {
    /// Returns the waiting notes, oldest first.
    ///
    /// # Errors
    /// The text for the model cannot be composed.
    fn waiting(&self) -> anyhow::Result<Vec<UserNote>>;

    /// Records that these notes are now in the conversation and in its transcript, so that they are
    /// no longer waiting.
    ///
    /// # Errors
    /// They cannot be recorded.
    fn mark_sent(&self, notes: &[UserNote]) -> anyhow::Result<()>;
}
