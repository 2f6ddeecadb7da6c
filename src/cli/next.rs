//! What comes next in a session, for `status` and the bare command: also after a run that could
//! not go on, where `resume` alone would only say so again.

use std::fmt::Write as _;

use super::context::Context;
use crate::model::budget;
use crate::model::ledger::Ledger;
use crate::pipeline::standstill;
use crate::session::{State, StateDir, Status, Stop, live_run};
use crate::ui::sanitize;

/// What history does not tell: that a process works on the session, or that none can without a
/// person. Read from the lock, the kept draft and the ledger.
pub(super) fn stand(
    context: &Context,
    status: &mut Status,
    state: &StateDir,
    ledger: &Ledger,
) -> anyhow::Result<()> {
    if !matches!(status.state, State::InProgress | State::Waiting) {
        return Ok(());
    }
    if live_run(state).is_some() {
        status.state = State::Running;
        return Ok(());
    }
    if status.state == State::Waiting {
        return Ok(());
    }
    let (git, config, session) = (context.git()?, context.config()?, &status.session);
    let reached = || {
        let (why, raise) = budget::standing(&config.budget, &status.used.total, ledger.refused())?;
        let next = format!("{raise} && {}", status.next_command());
        Some(Stop { why, next, other: None })
    };
    status.stop = standstill(git, config, session, state)?.or_else(reached);
    if status.stop.is_some() {
        status.state = State::Stopped;
    }
    Ok(())
}

/// Lines for people; `there` comes before the command where it has to be run elsewhere.
pub(super) fn lines(status: &Status, there: &str) -> String {
    let Some(stop) = &status.stop else {
        return format!("Next     {there}{}\n", status.next_command());
    };
    let mut out = format!("Stopped  {}\n", sanitize(&stop.why));
    let _ = writeln!(out, "Next     {there}{}", stop.next);
    if let Some(other) = &stop.other {
        let _ = writeln!(out, "         {other}");
    }
    out
}
