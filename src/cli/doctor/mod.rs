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

pub(crate) use compare::{project_check, run as compare};
pub(crate) use finding::{Finding, State};

use crate::cli::context::Context;
use crate::git::Git;

/// Looks at everything but the project's check, in the order in which things depend on each other.
///
/// # Errors
/// Interrupted.
pub(crate) fn examine(context: &Context) -> anyhow::Result<Vec<Finding>> {
    let mut findings = tools::git(context);
    let git = match context.git() {
        Ok(git) => Some(git),
        Err(error) => {
            findings.push(Finding::of_error("repository", &error));
            None
        }
    };
    if let Some(git) = git {
        findings.extend(repository::look(context, git));
        findings.extend(tools::of_a_person(context, git));
    }
    findings.extend(configuration::look(context, git));
    if let Some(git) = git.filter(|_| context.config().is_ok()) {
        findings.extend(sandbox::look(context, git));
        findings.extend(models::look(context)?);
        findings.push(models::agents(context));
        findings.extend(remote::look(context, git));
    }
    Ok(findings)
}

/// The repository, where its configuration can be read: what the project's check needs.
pub(crate) fn checkable(context: &Context) -> Option<&Git> {
    context.git().ok().filter(|_| context.config().is_ok())
}
