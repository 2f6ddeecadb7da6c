//! `git cowork archive`: hides a session; `git cowork restore` brings it back.

use crate::cli::args::{Answer, SessionArg};
use crate::cli::context::Context;
use crate::cli::session_cmd::remove::{self, Removal};

pub(crate) fn run(context: &Context, args: &SessionArg) -> Answer {
    remove::remove(context, args, Removal::Archive)
}
