//! Checks the saved drafts: that each still belongs to the session, and holds no secret.

use super::problem::Problem;
use crate::git::{self, Git, Object, Oid, RefInfo};
use crate::secret::Secrets;
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

/// Drafts that hold a secret, as earlier versions kept them: whoever gets this repository can read it.
pub(super) fn with_secrets(
    git: &Git,
    session: &Session,
    secrets: &Secrets,
) -> anyhow::Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for draft in git::refs::list(git, &[RefNames::drafts(&session.name)])? {
        for entry in session.beside_tip(git, &draft.oid)? {
            let Some(found) = new_secret(git, &entry, secrets)? else { continue };
            let details = format!(
                "{} holds {found}; git gc removes it some time after it is pruned, at once: git reflog \
                 expire --expire=now --all; git gc --prune=now",
                draft.name
            );
            let problem = Problem::new(session, "secret-in-draft", draft.name.as_str(), details);
            problems.push(problem.fix(format!("git cowork prune {}", draft.name)));
            break;
        }
    }
    Ok(problems)
}

/// A secret that is in a draft and not in the commit it builds on: what, and where.
fn new_secret(git: &Git, draft: &Entry, secrets: &Secrets) -> anyhow::Result<Option<String>> {
    let reader = git.reader();
    for change in reader.diff(draft.parents.first(), &draft.commit)? {
        let Some(blob) = change.new.filter(|blob| !secrets.is_clean(blob.as_str())) else {
            continue;
        };
        // The commit of a submodule is no blob, and is not here.
        let Ok(Some(bytes)) = reader.blob(Object::Id(&blob)) else { continue };
        let Some(found) = secrets.find(&*bytes, 1)?.pop() else {
            secrets.note_clean(blob.as_str());
            continue;
        };
        let before = change.old.and_then(|old| reader.blob(Object::Id(&old)).ok().flatten());
        if !before.is_some_and(|before| found.is_in(&before)) {
            return Ok(Some(format!("{} ({}:{})", found.kind, change.path, found.line)));
        }
    }
    Ok(None)
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
    let tags = git::refs::list(git, &RefNames::labels(&session.name))?;
    Ok(tags.iter().any(|tag| tag.oid == *on))
}
