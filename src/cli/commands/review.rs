//! `git cowork review`: records the answer to a waiting draft as one commit, and runs nothing.

use clap::Args;

use crate::cli::args::{Answer, SessionArg, parse_stage};
use crate::cli::context::Context;
use crate::cli::session_cmd::lock::LockedSession;
use crate::cli::session_cmd::{after_draft, models, open, preflight, run, text_input};
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::gate::Mode;
use crate::git::{self, Git, Head};
use crate::pipeline::{Answer as Review, require_completed, require_waiting};
use crate::session::{Session, SessionName};
use crate::stage::Stage;

/// The most drafts that one answer allows.
const MOST_DRAFTS: i64 = 100;

/// The options that answer a draft, of which one is given.
const ANSWERS: [&str; 6] = ["pass", "edit", "feedback", "more", "goto", "abort"];

#[derive(Debug, Default, Args)]
#[command(group(clap::ArgGroup::new("answer").args(ANSWERS)))]
pub(crate) struct ReviewArgs {
    /// Session name [default: the branch you are on, or the newest unfinished session]
    #[arg(value_name = "SESSION")]
    name: Option<SessionName>,
    /// Stage whose draft is reviewed [default: the one that waits]; with --pass, it can
    /// also be a completed stage: its current content is then approved
    #[arg(long, value_name = "STAGE", value_parser = parse_stage)]
    stage: Option<Stage>,
    /// Pass the draft as it is
    #[arg(long)]
    pass: bool,
    /// The commit that was seen, at least 7 digits: nothing is passed if the session's newest
    /// commit is another
    #[arg(
        long,
        value_name = "COMMIT",
        requires = "answer",
        conflicts_with_all = ["feedback", "more", "goto", "abort"]
    )]
    at: Option<String>,
    /// Edit the draft in the editor and pass the saved version
    #[arg(long)]
    edit: bool,
    /// Ask for another draft, with this feedback
    #[arg(long, value_name = "TEXT")]
    feedback: Option<String>,
    /// Allow this many more drafts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_DRAFTS))]
    more: Option<u32>,
    /// Go back to this stage; the next resume does it, and keeps the later work as an attempt
    #[arg(long, value_name = "STAGE", value_parser = parse_stage)]
    goto: Option<Stage>,
    /// Abort; the next resume starts the stage again
    #[arg(long)]
    abort: bool,
}

impl ReviewArgs {
    /// `--pass`
    pub(crate) fn pass(session: SessionArg) -> Self {
        Self { name: session.name, pass: true, ..Self::default() }
    }

    /// `--abort`
    pub(crate) fn abort(session: SessionArg) -> Self {
        Self { name: session.name, abort: true, ..Self::default() }
    }
}

pub(crate) fn run(context: &Context, args: ReviewArgs) -> Answer {
    let answer = match (args.feedback, args.more, args.goto) {
        (Some(text), ..) if text.trim().is_empty() => {
            return Err(Error::usage("the feedback is empty")
                .hint("say what to change: git cowork review --feedback TEXT")
                .into());
        }
        (Some(text), ..) => Review::Feedback(text),
        (_, Some(count), _) => Review::More(count),
        (.., Some(stage)) => Review::GoBack(stage),
        _ if args.pass => Review::Pass,
        _ if args.edit => Review::Edit,
        _ if args.abort => Review::Abort,
        _ if context.attended() => Review::Ask,
        _ => {
            return Err(Error::usage("there is no terminal to ask on")
                .hint(
                    "choose one: --pass, --edit, --feedback TEXT, --more N, --goto STAGE or --abort",
                )
                .into());
        }
    };
    preflight::check(context.git()?, &context.refs()?)?;
    let before = context.git()?.head()?;
    let command = "git cowork review";
    let (held, session) =
        open::take_after(context, args.name.as_ref(), None, command, |git, session| {
            match (completed(session, args.stage), args.pass) {
                (Some(stage), false) => return Err(not_waiting(session, stage)),
                (Some(stage), true) => require_completed(session, stage)?,
                (None, _) => {
                    let waiting = require_waiting(session)?;
                    let option = match answer {
                        Review::Pass => Some("--pass"),
                        Review::Edit => Some("--edit"),
                        _ => None,
                    };
                    let can_pass = option.is_some() || matches!(answer, Review::Ask);
                    if can_pass && args.at.is_none() {
                        after_draft::require_seen(context, git, session, &waiting, option)?;
                    }
                }
            }
            args.at.as_ref().map_or(Ok(()), |at| after_draft::require_tip(session, at))
        })?;
    let result = match completed(&session, args.stage) {
        Some(stage) => approve(context, &held, session, stage),
        None => record(context, &held, session, answer),
    };
    if result.is_err() {
        switch_back(&held.git, &before)?;
    }
    result
}

/// The stage to approve, if it is not the one whose draft waits.
fn completed(session: &Session, stage: Option<Stage>) -> Option<Stage> {
    let waits = session.unanswered();
    stage.filter(|stage| waits.is_none_or(|waiting| waiting.stage != *stage))
}

fn not_waiting(session: &Session, stage: Stage) -> anyhow::Error {
    let name = &session.name;
    Error::usage(format!("no draft of {stage} waits for review in '{name}'"))
        .hint(format!("approve it as it is: git cowork review {name} --stage {stage} --pass"))
        .into()
}

/// Switches back to the branch that the user was on, because the review was refused. Uncommitted
/// changes stay where they are.
fn switch_back(git: &Git, before: &Head) -> anyhow::Result<()> {
    match before {
        Head::Branch { name, .. } if git.head()?.branch() != Some(name) => {
            if git.status()?.is_empty() { git::switch::to(git, name.short()) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

/// Records the answer to the waiting draft.
fn record(context: &Context, held: &LockedSession, session: Session, answer: Review) -> Answer {
    let editor = text_input::editor(context)?;
    let name = session.name.clone();
    let models = models::none();
    let mode = if matches!(answer, Review::Ask) { Mode::Ask } else { Mode::Wait };
    let commit = run::with_pipeline(context, held, &models, mode, session, |pipeline| {
        pipeline.answer(answer, &editor)
    })?;
    match commit {
        Some(commit) => {
            let text =
                format!("recorded as {}; continue: git cowork resume {name}", commit.short());
            context.ui.emit(Event::Note { text });
            Ok(0)
        }
        None => Err(Error::waiting("nothing was decided; the draft still waits").into()),
    }
}

/// Approves the current content of a completed stage.
fn approve(context: &Context, held: &LockedSession, session: Session, stage: Stage) -> Answer {
    let models = models::none();
    let commit = run::with_pipeline(context, held, &models, Mode::Wait, session, |pipeline| {
        pipeline.approve(stage)
    })?;
    let text = format!("recorded as {}: {stage} is approved as it is now", commit.short());
    context.ui.emit(Event::Note { text });
    if context.config()?.review.signed && !git::state::is_signed(&held.git, &commit)? {
        let text = "this commit has no signature that git accepts, so the approval does not count; \
                    sign commits: git config commit.gpgsign true";
        context.ui.emit(Event::Warning { text: text.to_owned() });
    }
    Ok(0)
}
