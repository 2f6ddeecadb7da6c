//! Repositories that commands and tools create below the tree. Git and editors run programs
//! configured in a repository when a person enters it, so each such repository is reported, and one
//! that would run a program is moved where git does not find it.

use std::collections::BTreeSet;
use std::fs::{FileType, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::workspace::atomic_file;
use crate::workspace::files::guard;
use crate::workspace::tracking::KnownRepositories;
use crate::workspace::working_tree::WorkingTree;

const FILE: &str = "repositories.json";
/// Folder in the state directory for moved repositories.
const MOVED: &str = "moved";
/// Entries that make git treat a folder as a bare repository.
const BARE: [&str; 3] = ["HEAD", "objects", "refs"];
/// Entries that may make a folder a repository, or configure the programs git runs there.
const OF_REPOSITORIES: [&str; 7] =
    ["HEAD", "commondir", "config", "config.worktree", "hooks", "objects", "refs"];
/// Maximum lag of file system timestamps.
pub(super) const COARSE: Duration = Duration::from_millis(20);
/// Maximum number of hooks checked.
const HOOKS_MAX: usize = 100;

/// A repository created below the tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MadeRepository {
    /// The `.git` entry, or the folder of a bare repository; relative to the root.
    pub path: String,
    /// If it was moved: the reason, the moved path, and its new path.
    pub moved: Option<(String, String, String)>,
}

impl MadeRepository {
    /// Returns the report about it, as one sentence.
    pub fn told(&self) -> String {
        let path = &self.path;
        match &self.moved {
            None => format!("{path} is a separate repository, so its files are not committed"),
            Some((why, from, to)) => {
                format!("{path} is a separate repository, and {why}: {from} was moved to {to}")
            }
        }
    }
}

/// The folders to search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// All but ignored folders.
    Listed,
    All,
}

/// Returns the repositories and special files that no command created, and the start time for the
/// next command.
pub(super) fn before_command(tree: &WorkingTree) -> (BTreeSet<String>, SystemTime) {
    let begun = SystemTime::now() - COARSE;
    let mut known = tree.repositories.borrow_mut();
    let known = known.get_or_insert_with(|| {
        let mut others = find(tree, Depth::All);
        for made in noted(tree) {
            others.remove(&made.path);
        }
        KnownRepositories { others, begun }
    });
    (known.others.clone(), begun)
}

/// Returns the git directories below the tree: `.git` entries, and bare repositories. Also special
/// files, which git does not list.
fn find(tree: &WorkingTree, depth: Depth) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        // Git cannot read an unreadable folder either.
        let entries = std::fs::read_dir(tree.root.join(&folder));
        let mut parts = 0;
        for entry in entries.into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            parts += usize::from(BARE.contains(&name.as_str()));
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let kind = entry.file_type();
            if name == ".git" {
                found.extend((!folder.is_empty()).then_some(path));
            } else if kind.as_ref().is_ok_and(is_special) {
                found.insert(path);
            } else if kind.is_ok_and(|kind| kind.is_dir()) && path != ".cowork" {
                let ignored = depth == Depth::Listed && tree.protection.names(&format!("{path}/"));
                let git = format!("{path}/.git");
                match ignored {
                    true => found.extend(tree.root.join(&git).symlink_metadata().map(|_| git)),
                    false => folders.push(path),
                }
            }
        }
        if parts == BARE.len() && !folder.is_empty() {
            found.insert(folder);
        }
    }
    found
}

