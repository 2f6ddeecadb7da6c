//! Tasks whose code existed before the session began.

use crate::artifact::{Artifact, TaskStatus};
use crate::pipeline::run::Run;
use crate::stages::StageSpec;

/// Marks tasks of adopted commits as completed: their code exists already.
pub(crate) fn complete_tasks(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<()> {
    if !spec.writes_code() || !run.session.file.is_adopted() {
        return Ok(());
    }
    let store = run.store();
    let mut plan = store.plan()?;
    let adopted = run.session.completed_tasks();
    let is_open = |status| matches!(status, TaskStatus::Pending | TaskStatus::InProgress);
    let mut changed = false;
    for task in &mut plan.tasks {
        if adopted.contains(&task.id.as_str()) && is_open(task.status) {
            task.status = TaskStatus::Completed;
            changed = true;
        }
    }
    if changed {
        store.save(Artifact::ImplementationPlan, &plan)?;
    }
    Ok(())
}
