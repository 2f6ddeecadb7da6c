//! A person's own files around a command: uncommitted ones are as they were afterwards, and of the
//! ignored ones that were there before the session a copy stays.
//!
//! The command itself is free to write them, so that no build fails because, say, a lock file is
//! dirty. What it wrote is saved beside, because the person may have edited the file meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::Context as _;

use crate::workspace::atomic_file;
use crate::workspace::effects::ignored_files::{
    self, IGNORED, MOST_COPIED, MOST_IN_SUM, changed_at, ignored_to_keep, last_end, listed,
    note_end,
};
use crate::workspace::effects::ignored_paths::IgnoredPaths;
use crate::workspace::files::state;
use crate::workspace::tracking::Tracking;
use crate::workspace::user_files::{
    Kind, Stamp, UserFile, UserFileChange, UserFileChangeKind, Was,
};
use crate::workspace::working_tree::WorkingTree;

/// The files as they were before the command that runs or ran last: if git-cowork is killed together
/// with it, the next process puts them back. Written only if they have changed.
const FILE: &str = "user-files.json";
/// What commands made and no commit contains, because of its name or size: paths in the state
/// directory. It is no person's.
pub const LEFT: &str = "left-by-commands.json";
/// Tells the person that a model reads a file that git ignores, such as `.env`.
pub(crate) fn note_read(tree: &WorkingTree, path: &str) -> anyhow::Result<()> {
    match listed(tree, IGNORED).contains(path) {
        true => note(tree, path.to_owned(), UserFileChangeKind::IgnoredRead),
        false => Ok(()),
    }
}

/// Copies the person's files, as far as they have changed since the last command. `uncommitted` are
/// the paths that differ from the last commit, `ignored` those that git ignores, `as_written` those of
/// tools and commands that nobody has edited.
pub(super) fn before_command(
    tree: &WorkingTree,
    uncommitted: &BTreeSet<String>,
    ignored: &IgnoredPaths,
    as_written: &[String],
) -> anyhow::Result<()> {
    // The next lines may write the file whose time this is.
    let since = last_end(tree);
    ignored_files::note_ignored(tree, ignored.all())?;
    ignored_files::forget(tree, |path| ignored_files::is_empty_folder(tree, path))?;
    let mut own = tree.user_files.borrow_mut();
    own.top = tree.dir.dir_metadata().ok().map(|top| state::mode_of(&top));
    // What lies in the file before the first command is of an earlier run.
    let mut is_changed = own.known.is_none();
    let mut known = own.known.take().unwrap_or_else(|| lost_files(tree));
    // They are looked at again with the files in them.
    known.retain(|_, file| !matches!(file.was, Some(Was::Folder { .. })));
    let kept = match own.ignored.take() {
        Some(kept) => kept,
        None => ignored_to_keep(tree, &mut own.told),
    };
    let mut now = BTreeMap::new();
    // A person's edit of a tool's file becomes part of the draft, whoever changes it afterwards. A
    // copy stays.
    let journal = tree.journal.borrow();
    let is_tools = |path: &str| journal.get(path).is_some();
    let left = own.left.get_or_insert_with(|| listed(tree, LEFT)).clone();
    let is_left = |path: &str| {
        let is_new = || since.zip(changed_at(tree, path)).is_some_and(|(since, at)| at > since);
        // What a person puts into a folder that a command made is the person's.
        left.contains(path)
            || path.match_indices('/').any(|(at, _)| left.contains(&path[..at])) && !is_new()
    };
    let is_own = |path: &str| !path.starts_with(".cowork/") && !is_tools(path) && !is_left(path);
    // A model may have made git ignore them.
    let hidden = tree.protection.uncommitted(|path| ignored.have(path) && is_own(path));
    let is_edit = |path: &&String| {
        !path.starts_with(".cowork/") && is_tools(path) && as_written.binary_search(path).is_err()
    };
    let edits = uncommitted.iter().filter(is_edit).map(|path| (path, Kind::Edit));
    let uncommitted = uncommitted.iter().filter(|path| is_own(path)).chain(&hidden);
    let kept_here = kept.iter().filter(|path| !hidden.contains(path) && !is_tools(path));
    let all = uncommitted.map(|path| (path, Kind::Uncommitted));
    let all = all.chain(kept_here.map(|path| (path, Kind::Ignored))).chain(edits);
    let mut found = Vec::new();
    for (path, kind) in all {
        if kind != Kind::Edit {
            note_folders(tree, path, &mut now);
        }
        match tree.look(path) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(metadata) => found.push((metadata.len(), path, kind, Stamp::of(&metadata))),
            Err(_) => found.push((0, path, kind, None)),
        }
    }
    // Data must not take the room of what somebody writes.
    found.sort_by_key(|(size, ..)| *size);
    let (mut sum, mut left_out) = (0, Vec::new());
    for (size, path, kind, stamp) in found {
        let as_before = known.remove(path).filter(|known| {
            let is_same = stamp.is_some() && known.stamp == stamp;
            known.kind == kind && (is_same || known.is_lost) && known.is_copied()
        });
        is_changed |= as_before.is_none();
        let new = |was| UserFile { kind, was, stamp, is_lost: false };
        let is_copied = as_before.as_ref().is_some_and(|known| known.was.is_some());
        let is_ignored = kind == Kind::Ignored;
        let fits = is_ignored || size <= MOST_COPIED && sum + size <= MOST_IN_SUM;
        sum += if fits && !is_ignored { size } else { 0 };
        let file = match as_before {
            Some(known) if is_copied || !fits => known,
            _ if !fits => new(None),
            _ => match state::of(tree, path) {
                Ok(Some(was)) => new(Some(was)),
                Ok(None) => continue,
                Err(error) => {
                    tracing::debug!("{path} is not copied: {error:#}");
                    new(None)
                }
            },
        };
        left_out.extend((!is_copied && !fits).then(|| path.clone()));
        now.insert(path.clone(), file);
    }
    if is_changed || !known.is_empty() {
        atomic_file::replace(&tree.state_dir.join(FILE), &serde_json::to_vec(&now)?)?;
    }
    own.ignored = Some(kept);
    own.known = Some(now);
    drop(own);
    let too_large = |path| note(tree, path, UserFileChangeKind::TooLarge { is_ignored: false });
    left_out.into_iter().try_for_each(too_large)
}

