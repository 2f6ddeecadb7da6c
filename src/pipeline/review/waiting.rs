//! Commits a draft to the branch to wait for a person, or drops it.

use crate::error::Error;
use crate::event::Event;
use crate::gate::Mode;
use crate::pipeline::draft::{commit_message, keep};
use crate::pipeline::edits;
use crate::pipeline::files::approved_content;
use crate::pipeline::history::dropped;
use crate::pipeline::other_models::Taken;
use crate::pipeline::outcome::{StageEnd, StepOutcome};
use crate::pipeline::progress::edit::Edit;
use crate::pipeline::progress::{self, Next, Progress};
use crate::pipeline::run::Run;
use crate::record::{self, Recorded, ReviewRecord};
use crate::session::{Verdict, key};
use crate::stages::StageSpec;

/// Ends a draft that was aborted: it is saved as an attempt, and the next run starts from scratch.
pub(crate) fn drop_draft(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
) -> anyhow::Result<()> {
    let recorder = run.recorder();
    let tip = run.session.tip.clone();
    let (stage, number) = (spec.stage, progress.iteration);
    // The person may have switched branches while the gate was open.
    recorder.expect_tip(&tip)?;
    dropped::keep_aborted(run, stage)?;
    record::draft_refs::end(&recorder, &tip, stage)?;
    record::draft_refs::reset_files(&recorder, &tip)?;
    run.current_draft.replace(None);
    if run.session.waiting().is_some() {
        // The next run would resume the draft that waits on the branch, so a review that aborts it
        // is committed.
        let (verdict, iteration) = (Verdict::Aborted, number);
        let (bytes, code, words, then) = (None, None, "", None);
        let review = ReviewRecord { stage, verdict, iteration, bytes, code, words, then };
        if let Recorded::Done(commit) =
            record::review::commit_answer(&run.recorder(), &tip, &review)?
        {
            run.advance(&commit)?;
        }
    }
    Ok(())
}

/// Commits the draft to the branch, where a person can answer it on any machine.
pub(crate) fn leave_waiting(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    why: Option<String>,
) -> anyhow::Result<StepOutcome> {
    let tip = run.session.tip.clone();
    let words: Vec<&str> = why.iter().flat_map(|why| why.split_whitespace()).collect();
    let open = run.session.unanswered();
    let says_so =
        open.is_some_and(|waiting| waiting.reason().unwrap_or_default() == words.join(" "));
    if says_so && !run.recorder().differs_from(&tip)? {
        run.current_draft.replace(None);
        return Ok(StepOutcome::Ends(StageEnd::Waiting(why)));
    }
    edits::tell_edit(run, spec, progress)?;
    edits::tell_of_edited_earlier(run, spec)?;
    let summary = commit_message::summary_line(run, spec, progress)?;
    let stops = why.is_some() || run.env.mode != Mode::Wait;
    let body = why.clone().unwrap_or_default();
    let number = progress.iteration;
    let credit = progress.newest.credit.clone();
    let critic = match (progress.gate.critic_asks, &progress.verdicts.critic) {
        (true, _) => "asks",
        (false, Some(_)) => "approved",
        (false, None) => "",
    };
    let challenger = match &progress.verdicts.challenger {
        Some(_) => "approved",
        None if progress.gate.critic_asks
            && progress::is_challengers_turn(
                run,
                spec,
                progress,
                &approved_content::content_now(run, spec)?,
            )? =>
        {
            "asks"
        }
        None => "",
    };
    let edited = progress.newest.edit.as_ref().map(Edit::render).unwrap_or_default();
    let taken = progress.taken.as_ref().map(Taken::render).unwrap_or_default();
    let (recorder, own) = (run.recorder(), progress.newest.self_review.outcome());
    let said = progress.said();
    let code_said = progress.newest.code_words.values();
    let mut marks = vec![
        (key::CRITIC, critic),
        (key::CHALLENGER, challenger),
        (key::EDITED, edited.as_str()),
        (key::ACTOR_SAID, said.as_str()),
        (key::SELF_REVIEW, own),
        (key::ACTOR_MODEL, taken.as_str()),
        (key::STUCK, progress.gate.blocked.as_deref().unwrap_or_default()),
    ];
    marks.extend(code_said.iter().map(|words| (key::CODE_SAID, words.as_str())));
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
        // Another draft is not requested if a person stopped the stage or a role asked for a
        // person.
        Recorded::Refused(why) if stops => Err(Error::waiting(format!(
            "{} is stopped, but its draft could not be committed for review: {why}",
            spec.stage
        ))
        .hint("the draft is saved; continue: git cowork resume")
        .into()),
        Recorded::Refused(why) => {
            keep::refusal_feedback(run, spec, number, &why)?;
            progress.next = Next::Draft;
            Ok(StepOutcome::Again)
        }
    }
}
