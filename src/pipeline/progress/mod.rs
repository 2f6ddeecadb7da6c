//! The state of a stage while it is worked on, and how its drafts are counted.

pub(crate) mod code_words;
pub(crate) mod edit;
pub(crate) mod self_review;

use crate::agent::Conversation;
use crate::artifact::{Feedback, Origin, Store};
use crate::git::Oid;
use crate::pipeline::evidence::Evidence;
use crate::pipeline::other_models::Taken;
use crate::pipeline::progress::code_words::CodeWords;
use crate::pipeline::progress::edit::Edit;
use crate::pipeline::progress::self_review::SelfReview;
use crate::pipeline::run::Run;
use crate::record::{Approval, ApprovedContent, Credit, DraftNotes};
use crate::session::{Kind, key};
use crate::stage::Stage;
use crate::stages::StageSpec;
use crate::tool::Checked;

/// What is done next in a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another draft: there is none yet, or the newest one was refused.
    #[default]
    Draft,
    /// The rest of a draft that was begun before the run was stopped.
    RestOfDraft,
    /// Checks, gate and critics of the newest draft.
    Review,
}

/// Who has approved which content of the stage. Only an approval of the current content counts.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    /// A person, or the command that decides in their place.
    pub person: Option<Approval>,
    /// The critic, and its comment.
    pub critic: Option<(ApprovedContent, String)>,
    /// The challenger, and its comment.
    pub challenger: Option<(ApprovedContent, String)>,
}

/// The draft that each reviewer read last: the next time, only the changes since then are shown.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    /// A person.
    pub person: Option<Oid>,
    /// The critic.
    pub critic: Option<Oid>,
    /// The challenger, in this run.
    pub challenger: Option<Oid>,
}

/// The newest draft of a stage.
#[derive(Debug, Default)]
pub(crate) struct NewestDraft {
    /// Its commit.
    pub commit: Option<Oid>,
    /// The actor's closing words about it.
    pub words: String,
    /// The actor's words about the code, in all drafts.
    pub code_words: CodeWords,
    /// The models that generated it.
    pub credit: Credit,
    /// The state of the actor's self-review.
    pub self_review: SelfReview,
    /// A person's edits of it.
    pub edit: Option<Edit>,
    /// Whether it consists of a person's edits of a refused draft and has not been reviewed yet.
    pub by_hand: bool,
    /// The check results.
    pub evidence: Option<Evidence>,
    /// The newest run of each of the project's commands that the actor requested.
    pub checked: Vec<Checked>,
}

/// Why a person is asked about the newest draft.
#[derive(Debug, Default)]
pub(crate) struct GateReasons {
    /// Whether the critic asked for a person. If so, the person's approval replaces the critic's
    /// verdict.
    pub critic_asks: bool,
    /// The reason to ask a person, until they have answered.
    pub asks: Option<String>,
    /// Why a draft waits on the branch, if the person has not been shown the reason yet.
    pub waits: Option<String>,
    /// Why only a person's answer lets the stage go on, in the form that a waiting draft has it.
    pub blocked: Option<String>,
    /// Whether a judge gave no verdict, which `blocked` says: it is asked again before anybody is
    /// asked at the gate, also by the next run.
    pub asks_again: bool,
    /// The reason why the gate opens again, if it is not the usual one.
    pub note: Option<String>,
    /// Whether a person edited the code at the gate and has to be shown it again: no command
    /// decides in their place.
    pub shows_edit: bool,
}

impl GateReasons {
    /// Lets the judge be asked again that gave no verdict, as `blocked` says. Until then a person
    /// is shown its words and decides in its place.
    pub fn ask_again(&mut self, blocked: &str) {
        self.note = blocked.split_once(' ').map(|(_, words)| words.to_owned());
        self.blocked = Some(blocked.to_owned());
        self.critic_asks = true;
        self.asks_again = true;
    }

    /// True, once, if the judge that gave no verdict must be asked again. What it said no longer
    /// matters then.
    pub fn take_asks_again(&mut self) -> bool {
        let again = std::mem::take(&mut self.asks_again) && self.blocked.take().is_some();
        if again {
            self.note = None;
            self.critic_asks = false;
        }
        again
    }
}

/// The state of a stage while it is worked on.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The number of drafts in earlier runs of this stage; numbers continue from there.
    pub offset: u32,
    /// The number of the newest draft.
    pub iteration: u32,
    /// What is done next.
    pub next: Next,
    /// The newest draft.
    pub newest: NewestDraft,
    /// Who has approved which content.
    pub verdicts: Verdicts,
    /// The drafts that were read last.
    pub readings: Readings,
    /// Why a person is asked.
    pub gate: GateReasons,
    /// The number of calls that a guard has refused since a person last looked.
    pub refusals: u32,
    /// The model that a person chose for the next drafts.
    pub taken: Option<Taken>,
    /// How often a hook changed approved content.
    pub hook_changes: u32,
}

impl Progress {
    /// The number of drafts in this run, which the limit counts.
    pub fn used(&self) -> u32 {
        self.iteration.saturating_sub(self.offset)
    }

    /// Begins another draft, about which nobody has said anything yet.
    pub fn begin_draft(&mut self) {
        self.iteration += 1;
        self.next = Next::Draft;
        self.newest.edit = None;
        self.newest.by_hand = false;
        self.newest.words.clear();
        self.verdicts.person = None;
        self.verdicts.critic = None;
        self.gate = GateReasons { waits: self.gate.waits.take(), ..GateReasons::default() };
    }

