//! `git cowork undo`: undoes the last revert, `--goto-stage`, restore, abort or delete.

use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use clap::Args;
use serde_json::json;

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::{preflight, remove};
use crate::clock;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::session::{Attempt, SessionName, attempts};
use crate::ui::one_line;

/// Maximum length of a reason.
const WHY: usize = 100;

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// List what can be undone, the newest first, with the command that undoes it
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(context: &Context, args: &UndoArgs) -> Answer {
    let git = context.git()?;
    let refs = context.refs()?;
    if !args.list {
        preflight::check(git, &refs)?;
    }
    let here = git.head()?.branch().and_then(|branch| refs.session_of(branch.as_str()));
    let name = context.global.session.clone().or(here);
    let all = attempts(git, name.as_ref())?;
    let can_be = |attempt: &&Attempt| attempt.can_be_undone() || attempt.holds_an_edit();
    let undone: Vec<&Attempt> = all.iter().rev().filter(can_be).collect();
    if args.list {
        return list(context, &undone, name.as_ref());
    }
    for attempt in &undone {
        if !attempt.is_here(git, &refs)? {
            return remove::restore_attempt(context, &refs, attempt);
        }
    }
    if let Some(newest) = undone.first() {
        return remove::restore_attempt(context, &refs, newest);
    }
    Err(Error::repository(nothing_to_undo(name.as_ref()))
        .hint("undo reverses the last revert, --goto-stage, restore, abort or delete")
        .into())
}

fn nothing_to_undo(name: Option<&SessionName>) -> String {
    let whose = name.map_or_else(|| "here".to_owned(), |name| format!("in '{name}'"));
    format!("there is nothing to undo {whose}")
}

/// Lists what can be undone, except a restored attempt, which is the current state.
fn list(context: &Context, all: &[&Attempt], name: Option<&SessionName>) -> Answer {
    let (git, refs) = (context.git()?, context.refs()?);
    let mut out = String::new();
    for attempt in all {
        if !attempt.is_here(git, &refs)? {
            out += &if context.global.json { json_line(attempt) } else { line(attempt) };
        }
    }
    if out.is_empty() && !context.global.json {
        context.ui.emit(Event::Note { text: nothing_to_undo(name) });
    }
    context.page(&out).map(|()| 0)
}

fn line(attempt: &Attempt) -> String {
    let Attempt { session, number, tip, reason, .. } = attempt;
    let moment = at(attempt).get(..16).unwrap_or_default().replace('T', " ");
    let mut line = String::new();
    let _ = writeln!(line, "{moment}  {}  {}", tip.short(), one_line(reason, WHY));
    let _ = writeln!(line, "                  git cowork restore {session} {number}");
    line
}

fn json_line(attempt: &Attempt) -> String {
    let line = json!({
        "session": attempt.session.as_str(), "attempt": attempt.number, "at": at(attempt),
        "tip": attempt.tip.as_str(), "reason": attempt.reason,
    });
    format!("{line}\n")
}

fn at(attempt: &Attempt) -> String {
    let since = Duration::from_secs(u64::try_from(attempt.time).unwrap_or_default());
    clock::rfc3339(UNIX_EPOCH + since)
}