/// Records the repositories that were created or changed since a command started (at `begun`), if
/// `is_effect` accepts them; those that would run a program are moved away. Returns the new ones,
/// and the paths of new special files.
pub(super) fn take_new(
    tree: &WorkingTree,
    others: &BTreeSet<String>,
    begun: SystemTime,
    is_effect: impl Fn(&str) -> bool,
) -> anyhow::Result<(Vec<MadeRepository>, BTreeSet<String>)> {
    let since = |path: &String| newest(&tree.root.join(path)) >= Some(begun);
    let now = find(tree, Depth::Listed);
    let (new, other): (BTreeSet<String>, BTreeSet<String>) = now
        .into_iter()
        .filter(|path| !others.contains(path))
        .partition(|path| since(path) && is_effect(path));
    let (special, new): (BTreeSet<_>, BTreeSet<_>) =
        new.into_iter().partition(|path| is_special_at(tree, path));
    let made: BTreeSet<String> = noted(tree).into_iter().map(|one| one.path).collect();
    if let Some(known) = tree.repositories.borrow_mut().as_mut() {
        known.others.extend(other.into_iter().filter(|path| !made.contains(path)));
        known.others.extend(special.iter().cloned());
    }
    Ok((take(tree, new)?, special))
}

/// True for a folder with a linked working tree (`git worktree add`).
pub(super) fn is_linked(tree: &WorkingTree, folder: &str) -> bool {
    git_dir(&tree.root.join(folder).join(".git")).join("commondir").is_file()
}

fn is_special_at(tree: &WorkingTree, path: &str) -> bool {
    let found = tree.root.join(path).symlink_metadata();
    found.is_ok_and(|found| is_special(&found.file_type()))
}

fn is_special(kind: &FileType) -> bool {
    !kind.is_file() && !kind.is_dir() && !kind.is_symlink()
}

/// Searches all folders, including ignored ones, for repositories created by commands of this run.
pub(super) fn take_all(tree: &WorkingTree) -> anyhow::Result<()> {
    let known = tree.repositories.borrow().clone();
    let Some(known) = known else { return Ok(()) };
    let mut new = find(tree, Depth::All);
    new.retain(|path| {
        !known.others.contains(path)
            && !is_special_at(tree, path)
            && newest(&tree.root.join(path)) >= Some(known.begun)
    });
    take(tree, new).map(|_| ())
}

/// Checks the repository, if any, that contains the file at this resolved path, which a tool has
/// just written.
pub(crate) fn look_after_writing(tree: &WorkingTree, path: &str) {
    if let Err(error) = take_written(tree, path) {
        tracing::warn!("could not check a repository that a tool may have created: {error:#}");
    }
}

fn take_written(tree: &WorkingTree, path: &str) -> anyhow::Result<()> {
    let mut at = path;
    let mut found = BTreeSet::new();
    while let Some((folder, name)) = at.rsplit_once('/') {
        at = folder;
        let has = |part: &&str| tree.root.join(folder).join(part).exists();
        if OF_REPOSITORIES.contains(&name) && BARE.iter().all(has) {
            found.insert(folder.to_owned());
        }
    }
    take(tree, found).map(|_| ())
}

/// Returns the repositories created in this session that still exist.
pub(super) fn made(tree: &WorkingTree) -> Vec<MadeRepository> {
    let mut all = noted(tree);
    all.retain(|one| match &one.moved {
        Some((_, _, to)) => tree.root.join(to).symlink_metadata().is_ok(),
        None => tree.root.join(&one.path).symlink_metadata().is_ok(),
    });
    all.into_iter().collect()
}

fn take(tree: &WorkingTree, found: BTreeSet<String>) -> anyhow::Result<Vec<MadeRepository>> {
    let Some(tracking) = tree.tracking.as_ref().filter(|_| !found.is_empty()) else {
        return Ok(Vec::new());
    };
    let mut all = noted(tree);
    let mut new = Vec::new();
    for path in found {
        let place = tree.root.join(&path);
        let dir = git_dir(&place);
        let runs = tracking.would_run(&dir).with_context(|| path.clone())?;
        let folder = path.strip_suffix("/.git").unwrap_or_default();
        // Every git command reads the repository in a submodule's folder, and fails if it is
        // broken.
        let breaks = || !is_repository(&dir) && guard::is_submodule(tree, folder);
        let why = match runs {
            Some(what) => Some(format!("git would run {what} there")),
            None => breaks().then(|| "every git command would fail".to_owned()),
        };
        let moved = match why {
            Some(why) => {
                let (from, to) =
                    move_away(tree, &path).with_context(|| format!("moving {path}"))?;
                Some((why, from, to))
            }
            None => None,
        };
        let one = MadeRepository { path, moved };
        if all.insert(one.clone()) {
            new.push(one);
        }
    }
    if !new.is_empty() {
        atomic_file::replace(&tree.state_dir.join(FILE), &serde_json::to_vec_pretty(&all)?)?;
    }
    Ok(new)
}

