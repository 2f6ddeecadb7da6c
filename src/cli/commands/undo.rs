//! `git cowork undo`: the last step back is taken back.

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::{preflight, restore};
use crate::error::Error;
use crate::session::attempts;

pub(crate) fn run(context: &Context) -> Answer {
    let git = context.git()?;
    let refs = context.refs()?;
    preflight::check(git)?;
    let here = git.head()?.branch().and_then(|branch| refs.session_of(branch.as_str()));
    let name = context.global.session.clone().or(here);
    let all = attempts(git, name.as_ref())?;
    match all.iter().rfind(|attempt| attempt.can_be_undone()) {
        Some(attempt) => restore::attempt(context, &refs, attempt),
        None => {
            let whose = name.map_or_else(|| "here".to_owned(), |name| format!("in '{name}'"));
            Err(Error::repository(format!("there is nothing to undo {whose}"))
                .hint("it undoes the last revert, goto, restore, abort or delete")
                .into())
        }
    }
}
