//! Delivered sessions, which are merged or published.

use crate::cli::context::Context;
use crate::cli::remote::upstream;
use crate::cli::session_cmd::find;
use crate::error::Error;
use crate::git::{self, Git};
use crate::session::{
    Head as SessionHead, Merged, RefNames, Session, SessionName, State, Status, default_session,
    heads, merged_heads,
};

/// The session for a command that works on delivered sessions: the named one, that of the current
/// branch, or the newest delivered session that is not merged, which is printed.
pub(crate) fn name(context: &Context, named: Option<&SessionName>) -> anyhow::Result<SessionName> {
    let git = context.git()?;
    let refs = context.refs()?;
    let on_a_session = || -> anyhow::Result<bool> {
        Ok(git.head()?.branch().is_some_and(|branch| refs.session_of(branch.as_str()).is_some()))
    };
    if named.is_some() || context.global.session.is_some() || on_a_session()? {
        return find::session_name(context, named);
    }
    if let Some(head) = newest(git, &refs)? {
        let name = head.name().clone();
        context.ui.set_session(&name);
        context.note(format!("session {name}, the newest delivered one"));
        return Ok(name);
    }
    match default_session(git, &refs) {
        Ok(_) => find::session_name(context, None),
        Err(_) => Err(Error::repository("there is no delivered session that is not merged")
            .hint("list the sessions: git cowork list --all")
            .into()),
    }
}

/// The newest delivered session that is not merged.
///
/// # Errors
/// Git fails.
pub(crate) fn newest(git: &Git, refs: &RefNames) -> anyhow::Result<Option<SessionHead>> {
    let (heads, _) = heads(git, refs)?;
    let complete: Vec<&SessionHead> = heads.iter().filter(|head| head.is_completed()).collect();
    let merges = merged_heads(git, refs, &complete)?;
    let open = complete.into_iter().zip(merges).find(|(_, merges)| !merges);
    Ok(open.map(|(head, _)| head.clone()))
}

/// The delivered change requests of a session, oldest first; the others are named.
///
/// # Errors
/// Git fails.
pub(crate) fn changes(context: &Context, name: &SessionName) -> anyhow::Result<Vec<SessionName>> {
    let (mut heads, _) = heads(context.git()?, &context.refs()?)?;
    heads.retain(|head| {
        head.name().patch_parts().is_some_and(|(parent, _)| parent == name.as_str())
    });
    heads.sort_by_key(SessionHead::time);
    let (done, open): (Vec<_>, Vec<_>) = heads.iter().partition(|head| head.is_completed());
    for head in open {
        context.note(format!("{} is not delivered, and is left out", head.name()));
    }
    Ok(done.iter().map(|head| head.name().clone()).collect())
}

/// The commit that merged a session, formatted as `: 1a2b3c4`; empty if that commit is the
/// session's own tip.
pub(crate) fn said_by(merged: &Merged, session: &Session) -> String {
    if merged.commit == session.tip {
        return String::new();
    }
    format!(": {}", merged.commit.short())
}

/// The session, which must be delivered.
pub(crate) fn completed(context: &Context, name: &SessionName) -> anyhow::Result<Session> {
    let git = context.git()?;
    let refs = context.refs()?;
    if git.resolve(refs.branch(name).as_str())?.is_none()
        && !git::refs::remote_branches(git, &refs.short_branch(name))?.is_empty()
    {
        git::switch::track_remote(git, &refs.short_branch(name))?;
    }
    if git.resolve(refs.branch(name).as_str())?.is_none()
        && git.resolve(RefNames::archive(name).as_str())?.is_some()
    {
        return Err(Error::repository(format!("'{name}' is in the archive"))
            .hint(format!("restore it first: git cowork restore {name}"))
            .into());
    }
    upstream::fetch_missing(context, git, &refs, name)?;
    let session = Session::find(git, &refs, name)?;
    if session.is_completed() && session.waiting().is_none() {
        return Ok(session);
    }
    let status = Status::read(git, &refs, session)?;
    let stage =
        status.stage.map_or_else(|| "it is not done".to_owned(), |s| format!("{s} is next"));
    let (stands, next) = match status.state {
        State::Waiting => ("a draft waits for review".to_owned(), status.next_command()),
        _ => (stage, format!("git cowork resume {name}")),
    };
    Err(Error::repository(format!("'{name}' is not delivered yet: {stands}"))
        .hint(format!("continue: {next}"))
        .into())
}
