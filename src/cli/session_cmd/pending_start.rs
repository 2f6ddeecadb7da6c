//! Starts of sessions that were killed after creating the branch, before the start was complete.

use serde::{Deserialize, Serialize};

use crate::artifact::SessionFile;
use crate::clock;
use crate::git::{Git, Oid};
use crate::session::{Inheritance, RefNames, Session, SessionName, StateDir};
use crate::stage::Stage;

/// The data of a start. It is saved in the state directory before the branch is created, and
/// removed when the start is complete.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PendingStart {
    pub file: SessionFile,
    pub start: Oid,
    /// The commit or tree with the session's first artifacts, if they are not those of `start`.
    #[serde(default)]
    pub artifacts: Option<Oid>,
    /// The stage of another session from which this session starts.
    #[serde(default)]
    pub from: Option<Inheritance>,
    /// True if the depth was chosen; false if triage decides it.
    #[serde(default)]
    pub says_depth: bool,
    /// The draft with which the session starts.
    #[serde(default)]
    pub draft: Option<FirstDraft>,
}

/// A document that becomes a draft before the session's first run, without a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FirstDraft {
    /// The stage.
    pub stage: Stage,
    /// Its document.
    pub text: String,
}

/// Name of the note that contains a [`PendingStart`].
pub(crate) const NOTE: &str = "start.json";

/// True if the session's branch exists and a killed start can be completed on it.
pub(crate) fn is_unfinished(
    git: &Git,
    refs: &RefNames,
    name: &SessionName,
) -> anyhow::Result<bool> {
    Ok(unfinished(git, refs, name)?.is_some())
}

fn unfinished(
    git: &Git,
    refs: &RefNames,
    name: &SessionName,
) -> anyhow::Result<Option<PendingStart>> {
    let Some(starting) = StateDir::at(&git.state_dir(), name).note::<PendingStart>(NOTE)? else {
        return Ok(None);
    };
    let has_branch = git.resolve(refs.branch(name).as_str())?.is_some();
    let lacks_draft = match &starting.draft {
        Some(draft) => git.resolve(RefNames::draft(name, draft.stage).as_str())?.is_none(),
        None => false,
    };
    let is_killed = has_branch && (lacks_draft || Session::find(git, refs, name).is_err());
    Ok(is_killed.then_some(starting))
}

/// Returns the session with the newest start that was killed after its branch was created, if the
/// start is newer than every commit of the session `guessed`. Until HEAD is on the new branch,
/// nothing else tells which session was started.
pub(crate) fn newest_unfinished(
    git: &Git,
    refs: &RefNames,
    guessed: Option<&SessionName>,
) -> anyhow::Result<Option<SessionName>> {
    let mut newest = None;
    for name in StateDir::with_note(&git.state_dir(), NOTE) {
        if let Some(starting) = unfinished(git, refs, &name)? {
            let began = clock::parse_rfc3339(&starting.file.created_at).unwrap_or_default();
            newest = newest.max(Some((began, name)));
        }
    }
    let Some((began, name)) = newest else { return Ok(None) };
    if let Some(guessed) = guessed {
        let history = Session::find(git, refs, guessed)?.history;
        if history.iter().any(|entry| entry.time > began) {
            return Ok(None);
        }
    }
    Ok(Some(name))
}
