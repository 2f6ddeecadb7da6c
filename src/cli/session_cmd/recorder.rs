//! A recorder for commands that run no pipeline.

use crate::cli::context::Context;
use crate::cli::session_cmd::lock::LockedSession;
use crate::cli::session_cmd::workspace;
use crate::event::{Event, Sink as _};
use crate::git::Oid;
use crate::record::{Recorder, Scope};
use crate::session::{Session, SessionName};
use crate::workspace::user_files;

/// Calls `with` with a recorder for a session that is locked but not run.
pub(crate) fn with_recorder<T>(
    context: &Context,
    held: &LockedSession,
    name: &SessionName,
    tip: &Oid,
    with: impl FnOnce(&Recorder<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    recorder_of(context, held, &Session::load(&held.git, name, tip)?, with)
}

/// Like [`with_recorder`], for a session that is already loaded.
pub(crate) fn recorder_of<T>(
    context: &Context,
    held: &LockedSession,
    session: &Session,
    with: impl FnOnce(&Recorder<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let name = &session.name;
    let refs = context.refs()?;
    let workspace = workspace::open(context, held, name)?;
    // What a command left that was killed together with an earlier run.
    for text in user_files::told(workspace.command_effects().take_user_files()) {
        context.ui.emit(Event::Warning { text });
    }
    with(&Recorder {
        git: &held.git,
        refs: &refs,
        project: &context.config()?.project,
        state: &held.state,
        workspace: &workspace,
        name,
        id: &session.file.id,
        scope: Scope::Code,
        edited: Vec::new(),
    })
}
