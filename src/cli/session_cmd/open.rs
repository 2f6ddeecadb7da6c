//! Opening a session: its lock, its branch, its history.

use crate::artifact::Artifact;
use crate::artifact::record_diff::count;
use crate::cli::context::Context;
use crate::cli::remote::upstream;
use crate::cli::session_cmd::lock::{self, LockedSession};
use crate::cli::session_cmd::workspace::recorder_of;
use crate::cli::session_cmd::{find, new_session};
use crate::error::{Error, Kind};
use crate::event::{Event, Sink as _};
use crate::gate::{Mode, Tty};
use crate::git::{self, Change, Git, Head, Oid, StatusEntry, StatusKind};
use crate::pipeline::Discarded;
use crate::record::attributes;
use crate::session::{RefNames, Session, SessionName, artifact_path};
use crate::verify::{follow_documents, put_back_committed_json, rewrite_json};

/// Prints what the session abandons when it moves to `target`. On a terminal, if the loss may come
/// as a surprise, asks the user first.
///
/// # Errors
/// Interrupted: the user cancelled.
pub(crate) fn may_leave(
    context: &Context,
    git: &Git,
    session: &Session,
    target: &Oid,
    what: &str,
) -> anyhow::Result<()> {
    let leaving = Discarded::find(git, &context.refs()?, session, target)?;
    leaving.say(context.ui.as_ref(), what);
    if context.mode()? != Mode::Ask || !leaving.may_surprise() {
        return Ok(());
    }
    context.ui.clear();
    if leaving.ask(git, &Tty::new(context.color))? {
        return Ok(());
    }
    Err(Error::new(Kind::Interrupted, "cancelled; nothing has moved").into())
}

/// Opens the session for a command: locks it, switches to its branch, reads its history. If its
/// start was killed, completes the start first.
pub(crate) fn take(
    context: &Context,
    name: Option<&SessionName>,
    command: &str,
) -> anyhow::Result<(LockedSession, Session)> {
    take_after(context, name, None, command, |_, _| Ok(()))
}

/// Like [`take`], but switches to the session's branch only after `allowed` returns `Ok`. `loaded` is
/// the session if it was read already: it is read again only if its branch has moved.
pub(crate) fn take_after(
    context: &Context,
    name: Option<&SessionName>,
    loaded: Option<Session>,
    command: &str,
    allowed: impl FnOnce(&Git, &Session) -> anyhow::Result<()>,
) -> anyhow::Result<(LockedSession, Session)> {
    let git = context.git()?;
    let refs = context.refs()?;
    let name = find::session_name(context, name)?;
    let short = refs.short_branch(&name);
    if !git::refs::branch_exists(git, &short)?
        && !git::refs::remote_branches(git, &short)?.is_empty()
    {
        git::switch::track_remote(git, &short)?;
    }
    let has_fetched = upstream::fetch_missing(context, git, &refs, &name)?;
    let loaded = loaded.filter(|_| !has_fetched);
    upstream::require_not_behind(git, &refs, &name)?;
    // Report an unknown session before it is locked.
    let session = match new_session::is_unfinished(git, &refs, &name)? {
        true => None,
        false => Some(newest(git, &refs, &name, loaded)?),
    };
    let held = lock::hold(context, &name, command)?;
    git::locks::require_unlocked(&held.git)?;
    let session = match session {
        Some(session) => Some(newest(&held.git, &refs, &name, Some(session))?),
        None => None,
    };
    if let Some(session) = &session {
        allowed(&held.git, session)?;
    }
    stand_on(&held.git, &refs, &name)?;
    if let Some(filter) =
        attributes::require_readable(&held.git, &context.config()?.project, &name)?
    {
        return Err(attributes::not_exempted(&held.git, &filter).into());
    }
    bring_back_records(context, &held.git, &name)?;
    release_protected(&held)?;
    if session.is_none()
        && let Some(session) = new_session::finish(context, &held, &refs, &name)?
    {
        return Ok((held, session));
    }
    let session = newest(git, &refs, &name, session)?;
    let notes = recorder_of(context, &held, &session, |recorder| {
        let mut notes = rewrite_json(&held.git, &session, recorder)?;
        let put_back = put_back_committed_json(&held.git, &session, recorder)?;
        notes.extend(match put_back.is_empty() {
            true => follow_documents(&held.git, &session, recorder, false)?,
            false => put_back,
        });
        Ok(notes)
    })?;
    if notes.is_empty() {
        return Ok((held, session));
    }
    context.ui.emit(Event::Note { text: notes.join("; ") });
    let session = Session::find(git, &refs, &name)?;
    Ok((held, session))
}

/// The session at the tip of its branch: `loaded`, unless the branch has moved.
fn newest(
    git: &Git,
    refs: &RefNames,
    name: &SessionName,
    loaded: Option<Session>,
) -> anyhow::Result<Session> {
    let tip = git.resolve(refs.branch(name).as_str())?;
    match loaded.filter(|session| Some(&session.tip) == tip.as_ref()) {
        Some(session) => Ok(session),
        None => Session::find(git, refs, name),
    }
}

/// Brings back the files below `.cowork` if they were deleted with the session's whole folder: by
/// mistake, because nothing works without it.
fn bring_back_records(context: &Context, git: &Git, name: &SessionName) -> anyhow::Result<()> {
    let Head::Branch { oid: tip, .. } = git.head()? else { return Ok(()) };
    let record = artifact_path(name, Artifact::Session);
    let is_there = git.top().join(name.record_dir()).symlink_metadata().is_ok();
    if is_there || git::snapshot::blob_id(git, &tip, &record)?.is_none() {
        return Ok(());
    }
    let is_deleted = |entry: &StatusEntry| {
        let is_gone = matches!(
            entry.kind,
            StatusKind::Tracked { staged: Change::Deleted, .. }
                | StatusKind::Tracked { unstaged: Change::Deleted, .. }
        );
        entry.path.starts_with(".cowork/") && is_gone
    };
    let paths: Vec<String> =
        git.status()?.into_iter().filter(is_deleted).map(|entry| entry.path).collect();
    git::put_back::restore_paths(git, &tip, &paths)?;
    context.note(format!("brought back {} below .cowork", count(paths.len(), "deleted file")));
    Ok(())
}

/// Ends the protection of files that no longer have uncommitted changes, for example because the
/// user has committed them in the meantime.
fn release_protected(held: &LockedSession) -> anyhow::Result<()> {
    let mut user_files = held.state.protected()?;
    if user_files.is_empty() {
        return Ok(());
    }
    let dirty: Vec<String> = held.git.status()?.into_iter().map(|entry| entry.path).collect();
    user_files.retain(|entry| dirty.contains(&entry.path));
    held.state.set_protected(&user_files)
}

/// Makes sure that HEAD is on the session's branch.
fn stand_on(git: &Git, refs: &RefNames, name: &SessionName) -> anyhow::Result<()> {
    match git.head()? {
        Head::Branch { name: branch, .. } if branch == refs.branch(name) => Ok(()),
        _ => git::switch::to(git, &refs.short_branch(name)),
    }
}
