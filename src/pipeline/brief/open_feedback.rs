//! The open feedback on a stage, which its next draft is shown.

use crate::artifact::{Feedback, Origin, Store};
use crate::config::ReviewOrder;
use crate::pipeline::draft_count;
use crate::pipeline::draft_state::tells_edit;
use crate::pipeline::prompts::FeedbackItem;
use crate::pipeline::run::Run;
use crate::pipeline::step::Step;
use crate::session::Kind;
use crate::stage::Stage;

/// Maximum number of feedback entries shown to a draft, newest last.
const SHOWN: usize = 20;

/// Returns the open feedback of the stage's current run. Left out as answered: entries that the
/// stage's own commit contains, entries whose judge has seen a later draft, and, once a
/// task is committed, the mechanical findings that had prevented its commit. A person's feedback,
/// and the reason an earlier draft was dropped, stay open until the stage is completed.
pub(crate) fn open_items(step: &Step<'_, '_>) -> anyhow::Result<Vec<FeedbackItem>> {
    let (mut said, settled) =
        (step.run.feedback_so_far()?, draft_count::said_before(step.run, step.spec.stage)?);
    said.retain(|entry| {
        // A note on the draft in progress is left out: the draft does not answer it yet, and the
        // actor gets it separately.
        let is_of_this = entry.is_note() && entry.iteration == step.draft.iteration;
        let in_run = entry.stage == step.spec.stage && entry.iteration >= step.draft.offset;
        in_run && !is_of_this && !settled.contains(entry)
    });
    let before_task = said_before_last_task(step.run)?;
    let order = step.run.env.config.review.order;
    let open = said.iter().filter(|entry| {
        let lasts = entry.from == Origin::Human || entry.is_of_dropped_draft();
        lasts
            || !(is_replaced(entry, &said, order)
                || is_mechanical(entry) && before_task.contains(entry))
    });
    let mut open: Vec<&Feedback> = open.collect();
    open.drain(..open.len().saturating_sub(SHOWN));
    // The reason the stage is done again comes first, however much feedback came later.
    let asked_back = asked_back(step.run, step.spec.stage)?;
    let item = |entry: &Feedback| FeedbackItem {
        from: match entry.goto_stage() {
            Some(to) => {
                let (stage, from) = (entry.stage, entry.from.name());
                format!("{stage} {from}, who asked to go back to {to}")
            }
            None => entry.from.name().to_owned(),
        },
        severity: entry.severity.name().to_owned(),
        details: entry.details.clone(),
        suggested_fix: entry.suggested_fix.clone(),
    };
    Ok(asked_back.iter().chain(open).map(item).collect())
}

/// The feedback recorded before the newest task was committed.
fn said_before_last_task(run: &Run<'_>) -> anyhow::Result<Vec<Feedback>> {
    let mut recent = run.session.since_last_stage().iter().rev();
    let Some(task) = recent.find(|entry| matches!(entry.kind, Kind::Task(_))) else {
        return Ok(Vec::new());
    };
    let files = run.files_at(&task.commit);
    Store::new(&files).feedback()
}

/// True for feedback of checks and hooks: they run again on every draft.
fn is_mechanical(entry: &Feedback) -> bool {
    matches!(entry.from, Origin::Validator | Origin::Hook)
}

/// True if a later draft got at least as far in the loop as the entry's draft: the entry's author
/// has judged the work again, and has reported what is still wrong.
fn is_replaced(entry: &Feedback, said: &[Feedback], order: ReviewOrder) -> bool {
    let far = step(entry.from, order);
    said.iter().any(|later| {
        // A self-review and a note refuse nothing: they do not show that earlier judges looked
        // again.
        later.iteration > entry.iteration
            && later.from != Origin::SelfReview
            && !later.is_note()
            && !tells_edit(later)
            && step(later.from, order) >= far
    })
}

/// The position of a judge in the order of the loop: a draft that reaches it has passed all before
/// it.
fn step(from: Origin, order: ReviewOrder) -> u8 {
    match (from, order) {
        (Origin::Validator, _) => 0,
        (Origin::Human, ReviewOrder::DraftFirst) => 1,
        (Origin::Challenger, _) => 3,
        (Origin::Human, ReviewOrder::CriticFirst) => 4,
        (Origin::Hook, _) => 5,
        // Models: the critic and similar roles.
        _ => 2,
    }
}

/// Feedback of later stages that asked for this stage to be done again and that no commit of the
/// stage answers yet.
fn asked_back(run: &Run<'_>, stage: Stage) -> anyhow::Result<Vec<Feedback>> {
    let earlier = draft_count::said_before(run, stage)?;
    let mut requests = run.all_feedback()?;
    requests.retain(|entry| entry.goto_stage() == Some(stage) && !earlier.contains(entry));
    Ok(requests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::Stage;

    fn said(iteration: u32, from: Origin) -> Feedback {
        Feedback {
            at: String::new(),
            stage: Stage::Prd,
            iteration,
            from,
            feedback_type: Default::default(),
            severity: Default::default(),
            details: format!("{iteration} {}", from.name()),
            suggested_fix: None,
            extra: serde_json::Map::new(),
        }
    }

    #[test]
    fn feedback_is_replaced_once_its_judge_has_seen_a_later_draft() {
        use Origin::{Challenger, Critic, Hook, Human, Validator};
        let replaced = |entry: (u32, Origin), later: (u32, Origin), order| {
            let all = [said(entry.0, entry.1), said(later.0, later.1)];
            is_replaced(&all[0], &all, order)
        };
        let first = ReviewOrder::DraftFirst;
        assert!(replaced((1, Validator), (2, Critic), first));
        assert!(replaced((1, Critic), (2, Critic), first));
        assert!(replaced((1, Critic), (2, Hook), first));
        assert!(replaced((1, Critic), (2, Challenger), first));
        assert!(!replaced((1, Challenger), (2, Critic), first));
        // The second draft did not reach the critic.
        assert!(!replaced((1, Critic), (2, Validator), first));
        assert!(!replaced((1, Critic), (2, Human), first));
        assert!(replaced((1, Critic), (2, Human), ReviewOrder::CriticFirst));
        assert!(!replaced((1, Validator), (1, Critic), first));
    }
}
