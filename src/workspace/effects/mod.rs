//! Detects a command's changes by comparing the uncommitted files before and after it.
//!
//! A tool records a file before it writes it; a command does not. A person may edit files at the
//! same time. To keep these edits from being attributed to the command, the journal gets only files
//! that had no uncommitted changes before the command started. The state before is saved on disk,
//! so that if git-cowork is killed together with a command, the next process still finds the
//! command's effects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::moment;
use crate::workspace::atomic_file;
use crate::workspace::files::git_control_files;
use crate::workspace::journal::Written;
use crate::workspace::user_files::{UserFileChange, Was};
use crate::workspace::working_tree::WorkingTree;

pub(crate) mod ignored_files;
mod ignored_paths;
mod left_out;
mod modes;
mod moved;
mod nested;
pub(crate) mod repositories;
pub(crate) mod user_files;

pub use ignored_files::IGNORED;
use ignored_paths::IgnoredPaths;
pub(crate) use left_out::is_bulk;
pub use left_out::{Bulk, OddName, SPECIAL};
use left_out::{without_bulk, without_odd_names};
use repositories::MadeRepository;
pub use user_files::LEFT;

/// The state of the tree before the command that runs, in the state directory.
pub const COMMAND: &str = "command.json";
/// How often a running command's state file is touched, to show that the command still runs.
pub(crate) const BEAT: Duration = Duration::from_secs(1);

/// The effects of a command that are reported.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Folders that are too large to commit.
    pub bulk: Vec<Bulk>,
    /// Files that cannot be committed because of their names.
    pub odd_names: Vec<OddName>,
    /// Git control files that were restored.
    pub put_back: Vec<String>,
    /// A person's uncommitted files that were put back.
    pub user_files: Vec<String>,
    /// New repositories below the tree.
    pub repositories: Vec<MadeRepository>,
}

/// The state of the tree before a command.
#[derive(Serialize, Deserialize)]
struct Before {
    /// Its path. Empty in notes of earlier versions.
    #[serde(default)]
    tree: String,
    uncommitted: BTreeSet<String>,
    /// A command that changes the ignore rules did not make what they hid.
    #[serde(default)]
    ignored: IgnoredPaths,
    /// Files that still have the content a tool wrote.
    as_written: Vec<String>,
    /// The git control files.
    #[serde(default)]
    acted_on: BTreeMap<String, Was>,
    /// Files that only the user may see, and repositories below the tree.
    #[serde(default)]
    in_place: BTreeMap<String, (u64, u64)>,
    /// Repositories and special files below the tree that no command created.
    #[serde(default)]
    repositories: BTreeSet<String>,
    #[serde(default = "SystemTime::now")]
    begun: SystemTime,
}

/// The effects of this process's commands that are reported to the user.
pub struct CommandEffects<'a>(&'a WorkingTree);

impl<'a> CommandEffects<'a> {
    /// The effects of commands in a tree.
    pub(crate) fn of(tree: &'a WorkingTree) -> Self {
        Self(tree)
    }

    /// Folders that commands filled and that will not be committed, with their number of files.
    pub fn bulk(&self) -> Vec<Bulk> {
        self.0.bulk.borrow().iter().map(|(folder, files)| (folder.clone(), *files)).collect()
    }

    /// Files that commands created and that will not be committed because of their names.
    pub fn odd_names(&self) -> Vec<OddName> {
        self.0.odd_names.borrow().iter().map(|(path, why)| (path.clone(), why.clone())).collect()
    }

    /// Notes which of the files that git ignores are a person's; call at the start of a run.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn note_ignored(&self, ignored: &[String]) -> anyhow::Result<()> {
        nested::note_ignored(self.0, IgnoredPaths::of(ignored.to_vec()))
    }

    /// Returns what happened to a person's own files since the last call, also by tools.
    pub fn take_user_files(&self) -> Vec<UserFileChange> {
        std::mem::take(&mut *self.0.user_file_changes.borrow_mut())
    }

    /// Paths below `.cowork` that changed while commands ran: commands must not change these.
    pub fn documents(&self) -> Vec<String> {
        self.0.documents.borrow().iter().cloned().collect()
    }

    /// Repositories that commands and tools created below the tree in this session and that still
    /// exist.
    pub fn repositories(&self) -> Vec<MadeRepository> {
        if let Err(error) = repositories::take_all(self.0) {
            tracing::warn!("could not search for repositories below the tree: {error:#}");
        }
        repositories::made(self.0)
    }
}

