//! How the drafts of a stage are counted, and who has refused the newest one.

use crate::artifact::{Feedback, Origin, Store};
use crate::pipeline::run::Run;
use crate::pipeline::step::Step;
use crate::record::ApprovedContent;
use crate::session::{Kind, key};
use crate::stage::Stage;
use crate::stages::StageSpec;

/// True if there is feedback on this draft that the stage's own commit does not contain, because it
/// was given after that commit.
pub(crate) fn asked_for_more(run: &Run<'_>, stage: Stage, number: u32) -> anyhow::Result<bool> {
    let feedback = run.feedback_so_far()?;
    let earlier = said_before(run, stage)?;
    Ok(feedback.iter().any(|entry| {
        entry.stage == stage
            && entry.iteration == number
            && !entry.is_of_dropped_draft()
            && !entry.is_note()
            && !earlier.contains(entry)
    }))
}

/// True if this judge has refused a draft.
pub(crate) fn has_refused(
    run: &Run<'_>,
    spec: &StageSpec,
    iteration: u32,
    judge: Origin,
) -> anyhow::Result<bool> {
    let feedback = run.feedback_so_far()?;
    Ok(feedback
        .iter()
        .any(|entry| (entry.stage, entry.iteration, entry.from) == (spec.stage, iteration, judge)))
}

/// True if a person who passes these bytes, which a judge left to them, decides in the challenger's
/// place, too: it refused the draft, or the critic approved it, so that the challenger asked.
pub(crate) fn is_challengers_turn(
    step: &Step<'_, '_>,
    bytes: &ApprovedContent,
) -> anyhow::Result<bool> {
    Ok(step.has_approved(step.draft.approvals.critic.as_ref(), bytes)?
        || has_refused(step.run, step.spec, step.draft.iteration, Origin::Challenger)?)
}

/// The feedback contained in the commit that last completed the stage. It counts as answered.
pub(crate) fn said_before(run: &Run<'_>, stage: Stage) -> anyhow::Result<Vec<Feedback>> {
    let Some(entry) = run.session.stage_entry(stage) else { return Ok(Vec::new()) };
    let files = run.files_at(&entry.commit);
    Store::new(&files).feedback()
}

/// The number of drafts that count against the limit: those since [`answered_at`].
pub(crate) fn counted(step: &Step<'_, '_>) -> anyhow::Result<u32> {
    Ok(step.draft.iteration.saturating_sub(answered_at(step)?))
}

/// The number of the last draft allowed: the limit on top of the drafts of earlier runs, unless a
/// person's feedback has allowed more.
pub(crate) fn allowed(step: &Step<'_, '_>) -> anyhow::Result<u32> {
    let usual = step.run.env.config.iterations(step.spec.stage);
    let limit = limit(step)?;
    let since = match limit == usual && step.draft.used() <= limit {
        true => step.draft.offset,
        false => answered_at(step)?,
    };
    Ok(since.saturating_add(limit))
}

/// The number of drafts that may be [`counted`]: as many as the answer that restarted the count
/// allows, else as many as the configuration does, and no fewer than were left.
pub(crate) fn limit(step: &Step<'_, '_>) -> anyhow::Result<u32> {
    let usual = step.run.env.config.iterations(step.spec.stage);
    let answers = answers(step)?;
    let last_draft = |answer: &u32| {
        let mut recent = step.run.session.since_last_stage().iter().rev();
        let review = recent.find(|entry| {
            matches!(entry.kind, Kind::Review(stage, _) if stage == step.spec.stage)
                && entry.iterations() == *answer
        });
        let more = review.and_then(|review| review.trailers.get(key::MORE)?.parse().ok());
        answer.saturating_add(more.unwrap_or(usual))
    };
    // No answer takes away drafts that were allowed before it.
    let last =
        answers.iter().map(last_draft).fold(step.draft.offset.saturating_add(usual), u32::max);
    Ok(last - answers.into_iter().max().unwrap_or(step.draft.offset))
}

/// The draft after which counting starts: a person's feedback restarts it.
pub(crate) fn answered_at(step: &Step<'_, '_>) -> anyhow::Result<u32> {
    Ok(answers(step)?.into_iter().max().unwrap_or(step.draft.offset))
}

/// The numbers of the drafts of this run that a person gave feedback on.
fn answers(step: &Step<'_, '_>) -> anyhow::Result<Vec<u32>> {
    Ok(step
        .run
        .feedback_so_far()?
        .into_iter()
        .filter(|entry: &Feedback| entry.stage == step.spec.stage && entry.is_persons_word())
        .map(|entry| entry.iteration)
        .filter(|number| (step.draft.offset..=step.draft.iteration).contains(number))
        .collect())
}
