//! `git cowork restore` and `git cowork undo`: what a session left behind comes back.

use clap::Args;

use super::context::Context;
use super::run::{self, Held};
use super::{Answer, new, resume};
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::gate::Mode;
use crate::git::Oid;
use crate::record::{self, Recorder, Scope};
use crate::session::{Attempt, RefNames, Session, SessionName, attempts, exists};

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Session name and number of the attempt; without a number, the archived session
    #[arg(value_name = "SESSION] [N", num_args = 0..=2)]
    words: Vec<String>,
}

pub(super) fn run(context: &Context, args: &RestoreArgs) -> Answer {
    let (name, number) = parse(&args.words)?;
    let git = context.git()?;
    let refs = context.refs()?;
    new::preflight(git)?;
    let Some(number) = number else {
        let Some(name) = name.or_else(|| context.global.session.clone()) else {
            return Err(Error::usage("which session is to come out of the archive?")
                .hint("git cowork list --all shows them; or name an attempt: git cowork restore SESSION N")
                .into());
        };
        return unarchive(context, &name);
    };
    let name = match name {
        Some(name) => name,
        None => context.session_name(None)?,
    };
    let all = attempts(git, Some(&name))?;
    match all.into_iter().find(|attempt| attempt.number == number) {
        Some(attempt) => restore(context, &refs, &attempt),
        None => Err(Error::repository(format!("'{name}' has no attempt {number}"))
            .hint(format!("git cowork log {name} lists them"))
            .into()),
    }
}

/// `git cowork undo`
pub(super) fn undo(context: &Context) -> Answer {
    let git = context.git()?;
    let refs = context.refs()?;
    new::preflight(git)?;
    let here = git.head()?.branch().and_then(|branch| refs.session_of(branch.as_str()));
    let name = context.global.session.clone().or(here);
    let all = attempts(git, name.as_ref())?;
    match all.iter().rfind(|attempt| attempt.can_be_undone()) {
        Some(attempt) => restore(context, &refs, attempt),
        None => {
            let whose = name.map_or_else(|| "here".to_owned(), |name| format!("in '{name}'"));
            Err(Error::repository(format!("there is nothing to undo {whose}"))
                .hint("it undoes the last revert, goto, restore, abort or delete")
                .into())
        }
    }
}

/// `todo 2`, `todo`, `2`: a session name may not look like a number and stand alone.
fn parse(words: &[String]) -> anyhow::Result<(Option<SessionName>, Option<u32>)> {
    let number = |word: &str| {
        let wrong = || Error::usage(format!("'{word}' is no attempt's number"));
        word.parse::<u32>().ok().filter(|number| *number > 0).ok_or_else(wrong)
    };
    Ok(match words {
        [] => (None, None),
        [word] => match number(word) {
            Ok(number) => (None, Some(number)),
            Err(_) => (Some(word.parse()?), None),
        },
        [name, word, ..] => (Some(name.parse()?), Some(number(word)?)),
    })
}

fn restore(context: &Context, refs: &RefNames, attempt: &Attempt) -> Answer {
    let name = &attempt.session;
    context.ui.set_session(name);
    let deleted = !exists(context.git()?, refs, name)?;
    if deleted {
        bring_branch_back(context, refs, attempt)?;
    }
    let command = "git cowork restore";
    let (held, session) = resume::take_after(context, Some(name), command, |git, session| {
        if deleted {
            return Ok(());
        }
        let what = format!("bringing attempt {} back", attempt.number);
        resume::may_leave(context, git, session, &attempt.tip, &what)
    })?;
    let models = run::no_models();
    run::with_pipeline(context, &held, &models, Mode::Wait, session, |pipeline| {
        pipeline.restore(attempt)
    })?;
    say_next(context, name);
    Ok(0)
}

/// The branch of a deleted session, where the attempt left it.
fn bring_branch_back(context: &Context, refs: &RefNames, attempt: &Attempt) -> anyhow::Result<()> {
    let git = context.git()?;
    let _held = run::hold(context, &attempt.session, "git cowork restore")?;
    git.switch_new(&refs.short_branch(&attempt.session), &attempt.tip)
}

fn unarchive(context: &Context, name: &SessionName) -> Answer {
    let git = context.git()?;
    let refs = context.refs()?;
    context.ui.set_session(name);
    let Some(tip) = git.resolve(RefNames::archive(name).as_str())? else {
        let mut error = Error::repository(format!("'{name}' is not in the archive"));
        if let Some(newest) = attempts(git, Some(name))?.last() {
            error = error.hint(format!(
                "it left {} behind: git cowork restore {name} {}",
                newest.ref_name(),
                newest.number
            ));
        }
        return Err(error.hint("git cowork list --all shows what there is").into());
    };
    if exists(git, &refs, name)? {
        return Err(Error::repository(format!(
            "there is a branch {} already",
            refs.short_branch(name)
        ))
        .hint("delete or rename one of the two")
        .into());
    }
    let held = run::hold(context, name, "git cowork restore")?;
    with_recorder(context, &held, name, &tip, |recorder| {
        record::archive::unarchive(recorder, &tip)
    })?;
    let text = format!("{name} is out of the archive");
    context.ui.emit(Event::Note { text });
    say_next(context, name);
    Ok(0)
}

/// Calls `with` with a recorder for a session that no run is to touch.
pub(super) fn with_recorder<T>(
    context: &Context,
    held: &Held,
    name: &SessionName,
    tip: &Oid,
    with: impl FnOnce(&Recorder<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    recorder_of(context, held, &Session::load(&held.git, name, tip)?, with)
}

/// The same for a session that was read already.
pub(super) fn recorder_of<T>(
    context: &Context,
    held: &Held,
    session: &Session,
    with: impl FnOnce(&Recorder<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let name = &session.name;
    let refs = context.refs()?;
    let workspace = run::workspace(context, held, name)?;
    with(&Recorder {
        git: &held.git,
        refs: &refs,
        project: &context.config()?.project,
        state: &held.state,
        workspace: &workspace,
        name,
        id: &session.file.id,
        scope: Scope::Code,
    })
}

fn say_next(context: &Context, name: &SessionName) {
    let text = format!("continue: git cowork resume {name}");
    context.ui.emit(Event::Note { text });
}