/// A running command whose effects are not yet in the journal. They are recorded on drop, because a
/// signal drops the future that runs the command.
pub(crate) struct Watch<'a>(&'a WorkingTree);

impl Watch<'_> {
    /// Records that the command still runs: if git-cowork is killed, files created much later than
    /// the last such record are not attributed to the command.
    pub(crate) fn beat(&self) {
        let note = std::fs::File::options().append(true).open(note_file(self.0));
        let _ = note.and_then(|note| note.set_modified(SystemTime::now()));
    }

    /// Records and returns the effects now.
    pub(crate) fn end(self) -> anyhow::Result<Effects> {
        let tree = self.0;
        std::mem::forget(self);
        take_effects(tree, |_| true)
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if let Err(error) = take_effects(self.0, |_| true) {
            // The state file stays, and the next process tries again.
            tracing::warn!("could not detect what a command changed: {error:#}");
        }
    }
}

/// Saves the state of the tree; call before a command starts.
pub(crate) fn watch(tree: &WorkingTree) -> anyhow::Result<Watch<'_>> {
    if let Some(tracking) = &tree.tracking {
        let mut uncommitted = tracking.uncommitted()?;
        let mut ignored = IgnoredPaths::of(tracking.ignored()?);
        let (repositories, begun) = repositories::before_command(tree);
        let nested = nested::folders(tree, &repositories, &ignored);
        nested::add(tree, tracking.as_ref(), &nested, &mut uncommitted, &mut ignored)?;
        let mut as_written = tree.written().paths();
        as_written.retain(|path| tree.written().is_as_written(path));
        user_files::before_command(tree, &uncommitted, &ignored, &as_written)?;
        let acted_on = git_control_files::acted_on_now(tree)?;
        let in_place = moved::before_command(tree, &nested);
        let before = Before {
            tree: tree.root.to_string_lossy().into_owned(),
            uncommitted,
            ignored,
            as_written,
            acted_on,
            in_place,
            repositories,
            begun,
        };
        let bytes = serde_json::to_vec(&before)?;
        atomic_file::replace(&note_file(tree), &bytes)?;
    }
    Ok(Watch(tree))
}

/// Like [`Watch::end`], for a command that was killed together with an earlier process.
pub(crate) fn take_left(tree: &WorkingTree) -> anyhow::Result<()> {
    let Some(last) = last_beat(tree) else { return Ok(()) };
    let is_elsewhere = tree.tracking.as_ref().is_some_and(|tracking| !tracking.is_on_branch());
    if is_elsewhere || tree.require_branch().is_err() {
        return Ok(());
    }
    let end = last + 2 * BEAT;
    take_effects(tree, |path| is_changed_by(tree, path, end))?;
    ignored_files::note_end(tree, end);
    Ok(())
}

/// When a command that was killed was last known to run; `None` if none was killed.
fn last_beat(tree: &WorkingTree) -> Option<SystemTime> {
    std::fs::metadata(note_file(tree)).and_then(|note| note.modified()).ok()
}

/// True if a path was last changed by this time, or is gone.
fn is_changed_by(tree: &WorkingTree, path: &str, end: SystemTime) -> bool {
    ignored_files::changed_at(tree, path).is_none_or(|at| at <= end)
}

/// Puts back what a killed command of another session in this tree changed of a person's files. Its
/// other effects stay for the session's next run.
pub(crate) fn put_back_left(tree: &WorkingTree) -> anyhow::Result<()> {
    let Some(last) = last_beat(tree) else { return Ok(()) };
    let Some(mut before) = noted(tree)?.filter(|one| one.tree == tree.root.to_string_lossy())
    else {
        return Ok(());
    };
    let end = last + 2 * BEAT;
    user_files::after_command(tree, &|path| is_changed_by(tree, path, end))?;
    ignored_files::note_end(tree, end);
    // Once: what a person deletes from here on stays deleted.
    before.tree.clear();
    atomic_file::replace(&note_file(tree), &serde_json::to_vec(&before)?)?;
    let note = std::fs::File::options().append(true).open(note_file(tree))?;
    Ok(note.set_modified(last)?)
}

