//! What a person says to the actor while it works.

/// Something a person said that the actor does not know yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When it was said, by which whoever keeps it knows it again.
    pub at: String,
    /// The person's words.
    pub text: String,
    /// What the model is told.
    pub told: String,
}

/// Whoever keeps what a person says.
pub trait Notes {
    /// What waits, the oldest first.
    ///
    /// # Errors
    /// It cannot be put into words.
    fn waiting(&self) -> anyhow::Result<Vec<Note>>;

    /// These are in the conversation and in its transcript: they are recorded, and wait no longer.
    ///
    /// # Errors
    /// They cannot be recorded.
    fn told(&self, notes: &[Note]) -> anyhow::Result<()>;
}
