//! Continues a session.

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::lock::LockedSession;
use crate::cli::session_cmd::run::{self, Extent};
use crate::cli::session_cmd::workspace::with_recorder;
use crate::cli::session_cmd::{
    choose_depth, dependencies, find, from_files, models, open, preflight,
};
use crate::event::{Event, Sink as _};
use crate::git;
use crate::pipeline::{before, only_waits};
use crate::record;
use crate::session::{Session, SessionName, merged};
use crate::verify::require_readable;

/// Switches to the session and runs it.
pub(crate) fn go_on(
    context: &Context,
    name: Option<&SessionName>,
    extent: Extent,
    command: &str,
) -> Answer {
    let git = context.git()?;
    let refs = context.refs()?;
    preflight::check(git, &refs)?;
    let mode = context.mode()?;
    let name = find::session_name(context, name)?;
    let early = Session::find(git, &refs, &name).ok();
    if extent.go_back_to.is_none()
        && extent.raise.is_none()
        && let Some(session) = early.as_ref().filter(|session| session.is_completed())
        && merged(git, &refs, session)?.is_some()
    {
        context.note(format!("{name} is merged; there is nothing to do"));
        return Ok(0);
    }
    preflight::require_not_sparse(git, &name)?;
    let (held, session) =
        open::take_after(context, Some(&name), early, command, |git, session| {
            for stage in extent.stop_after.into_iter().chain(extent.go_back_to) {
                choose_depth::require_stage(session, stage, extent.raise)?;
            }
            let Some(stage) = extent.go_back_to else { return Ok(()) };
            if from_files::is_from_files(git, session, Some(stage))? {
                return Ok(());
            }
            let target = before(session, stage)?;
            open::may_leave(
                context,
                git,
                session,
                &target,
                &format!("going back to before {stage}"),
            )
        })?;
    let (session, extent) = match from_files::is_from_files(&held.git, &session, extent.go_back_to)?
    {
        true => {
            let session = from_files::settle(context, &held, session, extent.go_back_to)?;
            if extent.no_run {
                return Ok(0);
            }
            (session, Extent { go_back_to: None, ..extent })
        }
        false => (session, extent),
    };
    bring_logs(context, &held, &session)?;
    let (branch, title) = (refs.short_branch(&session.name), session.file.title.clone());
    context.ui.emit(Event::SessionStarted { branch, resumed: true, title });
    let raises = extent.raise.is_some_and(|depth| depth != session.depth());
    let asks_nobody = session.is_completed() && extent.go_back_to.is_none();
    let goes_back = extent.go_back_to.is_some();
    let models =
        if extent.no_run || asks_nobody || (only_waits(&session, mode) && !goes_back && !raises) {
            models::none()
        } else {
            if !goes_back {
                require_readable(&held.git, &session)?;
            }
            let then = format!("then: git cowork resume {}", session.name);
            dependencies::require(context, &held, &session.name, &then)?;
            models::open(context)?
        };
    run::run_session(context, &held, &models, session, extent)
}

/// Makes available the logs that the session's commits name: a clone fetches them from the remote
/// of the branch. A run does not need them, so an error is only a warning.
fn bring_logs(context: &Context, held: &LockedSession, session: &Session) -> anyhow::Result<()> {
    let branch = context.refs()?.short_branch(&session.name);
    let remote = git::remote::upstream_remote(&held.git, &branch)?;
    let brought = with_recorder(context, held, &session.name, &session.tip, |recorder| {
        record::logs::fetch(recorder, session, remote.as_deref(), context.attended())
    });
    if let Err(error) = brought {
        context.warn(format!("the logs of earlier checks were not fetched: {error:#}"));
    }
    Ok(())
}
