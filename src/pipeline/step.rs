//! A step of a stage, and why it may stop: `?` carries a [`Stop`] up to the stage's loop.

use crate::agent::Conversation;
use crate::artifact::{Feedback, Origin};
use crate::error::Error;
use crate::pipeline::draft_state::{DraftState, Next};
use crate::pipeline::outcome::{Asked, BlockReason, Request, StageEnd, WayBack};
use crate::pipeline::run::Run;
use crate::record::{ApprovedContent, Credit};
use crate::spent::Spent;
use crate::stage::Stage;
use crate::stages::StageSpec;
use crate::tool::GoBack;

/// What every step of a stage works on.
pub(crate) struct Step<'s, 'a> {
    /// The run of the session.
    pub(crate) run: &'s mut Run<'a>,
    /// The stage's row.
    pub(crate) spec: &'static StageSpec,
    /// The stage's newest draft.
    pub(crate) draft: DraftState,
}

/// Why a stage does not continue with the next step.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Restart the loop: there is new feedback, or something must be checked again.
    Again,
    /// A role has a request that may need a person's decision.
    Asks(Request),
    /// The stage is blocked until a person decides.
    Blocked(BlockReason),
    /// The stage ends.
    Ends(StageEnd),
    /// The run ends with this error.
    Failed(anyhow::Error),
}

/// The result of a step.
pub(crate) type StepResult = Result<(), Stop>;

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

impl Stop {
    /// Goes back to an earlier stage.
    pub(crate) const fn go_back(way: WayBack) -> Self {
        Self::Ends(StageEnd::GoBack(way))
    }
}

impl<'s, 'a> Step<'s, 'a> {
    /// A stage without a draft.
    pub(crate) fn new(run: &'s mut Run<'a>, spec: &'static StageSpec) -> Self {
        Self { run, spec, draft: DraftState::default() }
    }

    /// A role's request to go back, about the newest draft.
    pub(crate) fn asked(&self, by: Origin, wish: GoBack) -> Asked {
        Asked { by, stage: self.spec.stage, iteration: self.draft.iteration, wish }
    }

    /// Asks for another draft because of this feedback.
    pub(crate) fn refuse(&mut self, feedback: Vec<Feedback>) -> StepResult {
        self.run.give_feedback(feedback)?;
        self.draft.next = Next::Draft;
        Err(Stop::Again)
    }

    /// Feedback on the newest draft.
    pub(crate) fn feedback(&self, from: Origin, details: &str) -> Feedback {
        self.run.feedback(self.spec.stage, self.draft.iteration, from, details)
    }

    /// True if these bytes are the ones that a judge has approved.
    pub(crate) fn has_approved(
        &self,
        approval: Option<&(ApprovedContent, String)>,
        bytes: &ApprovedContent,
    ) -> anyhow::Result<bool> {
        let (git, session) = (self.run.env.git, &self.run.session);
        approval.map_or(Ok(false), |(approved, _)| approved.same(git, session, bytes))
    }

    /// What the stage has used so far, with its tasks.
    pub(crate) fn spent(&self) -> Spent {
        let mut spent = self.run.session.tasks_spent();
        spent += self.draft.credit.spent;
        spent
    }

    /// Adds what a conversation used, and its refused calls and command runs.
    pub(crate) fn account_for(&mut self, conversation: &mut Conversation) {
        self.draft.note_run(conversation);
        self.draft.credit.merge(take_credit(self.run));
    }

    /// The request at the end of a conversation of the actor; `by` is the actor or its self-review.
    pub(crate) fn end_of(&self, by: Origin, conversation: Conversation) -> StepResult {
        let outcome = conversation.outcome;
        if let Some(wish) = outcome.go_back {
            return Err(Stop::Asks(Request::GoBack(self.asked(by, wish))));
        }
        if let Some(question) = outcome.question {
            let options = question.options.join(" / ");
            let options = if options.is_empty() { String::new() } else { format!(" ({options})") };
            let why = format!("the actor asks: {}{options}", question.question);
            return Err(Stop::Asks(Request::Answer(why)));
        }
        if let Some(why) = outcome.human_review {
            return Err(Stop::Blocked(BlockReason::Asked(format!("the actor says: {why}"))));
        }
        match outcome.astray {
            Some(why) => Err(Stop::Blocked(BlockReason::Astray(format!("the actor: {why}")))),
            None => Ok(()),
        }
    }
}

/// The usage since the last call.
pub(crate) fn take_credit(run: &Run<'_>) -> Credit {
    run.env.models.meter.take().into_iter().collect()
}

/// The stage's usage since the last completed stage, without tasks, from the meter's ledger. It
/// includes that of killed runs.
pub(crate) fn credit_so_far(run: &Run<'_>, stage: Stage) -> Credit {
    let since = since_last_stage(run);
    let usage = run.env.models.meter.used_by(|place| {
        // The session's first request has no stage: it counts towards the first stage.
        place.stage.is_none_or(|of| of == stage)
            && place.task.is_none()
            && since.contains(&place.on.as_str())
    });
    usage.into_iter().collect()
}

/// A task's usage in this draft, from the meter's ledger.
pub(crate) fn task_credit(run: &Run<'_>, task: &str, iteration: u32) -> Credit {
    let since = since_last_stage(run);
    let usage = run.env.models.meter.used_by(|place| {
        place.task.as_deref() == Some(task)
            && place.iteration == iteration
            && since.contains(&place.on.as_str())
    });
    usage.into_iter().collect()
}

/// The newest completed stage's commit (or the start commit) and all later commits.
fn since_last_stage<'r>(run: &'r Run<'_>) -> Vec<&'r str> {
    let history = &run.session.history;
    let recent = run.session.since_last_stage().len() + 1;
    let from = history.len().saturating_sub(recent);
    history[from..].iter().map(|entry| entry.commit.as_str()).collect()
}
