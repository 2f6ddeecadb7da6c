//! What the functions of a row are given: the draft, and what the program knows beside it.

use std::collections::BTreeMap;

use crate::artifact::check::{Baseline, CodeChanges, Report, Sizes};
use crate::artifact::{Store, Task};

/// Whether the files that tasks name are there.
pub trait TaskFiles {
    /// Whether a path is there now.
    fn exist(&self, path: &str) -> bool;
    /// Whether a path is or was there, so that a task may speak of it.
    fn known(&self, path: &str) -> bool;
    /// The rules by which git ignores paths, of those that it ignores.
    fn ignored(&self, paths: &[&str]) -> BTreeMap<String, String>;
    /// What the session has changed outside `.cowork`.
    fn code(&self) -> &CodeChanges;
}

/// What checks look at.
pub struct CheckInput<'a> {
    /// The draft.
    pub store: Store<'a>,
    /// How much there may be.
    pub sizes: Sizes,
    /// What a change request began with.
    pub baseline: Option<&'a Baseline>,
    /// The project's files with the draft.
    pub files: &'a dyn TaskFiles,
    /// What running the project's commands on this tree has found.
    pub evidence: Option<Report>,
    /// It is the stage's draft, which its author can still change.
    pub drafting: bool,
}

/// What a change request made of the stage's records.
pub struct Changed {
    /// `+1 requirement, ~1 component`; empty when nothing differs.
    pub signs: String,
    /// The ids of the records.
    pub ids: Vec<String>,
}

/// What the words of a stage's commit are made from.
pub struct Facts<'a> {
    /// The session's artifacts.
    pub store: Store<'a>,
    /// The session's title.
    pub title: &'a str,
    /// Files changed outside `.cowork` since the session began.
    pub files: usize,
    /// How the tests ended, in a few words, where something was run.
    pub tests: Option<String>,
    /// A line for each command that was run.
    pub runs: Vec<String>,
    /// What a change request made of the stage's records.
    pub changes: Option<Changed>,
    /// Top-level tasks the session added: all but in a change request.
    pub own_tasks: &'a [Task],
}

impl Facts<'_> {
    /// Whether a record is to be named: in a change request, those it has changed.
    pub fn names(&self, id: &str) -> bool {
        self.changes.as_ref().is_none_or(|changes| changes.ids.iter().any(|known| known == id))
    }
}

/// What the program knows of the session, for the parts of a document it writes itself.
pub trait Known {
    /// The report with what the program has checked.
    fn with_checked(&self, report: &str) -> anyhow::Result<String>;
    /// Whether nothing failed and every criterion has its evidence: a test that has shown it, else a
    /// review of the code.
    fn all_is_shown(&self) -> anyhow::Result<bool>;
    /// Whether the actor has said in words what the code does now.
    fn has_summary(&self) -> anyhow::Result<bool>;
    /// A title and a summary from what the session's commits and records say.
    fn summary(&self) -> anyhow::Result<String>;
    /// The report around what its actor wrote.
    fn with_story(&self, report: &str) -> anyhow::Result<String>;
}
