//! `git cowork revert --to STAGE`

use clap::Args;

use crate::cli::args::{Answer, parse_stage};
use crate::cli::context::Context;
use crate::cli::session_cmd::resume;
use crate::cli::session_cmd::run::Extent;
use crate::session::SessionName;
use crate::stage::Stage;

#[derive(Debug, Args)]
pub(crate) struct RevertArgs {
    /// Session name [default: the branch you are on, else the newest unfinished one]
    #[arg(value_name = "SESSION")]
    name: Option<SessionName>,
    /// Stage to do again
    #[arg(long, value_name = "STAGE", value_parser = parse_stage)]
    to: Stage,
    /// Reason, which the next draft of the stage gets
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Rewind, and do not run the stage
    #[arg(long)]
    no_run: bool,
}

pub(crate) fn run(context: &Context, args: RevertArgs) -> Answer {
    let extent = Extent {
        go_back_to: Some(args.to),
        reason: args.reason,
        no_run: args.no_run,
        ..Extent::default()
    };
    resume::go_on(context, args.name.as_ref(), extent, "git cowork revert")
}
