//! Repositories below the tree: their `.git` contains history, and configuration and hooks that git
//! runs.
//!
//! Only repositories that existed before the first command of a run are sealed: a command may write
//! and remove repositories it created itself, such as those of a test suite.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Depth to which extra writable directories are searched.
const DEPTH_OF_EXTRAS: usize = 2;
/// Maximum size of a `.git` pointer file in bytes.
const POINTER_MAX: u64 = 8 * 1024;

/// Identifies a file even after it is moved: device and inode number.
type Id = (u64, u64);

/// The repositories found, by their paths at that time.
pub(super) struct Nested {
    found: BTreeMap<PathBuf, Id>,
    /// Folders that cannot be read: nobody knows what is in them, and a command could open them.
    closed: Vec<PathBuf>,
}

impl Nested {
    /// Searches the tree, and the top levels of the directories in `extras`. Ignored folders are
    /// checked, but not searched: their contents are discarded and fetched again by the tools that
    /// own them, and may be large.
    pub(super) fn find(root: &Path, ignored: &BTreeSet<PathBuf>, extras: &[PathBuf]) -> Self {
        let (mut found, mut closed) = (Vec::new(), Vec::new());
        search(root, usize::MAX, ignored, &mut found, &mut closed);
        for extra in extras {
            found.extend(Some(extra.join(".git")).filter(|path| path.symlink_metadata().is_ok()));
            search(extra, DEPTH_OF_EXTRAS, &BTreeSet::new(), &mut found, &mut Vec::new());
        }
        found.extend(linked(root));
        // Somebody else may be at work in a linked working tree, so all of it is sealed.
        let is_linked =
            |path: &&PathBuf| pointed_to(path).is_some_and(|data| data.join("commondir").is_file());
        let linked: Vec<_> = found
            .iter()
            .filter(is_linked)
            .filter_map(|path| Some(path.parent()?.to_owned()))
            .collect();
        let pointed: Vec<_> = found.iter().filter_map(|path| pointed_to(path)).collect();
        found.extend(pointed.into_iter().filter(|path| path.starts_with(root)));
        found.extend(linked);
        let with_id = |path: PathBuf| {
            let id = id(&path)?;
            Some((path, id))
        };
        Self { found: found.into_iter().filter_map(with_id).collect(), closed }
    }

    /// The paths of the `.git` entries, and of linked working trees.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.found.keys()
    }

    /// The folders that cannot be read.
    pub(super) fn closed(&self) -> &[PathBuf] {
        &self.closed
    }

    /// True if each repository is still where it was found.
    pub(super) fn are_in_place(&self) -> bool {
        self.found.iter().all(|(path, was)| id(path).as_ref() == Some(was))
    }

    /// Returns the same repositories after a command moved a folder that contains them, possibly
    /// into an ignored one.
    pub(super) fn moved(&self, root: &Path) -> Self {
        let mut now = Vec::new();
        search(root, usize::MAX, &BTreeSet::new(), &mut now, &mut Vec::new());
        let ours: BTreeSet<Id> = self.found.values().copied().collect();
        let all = now.into_iter().chain(self.found.keys().cloned());
        let known = all.filter_map(|path| Some((id(&path)?, path)));
        Self {
            found: known.filter(|(id, _)| ours.contains(id)).map(|(id, path)| (path, id)).collect(),
            closed: self.closed.clone(),
        }
    }
}

/// Collects every `.git` below a directory, except the directory's own, and the folders that cannot be
/// read.
fn search(
    top: &Path,
    depth: usize,
    ignored: &BTreeSet<PathBuf>,
    into: &mut Vec<PathBuf>,
    closed: &mut Vec<PathBuf>,
) {
    let mut folders = vec![(top.to_owned(), 0)];
    while let Some((folder, above)) = folders.pop() {
        let entries = std::fs::read_dir(&folder);
        closed.extend(entries.is_err().then(|| folder.clone()));
        for entry in entries.into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if entry.file_name() == ".git" {
                into.extend((above > 0).then(|| entry.path()));
            } else if is_folder && ignored.contains(&entry.path()) {
                let git = entry.path().join(".git");
                into.extend(git.symlink_metadata().is_ok().then_some(git));
            } else if is_folder && above < depth {
                folders.push((entry.path(), above + 1));
            }
        }
    }
}

