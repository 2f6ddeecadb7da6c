//! The note in J about what the project's commands said before the session's first change.

use serde::{Deserialize, Serialize};

use super::check_run::CheckRun;
use crate::git::Oid;
use crate::pipeline::run::Run;

/// Name of the note in J about what failed before the session's first change.
pub(crate) const BEFORE: &str = "before.json";

/// What the project's commands said before anything was changed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Before {
    /// The session's id; its name may be taken again.
    pub(crate) session: String,
    /// The tree.
    pub(crate) tree: Oid,
    /// What was to be run.
    pub(crate) commands: Vec<String>,
    /// What was run.
    pub(crate) runs: Vec<CheckRun>,
}

/// The note, if there is one that this version understands: without it every failure is new.
pub(crate) fn before_note(run: &Run<'_>) -> Option<Before> {
    let note: Option<Before> = run.env.state.note(BEFORE).ok().flatten();
    note.filter(|note| note.session == run.session.file.id)
}
