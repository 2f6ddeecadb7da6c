//! A person's own files around a command: uncommitted ones are as they were afterwards, and of the
//! ignored ones that were there before the session a copy stays.
//!
//! The command itself is free to write them, so that no build fails because, say, a lock file is
//! dirty. What it wrote is saved beside, because the person may have edited the file meanwhile.

use std::collections::{BTreeMap, HashSet};

use anyhow::Context as _;

use crate::workspace::atomic_file;
use crate::workspace::files::state;
use crate::workspace::own_files::{OwnFile, OwnFileChange, OwnFileChangeKind, Stamp, Was};
use crate::workspace::working_tree::WorkingTree;

/// The ignored files that were there before the session, until a command changes them: a list of
/// paths in the state directory.
pub const IGNORED: &str = "ignored.json";
/// Files larger than this, in bytes, are not copied.
const MOST_COPIED: u64 = 10 * 1024 * 1024;
/// Maximum sum of the sizes of the ignored files that are copied, in bytes.
const MOST_IGNORED: u64 = 100 * 1024 * 1024;

/// Copies the person's files, as far as they have changed since the last command. `uncommitted` are
/// the paths that differ from the last commit; those that tools wrote, `as_written`, are not a
/// person's.
pub(super) fn before_command<'a>(
    tree: &WorkingTree,
    uncommitted: impl Iterator<Item = &'a String>,
    as_written: &[String],
) -> anyhow::Result<BTreeMap<String, OwnFile>> {
    let mut own = tree.own_files.borrow_mut();
    let ignored = match own.ignored.take() {
        Some(ignored) => ignored,
        None => ignored_to_keep(tree)?,
    };
    let mut now = BTreeMap::new();
    let as_written: HashSet<&String> = as_written.iter().collect();
    let uncommitted =
        uncommitted.filter(|path| !path.starts_with(".cowork/") && !as_written.contains(path));
    let all = uncommitted.map(|path| (path, false)).chain(ignored.iter().map(|path| (path, true)));
    for (path, is_ignored) in all {
        let (stamp, size) = match tree.look(path) {
            Ok(metadata) if metadata.is_dir() => continue,
            Ok(metadata) => (Stamp::of(&metadata), metadata.len()),
            Err(_) => (None, 0),
        };
        let as_before = own
            .known
            .remove(path)
            .filter(|known| stamp.is_some() && known.stamp == stamp && known.is_copied());
        let file = match as_before {
            Some(known) => known,
            None if size > MOST_COPIED => OwnFile { is_ignored, was: None, stamp },
            None => match state::of(tree, path) {
                Ok(Some(was)) => OwnFile { is_ignored, was: Some(was), stamp },
                Ok(None) => continue,
                Err(error) => {
                    tracing::debug!("{path} is not copied: {error:#}");
                    OwnFile { is_ignored, was: None, stamp }
                }
            },
        };
        now.insert(path.clone(), file);
    }
    own.ignored = Some(ignored);
    own.known.clone_from(&now);
    Ok(now)
}

/// Puts back the uncommitted files that the command changed, if `is_effect` agrees, and returns
/// their paths. What happened is noted for the person, for each file once.
pub(super) fn after_command(
    tree: &WorkingTree,
    before: BTreeMap<String, OwnFile>,
    is_effect: &dyn Fn(&str) -> bool,
) -> anyhow::Result<Vec<String>> {
    let mut put_back = Vec::new();
    for (path, file) in before {
        let stamp = tree.look(&path).ok().as_ref().and_then(Stamp::of);
        if stamp.is_some() && stamp == file.stamp || !is_effect(&path) {
            continue;
        }
        let kind = match (file.was, file.is_ignored) {
            (None, false) => OwnFileChangeKind::NotCopiedChanged,
            // It was named when the list was read.
            (None, true) => continue,
            (Some(Was::File { copy, .. }), true) => {
                let now = tree.fingerprint(&path).unwrap_or_default();
                if now.is_some_and(|now| tree.copy_of(&path, &now) == copy) {
                    continue;
                }
                OwnFileChangeKind::IgnoredChanged(copy)
            }
            (Some(_), true) => continue,
            (Some(was), false) => {
                let size = tree.look(&path).map_or(0, |metadata| metadata.len());
                let now = if size > MOST_COPIED { None } else { state::of(tree, &path)? };
                if now.as_ref() == Some(&was) {
                    continue;
                }
                state::put_back(tree, &path, &was).with_context(|| format!("restoring {path}"))?;
                keep_time(tree, &path, file.stamp);
                put_back.push(path.clone());
                OwnFileChangeKind::PutBack(match now {
                    Some(Was::File { copy, .. }) => Some(copy),
                    _ => None,
                })
            }
        };
        note(tree, path, kind)?;
    }
    Ok(put_back)
}

/// Notes what happened to a file for the person, once in a run.
fn note(tree: &WorkingTree, path: String, kind: OwnFileChangeKind) -> anyhow::Result<()> {
    let mut own = tree.own_files.borrow_mut();
    if own.told.contains(&path) {
        return Ok(());
    }
    own.told.push(path.clone());
    if let (OwnFileChangeKind::IgnoredChanged(_), Some(ignored)) = (&kind, &mut own.ignored) {
        // From now on the file is the command's.
        ignored.retain(|other| *other != path);
        let list = serde_json::to_vec(ignored)?;
        atomic_file::replace(&tree.state_dir.join(IGNORED), &list)?;
    }
    tree.own_file_changes.borrow_mut().push(OwnFileChange { path, kind });
    Ok(())
}

/// The ignored files to copy; the others are noted for the person.
fn ignored_to_keep(tree: &WorkingTree) -> anyhow::Result<Vec<String>> {
    let list = std::fs::read(tree.state_dir.join(IGNORED)).unwrap_or_default();
    // Without a list the session began in a tree of its own, or with an older version.
    let listed: Vec<String> = serde_json::from_slice(&list).unwrap_or_default();
    let (mut kept, mut sum) = (Vec::new(), 0);
    for path in listed {
        let Ok(metadata) = tree.look(&path) else { continue };
        let fits = metadata.len() <= MOST_COPIED && sum + metadata.len() <= MOST_IGNORED;
        if !fits {
            let kind = OwnFileChangeKind::IgnoredTooLarge;
            tree.own_file_changes.borrow_mut().push(OwnFileChange { path, kind });
            continue;
        }
        sum += metadata.len();
        kept.push(path);
    }
    Ok(kept)
}

/// Gives a file that was put back the time it had, so that build tools see no change.
fn keep_time(tree: &WorkingTree, path: &str, stamp: Option<Stamp>) {
    let Some(stamp) = stamp else { return };
    let file = tree.open_regular(path).map(cap_std::fs::File::into_std);
    if let Ok(file) = file
        && let Err(error) = file.set_modified(stamp.modified)
    {
        tracing::debug!("{path} keeps the time at which it was put back: {error}");
    }
}
