//! The state of a session for `status` and `list`: computed from history and refs, never stored.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde::Serialize;

use super::{
    Entry, KeptDraft, Kind, RefNames, Session, Used, attempts, kept_draft, key, merge_command,
    merged, own_tasks,
};
use crate::artifact::check::task_order;
use crate::artifact::{Base, Origin, Plan, SessionKind, Store, Task, TaskStatus};
use crate::git::{self, Git};
use crate::spent::Spent;
use crate::stage::Stage;
use crate::stages::row;

/// The state of a session as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// `resume` continues it.
    InProgress,
    /// A live process works on it.
    Running,
    /// A draft or a question waits for the reviewer.
    Waiting,
    /// Its last run ended and cannot continue by itself; [`Status::stop`] has the reason.
    Stopped,
    /// The delivery commit exists.
    Completed,
    /// The delivery commit is also in the base branch.
    Merged,
    /// It is archived.
    Archived,
}

impl State {
    /// The name in `--json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Merged => "merged",
            Self::Archived => "archived",
        }
    }
}

/// Progress of the current task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtHand {
    /// Not started.
    Next,
    /// Marked as in progress in the plan, or the run stopped in the middle of it.
    Begun,
    /// Its conversation ended, but it is not completed.
    Unfinished,
    /// The actor reported that it cannot be done.
    Blocked,
}

impl AtHand {
    /// The words to print after the task's id.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Next => "is next",
            Self::Begun => "in progress",
            Self::Unfinished => "was worked on and is not completed",
            Self::Blocked => "is blocked",
        }
    }
}

/// Why a session's last run ended and cannot continue by itself, and how to continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The reason.
    pub why: String,
    /// The next command, with an explanation if it needs one.
    pub next: String,
    /// An alternative, with its command.
    pub other: Option<String>,
}

/// Everything `status` shows.
#[derive(Clone, Debug)]
pub struct Status {
    /// The session.
    pub session: Session,
    /// Short name of its branch.
    pub branch: String,
    /// Its state. History alone cannot show `Running` and `Stopped`.
    pub state: State,
    /// Why it is stopped.
    pub stop: Option<Stop>,
    /// The stage in progress or waiting for review; none when completed.
    pub stage: Option<Stage>,
    /// Number of the stage's newest draft, 0 if there is none.
    pub iteration: u32,
    /// The session's own top-level tasks: the number completed, and the number of all; zero if the
    /// stage is not coding.
    pub tasks: (usize, usize),
    /// The current task: the one marked as in progress, else the next one.
    pub task: Option<(String, AtHand)>,
    /// Usage, from history, the saved draft and (if requested) the records of this machine.
    pub used: Used,
    /// The command that merges it, if it is delivered and there is a branch to merge it into.
    pub merge: Option<String>,
}

/// Details that only `status` shows: they need more git commands than a list should run.
#[derive(Clone, Debug)]
pub struct Details {
    /// Number of commits of the base branch that the session lacks.
    pub base_ahead: Option<usize>,
    /// Number of attempts.
    pub attempts: usize,
    /// Full ref name of the newest attempt.
    pub newest_attempt: Option<String>,
    /// The saved draft in progress, if no draft waits on the branch.
    pub kept: Option<Kept>,
    /// The model for its next draft, if the reviewer chose another one at the gate.
    pub next_by: Option<String>,
    /// Names of the current tags, by stage.
    pub labels: BTreeMap<Stage, String>,
    /// Stages of which a revert abandoned an earlier commit.
    pub reverted: BTreeSet<Stage>,
    /// Number of drafts rejected by the critic, by completed stage.
    pub rejections: BTreeMap<Stage, usize>,
}

/// A draft in progress that is saved in a ref beside the branch.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Name of its ref.
    pub name: String,
    /// True if the run stopped in the middle of the draft.
    pub partial: bool,
}

