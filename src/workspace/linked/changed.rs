//! Detects what a program has changed in a linked working tree since its files were recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use cap_std::fs::Metadata;
use ignore::WalkBuilder;
use serde::{Deserialize, Serialize};

use crate::path_text::{decoded, is_undecodable, shown};
use crate::workspace::effects::is_bulk;
use crate::workspace::files::guard::is_dot_git;
use crate::workspace::working_tree::WorkingTree;

/// Maximum size of a file that is copied, in bytes.
const FILE_MAX: u64 = 10 * 1024 * 1024;
const NOT_UTF8: &str = "its name is not UTF-8";
/// Maximum number of new files in folders that exist.
const NEW_MAX: usize = 20_000;

/// State of the files of a linked working tree, for comparison.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShownFiles(BTreeMap<String, Option<Stat>>);

/// A file that has changed since its state was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedChange {
    /// Relative to the root.
    pub path: String,
    /// True if the file did not exist before.
    pub is_new: bool,
    /// The new state, or why it cannot be copied.
    pub now: Result<NowThere, String>,
}

/// The new state of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NowThere {
    /// A file.
    File {
        /// The file's content.
        content: Vec<u8>,
        /// True if the file is executable.
        executable: bool,
    },
    /// The path does not exist any more.
    Gone,
}

/// File metadata that a program cannot restore after it changed the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stat {
    numbers: [i128; 5],
}

impl ShownFiles {
    pub(super) fn now(tree: &WorkingTree, paths: impl IntoIterator<Item = String>) -> Self {
        let stat = |path: String| {
            let found = tree.look(&path).ok().map(|metadata| Stat::of(&metadata));
            (path, found)
        };
        Self(paths.into_iter().map(stat).collect())
    }

    pub(super) fn changes(&self, tree: &WorkingTree) -> Vec<LinkedChange> {
        let mut changes = Vec::new();
        for (path, was) in &self.0 {
            let now = tree.look(path).ok();
            if now.as_ref().map(Stat::of) != *was {
                changes.push(change(tree, path, was.is_none(), now));
            }
        }
        let (new, bulk) = self.without_bulk(tree, self.new_paths(tree));
        for (folder, files) in bulk {
            let (path, line) = match folder.as_str() {
                "" => ("./".to_owned(), String::new()),
                folder => (format!("{folder}/"), format!(", like /{folder}/")),
            };
            let why = format!(
                "too big to be recorded ({files} new files); to keep them out for good, add a line \
                 to .gitignore{line}"
            );
            changes.push(LinkedChange { path, is_new: true, now: Err(why) });
        }
        for path in new {
            match tree.look(path.trim_end_matches('/')) {
                Ok(now) => changes.push(change(tree, &path, true, Some(now))),
                Err(_) => continue,
            }
        }
        // Deletions come first: a deleted folder makes room for a file of the same name.
        let stays = |change: &LinkedChange| change.now != Ok(NowThere::Gone);
        changes.sort_by(|a, b| (stays(a), &a.path).cmp(&(stays(b), &b.path)));
        changes
    }

    pub(super) fn remove_new(&self, tree: &WorkingTree) {
        for path in self.new_paths(tree) {
            let path = path.trim_end_matches('/');
            let Ok((dir, name)) = tree.place(path) else { continue };
            let is_dir = dir.symlink_metadata(&name).is_ok_and(|metadata| metadata.is_dir());
            let removed = if is_dir { dir.remove_dir_all(&name) } else { dir.remove_file(&name) };
            if let Err(error) = removed {
                tracing::info!("{path} stays in the linked working tree: {error}");
            }
        }
    }

    /// Separates new files in new folders, or at the top, with too many files or bytes, and in the
    /// fullest of the other folders if there are too many in all.
    fn without_bulk(
        &self,
        tree: &WorkingTree,
        new: BTreeSet<String>,
    ) -> (BTreeSet<String>, BTreeMap<String, usize>) {
        let mut sizes: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
        for path in &new {
            let Some(folder) = self.counted_in(path) else { continue };
            let size = tree.look(path).map_or(0, |metadata| metadata.len());
            if folder.is_empty() && size > FILE_MAX {
                // Refused alone: a large file at the top does not keep the project's others out.
                continue;
            }
            let (files, bytes) = sizes.entry(folder).or_default();
            *files += 1;
            *bytes += size;
        }
        sizes.retain(|_, (files, bytes)| is_bulk(*files, *bytes));
        let is_small =
            |path: &&String| self.counted_in(path).is_none_or(|folder| !sizes.contains_key(folder));
        let mut bulk: BTreeMap<String, usize> =
            sizes.iter().map(|(folder, (files, _))| ((*folder).to_owned(), *files)).collect();
        let mut kept: BTreeSet<String> = new.iter().filter(is_small).cloned().collect();
        while kept.len() > NEW_MAX {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for path in &kept {
                *counts.entry(parent(path)).or_default() += 1;
            }
            let fullest = counts.into_iter().max_by_key(|(_, files)| *files);
            let Some((folder, files)) = fullest.map(|(folder, n)| (folder.to_owned(), n)) else {
                break;
            };
            kept.retain(|path| parent(path) != folder);
            bulk.insert(folder, files);
        }
        (kept, bulk)
    }

