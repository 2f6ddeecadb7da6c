//! Reverts a person's own edit of a draft: the edit is saved as an attempt, and the files are reset
//! to their state before it.

use crate::git::{self, Oid};
use crate::pipeline::edits;
use crate::pipeline::files::approved_content;
use crate::pipeline::run::Run;
use crate::pipeline::step::Step;
use crate::record;
use crate::session::Verdict;
use crate::stages::{Approves, StageSpec};

/// Tells when the command of the message can be run, if the message is shown at a gate: there the
/// run still holds the session's lock.
pub(crate) const AT_GATE: &str = "; after you quit (q)";

/// Reverts a person's edits of the draft `shown`, including unrecorded edits. Returns the message
/// for the person.
pub(crate) fn take_back(step: &mut Step<'_, '_>, shown: &Oid) -> anyhow::Result<String> {
    edits::note_edit(step, shown)?;
    let edit = step.draft.edit.take();
    let since = edit.map_or_else(|| shown.clone(), |edit| edit.since);
    let said = put_back(step.run, step.spec, &since, AT_GATE)?;
    step.draft.approvals.person = None;
    step.draft.by_hand = false;
    Ok(said)
}

/// Saves the stage's files as an attempt if they differ from `since`, and resets them to it.
/// Returns the message for the person, which contains a command; `when` says when the command can
/// be run.
pub(crate) fn put_back(
    run: &Run<'_>,
    spec: &StageSpec,
    since: &Oid,
    when: &str,
) -> anyhow::Result<String> {
    let git = run.env.git;
    let recorder = run.recorder();
    let paths = match spec.approves {
        Approves::Artifacts => approved_content::document_paths(run, spec),
        Approves::Tree => {
            let tree = recorder.tree(&run.session.tip)?;
            approved_content::shown_paths(run, spec, since, &tree)?
        }
    };
    let now = git::snapshot::blob_ids(git, &recorder.tree(&run.session.tip)?, &paths)?;
    let before = git::snapshot::blob_ids(git, since, &paths)?;
    let changed = paths.into_iter().zip(now.iter().zip(&before));
    let changed: Vec<String> =
        changed.filter(|(_, (now, before))| now != before).map(|(path, _)| path).collect();
    if changed.is_empty() {
        return Ok("the draft is as it was before your edit".to_owned());
    }
    let names = names(&changed);
    let reason = format!("your edit of {names}, taken back");
    let number = record::attempt::keep(&recorder, &run.session.tip, &reason, Verdict::Edited)?;
    record::refused::restore_worktree(&recorder, since, &changed)?;
    run.env.workspace.written().adopt(&changed)?;
    let session = &run.session.name;
    Ok(format!(
        "your edit of {names} is reverted and kept as attempt {number}{when}: \
         git cowork restore {session} {number}"
    ))
}

/// Files of the session by their names, others by their paths.
fn names(paths: &[String]) -> String {
    let name = |path: &String| match path.strip_prefix(".cowork/") {
        Some(own) => own.rsplit('/').next().unwrap_or(own).to_owned(),
        None => path.clone(),
    };
    // JSON files follow their documents and need not be named.
    let documents = paths.iter().filter(|path| !path.ends_with(".json"));
    let named: Vec<String> = match documents.clone().next() {
        Some(_) => documents.map(name).collect(),
        None => paths.iter().map(name).collect(),
    };
    named.join(", ")
}
