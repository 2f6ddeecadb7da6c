//! What is known of a stage while it is worked on, and how its drafts are counted.

pub(crate) mod edit;
pub(crate) mod self_review;

use crate::agent::Conversation;
use crate::artifact::{Feedback, Origin, Store};
use crate::git::Oid;
use crate::pipeline::evidence::Evidence;
use crate::pipeline::other_models::Taken;
use crate::pipeline::progress::edit::Edit;
use crate::pipeline::progress::self_review::SelfReview;
use crate::pipeline::run::Run;
use crate::record::{Approval, ApprovedContent, Credit, DraftNotes};
use crate::session::CommittedFiles;
use crate::stage::Stage;
use crate::stages::StageSpec;
use crate::tool::Checked;

/// What is known of a stage while it is worked on.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Drafts of earlier runs of this stage; numbers go on from there.
    pub offset: u32,
    /// Number of the newest draft.
    pub iteration: u32,
    /// The newest draft was refused, or there is none.
    pub needs_draft: bool,
    /// The draft that comes next was begun before and goes on.
    pub unfinished: bool,
    /// The newest draft's commit.
    pub draft: Option<Oid>,
    /// What was passed.
    pub approval: Option<Approval>,
    /// What the critic approved, and its words.
    pub judged: Option<(ApprovedContent, String)>,
    /// The draft the person saw last.
    pub seen: Option<Oid>,
    /// The draft the critic saw last.
    pub read: Option<Oid>,
    /// What the challenger approved, and its words.
    pub challenged: Option<(ApprovedContent, String)>,
    /// The draft the challenger saw last in this run.
    pub challenger_read: Option<Oid>,
    /// The critic asked for a person: a pass is its answer.
    pub critic_asks: bool,
    /// What for, until the person has answered.
    pub asks: Option<String>,
    /// What a draft that waits on the branch asks of a person, who was not shown it yet.
    pub waits: Option<String>,
    /// Calls a guard has refused since a person looked last.
    pub refusals: u32,
    /// Why the gate opens again, when it is not the usual reason.
    pub note: Option<String>,
    /// The actor's own reading of its draft.
    pub self_review: SelfReview,
    /// What a person edited in the newest draft.
    pub edit: Option<Edit>,
    /// The newest draft is what a person made of one that was refused, and nobody has looked at it.
    pub by_hand: bool,
    /// The actor's closing words about the newest draft.
    pub words: String,
    /// Who generated it.
    pub credit: Credit,
    /// What was run.
    pub evidence: Option<Evidence>,
    /// The newest run of each of the project's commands that the actor has asked for.
    pub checked: Vec<Checked>,
    /// The model that a person has taken for the next drafts.
    pub taken: Option<Taken>,
    /// How often a hook changed what was approved.
    pub hook_changes: u32,
}

impl Progress {
    /// Drafts of this run, which the limit counts.
    pub fn used(&self) -> u32 {
        self.iteration.saturating_sub(self.offset)
    }

    /// Counts what guards refused in a conversation, and keeps what it has run of the project's
    /// commands.
    pub fn note_run(&mut self, run: &mut Conversation) {
        self.refusals += run.outcome.guard_refusals;
        self.note_checked(&std::mem::take(&mut run.outcome.checked));
    }

    /// Keeps the newest run of each of the project's commands.
    pub fn note_checked(&mut self, runs: &[Checked]) {
        for checked in runs {
            self.checked.retain(|older| older.command != checked.command);
            self.checked.push(checked.clone());
        }
    }

    /// The actor's closing words as one line.
    pub fn said(&self) -> String {
        self.words.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What is written down with a kept draft.
    pub fn notes(&self) -> DraftNotes {
        DraftNotes {
            credit: self.credit.clone(),
            approval: self.approval.clone(),
            edited: self.edit.as_ref().map(Edit::render).unwrap_or_default(),
            seen: self.seen.clone(),
            read: self.read.clone(),
            judged: self.judged.clone(),
            challenged: self.challenged.clone(),
            asks: self.asks.as_ref().map(|words| {
                let who = if self.critic_asks { "asks" } else { "actor" };
                format!("{who} {words}")
            }),
            said: self.said(),
            self_review: self.self_review.render(),
            refusals: self.refusals,
            taken: self.taken.as_ref().map(Taken::render).unwrap_or_default(),
            stuck: None,
        }
    }
}

/// True when there is feedback on this draft that the stage's own commit does not hold: what
/// was said after it was recorded.
pub(crate) fn asked_for_more(run: &Run<'_>, stage: Stage, number: u32) -> anyhow::Result<bool> {
    let said = run.feedback_so_far()?;
    let settled = said_before(run, stage)?;
    Ok(said.iter().any(|entry| {
        entry.stage == stage
            && entry.iteration == number
            && !entry.is_of_dropped_draft()
            && !entry.is_note()
            && !settled.contains(entry)
    }))
}

/// Whether this judge has refused the newest draft.
pub(crate) fn has_refused(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
    judge: Origin,
) -> anyhow::Result<bool> {
    let said = run.feedback_so_far()?;
    Ok(said.iter().any(|entry| {
        (entry.stage, entry.iteration, entry.from) == (spec.stage, progress.iteration, judge)
    }))
}

/// What had been said when the stage was completed last: it is answered.
pub(crate) fn said_before(run: &Run<'_>, stage: Stage) -> anyhow::Result<Vec<Feedback>> {
    let Some(entry) = run.session.stage_entry(stage) else { return Ok(Vec::new()) };
    let files = CommittedFiles::new(run.env.git, &run.session.name, &entry.commit);
    Store::new(&files).feedback()
}

/// How many drafts count against the limit: those since [`Self::answered_at`].
pub(crate) fn counted(run: &Run<'_>, spec: &StageSpec, progress: &Progress) -> anyhow::Result<u32> {
    Ok(progress.iteration.saturating_sub(answered_at(run, spec, progress)?))
}

/// The number of the last draft there may be: the limit after the drafts of earlier runs, until a
/// person's word has granted more than that.
pub(crate) fn allowed(run: &Run<'_>, spec: &StageSpec, progress: &Progress) -> anyhow::Result<u32> {
    let limit = run.env.config.iterations(spec.stage);
    let since = match progress.used() <= limit {
        true => progress.offset,
        false => answered_at(run, spec, progress)?,
    };
    Ok(since.saturating_add(limit))
}

/// The draft after which the count begins: a person's feedback restarts it.
pub(crate) fn answered_at(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
) -> anyhow::Result<u32> {
    let from_people = run
        .feedback_so_far()?
        .into_iter()
        .filter(|entry: &Feedback| entry.stage == spec.stage && entry.is_persons_word())
        .map(|entry| entry.iteration)
        .filter(|number| (progress.offset..=progress.iteration).contains(number))
        .max();
    Ok(from_people.unwrap_or(progress.offset))
}
