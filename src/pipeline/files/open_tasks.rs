//! The tasks that have no commit yet.

use crate::artifact::check::task_order;
use crate::artifact::{Plan, Store, Task, TaskStatus};
use crate::pipeline::run::Run;
use crate::session::merged_tasks;
use crate::stages::{StageSpec, Work};

/// Top-level tasks without a commit, in the order of their dependencies.
pub(crate) fn pending_tasks(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<Vec<Task>> {
    if !matches!(spec.work, Work::Tasks { .. }) {
        return Ok(Vec::new());
    }
    let plan = run.store().plan()?;
    let by_id = |id: &String| plan.tasks.iter().find(|task| task.id == *id);
    Ok(open_tasks(run, &plan)?.iter().filter_map(by_id).cloned().collect())
}

/// The ids of the top-level tasks without a commit, in the order of their dependencies.
pub(crate) fn open_tasks(run: &Run<'_>, plan: &Plan) -> anyhow::Result<Vec<String>> {
    let done = run.session.completed_tasks();
    let mut order = task_order(plan).unwrap_or_else(|_| {
        plan.tasks.iter().filter(|task| task.is_top_level()).map(|t| t.id.clone()).collect()
    });
    let mut elsewhere = completed_by_parent(run)?;
    elsewhere.extend(merged_tasks(run.env.git, &run.session)?);
    order.retain(|id| !done.contains(&id.as_str()) && !elsewhere.contains(id));
    Ok(order)
}

/// The tasks that were already completed when a change request started: their commits belong to
/// its parent.
pub(crate) fn completed_by_parent(run: &Run<'_>) -> anyhow::Result<Vec<String>> {
    let Some(start) = run.session.history.first().filter(|_| run.session.is_patch()) else {
        return Ok(Vec::new());
    };
    let files = run.files_at(&start.commit);
    let tasks = Store::new(&files).plan()?.tasks.into_iter();
    let completed = tasks.filter(|task| task.status == TaskStatus::Completed);
    Ok(completed.map(|task| task.id).collect())
}
