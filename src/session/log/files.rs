//! The files that the steps of a session changed.

use super::kept_changes::KeptChanges;
use crate::git::{self, Git, Oid, TreeChange};
use crate::session::{ChangedFile, Entry, Kind, count_changes, is_code};

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
    kept: &mut KeptChanges,
) -> anyhow::Result<Vec<Changes>> {
    let pairs = with_parents(entries);
    let unknown: Vec<_> =
        pairs.iter().filter(|(_, entry)| kept.get(&entry.commit).is_none()).collect();
    let read = git::many::ask_each(git, &unknown, |git, (previous, entry)| {
        read(git, *previous, entry, watched)
    });
    let mut read = read.into_iter();
    let mut all = Vec::with_capacity(pairs.len());
    for (previous, entry) in &pairs {
        let known = kept.get(&entry.commit).cloned();
        let changes = match known {
            Some(known) => known,
            None => {
                let Some(changes) = read.next().transpose()? else { break };
                // The changes of a pair of commits never change.
                if previous.is_some() {
                    kept.add(&entry.commit, &changes);
                }
                changes
            }
        };
        all.push(changes);
    }
    Ok(all)
}

/// Each entry with its parent, if that is the entry before it: then both trees are known.
pub(super) fn with_parents(entries: &[Entry]) -> Vec<(Option<&Entry>, &Entry)> {
    let mut pairs: Vec<(Option<&Entry>, &Entry)> = Vec::with_capacity(entries.len());
    for entry in entries {
        let previous = pairs.last().map(|(_, entry)| *entry);
        pairs.push((previous.filter(|one| entry.parents == [one.commit.clone()]), entry));
    }
    pairs
}

/// Reads the changes of a commit.
pub(super) fn read(
    git: &Git,
    previous: Option<&Entry>,
    entry: &Entry,
    watched: &str,
) -> anyhow::Result<Changes> {
    let all = match previous {
        Some(previous) => git.reader().diff(Some(&previous.tree), &entry.tree)?,
        None => since_parent(git, &entry.commit, &entry.parents)?,
    };
    let watched = previous.is_none() || all.iter().any(|change| change.path == watched);
    let code = only_code(all);
    let files = match entry.kind {
        Kind::Task(_) => count_changes(git.reader().as_ref(), &code),
        _ => uncounted(code),
    };
    Ok(Changes { files, watched })
}

/// The code that a commit changed since its only parent, without line counts; none for a merge.
pub(super) fn code_changes(
    git: &Git,
    commit: &Oid,
    parents: &[Oid],
) -> anyhow::Result<Vec<ChangedFile>> {
    Ok(uncounted(only_code(since_parent(git, commit, parents)?)))
}

fn since_parent(git: &Git, commit: &Oid, parents: &[Oid]) -> anyhow::Result<Vec<TreeChange>> {
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
