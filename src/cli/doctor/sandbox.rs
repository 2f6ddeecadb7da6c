//! Checks at which level commands are confined here, and reports the limits of that level.

use super::finding::Finding;
use crate::cli::context::Context;
use crate::cli::session_cmd::confinement;
use crate::git::Git;
use crate::workspace::{Found, Level};

/// Finds the level in force by confining a command that does nothing.
pub(super) fn look(context: &Context, git: &Git) -> Vec<Finding> {
    match seen(context, git) {
        Ok(findings) => findings,
        Err(error) => vec![Finding::of_error("sandbox", &error)],
    }
}

fn seen(context: &Context, git: &Git) -> anyhow::Result<Vec<Finding>> {
    let config = context.config()?;
    let found = confinement::found(context, git)?;
    let level = found.as_ref().map(|found| found.level);
    let mut findings = vec![match found {
        None => {
            let own = config.sandbox.command_prefix.join(" ");
            Finding::ok("sandbox", format!("your own (sandbox.command_prefix): {own}"))
        }
        Some(found) if found.level == Level::None => none(&found, config.sandbox.unconfined),
        Some(mut found) => {
            // The remedy is taken out of the description and shown as a fix on its own line.
            let remedy = found.weaker.as_mut().map(|weaker| std::mem::take(&mut weaker.remedy));
            let text =
                format!("commands are confined {}", confinement::described(context, &found)?);
            match (found.level, remedy.filter(|remedy| !remedy.is_empty())) {
                (Level::Landlock, Some(remedy)) => Finding::warning("sandbox", text).fix(remedy),
                (Level::Landlock, None) => Finding::warning("sandbox", text)
                    .fix("let this user create user namespaces; to test that: unshare --user --map-root-user true"),
                _ => Finding::ok("sandbox", text),
            }
        }
    }];
    if !config.project.private.is_empty() && !level.is_some_and(Level::has_mounts) {
        let text = "project.private is set, and this sandbox cannot hide files from commands: \
                    sessions do not start";
        findings.push(Finding::problem("sandbox", text).fix(
            "move the private files out of this tree, and remove their globs from project.private",
        ));
    }
    Ok(findings)
}

fn none(found: &Found, unconfined: bool) -> Finding {
    let cause = found.weaker.as_ref().map_or("", |weaker| weaker.cause.as_str());
    let remedy = found.weaker.as_ref().map(|weaker| weaker.remedy.clone());
    let finding = match unconfined {
        true => Finding::warning(
            "sandbox",
            format!("commands run unconfined (sandbox.unconfined): {cause}"),
        ),
        false => Finding::problem(
            "sandbox",
            format!(
                "commands cannot be confined here: {cause}. On a terminal you are asked about \
                 each; without a terminal they are refused"
            ),
        ),
    };
    let finding = finding.fixed_by(remedy);
    match unconfined {
        true => finding
            .fix("to be asked about each command: git config cowork.sandbox.unconfined false"),
        false => finding
            .fix("to use a program that confines them: git config cowork.sandbox.commandprefix 'PROGRAM'")
            .fix("to run them unconfined, if nothing here needs protection: git config cowork.sandbox.unconfined true"),
    }
}
