//! Restoring an attempt, for `restore` and `undo`.

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::{lock, models, open, run};
use crate::gate::Mode;
use crate::git;
use crate::session::{Attempt, RefNames, SessionName, exists};

/// Restores an attempt, even of a deleted session.
pub(crate) fn attempt(context: &Context, refs: &RefNames, attempt: &Attempt) -> Answer {
    let name = &attempt.session;
    context.ui.set_session(name);
    let deleted = !exists(context.git()?, refs, name)?;
    if deleted {
        restore_branch(context, refs, attempt)?;
    }
    let command = "git cowork restore";
    let (held, session) = open::take_after(context, Some(name), command, |git, session| {
        if deleted {
            return Ok(());
        }
        let what = format!("restoring attempt {}", attempt.number);
        open::may_leave(context, git, session, &attempt.tip, &what)
    })?;
    let models = models::none();
    run::with_pipeline(context, &held, &models, Mode::Wait, session, |pipeline| {
        pipeline.restore(attempt)
    })?;
    say_next(context, name);
    Ok(0)
}

/// Creates the branch of a deleted session again, at the attempt's tip.
fn restore_branch(context: &Context, refs: &RefNames, attempt: &Attempt) -> anyhow::Result<()> {
    let git = context.git()?;
    let _held = lock::hold(context, &attempt.session, "git cowork restore")?;
    git::switch::to_new(git, &refs.short_branch(&attempt.session), &attempt.tip)
}

/// Prints the command that continues the session.
pub(crate) fn say_next(context: &Context, name: &SessionName) {
    context.note(format!("continue: git cowork resume {name}"));
}
