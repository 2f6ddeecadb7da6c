//! Which sessions there are, and which one a command means: refs are the only registry.

use super::{Session, SessionName};
use crate::error::Error;
use crate::git::{Git, Head};
use crate::session::RefNames;

/// All sessions with a branch here or on a remote, newest commit first. A branch that holds no
/// readable session is left out and named in the second list.
pub fn list(git: &Git, refs: &RefNames) -> anyhow::Result<(Vec<Session>, Vec<String>)> {
    let local = refs.branch_root();
    let mut branches = git.list_refs(&[local.as_str(), &refs.remote_pattern()])?;
    // A local branch stands for its session, whatever remotes have.
    branches.sort_by_key(|info| {
        (!info.name.as_str().starts_with(&local), std::cmp::Reverse(info.committer_time))
    });
    let mut sessions = Vec::new();
    let mut unreadable = Vec::new();
    for info in branches {
        let Some(name) = refs.session_of_any(info.name.as_str()) else { continue };
        if sessions.iter().any(|known: &Session| known.name == name) {
            continue;
        }
        match Session::load(git, &name, &info.oid) {
            Ok(session) => sessions.push(session),
            Err(error) => unreadable.push(format!("{name}: {error}")),
        }
    }
    Ok((sessions, unreadable))
}

/// True when the session has a branch here.
pub fn exists(git: &Git, refs: &RefNames, name: &SessionName) -> anyhow::Result<bool> {
    Ok(git.resolve(refs.branch(name).as_str())?.is_some())
}

/// True when the name has ever been used: by a branch, here or on a remote, by the archive, an
/// attempt, a draft or a tag.
pub fn taken(git: &Git, refs: &RefNames, name: &SessionName) -> anyhow::Result<bool> {
    let short = refs.short_branch(name);
    let patterns = [
        refs.branch(name).as_str().to_owned(),
        RefNames::archive(name).as_str().to_owned(),
        format!("refs/cowork/attempts/{name}/"),
        format!("refs/cowork/drafts/{name}/"),
        format!("refs/tags/cowork/{name}/"),
    ];
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    Ok(!git.list_refs(&patterns)?.is_empty() || !git.remote_branches(&short)?.is_empty())
}

/// The session a command without a name means, and whether that was a guess worth saying: the
/// branch we are on, else the newest unfinished session.
///
/// # Errors
/// Exit 5 when there is none.
pub fn default_session(git: &Git, refs: &RefNames) -> anyhow::Result<(SessionName, bool)> {
    if let Head::Branch { name, .. } = git.head()?
        && let Some(session) = refs.session_of(name.as_str())
    {
        return Ok((session, false));
    }
    let (sessions, _) = list(git, refs)?;
    match sessions.into_iter().find(|session| !session.is_completed()) {
        Some(session) => Ok((session.name, true)),
        None => Err(Error::repository("there is no unfinished session here")
            .hint("start one: git cowork new \"what you want built\"")
            .into()),
    }
}
