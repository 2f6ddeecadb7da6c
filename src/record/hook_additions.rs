//! Files that a hook changes, or adds to a commit besides the requested ones: `git add -A` in a
//! `pre-commit` hook adds everything in the working tree. Somebody else's files never stay in a
//! commit of git-cowork; any others are reported.

use std::collections::BTreeSet;

use anyhow::Result;

use super::{Recorder, commit_location};
use crate::error::Error;
use crate::git::{self, Change, Oid, StatusKind};
use crate::session::{Trailers, key};

/// Name of the record, in the state directory, of what hooks have done that nobody was told of.
const DONE: &str = "hooks-did.json";

/// Name of the record of what hooks added to the newest commit, from which the next commit's
/// trailers are written.
const TO_TELL: &str = "hook-to-tell.json";

/// Files of more bytes are not copied before each commit with a hook.
const COMPARED: u64 = 10 << 20;

/// Number of paths that an error lists.
const NAMED: usize = 10;

/// Number of paths that the next commit lists.
const TOLD: usize = 50;

/// The working tree before a commit whose hooks may add to it.
pub(super) struct Before {
    hook: &'static str,
    uncommitted: BTreeSet<String>,
    staged: BTreeSet<String>,
    /// Those of them that git tracks and that are not large: a hook may format them. Of what git does
    /// not track nothing becomes an object, since it may be a key.
    compared: BTreeSet<String>,
    /// The tip with the paths to commit and the compared ones as they are in the working tree. `None`
    /// if git cannot store them, as for a file that only root reads: nothing is compared then.
    tree: Option<Oid>,
}

/// The state before a commit; `None` if no hook can add anything.
pub(super) fn look(recorder: &Recorder<'_>, tip: &Oid, paths: &[String]) -> Result<Option<Before>> {
    let Some(hook) = git::hooks::before_commit(recorder.git) else { return Ok(None) };
    let (mut uncommitted, mut staged) = (BTreeSet::new(), BTreeSet::new());
    let mut compared = BTreeSet::new();
    for entry in recorder.git.status()? {
        let path = entry.path.trim_end_matches('/').to_owned();
        if matches!(entry.kind, StatusKind::Tracked { staged, .. } if staged != Change::None) {
            staged.insert(path.clone());
        }
        let file = recorder.git.top().join(&path).symlink_metadata();
        if entry.kind != StatusKind::Untracked && !file.is_ok_and(|file| file.len() > COMPARED) {
            compared.insert(path.clone());
        }
        uncommitted.insert(path);
    }
    let tree = tree_of(recorder, tip, paths, compared.iter())
        .inspect_err(|error| tracing::info!("what the {hook} hook changes is not seen: {error:#}"))
        .ok();
    Ok(Some(Before { hook, uncommitted, staged, compared, tree }))
}

/// `tip` with these paths as they are in the working tree.
fn tree_of<'p>(
    recorder: &Recorder<'_>,
    tip: &Oid,
    paths: &'p [String],
    others: impl Iterator<Item = &'p String>,
) -> Result<Oid> {
    let all: BTreeSet<&String> = paths.iter().chain(others).collect();
    git::snapshot::tree(recorder.git, tip, &all.into_iter().collect::<Vec<_>>())
}

