//! Continues a session; first, if its files show completed stages that no commit records, asks which
//! of these stages count as done.

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::lock::LockedSession;
use crate::cli::session_cmd::run::{self, Extent};
use crate::cli::session_cmd::workspace::with_recorder;
use crate::cli::session_cmd::{choose_depth, dependencies, find, models, open, preflight};
use crate::error::{Error, Kind};
use crate::event::{Event, Sink as _};
use crate::gate::{Mode, Tty, choose};
use crate::pipeline::{before, files_show, only_waits};
use crate::session::{Session, SessionName, merged, unrecorded};
use crate::stage::Stage;
use crate::verify::require_readable;
use crate::{git, record};

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
            if is_from_files(git, session, Some(stage))? {
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

/// True if the files show completed stages that history does not record, so that `resume
/// --goto-stage STAGE` cannot rewind in history.
fn is_from_files(git: &git::Git, session: &Session, goto: Option<Stage>) -> anyhow::Result<bool> {
    let mark = session.from_files();
    let before = goto.is_some_and(|goto| mark.is_some_and(|(last, _)| goto <= last));
    Ok(before || !unrecorded(git, session)?.is_empty())
}

/// Asks which stages count as done, unless `goto` decides it. Records the answer, and returns the
/// session with this record.
///
/// # Errors
/// Exit 5: nobody can be asked. Interrupted: the user cancelled. In both cases nothing has changed.
fn settle(
    context: &Context,
    held: &LockedSession,
    session: Session,
    goto: Option<Stage>,
) -> anyhow::Result<Session> {
    let (mode, name) = (context.mode()?, session.name.clone());
    let next = match goto {
        Some(stage) => Some(stage),
        None => ask_stage(context, held, &session, mode)?,
    };
    run::with_pipeline(context, held, &models::none(), mode, session, |pipeline| {
        pipeline.take_as_done(next)
    })?;
    Session::find(&held.git, &context.refs()?, &name)
}

/// The stage to continue with; `None` if all stages are done.
fn ask_stage(
    context: &Context,
    held: &LockedSession,
    session: &Session,
    mode: Mode,
) -> anyhow::Result<Option<Stage>> {
    let (name, order) = (&session.name, session.order());
    let done_stages = unrecorded(&held.git, session)?;
    let stop = files_show(session, &done_stages);
    if mode != Mode::Ask {
        let mut error = Error::repository(format!("'{name}': {}; nothing was changed", stop.why));
        error = error.hint(format!("mark these as done: {}", stop.next));
        error = stop.other.into_iter().fold(error, Error::hint);
        return Err(error.into());
    }
    context.ui.clear();
    let stages = order.iter().take(done_stages.len() + 1).copied().map(Some);
    let ways: Vec<String> = stages
        .chain([None])
        .take(done_stages.len() + 1)
        .enumerate()
        .map(|(at, stage)| match stage {
            Some(stage) if Some(&stage) == order.first() => format!("{stage}: start over"),
            Some(stage) if at == done_stages.len() => format!("{stage}: mark all of these as done"),
            Some(stage) => format!("{stage}: mark those before it as done"),
            None => "mark all of these as done".to_owned(),
        })
        .collect();
    let ways = ways.iter().enumerate().map(|(at, way)| (Some(at), way.as_str()));
    let choices: Vec<_> = ways.chain([(None, "cancel: nothing is changed")]).collect();
    let prompt = format!(
        "{name}: {}. Continue with which stage? A commit removes the files of that stage and of \
         later ones from the tree; history keeps them.",
        stop.why
    );
    let cancel = || Error::new(Kind::Interrupted, "cancelled; nothing was changed");
    let answer = choose(&Tty::new(context.color), &prompt, &choices, None)?;
    Ok(order.get(answer.flatten().ok_or_else(cancel)?).copied())
}
