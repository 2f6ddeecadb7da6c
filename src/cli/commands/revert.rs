//! `git cowork revert --to STAGE`: rewinds a session to before a stage.

use std::fmt::Write as _;

use clap::Args;

use crate::cli::args::{Answer, parse_stage};
use crate::cli::context::Context;
use crate::cli::session_cmd::run::Extent;
use crate::cli::session_cmd::{find, resume};
use crate::event::{Event, Sink as _};
use crate::pipeline::before;
use crate::session::SessionName;
use crate::stage::Stage;
use crate::ui::one_line;

/// Maximum length of a subject.
const SUBJECT: usize = 72;

#[derive(Debug, Args)]
pub(crate) struct RevertArgs {
    /// Session name [default: the branch you are on, or the newest unfinished session]
    #[arg(value_name = "SESSION")]
    name: Option<SessionName>,
    /// Stage to do again
    #[arg(long, value_name = "STAGE", value_parser = parse_stage)]
    to: Stage,
    /// Reason, given to the actor for the next draft of the stage
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Rewind, and do not run the stage
    #[arg(long)]
    no_run: bool,
    /// Only print which commits would be abandoned
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(context: &Context, args: RevertArgs) -> Answer {
    if args.dry_run {
        return say_what_would_be(context, &args);
    }
    let extent = Extent {
        go_back_to: Some(args.to),
        reason: args.reason,
        no_run: args.no_run,
        ..Extent::default()
    };
    resume::go_on(context, args.name.as_ref(), extent, "git cowork revert")
}

fn say_what_would_be(context: &Context, args: &RevertArgs) -> Answer {
    let git = context.git()?;
    let session = find::session(context, args.name.as_ref())?;
    let target = before(&session, args.to)?;
    let branch = context.refs()?.short_branch(&session.name);
    let mut out = format!("Moves    {branch} from {} to {}\n", session.tip.short(), target.short());
    let tip = std::slice::from_ref(&session.tip);
    let commits = git.reader().walk(tip, std::slice::from_ref(&target)).unwrap_or_default();
    for (at, commit) in commits.iter().enumerate() {
        let label = if at == 0 { "Leaves" } else { "" };
        let subject = commit.message.lines().next().unwrap_or_default();
        let _ = writeln!(out, "{label:<9}{} {}", commit.id.short(), one_line(subject, SUBJECT));
    }
    context.print(&out)?;
    let text = "nothing was moved: this was a dry run; the commits would be kept as an attempt";
    context.ui.emit(Event::Note { text: text.to_owned() });
    Ok(0)
}
