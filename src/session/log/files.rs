//! The files that the steps of a session changed.

use super::Step;
use crate::git::{self, Git, Oid, TreeChange};
use crate::session::{Entry, count_changes, is_code};

/// The changes of each of these commits since its parent, in their order; none for a merge.
pub(super) fn changes(git: &Git, entries: &[Entry]) -> Vec<anyhow::Result<Vec<TreeChange>>> {
    let mut pairs: Vec<(Option<&Entry>, &Entry)> = Vec::with_capacity(entries.len());
    for entry in entries {
        let previous = pairs.last().map(|(_, entry)| *entry);
        pairs.push((previous.filter(|previous| is_next(previous, entry)), entry));
    }
    git::many::ask_each(git, &pairs, |git, (previous, entry)| match previous {
        Some(previous) => git.reader().diff(Some(&previous.tree), &entry.tree),
        None => changes_of(git, &entry.commit, &entry.parents),
    })
}

/// True if a commit is directly upon the previous one, and a merge of nothing else.
pub(super) fn is_next(previous: &Entry, entry: &Entry) -> bool {
    matches!(&entry.parents[..], [parent] if *parent == previous.commit)
}

/// The changes of a commit since its only parent; none for a merge.
pub(super) fn changes_of(
    git: &Git,
    commit: &Oid,
    parents: &[Oid],
) -> anyhow::Result<Vec<TreeChange>> {
    match parents {
        [parent] => git.reader().diff(Some(parent), commit),
        _ => Ok(Vec::new()),
    }
}

/// The changes outside `.cowork`.
pub(super) fn of_project(mut changes: Vec<TreeChange>) -> Vec<TreeChange> {
    changes.retain(|change| is_code(&change.path));
    changes
}

/// Fills in the changed lines of each task commit, by file.
///
/// # Errors
/// Git cannot be read.
pub fn count_lines(git: &Git, steps: &mut [Step]) -> anyhow::Result<()> {
    let is_task = |step: &&mut Step| step.event == "task_completed";
    let tasks: Vec<&mut Step> = steps.iter_mut().filter(is_task).collect();
    let counted = git::many::ask_each(git, &tasks, |git, step| {
        count_changes(git.reader().as_ref(), &step.changes)
    });
    for (step, counted) in tasks.into_iter().zip(counted) {
        step.changed = counted;
    }
    Ok(())
}
