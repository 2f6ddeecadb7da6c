//! Commits a draft to the branch to wait for a person, or drops it.

use crate::error::Error;
use crate::event::Event;
use crate::gate::Mode;
use crate::pipeline::draft::keep;
use crate::pipeline::draft_state::Edit;
use crate::pipeline::files::approved_content;
use crate::pipeline::history::rewind;
use crate::pipeline::other_models::Taken;
use crate::pipeline::outcome::StageEnd;
use crate::pipeline::step::{Step, StepResult, Stop};
use crate::pipeline::{commit_message, draft_count, edits};
use crate::record::{self, Recorded, ReviewRecord};
use crate::session::{Verdict, key};

/// Ends a draft that was aborted: it is saved as an attempt, and the next run starts from scratch.
pub(crate) fn drop_draft(step: &mut Step<'_, '_>) -> anyhow::Result<()> {
    let recorder = step.run.recorder();
    let tip = step.run.session.tip.clone();
    let stage = step.spec.stage;
    // The person may have switched branches while the gate was open.
    recorder.expect_tip(&tip)?;
    rewind::keep_aborted(step.run, stage)?;
    record::draft_refs::end(&recorder, &tip, stage)?;
    record::draft_refs::reset_files(&recorder, &tip)?;
    step.run.current_draft.replace(None);
    if step.run.session.waiting().is_some() {
        // The next run would resume the draft that waits on the branch, so a review that aborts it
        // is committed.
        let review = ReviewRecord {
            stage,
            verdict: Verdict::Aborted,
            iteration: step.draft.iteration,
            bytes: None,
            code: None,
            words: "",
            then: None,
        };
        if let Recorded::Done(commit) =
            record::review::commit_answer(&step.run.recorder(), &tip, &review)?
        {
            step.run.advance(&commit)?;
        }
    }
    Ok(())
}

/// Commits the draft to the branch, where a person can answer it on any machine.
pub(crate) fn leave_waiting(step: &mut Step<'_, '_>, why: Option<String>) -> StepResult {
    let tip = step.run.session.tip.clone();
    let words: Vec<&str> = why.iter().flat_map(|why| why.split_whitespace()).collect();
    let open = step.run.session.unanswered();
    let says_so =
        open.is_some_and(|waiting| waiting.reason().unwrap_or_default() == words.join(" "));
    if says_so && !step.run.recorder().differs_from(&tip)? {
        step.run.current_draft.replace(None);
        return Err(Stop::Ends(StageEnd::Waiting(why)));
    }
    edits::tell_edit(step)?;
    edits::tell_of_edited_earlier(step.run, step.spec)?;
    let summary = commit_message::summary_line(step)?;
    let stops = why.is_some() || step.run.env.mode != Mode::Wait;
    let body = why.clone().unwrap_or_default();
    let number = step.draft.iteration;
    let credit = step.draft.credit.clone();
    let critic = match (step.draft.gate.critic_asks, &step.draft.approvals.critic) {
        (true, _) => "asks",
        (false, Some(_)) => "approved",
        (false, None) => "",
    };
    let challenger = match &step.draft.approvals.challenger {
        Some(_) => "approved",
        None if step.draft.gate.critic_asks
            && draft_count::is_challengers_turn(
                step,
                &approved_content::content_now(step.run, step.spec)?,
            )? =>
        {
            "asks"
        }
        None => "",
    };
    let edit = step.draft.edit.as_ref().map(Edit::render).unwrap_or_default();
    let model = step.draft.taken.as_ref().map(Taken::render).unwrap_or_default();
    let (recorder, own) = (step.run.recorder(), step.draft.self_review.outcome());
    let closing = step.draft.said();
    let code_said = step.draft.code_words.values();
    let mut marks = vec![
        (key::CRITIC, critic),
        (key::CHALLENGER, challenger),
        (key::EDITED, edit.as_str()),
        (key::ACTOR_SAID, closing.as_str()),
        (key::SELF_REVIEW, own),
        (key::ACTOR_MODEL, model.as_str()),
        (key::STUCK, step.draft.gate.blocked.as_deref().unwrap_or_default()),
    ];
    marks.extend(code_said.iter().map(|words| (key::CODE_SAID, words.as_str())));
    match record::review::commit_draft(
        &recorder,
        &tip,
        step.spec.stage,
        number,
        &summary,
        &body,
        &credit,
        &marks,
    )? {
        Recorded::Done(commit) => {
            step.run.advance(&commit)?;
            step.run.current_draft.replace(None);
            step.run.env.sink.emit(Event::ReviewRequested {
                stage: step.spec.stage,
                iteration: number,
                commit: Some(commit.to_string()),
                reason: why.clone(),
            });
            Err(Stop::Ends(StageEnd::Waiting(why)))
        }
        // Another draft is not requested if a person stopped the stage or a role asked for a
        // person.
        Recorded::Refused(why) if stops => Err(Error::waiting(format!(
            "{} is stopped, but its draft could not be committed for review: {why}",
            step.spec.stage
        ))
        .hint("the draft is saved; continue: git cowork resume")
        .into()),
        Recorded::Refused(why) => step.refuse(keep::refusal_feedback(step, &why)?),
    }
}
