//! Attempts: the tips a session left behind, as their refs tell them.

use super::message::{Trailers, key};
use super::{SessionName, Verdict};
use crate::git::{Git, Oid, RefInfo};

/// What all attempts of all sessions begin with.
const ROOT: &str = "refs/cowork/attempts/";

/// A tip that was left behind.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Whose.
    pub session: SessionName,
    /// Its number, from 1.
    pub number: u32,
    /// What the ref names: the tip itself, or a child of it with the edits that were not committed.
    pub commit: Oid,
    /// The tip.
    pub tip: Oid,
    /// Why it was left behind.
    pub reason: String,
    /// [`Verdict::Passed`] for a copy that was made although nothing was left behind,
    /// [`Verdict::Auto`] when no person wanted it.
    pub verdict: Option<Verdict>,
    /// Unix seconds.
    pub time: i64,
}

impl Attempt {
    /// Full name of its ref.
    pub fn ref_name(&self) -> String {
        format!("{ROOT}{}/{}", self.session, self.number)
    }

    /// True when something was left behind that `undo` can bring back.
    pub fn can_be_undone(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Aborted | Verdict::Auto))
    }
}

/// The attempts of one session, or of all, the newest last.
pub fn attempts(git: &Git, session: Option<&SessionName>) -> anyhow::Result<Vec<Attempt>> {
    let root = session.map_or_else(|| ROOT.to_owned(), |name| format!("{ROOT}{name}/"));
    let mut found = Vec::new();
    for info in git.list_refs(&[&root])? {
        found.extend(attempt(git, info)?);
    }
    found.sort_by_key(|attempt: &Attempt| (attempt.time, attempt.number));
    Ok(found)
}

fn attempt(git: &Git, info: RefInfo) -> anyhow::Result<Option<Attempt>> {
    let parts = info.name.as_str().strip_prefix(ROOT).and_then(|rest| rest.rsplit_once('/'));
    let Some((Ok(session), Ok(number))) = parts.map(|(s, n)| (s.parse(), n.parse())) else {
        return Ok(None);
    };
    let trailers = Trailers::parse(&info.message);
    let child = trailers.get(key::EVENT) == Some("attempt");
    let parent = if child { git.resolve(&format!("{}^1", info.oid))? } else { None };
    let prefix = format!("attempt {number}: ");
    Ok(Some(Attempt {
        session,
        number,
        tip: parent.unwrap_or_else(|| info.oid.clone()),
        commit: info.oid,
        reason: info.subject.strip_prefix(&prefix).unwrap_or(&info.subject).to_owned(),
        // Of a tip itself it would be the answer to its review.
        verdict: trailers.get(key::REVIEW).filter(|_| child).and_then(Verdict::parse),
        time: info.committer_time,
    }))
}
