//! `git cowork status`: prints the state of a session and the next step.

use std::fmt::Write as _;

use serde::Serialize;

use crate::cli::args::{Answer, SessionArg};
use crate::cli::context::Context;
use crate::cli::session_cmd::approved::how_passed;
use crate::cli::session_cmd::{confinement, find, next_step};
use crate::cli::terminal::paint::Paint;
use crate::cli::terminal::records;
use crate::cli::terminal::stage_table::{count, of_tasks, stage_table};
use crate::config::Budget;
use crate::event::{Event, Sink as _};
use crate::git::{self, Git, RefName};
use crate::model::budget;
use crate::record::{LOGS, logs};
use crate::session::{
    Details, Kept, RefNames, SessionName, State, StateDir, Status, StatusJson, Waiting,
};
use crate::shell_quote::quoted;
use crate::stage::Stage;
use crate::stages::row;
use crate::ui::{one_line, sanitize};
use crate::verify::{Approvals, Beside};
use crate::wrap::within;

/// Maximum length of a title.
pub(crate) const TITLE: usize = 200;

pub(crate) fn run(context: &Context, args: SessionArg) -> Answer {
    let git = context.git()?;
    let session = find::readable(context, args.name.as_ref())?;
    find::warn_of_unreadable(context, &session)?;
    let name = session.name.clone();
    let status = find::status(context, session)?;
    let beside = Beside::read(git, &context.refs()?, &status.session)?;
    if context.global.json {
        context.print(&json(&status, &beside)?)?;
        return Ok(0);
    }
    let place = place(git, &context.refs()?.branch(&name))?;
    let paint = Paint { on: context.color_stdout() };
    let details = status.details(git)?;
    let hows = how_passed(git, context.config()?, &status.session)?;
    let branch = context.refs()?.short_branch(&name);
    let mut text = full(&status, &details, &hows, (&branch, &place), context.width(), &paint);
    if context.global.verbose {
        let _ = writeln!(text, "Sandbox  {}", sanitize(&confinement::in_force(context, git)?));
        match records::records(git, &status.session, &paint) {
            Ok(records) => text += &records,
            // Print the rest even if the records are broken.
            Err(error) => context.ui.emit(Event::Warning { text: format!("{error:#}") }),
        }
    }
    let approvals = Approvals { git, refs: &context.refs()?, session: &status.session };
    for (stage, file) in approvals.changed_since()? {
        let _ = writeln!(text, "Changed  {file} is not what was approved with {stage}");
    }
    text += &sanitize(&beside.lines());
    text += &asked(&status);
    if let Some(used) = used(&status, &context.config()?.budget) {
        let _ = writeln!(text, "Used     {used}");
    }
    text += &yours(git, &name)?;
    text += &kept(&status, &details);
    text += &logs(context, git, &status)?;
    text += &next(git, &status, &beside, &there(git, &status, &place))?;
    context.print(&within(&text, context.width(), &|_| LABEL))?;
    Ok(0)
}

/// Width of the label column.
pub(crate) const LABEL: usize = 9;

/// The object of `--json`: the state from history, and the state of files outside of it.
pub(crate) fn json(status: &Status, beside: &Beside) -> anyhow::Result<String> {
    #[derive(Serialize)]
    struct Whole<'a> {
        #[serde(flatten)]
        status: StatusJson<'a>,
        #[serde(flatten)]
        beside: &'a Beside,
    }
    Ok(format!("{}\n", serde_json::to_string(&Whole { status: status.json(), beside })?))
}

/// The lines for the next step; unreadable files must be restored first.
fn next(git: &Git, status: &Status, beside: &Beside, there: &str) -> anyhow::Result<String> {
    match beside.next_command() {
        Some(restore) => Ok(next_step::next_lines(restore)),
        None => next_step::lines(git, status, there),
    }
}

/// Where a session's branch is checked out.
enum Place {
    Here,
    Nowhere,
    /// In another working tree.
    Elsewhere(String),
}

