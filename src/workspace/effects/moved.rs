//! Moves back what a command moved: private files, which it cannot access, and repositories below the
//! tree. It can rename a folder above them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;

use crate::path_text::{decoded, encoded};
use crate::workspace::effects::repositories::free;
use crate::workspace::working_tree::WorkingTree;

/// Identifies a file even after it is moved: device and inode number.
type Id = (u64, u64);

/// Returns the private files and folders, and these repositories, with their identities.
pub(super) fn before_command(tree: &WorkingTree, repositories: &[String]) -> BTreeMap<String, Id> {
    let found = tree.private.below(&tree.root).into_iter().chain(repositories.iter().cloned());
    found.filter_map(|path| id(&tree.root.join(encoded(&path))).map(|id| (path, id))).collect()
}

/// Moves these files and folders back to their original paths. What a command made there goes to the
/// path from which they come; nothing is removed, because it may hold another of them.
pub(super) fn put_back_moved(
    tree: &WorkingTree,
    before: &BTreeMap<String, Id>,
) -> anyhow::Result<()> {
    for _ in before {
        let at = |path: &String| tree.root.join(encoded(path));
        let moved = |(path, was): &(&String, &Id)| id(&at(path)).as_ref() != Some(*was);
        let moved: BTreeMap<Id, &String> =
            before.iter().filter(moved).map(|(path, id)| (*id, path)).collect();
        if moved.is_empty() {
            return Ok(());
        }
        // Outer folders first: others lie in them.
        let found = with_ids(tree, &moved.keys().copied().collect()).into_iter();
        let found = found.filter_map(|(path, id)| Some((*moved.get(&id)?, path)));
        let Some((path, now)) = found.min() else { return Ok(()) };
        put_back(&at(path), &at(&now)).with_context(|| format!("restoring {path}"))?;
    }
    Ok(())
}

fn put_back(was: &Path, now: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(was.parent().unwrap_or(was))?;
    let mut name = was.as_os_str().to_owned();
    name.push(".moved");
    let beside = free(Path::new(&name))?;
    std::fs::rename(now, &beside)?;
    if was.symlink_metadata().is_ok() && std::fs::rename(was, now).is_err() {
        // It was in what the command made.
        name.push(".over");
        std::fs::rename(was, free(Path::new(&name))?)?;
    }
    Ok(std::fs::rename(&beside, was)?)
}

/// Returns the current paths of these files.
fn with_ids(tree: &WorkingTree, wanted: &BTreeSet<Id>) -> Vec<(String, Id)> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(tree.root.join(encoded(&folder)));
        for entry in entries.into_iter().flatten().flatten() {
            let name = decoded(entry.file_name().as_encoded_bytes());
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
