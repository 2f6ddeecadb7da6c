//! Saves a draft in its ref, with the notes needed when the run stops, and records why a commit was
//! refused.

use crate::artifact::{FeedbackType, Origin, Severity, TaskStatus};
use crate::event::Event;
use crate::pipeline::checks;
use crate::pipeline::files::approved_content;
use crate::pipeline::progress::{self, Progress};
use crate::pipeline::run::{CurrentDraft, Run, now};
use crate::record::{self, DraftEnding, Refused};
use crate::stages::StageSpec;

/// Saves the draft in the working tree in its ref.
pub(crate) fn keep(run: &Run<'_>, spec: &StageSpec, progress: &mut Progress) -> anyhow::Result<()> {
    let (tip, number) = (&run.session.tip, progress.iteration);
    run.recorder().expect_tip(tip)?;
    mark(run, progress, number, DraftEnding::Whole);
    let notes = progress.notes();
    let whole = DraftEnding::Whole;
    progress.newest.commit =
        Some(record::draft_refs::keep(&run.recorder(), tip, spec.stage, number, whole, &notes)?);
    // The present files are now saved, whoever wrote them, so tools may overwrite them.
    run.env.workspace.written().adopt(&approved_content::documents_on_disk(run, spec))
}

/// Like [`keep`], with a person's question about the draft and the actor's answer.
pub(crate) fn keep_answer(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    asked: (&str, &str),
) -> anyhow::Result<()> {
    let (tip, number) = (&run.session.tip, progress.iteration);
    run.recorder().expect_tip(tip)?;
    mark(run, progress, number, DraftEnding::Whole);
    let notes = progress.notes();
    let kept =
        record::draft_refs::keep_answer(&run.recorder(), tip, spec.stage, number, &notes, asked)?;
    progress.newest.commit = Some(kept);
    run.env.workspace.written().adopt(&approved_content::documents_on_disk(run, spec))
}

/// Records what must be saved if the run stops now.
pub(crate) fn mark(run: &Run<'_>, progress: &Progress, iteration: u32, ending: DraftEnding) {
    let notes = progress.notes();
    run.current_draft.replace(Some(CurrentDraft { iteration, ending, notes }));
}

pub(crate) fn announce(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
    task: Option<String>,
) -> anyhow::Result<()> {
    run.env.sink.emit(Event::DraftStarted {
        stage: spec.stage,
        iteration: progress.iteration,
        limit: progress::allowed(run, spec, progress)?,
        tasks: match task {
            Some(_) => count_tasks(run)?,
            None => (0, 0),
        },
        task,
    });
    Ok(())
}

/// The number of completed tasks of the plan, and of all tasks.
fn count_tasks(run: &Run<'_>) -> anyhow::Result<(usize, usize)> {
    let plan = run.store().plan()?;
    let tasks = plan.tasks.iter().filter(|task| task.is_top_level());
    let done = tasks.clone().filter(|task| task.status == TaskStatus::Completed).count();
    Ok((done, tasks.count()))
}

/// Gives the actor the reason why a commit was refused.
pub(crate) fn refusal_feedback(
    run: &Run<'_>,
    spec: &StageSpec,
    iteration: u32,
    refused: &Refused,
) -> anyhow::Result<()> {
    run.tell_of_hooks()?;
    let entries = match refused {
        Refused::Hook { .. } => {
            let words = refused.to_string();
            let mut entry = run.feedback(spec.stage, iteration, Origin::Hook, &words);
            entry.feedback_type = FeedbackType::BuildError;
            entry.severity = Severity::Critical;
            vec![entry]
        }
        Refused::Leaks(leaks) => {
            let found = checks::leaks_found(leaks).into_iter();
            found.map(|found| found.to_feedback(&now(), spec.stage, iteration)).collect()
        }
    };
    run.give_feedback(entries)
}
