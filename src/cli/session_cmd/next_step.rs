//! The next step of a session, for `status` and for `git cowork` without a command. After a blocked
//! run, the next step is not just `resume`, which would be blocked again.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::config::Config;
use crate::git::state::operation_in_progress;
use crate::git::{Git, RefName, StatusKind};
use crate::model::budget;
use crate::model::ledger::RequestLedger;
use crate::pipeline::{has_failed, stopped_at, why_blocked};
use crate::session::{Head, RefNames, Session, State, StateDir, Status, Stop, live_run};
use crate::spent::Spent;
use crate::ui::sanitize;

/// The status of a session whose `state` was read from history. Adds what only this machine knows:
/// the usage of requests that no commit records, and runs that are in progress or blocked.
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
    // Report the rest even if the ledger cannot be read.
    let ledger = RequestLedger::read(&state.ledger(&session.file.id)).unwrap_or_default();
    status.used.total = status.used.total.max(ledger.total());
    stand(git, config, &mut status, &state, &ledger)?;
    Ok(status)
}

/// The names of all drafts.
///
/// # Errors
/// Git fails.
pub(crate) fn drafts(git: &Git) -> anyhow::Result<HashSet<RefName>> {
    Ok(git.refs(&[RefNames::DRAFTS])?.into_iter().map(|draft| draft.name).collect())
}

/// True if a session's status depends on history alone, so that `head` is enough to determine that
/// status. `drafts` is what the function [`drafts`] returns.
pub(crate) fn is_told_by(
    git: &Git,
    config: &Config,
    head: &Head,
    state: State,
    drafts: &HashSet<RefName>,
) -> bool {
    let dir = StateDir::at(&git.state_dir(), head.name());
    let lives = || matches!(state, State::InProgress | State::Waiting) && live_run(&dir).is_some();
    let stands_still = || {
        let has_draft =
            head.stage().is_some_and(|stage| drafts.contains(&RefNames::draft(head.name(), stage)));
        let nothing = Spent::default();
        let budget = &config.budget;
        !head.has_stage()
            || head.waiting().is_some()
            || has_draft
            || has_failed(&dir)
            || budget.usd > 0.0
            || !budget::limits(budget, &nothing).is_empty()
    };
    let is_stopped =
        || head.waiting().and_then(|waiting| stopped_at(&waiting, head.name())).is_some();
    !lives()
        && match state {
            State::InProgress => !stands_still(),
            State::Waiting => !is_stopped(),
            _ => true,
        }
}

/// Sets the states that history does not record: a process is running the session, or the session
/// is blocked until a person acts. They are read from the lock, the saved draft and the ledger.
fn stand(
    git: &Git,
    config: &Config,
    status: &mut Status,
    state: &StateDir,
    ledger: &RequestLedger,
) -> anyhow::Result<()> {
    if !matches!(status.state, State::InProgress | State::Waiting) {
        return Ok(());
    }
    if live_run(state).is_some() {
        status.state = State::Running;
        return Ok(());
    }
    let session = &status.session;
    if status.state == State::Waiting {
        status.stop = session.waiting().and_then(|waiting| stopped_at(&waiting, &session.name));
        if status.stop.is_some() {
            status.state = State::Stopped;
        }
        return Ok(());
    }
    let is_reached = || {
        let (why, raise) = budget::standing(&config.budget, &status.used.total, ledger.refused())?;
        let next = format!("{raise} && {}", status.next_command());
        Some(Stop { why, next, other: None })
    };
    status.stop = why_blocked(git, config, session, state)?.or_else(is_reached);
    if status.stop.is_some() {
        status.state = State::Stopped;
    }
    Ok(())
}

/// The lines for people. `there`, such as `cd PATH && `, is put before each command.
///
/// # Errors
/// Git fails.
pub(crate) fn lines(git: &Git, status: &Status, there: &str) -> anyhow::Result<String> {
    // Here no command of a session works before git's own operation has ended.
    let operation = operation_in_progress(git)?.filter(|_| there.is_empty() && !git.is_bare());
    if let Some(operation) = operation {
        let is_unmerged = git.status()?.iter().any(|entry| entry.kind == StatusKind::Unmerged);
        let next = operation.goes_on().filter(|_| !is_unmerged).unwrap_or("git status");
        return Ok(format!("Stopped  {}\n{}", operation.message(), next_lines(next)));
    }
    let Some(stop) = &status.stop else {
        return Ok(next_lines(&format!("{there}{}", status.next_command())));
    };
    let mut out = format!("Stopped  {}\n", sanitize(&stop.why));
    out += &next_lines(&format!("{there}{}", stop.next));
    if let Some(other) = &stop.other {
        let _ = writeln!(out, "         {other}");
    }
    Ok(out)
}

/// A line with the next command. If others have to follow it, each has a line of its own.
pub(crate) fn next_lines(commands: &str) -> String {
    let mut out = String::new();
    let mut place = String::new();
    for command in commands.split(" && ") {
        if let Some(path) = command.strip_prefix("cd ") {
            place = format!("-C {path} ");
            continue;
        }
        let label = if out.is_empty() { "Next    " } else { "         then:" };
        let command = command.strip_prefix("git ").unwrap_or(command);
        let _ = writeln!(out, "{label} git {place}{command}");
    }
    out
}