/// The `.git` of each linked working tree below the root, also in ignored folders.
fn linked(root: &Path) -> Vec<PathBuf> {
    let git = root.join(".git");
    let own = pointed_to(&git).unwrap_or_else(|| git.clone());
    let common = std::fs::read_to_string(own.join("commondir"));
    let common = common.map_or_else(|_| own.clone(), |path| own.join(path.trim_end()));
    let all = std::fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
    let named = all.filter_map(|entry| {
        let text = std::fs::read_to_string(entry.path().join("gitdir")).ok()?;
        entry.path().join(text.trim_end()).canonicalize().ok()
    });
    named.filter(|path| path.starts_with(root) && !path.starts_with(&git)).collect()
}

/// Resolves a `.git` that is a file or a link.
fn pointed_to(path: &Path) -> Option<PathBuf> {
    let kind = path.symlink_metadata().ok()?;
    if kind.is_symlink() {
        return path.canonicalize().ok();
    }
    if !kind.is_file() || kind.len() > POINTER_MAX {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    path.parent()?.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()
}

#[cfg(unix)]
fn id(path: &Path) -> Option<Id> {
    use std::os::unix::fs::MetadataExt as _;
    // A symbolic link cannot be sealed.
    let found = path.symlink_metadata().ok().filter(|found| !found.is_symlink())?;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn id(_path: &Path) -> Option<Id> {
    None
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    struct Tree(TempDir);

    impl Tree {
        fn new(files: &[(&str, &str)]) -> Self {
            let tree = Self(TempDir::new().unwrap());
            for (path, text) in files {
                std::fs::create_dir_all(tree.path(path).parent().unwrap()).unwrap();
                std::fs::write(tree.path(path), text).unwrap();
            }
            tree
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        fn names(&self, nested: &Nested) -> Vec<String> {
            let top = self.path("");
            let names = nested.paths().map(|path| path.strip_prefix(&top).unwrap());
            names.map(|path| path.display().to_string()).collect()
        }
    }

    #[test]
    fn all_repositories_but_the_trees_own_are_found() {
        let tree = Tree::new(&[
            (".git/HEAD", ""),
            (".git/modules/sub/HEAD", ""),
            ("a/b/.git/HEAD", ""),
            ("sub/.git", "gitdir: ../.git/modules/sub\n"),
            ("apart/.git", "gitdir: ../data/apart\n"),
            ("data/apart/HEAD", ""),
            ("ignored/.git/HEAD", ""),
            ("ignored/deps/x/.git/HEAD", ""),
            ("src/.gitignore", ""),
        ]);
        let ignored = BTreeSet::from([tree.path("ignored")]);
        let nested = Nested::find(&tree.path(""), &ignored, &[]);
        let all = [
            ".git/modules/sub",
            "a/b/.git",
            "apart/.git",
            "data/apart",
            "ignored/.git",
            "sub/.git",
        ];
        assert_eq!(tree.names(&nested), all);
    }

    #[test]
    fn only_the_top_levels_of_extra_directories_are_searched() {
        let tree = Tree::new(&[("x/.git/HEAD", ""), ("x/a/.git/HEAD", ""), ("x/a/b/c/.git/H", "")]);
        let nested = Nested::find(&tree.path("none"), &BTreeSet::new(), &[tree.path("x")]);
        assert_eq!(tree.names(&nested), ["x/.git", "x/a/.git"]);
    }

    #[test]
    fn moved_repositories_are_followed_and_new_ones_ignored() {
        let tree = Tree::new(&[("a/.git/HEAD", ""), ("b/.git/HEAD", "")]);
        let nested = Nested::find(&tree.path(""), &BTreeSet::new(), &[]);
        assert!(nested.are_in_place());
        std::fs::create_dir(tree.path("out")).unwrap();
        std::fs::rename(tree.path("a"), tree.path("out/a")).unwrap();
        std::fs::create_dir_all(tree.path("a/.git")).unwrap();
        std::fs::remove_dir_all(tree.path("b")).unwrap();
        assert!(!nested.are_in_place());
        assert_eq!(tree.names(&nested.moved(&tree.path(""))), ["out/a/.git"]);
    }
}
