//! `git cowork doctor`: checks everything that sessions need, and prints how to fix problems.

use clap::Args;

use crate::cli::args::Answer;
use crate::cli::commands::man;
use crate::cli::context::Context;
use crate::cli::doctor::{self, Finding, State};
use crate::cli::terminal::paint::Paint;
use crate::error::Kind;
use crate::event::{Event, Sink as _};
use crate::gate::{Tty, confirm};
use crate::git::Git;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Run the project's tests inside the sandbox, then outside of it with your own permissions,
    /// and compare the results
    #[arg(long)]
    compare: bool,
}

pub(crate) fn run(context: &Context, args: &DoctorArgs) -> Answer {
    let mut findings = Vec::new();
    doctor::examine(context, &mut |seen| {
        show(context, &seen)?;
        findings.extend(seen);
        Ok(())
    })?;
    if let Some(git) = doctor::checkable(context)
        && let Some(finding) = compare(context, git, args.compare)?
    {
        show(context, std::slice::from_ref(&finding))?;
        findings.push(finding);
    }
    let of = |state| findings.iter().filter(|finding| finding.state == state).count();
    let (problems, warnings) = (of(State::Problem), of(State::Warning));
    if !context.global.json {
        let text = summary(problems, warnings);
        context.ui.emit(Event::Note { text });
        man::suggest(context);
    }
    Ok(if problems == 0 { 0 } else { Kind::Model.exit_code() })
}

fn summary(problems: usize, warnings: usize) -> String {
    let count = |number: usize, what: &str| match number {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    };
    match (problems, warnings) {
        (0, 0) => "everything is ready: git cowork new \"what you want built\"".to_owned(),
        (0, warnings) => format!("ready, with {}", count(warnings, "warning")),
        (problems, 0) => count(problems, "problem"),
        (problems, warnings) => {
            format!("{} and {}", count(problems, "problem"), count(warnings, "warning"))
        }
    }
}

fn show(context: &Context, findings: &[Finding]) -> anyhow::Result<()> {
    if context.global.json {
        return context.print(
            &findings.iter().map(|finding| format!("{}\n", finding.json())).collect::<String>(),
        );
    }
    let width = context.width();
    let paint = Paint { on: context.color_stdout() };
    let quiet = |finding: &&Finding| !context.global.quiet || finding.state != State::Ok;
    let lines = findings.iter().filter(quiet).map(|finding| finding.lines(width, &paint));
    context.print(&lines.collect::<String>())
}

/// Runs the project's check inside and outside the sandbox, with `--compare` or if the user agrees.
fn compare(context: &Context, git: &Git, asked: bool) -> anyhow::Result<Option<Finding>> {
    if !asked && (!context.attended() || context.global.json || context.global.quiet) {
        return Ok(None);
    }
    if !doctor::is_confined(context, git)? {
        let none = Finding::warning("check", "commands are not sandboxed here: nothing to compare")
            .fix("git cowork config sandbox");
        return Ok(asked.then_some(none));
    }
    let Some(command) = doctor::project_check(context, git)? else {
        let none = Finding::warning("check", "no test, build or lint command is known here")
            .fix("git config cowork.project.test 'make test'");
        return Ok(asked.then_some(none));
    };
    if !asked {
        context.ui.clear();
        let question = format!(
            "run {command} in the sandbox, then with your permissions, and compare? (both in a \
             copy of the working tree)"
        );
        if !confirm(&Tty::new(context.color), &question)? {
            return Ok(None);
        }
    }
    doctor::compare(context, git, &command).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_with_their_nouns() {
        assert!(summary(0, 0).contains("git cowork new"));
        assert_eq!(summary(0, 1), "ready, with 1 warning");
        assert_eq!(summary(2, 0), "2 problems");
        assert_eq!(summary(1, 3), "1 problem and 3 warnings");
    }
}