    /// Adds the refused calls and the command runs of a conversation.
    pub fn note_run(&mut self, run: &mut Conversation) {
        self.refusals += run.outcome.guard_refusals;
        self.note_checked(&std::mem::take(&mut run.outcome.checked));
    }

    /// Records the newest run of each of the project's commands.
    pub fn note_checked(&mut self, runs: &[Checked]) {
        for checked in runs {
            self.newest.checked.retain(|older| older.command != checked.command);
            self.newest.checked.push(checked.clone());
        }
    }

    /// Records the actor's closing words. `has_tasks`: the code was described with its tasks, and
    /// this conversation corrects it.
    pub fn note_words(&mut self, spec: &StageSpec, conversation: &Conversation, has_tasks: bool) {
        let all = [conversation.text.trim(), conversation.corrected.trim()];
        all.join("\n\n").trim().clone_into(&mut self.newest.words);
        if spec.writes_code() {
            self.newest.code_words.note(conversation, has_tasks);
        }
    }

    /// The actor's closing words as one line.
    pub fn said(&self) -> String {
        self.newest.words.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The notes that are saved with a draft.
    pub fn notes(&self) -> DraftNotes {
        DraftNotes {
            credit: self.newest.credit.clone(),
            approval: self.verdicts.person.clone(),
            edited: self.newest.edit.as_ref().map(Edit::render).unwrap_or_default(),
            seen: self.readings.person.clone(),
            read: self.readings.critic.clone(),
            judged: self.verdicts.critic.clone(),
            challenged: self.verdicts.challenger.clone(),
            asks: self.gate.asks.as_ref().map(|words| {
                let who = if self.gate.critic_asks { "asks" } else { "actor" };
                format!("{who} {words}")
            }),
            said: self.said(),
            code_said: self.newest.code_words.values().to_vec(),
            self_review: self.newest.self_review.render(),
            refusals: self.refusals,
            taken: self.taken.as_ref().map(Taken::render).unwrap_or_default(),
            stuck: self.gate.blocked.clone().filter(|_| self.gate.asks_again),
        }
    }
}

/// True if there is feedback on this draft that the stage's own commit does not contain, because it
/// was given after that commit.
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

/// True if this judge has refused the newest draft.
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

/// True if a person who passes these bytes, which a judge left to them, decides in the challenger's
/// place, too: it refused the draft, or the critic approved it, so that the challenger asked.
pub(crate) fn is_challengers_turn(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
    bytes: &ApprovedContent,
) -> anyhow::Result<bool> {
    let approved = match &progress.verdicts.critic {
        Some((approved, _)) => approved.same(run.env.git, &run.session, bytes)?,
        None => false,
    };
    Ok(approved || has_refused(run, spec, progress, Origin::Challenger)?)
}

/// The feedback contained in the commit that last completed the stage. It counts as answered.
pub(crate) fn said_before(run: &Run<'_>, stage: Stage) -> anyhow::Result<Vec<Feedback>> {
    let Some(entry) = run.session.stage_entry(stage) else { return Ok(Vec::new()) };
    let files = run.files_at(&entry.commit);
    Store::new(&files).feedback()
}

/// The number of drafts that count against the limit: those since [`answered_at`].
pub(crate) fn counted(run: &Run<'_>, spec: &StageSpec, progress: &Progress) -> anyhow::Result<u32> {
    Ok(progress.iteration.saturating_sub(answered_at(run, spec, progress)?))
}

/// The number of the last draft allowed: the limit on top of the drafts of earlier runs, unless a
/// person's feedback has allowed more.
pub(crate) fn allowed(run: &Run<'_>, spec: &StageSpec, progress: &Progress) -> anyhow::Result<u32> {
    let usual = run.env.config.iterations(spec.stage);
    let limit = limit(run, spec, progress)?;
    let since = match limit == usual && progress.used() <= limit {
        true => progress.offset,
        false => answered_at(run, spec, progress)?,
    };
    Ok(since.saturating_add(limit))
}

/// The number of drafts that may be [`counted`]: as many as the answer that restarted the count
/// allows, else as many as the configuration does, and no fewer than were left.
pub(crate) fn limit(run: &Run<'_>, spec: &StageSpec, progress: &Progress) -> anyhow::Result<u32> {
    let usual = run.env.config.iterations(spec.stage);
    let answers = answers(run, spec, progress)?;
    let last_draft = |answer: &u32| {
        let mut recent = run.session.since_last_stage().iter().rev();
        let review = recent.find(|entry| {
            matches!(entry.kind, Kind::Review(stage, _) if stage == spec.stage)
                && entry.iterations() == *answer
        });
        let more = review.and_then(|review| review.trailers.get(key::MORE)?.parse().ok());
        answer.saturating_add(more.unwrap_or(usual))
    };
    // No answer takes away drafts that were allowed before it.
    let last = answers.iter().map(last_draft).fold(progress.offset.saturating_add(usual), u32::max);
    Ok(last - answers.into_iter().max().unwrap_or(progress.offset))
}

/// The draft after which counting starts: a person's feedback restarts it.
pub(crate) fn answered_at(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
) -> anyhow::Result<u32> {
    Ok(answers(run, spec, progress)?.into_iter().max().unwrap_or(progress.offset))
}

/// The numbers of the drafts of this run that a person gave feedback on.
fn answers(run: &Run<'_>, spec: &StageSpec, progress: &Progress) -> anyhow::Result<Vec<u32>> {
    Ok(run
        .feedback_so_far()?
        .into_iter()
        .filter(|entry: &Feedback| entry.stage == spec.stage && entry.is_persons_word())
        .map(|entry| entry.iteration)
        .filter(|number| (progress.offset..=progress.iteration).contains(number))
        .collect())
}
