//! What the project lacks, before a run asks a model anything.

use crate::cli::context::Context;
use crate::cli::session_cmd::lock::LockedSession;
use crate::cli::session_cmd::workspace;
use crate::cli::terminal::runtime;
use crate::error::{Error, Kind};
use crate::git::{self, Git, Oid};
use crate::interrupt;
use crate::session::SessionName;
use crate::shell_quote::quoted;
use crate::workspace::{is_manifest, undecided};

/// Fetches what the projects of the working tree lack, where that is allowed, so that checks can run
/// before the first request. `then` is what a person does when they have fetched it themselves.
///
/// # Errors
/// Exit 5 where something is missing and nobody is there to be asked; interrupted.
pub(crate) fn require(
    context: &Context,
    held: &LockedSession,
    name: &SessionName,
    then: &str,
) -> anyhow::Result<()> {
    if context.is_without_commands() {
        return Ok(());
    }
    let workspace = workspace::open(context, held, name)?;
    workspace.commands().require_private_kept()?;
    let missing = runtime::current_thread()?.block_on(async {
        tokio::select! {
            biased;
            () = interrupt::requested() => None,
            missing = workspace.missing_dependencies() => Some(missing),
        }
    });
    if interrupt::is_requested() {
        let message = "interrupted before anything was asked";
        return Err(Error::new(Kind::Interrupted, message).hint(then).into());
    }
    match undecided(&missing.transpose()?.unwrap_or_default()) {
        Some(error) => Err(error.hint(then).into()),
        None => Ok(()),
    }
}

/// How a session goes on whose working tree may be another than the one we were started in.
///
/// # Errors
/// There is no repository here.
pub(crate) fn resume_in(
    context: &Context,
    held: &LockedSession,
    name: &SessionName,
) -> anyhow::Result<String> {
    let top = held.git.top();
    Ok(match top == context.git()?.top() {
        true => format!("then: git cowork resume {name}"),
        false => {
            format!("then: (cd {} && git cowork resume {name})", quoted(&top.display().to_string()))
        }
    })
}

/// What to do when dependencies were fetched by hand and nothing was made yet.
pub(crate) const AGAIN: &str = "then give the same command again; nothing was changed";

/// Whether what the working tree depends on is what a session depends on that begins at `start`. Else
/// that can be looked at only when the tree of the session is there.
pub(crate) fn begins_here(git: &Git, start: &Oid) -> anyhow::Result<bool> {
    let Some(head) = git.resolve("HEAD")? else { return Ok(true) };
    Ok(!git::paths::changed(git, &head, start)?.iter().any(|path| is_manifest(path)))
}
