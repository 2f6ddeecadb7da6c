//! What comes next in a session, for `status` and the bare command: also after a run that could
//! not go on, where `resume` alone would only say so again.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::config::Config;
use crate::git::{self, Git, RefName};
use crate::model::budget;
use crate::model::ledger::Ledger;
use crate::pipeline::{has_failed, why_blocked};
use crate::session::{Head, RefNames, Session, State, StateDir, Status, Stop, live_run};
use crate::spent::Spent;
use crate::ui::sanitize;

/// Where a session stands whose state history tells. What was used is what history tells, or more where
/// this machine knows of requests that came to nothing; so it is with runs that go on or have failed.
pub(crate) fn status(
    git: &Git,
    refs: &RefNames,
    config: &Config,
    session: Session,
    state: State,
) -> anyhow::Result<Status> {
    let mut status = Status::with(git, refs, session, state)?;
    let session = &status.session;
    let state = StateDir::at(&git.state_dir(), &session.name);
    // A ledger that cannot be read is no reason not to say the rest.
    let ledger = Ledger::read(&state.ledger(&session.file.id)).unwrap_or_default();
    status.used.total = status.used.total.max(ledger.total());
    stand(git, config, &mut status, &state, &ledger)?;
    Ok(status)
}

/// The drafts that may be kept of the stages these sessions are in.
///
/// # Errors
/// Git fails.
pub(crate) fn drafts<'a>(
    git: &Git,
    heads: impl Iterator<Item = &'a Head>,
) -> anyhow::Result<HashSet<RefName>> {
    let draft = |head: &Head| Some(RefNames::draft(head.name(), head.stage()?));
    git::refs::may_be_there(git, RefNames::DRAFTS, heads.filter_map(draft).collect())
}

/// Whether nothing but history tells how a session stands, so that its head is enough; with those of
/// [`drafts`].
pub(crate) fn is_told_by(
    git: &Git,
    config: &Config,
    head: &Head,
    state: State,
    drafts: &HashSet<RefName>,
) -> bool {
    let here = StateDir::at(&git.state_dir(), head.name());
    let lives = || matches!(state, State::InProgress | State::Waiting) && live_run(&here).is_some();
    let stands_still = || {
        let drafted =
            head.stage().is_some_and(|stage| drafts.contains(&RefNames::draft(head.name(), stage)));
        let nothing = Spent::default();
        let budget = &config.budget;
        !head.has_stage()
            || head.waiting().is_some()
            || drafted
            || has_failed(&here)
            || budget.usd > 0.0
            || !budget::limits(budget, &nothing).is_empty()
    };
    !lives() && (state != State::InProgress || !stands_still())
}

/// What history does not tell: that a process works on the session, or that none can without a
/// person. Read from the lock, the kept draft and the ledger.
fn stand(
    git: &Git,
    config: &Config,
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
    let session = &status.session;
    let reached = || {
        let (why, raise) = budget::standing(&config.budget, &status.used.total, ledger.refused())?;
        let next = format!("{raise} && {}", status.next_command());
        Some(Stop { why, next, other: None })
    };
    status.stop = why_blocked(git, config, session, state)?.or_else(reached);
    if status.stop.is_some() {
        status.state = State::Stopped;
    }
    Ok(())
}

/// Lines for people; `there` comes before the command where it has to be run elsewhere.
pub(crate) fn lines(status: &Status, there: &str) -> String {
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
