//! Finds the session that a command works on.

use std::collections::HashSet;

use crate::clean::few;
use crate::cli::context::Context;
use crate::cli::remote::upstream;
use crate::cli::session_cmd::{new_session, next_step};
use crate::cli::suggest::hinted;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::git::{self, Git};
use crate::nearest::nearest;
use crate::session::{
    Head, NameUse, RefNames, Session, SessionName, Status, Unreadable, default_session, exists,
    find_in_tree, heads, in_tree, name_use, names, session_state,
};
use crate::verify::unreadable_records;

/// The session for a command: by name, by `--session`, by the current branch, or the newest
/// unfinished session, which is printed.
pub(crate) fn session(context: &Context, named: Option<&SessionName>) -> anyhow::Result<Session> {
    let git = context.git()?;
    let refs = context.refs()?;
    let name = session_name(context, named)?;
    if git.resolve(refs.branch(&name).as_str())?.is_none()
        && let Some(remote) = git::refs::remote_branches(git, &refs.short_branch(&name))?.first()
        && let Some(tip) = git.resolve(remote.as_str())?
    {
        return Session::load(git, &name, &tip);
    }
    Session::find(git, &refs, &name).map_err(|error| {
        if !new_session::is_unfinished(git, &refs, &name).unwrap_or(false) {
            return error;
        }
        Error::repository(format!("the start of '{name}' was interrupted"))
            .hint(format!("continue it: git cowork resume {name}"))
            .into()
    })
}

/// The session for a command that only reads: like [`session`], but also from the archive or from
/// HEAD's tree, with a note.
pub(crate) fn readable(context: &Context, named: Option<&SessionName>) -> anyhow::Result<Session> {
    let (git, refs) = (context.git()?, context.refs()?);
    if let Some(name) = named.or(context.global.session.as_ref())
        && let Some(tip) = git.resolve(RefNames::archive(name).as_str())?
        && git.resolve(refs.branch(name).as_str())?.is_none()
        && git::refs::remote_branches(git, &refs.short_branch(name))?.is_empty()
    {
        context.ui.set_session(name);
        context.note(format!("{name} is in the archive; bring it back: git cowork restore {name}"));
        return Session::load(git, name, &tip);
    }
    let head = git.head()?;
    // A branch of another prefix holds records that may not be merged.
    let is_own = |name: &SessionName| {
        head.branch().is_some_and(|branch| branch.as_str().ends_with(&format!("/{name}")))
    };
    if let Some(name) = named.or(context.global.session.as_ref())
        && !is_own(name)
        && name_use(git, &refs, name, head.oid())? == Some(NameUse::InTree)
        && let Some(session) = find_in_tree(git, name)?
    {
        context.ui.set_session(name);
        context.note(format!("{name} has no branch any more; it was merged into this one"));
        return Ok(session);
    }
    let session = session(context, named)?;
    warn_if_cut_off(context, &session)?;
    Ok(session)
}

/// Warns that commits of a session are not in this shallow clone.
pub(crate) fn warn_if_cut_off(context: &Context, session: &Session) -> anyhow::Result<()> {
    let git = context.git()?;
    if upstream::is_cut_off(git, session)? {
        let fetch = upstream::deepen_command(git, &context.refs()?.short_branch(&session.name))?;
        let lacks = format!("this shallow clone does not have all commits of {}", session.name);
        context.ui.emit(Event::Warning { text: format!("{lacks}; fetch them: {fetch}") });
    }
    Ok(())
}

/// The name of the session that [`session`] finds.
pub(crate) fn session_name(
    context: &Context,
    named: Option<&SessionName>,
) -> anyhow::Result<SessionName> {
    let name = match named.or(context.global.session.as_ref()) {
        Some(name) => {
            context.git()?.expect_refs(context.refs()?.own(name));
            require_known(context.git()?, &context.refs()?, name)?;
            name.clone()
        }
        None => {
            let (git, refs) = (context.git()?, context.refs()?);
            let choice = default_session(git, &refs);
            let is_guess = !matches!(choice, Ok((_, false)));
            let newest = choice.as_ref().ok().map(|(name, _)| name);
            let pending =
                if is_guess { new_session::newest_unfinished(git, &refs, newest)? } else { None };
            let name = pending.map_or_else(|| choice.map(|(name, _)| name), Ok)?;
            if is_guess {
                context.note(format!("session {name}, the newest unfinished one"));
            }
            name
        }
    };
    context.ui.set_session(&name);
    Ok(name)
}

