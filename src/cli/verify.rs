//! `git cowork verify`: what does not hold in the sessions git has. Looks at commits and refs, not
//! at the working tree; changes nothing without `--fix`, and never switches branches.

use std::fmt::Write as _;

use clap::Args;

use super::context::Context;
use super::restore::with_recorder;
use super::{Answer, list, run};
use crate::error::{Error, Kind};
use crate::event::{Event, Sink as _};
use crate::git::Head;
use crate::pipeline::verify::{Problem, Verify, renumber_collisions, stray_drafts, wrong_tags};
use crate::session::{RefNames, Session, SessionName, StateDir, delivered_here};
use crate::ui::sanitize;

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Session names [default: the branch you are on, else the newest unfinished one]
    #[arg(value_name = "SESSION", conflicts_with = "all")]
    names: Vec<SessionName>,
    /// Every session, archived ones too
    #[arg(long)]
    all: bool,
    /// Renumber ids that collided in a merge; rebuild labels: tags that are missing or point
    /// elsewhere, drafts nobody can take up
    #[arg(long)]
    fix: bool,
}

pub(super) fn run(context: &Context, args: VerifyArgs) -> Answer {
    let mut unreadable = Vec::new();
    let merged = if args.all { Vec::new() } else { merged(context, &args.names)? };
    let sessions = if !merged.is_empty() {
        merged
    } else if args.all {
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
        let mut session = session;
        if args.fix && problems.iter().any(|problem| problem.fixable) {
            session = fix(context, session, &problems)?;
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
        let mut problems = examine(context, &session)?;
        // Labels are of this repository only: what is pushed is the same without them.
        problems.retain(|problem| !problem.is_label());
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
    let refs = context.refs()?;
    let verify = Verify { git, refs: &refs, config: context.config()?, ran_here };
    let elsewhere = is_elsewhere(context, session)?;
    if elsewhere { verify.merged(session) } else { verify.session(session) }
}

/// True for a session that was read from what it was merged into.
fn is_elsewhere(context: &Context, session: &Session) -> anyhow::Result<bool> {
    let (git, refs) = (context.git()?, context.refs()?);
    let branches = git.remote_branches(&refs.short_branch(&session.name))?;
    let places = [refs.branch(&session.name), RefNames::archive(&session.name)];
    for place in places.iter().chain(&branches) {
        if git.resolve(place.as_str())?.as_ref() == Some(&session.tip) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The sessions in HEAD's tree that are meant: on a branch that is no session's, all of them; by
/// name, those that have no branch any more.
fn merged(context: &Context, names: &[SessionName]) -> anyhow::Result<Vec<Session>> {
    let (git, refs) = (context.git()?, context.refs()?);
    if names.is_empty() && context.global.session.is_none() {
        let on_session = match git.head()? {
            Head::Branch { name, .. } => refs.session_of(name.as_str()).is_some(),
            _ => false,
        };
        return if on_session { Ok(Vec::new()) } else { delivered_here(git) };
    }
    let mut gone = delivered_here(git)?;
    gone.retain(|session| names.contains(&session.name));
    for session in std::mem::take(&mut gone) {
        let branch = refs.short_branch(&session.name);
        if !git.branch_exists(&branch)? && git.remote_branches(&branch)?.is_empty() {
            gone.push(session);
        }
    }
    // Named sessions with a branch are looked at there, all of them.
    Ok(if gone.len() == names.len() { gone } else { Vec::new() })
}

/// Takes wrong labels away and makes the missing ones; renumbers ids that collided in a merge. The
/// session as it is then.
fn fix(context: &Context, session: Session, problems: &[Problem]) -> anyhow::Result<Session> {
    let name = &session.name;
    let held = run::hold(context, name, "git cowork verify --fix")?;
    if problems.iter().any(|problem| problem.code == "duplicate-id" && problem.fixable) {
        with_recorder(context, &held, name, &session.tip, |recorder| {
            for text in renumber_collisions(&held.git, &session, recorder)? {
                context.ui.emit(Event::Note { text });
            }
            Ok(())
        })?;
        let tip = held.git.head()?.oid().cloned().unwrap_or_else(|| session.tip.clone());
        return Session::load(&held.git, name, &tip);
    }
    let mut gone = stray_drafts(&held.git, &session)?;
    if context.config()?.project.tags {
        gone.extend(wrong_tags(&held.git, &session)?);
    }
    with_recorder(context, &held, name, &session.tip, |recorder| {
        for text in recorder.set_aside(&gone)? {
            context.ui.emit(Event::Note { text });
        }
        recorder.labels(&session).map(|_| ())
    })?;
    Ok(session)
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
        let details = sanitize(&problem.details).replace('\n', "\n    ");
        let _ = writeln!(out, "{name}: {details} ({})", problem.code);
        if let Some(fix) = &problem.suggested_fix {
            let _ = writeln!(out, "    {}", sanitize(fix).replace('\n', "\n    "));
        }
    }
    context.print(&out)
}
