//! Fetches the project's missing dependencies before a run makes its first request to a model.

use crate::cli::context::Context;
use crate::cli::session_cmd::asking::unless_interrupted;
use crate::cli::session_cmd::lock::LockedSession;
use crate::cli::session_cmd::workspace;
use crate::cli::terminal::runtime;
use crate::error::{Error, Kind};
use crate::git::{self, Git, Oid};
use crate::interrupt;
use crate::session::SessionName;
use crate::shell_quote::quoted;
use crate::workspace::{is_manifest, undecided};

/// Fetches the missing dependencies of the projects in the working tree, if that is allowed, so
/// that checks can run before the first request. `then` is a hint for a user who fetches them by
/// hand.
///
/// # Errors
/// Exit 5: a dependency is missing and nobody can be asked. Interrupted by the user.
pub(crate) fn require(
    context: &Context,
    held: &LockedSession,
    name: &SessionName,
    then: &str,
) -> anyhow::Result<()> {
    let workspace = workspace::open(context, held, name)?;
    workspace.commands().require_private_kept()?;
    let looking = unless_interrupted(context, None, workspace.missing_dependencies());
    let missing = runtime::current_thread()?.block_on(looking);
    if interrupt::is_requested() {
        let message = "interrupted before the first request";
        return Err(Error::new(Kind::Interrupted, message).hint(then).into());
    }
    match undecided(&missing??) {
        Some(error) => Err(error.hint(then).into()),
        None => Ok(()),
    }
}

/// The hint with the command that continues a session, which may be in another working tree than
/// the current one.
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

/// The hint for a user who fetches dependencies by hand before the session exists.
pub(crate) const AGAIN: &str = "then run the same command again; nothing was changed";

/// True if the working tree has the same manifests as `start`, where the session starts. If not,
/// the session's dependencies can be checked only once its tree is checked out.
pub(crate) fn begins_here(git: &Git, start: &Oid) -> anyhow::Result<bool> {
    let Some(head) = git.resolve("HEAD")? else { return Ok(true) };
    Ok(!git::paths::changed(git, &head, start)?.iter().any(|path| is_manifest(path)))
}
