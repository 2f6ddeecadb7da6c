//! `git cowork resume`: continues a session from the state that history records.

use clap::Args;

use crate::cli::args::{Answer, parse_depth, parse_stage};
use crate::cli::context::Context;
use crate::cli::session_cmd::resume;
use crate::cli::session_cmd::run::Extent;
use crate::session::SessionName;
use crate::stage::{Depth, Stage};

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Session name [default: the branch you are on, or the newest unfinished session]
    #[arg(value_name = "SESSION")]
    name: Option<SessionName>,
    /// Rewind to the start of this stage first, as git cowork revert does
    #[arg(long, value_name = "STAGE", value_parser = parse_stage)]
    goto_stage: Option<Stage>,
    /// Raise the session's depth from here on: standard or thorough
    #[arg(long, value_name = "DEPTH", value_parser = parse_depth(), conflicts_with = "goto_stage")]
    depth: Option<Depth>,
    /// Stop after this stage
    #[arg(long, value_name = "STAGE", value_parser = parse_stage)]
    stop_after: Option<Stage>,
}

pub(crate) fn run(context: &Context, args: ResumeArgs) -> Answer {
    let extent = Extent {
        stop_after: args.stop_after,
        raise: args.depth,
        go_back_to: args.goto_stage,
        ..Extent::default()
    };
    resume::go_on(context, args.name.as_ref(), extent, "git cowork resume")
}
