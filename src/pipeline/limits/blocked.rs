//! The reason why a stage needs a person, reported after the run: it is recorded in the saved
//! draft, so that `status` can print the next command without resuming the stage.

use serde::{Deserialize, Serialize};

use crate::artifact::Origin;
use crate::config::Config;
use crate::error::{Kind, kind_of};
use crate::git::Git;
use crate::pipeline::outcome::{BlockReason, UNCHANGED, UNJUDGED};
use crate::pipeline::run::{Env, Run};
use crate::session::{
    KeptDraft, Session, SessionName, StateDir, Stop, Verdict, Waiting, kept_draft, key, unrecorded,
};
use crate::stage::Stage;

/// The note in the state directory about a failed run whose reason no draft records.
const FAILED: &str = "failed.json";

/// Kinds in [`BlockReason::render`]: a role asks for a person, or makes no progress.
const ASKED: &str = "asked";
const ASTRAY: &str = "astray";

/// A run that failed on this tip.
#[derive(Serialize, Deserialize)]
struct Failed {
    tip: String,
    why: String,
}

impl BlockReason {
    /// The value of the saved draft's trailer: the kind, its argument, then the words.
    pub(crate) fn render(&self, used: u32, words: &str) -> String {
        let kind = match self {
            Self::Drafts => format!("drafts={used}"),
            Self::Repetition(_) => "circle".to_owned(),
            Self::Asked(_) => ASKED.to_owned(),
            Self::Astray(_) => ASTRAY.to_owned(),
            Self::Replans(asked) => format!("replans={}", asked.wish.stage),
            Self::Rejected(_) => "rejected".to_owned(),
            Self::Unchanged(_) => UNCHANGED.to_owned(),
            Self::NoVerdict(by, _) => format!("{UNJUDGED}={}", by.name()),
        };
        format!("{kind} {words}")
    }
}

/// Why the stage of a waiting draft has failed, with the kind of reason; `None` if the draft only
/// waits for a review or for the answer to a question.
pub(crate) fn failure_of(waiting: &Waiting) -> Option<(&str, &str)> {
    waiting.blocked().filter(|(kind, _)| *kind != ASKED)
}

/// The stop of a session whose draft waits because its stage has failed.
#[must_use]
pub fn stopped_at(waiting: &Waiting, name: &SessionName) -> Option<Stop> {
    let (_, words) = failure_of(waiting).filter(|_| waiting.answer.is_none())?;
    let why = format!("{}: {words}", waiting.stage);
    Some(Stop { why, next: format!("git cowork review {name}"), other: None })
}

/// An alternative to deciding on a terminal. `kind` is that of [`BlockReason::render`].
pub(crate) fn other_way(kind: &str, stage: Stage, config: &Config, name: &SessionName) -> String {
    match kind.split_once('=') {
        Some(("drafts", _)) => {
            let more = config.iterations(stage) + 2;
            format!("or allow more drafts: git config cowork.limits.iterations.{stage} {more}")
        }
        Some((UNJUDGED, by)) if by == Origin::Challenger.name() => {
            "or continue without a second opinion: git config cowork.roles.challenger ''".to_owned()
        }
        Some((key, stage)) if key != UNJUDGED => {
            format!("or go back yourself: git cowork revert {name} --to {stage}")
        }
        None if !["", ASKED, ASTRAY].contains(&kind) => {
            format!("or start {stage} again: git cowork revert {name} --to {stage}")
        }
        _ => {
            format!("or let the draft wait for an answer: git cowork resume {name} --review wait")
        }
    }
}

