//! The files that the steps of a session changed.

use anyhow::Result;

use super::kept_changes::KeptChanges;
use crate::git::{self, Git, Oid, TreeChange};
use crate::session::{ChangedFile, Entry, Kind, count_changes, is_code};

/// Whether the changed lines of tasks are counted, which requires reading their files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineCounts {
    /// Yes: [`Step::counted`](super::Step::counted) has them.
    Wanted,
    /// No.
    Unwanted,
}

/// What a commit changed since its only parent; nothing for a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Changes {
    /// Everything outside `.cowork`; with line counts if it is a task's commit.
    pub(super) files: Vec<ChangedFile>,
    /// True unless the watched file is certainly the same as in the commit before.
    pub(super) watched: bool,
}

/// The changes of each of these commits, in their order; `watched` is the path of a file.
pub(super) fn changes(
    git: &Git,
    entries: &[Entry],
    watched: &str,
    (kept, lines): (&mut KeptChanges, LineCounts),
) -> Result<Vec<Changes>> {
    let pairs = with_parents(entries);
    let known = |(previous, entry): &Pair<'_>| previous.and_then(|_| kept.get(&entry.commit));
    let mut all: Vec<Option<Changes>> = pairs.iter().map(|pair| known(pair).cloned()).collect();
    let unknown = pairs.iter().zip(&all).filter(|(_, known)| known.is_none());
    let unknown: Vec<&Pair<'_>> = unknown.map(|(pair, _)| pair).collect();
    let read = git::many::ask_each(git, &unknown, |git, pair| read(git, pair, watched, lines));
    let places = all.iter_mut().filter(|known| known.is_none());
    for ((place, (previous, entry)), read) in places.zip(unknown).zip(read) {
        let (changes, is_whole) = read?;
        if is_whole && previous.is_some() && lines == LineCounts::Wanted {
            kept.add(&entry.commit, &changes);
        }
        *place = Some(changes);
    }
    Ok(all.into_iter().flatten().collect())
}

/// A commit, and its parent if that is the entry before it: then both trees are known.
pub(super) type Pair<'a> = (Option<&'a Entry>, &'a Entry);

/// Each entry with its parent.
pub(super) fn with_parents(entries: &[Entry]) -> Vec<Pair<'_>> {
    let mut pairs: Vec<Pair<'_>> = Vec::with_capacity(entries.len());
    for entry in entries {
        let previous = pairs.last().map(|(_, entry)| *entry);
        pairs.push((previous.filter(|one| entry.parents == [one.commit.clone()]), entry));
    }
    pairs
}

/// Reads the changes of a commit; false if a file whose lines are wanted could not be read.
pub(super) fn read(
    git: &Git,
    (previous, entry): &Pair<'_>,
    watched: &str,
    lines: LineCounts,
) -> Result<(Changes, bool)> {
    let all = match previous {
        Some(previous) => git.reader().diff(Some(&previous.tree), &entry.tree)?,
        None => since_parent(git, &entry.commit, &entry.parents)?,
    };
    let watched = previous.is_none() || all.iter().any(|change| change.path == watched);
    let code = only_code(all);
    let (files, is_whole) = match (&entry.kind, lines) {
        (Kind::Task(_), LineCounts::Wanted) => count_changes(git.reader().as_ref(), &code),
        _ => (uncounted(code), true),
    };
    Ok((Changes { files, watched }, is_whole))
}

/// The code that a commit changed since its only parent, without line counts; none for a merge.
pub(super) fn code_changes(git: &Git, commit: &Oid, parents: &[Oid]) -> Result<Vec<ChangedFile>> {
    Ok(uncounted(only_code(since_parent(git, commit, parents)?)))
}

fn since_parent(git: &Git, commit: &Oid, parents: &[Oid]) -> Result<Vec<TreeChange>> {
    match parents {
        [parent] => git.reader().diff(Some(parent), commit),
        _ => Ok(Vec::new()),
    }
}

/// The changes outside `.cowork`.
fn only_code(mut changes: Vec<TreeChange>) -> Vec<TreeChange> {
    changes.retain(|change| is_code(&change.path));
    changes
}

fn uncounted(changes: Vec<TreeChange>) -> Vec<ChangedFile> {
    let file = |change: TreeChange| ChangedFile { path: change.path, ..ChangedFile::default() };
    changes.into_iter().map(file).collect()
}