/// `status --json` and `list --json`.
#[derive(Serialize)]
pub struct StatusJson<'a> {
    session: &'a str,
    id: &'a str,
    kind: SessionKind,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    stage: Option<Stage>,
    done: Vec<Stage>,
    iteration: u32,
    tip: &'a str,
    base: &'a Base,
    tokens: Tokens,
    title: &'a str,
    created_at: &'a str,
    directory: String,
}

#[derive(Serialize)]
struct Tokens {
    #[serde(rename = "in")]
    input: u64,
    out: u64,
    cached: u64,
}

impl Status {
    /// Reads the status of a session.
    pub fn read(git: &Git, refs: &RefNames, session: Session) -> Result<Self> {
        let state = session_state(git, refs, &session)?;
        Self::with(git, refs, session, state)
    }

    /// Like [`Self::read`], with a state that was already computed from history.
    pub fn with(git: &Git, refs: &RefNames, session: Session, state: State) -> Result<Self> {
        let stage = if session.is_completed() { None } else { session.next_stage() };
        let draft = present_draft(git, &session)?;
        let iteration = draft.as_ref().map_or(0, Entry::iterations);
        let drafted = draft.as_ref().map(Entry::spent).unwrap_or_default();
        let used = session.used(drafted, Spent::default());
        let (mut tasks, mut task) = ((0, 0), None);
        if stage.is_some_and(|stage| row(stage).writes_code()) {
            // A saved draft contains the status of tasks.
            let newest = draft.as_ref().map_or(&session.tip, |draft| &draft.commit);
            let files = super::CommittedFiles::new(git, &session.name, newest);
            let plan = Store::new(&files).plan().unwrap_or_default();
            // A broken plan does not prevent showing the rest.
            let own = own_tasks(git, &session, plan.clone()).unwrap_or_default();
            let done = session.completed_tasks();
            let finished = own.iter().filter(|task| done.contains(&task.id.as_str())).count();
            tasks = (finished, own.len());
            task = task_at_hand(&session, &own, &plan, draft.as_ref());
        }
        let merge = match state {
            State::Completed => merge_command(git, refs, &session)?,
            _ => None,
        };
        Ok(Self {
            branch: refs.short_branch(&session.name),
            merge,
            state,
            stop: None,
            stage,
            iteration,
            tasks,
            task,
            used,
            session,
        })
    }

    /// Reads the details that only `status` shows.
    pub fn details(&self, git: &Git) -> Result<Details> {
        let root = RefNames::attempts(&self.session.name);
        let attempts = git::refs::list(git, &[&root])?;
        let number = |name: &str| name.rsplit('/').next().and_then(|n| n.parse::<u32>().ok());
        let names = attempts.iter().map(|info| info.name.as_str().to_owned());
        let session = &self.session;
        let (labels, reverted) = labels(git, session)?;
        Ok(Details {
            kept: self.kept(git)?,
            next_by: next_by(git, session)?,
            labels,
            reverted,
            rejections: rejections(git, session),
            base_ahead: base_ahead(git, &self.session)?,
            attempts: attempts.len(),
            newest_attempt: names.max_by_key(|name| number(name)),
        })
    }

    /// The saved draft in progress, if no draft waits on the branch.
    pub fn kept(&self, git: &Git) -> Result<Option<Kept>> {
        let session = &self.session;
        let Some(stage) = self.stage.filter(|_| session.waiting().is_none()) else {
            return Ok(None);
        };
        Ok(match kept_draft(git, session, stage)? {
            Some(KeptDraft::Live(entry)) => Some(Kept {
                name: RefNames::draft(&session.name, stage).to_string(),
                partial: entry.trailers.get(key::PARTIAL).is_some(),
            }),
            _ => None,
        })
    }

