//! The usage of a stage's work, read from the meter for the stage's commit.

use crate::pipeline::progress::Progress;
use crate::pipeline::run::Run;
use crate::record::Credit;
use crate::spent::Spent;
use crate::stage::Stage;

/// The usage since the last call.
pub(crate) fn take_credit(run: &Run<'_>) -> Credit {
    run.env.models.meter.take().into_iter().collect()
}

/// The stage's usage since the last completed stage, without tasks, from the meter's ledger. It
/// includes that of killed runs.
pub(crate) fn credit_so_far(run: &Run<'_>, stage: Stage) -> Credit {
    let since = since_last_stage(run);
    let wanted = run.env.models.meter.used_by(|place| {
        // The session's first request has no stage: it counts towards the first stage.
        place.stage.is_none_or(|of| of == stage)
            && place.task.is_none()
            && since.contains(&place.on.as_str())
    });
    wanted.into_iter().collect()
}

/// A task's usage in this draft, from the meter's ledger.
pub(crate) fn task_credit(run: &Run<'_>, task: &str, iteration: u32) -> Credit {
    let since = since_last_stage(run);
    let wanted = run.env.models.meter.used_by(|place| {
        place.task.as_deref() == Some(task)
            && place.iteration == iteration
            && since.contains(&place.on.as_str())
    });
    wanted.into_iter().collect()
}

/// The newest completed stage's commit (or the start commit) and all later commits.
fn since_last_stage<'r>(run: &'r Run<'_>) -> Vec<&'r str> {
    let history = &run.session.history;
    let recent = run.session.since_last_stage().len() + 1;
    let from = history.len().saturating_sub(recent);
    history[from..].iter().map(|entry| entry.commit.as_str()).collect()
}

/// The usage of the stage in progress so far, with its tasks.
pub(crate) fn stage_so_far(run: &Run<'_>, progress: &Progress) -> Spent {
    let mut spent = run.session.tasks_spent();
    spent += progress.newest.credit.spent;
    spent
}