/// Notes the modes of the folders above a file: a command that opened them to everybody, or made
/// them again, must not leave them so.
fn note_folders(tree: &WorkingTree, path: &str, all: &mut BTreeMap<String, UserFile>) {
    for (at, _) in path.rmatch_indices('/') {
        let folder = &path[..at];
        if all.contains_key(folder) {
            return;
        }
        let Ok(metadata) = tree.look(folder) else { continue };
        if metadata.is_dir() {
            let was = Some(Was::Folder { mode: state::mode_of(&metadata) });
            let kind = Kind::Uncommitted;
            let file = UserFile { kind, was, stamp: None, is_lost: false };
            all.insert(folder.to_owned(), file);
        }
    }
}

/// The state of the person's files that an earlier run could not put back.
fn lost_files(tree: &WorkingTree) -> BTreeMap<String, UserFile> {
    let mut files = last_known(tree);
    files.retain(|_, file| file.is_lost);
    files
}

/// The files as they were before the last command, of this run or an earlier one.
fn last_known(tree: &WorkingTree) -> BTreeMap<String, UserFile> {
    let file = std::fs::read(tree.state_dir.join(FILE)).unwrap_or_default();
    let mut files: BTreeMap<String, UserFile> = serde_json::from_slice(&file).unwrap_or_default();
    for file in files.values_mut() {
        file.was = file.was.take().map(|was| tree.with_own_copy(was));
    }
    files
}

/// The files that were put back after a command.
#[derive(Debug, Default)]
pub(super) struct PutBack {
    pub(super) paths: Vec<String>,
    /// The copies of those that were gone.
    gone: Vec<PathBuf>,
}

impl PutBack {
    /// Removes the new files that the command moved a person's files to, whose bytes are where they
    /// were again; returns the other new paths.
    pub(super) fn without_moved(
        &self,
        tree: &WorkingTree,
        tracking: &dyn Tracking,
        made: Vec<String>,
    ) -> anyhow::Result<Vec<String>> {
        let mut others = Vec::new();
        for path in made {
            match self.was_moved_to(tree, &path) && !tracking.tracks(&path)? {
                true => tree.unlink(&path).with_context(|| format!("removing {path}"))?,
                false => others.push(path),
            }
        }
        Ok(others)
    }