/// What comes before a session's commands that only work where its branch is checked out.
pub(crate) fn before_next(git: &Git, status: &Status) -> anyhow::Result<String> {
    let branch = RefName::branch(&status.branch)?;
    Ok(there(git, status, &place(git, &branch)?))
}

fn there(git: &Git, status: &Status, place: &Place) -> String {
    let works = matches!(status.state, State::InProgress | State::Stopped | State::Waiting);
    let (name, branch) = (&status.session.name, &status.branch);
    match place {
        Place::Elsewhere(path) if works => format!("cd {} && ", quoted(path)),
        _ if git.is_bare() => {
            format!("git worktree add ../{name} {branch} && cd ../{name} && ")
        }
        _ => String::new(),
    }
}

fn place(git: &Git, branch: &RefName) -> anyhow::Result<Place> {
    if !git.is_bare() && git.head()?.branch() == Some(branch) {
        return Ok(Place::Here);
    }
    let path = git::refs::checked_out_in(git, branch)?;
    Ok(path.map_or(Place::Nowhere, |path| Place::Elsewhere(path.display().to_string())))
}

/// The usage of models, with the configured budgets; `None` if no model was used.
pub(crate) fn used(status: &Status, budget: &Budget) -> Option<String> {
    let spent = &status.used.total;
    if spent.requests == 0 && spent.tokens() == 0 {
        return None;
    }
    let mut used = status.used.words();
    if let Some(money) = budget::money(budget, spent) {
        let _ = write!(used, ", {money}");
    }
    for limit in budget::limits(budget, spent) {
        let _ = write!(used, " · {limit}");
    }
    Some(used)
}

/// The user's own files that were dirty before the session began and still are.
fn yours(git: &Git, name: &SessionName) -> anyhow::Result<String> {
    let protected = StateDir::at(&git.state_dir(), name).protected()?;
    if protected.is_empty() || git.is_bare() {
        return Ok(String::new());
    }
    let dirty: Vec<String> = git.status()?.into_iter().map(|entry| entry.path).collect();
    let mut names: Vec<&str> = protected.iter().map(|entry| entry.path.as_str()).collect();
    names.retain(|name| dirty.iter().any(|path| path == name));
    if names.is_empty() {
        return Ok(String::new());
    }
    let has = if names.len() == 1 { "has" } else { "have" };
    let more = names.len().saturating_sub(3);
    names.truncate(3);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let names = names.join(", ");
    Ok(format!("Yours    {names}{more} {has} your uncommitted edits; protected, not committed\n"))
}

/// The attempts and the draft that are kept outside the branch.
fn kept(status: &Status, details: &Details) -> String {
    let mut kept = Vec::new();
    if details.attempts > 0 {
        let attempts = count(details.attempts, "attempt");
        let newest = details.newest_attempt.as_deref().unwrap_or_default();
        let number = newest.rsplit('/').next().unwrap_or_default();
        let which = if details.attempts == 1 { "restore" } else { "restore the newest" };
        let name = &status.session.name;
        kept.push(format!("{attempts} ({which}: git cowork restore {name} {number})"));
    }
    kept.extend(details.kept.as_ref().and_then(|draft| kept_draft(status, draft)));
    if kept.is_empty() { String::new() } else { format!("Kept     {}\n", kept.join("; ")) }
}

/// The command that fetches the check logs that the session's commits name but this clone lacks.
fn logs(context: &Context, git: &Git, status: &Status) -> anyhow::Result<String> {
    let missing = logs::missing(git, &status.session)?;
    let mut elsewhere = 0;
    for log in &missing {
        elsewhere += usize::from(git::refs::object_id(git, log)?.is_none());
    }
    let branch = context.refs()?.short_branch(&status.session.name);
    let Some(remote) = git::remote::upstream_remote(git, &branch)?.filter(|_| elsewhere > 0) else {
        return Ok(String::new());
    };
    let notes = RefNames::notes(LOGS);
    // Git would refuse to fetch into the ref itself if this clone has logs of its own.
    let fetch = match git.resolve(&notes)? {
        None => format!("git fetch {remote} {notes}:{notes}"),
        Some(_) => format!(
            "git fetch {remote} {notes}:{notes}-{remote} && git notes --ref {LOGS} merge {LOGS}-{remote}"
        ),
    };
    Ok(format!("Logs     {} not in this clone: {fetch}\n", count(elsewhere, "check log")))
}

