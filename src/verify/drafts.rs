//! Checks that each saved draft still belongs to the session.

use super::problem::Problem;
use crate::git::{self, Git, Oid, RefInfo};
use crate::session::{Entry, RefNames, Session, Trailers, Verdict, key};

pub(super) fn problems(git: &Git, session: &Session) -> anyhow::Result<Vec<Problem>> {
    let problem = |draft: RefInfo| {
        let details = format!(
            "{} was made on a commit that is no longer in this session; no run will continue it",
            draft.name
        );
        Problem::new(session, "stale-draft", draft.name.as_str(), details).fixable()
    };
    Ok(stray_drafts(git, session)?.into_iter().map(problem).collect())
}

/// Drafts that no run will continue or compare with: they are based on a commit outside the
/// session's history (after an amend or a rebase), belong to another session of the same name, or
/// the session is archived.
pub fn stray_drafts(git: &Git, session: &Session) -> anyhow::Result<Vec<RefInfo>> {
    let archived = git.resolve(RefNames::archive(&session.name).as_str())?.is_some();
    let mut stray = Vec::new();
    for draft in git::refs::list(git, &[RefNames::drafts(&session.name)])? {
        let trailers = Trailers::parse(&draft.message);
        let ours = trailers.get(key::SESSION_ID) == Some(session.file.id.as_str());
        let ended = trailers.get(key::REVIEW) == Some(Verdict::Aborted.name());
        let on = git.resolve(&format!("{}^1", draft.oid))?;
        // After a revert, the commit that the draft was based on is kept as an attempt.
        let known = match &on {
            Some(on) => stands(git, session, on)? || (ended && has_tag(git, session, on)?),
            None => false,
        };
        if archived || !ours || !known {
            stray.push(draft);
        }
    }
    Ok(stray)
}

fn stands(git: &Git, session: &Session, on: &Oid) -> anyhow::Result<bool> {
    let here = |entry: &Entry| entry.commit == *on;
    if session.history.iter().any(here) || git::refs::is_ancestor(git, on, &session.tip)? {
        return Ok(true);
    }
    for attempt in git::refs::list(git, &[RefNames::attempts(&session.name)])? {
        if git::refs::is_ancestor(git, on, &attempt.oid)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// True if a tag points to `on`: after a plain `git reset`, drafts are based on an abandoned stage
/// commit, which still has its tag.
fn has_tag(git: &Git, session: &Session, on: &Oid) -> anyhow::Result<bool> {
    let tags = git::refs::list(git, &[RefNames::tags(&session.name)])?;
    Ok(tags.iter().any(|tag| tag.oid == *on))
}
