//! Why a stage cannot go on without a person, told after the run: the kept draft notes it, so that
//! `status` can say what comes next without taking the stage up.

use super::limit::Why;
use crate::config::Config;
use crate::git::Git;
use crate::session::{KeptDraft, Session, SessionName, kept_draft, key};
use crate::stage::Stage;

/// Where a session stands still.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// What happened, with the stage's name.
    pub why: String,
    /// What can be done besides asking a person on a terminal, with its command.
    pub other_way: String,
}

impl Why {
    /// For the trailer of the kept draft: the kind, what belongs to it, then the words.
    pub(super) fn render(&self, used: u32, words: &str) -> String {
        let kind = match self {
            Self::Drafts => format!("drafts={used}"),
            Self::Circle(_) => "circle".to_owned(),
            Self::Asked(_) => "asked".to_owned(),
            Self::Astray(_) => "astray".to_owned(),
            Self::Replans(asked) => format!("replans={}", asked.wish.stage),
        };
        format!("{kind} {words}")
    }
}

/// What can be done about it besides deciding on a terminal. `kind` is of [`Why::render`].
pub(super) fn other_way(kind: &str, stage: Stage, config: &Config, name: &SessionName) -> String {
    match kind.split_once('=') {
        Some(("drafts", _)) => {
            let more = config.iterations(stage) + 2;
            format!("or allow more drafts: git config cowork.limits.iterations.{stage} {more}")
        }
        Some((_, stage)) => format!("or go back yourself: git cowork revert {name} --to {stage}"),
        None if kind == "circle" => {
            format!("or begin it afresh: git cowork revert {name} --to {stage}")
        }
        None => {
            format!("or let the draft wait for an answer: git cowork resume {name} --review wait")
        }
    }
}

/// Why the session's last run ended, if it needs a person and nothing has happened since.
///
/// # Errors
/// The kept draft cannot be read.
pub fn standstill(
    git: &Git,
    config: &Config,
    session: &Session,
) -> anyhow::Result<Option<Standstill>> {
    let Some(stage) = session.next_stage() else { return Ok(None) };
    let Some(KeptDraft::Live(draft)) = kept_draft(git, session, stage)? else { return Ok(None) };
    if draft.parents.first() != Some(&session.tip) {
        return Ok(None);
    }
    let noted = draft.trailers.get(key::STUCK).and_then(|noted| noted.split_once(' '));
    let Some((kind, words)) = noted else { return Ok(None) };
    // More of them may be allowed by now.
    let used = kind.strip_prefix("drafts=").and_then(|used| used.parse::<u32>().ok());
    if used.is_some_and(|used| used < config.iterations(stage)) {
        return Ok(None);
    }
    let other_way = other_way(kind, stage, config, &session.name);
    Ok(Some(Standstill { why: format!("{stage}: {words}"), other_way }))
}
