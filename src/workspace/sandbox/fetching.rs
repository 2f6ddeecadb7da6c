//! Prompts and messages about fetching a project's dependencies.

/// Prompts and messages about fetching dependencies.
pub trait Fetching {
    /// Asks whether this may be fetched. Fails only if the prompt was interrupted.
    fn may_fetch(&self, wanted: &Wanted) -> anyhow::Result<MayFetch>;
    /// Reports that fetching failed; it is not retried in this run.
    fn failed(&self, wanted: &Wanted, why: &str);
    /// Shows a message to the user; `bad` if something will not work.
    fn tell(&self, text: &str, bad: bool);
}

/// An answer to [`Fetching::may_fetch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MayFetch {
    /// Fetching is allowed.
    Yes,
    /// Fetching is not allowed; the reason completes a sentence: `… says never`.
    No(String),
    /// Fetching needs a person's consent, and nobody is there.
    NobodyThere,
}

/// A fetch to be approved.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The exact commands.
    pub command: String,
    /// The package manager and its files: `cargo: Cargo.lock, Cargo.toml`.
    pub named: String,
    /// The command with which the user can fetch by hand, using their own credentials.
    pub by_hand: String,
    /// SHA-256 of the files in `named`, one hash per project.
    pub hashes: Vec<String>,
}
