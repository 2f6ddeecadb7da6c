//! `git cowork feedback`: returns a delivered session to coding to address reviewers' comments.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::run::{self, Extent};
use crate::cli::session_cmd::{delivered, dependencies, find, models, open, preflight, text_input};
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::session::{SessionName, merged_into};
use crate::verify::require_readable;

#[derive(Debug, Args)]
pub(crate) struct FeedbackArgs {
    /// The reviewers' comments [default: standard input, if piped]
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
    /// Read the comments from a file, or from standard input with -
    #[arg(short = 'F', long, value_name = "FILE|-", conflicts_with = "text")]
    file: Option<PathBuf>,
}

pub(crate) fn run(context: &Context, args: &FeedbackArgs) -> Answer {
    let git = context.git()?;
    let refs = context.refs()?;
    preflight::check(git, &refs)?;
    context.mode()?;
    // Reads standard input if it is piped, as in `gh pr view --comments | git cowork feedback`.
    let piped = args.file.is_none() && args.text.is_empty() && !std::io::stdin().is_terminal();
    let file = if piped { Some(Path::new("-")) } else { args.file.as_deref() };
    // Check that the session can take comments before locking it and switching to its branch.
    let name = delivered::name(context, None)?;
    let session = find::session(context, Some(&name))?;
    let name = &session.name;
    if !session.is_completed() {
        let mut error = Error::repository(format!("'{name}' is not delivered yet"));
        error = match session.waiting() {
            Some(_) => error.hint("review the waiting draft: git cowork review --feedback TEXT"),
            None => error.hint(format!("continue it: git cowork resume {name}")),
        };
        return Err(error.into());
    }
    if let Some((branch, _)) = merged_into(git, &refs, &session)? {
        return Err(Error::repository(format!("'{name}' is already merged into {branch}"))
            .hint("after a merge, start a change request: git cowork modify \"…\"")
            .into());
    }
    let writes = text_input::opens_editor(context, &args.text, file);
    let comments = text_input::text(context, &args.text, file, "feedback")?;
    let answered = answer(context, name, &comments);
    text_input::keeping(context, writes, ("feedback", "git cowork feedback"), answered)
}

/// Takes these comments on a delivered session and runs it.
fn answer(context: &Context, name: &SessionName, comments: &str) -> Answer {
    let (held, session) = open::take(context, Some(name), "git cowork feedback")?;
    require_readable(&held.git, &session)?;
    dependencies::require(context, &held, name, "then run the same command again")?;
    let models = models::open(context)?;
    let (branch, title) = (context.refs()?.short_branch(&session.name), session.file.title.clone());
    context.ui.emit(Event::SessionStarted { branch, resumed: true, title });
    text_input::sent(&held.git, "feedback", comments);
    let extent = Extent { comments: Some(comments.to_owned()), ..Extent::default() };
    run::run_session(context, &held, &models, session, extent)
}