fn noted(tree: &WorkingTree) -> BTreeSet<MadeRepository> {
    let bytes = std::fs::read(tree.state_dir.join(FILE)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Returns the git directory for a `.git` entry or a bare repository.
fn git_dir(place: &Path) -> PathBuf {
    let pointer = || {
        // Reading a FIFO would block.
        place.symlink_metadata().ok().filter(Metadata::is_file)?;
        let text = std::fs::read_to_string(place).ok()?;
        Some(place.parent()?.join(text.strip_prefix("gitdir:")?.trim()))
    };
    pointer().unwrap_or_else(|| place.to_owned())
}

/// Moves the entry by which git recognizes a repository: a `.git` to the state directory, out of
/// the tree; the `HEAD` of a bare repository, which may have tracked files, to another name.
/// Returns the old and the new path.
fn move_away(tree: &WorkingTree, path: &str) -> anyhow::Result<(String, String)> {
    let is_bare = !path.ends_with("/.git");
    let from = if is_bare { format!("{path}/HEAD") } else { path.to_owned() };
    let kept = tree.state_dir.join(MOVED);
    if !is_bare {
        std::fs::create_dir_all(&kept)?;
        let to = free(&kept.join("git"))?;
        if std::fs::rename(tree.root.join(&from), &to).is_ok() {
            return Ok((from, to.display().to_string()));
        }
    }
    // This is a bare repository, or the state directory is on another file system.
    let to = free(&tree.root.join(format!("{from}.moved")))?;
    std::fs::rename(tree.root.join(&from), &to)?;
    Ok((from, to.strip_prefix(&tree.root).unwrap_or(&to).display().to_string()))
}

/// Returns an unused path.
pub(super) fn free(name: &Path) -> anyhow::Result<PathBuf> {
    let numbered = |n: u32| {
        let mut numbered = name.as_os_str().to_owned();
        numbered.push(format!("-{n}"));
        PathBuf::from(numbered)
    };
    let mut names = std::iter::once(name.to_owned()).chain((2..).map(numbered));
    names.find(|name| name.symlink_metadata().is_err()).context("every name is taken")
}

/// True if git would recognize this as a repository.
fn is_repository(git_dir: &Path) -> bool {
    let common = std::fs::read_to_string(git_dir.join("commondir"));
    let common = common.map_or(git_dir.to_owned(), |text| git_dir.join(text.trim_end()));
    git_dir.join("HEAD").is_file()
        && common.join("objects").is_dir()
        && common.join("refs").is_dir()
}

/// Returns the time of the last change to any entry that configures a repository.
fn newest(place: &Path) -> Option<SystemTime> {
    let dir = git_dir(place);
    let hooks = std::fs::read_dir(dir.join("hooks")).into_iter().flatten().flatten();
    let hooks = hooks.take(HOOKS_MAX).map(|hook| hook.path());
    let parts = OF_REPOSITORIES.iter().map(|name| dir.join(name));
    let all = parts.chain(hooks).chain([dir.clone(), place.to_owned()]);
    let metadata = all.filter_map(|path| path.symlink_metadata().ok());
    metadata.filter_map(|meta: Metadata| ctime(&meta)).max()
}

/// Returns the time of the last change to content, name or mode.
pub(crate) fn ctime(metadata: &std::fs::Metadata) -> Option<SystemTime> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        // Programs cannot set the ctime, so a file that was moved here counts as changed.
        let (s, ns) = (metadata.ctime().try_into().ok()?, metadata.ctime_nsec().try_into().ok()?);
        Some(SystemTime::UNIX_EPOCH + Duration::new(s, ns))
    }
    #[cfg(not(unix))]
    metadata.modified().ok()
}
