//! `git cowork verify`: what does not hold in the sessions git has. Looks at commits and refs, not
//! at the working tree; changes nothing without `--fix`, and never switches branches.

use std::fmt::Write as _;

use clap::Args;

use super::context::Context;
use super::restore::with_recorder;
use super::{Answer, list, run};
use crate::error::{Error, Kind};
use crate::event::{Event, Sink as _};
use crate::pipeline::verify::{Problem, Verify, stray_drafts, wrong_tags};
use crate::session::{Session, SessionName, StateDir};

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Session names [default: the branch you are on, else the newest unfinished one]
    #[arg(value_name = "SESSION", conflicts_with = "all")]
    names: Vec<SessionName>,
    /// Every session, archived ones too
    #[arg(long)]
    all: bool,
    /// Rebuild labels: tags that are missing or point elsewhere, drafts nobody can take up
    #[arg(long)]
    fix: bool,
}

pub(super) fn run(context: &Context, args: VerifyArgs) -> Answer {
    let mut unreadable = Vec::new();
    let sessions = if args.all {
        let (sessions, broken) = list::every(context, true)?;
        unreadable = broken;
        sessions
    } else if args.names.is_empty() {
        vec![context.session(None)?]
    } else {
        args.names.iter().map(|name| context.session(Some(name))).collect::<Result<_, _>>()?
    };
    let mut found = !unreadable.is_empty();
    for text in unreadable {
        context.ui.emit(Event::Warning { text: format!("not a session: {text}") });
    }
    for session in sessions {
        let mut problems = examine(context, &session)?;
        if args.fix && problems.iter().any(|problem| problem.fixable) {
            fix(context, &session)?;
            problems = examine(context, &session)?;
        }
        found |= !problems.is_empty();
        print(context, &session, &problems)?;
    }
    Ok(if found { Kind::Failed.exit_code() } else { 0 })
}

/// For `pre-push`: says what does not hold in these sessions, and nothing of those where all does.
pub(super) fn before_push(context: &Context, names: &[SessionName]) -> Answer {
    let mut found = false;
    for name in names {
        let session = context.session(Some(name))?;
        let problems = examine(context, &session)?;
        if !problems.is_empty() {
            found = true;
            print(context, &session, &problems)?;
        }
    }
    if !found {
        return Ok(0);
    }
    Err(Error::failed("a session that is pushed does not hold together")
        .hint("mend it, or let git-cowork rebuild labels: git cowork verify --fix")
        .hint("push all the same: git push --no-verify")
        .into())
}

fn examine(context: &Context, session: &Session) -> anyhow::Result<Vec<Problem>> {
    let git = context.git()?;
    let ran_here = StateDir::at(&git.state_dir(), &session.name).path().is_dir();
    Verify { git, config: context.config()?, ran_here }.session(session)
}

/// Takes wrong labels away and makes the missing ones.
fn fix(context: &Context, session: &Session) -> anyhow::Result<()> {
    let name = &session.name;
    let held = run::hold(context, name, "git cowork verify --fix")?;
    let mut gone = stray_drafts(&held.git, session)?;
    if context.config()?.project.tags {
        gone.extend(wrong_tags(&held.git, session)?);
    }
    with_recorder(context, &held, name, &session.tip, |recorder| {
        for text in recorder.set_aside(&gone)? {
            context.ui.emit(Event::Note { text });
        }
        recorder.labels(session).map(|_| ())
    })
}

fn print(context: &Context, session: &Session, problems: &[Problem]) -> anyhow::Result<()> {
    let mut out = String::new();
    if context.global.json {
        for problem in problems {
            let _ = writeln!(out, "{}", serde_json::to_string(problem)?);
        }
        return context.print(&out);
    }
    let name = &session.name;
    if problems.is_empty() {
        let commits = session.history.len();
        return context.print(&format!(
            "{name}: all is well ({commits} commits, tip {})\n",
            session.tip.short()
        ));
    }
    for problem in problems {
        let _ = writeln!(out, "{name}: {} ({})", problem.details, problem.code);
        if let Some(fix) = &problem.suggested_fix {
            let _ = writeln!(out, "    {fix}");
        }
    }
    context.print(&out)
}
