//! Attempts (saved tips of abandoned work), and the rewind to an earlier commit.

use anyhow::Result;

use super::{Recorder, draft_refs, point, refused};
use crate::error::Error;
use crate::git::{self, Oid, RefTransaction, StatusKind, listed_again};
use crate::session::{Back, Message, RefNames, Verdict, attempts, key};

/// The numbers of the session's attempts.
pub(super) fn numbers(recorder: &Recorder<'_>) -> Result<Vec<u32>> {
    let root = RefNames::attempts(recorder.name);
    let refs = git::refs::list(recorder.git, &[&root])?;
    let number = |name: &str| name.strip_prefix(&root).and_then(|n| n.parse().ok());
    Ok(refs.iter().filter_map(|info| number(info.name.as_str())).collect())
}

/// How many times a model's request made the session go back.
pub fn replans(recorder: &Recorder<'_>) -> Result<u32> {
    let all = attempts(recorder.git, Some(recorder.name))?;
    let by_model = all.iter().filter(|attempt| attempt.verdict == Some(Verdict::Auto));
    Ok(u32::try_from(by_model.count()).unwrap_or(u32::MAX))
}

/// Saves a tip that is about to be abandoned, as a child of it that contains the uncommitted edits
/// of tracked files and session paths, and returns its number. If something else is staged in the
/// session's paths, it becomes the second parent. `verdict` is [`Verdict::Auto`] if no person asked
/// for it.
pub fn keep(recorder: &Recorder<'_>, tip: &Oid, reason: &str, verdict: Verdict) -> Result<u32> {
    keep_before_rewind(recorder, tip, reason, verdict, None)
}

/// Like [`keep`], for a session that goes back, with the reason.
pub fn keep_before_rewind(
    recorder: &Recorder<'_>,
    tip: &Oid,
    reason: &str,
    verdict: Verdict,
    back: Option<&Back>,
) -> Result<u32> {
    // Everything that [`draft_refs::reset_files`] discards, and the user's edits of tracked files.
    let mut paths = recorder.changes()?;
    paths.extend(recorder.workspace.written().paths());
    let status = recorder.git.status()?.into_iter();
    let tracked = status.filter(|e| e.kind != StatusKind::Untracked && !e.submodule);
    paths.extend(tracked.map(|entry| entry.path));
    let tree = refused::tree(recorder, tip, &paths)?;
    let mut behind = Vec::new();
    if let Some(staged) = staged(recorder, tip)?.filter(|staged| *staged != tree) {
        let words = format!("what was staged: {reason}\n");
        behind.push(git::made::commit_tree(
            recorder.git,
            &staged,
            std::slice::from_ref(tip),
            &words,
        )?);
    }
    create(recorder, tip, &tree, &behind, reason, verdict, back)
}

/// True if resetting the session's paths to `tip` would lose something.
pub fn would_lose(recorder: &Recorder<'_>, tip: &Oid) -> Result<bool> {
    Ok(recorder.differs_from(tip)? || staged(recorder, tip)?.is_some())
}

/// The staged part of everything that [`draft_refs::reset_files`] discards.
fn staged(recorder: &Recorder<'_>, tip: &Oid) -> Result<Option<Oid>> {
    git::snapshot::staged_tree(recorder.git, tip, &recorder.changes()?)
}

/// Creates an attempt with this tree on top of the tip, and with `behind` as further parents;
/// returns its number.
pub(super) fn create(
    recorder: &Recorder<'_>,
    tip: &Oid,
    tree: &Oid,
    behind: &[Oid],
    reason: &str,
    verdict: Verdict,
    back: Option<&Back>,
) -> Result<u32> {
    let number = numbers(recorder)?.into_iter().max().unwrap_or(0).saturating_add(1);
    let mut trailers = recorder.base_trailers();
    trailers.push(key::EVENT, "attempt");
    trailers.push(key::REVIEW, verdict.name());
    if let Some(back) = back {
        back.push(&mut trailers);
    }
    let subject = format!("attempt {number}: {reason}");
    let message = Message { subject, body: String::new(), trailers };
    let parents: Vec<Oid> = std::iter::once(tip).chain(behind).cloned().collect();
    let message = recorder.without_secrets(&message).render();
    let kept = git::made::commit_tree(recorder.git, tree, &parents, &message)?;
    point("attempt.before-ref");
    RefTransaction::new(format!("cowork: attempt {number}"))
        .create(&RefNames::attempt(recorder.name, number), &kept)
        .commit(recorder.git)?;
    point("attempt.after-ref");
    Ok(number)
}

/// Makes sure that going back to `target` does not lose any work of the user.
///
/// # Errors
/// Exit 5 with the files; nothing has moved.
pub fn check_rewind(recorder: &Recorder<'_>, tip: &Oid, target: &Oid) -> Result<()> {
    recorder.expect_tip(tip)?;
    let ours = recorder.changes()?;
    let moves = git::paths::changed(recorder.git, tip, target)?;
    let mut lost: Vec<String> = git::in_the_way::overwritten_by(recorder.git, target)?;
    let edited = recorder.git.status()?.into_iter().filter(|entry| moves.contains(&entry.path));
    let (unlisted, edited): (Vec<_>, Vec<_>) = edited.partition(|entry| entry.hidden.is_some());
    let unlisted: Vec<String> = unlisted.into_iter().map(|entry| entry.path).collect();
    lost.extend(edited.into_iter().map(|entry| entry.path).chain(unlisted.iter().cloned()));
    lost.retain(|path| !ours.contains(path));
    lost.sort();
    lost.dedup();
    if lost.is_empty() {
        return Ok(());
    }
    let lost = lost.join(", ");
    let message = format!("going back would overwrite your uncommitted work: {lost}");
    let error = Error::repository(message);
    let error = if unlisted.is_empty() { error } else { error.hint(listed_again(&unlisted)) };
    Err(error.hint("commit, stash or move these files, then run the command again").into())
}

/// Moves branch, index and working tree from `tip` back to `target`. The tip must already be saved
/// as an attempt; the session's uncommitted paths are reset on the way.
pub fn rewind(recorder: &Recorder<'_>, tip: &Oid, target: &Oid) -> Result<()> {
    draft_refs::reset_files(recorder, tip)?;
    point("rewind.before-reset");
    git::switch::move_branch(recorder.git, target)?;
    point("rewind.after-reset");
    Ok(())
}