/// The reason why the session's last run ended, if it needs a person and nothing has happened
/// since.
///
/// # Errors
/// The saved draft cannot be read.
pub fn why_blocked(
    git: &Git,
    config: &Config,
    session: &Session,
    state: &StateDir,
) -> anyhow::Result<Option<Stop>> {
    let stages = unrecorded(git, session)?;
    if !stages.is_empty() {
        return Ok(Some(files_show(session, &stages)));
    }
    let waiting = session.waiting();
    if let Some(stop) = waiting.as_ref().and_then(|waiting| stopped_at(waiting, &session.name)) {
        return Ok(Some(stop));
    }
    let Some(stage) = session.next_stage() else { return Ok(None) };
    let resume = format!("git cowork resume {}", session.name);
    let (aborted, newest) = match kept_draft(git, session, stage)? {
        Some(KeptDraft::Aborted) => (true, None),
        // A draft from before the tip does not count.
        Some(KeptDraft::Live(draft)) if draft.parents.first() == Some(&session.tip) => {
            (false, Some(draft))
        }
        _ => {
            let open = waiting.filter(|waiting| waiting.goes_back().is_none());
            let answer = open.and_then(|waiting| waiting.answer);
            (answer.is_some_and(|answer| answer.verdict() == Some(Verdict::Aborted)), None)
        }
    };
    if aborted {
        return Ok(Some(Stop { why: format!("aborted at {stage}"), next: resume, other: None }));
    }
    let note = newest.as_ref().and_then(|draft| draft.trailers.get(key::STUCK));
    if let Some((kind, words)) = note.and_then(|note| note.split_once(' ')) {
        // The limit may have been raised in the meantime.
        let used = kind.strip_prefix("drafts=").and_then(|used| used.parse::<u32>().ok());
        let stays = used.is_none_or(|used| used >= config.iterations(stage));
        return Ok(stays.then(|| Stop {
            why: format!("{stage}: {words}"),
            next: resume,
            other: Some(other_way(kind, stage, config, &session.name)),
        }));
    }
    // A damaged file in the state directory must not hide the other information.
    let failure: Option<Failed> = state.note(FAILED).unwrap_or_default();
    let failure = failure.filter(|failure| failure.tip == session.tip.as_str());
    Ok(failure.map(|failure| Stop { why: failure.why, next: resume, other: None }))
}

/// True if the state directory has a note about a failed run, even an unreadable one.
#[must_use]
pub fn has_failed(state: &StateDir) -> bool {
    !matches!(state.note::<Failed>(FAILED), Ok(None))
}

/// A stop for a session whose files show more stages than its commits record. On a terminal the
/// user is asked how to continue.
#[must_use]
pub fn files_show(session: &Session, shown: &[Stage]) -> Stop {
    let (name, order) = (&session.name, session.order());
    let names: Vec<&str> = shown.iter().map(|stage| stage.name()).collect();
    let why =
        format!("no commit says which stages are done, but the files show {}", names.join(", "));
    let next = match order.get(shown.len()) {
        Some(next) => format!("git cowork resume {name} --goto-stage {next}"),
        None => format!(
            "git commit --allow-empty -m '{0}: taken as done' --trailer 'Cowork-Session: {name}' \
             --trailer 'Cowork-Session-Id: {1}' --trailer 'Cowork-Stage: {0}'",
            names.last().unwrap_or(&""),
            session.file.id
        ),
    };
    let first = order.first().copied().unwrap_or(Stage::ALL[0]);
    let other = format!("or start over: git cowork resume {name} --goto-stage {first}");
    Stop { why, next, other: Some(other) }
}

/// Records why a run failed, unless the reason is already recorded elsewhere.
pub(crate) fn note_failure(run: &Run<'_>, reason: &anyhow::Error) -> anyhow::Result<()> {
    let Env { git, config, state, .. } = &run.env;
    if kind_of(reason) != Kind::Failed || why_blocked(git, config, &run.session, state)?.is_some() {
        return Ok(());
    }
    let text = reason.to_string();
    let why = text.lines().next().unwrap_or_default().trim_end_matches(':').to_owned();
    state.set_note(FAILED, Some(&Failed { tip: run.session.tip.to_string(), why }))
}

/// Removes the note about a failed run when a new run starts.
pub(crate) fn forget_failure(run: &Run<'_>) -> anyhow::Result<()> {
    run.env.state.set_note::<Failed>(FAILED, None)
}
