//! The folder in which the project's checks run: the files that are to be committed, and of those that
//! git ignores what was there before the session's first command, or came by a person's hand or the
//! fetch step since. What a command leaves beside the code decides no check.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::languages;
use crate::path_text::{self, encoded};
use crate::workspace::atomic_file;
use crate::workspace::effects::ignored_files::{IGNORED, listed};
use crate::workspace::linked::folders::{LeftOut, Room, mirror};
use crate::workspace::working_tree::WorkingTree;

/// What checks have besides the tree: a note in the state directory.
const LENT: &str = "lent-to-checks.json";
/// Folders in which build tools keep what they make. Checks have their own, which last.
const CACHES: [&str; 11] = [
    "target",
    "build",
    "dist",
    "out",
    ".gradle",
    ".next",
    ".tox",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
];
/// Installed packages, in bytes and entries.
const PACKAGES: Room = Room { bytes: 4 << 30, entries: 1_000_000 };
/// The other ignored files.
const OTHERS: Room = Room { bytes: 100 << 20, entries: 20_000 };

/// The folder, with the index of its tree beside it.
pub(crate) struct CheckFolder<'a> {
    tree: &'a WorkingTree,
    path: PathBuf,
}

/// The ignored paths that were copied into this folder.
#[derive(Default, Serialize, Deserialize)]
struct Lent {
    #[serde(with = "path_text::json")]
    folder: PathBuf,
    paths: BTreeSet<String>,
}

impl<'a> CheckFolder<'a> {
    /// The folder at this path, for the checks of a tree.
    pub(crate) fn at(tree: &'a WorkingTree, path: PathBuf) -> Self {
        Self { tree, path }
    }

    /// Where the files are.
    pub(crate) fn files(&self) -> PathBuf {
        self.path.join("tree")
    }

    /// Git's index of these files.
    pub(crate) fn index(&self) -> PathBuf {
        self.path.join("index")
    }

    /// What stays in the folder when it is laid out, as patterns of `.gitignore`.
    pub(crate) fn kept(&self) -> Vec<String> {
        let lent = self.lent().paths.into_iter().map(|path| {
            let special = |c: char| matches!(c, '\\' | '*' | '?' | '[' | ' ');
            let quoted =
                path.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c]));
            format!("/{}", quoted.collect::<String>())
        });
        CACHES.map(str::to_owned).into_iter().chain(lent).collect()
    }

    fn lent(&self) -> Lent {
        let note = fs::read(self.tree.state_dir.join(LENT)).unwrap_or_default();
        let lent: Option<Lent> = serde_json::from_slice(&note).ok();
        let lent = lent.filter(|lent| lent.folder == self.path && self.files().is_dir());
        lent.unwrap_or_default()
    }

    /// Copies into the folder what git ignores and no command changed; with `all`, the packages that
    /// commands installed, too. `since` is the end of the last command, if there was one: what is newer
    /// is a person's. Returns what is too large.
    pub(crate) fn lend(
        &self,
        all: bool,
        since: Option<SystemTime>,
    ) -> anyhow::Result<Vec<LeftOut>> {
        let mut lent = self.lent();
        let is_there = lent.folder == self.path;
        let (mut packages, mut others) = (PACKAGES, OTHERS);
        let mut left_out = Vec::new();
        let listed = listed(self.tree, IGNORED);
        let mut paths: BTreeSet<String> = listed.union(&lent.paths).cloned().collect();
        if let Some(tracking) = &self.tree.tracking {
            paths.extend(tracking.submodules()?.into_iter().map(|path| format!("{path}/")));
            paths.extend(tracking.ignored()?);
        }
        paths.retain(|path| !CACHES.contains(&name_of(path)) && !self.tree.private.has(path));
        for path in &paths {
            let is_packages = is_of_packages(name_of(path));
            let room = if is_packages { &mut packages } else { &mut others };
            let is_whole = all && is_packages || !is_there && listed.contains(path);
            let since = since.filter(|_| !is_whole);
            if let Err(error) = self.copy(path, since, room) {
                left_out.push((path.clone(), format!("{error:#}")));
            }
            match self.in_files(path).symlink_metadata() {
                Ok(_) => lent.paths.insert(path.clone()),
                Err(_) => lent.paths.remove(path),
            };
        }
        self.note(lent)?;
        Ok(left_out)
    }

    /// Copies what the fetch step installed in a folder of the tree.
    pub(crate) fn lend_fetched(&self, path: &str) -> anyhow::Result<()> {
        self.copy(path, None, &mut { PACKAGES })?;
        let mut lent = self.lent();
        lent.paths.insert(format!("{path}/"));
        self.note(lent)
    }

    fn copy(&self, path: &str, since: Option<SystemTime>, room: &mut Room) -> anyhow::Result<()> {
        let from = self.tree.root.join(encoded(path.trim_end_matches('/')));
        let to = self.in_files(path);
        // A check may have put a link in the place of a folder.
        for (at, _) in path.trim_end_matches('/').match_indices('/') {
            let above = self.files().join(encoded(&path[..at]));
            if above.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
                fs::remove_file(&above)?;
            }
        }
        fs::create_dir_all(to.parent().unwrap_or(&to))?;
        let mirrored = from.symlink_metadata().and_then(|_| {
            room.hold(&from)?;
            mirror(&from, &to, since, &|path| {
                path.ends_with(".git") || self.tree.private.is_set() && self.is_private(path)
            })
        });
        if let Err(error) = &mirrored
            && error.kind() != std::io::ErrorKind::NotFound
        {
            // A partial copy would be worse than none.
            let _ = fs::remove_dir_all(&to).or_else(|_| fs::remove_file(&to));
        }
        match mirrored {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            mirrored => Ok(mirrored?),
        }
    }

    fn in_files(&self, path: &str) -> PathBuf {
        self.files().join(encoded(path.trim_end_matches('/')))
    }

    fn is_private(&self, path: &Path) -> bool {
        let inside = path.strip_prefix(&self.tree.root).unwrap_or(path);
        self.tree.private.has(&path_text::decoded(inside.as_os_str().as_encoded_bytes()))
    }

    fn note(&self, lent: Lent) -> anyhow::Result<()> {
        // Without the folder, the note is about one that was removed.
        fs::create_dir_all(self.files())?;
        let lent = Lent { folder: self.path.clone(), ..lent };
        let file = self.tree.state_dir.join(LENT);
        atomic_file::replace(&file, &serde_json::to_vec(&lent)?)?;
        Ok(())
    }

    /// Makes the folder belong to the repository of this git directory. With mounts the tree's own
    /// `.git` is put there, and this makes the place for it.
    pub(crate) fn make_git(&self, git_dir: &Path, has_mounts: bool) -> anyhow::Result<()> {
        let git = self.files().join(".git");
        let making = || format!("making {}", git.display());
        let is_dir = has_mounts && self.tree.root.join(".git").is_dir();
        let found = git.symlink_metadata();
        if found.as_ref().is_ok_and(|found| found.is_dir() != is_dir || found.is_symlink()) {
            let _ = fs::remove_dir_all(&git).or_else(|_| fs::remove_file(&git));
        }
        match is_dir {
            true => fs::create_dir_all(&git).with_context(making),
            false => {
                fs::write(&git, format!("gitdir: {}\n", git_dir.display())).with_context(making)
            }
        }
    }
}

fn name_of(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

/// True for a folder with installed packages.
fn is_of_packages(name: &str) -> bool {
    name == "vendor" || languages::ALL.iter().any(|one| one.foreign_folders.contains(&name))
}
