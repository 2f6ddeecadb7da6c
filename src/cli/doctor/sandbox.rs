//! How commands are confined here, and what that level cannot hold.

use super::finding::Finding;
use crate::cli::context::Context;
use crate::cli::session_cmd::confinement;
use crate::git::Git;
use crate::workspace::{Found, Level};

/// The level in force, found by confining a command that does nothing.
pub(super) fn look(context: &Context, git: &Git) -> Vec<Finding> {
    let found = confinement::found(context, git)
        .and_then(|found| Ok((found, confinement::in_force(context, git)?, context.config()?)));
    let (found, text, config) = match found {
        Ok(found) => found,
        Err(error) => return vec![Finding::of_error("sandbox", &error)],
    };
    let level = found.as_ref().map(|found| found.level);
    let mut findings = vec![match &found {
        None => Finding::ok("sandbox", format!("yours: {text}")),
        Some(found) if found.level == Level::None => none(found, config.sandbox.unconfined),
        Some(found) if found.level == Level::Landlock => {
            Finding::warning("sandbox", format!("commands are confined {text}"))
        }
        Some(_) => Finding::ok("sandbox", format!("commands are confined {text}")),
    }];
    if !config.project.private.is_empty() && level != Some(Level::Namespaces) {
        let text = "project.private is set, and this sandbox cannot keep files from commands: \
                    sessions do not start";
        findings.push(Finding::problem("sandbox", text).fix(
            "take the private files out of this tree, and their globs out of project.private",
        ));
    }
    findings
}

fn none(found: &Found, unconfined: bool) -> Finding {
    let cause = found.weaker.as_ref().map_or("", |weaker| weaker.cause.as_str());
    let remedy = found.weaker.as_ref().map(|weaker| weaker.remedy.clone());
    let finding = match unconfined {
        true => Finding::warning(
            "sandbox",
            format!("commands run unconfined, as sandbox.unconfined says: {cause}"),
        ),
        false => Finding::problem(
            "sandbox",
            format!(
                "commands cannot be confined here: {cause}. Each is asked about on a terminal, and \
                 refused without one"
            ),
        ),
    };
    let finding = finding.fixed_by(remedy);
    match unconfined {
        true => finding,
        false => finding
            .fix("git config cowork.sandbox.commandprefix 'PROGRAM,THAT,CONFINES'")
            .fix("or in a machine that holds nothing of value: git config cowork.sandbox.unconfined true"),
    }
}
