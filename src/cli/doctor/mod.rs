//! What `git cowork doctor` looks at, one file for each kind of thing. Nothing here changes anything;
//! model servers and forges are asked, each for a few seconds at most.

mod compare;
mod configuration;
mod finding;
mod models;
mod programs;
mod remote;
mod repository;
mod sandbox;
mod tools;

pub(crate) use compare::{is_confined, project_check, run as compare};
pub(crate) use finding::{Finding, State};

use crate::cli::context::Context;
use crate::git::Git;

/// Looks at everything but the project's check, in the order in which things depend on each other,
/// and tells each as soon as it is seen.
///
/// # Errors
/// Interrupted, or what was seen cannot be told.
pub(crate) fn examine(
    context: &Context,
    tell: &mut dyn FnMut(Vec<Finding>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    tell(vec![tools::git(context)])?;
    let git = match context.git() {
        Ok(git) => Some(git),
        Err(error) => {
            tell(vec![Finding::of_error("repository", &error)])?;
            None
        }
    };
    // What it warns of is looked at below.
    let configured = git.filter(|_| context.loaded_tolerantly().is_ok());
    if let Some(git) = git {
        tell(repository::look(context, git))?;
        tell(tools::of_a_person(context, git))?;
    }
    tell(configuration::look(context, git))?;
    if let Some(git) = configured {
        tell(sandbox::look(context, git))?;
        models::look(context, tell)?;
        tell(vec![models::agents(context)])?;
        tell(remote::look(context, git))?;
    }
    Ok(())
}

/// The repository, where its configuration can be read: what the project's check needs.
pub(crate) fn checkable(context: &Context) -> Option<&Git> {
    context.git().ok().filter(|_| context.loaded_tolerantly().is_ok())
}
