//! Locks a session and the working tree it works in, and cleans up after killed processes.

use crate::cli::context::Context;
use crate::cli::session_cmd::tree_lock;
use crate::cli::terminal::signals::Guard;
use crate::event::{Event, Sink as _};
use crate::git::Git;
use crate::session::{RunLock, SessionName, StateDir};

/// A locked session: what a process holds while it works on the session.
pub(crate) struct LockedSession {
    /// The repository. It notes the git processes that it starts, so that the next run can wait for
    /// them.
    pub git: Git,
    /// The state directory of the session.
    pub state: StateDir,
    /// Marks this process as the session's run.
    pub lock: RunLock,
    /// Marks this process as the only run in the working tree, if it changes the tree.
    pub tree: Option<RunLock>,
    _guard: Guard,
}

/// Locks the session and this working tree.
///
/// # Errors
/// Exit 5: another run has locked one of them; it is named.
pub(crate) fn hold(
    context: &Context,
    name: &SessionName,
    command: &str,
) -> anyhow::Result<LockedSession> {
    hold_with(context, name, command, true)
}

/// Like [`hold`], for a command that does not change this working tree.
pub(crate) fn hold_session(
    context: &Context,
    name: &SessionName,
    command: &str,
) -> anyhow::Result<LockedSession> {
    hold_with(context, name, command, false)
}

/// Like [`hold`]; the working tree is locked only if the command changes it. Cleans up after killed
/// processes: those of this session, and those of other sessions that are not running, because all
/// of them share the index of a working tree.
pub(crate) fn hold_with(
    context: &Context,
    name: &SessionName,
    command: &str,
    changes_tree: bool,
) -> anyhow::Result<LockedSession> {
    let git = context.git()?;
    let state = StateDir::open(&git.state_dir(), name)?;
    let lock = RunLock::take(&state.lock(), name, command)?;
    let tree = changes_tree.then(|| tree_lock::lock(context, git, name, command)).transpose()?;
    for other in StateDir::left_unfinished(&git.state_dir()).iter().filter(|other| *other != name) {
        let state = StateDir::at(&git.state_dir(), other);
        let Ok(_lock) = RunLock::take(&state.lock(), other, command) else { continue };
        if let Err(error) = with_children(context, git, &state, other) {
            context.ui.emit(Event::Warning { text: format!("session {other}: {error:#}") });
        }
    }
    let git = with_children(context, git, &state, name)?;
    // From now on a signal only requests a stop: the current write is finished first.
    Ok(LockedSession { git, state, lock, tree, _guard: Guard::new() })
}

/// The repository for this session's commands, after the cleanup.
fn with_children(
    context: &Context,
    git: &Git,
    state: &StateDir,
    name: &SessionName,
) -> anyhow::Result<Git> {
    let own = context.refs()?.own(name);
    git.expect_refs(own.iter().cloned());
    let say = |text: &str| context.ui.emit(Event::Note { text: text.to_owned() });
    git.with_children_in(&state.git_children(), &own, &say)
}
