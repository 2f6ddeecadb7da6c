//! Archives, deletes and restores a session, and prunes attempts and drafts. Its branch is moved in one reference transaction, so
//! that a session is never in two places or in none.

use super::{Recorder, attempt, point};
use crate::git::{self, Git, Oid, RefTransaction};
use crate::session::{Leftover, RefNames, Verdict};

/// Moves the session from its branch to the archive, and deletes its drafts. The branch must not be
/// checked out anywhere, and an attempt must contain the drafts. The drafts are deleted first: git
/// removes the references of a transaction one by one, and no command finds drafts whose branch is
/// gone.
pub fn archive(recorder: &Recorder<'_>, tip: &Oid) -> anyhow::Result<()> {
    let drafts = RefTransaction::new(format!("cowork: drafts of {}", recorder.name));
    delete_below(recorder, drafts, &[RefNames::drafts(recorder.name)])?.commit(recorder.git)?;
    let transaction = RefTransaction::new(format!("cowork: archive {}", recorder.name))
        .delete(&recorder.refs.branch(recorder.name), tip);
    let transaction = keep_in_archive(recorder, transaction, tip)?;
    point("archive.before-refs");
    transaction.commit(recorder.git)?;
    point("archive.after-refs");
    Ok(())
}

/// Makes the archive ref point to the tip, whatever it pointed to before: a merge without artifacts
/// keeps its session there as well.
pub(super) fn keep_in_archive(
    recorder: &Recorder<'_>,
    transaction: RefTransaction,
    tip: &Oid,
) -> anyhow::Result<RefTransaction> {
    let archive = RefNames::archive(recorder.name);
    Ok(match recorder.git.resolve(archive.as_str())? {
        Some(old) if old == *tip => transaction,
        Some(old) => transaction.update(&archive, tip, &old),
        None => transaction.create(&archive, tip),
    })
}

/// Moves the session from the archive back to its branch, which may already exist at this tip.
pub fn unarchive(recorder: &Recorder<'_>, tip: &Oid) -> anyhow::Result<()> {
    let branch = recorder.refs.branch(recorder.name);
    let mut restore = RefTransaction::new(format!("cowork: restore {}", recorder.name));
    if recorder.git.resolve(branch.as_str())?.as_ref() != Some(tip) {
        restore = restore.create(&branch, tip);
    }
    restore.delete(&RefNames::archive(recorder.name), tip).commit(recorder.git)
}

/// Deletes branch and tags, and the session's archive ref; an attempt must contain the tip. The
/// branch must not be checked out anywhere. The tags are deleted first: git removes the references
/// of a transaction one by one, and a session of which only tags remain could not be deleted any
/// more.
pub fn delete(recorder: &Recorder<'_>, tip: &Oid) -> anyhow::Result<()> {
    let labels = RefTransaction::new(format!("cowork: labels of {}", recorder.name));
    delete_below(recorder, labels, &RefNames::labels(recorder.name))?.commit(recorder.git)?;
    let mut transaction = RefTransaction::new(format!("cowork: delete {}", recorder.name))
        .delete(&recorder.refs.branch(recorder.name), tip);
    let archive = RefNames::archive(recorder.name);
    if recorder.git.resolve(archive.as_str())?.as_ref() == Some(tip) {
        transaction = transaction.delete(&archive, tip);
    }
    point("delete.before-refs");
    transaction.commit(recorder.git)?;
    point("delete.after-refs");
    Ok(())
}

fn delete_below(
    recorder: &Recorder<'_>,
    transaction: RefTransaction,
    roots: &[String],
) -> anyhow::Result<RefTransaction> {
    let refs = git::refs::list(recorder.git, roots)?;
    Ok(refs.iter().fold(transaction, |all, info| all.delete(&info.name, &info.object)))
}

/// Saves drafts as an attempt before their refs are deleted: an unfinished draft as the uncommitted
/// work, with older drafts behind it and `others` as further parents. Returns its number.
pub fn keep_drafts(
    recorder: &Recorder<'_>,
    tip: &Oid,
    unfinished: Option<&Oid>,
    others: &[Oid],
    reason: &str,
) -> anyhow::Result<u32> {
    let held = unfinished.unwrap_or(tip);
    let tree = git::snapshot::tree_of(recorder.git, held.as_str())?.unwrap_or_else(|| held.clone());
    let others = others.iter().filter(|other| Some(*other) != unfinished);
    let behind: Vec<Oid> = unfinished.into_iter().chain(others).cloned().collect();
    attempt::create(recorder, tip, &tree, &behind, reason, Verdict::Passed, None)
}

/// Deletes these refs, all of them or none.
///
/// # Errors
/// One of them has moved since it was read: exit 5.
pub fn prune<'a>(git: &Git, refs: impl IntoIterator<Item = &'a Leftover>) -> anyhow::Result<()> {
    let transaction = refs
        .into_iter()
        .fold(RefTransaction::new("cowork: prune"), |all, one| all.delete(&one.name, &one.commit));
    point("prune.before-refs");
    transaction.commit(git)?;
    point("prune.after-refs");
    Ok(())
}