    fn was_moved_to(&self, tree: &WorkingTree, path: &str) -> bool {
        // Empty files are equal by chance.
        if self.gone.is_empty() || tree.look(path).is_ok_and(|metadata| metadata.len() == 0) {
            return false;
        }
        let Ok(Some(now)) = tree.fingerprint(path) else { return false };
        let begins = format!("{now}-");
        let names = self.gone.iter().filter_map(|copy| copy.file_name()?.to_str());
        names.into_iter().any(|name| name.starts_with(&begins))
    }
}

/// Puts back the uncommitted files that the command changed, if `is_effect` agrees. What happened is
/// noted for the person, for each file once.
pub(super) fn after_command(
    tree: &WorkingTree,
    is_effect: &dyn Fn(&str) -> bool,
) -> anyhow::Result<PutBack> {
    let known = tree.user_files.borrow_mut().known.take();
    // Of a command that was killed together with an earlier process.
    let mut before = known.unwrap_or_else(|| last_known(tree));
    let mut put_back = PutBack::default();
    let mut is_lost = false;
    // A folder comes before the files in it, which may be out of reach. One that is gone is made
    // again with its files.
    put_folders_back(tree, &before);
    for (path, file) in &mut before {
        let stamp = tree.look(path).ok().as_ref().and_then(Stamp::of);
        if !file.is_lost && (stamp.is_some() && stamp == file.stamp || !is_effect(path)) {
            continue;
        }
        let kind = match (&file.was, file.kind) {
            (Some(Was::Folder { .. }), _) => continue,
            (None, Kind::Uncommitted) => UserFileChangeKind::NotPutBack(None),
            // It was named when the list was read.
            (None, Kind::Ignored | Kind::Edit) => continue,
            (Some(Was::File { copy, mode }), kind @ (Kind::Ignored | Kind::Edit)) => {
                if kind == Kind::Ignored {
                    keep_mode(tree, path, *mode);
                }
                let now = tree.fingerprint(path).unwrap_or_default();
                if now.is_some_and(|now| tree.copy_of(path, &now) == *copy) {
                    continue;
                }
                match kind {
                    Kind::Edit => UserFileChangeKind::EditChanged(copy.clone()),
                    _ => UserFileChangeKind::IgnoredChanged(copy.clone()),
                }
            }
            (Some(_), Kind::Ignored | Kind::Edit) => continue,
            (Some(was), Kind::Uncommitted) => {
                let size = tree.look(path).map_or(0, |metadata| metadata.len());
                let now = if size > MOST_COPIED { None } else { state::of(tree, path)? };
                let is_folder = tree.look(path).is_ok_and(|metadata| metadata.is_dir());
                // Of a folder in the place of a deleted file nobody knows who made it.
                if now.as_ref() == Some(was) || is_folder && *was == Was::Nothing {
                    file.is_lost = false;
                    keep_time(tree, path, file.stamp);
                    continue;
                }
                let is_same_file =
                    stamp.zip(file.stamp).is_some_and(|(now, was)| now.is_of_same_file(&was));
                let done = match is_same_file && has_other_names(tree, path) {
                    true => state::put_back_in_place(tree, path, was),
                    false => state::put_back(tree, path, was),
                };
                // The folders get their modes again below.
                let done = done.or_else(|_| {
                    state::open_folders(tree, path)?;
                    state::put_back(tree, path, was)
                });
                if let Err(error) = done {
                    tracing::warn!("{path} could not be put back: {error:#}");
                    // What is there now is not the person's: the next command's end tries again.
                    (file.is_lost, is_lost) = (true, true);
                    let copy = match was {
                        Was::File { copy, .. } => Some(copy.clone()).filter(|copy| copy.exists()),
                        Was::Nothing | Was::Link(_) | Was::Folder { .. } => None,
                    };
                    note(tree, path.clone(), UserFileChangeKind::NotPutBack(copy))?;
                    continue;
                }
                file.is_lost = false;
                keep_time(tree, path, file.stamp);
                put_back.paths.push(path.clone());
                if let (Was::File { copy, .. }, None | Some(Was::Nothing)) = (was, &now) {
                    put_back.gone.push(copy.clone());
                }
                UserFileChangeKind::PutBack(match now {
                    Some(Was::File { copy, .. }) => Some(copy),
                    _ => None,
                })
            }
        };
        note(tree, path.clone(), kind)?;
    }
    put_folders_back(tree, &before);
    for path in listed(tree, IGNORED) {
        if ignored_files::is_empty_folder(tree, &path) {
            note(tree, path, UserFileChangeKind::FolderEmptied)?;
        }
    }
    if is_lost {
        atomic_file::replace(&tree.state_dir.join(FILE), &serde_json::to_vec(&before)?)?;
    }
    tree.user_files.borrow_mut().known = Some(before);
    note_end(tree, SystemTime::now());
    Ok(put_back)
}

