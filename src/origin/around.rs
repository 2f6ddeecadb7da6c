//! Where a person's commit is in history: in a session in progress, outside sessions, or before
//! them.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;

use super::sessions::Sessions;
use crate::git::{self, Commit, Oid};
use crate::session::{Entry, Kind, SESSIONS, SessionName, Trailers, key};
use crate::stages;

/// Maximum number of ancestors searched for a session's commit.
const BELOW: usize = 2_000;

/// The position of a person's commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Around {
    /// On the branch of a session in progress: the session, and the subject of its newest commit
    /// before the person's.
    During(SessionName, String),
    /// In no session.
    Outside,
    /// Before the first recorded session, if there is one.
    Before(Option<SessionName>),
}

/// Finds the position of a commit that no session made. `cache` has the positions found so far.
pub(super) fn around(
    sessions: &Sessions<'_>,
    cache: &RefCell<HashMap<Oid, Around>>,
    commit: &Commit,
) -> anyhow::Result<Around> {
    let reader = sessions.git.reader();
    // A session's branch has records from its first commit on.
    if reader.entries(&commit.id, &[SESSIONS])?.iter().all(Option::is_none) {
        return no_session(sessions, commit);
    }
    let mut below_commits = Vec::new();
    let mut next = commit.parents.first().cloned();
    let around = loop {
        let Some(id) = next.filter(|_| below_commits.len() < BELOW) else { break None };
        if let Some(position) = cache.borrow().get(&id) {
            break Some(position.clone());
        }
        let below = reader.commit(&id)?;
        if let Some(position) = position_above(&below) {
            break Some(position);
        }
        next = below.parents.first().cloned();
        below_commits.push(id);
    };
    let around = match around {
        Some(position @ Around::During(..)) => position,
        _ => no_session(sessions, commit)?,
    };
    cache.borrow_mut().extend(below_commits.into_iter().map(|id| (id, around.clone())));
    Ok(around)
}

/// The position of a commit on top of `below`; `None` if `below` is not a session's.
fn position_above(below: &Commit) -> Option<Around> {
    let trailers = Trailers::parse(&below.message);
    let entry = Entry::from_commit(below, trailers.get(key::SESSION_ID)?)?;
    let is_over = match entry.kind {
        Kind::Stage(stage) => stage == stages::last(),
        // A person's commit may name the session.
        Kind::Other => match trailers.get(key::EVENT) {
            Some(event) => event == "merge",
            None => return None,
        },
        _ => false,
    };
    if is_over {
        return Some(Around::Outside);
    }
    let name = trailers.get(key::SESSION)?.parse().ok()?;
    Some(Around::During(name, entry.subject))
}

fn no_session(sessions: &Sessions<'_>, commit: &Commit) -> anyhow::Result<Around> {
    let Some(first) = sessions.first()? else { return Ok(Around::Before(None)) };
    // If the commit and the first session have the same time, the commit is before the session only
    // if the session's base contains it.
    let is_before = match commit.committer_time.cmp(&first.began) {
        Ordering::Less => true,
        Ordering::Greater => false,
        Ordering::Equal => match &first.base {
            Some(base) => git::refs::is_ancestor(sessions.git, &commit.id, base).unwrap_or(false),
            None => false,
        },
    };
    Ok(if is_before { Around::Before(Some(first.name.clone())) } else { Around::Outside })
}
