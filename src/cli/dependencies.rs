//! What the project lacks, before a run asks a model anything.

use super::context::Context;
use super::run::{self, Held};
use crate::error::{Error, Kind};
use crate::interrupt;
use crate::session::SessionName;
use crate::shell_quote::quoted;
use crate::workspace::undecided;

/// Fetches what the projects of the working tree lack, where that is allowed, so that checks can run
/// before the first request. `then` is what a person does when they have fetched it themselves.
///
/// # Errors
/// Exit 5 where something is missing and nobody is there to be asked; interrupted.
pub(super) fn require(
    context: &Context,
    held: &Held,
    name: &SessionName,
    then: &str,
) -> anyhow::Result<()> {
    if context.without_commands {
        return Ok(());
    }
    let workspace = run::workspace(context, held, name)?;
    let missing = run::runtime()?.block_on(async {
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
pub(super) fn resume_in(
    context: &Context,
    held: &Held,
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
