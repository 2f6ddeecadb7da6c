//! A change request and what it may touch: which records it began with, what has become of them,
//! and which files lie outside the scope its triage named.

use crate::artifact::check::{self, Baseline, Report, UNPLANNED};
use crate::artifact::{Artifact, Files as _, Origin, Store, Task};
use crate::git::Git;
use crate::pipeline::Pipeline;
use crate::pipeline::change::record_diff::{self, Became, Change};
use crate::pipeline::history::rewind::Asked;
use crate::pipeline::limits::Wish;
use crate::session::{CommittedFiles, Session, changes_within, own_tasks};
use crate::stage::Stage;
use crate::tool::GoBack;

/// The records a change edits in place.
pub(crate) const RECORDS: [Artifact; 4] = [
    Artifact::Requirements,
    Artifact::Features,
    Artifact::DesignSpec,
    Artifact::ImplementationPlan,
];

/// What a change request began with; `None` for a session of its own.
///
/// # Errors
/// The start commit cannot be read.
pub(crate) fn baseline(git: &Git, session: &Session) -> anyhow::Result<Option<Baseline>> {
    let Some(before) = parents_files(git, session) else {
        // Changes it has taken in were held to the limits by themselves.
        return with_taken_in(git, session, None);
    };
    let mut baseline = Baseline::of(&Store::new(&before))?;
    baseline.plans = session.scope.is_none_or(|scope| scope.names(Stage::Plan));
    // What it has taken in since is not its own either.
    with_taken_in(git, session, Some(baseline))
}

/// The ids that other sessions of the family have brought in beside these.
fn with_taken_in(
    git: &Git,
    session: &Session,
    mut baseline: Option<Baseline>,
) -> anyhow::Result<Option<Baseline>> {
    for (_, entry) in changes_within(git, session)? {
        let theirs = CommittedFiles::new(git, &session.name, &entry.commit);
        let theirs = Baseline::of(&Store::new(&theirs))?;
        match &mut baseline {
            Some(baseline) => baseline.ids.extend(theirs.ids),
            None => baseline = Some(theirs),
        }
    }
    Ok(baseline)
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
    pub(crate) fn baseline_of_change(&self) -> anyhow::Result<Option<Baseline>> {
        baseline(self.env.git, &self.session)
    }

    /// What has to hold of the idea's document where the change has touched it.
    pub(crate) fn report_on_idea(&self) -> anyhow::Result<Report> {
        let Some(before) = parents_files(self.env.git, &self.session) else {
            return Ok(Report::default());
        };
        let files = self.files();
        let touched = before.read(Artifact::Idea)? != files.read(Artifact::Idea)?;
        Ok(if touched { check::idea(&Store::new(&files), false) } else { Report::default() })
    }

    /// What the change has made of these records so far; none in a session of its own.
    pub(crate) fn changes_of(&self, artifacts: &[Artifact]) -> anyhow::Result<Option<Vec<Change>>> {
        let Some(before) = parents_files(self.env.git, &self.session) else { return Ok(None) };
        let known = self.baseline_of_change()?.unwrap_or_default();
        let mut changes = record_diff::changes(&before, &self.files(), artifacts)?;
        changes.retain(|change| change.became != Became::Added || !known.has(&change.id));
        // What another session made of a record is not this change's, also where it was merged in.
        for (_, entry) in changes_within(self.env.git, &self.session)? {
            let theirs = CommittedFiles::new(self.env.git, &self.session.name, &entry.commit);
            let theirs = record_diff::changes(&before, &theirs, artifacts)?;
            changes.retain(|change| change.became == Became::Added || !theirs.contains(change));
        }
        Ok(Some(changes))
    }

    /// Before code is written for a change, and money spent on it: what it adds to the records.
    pub(crate) fn tell_change_so_far(&self) -> anyhow::Result<()> {
        if let Some(changes) = self.changes_of(&RECORDS)?.filter(|changes| !changes.is_empty()) {
            self.note(format!("the change so far: {}", record_diff::signs(&changes)));
        }
        Ok(())
    }

    /// Where the prd adds what the scope leaves no room for, and has been told so before: back to
    /// triage, if whoever decides agrees.
    pub(crate) fn needs_wider_scope(
        &self,
        report: &Report,
        iteration: u32,
    ) -> anyhow::Result<Option<Wish>> {
        let Some(finding) = report.findings.iter().find(|f| f.code == UNPLANNED) else {
            return Ok(None);
        };
        let told = self.feedback_so_far()?.iter().any(|entry| {
            entry.stage == Stage::Prd
                && entry.from == Origin::Validator
                && entry.details == finding.details
        });
        let wish = GoBack {
            stage: Stage::Triage,
            reason: format!("the scope of this change is too narrow: {}", finding.details),
        };
        let (by, stage) = (Origin::Validator, Stage::Prd);
        Ok(told.then_some(Wish::GoBack(Asked { by, stage, iteration, wish })))
    }

    /// The top-level tasks this session added: all of them, but in a change request.
    pub(crate) fn own_tasks(&self) -> anyhow::Result<Vec<Task>> {
        let files = self.files();
        own_tasks(self.env.git, &self.session, Store::new(&files).plan()?)
    }

    /// Files the change has touched and neither its triage nor a task of its own named.
    /// Where triage named no file, none is outside.
    pub(crate) fn outside_scope(&self, touched: &[String]) -> anyhow::Result<Vec<String>> {
        let files = self.files();
        let Some(change) = Store::new(&files).change_request()?.filter(|_| self.session.is_patch())
        else {
            return Ok(Vec::new());
        };
        let mut scope = change.affected_files;
        if scope.is_empty() {
            return Ok(Vec::new());
        }
        for task in self.own_tasks()? {
            scope.extend(task.files().map(str::to_owned));
        }
        let outside = touched.iter().filter(|path| !covers(&scope, path));
        Ok(outside.cloned().collect())
    }

    /// Warns once of each file outside the change's scope.
    pub(crate) fn warn_outside_scope(&self, touched: &[String]) -> anyhow::Result<()> {
        for path in self.outside_scope(touched)? {
            self.warn_once(format!(
                "{path} is outside the scope of this change (affected_files in change_request.json)"
            ));
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