/// Warns about what is named like a session and cannot be read as one.
pub(crate) fn tell_of_unreadable(context: &Context, unreadable: &Unreadable) {
    const NAMED: usize = 3;
    let warn = |text: String| context.warn(text);
    match unreadable.others.as_slice() {
        [] => {}
        [one] => warn(format!("not a session: {one}; see what it holds: git log {one}")),
        all => {
            let names = few(all, NAMED, ", ");
            warn(format!("{} branches are not sessions: {names}", all.len()));
        }
    }
    unreadable.broken.iter().for_each(|one| warn(format!("a session cannot be read: {one}")));
}

/// Warns about unreadable records of a session. Commands that only print the session continue
/// without these records.
pub(crate) fn warn_of_unreadable(context: &Context, session: &Session) -> anyhow::Result<()> {
    if context.global.json {
        return Ok(());
    }
    // If the records cannot be checked, the code that needs them reports the error.
    for text in unreadable_records(context.git()?, session).unwrap_or_default() {
        context.ui.emit(Event::Warning { text: format!("{text}; correct it, then commit it") });
    }
    Ok(())
}

/// Fails if a name was never used, but is similar to a known one.
fn require_known(git: &Git, refs: &RefNames, name: &SessionName) -> anyhow::Result<()> {
    if exists(git, refs, name)? || name_use(git, refs, name, None)?.is_some() {
        return Ok(());
    }
    let mut all = names(git, refs)?;
    all.extend(in_tree(git)?);
    if all.contains(name) {
        return Ok(());
    }
    let all = all.iter().map(SessionName::as_str);
    if nearest(name.as_str(), all.clone()).is_none() {
        // The caller reports that there is no such session.
        return Ok(());
    }
    let error = Error::repository(format!("there is no session '{name}'"));
    Err(hinted(error, name.as_str(), all, "list the sessions: git cowork list --all").into())
}

/// The status of a session.
pub(crate) fn status(context: &Context, session: Session) -> anyhow::Result<Status> {
    let (git, refs) = (context.git()?, context.refs()?);
    let state = session_state(git, &refs, &session)?;
    next_step::status(git, &refs, context.config()?, session, state)
}

/// The sessions of this repository, if `archived` with archived ones and those that are only in
/// HEAD's tree, and what cannot be read.
pub(crate) fn every(context: &Context, archived: bool) -> anyhow::Result<(Vec<Head>, Unreadable)> {
    let git = context.git()?;
    let (mut sessions, mut unreadable) = heads(git, &context.refs()?)?;
    if archived {
        let archive = RefNames::ARCHIVE;
        let present: HashSet<SessionName> =
            sessions.iter().map(|head| head.name().clone()).collect();
        let mut tips = Vec::new();
        for info in git.refs(&[archive])? {
            let name = info.name.as_str().strip_prefix(archive).and_then(|n| n.parse().ok());
            let name = name.filter(|name| !present.contains(name));
            tips.extend(name.map(|name| (name, info.object, info.name.to_string())));
        }
        if let Some(head) = git.head()?.oid() {
            let refs = context.refs()?;
            for name in in_tree(git)?.into_iter().filter(|name| !present.contains(name)) {
                if name_use(git, &refs, &name, Some(head))? == Some(NameUse::InTree) {
                    let place = name.to_string();
                    tips.push((name, head.clone(), place));
                }
            }
        }
        for head in git::many::ask_each(git, &tips, |git, (name, tip, place)| {
            Head::load(git, name, tip).map_err(|error| (place.clone(), error))
        }) {
            match head {
                Ok(head) => sessions.push(head),
                Err((place, error)) => unreadable.add(place, &error),
            }
        }
    }
    Ok((sessions, unreadable))
}
