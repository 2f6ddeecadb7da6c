//! `git cowork` alone: where you stand and the one command that comes next.

use super::context::Context;
use super::next::lines;
use super::{Answer, status};
use crate::git::Head;
use crate::session::{Session, list};

pub(super) fn run(context: &Context) -> Answer {
    let git = context.git()?;
    let refs = context.refs()?;
    let here = match (&context.global.session, git.head()?) {
        (Some(_), _) => Some(context.session(None)?),
        (None, Head::Branch { name, .. }) => {
            let name = refs.session_of(name.as_str());
            name.and_then(|name| Session::find(git, &refs, &name).ok())
        }
        (None, _) => None,
    };
    if let Some(session) = here {
        let status = context.status(session)?;
        context.print(&if context.global.json {
            format!("{}\n", serde_json::to_string(&status.json())?)
        } else {
            let kept = status.kept(git)?;
            status::brief(&status, kept.as_ref())
        })?;
        return Ok(0);
    }
    let (sessions, _) = list(git, &refs)?;
    let text = match sessions.len() {
        0 => "No session in this repository yet.".to_owned(),
        1 => "Not on a session's branch; there is 1 session (git cowork list).".to_owned(),
        n => format!("Not on a session's branch; there are {n} sessions (git cowork list)."),
    };
    if context.global.json {
        for session in sessions {
            let status = context.status(session)?;
            context.print(&format!("{}\n", serde_json::to_string(&status.json())?))?;
        }
        return Ok(0);
    }
    let next = match sessions.into_iter().find(|session| !session.is_completed()) {
        Some(session) => lines(&context.status(session)?, ""),
        None => "Next     git cowork new \"what you want built\"\n".to_owned(),
    };
    context.print(&format!("{text}\n{next}"))?;
    Ok(0)
}