/// `draft 2 of prd, not finished (git show …)`
fn kept_draft(status: &Status, kept: &Kept) -> Option<String> {
    let state = if kept.partial { ", not finished" } else { "" };
    let (stage, number) = (status.stage?, status.iteration);
    Some(format!("draft {number} of {stage}{state} (git show {})", kept.name))
}

/// The short status: three lines, and the kept draft and the model's question if there are any.
///
/// # Errors
/// Git fails.
pub(crate) fn brief(
    git: &Git,
    status: &Status,
    kept: Option<&Kept>,
    beside: &Beside,
) -> anyhow::Result<String> {
    let session = &status.session;
    let title = one_line(&session.file.title, TITLE);
    let mut out = format!("Session  {} · {title}\n", session.name);
    let done: Vec<&str> = session.done().iter().map(|stage| stage.name()).collect();
    let done = if done.is_empty() {
        "no stage is done yet".to_owned()
    } else {
        format!("done: {}", done.join(", "))
    };
    let _ = writeln!(out, "Stands   {} · {done}", standing(status));
    out += &asked(status);
    if let Some(draft) = kept.and_then(|kept| kept_draft(status, kept)) {
        let _ = writeln!(out, "Kept     {draft}");
    }
    out += &sanitize(&beside.lines());
    out += &next(git, status, beside, "")?;
    Ok(out)
}

/// The question of a model that waits for a person's answer.
fn asked(status: &Status) -> String {
    let waiting = status.session.waiting().filter(|_| status.state == State::Waiting);
    let reason = waiting.as_ref().and_then(Waiting::reason);
    reason.map(|reason| format!("Asked    {}\n", sanitize(&reason))).unwrap_or_default()
}

fn standing(status: &Status) -> String {
    let Some(stage) = status.stage else { return status.state.name().to_owned() };
    // A draft at which a run stopped waits for a person as well; an archived session's does not.
    let open = matches!(status.state, State::Waiting | State::Stopped);
    match status.session.unanswered() {
        Some(_) if open => {
            format!("{stage} draft {} waits for review", status.iteration)
        }
        _ if row(stage).writes_code() && status.tasks.1 > 0 => {
            format!("{stage}, {}", of_tasks(status))
        }
        _ => format!("{stage} comes next"),
    }
}

fn full(
    status: &Status,
    details: &Details,
    hows: &[(Stage, String)],
    (branch, place): (&str, &Place),
    width: Option<usize>,
    paint: &Paint,
) -> String {
    let session = &status.session;
    let base = &session.file.base.branch;
    let base = if base.is_empty() { "a detached HEAD" } else { base };
    let ahead = match details.base_ahead {
        Some(n) if n > 0 => format!(" ({base} is {n} ahead)"),
        _ => String::new(),
    };
    let stands = match place {
        Place::Here => format!("on branch {branch}"),
        Place::Nowhere => format!("not on branch {branch}"),
        Place::Elsewhere(path) => format!("branch {branch} is checked out in {path}"),
    };
    let mut out = format!("Session  {} · {stands}, based on {base}{ahead}\n", session.name);
    let _ = writeln!(out, "Idea     {}", one_line(&session.file.title, TITLE));
    if matches!(status.state, State::Merged | State::Archived) {
        let _ = writeln!(out, "State    {}", status.state.name());
    }
    out += &stage_table(status, details, hows, width, paint);
    out
}