    /// The status in the format of `--json`.
    pub fn json(&self) -> StatusJson<'_> {
        let usage = self.used.total.usage;
        StatusJson {
            session: self.session.name.as_str(),
            id: &self.session.file.id,
            kind: self.session.file.kind,
            state: self.state,
            reason: self.stop.as_ref().map(|stop| stop.why.as_str()),
            stage: self.stage,
            done: self.session.done(),
            iteration: self.iteration,
            tip: self.session.tip.as_str(),
            base: &self.session.file.base,
            tokens: Tokens { input: usage.input, out: usage.output, cached: usage.cached },
            title: &self.session.file.title,
            created_at: &self.session.file.created_at,
            directory: self.session.name.artifact_dir(),
        }
    }

    /// The next command to run.
    pub fn next_command(&self) -> String {
        let name = &self.session.name;
        match self.state {
            State::Waiting => format!("git cowork review {name}"),
            State::InProgress | State::Stopped => format!("git cowork resume {name}"),
            State::Running => format!("git cowork watch {name}"),
            State::Completed => match &self.merge {
                Some(merge) => merge.clone(),
                None => format!("git cowork show {name} report"),
            },
            State::Archived => format!("git cowork restore {name}"),
            State::Merged => "git cowork new \"the next idea\"".to_owned(),
        }
    }
}

/// The state of a session, as far as history shows it.
///
/// # Errors
/// Git cannot be read.
pub fn session_state(git: &Git, refs: &RefNames, session: &Session) -> Result<State> {
    let archived = is_archived(git, refs, session)?;
    let looked_for = !archived && session.is_completed();
    let merged = looked_for && merged(git, refs, session)?.is_some();
    Ok(state_of(session, archived, merged))
}

/// True if a session exists only in the archive. A session merged without its artifacts is also in
/// the archive, but keeps its branch.
pub(super) fn is_archived(git: &Git, refs: &RefNames, session: &Session) -> Result<bool> {
    let archived = git.resolve(RefNames::archive(&session.name).as_str())?;
    Ok(archived.as_ref() == Some(&session.tip)
        && git.resolve(refs.branch(&session.name).as_str())?.is_none())
}

/// The state of a session, from its commits and whether it is archived or merged.
pub(super) fn state_of(session: &Session, archived: bool, merged: bool) -> State {
    if archived {
        State::Archived
    } else if session.is_completed() {
        if merged { State::Merged } else { State::Completed }
    } else if session.unanswered().is_some() {
        State::Waiting
    } else {
        State::InProgress
    }
}

/// Returns the tags of current stage commits, and the stages that have a tag on work abandoned by a
/// revert. A tag that is merely not in history was left by a rebase or an amend.
fn labels(git: &Git, session: &Session) -> Result<(BTreeMap<Stage, String>, BTreeSet<Stage>)> {
    let (mut labels, mut left) = (BTreeMap::new(), Vec::new());
    for tag in git::refs::list(git, &RefNames::labels(&session.name))? {
        let label = tag.name.as_str().rsplit('/').next().unwrap_or_default();
        let name = label.split_once('-').map_or(label, |(name, _)| name);
        let Ok(stage) = name.parse::<Stage>() else { continue };
        if session.stage_entry(stage).is_some_and(|entry| entry.commit == tag.oid) {
            labels.insert(stage, label.to_owned());
        } else if !session.history.iter().any(|entry| entry.commit == tag.oid) {
            left.push((stage, tag.oid));
        }
    }
    let mut reverted = BTreeSet::new();
    if left.is_empty() {
        return Ok((labels, reverted));
    }
    for attempt in attempts(git, Some(&session.name))?.iter().filter(|a| a.can_be_undone()) {
        for (stage, commit) in &left {
            if git::refs::is_ancestor(git, commit, &attempt.tip)? {
                reverted.insert(*stage);
            }
        }
    }
    Ok((labels, reverted))
}

