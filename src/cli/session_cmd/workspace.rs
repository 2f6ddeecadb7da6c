//! The working tree of a session, and a recorder for commands that run no pipeline.

use std::rc::Rc;

use crate::cli::context::Context;
use crate::cli::session_cmd::asking::watch;
use crate::cli::session_cmd::lock::LockedSession;
use crate::cli::session_cmd::{confinement, workspace};
use crate::error::Error;
use crate::git::{Git, Oid};
use crate::private::PrivateFiles;
use crate::record::{Recorder, Scope, Tracked};
use crate::session::{Session, SessionName};
use crate::workspace::{Workspace, WorkspaceOptions, user_files};

/// Opens the working tree for the tools of this session.
pub(crate) fn open(
    context: &Context,
    held: &LockedSession,
    name: &SessionName,
) -> anyhow::Result<Workspace> {
    let workspace = Workspace::open(WorkspaceOptions {
        state_dir: held.state.path().to_owned(),
        artifact_dirs: vec![name.artifact_dir(), name.record_dir()],
        tracking: Some(Rc::new(Tracked::new(&held.git, context.refs()?, name)?)),
        ..options(context, &held.git)?
    })?;
    workspace.protection().protect(held.state.protected()?.into_iter().map(|entry| entry.path));
    Ok(workspace)
}

/// The options for commands in a working tree, which are the same for all sessions.
pub(crate) fn options(context: &Context, git: &Git) -> anyhow::Result<WorkspaceOptions> {
    let config = context.config()?;
    Ok(WorkspaceOptions {
        root: git.top().to_owned(),
        timeout_s: config.limits.command_timeout_s,
        timeout_max_s: config.limits.command_timeout_max_s,
        command_prefix: config.sandbox.command_prefix.clone(),
        confinement: confinement::new(context, git)?,
        private: private(context)?,
        secrets: context.secrets()?,
        watch: watch(context),
        env: context.env.iter().map(|(k, v)| (k.into(), v.into())).collect(),
        ..WorkspaceOptions::default()
    })
}

/// The files that models, tools and commands must not see.
fn private(context: &Context) -> anyhow::Result<PrivateFiles> {
    let globs = &context.config()?.project.private;
    PrivateFiles::new(globs).map_err(|problem| Error::model(problem).into())
}

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
        context.warn(text);
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
