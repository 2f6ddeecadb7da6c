//! Repositories that commands and tools make below the tree. A person who goes there, or whose editor
//! does, runs what they configure: so each is named, and one that would run something is taken out
//! of git's way.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::workspace::atomic_file;
use crate::workspace::files::guard::{self, Purpose};
use crate::workspace::tracking::KnownRepositories;
use crate::workspace::working_tree::WorkingTree;

const FILE: &str = "repositories.json";
/// The folder in J for what was moved out of git's way.
const MOVED: &str = "moved";
/// What a folder holds that git takes for a bare repository.
const BARE: [&str; 3] = ["HEAD", "objects", "refs"];
/// Names of files that may make a folder a repository, or say what git runs there.
const OF_REPOSITORIES: [&str; 7] =
    ["HEAD", "commondir", "config", "config.worktree", "hooks", "objects", "refs"];
/// How far the clock of the file system may be behind.
const COARSE: Duration = Duration::from_millis(20);
/// Hooks that are looked at, at most.
const HOOKS_MAX: usize = 100;

/// A repository that was made below the tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MadeRepository {
    /// Its `.git`, or the folder itself of a bare one; relative to the root.
    pub path: String,
    /// Why it is out of git's way now, what was moved for that, and where to.
    pub moved: Option<(String, String, String)>,
}

impl MadeRepository {
    /// What is to be known of it, in one sentence.
    pub fn told(&self) -> String {
        let path = &self.path;
        match &self.moved {
            None => format!("{path} is a repository of its own, so no commit holds what is in it"),
            Some((why, from, to)) => {
                format!("{path} is a repository of its own, and {why}: {from} was moved to {to}")
            }
        }
    }
}

/// Which folders are looked into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// Not those that git ignores.
    Listed,
    All,
}

/// The repositories that no command has made, and when the one that follows begins.
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

/// Git directories below the tree by their place: `.git` entries, and folders that are bare ones.
fn find(tree: &WorkingTree, depth: Depth) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        // One that cannot be read shows git nothing either.
        let entries = std::fs::read_dir(tree.root.join(&folder));
        let mut parts = 0;
        for entry in entries.into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            parts += usize::from(BARE.contains(&name.as_str()));
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            if name == ".git" {
                found.extend((!folder.is_empty()).then_some(path));
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) && path != ".cowork" {
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

/// Takes note of those that were made or changed since a command began, if `is_effect` agrees;
/// those that would run something are moved out of git's way. Answers with what is new.
pub(super) fn take_new(
    tree: &WorkingTree,
    others: &BTreeSet<String>,
    begun: SystemTime,
    is_effect: impl Fn(&str) -> bool,
) -> anyhow::Result<Vec<MadeRepository>> {
    let since = |path: &String| newest(&tree.root.join(path)) >= Some(begun);
    let now = find(tree, Depth::Listed);
    let (new, other): (BTreeSet<String>, BTreeSet<String>) = now
        .into_iter()
        .filter(|path| !others.contains(path))
        .partition(|path| since(path) && is_effect(path));
    let made: BTreeSet<String> = noted(tree).into_iter().map(|one| one.path).collect();
    if let Some(known) = tree.repositories.borrow_mut().as_mut() {
        known.others.extend(other.into_iter().filter(|path| !made.contains(path)));
    }
    take(tree, new)
}

/// Looks everywhere, also in what git ignores, for what commands of this run have made.
pub(super) fn take_all(tree: &WorkingTree) -> anyhow::Result<()> {
    let known = tree.repositories.borrow().clone();
    let Some(known) = known else { return Ok(()) };
    let mut new = find(tree, Depth::All);
    new.retain(|path| {
        !known.others.contains(path) && newest(&tree.root.join(path)) >= Some(known.begun)
    });
    take(tree, new).map(|_| ())
}

/// Looks at the repository that a file a tool has just written belongs to, if there is one.
pub(crate) fn look_after_writing(tree: &WorkingTree, path: &str) {
    let taken = guard::resolve(tree, path, Purpose::Look).map(|path| take_written(tree, &path));
    if let Ok(Err(error)) = taken {
        tracing::warn!("a repository that a tool may have made was not looked at: {error:#}");
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

/// Those that were made in this session and are still there.
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
        // Where a submodule is due, git looks into it whatever it is asked.
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

/// Where the repository of a `.git` is; a bare one is there itself.
fn git_dir(place: &Path) -> PathBuf {
    let pointer = || {
        let meta = place.symlink_metadata().ok()?;
        let text = std::fs::read_to_string(place).ok().filter(|_| meta.is_file())?;
        Some(place.parent()?.join(text.strip_prefix("gitdir:")?.trim()))
    };
    pointer().unwrap_or_else(|| place.to_owned())
}

/// Takes the entry by which git knows a repository out of its way: a `.git` into J, so that nothing of
/// it lies in the tree; of a bare one, which may have tracked files, the `HEAD` gets another name.
/// Answers with what was moved, and where to.
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
    // Another file system.
    let to = free(&tree.root.join(format!("{from}.moved")))?;
    std::fs::rename(tree.root.join(&from), &to)?;
    Ok((from, to.strip_prefix(&tree.root).unwrap_or(&to).display().to_string()))
}

/// A name that nothing has.
fn free(name: &Path) -> anyhow::Result<PathBuf> {
    let numbered = |n: u32| PathBuf::from(format!("{}-{n}", name.display()));
    let mut names = std::iter::once(name.to_owned()).chain((2..).map(numbered));
    names.find(|name| name.symlink_metadata().is_err()).context("every name is taken")
}

/// Whether git would take this for a repository.
fn is_repository(git_dir: &Path) -> bool {
    let common = std::fs::read_to_string(git_dir.join("commondir"));
    let common = common.map_or(git_dir.to_owned(), |text| git_dir.join(text.trim_end()));
    git_dir.join("HEAD").is_file()
        && common.join("objects").is_dir()
        && common.join("refs").is_dir()
}

/// When any of what decides about a repository was changed last.
fn newest(place: &Path) -> Option<SystemTime> {
    let dir = git_dir(place);
    let hooks = std::fs::read_dir(dir.join("hooks")).into_iter().flatten().flatten();
    let hooks = hooks.take(HOOKS_MAX).map(|hook| hook.path());
    let parts = OF_REPOSITORIES.iter().map(|name| dir.join(name));
    let all = parts.chain(hooks).chain([dir.clone(), place.to_owned()]);
    let metadata = all.filter_map(|path| path.symlink_metadata().ok());
    metadata.filter_map(|meta: Metadata| ctime(&meta)).max()
}

/// When content, name or mode was changed last.
pub(super) fn ctime(metadata: &std::fs::Metadata) -> Option<SystemTime> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        // Nobody can set this one, so a file that was moved here is as new as it is.
        let (s, ns) = (metadata.ctime().try_into().ok()?, metadata.ctime_nsec().try_into().ok()?);
        Some(SystemTime::UNIX_EPOCH + Duration::new(s, ns))
    }
    #[cfg(not(unix))]
    metadata.modified().ok()
}
