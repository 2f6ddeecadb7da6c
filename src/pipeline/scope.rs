//! A change request and what it may touch: which records it began with, what has become of them,
//! and which files lie outside the scope its triage named.

use super::Pipeline;
use super::delta::{self, Change};
use crate::artifact::check::Baseline;
use crate::artifact::{Artifact, Store, Task};
use crate::git::Git;
use crate::session::{CommittedFiles, Session};
use crate::stage::Stage;

/// The records a change edits in place.
const RECORDS: [Artifact; 4] = [
    Artifact::Requirements,
    Artifact::Features,
    Artifact::DesignSpec,
    Artifact::ImplementationPlan,
];

/// What a change request began with; `None` for a session of its own.
///
/// # Errors
/// The start commit cannot be read.
pub(super) fn baseline(git: &Git, session: &Session) -> anyhow::Result<Option<Baseline>> {
    let Some(before) = parents_files(git, session) else { return Ok(None) };
    let baseline = Baseline::of(&Store::new(&before))?;
    let plans = session.scope.is_none_or(|scope| scope.names(Stage::Plan));
    Ok(Some(Baseline { plans, ..baseline }))
}

/// The artifacts as a change request found them.
fn parents_files(git: &Git, session: &Session) -> Option<CommittedFiles> {
    let start = session.history.first().filter(|_| session.is_patch())?;
    Some(CommittedFiles::new(git, &session.name, &start.commit))
}

/// True for a path that is one of these, or lies in a folder that is.
fn covers(scope: &[String], path: &str) -> bool {
    scope.iter().any(|item| {
        let item = item.trim_start_matches("./").trim_end_matches('/');
        path == item || path.strip_prefix(item).is_some_and(|rest| rest.starts_with('/'))
    })
}

impl Pipeline<'_> {
    pub(super) fn baseline_of_change(&self) -> anyhow::Result<Option<Baseline>> {
        baseline(self.env.git, &self.session)
    }

    /// What the change has made of these records so far; none in a session of its own.
    pub(super) fn changes_of(&self, artifacts: &[Artifact]) -> anyhow::Result<Option<Vec<Change>>> {
        let Some(before) = parents_files(self.env.git, &self.session) else { return Ok(None) };
        delta::changes(&before, &self.files(), artifacts).map(Some)
    }

    /// Before code is written for a change, and money spent on it: what it adds to the records.
    pub(super) fn tell_change_so_far(&self) -> anyhow::Result<()> {
        if let Some(changes) = self.changes_of(&RECORDS)?.filter(|changes| !changes.is_empty()) {
            self.note(format!("the change so far: {}", delta::signs(&changes)));
        }
        Ok(())
    }

    /// The top-level tasks this session added: all of them, but in a change request.
    pub(super) fn own_tasks(&self) -> anyhow::Result<Vec<Task>> {
        let files = self.files();
        let baseline = self.baseline_of_change()?.unwrap_or_default();
        let tasks = Store::new(&files).plan()?.tasks.into_iter();
        Ok(tasks.filter(|task| task.is_top_level() && !baseline.has(&task.id)).collect())
    }

    /// Files the change has touched and its triage did not name, nor a task of its own promise.
    /// Where triage named no file, none is outside.
    pub(super) fn outside_scope(&self, touched: &[String]) -> anyhow::Result<Vec<String>> {
        let files = self.files();
        let Some(change) = Store::new(&files).change_request()?.filter(|_| self.session.is_patch())
        else {
            return Ok(Vec::new());
        };
        let mut scope = change.affected_files;
        if scope.is_empty() {
            return Ok(Vec::new());
        }
        scope.extend(self.own_tasks()?.into_iter().flat_map(|task| task.files_to_create));
        let outside = touched.iter().filter(|path| !covers(&scope, path));
        Ok(outside.cloned().collect())
    }

    /// Warns once of each file outside the change's scope.
    pub(super) fn warn_outside_scope(&self, touched: &[String]) -> anyhow::Result<()> {
        for path in self.outside_scope(touched)? {
            if self.outside.borrow_mut().insert(path.clone()) {
                self.warn(format!(
                    "{path} is outside the scope of this change (affected_files in change_request.json)"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn a_scope_names_files_and_folders() {
        let scope = ["src/cli.rs".to_owned(), "./lib/".to_owned()];
        assert!(covers(&scope, "src/cli.rs") && covers(&scope, "lib/a/b.sh"));
        assert!(!covers(&scope, "src/cli.rs.bak") && !covers(&scope, "library.sh"));
    }
}
