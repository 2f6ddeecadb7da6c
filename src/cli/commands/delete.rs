//! `git cowork delete`: removes a session; its tip is kept as an attempt.

use clap::Args;

use crate::cli::args::{Answer, SessionArg};
use crate::cli::context::Context;
use crate::cli::session_cmd::remove::{self, Consent, Removal};

#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    session: SessionArg,
    /// Delete without asking; required without a terminal
    #[arg(short, long)]
    yes: bool,
    /// Only print what would be deleted
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(context: &Context, args: &DeleteArgs) -> Answer {
    let consent = match (args.dry_run, args.yes) {
        (true, _) => Consent::Never,
        (_, true) => Consent::Given,
        _ => Consent::Asked,
    };
    remove::remove(context, &args.session, Removal::Delete(consent))
}