/// Records in the journal the changes since the saved state, if `is_effect` accepts them. Does
/// nothing if no command was started.
fn take_effects(tree: &WorkingTree, is_effect: impl Fn(&str) -> bool) -> anyhow::Result<Effects> {
    user_files::put_top_back(tree);
    let (Some(tracking), Some(before)) = (&tree.tracking, noted(tree)?) else {
        return Ok(Effects::default());
    };
    // The command may have changed any file, so what was read before may be out of date.
    moment::end();
    // On another branch every file that differs would count as changed by the command. The saved
    // state stays for the next run, which begins on the session's branch.
    tracking.require_branch()?;
    moved::put_back_moved(tree, &before.in_place)?;
    // Before git runs: git status may run a program configured in a new repository.
    let (repositories, special) =
        repositories::take_new(tree, &before.repositories, before.begun, &is_effect)?;
    let acted_on = &before.acted_on;
    let mut put_back = git_control_files::put_back_acted_on(tree, acted_on, &is_effect)?;
    let user_files = user_files::after_command(tree, &is_effect)?;
    modes::take_set_id(tree, before.begun, &is_effect)?;
    let mut after = tracking.uncommitted()?;
    let changed = after.difference(&before.uncommitted);
    put_back.extend(git_control_files::put_back_named(tree, acted_on, changed, &is_effect)?);
    put_back.sort();
    let moved = |path: &String| {
        let mut moved = repositories.iter().filter_map(|one| one.moved.as_ref());
        moved.any(|(_, _, to)| path == to || path.starts_with(&format!("{to}/")))
    };
    after.retain(|path| !put_back.contains(path) && !moved(path) && !tree.private.has(path));
    let new = |path: &&String| !before.uncommitted.contains(*path);
    let (documents, made): (Vec<&String>, Vec<&String>) =
        after.iter().filter(new).partition(|path| path.starts_with(".cowork/"));
    tree.documents.borrow_mut().extend(documents.into_iter().cloned());
    let is_made = |path: &&&String| !before.ignored.have(path) && is_effect(path);
    let made: Vec<String> = made.iter().filter(is_made).copied().cloned().collect();
    let made = user_files.without_moved(tree, tracking.as_ref(), made)?;
    let (made, mut odd_names) = without_odd_names(tree, tracking.as_ref(), made)?;
    // Git lists those that took a tracked file's place.
    let listed: BTreeSet<String> = odd_names.iter().map(|(path, _)| path.clone()).collect();
    let unlisted = special.difference(&listed).map(|path| (path.clone(), SPECIAL.to_owned()));
    odd_names.extend(unlisted);
    let (mut paths, bulk) = without_bulk(tree, tracking.as_ref(), made)?;
    // A file that a tool wrote still counts as written by a tool if a command, such as a formatter,
    // changes it.
    let gone_over = |path: &String| !tree.written().is_as_written(path) && is_effect(path);
    paths.extend(before.as_written.into_iter().filter(gone_over));
    paths.iter().for_each(|path| modes::make_readable(tree, path));
    let entries = paths.into_iter().map(|path| {
        // A path that is now a directory counts as a deleted file.
        let now = tree.fingerprint(&path).unwrap_or_default();
        Written { path, before: now.clone(), now }
    });
    tree.journal.borrow_mut().note_all(entries)?;
    let in_nested = nested::uncommitted(tree, &before.repositories, &before.ignored)?;
    let in_nested = in_nested.iter().filter(new).filter(|path| is_effect(path));
    let left = bulk.iter().map(|(path, _)| path).chain(odd_names.iter().map(|(path, _)| path));
    user_files::note_left(tree, left.chain(in_nested))?;
    tree.bulk.borrow_mut().extend(bulk.clone());
    tree.odd_names.borrow_mut().extend(odd_names.clone());
    std::fs::remove_file(note_file(tree))?;
    Ok(Effects { bulk, odd_names, put_back, user_files: user_files.paths, repositories })
}

fn note_file(tree: &WorkingTree) -> PathBuf {
    tree.state_dir.join(COMMAND)
}

fn noted(tree: &WorkingTree) -> anyhow::Result<Option<Before>> {
    let file = note_file(tree);
    match std::fs::read(&file) {
        Ok(bytes) => {
            let mut before: Before = serde_json::from_slice(&bytes)
                .with_context(|| format!("{} cannot be read", file.display()))?;
            let acted_on = std::mem::take(&mut before.acted_on).into_iter();
            before.acted_on = acted_on.map(|(path, was)| (path, tree.with_own_copy(was))).collect();
            Ok(Some(before))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("reading {}", file.display())),
    }
}

#[cfg(test)]
mod tests;
