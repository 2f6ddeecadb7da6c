//! Missing dependencies, and their effect on checks.

use std::path::PathBuf;

use crate::error::Error;

/// The missing dependencies of one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The package manager and its files: `cargo: Cargo.lock, Cargo.toml`.
    pub named: String,
    /// Why they were not fetched; completes a sentence.
    pub why: String,
    /// Command with which the user can fetch them, to paste in the directory where git-cowork was
    /// started.
    pub by_hand: String,
    /// True if nobody was there to approve fetching, so that a person can still decide.
    pub undecided: bool,
    pub(super) manager: &'static str,
    pub(super) place: PathBuf,
}

impl Missing {
    /// Describes the missing dependencies to a model.
    pub(super) fn sentence(&self) -> String {
        format!(
            "dependencies were not fetched ({}) because {}; commands have no network, so only what is \
             installed can be used",
            self.named, self.why
        )
    }
}

/// Returns an error with the possible next steps if a person could still approve fetching missing
/// dependencies, but nobody was there.
pub fn undecided(missing: &[Missing]) -> Option<Error> {
    let open: Vec<&Missing> = missing.iter().filter(|missing| missing.undecided).collect();
    if open.is_empty() {
        return None;
    }
    let named: Vec<&str> = open.iter().map(|missing| missing.named.as_str()).collect();
    let text = format!(
        "dependencies are missing ({}): checks need them, commands have no network, and nobody is at \
         a terminal to approve fetching them",
        named.join("; ")
    );
    let error = open.iter().fold(Error::repository(text), |error, missing| {
        error.hint(format!("fetch them: {}", missing.by_hand))
    });
    Some(
        error
            .hint("or have them fetched: git config --global cowork.sandbox.fetch always")
            .hint("or skip them and the checks that need them: git config --global cowork.sandbox.fetch never"),
    )
}

/// State of the dependencies that a command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependencies {
    /// Complete.
    Present,
    /// Some are missing that the command may need: its success counts, its failure does not.
    PartlyMissing,
    /// Some that it needs are missing: its result only reflects that.
    Missing,
}
