//! Files that a hook adds to a commit besides the requested ones: `git add -A` in a `pre-commit`
//! hook adds everything in the working tree. Somebody else's files never stay in a commit of
//! git-cowork; any others are reported.

use std::collections::BTreeSet;

use super::{Recorder, commit_location};
use crate::error::Error;
use crate::git::{self, Change, Oid, StatusKind};
use crate::session::{Trailers, key};

/// Name of the record, in the state directory, of what hooks have added to the newest commit.
const ADDED: &str = "hook-added.json";

/// Name of a copy of that record, from which the next commit's trailers are written.
const TO_TELL: &str = "hook-to-tell.json";

/// Number of paths that an error lists.
const NAMED: usize = 10;

/// Number of paths that the next commit lists.
const TOLD: usize = 50;

/// The working tree before a commit whose hooks may add to it.
pub(super) struct Before {
    hook: &'static str,
    uncommitted: BTreeSet<String>,
    staged: BTreeSet<String>,
}

/// The state before a commit; `None` if no hook can add anything.
pub(super) fn look(recorder: &Recorder<'_>) -> anyhow::Result<Option<Before>> {
    let Some(hook) = git::hooks::before_commit(recorder.git) else { return Ok(None) };
    let (mut uncommitted, mut staged) = (BTreeSet::new(), BTreeSet::new());
    for entry in recorder.git.status()? {
        let path = entry.path.trim_end_matches('/').to_owned();
        if matches!(entry.kind, StatusKind::Tracked { staged, .. } if staged != Change::None) {
            staged.insert(path.clone());
        }
        uncommitted.insert(path);
    }
    Ok(Some(Before { hook, uncommitted, staged }))
}

/// Compares a commit, just made on `tip`, with the paths it was made from.
///
/// # Errors
/// Exit 5: the commit contains files that are not the session's. It was undone, and nothing else
/// has changed.
pub(super) fn compare(
    recorder: &Recorder<'_>,
    tip: &Oid,
    commit: &Oid,
    paths: &[String],
    before: &Before,
) -> anyhow::Result<()> {
    let mut added = git::paths::changed(recorder.git, tip, commit)?;
    added.retain(|path| !paths.contains(path));
    if added.is_empty() {
        return Ok(());
    }
    let foreign = foreign(recorder, tip, &added, before)?;
    if !foreign.is_empty() {
        let branch = recorder.refs.branch(recorder.name);
        // Paths that were staged before stay as they were staged: git gives hooks another index.
        let mut indexed: Vec<String> = paths.to_vec();
        indexed.extend(added.iter().filter(|path| !before.staged.contains(*path)).cloned());
        commit_location::take_off(recorder, &branch, tip, commit, &indexed)?;
        let more = foreign.len().saturating_sub(NAMED);
        let mut named = foreign.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
        if more > 0 {
            named += &format!(" and {more} more");
        }
        return Err(Error::repository(format!(
            "the {} hook added files to the commit that are not the session's: {named}",
            before.hook
        ))
        .hint("the commit was undone, and your files are as they were")
        .hint("make the hook add only the files it changed, not everything (git add -A), then run the command again")
        .into());
    }
    recorder.state.set_note(TO_TELL, Some(&(before.hook, &added)))?;
    recorder.state.set_note(ADDED, Some(&(before.hook, added)))
}

/// Adds to a commit's trailers what a hook added to the previous commit, whose message was already
/// written.
///
/// # Errors
/// The state directory cannot be read.
pub(super) fn tell(recorder: &Recorder<'_>, trailers: &mut Trailers) -> anyhow::Result<()> {
    let note: Option<(String, Vec<String>)> = recorder.state.note(TO_TELL)?;
    let (hook, paths) = note.unwrap_or_default();
    paths.iter().take(TOLD).for_each(|path| trailers.push(key::HOOK, format!("{hook} {path}")));
    Ok(())
}

/// Records that the trailers were written.
///
/// # Errors
/// The state directory cannot be written.
pub(super) fn told(recorder: &Recorder<'_>) -> anyhow::Result<()> {
    if recorder.state.note::<(String, Vec<String>)>(TO_TELL)?.is_none() {
        return Ok(());
    }
    recorder.state.set_note::<()>(TO_TELL, None)
}

/// Takes the record of what a hook has added to the newest commit: the hook and the paths.
///
/// # Errors
/// The state directory cannot be read or written.
pub fn take_note(recorder: &Recorder<'_>) -> anyhow::Result<Option<(String, Vec<String>)>> {
    let note = recorder.state.note(ADDED)?;
    if note.is_some() {
        recorder.state.set_note::<()>(ADDED, None)?;
    }
    Ok(note)
}

/// The paths that are private, protected or ignored, or that were uncommitted before and not
/// written by the session, each with the reason.
fn foreign(
    recorder: &Recorder<'_>,
    tip: &Oid,
    added: &[String],
    before: &Before,
) -> anyhow::Result<Vec<String>> {
    let protected = recorder.state.protected()?;
    let known = git::snapshot::blob_ids(recorder.git, tip, added)?;
    let new: Vec<&String> =
        added.iter().zip(&known).filter(|(_, blob)| blob.is_none()).map(|(path, _)| path).collect();
    // Check the rules, not the index: the hook may have added the files to it.
    let ignored = git::status::matched_by_ignore_rules(recorder.git, &new)?;
    let written = recorder.workspace.written().paths();
    let why = |path: &String| {
        if recorder.workspace.private().has(path) {
            Some("private")
        } else if protected.iter().any(|entry| entry.path == *path) {
            Some("uncommitted before the session began")
        } else if ignored.contains(path) {
            Some("ignored by git")
        } else if before.uncommitted.contains(path) && !written.contains(path) {
            Some("your uncommitted changes")
        } else {
            None
        }
    };
    Ok(added.iter().filter_map(|path| Some(format!("{path} ({})", why(path)?))).collect())
}