    /// The topmost folder of a path without a file that was there before; empty for a file at the
    /// top.
    fn counted_in<'p>(&self, path: &'p str) -> Option<&'p str> {
        if !path.contains('/') {
            return Some("");
        }
        let mut folders = path.match_indices('/').map(|(at, _)| &path[..=at]);
        let is_known = |folder: &str| {
            let mut within = self.0.range(folder.to_owned()..);
            within.next().is_some_and(|(path, _)| path.starts_with(folder))
        };
        folders.find(|folder| !is_known(folder)).map(|folder| folder.trim_end_matches('/'))
    }

    /// Returns new paths that git does not ignore. A repository below the tree is returned as the
    /// path of its folder, with a trailing slash.
    fn new_paths(&self, tree: &WorkingTree) -> BTreeSet<String> {
        let is_repository = |folder: &Path| folder.join(".git").symlink_metadata().is_ok();
        let walk = WalkBuilder::new(&tree.root)
            .follow_links(false)
            .hidden(false)
            // Only git's ignore rules apply: `.ignore` files do not.
            .ignore(false)
            .parents(false)
            .require_git(false)
            .filter_entry(move |entry| {
                // A nested repository is reported as its folder.
                let inside = entry.depth() > 1 && entry.path().parent().is_some_and(is_repository);
                entry.depth() == 0 || !inside && !is_dot_git(&entry.file_name().to_string_lossy())
            })
            .build();
        let mut new = BTreeSet::new();
        for entry in walk.flatten().filter(|entry| entry.depth() > 0) {
            let Ok(relative) = entry.path().strip_prefix(&tree.root) else { continue };
            let path = decoded(relative.as_os_str().as_encoded_bytes());
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            if self.0.contains_key(&path) {
                continue;
            }
            match is_dir {
                true if is_repository(entry.path()) => new.insert(format!("{path}/")),
                true => continue,
                false => new.insert(path),
            };
        }
        new
    }
}

/// The folder that contains a path; empty at the top.
fn parent(path: &str) -> &str {
    path.trim_end_matches('/').rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the change of one path.
fn change(tree: &WorkingTree, path: &str, is_new: bool, now: Option<Metadata>) -> LinkedChange {
    if now.is_some() && path.contains(is_undecodable) {
        return LinkedChange { path: shown(path), is_new, now: Err(NOT_UTF8.to_owned()) };
    }
    let now = match now {
        None => Ok(NowThere::Gone),
        Some(now) if now.is_symlink() => {
            Err("it is a symbolic link, and links are not copied".to_owned())
        }
        Some(now) if now.is_dir() && is_new => {
            Err("it is a separate repository, which this session cannot commit".to_owned())
        }
        // The path is a folder now: the file is gone, and the folder's files are reported
        // individually.
        Some(now) if now.is_dir() => Ok(NowThere::Gone),
        Some(now) if !now.is_file() => Err("it is not a regular file".to_owned()),
        Some(now) if now.len() > FILE_MAX => {
            Err(format!("it is larger than {} MiB", FILE_MAX >> 20))
        }
        Some(now) => read(tree, path)
            .map(|content| NowThere::File { content, executable: is_executable(&now) }),
    };
    LinkedChange { path: path.to_owned(), is_new, now }
}

fn read(tree: &WorkingTree, path: &str) -> Result<Vec<u8>, String> {
    let file = tree.open_regular(path).map_err(|refusal| refusal.message)?;
    let mut content = Vec::new();
    let read = file.take(FILE_MAX + 1).read_to_end(&mut content);
    read.map_err(|error| format!("it cannot be read: {error}"))?;
    Ok(content)
}

#[cfg(unix)]
pub(super) fn is_executable(metadata: &Metadata) -> bool {
    use cap_std::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
pub(super) fn is_executable(_metadata: &Metadata) -> bool {
    false
}

impl Stat {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Self {
        use cap_std::fs::MetadataExt as _;
        let changed =
            i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
        let numbers = [
            changed,
            i128::from(metadata.ino()),
            i128::from(metadata.dev()),
            i128::from(metadata.mode()),
            i128::from(metadata.size()),
        ];
        Self { numbers }
    }

    #[cfg(not(unix))]
    fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
        let since = modified.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        let nanos = since.map_or(0, |since| since.as_nanos().cast_signed());
        Self { numbers: [nanos, 0, 0, 0, i128::from(metadata.len())] }
    }
}
