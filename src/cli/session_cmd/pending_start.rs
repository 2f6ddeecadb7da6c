//! A start that was killed between its branch and its start commit.

use serde::{Deserialize, Serialize};

use crate::artifact::SessionFile;
use crate::clock;
use crate::git::{Git, Oid};
use crate::session::{Inheritance, RefNames, Session, SessionName, StateDir};
use crate::stage::Stage;

/// What is known of a start before its branch exists; kept in the state directory until the start commit does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PendingStart {
    pub file: SessionFile,
    pub start: Oid,
    /// The commit or tree whose artifacts the session begins with, where those of `start` are not it.
    #[serde(default)]
    pub artifacts: Option<Oid>,
    /// The stage of another session that it begins with.
    #[serde(default)]
    pub from: Option<Inheritance>,
    /// Its depth is chosen, and not left to a triage.
    #[serde(default)]
    pub says_depth: bool,
    /// The draft of a stage that it begins with.
    #[serde(default)]
    pub draft: Option<FirstDraft>,
}

/// A document that is drafted before the session's first run, by no model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FirstDraft {
    /// The stage.
    pub stage: Stage,
    /// Its document.
    pub text: String,
}

/// Name of that note.
pub(crate) const NOTE: &str = "start.json";

/// True when a branch of this name exists and a killed start can be finished on it.
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

/// The newest start that was killed after its branch was made, if it is newer than `guessed` and all
/// that was done there: HEAD may not be on its branch yet, so that nothing else names it.
pub(crate) fn newest_unfinished(
    git: &Git,
    refs: &RefNames,
    guessed: Option<&SessionName>,
) -> anyhow::Result<Option<SessionName>> {
    newest_of(git, refs, StateDir::with_note(&git.state_dir(), NOTE), guessed)
}

/// [`newest_unfinished`] of these: no others have the note.
pub(crate) fn newest_of(
    git: &Git,
    refs: &RefNames,
    names: Vec<SessionName>,
    guessed: Option<&SessionName>,
) -> anyhow::Result<Option<SessionName>> {
    let mut newest = None;
    for name in names {
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
