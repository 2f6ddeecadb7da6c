//! Sessions whose files show completed stages that no commit records. Such a session does not run
//! until a person has decided which of these stages count as done.

use crate::cli::context::Context;
use crate::cli::session_cmd::lock::LockedSession;
use crate::cli::session_cmd::{models, run};
use crate::error::{Error, Kind};
use crate::gate::{Mode, Tty, choose};
use crate::pipeline::files_show;
use crate::session::{Session, unrecorded};
use crate::stage::Stage;

/// True if the files show completed stages that history does not record, so that `resume
/// --goto-stage STAGE` cannot rewind in history.
pub(crate) fn is_from_files(
    git: &crate::git::Git,
    session: &Session,
    goto: Option<Stage>,
) -> anyhow::Result<bool> {
    let mark = session.from_files();
    let before = goto.is_some_and(|goto| mark.is_some_and(|(last, _)| goto <= last));
    Ok(before || !unrecorded(git, session)?.is_empty())
}

/// Asks which stages count as done, unless `goto` decides it. Records the answer, and returns the
/// session with this record.
///
/// # Errors
/// Exit 5: nobody can be asked. Interrupted: the user cancelled. In both cases nothing has changed.
pub(crate) fn settle(
    context: &Context,
    held: &LockedSession,
    session: Session,
    goto: Option<Stage>,
) -> anyhow::Result<Session> {
    let (mode, name) = (context.mode()?, session.name.clone());
    let next = match goto {
        Some(stage) => Some(stage),
        None => ask(context, held, &session, mode)?,
    };
    run::with_pipeline(context, held, &models::none(), mode, session, |pipeline| {
        pipeline.take_as_done(next)
    })?;
    Session::find(&held.git, &context.refs()?, &name)
}

/// The stage to continue with; `None` if all stages are done.
fn ask(
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
