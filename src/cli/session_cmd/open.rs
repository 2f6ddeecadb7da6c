//! Opening a session: its lock, its branch, its history.

use crate::artifact::Artifact;
use crate::artifact::record_diff::count;
use crate::cli::context::Context;
use crate::cli::remote::upstream;
use crate::cli::session_cmd::lock::{self, LockedSession};
use crate::cli::session_cmd::workspace::recorder_of;
use crate::cli::session_cmd::{find, new_session, pending_start};
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
    let leaving = Discarded::of(git, &context.refs()?, session, target)?;
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
    take_after(context, name, command, |_, _| Ok(()))
}

/// Like [`take`], but switches to the session's branch only after `allowed` returns `Ok`.
pub(crate) fn take_after(
    context: &Context,
    name: Option<&SessionName>,
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
    upstream::fetch_missing(context, git, &refs, &name)?;
    upstream::require_not_behind(git, &refs, &name)?;
    let unfinished = pending_start::is_unfinished(git, &refs, &name)?;
    if !unfinished {
        // Report an unknown session before it is locked.
        Session::find(git, &refs, &name)?;
    }
    let held = lock::hold(context, &name, command)?;
    git::locks::require_unlocked(&held.git)?;
    if !unfinished {
        allowed(&held.git, &Session::find(&held.git, &refs, &name)?)?;
    }
    stand_on(&held.git, &refs, &name)?;
    if let Some(filter) =
        attributes::require_readable(&held.git, &context.config()?.project, &name)?
    {
        return Err(attributes::not_exempted(&held.git, &filter).into());
    }
    bring_back_records(context, &held.git, &name)?;
    release_protected(&held)?;
    if unfinished && let Some(session) = new_session::finish(context, &held, &refs, &name)? {
        return Ok((held, session));
    }
    let session = Session::find(git, &refs, &name)?;
    let told = recorder_of(context, &held, &session, |recorder| {
        let mut told = rewrite_json(&held.git, &session, recorder)?;
        let put_back = put_back_committed_json(&held.git, &session, recorder)?;
        told.extend(match put_back.is_empty() {
            true => follow_documents(&held.git, &session, recorder, false)?,
            false => put_back,
        });
        Ok(told)
    })?;
    if told.is_empty() {
        return Ok((held, session));
    }
    context.ui.emit(Event::Note { text: told.join("; ") });
    let session = Session::find(git, &refs, &name)?;
    Ok((held, session))
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
    let deleted = |entry: &StatusEntry| {
        let is_gone = matches!(
            entry.kind,
            StatusKind::Tracked { staged: Change::Deleted, .. }
                | StatusKind::Tracked { unstaged: Change::Deleted, .. }
        );
        entry.path.starts_with(".cowork/") && is_gone
    };
    let gone: Vec<String> =
        git.status()?.into_iter().filter(deleted).map(|entry| entry.path).collect();
    git::put_back::restore_paths(git, &tip, &gone)?;
    let text = format!("brought back {} below .cowork", count(gone.len(), "deleted file"));
    context.ui.emit(Event::Note { text });
    Ok(())
}

/// Ends the protection of files that no longer have uncommitted changes, for example because the
/// user has committed them in the meantime.
fn release_protected(held: &LockedSession) -> anyhow::Result<()> {
    let mut protected = held.state.protected()?;
    if protected.is_empty() {
        return Ok(());
    }
    let dirty: Vec<String> = held.git.status()?.into_iter().map(|entry| entry.path).collect();
    protected.retain(|entry| dirty.contains(&entry.path));
    held.state.set_protected(&protected)
}

/// Makes sure that HEAD is on the session's branch.
fn stand_on(git: &Git, refs: &RefNames, name: &SessionName) -> anyhow::Result<()> {
    match git.head()? {
        Head::Branch { name: branch, .. } if branch == refs.branch(name) => Ok(()),
        _ => git::switch::to(git, &refs.short_branch(name)),
    }
}
