//! The commit that changes a session's depth.

use super::{Recorder, point};
use crate::git::{self, Oid};
use crate::session::{Message, key};
use crate::stage::Depth;

/// Creates that commit on top of `on`, a commit of the session, with these files and their texts.
/// It does not move the branch: [`take`] does, once the abandoned work is saved.
///
/// # Errors
/// Git fails.
pub fn commit(
    recorder: &Recorder<'_>,
    on: &Oid,
    files: &[(String, String)],
    (from, to): (Depth, Depth),
) -> anyhow::Result<Oid> {
    let mut blobs = Vec::new();
    for (path, text) in files {
        blobs.push((path.clone(), git::made::store_blob(recorder.git, text.as_bytes())?));
    }
    let tree = git::snapshot::tree_with(recorder.git, on, &blobs)?;
    let mut trailers = recorder.base_trailers();
    trailers.push(key::EVENT, "depth");
    trailers.push(key::DEPTH, to.name());
    let subject = recorder.project.subject_for("session", &format!("depth {from} -> {to}"));
    let message = Message { subject, body: String::new(), trailers };
    let message = recorder.without_secrets(&message).render();
    let commit = git::made::commit_tree(recorder.git, &tree, std::slice::from_ref(on), &message)?;
    point("depth.after-commit");
    Ok(commit)
}

/// Moves the branch from `tip` to `commit`, which [`commit()`] created. A draft in the working tree
/// stays.
///
/// # Errors
/// HEAD is elsewhere, or a person's uncommitted edits would be lost.
pub fn take(recorder: &Recorder<'_>, tip: &Oid, commit: &Oid) -> anyhow::Result<()> {
    recorder.expect_tip(tip)?;
    point("depth.before-branch");
    git::switch::move_branch(recorder.git, commit)?;
    point("depth.after-branch");
    Ok(())
}
