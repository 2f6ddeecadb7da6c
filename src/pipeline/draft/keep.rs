//! Saves a draft in its ref, with the notes needed when the run stops, and records why a commit was
//! refused.

use crate::artifact::{Feedback, FeedbackType, Origin, Severity, TaskStatus};
use crate::event::Event;
use crate::pipeline::checks;
use crate::pipeline::draft_count;
use crate::pipeline::files::approved_content;
use crate::pipeline::run::{CurrentDraft, Run, now};
use crate::pipeline::step::Step;
use crate::record::{self, DraftEnding, Refused};

/// Saves the draft in the working tree in its ref.
pub(crate) fn keep(step: &mut Step<'_, '_>) -> anyhow::Result<()> {
    keep_with(step, None)
}

/// Like [`keep`], with a person's question about the draft and the actor's answer.
pub(crate) fn keep_answer(step: &mut Step<'_, '_>, asked: (&str, &str)) -> anyhow::Result<()> {
    keep_with(step, Some(asked))
}

fn keep_with(step: &mut Step<'_, '_>, asked: Option<(&str, &str)>) -> anyhow::Result<()> {
    step.run.expect_tip()?;
    mark(step, step.draft.iteration, DraftEnding::Whole);
    let (recorder, tip, notes) = (step.run.recorder(), &step.run.session.tip, step.draft.notes());
    let (stage, number) = (step.spec.stage, step.draft.iteration);
    step.draft.commit = Some(match asked {
        Some(asked) => {
            record::draft_refs::keep_answer(&recorder, tip, stage, number, &notes, asked)?
        }
        None => {
            record::draft_refs::keep(&recorder, tip, stage, number, DraftEnding::Whole, &notes)?
        }
    });
    drop(recorder);
    // The present files are now saved, whoever wrote them, so tools may overwrite them.
    let documents = approved_content::documents_on_disk(step.run, step.spec);
    step.run.env.workspace.written().adopt(&documents)
}

/// Records what must be saved if the run stops now.
pub(crate) fn mark(step: &Step<'_, '_>, iteration: u32, ending: DraftEnding) {
    let notes = step.draft.notes();
    step.run.current_draft.replace(Some(CurrentDraft { iteration, ending, notes }));
}

pub(crate) fn announce(step: &Step<'_, '_>, task: Option<String>) -> anyhow::Result<()> {
    step.run.env.sink.emit(Event::DraftStarted {
        stage: step.spec.stage,
        iteration: step.draft.iteration,
        limit: draft_count::allowed(step)?,
        tasks: match task {
            Some(_) => count_tasks(step.run)?,
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

/// The reason why a commit was refused, as feedback for the actor.
pub(crate) fn refusal_feedback(
    step: &Step<'_, '_>,
    refused: &Refused,
) -> anyhow::Result<Vec<Feedback>> {
    step.run.tell_of_hooks()?;
    Ok(match refused {
        Refused::Hook { .. } => vec![Feedback {
            feedback_type: FeedbackType::BuildError,
            severity: Severity::Critical,
            ..step.feedback(Origin::Hook, &refused.to_string())
        }],
        Refused::Leaks(leaks) => {
            let (stage, iteration) = (step.spec.stage, step.draft.iteration);
            let findings = checks::leaks_found(leaks).into_iter();
            findings.map(|finding| finding.to_feedback(&now(), stage, iteration)).collect()
        }
    })
}