/// Number of drafts rejected by the critic in each completed stage's newest run.
fn rejections(git: &Git, session: &Session) -> BTreeMap<Stage, usize> {
    let mut refused = BTreeMap::new();
    for stage in session.order() {
        let Some(entry) = session.stage_entry(stage) else { continue };
        let runs = session.history.iter().filter(|entry| entry.kind == Kind::Stage(stage));
        let earlier = runs.map(Entry::iterations).sum::<u32>() - entry.iterations();
        let files = super::CommittedFiles::new(git, &session.name, &entry.commit);
        // A broken file counts as no feedback.
        let said = Store::new(&files).feedback().unwrap_or_default().into_iter();
        let by_critic = said.filter(|said| {
            said.stage == stage && said.from == Origin::Critic && said.goto_stage().is_none()
        });
        let drafts: BTreeSet<u32> =
            by_critic.map(|said| said.iteration).filter(|n| *n > earlier).collect();
        if !drafts.is_empty() {
            refused.insert(stage, drafts.len());
        }
    }
    refused
}

/// The session's current top-level task and its progress: from the plan, else from a draft saved
/// since the last task commit.
fn task_at_hand(
    session: &Session,
    own: &[Task],
    plan: &Plan,
    draft: Option<&Entry>,
) -> Option<(String, AtHand)> {
    let done = session.completed_tasks();
    let mut open = own.iter().filter(|task| !done.contains(&task.id.as_str()));
    let order = task_order(plan).unwrap_or_default();
    let mut next = order.iter().filter_map(|id| open.clone().find(|task| task.id == *id));
    let says_so = open.clone().find(|task| task.status == TaskStatus::InProgress);
    let task = says_so.or_else(|| next.next()).or_else(|| open.next())?;
    let draft = draft
        .filter(|draft| draft.parents.first() == Some(&session.tip) || session.waiting().is_some());
    let partial = draft.is_some_and(|draft| draft.trailers.get(key::PARTIAL).is_some());
    let how = match task.status {
        TaskStatus::Blocked => AtHand::Blocked,
        _ if draft.is_some() && !partial => AtHand::Unfinished,
        TaskStatus::InProgress => AtHand::Begun,
        _ if partial => AtHand::Begun,
        _ => AtHand::Next,
    };
    Some((task.id.clone(), how))
}

/// The draft that waits, else the saved draft of the stage in progress.
pub(super) fn present_draft(git: &Git, session: &Session) -> Result<Option<Entry>> {
    if let Some(waiting) = session.waiting() {
        return Ok(Some(waiting.draft));
    }
    let Some(stage) = session.next_stage() else { return Ok(None) };
    Ok(match kept_draft(git, session, stage)? {
        Some(KeptDraft::Live(entry)) => Some(entry),
        _ => None,
    })
}

/// The model chosen by the reviewer for the drafts after the present one, by its name at the
/// server.
fn next_by(git: &Git, session: &Session) -> Result<Option<String>> {
    let Some(stage) = session.next_stage() else { return Ok(None) };
    let waiting = session.waiting().map(|waiting| waiting.draft);
    let kept = match kept_draft(git, session, stage)? {
        Some(KeptDraft::Live(entry)) => Some(entry),
        _ => None,
    };
    // The model may have been chosen at a gate opened on the waiting draft.
    let kept = kept.filter(|kept| {
        waiting.as_ref().is_none_or(|waiting| kept.parents.first() == Some(&waiting.commit))
    });
    let draft = kept.or(waiting);
    let taken = draft.as_ref().and_then(|draft| draft.trailers.get(key::ACTOR_MODEL));
    Ok(taken.map(|taken| taken.split_once(" model=").map_or(taken, |(_, id)| id).to_owned()))
}

fn base_ahead(git: &Git, session: &Session) -> Result<Option<usize>> {
    let base = &session.file.base.branch;
    let Some(tip) = git.resolve(&RefNames::local(base))? else { return Ok(None) };
    let (_, ahead) = git::refs::ahead_behind(git, &session.tip, &tip)?;
    Ok(Some(ahead))
}
