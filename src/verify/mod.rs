//! Checks a session in git: history, tags, documents, approvals and drafts; and the working tree
//! that has the session checked out: unreadable files, and files left by a run.

mod approvals;
mod approved;
mod both_sides;
mod collisions;
mod drafts;
mod history;
mod json_edits;
mod knowledge;
mod lost;
mod passed_pieces;
mod problem;
mod readable;
mod restore;
mod tags;
mod working_tree;

pub use approvals::{Approvals, StageApproval, words};
pub use approved::ChangedAfterApproval;
pub use both_sides::{follow_documents, unreadable_records};
pub use collisions::renumber_collisions;
pub use drafts::stray_drafts;
pub use json_edits::{put_back_committed_json, put_back_json};
pub use problem::{Problem, Severity};
pub use readable::{Broken, UNREADABLE, Unreadable, require_readable, unreadable_artifacts};
pub use restore::{restore_unreadable, rewrite_json};
pub use tags::wrong_tags;
pub use working_tree::{Beside, in_progress, working_tree};

use std::collections::BTreeSet;

use self::both_sides::AskedTree;
use self::working_tree::leads_to;
use crate::artifact::check::Baseline;
use crate::artifact::{Artifact, Store};
use crate::config::Config;
use crate::git::{self, Git};
use crate::record;
use crate::secret::Secrets;
use crate::session::{
    CommittedFiles, ProjectFiles, RefNames, Session, artifact_path, baseline, embedded_repository,
    merged_changes, wrong_changes, wrong_head,
};
use crate::shell_quote::quoted;
use crate::stage::Stage;
use crate::stages::{self, CheckInput, TABLE};

/// Checks sessions of a repository.
pub struct Verify<'a> {
    /// The repository.
    pub git: &'a Git,
    /// Ref names of sessions.
    pub refs: &'a RefNames,
    /// Configured limits and tags.
    pub config: &'a Config,
    /// The user's secrets.
    pub secrets: &'a Secrets,
    /// The working tree that has the session checked out, to be checked as well.
    pub there: Option<&'a Git>,
}

