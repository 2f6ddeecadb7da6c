//! The lock of a session, and what comes with having it.

use crate::cli::context::Context;
use crate::cli::terminal::signals::Guard;
use crate::event::{Event, Sink as _};
use crate::git::Git;
use crate::session::{SessionLock, SessionName, StateDir};
use crate::verify::own_refs;

/// Everything of a session that is held while it runs.
pub(crate) struct LockedSession {
    /// The repository; the next run waits for its children.
    pub git: Git,
    /// The state directory of the session.
    pub state: StateDir,
    /// Says that this process is the session's run.
    pub lock: SessionLock,
    _guard: Guard,
}

/// Takes the session's lock and clears what a killed process left behind: one of this session, or of
/// another that nobody runs now, for all share the index of a working tree.
pub(crate) fn hold(
    context: &Context,
    name: &SessionName,
    command: &str,
) -> anyhow::Result<LockedSession> {
    let git = context.git()?;
    let state = StateDir::open(&git.state_dir(), name)?;
    let lock = SessionLock::take(&state.lock(), name, command)?;
    for other in StateDir::left_unfinished(&git.state_dir()).iter().filter(|other| *other != name) {
        let state = StateDir::at(&git.state_dir(), other);
        let Ok(_lock) = SessionLock::take(&state.lock(), other, command) else { continue };
        if let Err(error) = with_children(context, git, &state, other) {
            context.ui.emit(Event::Warning { text: format!("session {other}: {error:#}") });
        }
    }
    let git = with_children(context, git, &state, name)?;
    // From now on a signal is a request: the write in hand is finished.
    Ok(LockedSession { git, state, lock, _guard: Guard::new() })
}

/// The repository as this session's commands use it.
fn with_children(
    context: &Context,
    git: &Git,
    state: &StateDir,
    name: &SessionName,
) -> anyhow::Result<Git> {
    let own = own_refs(&context.refs()?, name);
    let say = |text: &str| context.ui.emit(Event::Note { text: text.to_owned() });
    git.with_children_in(&state.git_children(), &own, &say)
}
