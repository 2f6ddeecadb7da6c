//! A draft that waits for a person on the branch, or is dropped.

use crate::artifact::Origin;
use crate::error::Error;
use crate::event::Event;
use crate::gate::Mode;
use crate::pipeline::draft::{commit_message, keep};
use crate::pipeline::edits;
use crate::pipeline::history::dropped;
use crate::pipeline::other_models::Taken;
use crate::pipeline::outcome::{StageEnd, StepOutcome};
use crate::pipeline::progress::edit::Edit;
use crate::pipeline::progress::{self, Progress};
use crate::pipeline::run::Run;
use crate::record::{self, Recorded, ReviewRecord};
use crate::session::{Verdict, key};
use crate::stages::StageSpec;

/// Ends a draft that was aborted: an attempt keeps it, the next run begins from scratch.
pub(crate) fn drop_draft(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
) -> anyhow::Result<()> {
    let recorder = run.recorder();
    let tip = run.session.tip.clone();
    let (stage, number) = (spec.stage, progress.iteration);
    // The person may have been elsewhere while the gate stood open.
    recorder.expect_tip(&tip)?;
    dropped::keep_aborted(run, stage)?;
    record::draft_refs::end(&recorder, &tip, stage)?;
    record::draft_refs::reset_files(&recorder, &tip)?;
    run.current_draft.replace(None);
    if run.session.waiting().is_some() {
        // The draft on the branch would be taken up again; this is its answer.
        let (verdict, iteration) = (Verdict::Aborted, number);
        let review = ReviewRecord { stage, verdict, iteration, bytes: None, code: None, words: "" };
        if let Recorded::Done(commit) =
            record::review::commit_answer(&run.recorder(), &tip, &review)?
        {
            run.advance(&commit)?;
        }
    }
    Ok(())
}

/// Commits the draft to the branch, where it waits for a person on any machine.
pub(crate) fn leave_waiting(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    why: Option<String>,
) -> anyhow::Result<StepOutcome> {
    let tip = run.session.tip.clone();
    let unanswered = run.session.waiting().is_some_and(|waiting| waiting.answer.is_none());
    if unanswered && !run.recorder().differs_from(&tip)? {
        run.current_draft.replace(None);
        return Ok(StepOutcome::Ends(StageEnd::Waiting(why)));
    }
    edits::tell_edit(run, spec, progress)?;
    let summary = commit_message::summary_line(run, spec, progress)?;
    let stops = why.is_some() || run.env.mode != Mode::Wait;
    let body = why.clone().unwrap_or_default();
    let number = progress.iteration;
    let credit = progress.credit.clone();
    let critic = match (progress.critic_asks, &progress.judged) {
        (true, _) => "asks",
        (false, Some(_)) => "approved",
        (false, None) => "",
    };
    let challenger = match &progress.challenged {
        Some(_) => "approved",
        None if progress.critic_asks
            && progress::has_refused(run, spec, progress, Origin::Challenger)? =>
        {
            "asks"
        }
        None => "",
    };
    let edited = progress.edit.as_ref().map(Edit::render).unwrap_or_default();
    let taken = progress.taken.as_ref().map(Taken::render).unwrap_or_default();
    let (recorder, own) = (run.recorder(), progress.self_review.outcome());
    let said = progress.said();
    let marks = [
        (key::CRITIC, critic),
        (key::CHALLENGER, challenger),
        (key::EDITED, edited.as_str()),
        (key::ACTOR_SAID, said.as_str()),
        (key::SELF_REVIEW, own),
        (key::ACTOR_MODEL, taken.as_str()),
    ];
    match record::review::commit_draft(
        &recorder, &tip, spec.stage, number, &summary, &body, &credit, &marks,
    )? {
        Recorded::Done(commit) => {
            run.advance(&commit)?;
            run.current_draft.replace(None);
            run.env.sink.emit(Event::ReviewRequested {
                stage: spec.stage,
                iteration: number,
                commit: Some(commit.to_string()),
                reason: why.clone(),
            });
            Ok(StepOutcome::Ends(StageEnd::Waiting(why)))
        }
        // Nobody may have asked for another draft: a person who stops, a role that asks.
        Recorded::Refused(why) if stops => Err(Error::waiting(format!(
            "{} is stopped, but its draft cannot wait on the branch: {why}",
            spec.stage
        ))
        .hint("the draft is kept; continue: git cowork resume")
        .into()),
        Recorded::Refused(why) => {
            keep::refusal_feedback(run, spec, number, &why)?;
            progress.needs_draft = true;
            Ok(StepOutcome::Again)
        }
    }
}
