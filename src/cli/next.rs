//! What comes next in a session, for `status` and the bare command: also after a run that could
//! not go on, where `resume` alone would only say so again.

use std::fmt::Write as _;

use super::context::Context;
use crate::model::budget;
use crate::model::ledger::Ledger;
use crate::pipeline::standstill;
use crate::session::{State, StateDir, Status};
use crate::ui::sanitize;

/// Why nothing goes on by itself, and what to do.
pub(super) struct Next {
    stopped: Option<String>,
    command: String,
    other: Option<String>,
}

/// Reads it from history, the kept draft and the ledger.
pub(super) fn next(context: &Context, status: &Status) -> anyhow::Result<Next> {
    let command = status.next_command();
    if status.state != State::InProgress {
        return Ok(Next { stopped: None, command, other: None });
    }
    let (git, config, session) = (context.git()?, context.config()?, &status.session);
    if let Some(still) = standstill(git, config, session)? {
        let command = format!("{command} on a terminal: it asks what to do");
        let other = Some(still.other_way);
        return Ok(Next { stopped: Some(still.why), command, other });
    }
    let state = StateDir::at(&git.state_dir(), &session.name);
    // A ledger that cannot be read is no reason not to say the rest.
    let ledger = Ledger::read(&state.ledger(&session.file.id)).unwrap_or_default();
    Ok(match budget::standing(&config.budget, &status.used.total, ledger.refused()) {
        Some((why, raise)) => {
            Next { stopped: Some(why), command: format!("{raise} && {command}"), other: None }
        }
        None => Next { stopped: None, command, other: None },
    })
}

impl Next {
    /// Lines for people; `there` comes before the command where it has to be run elsewhere.
    pub(super) fn lines(&self, there: &str) -> String {
        let mut out = String::new();
        if let Some(why) = &self.stopped {
            let _ = writeln!(out, "Stopped  {}", sanitize(why));
        }
        let _ = writeln!(out, "Next     {there}{}", self.command);
        if let Some(other) = &self.other {
            let _ = writeln!(out, "         {other}");
        }
        out
    }
}
