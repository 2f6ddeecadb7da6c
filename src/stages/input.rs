//! The input of a row's functions: the draft, and git-cowork's own data.

use std::collections::BTreeMap;

use crate::artifact::check::{Baseline, CodeChanges, Report, Sizes};
use crate::artifact::{Store, Task};

/// Information about the files that tasks name.
pub trait TaskFiles {
    /// True if a path exists now.
    fn exist(&self, path: &str) -> bool;
    /// True if a path exists or existed, so that a task may name it.
    fn known(&self, path: &str) -> bool;
    /// The ignore rule for each of these paths that git ignores.
    fn ignored(&self, paths: &[&str]) -> BTreeMap<String, String>;
    /// What the session has changed outside `.cowork`.
    fn code(&self) -> &CodeChanges;
}

/// The input of checks.
pub struct CheckInput<'a> {
    /// The draft.
    pub store: Store<'a>,
    /// The limits on numbers of records.
    pub sizes: Sizes,
    /// The state a change request started with.
    pub baseline: Option<&'a Baseline>,
    /// The project's files with the draft.
    pub files: &'a dyn TaskFiles,
    /// The results of the project's commands on this tree.
    pub evidence: Option<Report>,
    /// Whether this is the stage's draft, which its author can still change.
    pub drafting: bool,
}

/// A change request's changes to the stage's records.
pub struct Changed {
    /// `+1 requirement, ~1 component`; empty if nothing differs.
    pub signs: String,
    /// The ids of the records.
    pub ids: Vec<String>,
}

/// The data for the message of a stage's commit.
pub struct Facts<'a> {
    /// The session's artifacts.
    pub store: Store<'a>,
    /// The session's title.
    pub title: &'a str,
    /// The number of files changed outside `.cowork` since the session began.
    pub files: usize,
    /// A short result of the tests, if any command was run.
    pub tests: Option<String>,
    /// One line for each command that was run.
    pub runs: Vec<String>,
    /// A change request's changes to the stage's records.
    pub changes: Option<Changed>,
    /// Top-level tasks the session added; all tasks if it is not a change request.
    pub own_tasks: &'a [Task],
}

impl Facts<'_> {
    /// True if the message names this record; in a change request it names only changed records.
    pub fn names(&self, id: &str) -> bool {
        self.changes.as_ref().is_none_or(|changes| changes.ids.iter().any(|known| known == id))
    }
}

/// git-cowork's data about the session, for the parts of a document it writes itself.
pub trait Known {
    /// The report with the results of git-cowork's checks.
    fn with_checked(&self, report: &str) -> anyhow::Result<String>;
    /// True if nothing failed and every criterion has its evidence: a passed test, or a review of
    /// the code.
    fn all_is_shown(&self) -> anyhow::Result<bool>;
    /// True if the actor has described the finished code.
    fn has_summary(&self) -> anyhow::Result<bool>;
    /// A title and a summary from the session's commits and records.
    fn summary(&self) -> anyhow::Result<String>;
    /// The actor's text with the report's generated sections added.
    fn with_story(&self, report: &str) -> anyhow::Result<String>;
}
