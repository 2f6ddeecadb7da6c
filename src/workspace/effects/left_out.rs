//! New files of commands that are not committed: too many, too large, with names that other systems
//! cannot check out, or links that lead out of the tree.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use crate::workspace::files::portable;
use crate::workspace::tracking::Tracking;
use crate::workspace::working_tree::WorkingTree;

/// A new folder with more files than this is bulk.
pub(super) const BULK_FILES: usize = 200;
/// A new folder or file with more bytes than this is bulk.
const BULK_BYTES: u64 = 10 * 1024 * 1024;

/// Why git records no such file.
pub const SPECIAL: &str = "it is a FIFO, socket or device";

/// A new file and the problem of its name: other systems cannot check out the name, or the name
/// reorders text.
pub type OddName = (String, String);

/// A new folder that is too large to commit, with its number of files; or a single file that is too
/// large, with 0.
pub type Bulk = (String, usize);

/// Excludes new files with names that tools may not write, and new links that lead out of the tree.
/// Tracked files stay: their names are a person's choice.
pub(super) fn without_odd_names(
    tree: &WorkingTree,
    tracking: &dyn Tracking,
    made: Vec<String>,
) -> anyhow::Result<(Vec<String>, Vec<OddName>)> {
    let (mut paths, mut odd) = (Vec::new(), Vec::new());
    for path in made {
        let leads_out = || {
            let target = tree.link_target(&path).ok()?;
            let leads_out = leads_out(tree, &path, &target);
            let target = target.display();
            leads_out.then(|| format!("it is a link to {target}, outside of the working tree"))
        };
        if tree.look(&path).is_ok_and(|metadata| is_special(&metadata)) {
            odd.push((path.clone(), format!("{SPECIAL}, and the file is recorded as deleted")));
        }
        match portable::objection(&path).or_else(leads_out) {
            // In the place of a folder: git could not record that its files are gone.
            Some(why) if tracking.tracks_below(&path)? => {
                tree.unlink(&path)?;
                odd.push((path, format!("{why}; it was removed")));
            }
            Some(why) if !tracking.tracks(&path)? => odd.push((path, why)),
            _ => paths.push(path),
        }
    }
    Ok((paths, odd))
}

fn is_special(metadata: &cap_std::fs::Metadata) -> bool {
    !metadata.is_file() && !metadata.is_dir() && !metadata.is_symlink()
}

/// True if a link at this path leads out of the tree, or depends on where the tree lies.
fn leads_out(tree: &WorkingTree, path: &str, target: &Path) -> bool {
    let mut depth = path.matches('/').count();
    for part in target.components() {
        match part {
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    // Over another link.
    let real = tree.root.join(path).canonicalize();
    real.is_ok_and(|real| !real.starts_with(&tree.root))
}

/// True if a new folder with so many files and bytes is not recorded.
pub(crate) fn is_bulk(files: usize, bytes: u64) -> bool {
    files > BULK_FILES || bytes > BULK_BYTES
}

/// Excludes bulk: too many files or bytes in one folder without tracked files.
pub(super) fn without_bulk(
    tree: &WorkingTree,
    tracking: &dyn Tracking,
    made: Vec<String>,
) -> anyhow::Result<(Vec<String>, Vec<Bulk>)> {
    let mut new_folders = BTreeMap::new();
    let mut by_folder: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut paths = Vec::new();
    for path in made {
        match top_new_folder(tracking, &path, &mut new_folders)? {
            Some(folder) => by_folder.entry(folder).or_default().push(path),
            None => paths.push(path),
        }
    }
    let size = |path: &String| tree.look(path).map_or(0, |m| m.len());
    let mut bulk = Vec::new();
    let (large, mut paths): (Vec<String>, Vec<String>) =
        paths.into_iter().partition(|path| size(path) > BULK_BYTES);
    for path in large {
        match tracking.tracks(&path)? {
            true => paths.push(path),
            false => bulk.push((path, 0)),
        }
    }
    for (folder, files) in by_folder {
        if is_bulk(files.len(), files.iter().map(size).sum()) {
            bulk.push((folder, files.len()));
        } else {
            paths.extend(files);
        }
    }
    Ok((paths, bulk))
}

/// Returns the outermost parent folder of `path` that contains no tracked files.
fn top_new_folder(
    tracking: &dyn Tracking,
    path: &str,
    known: &mut BTreeMap<String, bool>,
) -> anyhow::Result<Option<String>> {
    for (at, _) in path.match_indices('/') {
        let folder = &path[..at];
        let tracked = match known.get(folder) {
            Some(tracked) => *tracked,
            None => {
                let tracked = tracking.tracks_below(folder)?;
                known.insert(folder.to_owned(), tracked);
                tracked
            }
        };
        if !tracked {
            return Ok(Some(folder.to_owned()));
        }
    }
    Ok(None)
}
