//! `git cowork list`

use std::fmt::Write as _;

use clap::Args;

use super::Answer;
use super::context::Context;
use super::status::TITLE;
use crate::event::{Event, Sink as _};
use crate::session::{Session, State, Status, list};
use crate::ui::one_line;

/// Longest reason shown why a session is stopped.
const WHY: usize = 100;

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Also archived sessions
    #[arg(long)]
    all: bool,
}

pub(super) fn run(context: &Context, args: ListArgs) -> Answer {
    let git = context.git()?;
    let refs = context.refs()?;
    let (sessions, unreadable) = every(context, args.all)?;
    for text in unreadable {
        context.ui.emit(Event::Warning { text: format!("not a session: {text}") });
    }
    let mut out = String::new();
    let current = git.head()?.branch().cloned();
    for session in sessions {
        let status = context.status(session)?;
        if status.state == State::Archived && !args.all {
            continue;
        }
        if context.global.json {
            let _ = writeln!(out, "{}", serde_json::to_string(&status.json())?);
        } else {
            let here = current.as_ref() == Some(&refs.branch(&status.session.name));
            out += &line(&status, here);
        }
    }
    if out.is_empty() && !context.global.json {
        let text = "no sessions here; start one: git cowork new \"what you want built\"";
        context.ui.emit(Event::Note { text: text.to_owned() });
    }
    context.print(&out)?;
    Ok(0)
}

/// The sessions of this repository, with the archived ones if wanted, and what cannot be read.
pub(super) fn every(
    context: &Context,
    archived: bool,
) -> anyhow::Result<(Vec<Session>, Vec<String>)> {
    let git = context.git()?;
    let (mut sessions, mut unreadable) = list(git, &context.refs()?)?;
    if archived {
        let archive = "refs/cowork/archive/";
        for info in git.list_refs(&[archive])? {
            let name = info.name.as_str().strip_prefix(archive).and_then(|n| n.parse().ok());
            if let Some(name) = name
                && !sessions.iter().any(|session: &Session| session.name == name)
            {
                match Session::load(git, &name, &info.oid) {
                    Ok(session) => sessions.push(session),
                    Err(error) => unreadable.push(format!("{}: {error:#}", info.name)),
                }
            }
        }
    }
    Ok((sessions, unreadable))
}

fn line(status: &Status, here: bool) -> String {
    let stage = status.stage.map_or_else(|| "done".to_owned(), |stage| stage.to_string());
    let why = status.stop.as_ref().map(|stop| format!(" ({})", one_line(&stop.why, WHY)));
    format!(
        "{} {:<24} {:<11} {:<9} {}{}\n",
        if here { '*' } else { ' ' },
        status.session.name,
        status.state.name().replace('_', " "),
        stage,
        one_line(&status.session.file.title, TITLE),
        why.unwrap_or_default()
    )
}
