//! `git cowork restore`: restores an attempt or an archived session.

use clap::Args;

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::workspace::with_recorder;
use crate::cli::session_cmd::{find, lock, preflight, remove};
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::record;
use crate::session::{RefNames, SessionName, attempts, exists};

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Session name and number of an attempt; without a number, restores the archived session
    #[arg(value_name = "SESSION] [N", num_args = 0..=2)]
    words: Vec<String>,
}

pub(crate) fn run(context: &Context, args: &RestoreArgs) -> Answer {
    let (name, number) = parse(&args.words)?;
    let git = context.git()?;
    let refs = context.refs()?;
    preflight::check(git, &refs)?;
    let Some(number) = number else {
        let Some(name) = name.or_else(|| context.global.session.clone()) else {
            return Err(Error::usage("which session should be restored from the archive?")
                .hint("list archived sessions: git cowork list --all")
                .hint("or restore an attempt: git cowork restore SESSION N")
                .into());
        };
        return unarchive(context, &name);
    };
    let name = match name {
        Some(name) => name,
        None => find::session_name(context, None)?,
    };
    let all = attempts(git, Some(&name))?;
    match all.into_iter().find(|attempt| attempt.number == number) {
        Some(attempt) => remove::restore_attempt(context, &refs, &attempt),
        None => Err(Error::repository(format!("'{name}' has no attempt {number}"))
            .hint(format!("list them: git cowork log {name}"))
            .into()),
    }
}

/// Parses `todo 2`, `todo` or `2`. A single number is an attempt, never a session name.
fn parse(words: &[String]) -> anyhow::Result<(Option<SessionName>, Option<u32>)> {
    let number = |word: &str| {
        let wrong = || {
            Error::usage(format!("'{word}' is not an attempt's number"))
                .hint("list the attempts of a session: git cowork log")
        };
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

fn unarchive(context: &Context, name: &SessionName) -> Answer {
    let git = context.git()?;
    let refs = context.refs()?;
    context.ui.set_session(name);
    let Some(tip) = git.resolve(RefNames::archive(name).as_str())? else {
        let mut error = Error::repository(format!("'{name}' is not in the archive"));
        if let Some(newest) = attempts(git, Some(name))?.last() {
            error = error.hint(format!(
                "restore its attempt {}: git cowork restore {name} {}",
                newest.ref_name(),
                newest.number
            ));
        }
        return Err(error.hint("list the sessions: git cowork list --all").into());
    };
    // If an earlier restore was killed, the branch already exists and points to the same commit
    // as the archive.
    let branch = git.resolve(refs.branch(name).as_str())?;
    if branch.as_ref() != Some(&tip) && exists(git, &refs, name)? {
        return Err(Error::repository(format!(
            "branch {} already exists",
            refs.short_branch(name)
        ))
        .hint("delete or rename that branch")
        .into());
    }
    let held = lock::hold(context, name, "git cowork restore")?;
    with_recorder(context, &held, name, &tip, |recorder| {
        record::archive::unarchive(recorder, &tip)
    })?;
    let text = format!("{name} is restored from the archive");
    context.ui.emit(Event::Note { text });
    remove::say_next(context, name);
    Ok(0)
}
