//! Who is asked about fetching what a project needs from outside.

/// Asks and hears about fetching.
pub trait Fetching {
    /// Whether this may be fetched. Fails only when the question was interrupted.
    fn may_fetch(&self, wanted: &Wanted) -> anyhow::Result<MayFetch>;
    /// Hears that it was tried and failed: it is not tried again in this run.
    fn failed(&self, wanted: &Wanted, why: &str);
    /// Hears what happens, for a person; `bad` when something does not work because of it.
    fn tell(&self, text: &str, bad: bool);
}

/// An answer to [`Fetching::may_fetch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MayFetch {
    /// It may.
    Yes,
    /// It may not, and why, as the end of a sentence: `… says never`.
    No(String),
    /// It may where a person agrees, and none is there.
    NobodyThere,
}

/// What is to be fetched.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The exact commands.
    pub command: String,
    /// The package manager and its files: `cargo: Cargo.lock, Cargo.toml`.
    pub named: String,
    /// What a person types to do it with their own logins.
    pub by_hand: String,
    /// SHA-256 of these files, one a project.
    pub hashes: Vec<String>,
}
