//! What a stage's work took: from the meter while it is done, for its commit.

use crate::pipeline::progress::Progress;
use crate::pipeline::run::Run;
use crate::record::Credit;
use crate::spent::Spent;
use crate::stage::Stage;

/// What was used since the last look.
pub(crate) fn take_credit(run: &Run<'_>) -> Credit {
    run.env.models.meter.take().into_iter().collect()
}

/// What the ledger tells of the stage's work since the last stage was completed, tasks apart.
/// A run that was killed has told nobody else.
pub(crate) fn credit_so_far(run: &Run<'_>, stage: Stage) -> Credit {
    let since = since_last_stage(run);
    let wanted = run.env.models.meter.of(|place| {
        // The first request has no stage: it is part of the first one.
        place.stage.is_none_or(|of| of == stage)
            && place.task.is_none()
            && since.contains(&place.on.as_str())
    });
    wanted.into_iter().collect()
}

/// What the ledger tells of a task's work in this draft.
pub(crate) fn task_credit(run: &Run<'_>, task: &str, iteration: u32) -> Credit {
    let since = since_last_stage(run);
    let wanted = run.env.models.meter.of(|place| {
        place.task.as_deref() == Some(task)
            && place.iteration == iteration
            && since.contains(&place.on.as_str())
    });
    wanted.into_iter().collect()
}

/// The newest completed stage's commit (or the start) and what came after it.
fn since_last_stage<'r>(run: &'r Run<'_>) -> Vec<&'r str> {
    let history = &run.session.history;
    let recent = run.session.since_last_stage().len() + 1;
    let from = history.len().saturating_sub(recent);
    history[from..].iter().map(|entry| entry.commit.as_str()).collect()
}

/// What the stage in progress took so far, its tasks included.
pub(crate) fn stage_so_far(run: &Run<'_>, progress: &Progress) -> Spent {
    let mut spent = run.session.tasks_spent();
    spent += progress.credit.spent;
    spent
}