/// Restores the files beside `paths` that a hook changed before it refused a commit of these paths:
/// a formatter may run over the whole working tree. What it made of a file stays as a blob, because
/// a person may have written it at that moment. Returns those of `paths` that it changed, which
/// count as written by tools from here on.
///
/// # Errors
/// Git fails, or a file cannot be written.
pub(super) fn changed_by(
    recorder: &Recorder<'_>,
    tip: &Oid,
    paths: &[String],
    before: &Before,
) -> Result<Vec<String>> {
    let git = recorder.git;
    let Some(tree) = &before.tree else { return Ok(Vec::new()) };
    let mut now = before.compared.clone();
    let tracked = git.status()?.into_iter().filter(|entry| entry.kind != StatusKind::Untracked);
    now.extend(tracked.map(|entry| entry.path).filter(|path| !before.uncommitted.contains(path)));
    let after = tree_of(recorder, tip, paths, now.iter())?;
    let changed = git::paths::changed(git, tree, &after)?;
    let (ours, mut others): (Vec<String>, Vec<String>) =
        changed.into_iter().partition(|path| paths.contains(path));
    // A new file takes nothing from anybody.
    let blobs = git::snapshot::blob_ids(git, tree, &others)?;
    let mut was = blobs.iter();
    others.retain(|_| was.next().is_some_and(Option::is_some));
    git::put_back::restore_worktree(git, tree, &others)?;
    for (path, blob) in others.iter().zip(git::snapshot::blob_ids(git, &after, &others)?) {
        let copy = blob.map(|blob| format!("; the other version: git cat-file -p {blob}"));
        let (hook, copy) = (before.hook, copy.unwrap_or_default());
        note(
            recorder,
            format!("the {hook} hook changed {path}, or you did meanwhile: it was restored{copy}"),
        )?;
    }
    recorder.workspace.written().adopt(&ours)?;
    Ok(ours)
}

/// Records that a commit has these files as hooks left them that refused it first.
///
/// # Errors
/// The state directory cannot be written.
pub(super) fn note_taken(recorder: &Recorder<'_>, files: &BTreeSet<String>) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let files = files.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    note(recorder, format!("committed as the refusing hook left them: {files}"))
}

fn note(recorder: &Recorder<'_>, said: String) -> Result<()> {
    let mut all: Vec<String> = recorder.state.note(DONE)?.unwrap_or_default();
    all.push(said);
    recorder.state.set_note(DONE, Some(&all))
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
) -> Result<()> {
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
    note(recorder, format!("the {} hook added to the commit: {}", before.hook, added.join(", ")))
}

/// Adds to a commit's trailers what a hook added to the previous commit, whose message was already
/// written.
///
/// # Errors
/// The state directory cannot be read.
pub(super) fn tell(recorder: &Recorder<'_>, trailers: &mut Trailers) -> Result<()> {
    let note: Option<(String, Vec<String>)> = recorder.state.note(TO_TELL)?;
    let (hook, paths) = note.unwrap_or_default();
    paths.iter().take(TOLD).for_each(|path| trailers.push(key::HOOK, format!("{hook} {path}")));
    Ok(())
}

/// Records that the trailers were written.
///
/// # Errors
/// The state directory cannot be written.
pub(super) fn told(recorder: &Recorder<'_>) -> Result<()> {
    if recorder.state.note::<(String, Vec<String>)>(TO_TELL)?.is_none() {
        return Ok(());
    }
    recorder.state.set_note::<()>(TO_TELL, None)
}

/// Takes the sentences about what hooks did.
///
/// # Errors
/// The state directory cannot be read or written.
pub fn take_notes(recorder: &Recorder<'_>) -> Result<Vec<String>> {
    let notes: Option<Vec<String>> = recorder.state.note(DONE)?;
    if notes.is_some() {
        recorder.state.set_note::<()>(DONE, None)?;
    }
    Ok(notes.unwrap_or_default())
}

/// The paths that are private, protected or ignored, or that were uncommitted before and not
/// written by the session, each with the reason.
fn foreign(
    recorder: &Recorder<'_>,
    tip: &Oid,
    added: &[String],
    before: &Before,
) -> Result<Vec<String>> {
    let protected = recorder.state.protected()?;
    let known = git::snapshot::blob_ids(recorder.git, tip, added)?;
    let new: Vec<&String> =
        added.iter().zip(&known).filter(|(_, blob)| blob.is_none()).map(|(path, _)| path).collect();
    // Check the rules, not the index: the hook may have added the files to it.
    let ignored = git::check_ignore::matched_by_ignore_rules(recorder.git, &new)?;
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
