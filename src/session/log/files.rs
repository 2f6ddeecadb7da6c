//! The files that the steps of a session changed.

use super::Step;
use crate::git::{self, Git, Oid};
use crate::session::{changed_files, code};

/// Fills in the files of each step whose commit has one parent.
///
/// # Errors
/// Git cannot be read.
pub fn name_files(git: &Git, steps: &mut [Step]) -> anyhow::Result<()> {
    let reader = git.reader();
    for step in steps {
        let Some(commit) = step.commit.as_deref().and_then(|id| id.parse::<Oid>().ok()) else {
            continue;
        };
        if let [parent] = &reader.commit(&commit)?.parents[..] {
            let changed = reader.diff(Some(parent), &commit)?;
            step.files = code(changed.into_iter().map(|change| change.path).collect());
        }
    }
    Ok(())
}

/// Fills in the changed lines of each task commit, by file.
///
/// # Errors
/// Git cannot be read.
pub fn count_lines(git: &Git, steps: &mut [Step]) -> anyhow::Result<()> {
    let tasks = steps.iter().enumerate().filter(|(_, step)| step.event == "task_completed");
    let commit = |step: &Step| step.commit.as_deref()?.parse::<Oid>().ok();
    let tasks: Vec<(usize, Oid)> =
        tasks.filter_map(|(at, step)| Some((at, commit(step)?))).collect();
    let counted = git::many::ask_each(git, &tasks, |git, (_, commit)| {
        match &git.reader().commit(commit)?.parents[..] {
            [parent] => changed_files(git, parent, commit),
            _ => Ok(Vec::new()),
        }
    });
    for ((at, _), counted) in tasks.into_iter().zip(counted) {
        steps[at].changed = counted?;
    }
    Ok(())
}
