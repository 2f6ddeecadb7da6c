//! `git cowork` without a command: prints the state of the current session and the next command to
//! run. In a bare repository it lists all sessions: nothing can be run there.

use crate::cli::args::Answer;
use crate::cli::commands::list::{self, ListArgs};
use crate::cli::commands::{man, status};
use crate::cli::context::Context;
use crate::cli::session_cmd::{delivered, find, new_session, next_step};
use crate::git::{Git, Head as At};
use crate::session::{Head, RefNames, Session, SessionName, heads, in_tree, overview};
use crate::verify::Beside;
use crate::wrap::within;

pub(crate) fn run(context: &Context) -> Answer {
    let git = context.git()?;
    let refs = context.refs()?;
    git.expect_refs([RefNames::ARCHIVE.to_owned()]);
    let here = match (&context.global.session, git.head()?) {
        (Some(_), _) => Some(find::session(context, None)?),
        (None, At::Branch { name, .. }) => {
            let name = refs.session_of(name.as_str());
            match name.map(|name| (Session::find(git, &refs, &name), name)) {
                Some((Err(error), name)) if is_broken(git, &refs, &name)? => return Err(error),
                found => found.and_then(|(session, _)| session.ok()),
            }
        }
        (None, _) => None,
    };
    if let Some(session) = here {
        let status = find::status(context, session)?;
        let beside = Beside::read(git, &refs, &status.session)?;
        context.print(&if context.global.json {
            status::json(&status, &beside)?
        } else {
            let kept = status.kept(git)?;
            let text = status::brief(git, &status, kept.as_ref(), &beside)?;
            within(&text, context.width(), &|_| status::LABEL)
        })?;
        return Ok(0);
    }
    if git.is_bare() {
        return list::run(context, ListArgs { all: true });
    }
    if context.global.json {
        context.print(&list::json(context, &heads(git, &refs)?.0, true)?)?;
        return Ok(0);
    }
    let there = overview(git, &refs)?;
    let text = match there.sessions {
        0 if git.refs(&[RefNames::ARCHIVE])?.is_empty() && in_tree(git)?.is_empty() => {
            "No session in this repository yet.".to_owned()
        }
        0 => "No session on a branch; others are merged or archived (git cowork list --all)."
            .to_owned(),
        1 => "Not on a session's branch; there is 1 session (git cowork list).".to_owned(),
        n => format!("Not on a session's branch; there are {n} sessions (git cowork list)."),
    };
    let name = there.open.as_ref().map(Head::name);
    let killed = new_session::newest_unfinished(git, &refs, name)?;
    let next = match (killed, there.open) {
        (Some(name), _) => {
            format!("The start of {name} was interrupted.\nNext     git cowork resume {name}\n")
        }
        (None, open) => {
            match open.map_or_else(|| delivered::newest(git, &refs), |it| Ok(Some(it)))? {
                Some(head) => {
                    let status = find::status(context, head.session(git)?)?;
                    next_step::lines(git, &status, &status::before_next(git, &status)?)?
                }
                None => "Next     git cowork new \"what you want built\"\n".to_owned(),
            }
        }
    };
    context.print(&format!("{text}\n{next}"))?;
    // Only who has no session yet is told: whoever goes on without the manual need not hear of it.
    if there.sessions == 0 && context.attended() {
        man::suggest(context);
    }
    Ok(0)
}

/// True if a session's `session.json` cannot be read, but an earlier commit has a readable one.
fn is_broken(git: &Git, refs: &RefNames, name: &SessionName) -> anyhow::Result<bool> {
    let Some(tip) = git.resolve(refs.branch(name).as_str())? else { return Ok(false) };
    Ok(Session::load_broken(git, name, &tip)?.is_some())
}
