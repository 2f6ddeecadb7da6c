//! Restores private files that a command moved: a command cannot access them, but can rename a
//! folder above them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;

use crate::workspace::working_tree::WorkingTree;

/// Identifies a file even after it is moved: device and inode number.
type Id = (u64, u64);

/// Returns the private files and folders with their identities.
pub(super) fn before_command(tree: &WorkingTree) -> BTreeMap<String, Id> {
    let found = tree.private.below(&tree.root).into_iter();
    found.filter_map(|path| id(&tree.root.join(&path)).map(|id| (path, id))).collect()
}

/// Moves private files back to their original paths.
pub(super) fn put_back_moved(
    tree: &WorkingTree,
    before: &BTreeMap<String, Id>,
) -> anyhow::Result<()> {
    let moved = |(path, was): &(&String, &Id)| id(&tree.root.join(path)).as_ref() != Some(*was);
    let moved: BTreeMap<Id, &String> =
        before.iter().filter(moved).map(|(path, id)| (*id, path)).collect();
    if moved.is_empty() {
        return Ok(());
    }
    for (path, id) in with_ids(tree, &moved.keys().copied().collect()) {
        let Some(was) = moved.get(&id).map(|path| tree.root.join(path)) else { continue };
        let putting = || format!("restoring {}", was.display());
        // Anything that a command created at the original path is removed.
        if let Ok(other) = was.symlink_metadata() {
            let gone = match other.is_dir() {
                true => std::fs::remove_dir_all(&was),
                false => std::fs::remove_file(&was),
            };
            gone.with_context(putting)?;
        }
        std::fs::create_dir_all(was.parent().unwrap_or(&tree.root)).with_context(putting)?;
        std::fs::rename(tree.root.join(path), &was).with_context(putting)?;
    }
    Ok(())
}

/// Returns the current paths of these files.
fn with_ids(tree: &WorkingTree, wanted: &BTreeSet<Id>) -> Vec<(String, Id)> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(tree.root.join(&folder));
        for entry in entries.into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let id = id(&entry.path()).filter(|id| wanted.contains(id));
            if let Some(id) = id {
                found.push((path, id));
            } else if name != ".git" && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            }
        }
    }
    found
}

#[cfg(unix)]
fn id(path: &Path) -> Option<Id> {
    use std::os::unix::fs::MetadataExt as _;
    let found = path.symlink_metadata().ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn id(_path: &Path) -> Option<Id> {
    None
}
