//! `git cowork resume`: on from where history says a session stands.

use clap::Args;

use super::context::Context;
use super::from_files::{is_from_files, settle};
use super::restore::with_recorder;
use super::run::{self, Extent, Held};
use super::{Answer, dependencies, new, parse_stage, start, upstream};
use crate::error::{Error, Kind};
use crate::event::{Event, Sink as _};
use crate::gate::{Mode, Tty};
use crate::git::{Git, Head, Oid};
use crate::pipeline::{Leaving, before, leave_base};
use crate::record;
use crate::session::{RefNames, Session, SessionName, merged};
use crate::stage::Stage;
use crate::verify::require_readable;

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Session name [default: the branch you are on, else the newest unfinished one]
    #[arg(value_name = "SESSION")]
    name: Option<SessionName>,
    /// First rewind to before this stage, as revert does
    #[arg(long, value_name = "STAGE", value_parser = parse_stage)]
    goto_stage: Option<Stage>,
    /// Stop after this stage
    #[arg(long, value_name = "STAGE", value_parser = parse_stage)]
    stop_after: Option<Stage>,
}

pub(super) fn run(context: &Context, args: ResumeArgs) -> Answer {
    let extent =
        Extent { stop_after: args.stop_after, go_back_to: args.goto_stage, ..Extent::default() };
    go_on(context, args.name.as_ref(), extent, "git cowork resume")
}

/// Switches to the session and runs it.
pub(super) fn go_on(
    context: &Context,
    name: Option<&SessionName>,
    extent: Extent,
    command: &str,
) -> Answer {
    let git = context.git()?;
    let refs = context.refs()?;
    new::preflight(git)?;
    let mode = context.mode()?;
    let name = context.session_name(name)?;
    if extent.go_back_to.is_none()
        && let Ok(session) = Session::find(git, &refs, &name)
        && session.is_completed()
        && merged(git, &refs, &session)?.is_some()
    {
        let text = format!("{name} is merged; there is nothing to do");
        context.ui.emit(Event::Note { text });
        return Ok(0);
    }
    let (held, session) = take_after(context, Some(&name), command, |git, session| {
        let Some(stage) = extent.go_back_to else { return Ok(()) };
        if is_from_files(git, session, Some(stage))? {
            return Ok(());
        }
        let target = before(session, stage)?;
        may_leave(context, git, session, &target, &format!("going back to before {stage}"))
    })?;
    new::require_not_sparse(git, &session.name)?;
    let (session, extent) = match is_from_files(&held.git, &session, extent.go_back_to)? {
        true => {
            let session = settle(context, &held, session, extent.go_back_to)?;
            if extent.no_run {
                return Ok(0);
            }
            (session, Extent { go_back_to: None, ..extent })
        }
        false => (session, extent),
    };
    bring_logs(context, &held, &session)?;
    context
        .ui
        .emit(Event::SessionStarted { branch: refs.short_branch(&session.name), resumed: true });
    let asks_nobody = session.is_completed() && extent.go_back_to.is_none();
    let waits = session.waiting().is_some_and(|waiting| waiting.answer.is_none());
    let goes_back = extent.go_back_to.is_some();
    let models = if extent.no_run || asks_nobody || (waits && mode == Mode::Wait && !goes_back) {
        run::no_models()
    } else {
        if !goes_back {
            require_readable(&held.git, &session)?;
        }
        let then = format!("then: git cowork resume {}", session.name);
        dependencies::require(context, &held, &session.name, &then)?;
        run::models(context)?
    };
    run::run_session(context, &held, &models, session, extent)
}

/// Makes the logs that the session's commits name readable here: in a clone they are fetched from
/// where its branch came from. Nobody needs them to go on.
fn bring_logs(context: &Context, held: &Held, session: &Session) -> anyhow::Result<()> {
    let branch = context.refs()?.short_branch(&session.name);
    let remote = held.git.upstream_remote(&branch)?;
    let brought = with_recorder(context, held, &session.name, &session.tip, |recorder| {
        record::logs::fetch(recorder, session, remote.as_deref(), context.attended)
    });
    if let Err(error) = brought {
        let text = format!("the logs of earlier checks were not fetched: {error:#}");
        context.ui.emit(Event::Warning { text });
    }
    Ok(())
}

/// Says what the session leaves behind on its way to `target`. On a terminal a person whom that
/// may surprise is asked.
///
/// # Errors
/// Interrupted, when they would rather not.
pub(super) fn may_leave(
    context: &Context,
    git: &Git,
    session: &Session,
    target: &Oid,
    what: &str,
) -> anyhow::Result<()> {
    let leaving = Leaving::of(git, &context.refs()?, session, target)?;
    leaving.say(context.ui.as_ref(), what);
    if context.mode()? != Mode::Ask || !leaving.may_surprise() {
        return Ok(());
    }
    context.ui.clear();
    if leaving.ask(git, &Tty::new(context.color))? {
        return Ok(());
    }
    Err(Error::new(Kind::Interrupted, "cancelled; nothing has moved").into())
}

/// Takes the session a command means: its lock, its branch, its history. A start that was killed
/// is finished first.
pub(super) fn take(
    context: &Context,
    name: Option<&SessionName>,
    command: &str,
) -> anyhow::Result<(Held, Session)> {
    take_after(context, name, command, |_, _| Ok(()))
}

/// As [`take`], but HEAD goes to the session's branch only after `allowed`.
pub(super) fn take_after(
    context: &Context,
    name: Option<&SessionName>,
    command: &str,
    allowed: impl FnOnce(&Git, &Session) -> anyhow::Result<()>,
) -> anyhow::Result<(Held, Session)> {
    let git = context.git()?;
    let refs = context.refs()?;
    let name = context.session_name(name)?;
    let short = refs.short_branch(&name);
    if !git.branch_exists(&short)? && !git.remote_branches(&short)?.is_empty() {
        git.track_remote(&short)?;
    }
    upstream::require_not_behind(git, &refs, &name)?;
    let unfinished = start::is_unfinished(git, &refs, &name)?;
    if !unfinished {
        // An unknown session is said before anything is locked for it.
        Session::find(git, &refs, &name)?;
    }
    let held = run::hold(context, &name, command)?;
    held.git.require_unlocked()?;
    if !unfinished {
        allowed(&held.git, &Session::find(&held.git, &refs, &name)?)?;
    }
    stand_on(&held.git, &refs, &name)?;
    leave_base(&held.git, &held.state)?;
    release_protected(&held)?;
    if unfinished && let Some(session) = start::finish(context, &held, &refs, &name)? {
        return Ok((held, session));
    }
    let session = Session::find(git, &refs, &name)?;
    Ok((held, session))
}

/// What the user has committed since is no longer protected.
fn release_protected(held: &Held) -> anyhow::Result<()> {
    let mut protected = held.state.protected()?;
    if protected.is_empty() {
        return Ok(());
    }
    let dirty: Vec<String> = held.git.status()?.into_iter().map(|entry| entry.path).collect();
    protected.retain(|entry| dirty.contains(&entry.path));
    held.state.set_protected(&protected)
}

/// Makes sure that HEAD is on the session's branch.
fn stand_on(git: &Git, refs: &RefNames, name: &SessionName) -> anyhow::Result<()> {
    match git.head()? {
        Head::Branch { name: branch, .. } if branch == refs.branch(name) => Ok(()),
        _ => git.switch(&refs.short_branch(name)),
    }
}
