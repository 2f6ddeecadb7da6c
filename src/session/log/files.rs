//! The files that the steps of a session changed.

use crate::git::{self, Git, Oid, TreeChange};
use crate::session::{ChangedFile, Entry, Kind, count_changes, is_code};

/// Whether the changed lines of tasks are counted, which requires reading their files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineCounts {
    /// Yes: [`Step::lines`](super::Step::lines) is filled in.
    Wanted,
    /// No.
    Unwanted,
}

/// What a commit changed since its only parent; nothing for a merge.
pub(super) struct Changes {
    /// Everything outside `.cowork`.
    pub(super) code: Vec<TreeChange>,
    /// The same with line counts, for a task's commit if wanted.
    pub(super) lines: Vec<ChangedFile>,
    /// True unless the watched file is certainly the same as in the commit before.
    pub(super) watched: bool,
}

/// The changes of each of these commits, in their order; `watched` is the path of a file.
pub(super) fn changes(
    git: &Git,
    entries: &[Entry],
    watched: &str,
    lines: LineCounts,
) -> Vec<anyhow::Result<Changes>> {
    // Each entry with its parent, if that is the entry before it: then both trees are known.
    let mut pairs: Vec<(Option<&Entry>, &Entry)> = Vec::with_capacity(entries.len());
    for entry in entries {
        let previous = pairs.last().map(|(_, entry)| *entry);
        pairs.push((previous.filter(|one| entry.parents == [one.commit.clone()]), entry));
    }
    git::many::ask_each(git, &pairs, |git, (previous, entry)| {
        let all = match previous {
            Some(previous) => git.reader().diff(Some(&previous.tree), &entry.tree)?,
            None => since_parent(git, &entry.commit, &entry.parents)?,
        };
        let watched = previous.is_none() || all.iter().any(|change| change.path == watched);
        let code = only_code(all);
        let counted = match (lines, &entry.kind) {
            (LineCounts::Wanted, Kind::Task(_)) => count_changes(git.reader().as_ref(), &code),
            _ => Vec::new(),
        };
        Ok(Changes { code, lines: counted, watched })
    })
}

/// The code that a commit changed since its only parent; none for a merge.
pub(super) fn code_changes(
    git: &Git,
    commit: &Oid,
    parents: &[Oid],
) -> anyhow::Result<Vec<TreeChange>> {
    Ok(only_code(since_parent(git, commit, parents)?))
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
