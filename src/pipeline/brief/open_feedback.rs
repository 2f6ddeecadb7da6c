//! What was said about a stage and is not answered yet: what its next draft is shown.

use crate::artifact::{Feedback, Origin, Store};
use crate::config::ReviewOrder;
use crate::pipeline::progress::edit::tells_edit;
use crate::pipeline::progress::{self, Progress};
use crate::pipeline::prompts::FeedbackItem;
use crate::pipeline::run::Run;
use crate::session::{CommittedFiles, Kind};
use crate::stage::Stage;
use crate::stages::StageSpec;

/// Entries of feedback a draft is shown, newest last.
const SHOWN: usize = 20;

/// The feedback of the present run of the stage without what was answered: what the stage's own
/// commit holds already, what was asked of a draft that a later one has replaced before the same
/// judge, and what kept a task from its commit that has one now. What a person said, and why an
/// earlier draft was dropped, holds until the stage is completed.
pub(crate) fn open_items(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
) -> anyhow::Result<Vec<FeedbackItem>> {
    let (mut said, settled) = (run.feedback_so_far()?, progress::said_before(run, spec.stage)?);
    said.retain(|entry| {
        // A note for the draft that is being made answers none, and is told apart from what does.
        let is_of_this = entry.is_note() && entry.iteration == progress.iteration;
        let in_run = entry.stage == spec.stage && entry.iteration >= progress.offset;
        in_run && !is_of_this && !settled.contains(entry)
    });
    let committed = said_before_last_task(run)?;
    let order = run.env.config.review.order;
    let open = said.iter().filter(|entry| {
        let lasts = entry.from == Origin::Human || entry.is_of_dropped_draft();
        lasts
            || !(is_replaced(entry, &said, order)
                || is_mechanical(entry) && committed.contains(entry))
    });
    let mut open: Vec<&Feedback> = open.collect();
    open.drain(..open.len().saturating_sub(SHOWN));
    // Why the stage is done again is said first, however much was said since.
    let asked_back = asked_back(run, spec.stage)?;
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

/// What had been said when the newest task got its commit.
fn said_before_last_task(run: &Run<'_>) -> anyhow::Result<Vec<Feedback>> {
    let mut recent = run.session.since_last_stage().iter().rev();
    let Some(task) = recent.find(|entry| matches!(entry.kind, Kind::Task(_))) else {
        return Ok(Vec::new());
    };
    let files = CommittedFiles::new(run.env.git, &run.session.name, &task.commit);
    Store::new(&files).feedback()
}

/// Checks and hooks look again at whatever comes next.
fn is_mechanical(entry: &Feedback) -> bool {
    matches!(entry.from, Origin::Validator | Origin::Hook)
}

/// Whether a later draft came at least as far as the one the entry is about: whoever gave it has
/// looked again, and has said what is still wrong.
fn is_replaced(entry: &Feedback, said: &[Feedback], order: ReviewOrder) -> bool {
    let far = step(entry.from, order);
    said.iter().any(|later| {
        // A self-review and a note refuse nothing: whoever judged before has not looked again.
        later.iteration > entry.iteration
            && later.from != Origin::SelfReview
            && !later.is_note()
            && !tells_edit(later)
            && step(later.from, order) >= far
    })
}

/// Where in the order of the loop somebody judges: what comes to them has passed all before.
fn step(from: Origin, order: ReviewOrder) -> u8 {
    match (from, order) {
        (Origin::Validator, _) => 0,
        (Origin::Human, ReviewOrder::DraftFirst) => 1,
        (Origin::Challenger, _) => 3,
        (Origin::Human, ReviewOrder::CriticFirst) => 4,
        (Origin::Hook, _) => 5,
        // Models: the critic, and what is like it.
        _ => 2,
    }
}

/// What roles of later stages said when they asked for this stage to be done again, as far as no
/// commit of the stage answers it.
fn asked_back(run: &Run<'_>, stage: Stage) -> anyhow::Result<Vec<Feedback>> {
    let answered = progress::said_before(run, stage)?;
    let mut asked = run.all_feedback()?;
    asked.retain(|entry| entry.goto_stage() == Some(stage) && !answered.contains(entry));
    Ok(asked)
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
    fn what_the_same_judge_has_looked_at_again_is_replaced() {
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
        // The critic has not seen the second draft.
        assert!(!replaced((1, Critic), (2, Validator), first));
        assert!(!replaced((1, Critic), (2, Human), first));
        assert!(replaced((1, Critic), (2, Human), ReviewOrder::CriticFirst));
        assert!(!replaced((1, Validator), (1, Critic), first));
    }
}
