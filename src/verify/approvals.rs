//! The approvals of a session: who approved which bytes of a stage, whether the stage's commit has
//! them, and what has changed since. `merge` and `pr` ask before anything leaves the session.

use std::cell::LazyCell;

use anyhow::Result;

use super::problem::{Problem, short};
use crate::config::Config;
use crate::git::{self, Git};
use crate::record::ApprovedContent;
use crate::session::{
    Entry, FROM_FILES, Kind, RefNames, Reviewer, Session, Verdict, approval_of, artifact_path,
    as_of, code_digest, key, reviewer_of,
};
use crate::stage::Stage;
use crate::stages::{self, Approves};

/// The approvals of one session.
#[derive(Clone, Copy)]
pub struct Approvals<'a> {
    /// The repository.
    pub git: &'a Git,
    /// Ref names.
    pub refs: &'a RefNames,
    /// The session.
    pub session: &'a Session,
}

/// The approval of a gated stage.
#[derive(Clone, Debug)]
pub struct StageApproval {
    /// The stage.
    pub stage: Stage,
    /// `passed by Ada`, `claimed by Ada`, `auto`.
    pub how: String,
    /// Why the bytes in the stage's commit do not count as approved.
    pub missing: Option<String>,
}

impl Approvals<'_> {
    /// The approvals of a session's completed stages, for those that were approved or have a gate.
    /// Gates are as set in this user's configuration, or else by default at the session's depth.
    ///
    /// # Errors
    /// Git cannot be read.
    pub fn of_stages(&self, config: &Config) -> Result<Vec<StageApproval>> {
        let Self { session, .. } = *self;
        let order = session.order();
        let of = session.depth();
        let inherited = session.inherited().map(|(stage, _)| stage);
        let mut found = Vec::new();
        for stage in session.done() {
            // Earlier stages are in the history of the session they were inherited from.
            if inherited.is_some_and(|last| stage < last) {
                continue;
            }
            let entry = approval_of(session, stage).or_else(|| from_files(session, stage));
            let usual = stages::depth(of).gate(stage, &order);
            let gated = config.gate_named(of, stage).unwrap_or(usual);
            let said = entry.is_some_and(|entry| {
                let passed = matches!(entry.verdict(), Some(Verdict::Passed | Verdict::Edited));
                passed || entry.trailers.get(key::APPROVED).is_some()
            });
            if !gated && !said {
                continue;
            }
            let (how, missing) = match entry {
                Some(entry) => {
                    let reviewer = self.reviewer(config, entry)?;
                    let how = words(entry, reviewer.as_ref());
                    (how, self.why_missing(config, stage, entry, reviewer.as_ref())?)
                }
                None => (
                    "not approved".to_owned(),
                    Some(format!("no commit says who approved {stage}")),
                ),
            };
            found.push(StageApproval { stage, how, missing });
        }
        Ok(found)
    }

    /// Reports stages whose commit contains other bytes than the approved ones, unless `said` already
    /// reports the stage.
    pub(super) fn missing(&self, config: &Config, said: &[Problem]) -> Result<Vec<Problem>> {
        let Self { session, .. } = *self;
        let mut problems = Vec::new();
        for one in self.of_stages(config)? {
            let Some(entry) = approval_of(session, one.stage) else { continue };
            let changed = format!(" approved with {} ", one.stage);
            let is_said = said.iter().any(|problem| problem.details.contains(&changed));
            let claims = entry.trailers.get(key::APPROVED).is_some();
            if let Some(details) = one.missing.filter(|_| claims && !is_said) {
                let fix = format!(
                    "approve it as it is now: git cowork review {} --stage {} --pass",
                    session.name, one.stage
                );
                let about = short(&entry.commit);
                problems.push(Problem::new(session, "not-approved", about, details).fix(fix));
            }
        }
        Ok(problems)
    }

    /// The person who gave an approval. If signatures are required, [`Reviewer::commit`] is `None`
    /// unless that person signed the commit.
    ///
    /// # Errors
    /// Git cannot be run.
    pub fn reviewer(&self, config: &Config, entry: &Entry) -> Result<Option<Reviewer>> {
        let Self { git, session, .. } = *self;
        let Some(mut reviewer) = reviewer_of(session, entry) else { return Ok(None) };
        if config.review.signed
            && let Some(commit) = &reviewer.commit
        {
            // A rebase keeps the author, but the signature is the committer's: it counts only if the
            // committer is the reviewer.
            let theirs = git.reader().commit(commit)?.committer == reviewer.name;
            if !theirs || !git::state::is_signed(git, commit)? {
                reviewer.commit = None;
            }
        }
        Ok(Some(reviewer))
    }

    /// Returns why the bytes in the commit that approved a stage do not count as approved.
    fn why_missing(
        &self,
        config: &Config,
        stage: Stage,
        entry: &Entry,
        reviewer: Option<&Reviewer>,
    ) -> Result<Option<String>> {
        let Self { git, .. } = *self;
        let commit = short(&entry.commit);
        if config.review.signed {
            let signed = match reviewer {
                Some(reviewer) => reviewer.commit.is_some(),
                None => git::state::is_signed(git, &entry.commit)?,
            };
            if !signed {
                return Ok(Some(format!(
                    "{stage} is not approved by a signature that git accepts ({commit})"
                )));
            }
        }
        if entry.from() == Some(FROM_FILES) {
            return Ok(None);
        }
        let passes = [Verdict::Passed, Verdict::Edited, Verdict::Auto];
        if !entry.verdict().is_some_and(|verdict| passes.contains(&verdict)) {
            return Ok(Some(format!("{commit} does not say how {stage} was approved")));
        }
        if entry.trailers.get(key::APPROVED).is_none() {
            return Ok(Some(format!("{commit} does not say which bytes of {stage} were approved")));
        }
        let holds = match stages::row(stage).approves {
            Approves::Tree => self.code_holds(entry)?.then_some(()).ok_or("code"),
            Approves::Artifacts => self.documents_hold(stage, entry)?,
        };
        Ok(holds
            .err()
            .map(|what| format!("{commit} does not have the {what} approved with {stage}")))
    }

    /// True if a commit's code is as approved: the whole tree, or the files changed by the session.
    fn code_holds(&self, entry: &Entry) -> Result<bool> {
        let Self { git, session, .. } = *self;
        let Some(tree) = git::snapshot::tree_of(git, entry.commit.as_str())? else {
            return Ok(false);
        };
        let now = ApprovedContent::of_tree(tree.clone());
        if now.is_approved_in(&entry.trailers) {
            return Ok(true);
        }
        if let Some(code) = entry.trailers.get(key::CODE)
            && code == code_digest(git, &as_of(session, entry), &tree)?
        {
            return Ok(true);
        }
        match ApprovedContent::approved_in(git, &entry.trailers)? {
            Some(before) => before.same_words(git, session, &now),
            None => Ok(false),
        }
    }

    /// Compares a stage's documents at a commit with the approved ones; the error is the first that
    /// differs.
    fn documents_hold(&self, stage: Stage, entry: &Entry) -> Result<Result<(), &'static str>> {
        let Self { git, refs, session } = *self;
        let until = session.history.iter().position(|other| other.commit == entry.commit);
        let history = until.map_or(&[][..], |until| &session.history[..=until]);
        // Computed only if needed: history may be long, and most documents are as approved.
        let then = LazyCell::new(|| as_of(session, entry));
        for artifact in session.row(stage).artifacts {
            let name = artifact.file_name();
            let path = artifact_path(&session.name, *artifact);
            let Some(now) = git::snapshot::blob_id(git, &entry.commit, &path)? else { continue };
            let Some(id) =
                approved_blob(history, name).map(|(id, _)| id).filter(|id| id.len() >= 7)
            else {
                return Ok(Err(name));
            };
            if now.as_str().starts_with(id) {
                continue;
            }
            let same = match git::refs::object_id(git, id)? {
                Some(before) => {
                    let of = |id| ApprovedContent(vec![(name.to_owned(), id)]);
                    of(before).same_words(git, session, &of(now))?
                }
                None => false,
            };
            if !same
                && !(Approvals { git, refs, session: &then })
                    .is_held((stage, *artifact), (entry, id))?
            {
                return Ok(Err(name));
            }
        }
        Ok(Ok(()))
    }
}

/// Describes the approval in a commit.
pub fn words(entry: &Entry, reviewer: Option<&Reviewer>) -> String {
    match (reviewer, entry.verdict()) {
        (Some(reviewer), Some(verdict)) => reviewer.words(verdict),
        _ => Verdict::Auto.name().to_owned(),
    }
}

/// The commit with which a person accepted this stage and later ones as done because their files
/// already existed.
fn from_files(session: &Session, stage: Stage) -> Option<&Entry> {
    session.history.iter().rev().find(|entry| {
        matches!(entry.kind, Kind::Stage(later) if later > stage)
            && entry.from() == Some(FROM_FILES)
    })
}

/// The blob of a file as last approved in these commits, and the approving commit: a stage may leave
/// a file unchanged.
pub(super) fn approved_blob<'s>(history: &'s [Entry], file: &str) -> Option<(&'s str, &'s Entry)> {
    history.iter().rev().find_map(|entry| {
        let mut items = ApprovedContent::items_in(&entry.trailers);
        items.find(|(name, _)| *name == file).map(|(_, id)| (id, entry))
    })
}