impl Verify<'_> {
    /// Finds all problems of a session.
    ///
    /// # Errors
    /// Git cannot be read.
    pub fn session(&self, session: &Session) -> anyhow::Result<Vec<Problem>> {
        let mut problems = history::problems(self.git, session)?;
        let (project, top) = (&self.config.project, self.git.top());
        if let Some(root) = record::tags::root(project, top, &session.name) {
            problems.extend(tags::problems(self.git, self.refs, session, &root)?);
        }
        problems.extend(self.documents(session)?);
        let approvals = Approvals { git: self.git, refs: self.refs, session };
        let changed = approvals.problems()?;
        let missing = approvals.missing(self.config, &changed)?;
        problems.extend(changed.into_iter().chain(missing));
        problems.extend(drafts::problems(self.git, session)?);
        problems.extend(drafts::with_secrets(self.git, session, self.secrets)?);
        problems.extend(knowledge::problems(self.git, session)?);
        if let Some(found) = embedded_repository(self.git, session)? {
            let folder = found.folder.clone();
            problems.push(
                Problem::new(session, "embedded-repository", folder.clone(), found.to_string())
                    .fix(format!("git rm -r {}", quoted(&folder))),
            );
        }
        if let Some(file) = wrong_head(self.git, session)? {
            let details = "does not match the session's commits";
            problems.push(Problem::to_remove(session, "kept-head-differs", &file, details));
        }
        if let Some(file) = wrong_changes(self.git, session)? {
            let details = "does not match the session's commits";
            problems.push(Problem::to_remove(session, "kept-changes-differ", &file, details));
        }
        Ok(problems)
    }

    /// Finds problems in the documents of a merged session. Its commits and tags are not checked,
    /// because they are on its own branch. A missing file is not a problem, because files may
    /// change as the project continues.
    ///
    /// # Errors
    /// Git cannot be read.
    pub fn merged(&self, session: &Session) -> anyhow::Result<Vec<Problem>> {
        let mut problems = self.documents(session)?;
        problems.retain(|problem| problem.code != "missing-file");
        problems.extend(knowledge::problems(self.git, session)?);
        Ok(problems)
    }

    /// Schemas, limits, coverage, cycles, drift: the checks of all completed stages, on the tip's
    /// tree.
    fn documents(&self, session: &Session) -> anyhow::Result<Vec<Problem>> {
        let files = CommittedFiles::new(self.git, &session.name, &session.tip);
        let store = Store::new(&files);
        let unreadable = unreadable_artifacts(self.git, session, self.there.map(Git::top))?;
        let there = leads_to(self.git, self.refs, session, self.there);
        let mut problems: Vec<_> =
            unreadable.iter().map(|one| one.problem(session, &there)).collect();
        if session.file.name != session.name.as_str() {
            let path = artifact_path(&session.name, Artifact::Session);
            let details = format!("{path} belongs to session '{}'", session.file.name);
            problems.push(Problem::new(session, "session-name", path, details));
        }
        if unreadable.iter().any(|one| one.broken != Broken::Uncommitted) {
            // The checks would only report the same problems again.
            return Ok(problems);
        }
        let compared = both_sides::compared(self.git, session)?;
        if !compared.is_same() {
            let asked = AskedTree::at_tip(self.git, session);
            problems.extend(asked.and_then(|asked| asked.problem(session)));
        }
        if !compared.broken.is_empty() {
            problems.extend(both_sides::problems(session, &compared, &BTreeSet::new()));
            return Ok(problems);
        }
        // If the start commit's records are unreadable, there is no baseline.
        let mut baseline = baseline(self.git, session).ok().flatten();
        let folder = format!("{}/changes", session.name.artifact_dir());
        if baseline.is_none() && !git::paths::names_in(self.git, &session.tip, &folder)?.is_empty()
        {
            // Each change request was checked against the limits separately.
            baseline = Baseline::in_store(&store).ok();
        }
        let changes = merged_changes(self.git, self.refs, session)?;
        let tellable = collisions::tellable(self.git, session, &changes)?;
        problems.extend(both_sides::problems(session, &compared, &tellable));
        problems.extend(lost::problems(self.git, session, &changes)?);
        // After a squash, no trailer shows which stages are done.
        let with_records = TABLE.iter().filter(|row| row.leaves_records());
        let depth = stages::depth(session.depth());
        let all = with_records.map(|row| row.stage).filter(|stage| depth.has(*stage));
        let all: Vec<Stage> = all.collect();
        let done = session.done();
        let stages = if session.history.is_empty() { &all } else { &done };
        let files = ProjectFiles::at(self.git, session, &session.tip, &store.plan()?)?;
        for &stage in stages {
            let report = (session.row(stage).check)(&CheckInput {
                store,
                sizes: self.config.limits.at(session.depth()).sizes(),
                baseline: baseline.as_ref(),
                files: &files,
                evidence: None,
                drafting: false,
            });
            for finding in report.findings {
                let about = finding.about.unwrap_or_else(|| stage.to_string());
                let mut problem = Problem::new(session, finding.code, about, finding.details);
                problem = match finding.code {
                    "duplicate-id" if tellable.contains(&problem.about) => problem.fixable(),
                    "duplicate-id" => {
                        problem.fix("git-cowork cannot tell which record came first: change the id of one of them by hand, also in references to it, then commit")
                    }
                    _ => Problem { suggested_fix: finding.suggested_fix, ..problem },
                };
                let is_said = |other: &Problem| {
                    other == &problem
                        || (other.code, &other.about) == ("duplicate-id", &problem.about)
                };
                if !problems.iter().any(is_said) {
                    problems.push(problem);
                }
            }
        }
        Ok(problems)
    }
}
