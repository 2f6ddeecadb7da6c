//! What git ignores and no command made or changed: a copy of the files stays, and of folders that are
//! ignored as a whole it is told when a command empties them.

use std::collections::BTreeSet;
use std::time::SystemTime;

use crate::path_text::encoded;
use crate::workspace::atomic_file;
use crate::workspace::effects::repositories;
use crate::workspace::user_files::{UserFileChange, UserFileChangeKind};
use crate::workspace::working_tree::WorkingTree;

/// The ignored files that no command made or changed: a list of paths in the state directory. The
/// file's time is the end of the last command: what is newer is a person's.
pub const IGNORED: &str = "ignored.json";
/// Files larger than this, in bytes, are not copied.
pub(super) const MOST_COPIED: u64 = 10 * 1024 * 1024;
/// Maximum sum of the sizes of the copied files, in bytes: of the uncommitted ones, and of the ignored
/// ones.
pub(super) const MOST_IN_SUM: u64 = 100 * 1024 * 1024;

/// Notes which of these ignored files are a person's: before the first command all, later also those
/// that changed after the last one. Of a folder that is ignored as a whole (its path ends with `/`) only
/// the name is kept: what lies in it is made again.
pub(super) fn note_ignored<'a>(
    tree: &WorkingTree,
    ignored: impl Iterator<Item = &'a String>,
) -> anyhow::Result<()> {
    let since = last_end(tree);
    let mut list = listed(tree, IGNORED);
    let is_new = |path: &&String| {
        let is_newer =
            |since| changed_at(tree, path).is_some_and(|changed: SystemTime| changed > since);
        let is_tools = || tree.journal.borrow().get(path).is_some();
        !list.contains(*path) && since.is_none_or(is_newer) && !is_tools()
    };
    let new: Vec<String> = ignored.filter(is_new).cloned().collect();
    if since.is_none() || !new.is_empty() {
        list.extend(new);
        tree.user_files.borrow_mut().ignored = None;
        let file = tree.state_dir.join(IGNORED);
        atomic_file::replace(&file, &serde_json::to_vec(&list)?)?;
    }
    Ok(())
}

/// The time of the last end of a command, or of the first look at the ignored files.
pub(crate) fn last_end(tree: &WorkingTree) -> Option<SystemTime> {
    std::fs::metadata(tree.state_dir.join(IGNORED)).and_then(|list| list.modified()).ok()
}

/// Notes when the last command ended: ignored files that change later do so by a person's hand.
pub(super) fn note_end(tree: &WorkingTree, at: SystemTime) {
    let list = std::fs::File::options().append(true).open(tree.state_dir.join(IGNORED));
    if let Err(error) = list.and_then(|list| list.set_modified(at)) {
        tracing::debug!("the end of a command is not noted: {error}");
    }
}

/// Removes paths from the list: from now on they are a command's, or nothing is there.
pub(super) fn forget(tree: &WorkingTree, is_gone: impl Fn(&str) -> bool) -> anyhow::Result<()> {
    let mut list = listed(tree, IGNORED);
    let before = list.len();
    list.retain(|path| !is_gone(path));
    if list.len() == before {
        return Ok(());
    }
    // The time of the list says when the last command ended.
    let end = last_end(tree);
    atomic_file::replace(&tree.state_dir.join(IGNORED), &serde_json::to_vec(&list)?)?;
    end.into_iter().for_each(|end| note_end(tree, end));
    Ok(())
}

/// True for a folder, by its path, in which nothing is, or nothing but what its tool keeps for itself
/// under a hidden name.
pub(super) fn is_empty_folder(tree: &WorkingTree, path: &str) -> bool {
    let is_shown = |name: &std::ffi::OsStr| !name.as_encoded_bytes().starts_with(b".");
    let entries =
        || std::fs::read_dir(tree.root.join(encoded(path))).into_iter().flatten().flatten();
    path.ends_with('/') && !entries().any(|entry| is_shown(&entry.file_name()))
}

/// The ignored files to copy; the others are noted for the person.
pub(super) fn ignored_to_keep(tree: &WorkingTree, told: &mut Vec<UserFileChange>) -> Vec<String> {
    let (mut kept, mut sum) = (Vec::new(), 0);
    for path in listed(tree, IGNORED) {
        let Ok(metadata) = tree.look(&path) else { continue };
        if metadata.is_dir() {
            continue;
        }
        let fits = metadata.len() <= MOST_COPIED && sum + metadata.len() <= MOST_IN_SUM;
        if !fits {
            let change =
                UserFileChange { path, kind: UserFileChangeKind::TooLarge { is_ignored: true } };
            if !told.contains(&change) {
                told.push(change.clone());
                tree.user_file_changes.borrow_mut().push(change);
            }
            continue;
        }
        sum += metadata.len();
        kept.push(path);
    }
    kept
}

/// The paths in a file of the state directory. Without one the session began in a tree of its own,
/// or with an older version.
pub(crate) fn listed(tree: &WorkingTree, file: &str) -> BTreeSet<String> {
    let list = std::fs::read(tree.state_dir.join(file)).unwrap_or_default();
    serde_json::from_slice(&list).unwrap_or_default()
}

/// Returns the time of the last change to a file's content or name, if known.
pub(super) fn changed_at(tree: &WorkingTree, path: &str) -> Option<SystemTime> {
    repositories::ctime(&std::fs::symlink_metadata(tree.root.join(encoded(path))).ok()?)
}