/// Gives the top folder the mode it had before the command: whoever may not enter it finds nothing in
/// it, git's folder included.
pub(super) fn put_top_back(tree: &WorkingTree) {
    let top = tree.user_files.borrow().top;
    let done = top.map(|mode| state::put_back(tree, ".", &Was::Folder { mode }));
    if let Some(Err(error)) = done {
        tracing::warn!("the top folder keeps the mode that a command gave it: {error:#}");
    }
}

/// Gives the folders above the person's files the modes they had.
fn put_folders_back(tree: &WorkingTree, before: &BTreeMap<String, UserFile>) {
    for (path, file) in before {
        if let Some(was @ Was::Folder { .. }) = &file.was
            && let Err(error) = state::put_back(tree, path, was)
        {
            tracing::warn!("{path} keeps the mode that a command gave it: {error:#}");
        }
    }
}

/// True for a file with more than one name (hard link).
fn has_other_names(tree: &WorkingTree, path: &str) -> bool {
    #[cfg(unix)]
    {
        use cap_std::fs::MetadataExt as _;
        tree.look(path).is_ok_and(|metadata| metadata.is_file() && metadata.nlink() > 1)
    }
    #[cfg(not(unix))]
    {
        let _ = (tree, path);
        false
    }
}

/// Gives an ignored file the mode it had: a command may change its content, but should not show a
/// password to other users.
fn keep_mode(tree: &WorkingTree, path: &str, mode: u32) {
    let is_other = |now: &cap_std::fs::Metadata| now.is_file() && state::mode_of(now) != mode;
    if tree.look(path).is_ok_and(|now| is_other(&now))
        && let Err(error) = state::set_file_mode(tree, path, mode)
    {
        tracing::debug!("{path} keeps the mode that a command gave it: {error}");
    }
}

/// Notes what happened to a file for the person, once in a run; another content is told again,
/// because it may be the person's.
pub(super) fn note(
    tree: &WorkingTree,
    path: String,
    kind: UserFileChangeKind,
) -> anyhow::Result<()> {
    let mut own = tree.user_files.borrow_mut();
    let change = UserFileChange { path, kind };
    if own.told.contains(&change) {
        return Ok(());
    }
    own.told.push(change.clone());
    let UserFileChange { path, kind } = &change;
    if let UserFileChangeKind::IgnoredChanged(_) | UserFileChangeKind::FolderEmptied = kind {
        // From now on it is the command's.
        own.ignored = None;
        ignored_files::forget(tree, |other| other == path)?;
    }
    tree.user_file_changes.borrow_mut().push(change);
    Ok(())
}

/// Notes what commands left in the tree that no commit contains.
pub(super) fn note_left<'a>(
    tree: &WorkingTree,
    paths: impl Iterator<Item = &'a String>,
) -> anyhow::Result<()> {
    let mut own = tree.user_files.borrow_mut();
    let left = own.left.get_or_insert_with(|| listed(tree, LEFT));
    let before = left.len();
    left.extend(paths.cloned());
    if left.len() == before {
        return Ok(());
    }
    atomic_file::replace(&tree.state_dir.join(LEFT), &serde_json::to_vec(left)?)
}

/// Gives a file that was put back the time it had, so that build tools see no change.
fn keep_time(tree: &WorkingTree, path: &str, stamp: Option<Stamp>) {
    let Some(stamp) = stamp else { return };
    let file = tree.open_regular(path).map(cap_std::fs::File::into_std);
    if let Ok(file) = file
        && let Err(error) = file.set_modified(stamp.modified())
    {
        tracing::debug!("{path} keeps the time at which it was put back: {error}");
    }
}
