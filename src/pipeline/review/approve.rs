//! Approves the present content of a completed stage: makes one commit, and runs nothing.

use crate::error::Error;
use crate::git::{self, Oid};
use crate::pipeline::edits::records;
use crate::pipeline::files::{approved_content, project_files};
use crate::pipeline::run::Run;
use crate::record::{self, Recorded, ReviewRecord};
use crate::session::{Entry, Session, Verdict};
use crate::stage::Stage;
use crate::stages::{Approves, StageSpec};
use crate::verify::require_readable;

/// Makes sure that a session has completed a stage.
///
/// # Errors
/// Exit 5 if it has not.
pub fn require_completed(session: &Session, stage: Stage) -> anyhow::Result<()> {
    if session.done().contains(&stage) {
        return Ok(());
    }
    let name = &session.name;
    Err(Error::repository(format!("'{name}' has not completed {stage}"))
        .hint(format!("continue: git cowork resume {name}"))
        .into())
}

/// Records that a person approves the content of a completed stage at the tip.
///
/// # Errors
/// Exit 5: the stage is not completed, or its files have uncommitted changes.
pub(crate) fn approve(run: &mut Run<'_>, stage: Stage) -> anyhow::Result<Oid> {
    let (git, tip) = (run.env.git, run.session.tip.clone());
    require_completed(&run.session, stage)?;
    require_readable(git, &run.session)?;
    let spec = run.session.row(stage);
    let paths = match spec.approves {
        Approves::Artifacts => approved_content::document_paths(run, spec),
        Approves::Tree => project_files::code_since_start(run, &tip)?,
    };
    if let Some(entry) = git::status::of(git, &paths)?.first() {
        return Err(Error::repository(format!("{} has your uncommitted changes", entry.path))
            .hint("commit it (git commit) or stash it (git stash), then run the command again")
            .into());
    }
    records::put_back_json(run)?;
    let before = run.recorder().tree(&tip)?;
    let result = approve_now(run, spec, &tip, &paths);
    if result.is_err() {
        // A refused approval leaves no records behind that were written for it.
        let written = git::paths::changed(git, &before, &run.recorder().tree(&tip)?)?;
        git::put_back::restore_worktree(git, &before, &written)?;
        run.env.workspace.written().forget(&written)?;
    }
    result
}

/// Adapts the records to the documents, and commits the approval of these paths of a stage.
fn approve_now(
    run: &mut Run<'_>,
    spec: &StageSpec,
    tip: &Oid,
    paths: &[String],
) -> anyhow::Result<Oid> {
    let (git, stage) = (run.env.git, spec.stage);
    // The records follow what a person has committed in the documents.
    let (bytes, records) = match spec.approves {
        Approves::Artifacts => {
            let unread = records::settle(run)?.refusals;
            if !unread.is_empty() {
                let hint = "correct it and commit it (git commit), then run the command again";
                return Err(Error::repository(unread.join("\n")).hint(hint).into());
            }
            let changed = git::status::of(git, paths)?.into_iter().map(|entry| entry.path);
            (approved_content::content_now(run, spec)?, changed.collect())
        }
        Approves::Tree => (approved_content::content_at(run, spec, tip)?, Vec::new()),
    };
    if bytes.0.is_empty() {
        return Err(Error::repository(format!(
            "{stage} of '{}' has no document",
            run.session.name
        ))
        .into());
    }
    let code = approved_content::code_digest(run, &bytes)?;
    let review = ReviewRecord {
        stage,
        verdict: Verdict::Passed,
        iteration: run.session.stage_entry(stage).map_or(1, Entry::iterations),
        bytes: Some(&bytes),
        code: code.as_deref(),
        words: "",
        then: None,
    };
    match record::review::commit_approval(&run.recorder(), tip, &records, &review)? {
        Recorded::Done(commit) => {
            run.advance(&commit)?;
            Ok(commit)
        }
        Recorded::Refused(why) => Err(Error::repository(why.to_string())
            .hint("fix the reported problem, then run the command again")
            .into()),
    }
}
