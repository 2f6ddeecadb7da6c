//! The note in the state directory with the results of the project's commands before the session's
//! first change.

use serde::{Deserialize, Serialize};

use super::check_run::CheckRun;
use crate::git::Oid;
use crate::pipeline::run::Run;

/// The name of that note.
pub(crate) const BEFORE: &str = "before.json";

/// The results of the project's commands before anything was changed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Before {
    /// The session's id; its name may be reused.
    pub(crate) session: String,
    /// The tree they ran on.
    pub(crate) tree: Oid,
    /// The commands that were to run.
    pub(crate) commands: Vec<String>,
    /// Their runs.
    pub(crate) runs: Vec<CheckRun>,
}

/// The note, if there is one that this version can read. Without it, every failure is new.
pub(crate) fn before_note(run: &Run<'_>) -> Option<Before> {
    let note: Option<Before> = run.env.state.note(BEFORE).ok().flatten();
    note.filter(|note| note.session == run.session.file.id)
}
