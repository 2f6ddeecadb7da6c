//! The project's files, including the draft in the working tree.

use std::collections::BTreeSet;

use crate::artifact::check::{Baseline, CodeChanges, has_code, nothing_changed};
use crate::artifact::{Plan, Task};
use crate::error::Error;
use crate::git::Oid;
use crate::pipeline::files::task_files;
use crate::pipeline::run::Run;
use crate::session::{self, ProjectFiles};
use crate::stages::StageSpec;

/// The state a change request started with; `None` if the session is not a change request.
pub(crate) fn baseline_of_change(run: &Run<'_>) -> anyhow::Result<Option<Baseline>> {
    session::baseline(run.env.git, &run.session)
}

/// Paths outside `.cowork` that differ between the session's start and a commit or tree.
pub(crate) fn code_since_start(run: &Run<'_>, commit: &Oid) -> anyhow::Result<Vec<String>> {
    session::code_since_start(run.env.git, &run.session, commit)
}

/// The files with the draft in the working tree.
pub(crate) fn project_files(run: &Run<'_>) -> anyhow::Result<ProjectFiles> {
    // A plan that cannot be read names no files; the checks report what is wrong with it.
    let plan = run.store().plan().unwrap_or_default();
    let tree = run.tree()?;
    ProjectFiles::at(run.env.git, &run.session, &tree, &plan)
}

/// The session's changes, including the code that is about to be committed for a task.
pub(crate) fn code_changes(run: &Run<'_>, task: Option<&Task>) -> anyhow::Result<CodeChanges> {
    let tree = run.tree()?;
    let history = run.committed_code()?;
    let mut changes = session::code_changes_with(run.env.git, &run.session, &tree, &history)?;
    if let Some(task) = task
        && (task_files::has_own_code(run, task)? || task_files::why_unchanged(run, task)?.is_some())
    {
        changes.tasks.insert(task.id.clone());
    }
    Ok(changes)
}

/// The ids of tasks that have code; uncommitted code belongs to `current`.
pub(crate) fn tasks_with_code(
    run: &Run<'_>,
    plan: &Plan,
    current: Option<&Task>,
) -> anyhow::Result<BTreeSet<String>> {
    let code = code_changes(run, current)?;
    let baseline = baseline_of_change(run)?;
    let has_code = has_code(plan, &code, baseline.as_ref());
    let is_current = |task: &Task| current.is_some_and(|current| current.id == task.id);
    let is_coded = |task: &&Task| match is_current(task) {
        true => code.has_work_of(plan, task),
        false => has_code(task),
    };
    let tasks = plan.tasks.iter().filter(is_coded);
    Ok(tasks.map(|task| task.id.clone()).collect())
}

/// True if nothing was changed for a task that its actor has completed, and the actor gave no reason.
pub(crate) fn lacks_change(run: &Run<'_>, task: &Task) -> anyhow::Result<bool> {
    let plan = run.store().plan()?;
    Ok(!code_changes(run, Some(task))?.has_work_of(&plan, task))
}

/// Fails if there is nothing to deliver, before a model is asked for a report: no more code can be
/// written at this point.
pub(crate) fn something_to_deliver(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<()> {
    if !code_changes(run, None)?.now.is_empty() {
        return Ok(());
    }
    let words = format!("{}: {}", spec.stage, nothing_changed().details);
    Err(Error::failed(words)
        .hint(format!("go back to coding: git cowork revert {} --to coding", run.session.name))
        .into())
}
