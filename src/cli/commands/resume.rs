//! `git cowork resume`: continues a session from the state that history records.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::{Answer, parse_depth, parse_stage};
use crate::cli::context::Context;
use crate::cli::session_cmd::run::Extent;
use crate::cli::session_cmd::worktree;
use crate::cli::session_cmd::{find, resume};
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
    /// Work in a linked worktree: the one in which the branch is checked out, or a new one
    #[arg(short = 'w', long, value_name = "PATH", num_args = 0..=1, require_equals = true)]
    worktree: Option<Option<PathBuf>>,
}

/// The command that is recorded in the lock.
const COMMAND: &str = "git cowork resume";

pub(crate) fn run(context: &Context, args: ResumeArgs) -> Answer {
    let extent = Extent {
        stop_after: args.stop_after,
        raise: args.depth,
        go_back_to: args.goto_stage,
        ..Extent::default()
    };
    let name = find::session_name(context, args.name.as_ref())?;
    match worktree::of_existing(context, &name, args.worktree.as_ref(), COMMAND)? {
        Some(there) => resume::go_on(&there, Some(&name), extent, COMMAND),
        None => resume::go_on(context, Some(&name), extent, COMMAND),
    }
}
