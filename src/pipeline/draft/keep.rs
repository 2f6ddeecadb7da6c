//! Saves a draft in its ref with the notes needed when the run stops, and when it stops resets the
//! session's paths to the tip; says why a commit was refused.

use crate::artifact::{Feedback, FeedbackType, Origin, Severity, TaskStatus};
use crate::error::{self, ErrorSubject};
use crate::event::Event;
use crate::pipeline::files::approved_content;
use crate::pipeline::run::{CurrentDraft, Run, now};
use crate::pipeline::step::{self, Step};
use crate::pipeline::{checks, draft_count};
use crate::record::{self, DraftEnding, Refused};
use crate::session::RefNames;

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
    let complete = tasks.clone().filter(|task| task.status == TaskStatus::Completed).count();
    Ok((complete, tasks.count()))
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

/// Saves the draft in progress in its ref and resets the session's paths to the tip. `reason` is
/// the error that ended the run, which is reported anyway.
pub(crate) fn stop_cleanly(run: &Run<'_>, reason: Option<&anyhow::Error>) -> anyhow::Result<()> {
    let Some(CurrentDraft { iteration, ending, mut notes }) = run.current_draft.take() else {
        return Ok(());
    };
    notes.credit.at_least(step::credit_so_far(run, run.stage.get()));
    let recorder = run.recorder();
    let tip = &run.session.tip;
    // Without its records a draft would delete them.
    let check = recorder.expect_tip(tip).and_then(|()| run.env.workspace.require_branch());
    if let Err(error) = check {
        // HEAD or the branch moved, or the records are gone. If that ended the run, `reason` says
        // so already.
        run.warn(match reason.map(error::about) {
            Some(ErrorSubject::Moved) => "files left unchanged".to_owned(),
            Some(ErrorSubject::Other | ErrorSubject::NoSession) | None => {
                format!("files left unchanged: {error}")
            }
        });
        run.kept.replace(Some("the files were left unchanged".to_owned()));
        return Ok(());
    }
    let stage = run.stage.get();
    let name = RefNames::draft(&run.session.name, stage);
    // Why the stage is blocked must be known even if no file was written.
    if notes.stuck.is_some() || recorder.differs_from(tip)? {
        record::draft_refs::keep(&recorder, tip, stage, iteration, ending, &notes)?;
        run.kept.replace(Some(format!("draft {iteration} of {stage} is saved: git show {name}")));
    }
    record::draft_refs::reset_files(&recorder, tip)
}
