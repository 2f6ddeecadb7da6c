//! What is missing, and what comes of it for a check.

use std::path::PathBuf;

use crate::error::Error;

/// What one project lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The package manager and its files: `cargo: Cargo.lock, Cargo.toml`.
    pub named: String,
    /// Why it was not fetched, as the end of a sentence.
    pub why: String,
    /// What a person types to fetch it, to be pasted where this program was started.
    pub by_hand: String,
    /// Nobody was there to be asked: a person can still decide.
    pub undecided: bool,
    pub(super) manager: &'static str,
    pub(super) place: PathBuf,
}

impl Missing {
    /// In words for a model.
    pub(super) fn sentence(&self) -> String {
        format!(
            "dependencies were not fetched ({}) because {}; commands have no network, so only what is \
             installed can be used",
            self.named, self.why
        )
    }
}

/// Where something is missing that a person could still decide about, and none is there: what is
/// missing, and the ways on.
pub fn undecided(missing: &[Missing]) -> Option<Error> {
    let open: Vec<&Missing> = missing.iter().filter(|missing| missing.undecided).collect();
    if open.is_empty() {
        return None;
    }
    let named: Vec<&str> = open.iter().map(|missing| missing.named.as_str()).collect();
    let text = format!(
        "dependencies are missing ({}): checks need them, commands have no network, and nobody is at \
         a terminal to be asked",
        named.join("; ")
    );
    let error = open.iter().fold(Error::repository(text), |error, missing| {
        error.hint(format!("fetch them: {}", missing.by_hand))
    });
    Some(
        error
            .hint("or have them fetched: git config --global cowork.sandbox.fetch always")
            .hint("or do without, and without the checks that need them: git config --global cowork.sandbox.fetch never"),
    )
}

/// Whether what a command needs from outside is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependencies {
    /// It is.
    Present,
    /// Something is missing that the command may need or not: that it passes counts.
    PartlyMissing,
    /// What it needs is missing: whatever it says is about that.
    Missing,
}
