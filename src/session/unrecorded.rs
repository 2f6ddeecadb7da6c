//! Stages that a session's files show as done although no commit records them: a squash, or a clone
//! by another tool, has removed the trailers.

use super::{CommittedFiles, Entry, KeptDraft, Kind, Session, artifact_path, kept_draft};
use crate::artifact::{Files as _, Store, TaskStatus};
use crate::git::Git;
use crate::stage::Stage;
use crate::stages::{StageSpec, row};

/// Value of `Cowork-From` on stages that a person accepted as done because of their files.
pub const FROM_FILES: &str = "files";

/// The stages that the files at the tip show as done. Empty if a commit records stages, or if a
/// draft explains the files.
///
/// # Errors
/// Git cannot be read.
pub fn unrecorded(git: &Git, session: &Session) -> anyhow::Result<Vec<Stage>> {
    if session.last_stage().is_some() || session.waiting().is_some() {
        return Ok(Vec::new());
    }
    if let Some(next) = session.next_stage()
        && let Some(KeptDraft::Live(_)) = kept_draft(git, session, next)?
    {
        return Ok(Vec::new());
    }
    shown(git, session)
}

/// The stages that the files at the tip show as done: those before the first stage with missing
/// files. A change request edits its parent's documents, so only its own records count.
///
/// # Errors
/// Git cannot be read.
pub fn shown(git: &Git, session: &Session) -> anyhow::Result<Vec<Stage>> {
    let files = CommittedFiles::new(git, &session.name, &session.tip);
    let mut shown = Vec::new();
    let mut unbroken = 0;
    let order = session.order();
    for (place, stage) in order.iter().enumerate() {
        let own = !session.is_patch()
            || session.row(*stage).artifacts.iter().all(|artifact| {
                let path = artifact_path(&session.name, *artifact);
                path.starts_with(&format!("{}/", session.name.record_dir()))
            }) && !row(*stage).writes_code();
        let is_there = own && has(&files, session.row(*stage))?;
        if is_there && (session.is_patch() || unbroken == place) {
            unbroken = place + 1;
        }
    }
    shown.extend(order.into_iter().take(unbroken));
    Ok(shown)
}

fn has(files: &CommittedFiles, row: &StageSpec) -> anyhow::Result<bool> {
    for artifact in row.artifacts {
        if files.read(*artifact)?.is_none_or(|text| text.trim().is_empty()) {
            return Ok(false);
        }
    }
    if !row.writes_code() {
        return Ok(true);
    }
    // An unreadable plan shows nothing.
    let tasks = Store::new(files).plan().unwrap_or_default().tasks;
    let mut tops = tasks.iter().filter(|task| task.is_top_level()).peekable();
    Ok(tops.peek().is_some() && tops.all(|task| task.status == TaskStatus::Completed))
}

impl Session {
    /// The last of the stages that a person accepted as done because of their files, and the commit
    /// that records this; `None` if the session does not begin with such a commit.
    pub fn from_files(&self) -> Option<(Stage, &Entry)> {
        let first = self.history.first().filter(|entry| entry.from() == Some(FROM_FILES))?;
        match first.kind {
            Kind::Stage(stage) => Some((stage, first)),
            _ => None,
        }
    }
}
