//! The checks of `git cowork doctor`, one file for each kind. They change nothing, and wait only a
//! few seconds for model servers and forges.

mod compare;
mod configuration;
mod finding;
mod models;
mod project;
mod remote;
mod repository;
mod sandbox;
mod tools;

pub(crate) use compare::{is_confined, project_check, run as compare};
pub(crate) use finding::{Finding, State};

use crate::cli::context::Context;
use crate::git::Git;

/// Runs all checks except the project's own, in the order in which they depend on each other, and
/// passes each result to `tell` at once.
///
/// # Errors
/// Interrupted, or `tell` failed.
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
    // If the configuration cannot be read, `configuration::look` below reports why.
    let configured = git.filter(|_| context.loaded_tolerantly().is_ok());
    if let Some(git) = git {
        tell(repository::look(context, git))?;
        tell(tools::of_a_person(context, git))?;
        tell(project::look(context, git))?;
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

/// The repository for the project's check; `None` if its configuration cannot be read.
pub(crate) fn checkable(context: &Context) -> Option<&Git> {
    context.git().ok().filter(|_| context.loaded_tolerantly().is_ok())
}
