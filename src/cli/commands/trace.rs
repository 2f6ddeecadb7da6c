//! `git cowork trace [SESSION] [ID]`: traces requirements through features and tasks to the commits
//! and the lines that still exist.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;

use crate::artifact::record_diff::count;
use crate::artifact::{IdKind, number_of};
use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::session_cmd::{delivered, find};
use crate::cli::suggest::hinted;
use crate::cli::terminal::paint::Paint;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::git::{self, Git, Oid};
use crate::origin::{
    FeatureTrace, FileLines, Origins, Records, RequirementTrace, TaskTrace, TraceQuery,
    surviving_lines, trace,
};
use crate::session::{
    Head, Session, SessionName, default_session, delivered_here, exists, find_in_tree, merged_in,
};
use crate::ui::one_line;
use crate::wrap::{below, within};

/// Maximum length of a title.
const TITLE: usize = 100;

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// [SESSION] [ID]: a session, and a requirement, feature, component or task of it
    #[arg(num_args = 0..=2, value_name = "SESSION] [ID")]
    words: Vec<String>,
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    session: &'a str,
    at: &'a str,
    #[serde(flatten)]
    branch: &'a RequirementTrace,
}

pub(crate) fn run(context: &Context, args: &TraceArgs) -> Answer {
    let git = context.git()?;
    let (name, id) = words(&args.words)?;
    let session = session(context, git, name.as_ref())?;
    find::warn_of_unreadable(context, &session)?;
    let at = seen_at(git, &session)?;
    let at_tip = Records::at(git, &session.name, &session.tip);
    let mut records = Records::at(git, &session.name, &at);
    if records.requirements.is_empty() && records.plan.tasks.is_empty() {
        // The session was merged without its artifacts, so read them at its tip.
        records = at_tip.clone();
    }
    if let Some(id) = &id {
        require_known(&session, &records, id)?;
    }
    let (refs, config) = (context.refs()?, context.config()?);
    let origins = Origins::new(git, &refs, config, &at);
    let found = surviving_lines(&origins, &session)?;
    if found.left_out > 0 {
        let files = count(found.left_out, "new file");
        let text = format!("the search for moved lines left out {files}");
        context.ui.emit(Event::Warning { text });
    }
    let is_here = |id: &str| id.parse().is_ok_and(|id: Oid| git.reader().commit(&id).is_ok());
    let asked =
        TraceQuery { records: &records, at_tip: &at_tip, id: id.as_deref(), is_here: &is_here };
    let branches = trace(&session, &found, &asked);
    if context.global.json {
        let mut out = String::new();
        for branch in &branches {
            let line = Line { session: session.name.as_str(), at: at.as_str(), branch };
            let _ = writeln!(out, "{}", serde_json::to_string(&line)?);
        }
        return context.print(&out).map(|()| 0);
    }
    let paint = Paint { on: context.color_stdout() };
    let title = one_line(&session.file.title, TITLE);
    let mut out = format!("{}: {title} · lines in {}\n", session.name, at.abbreviated());
    let mut shown = BTreeSet::new();
    for branch in &branches {
        out.push('\n');
        out += &text(branch, &mut shown, &paint);
    }
    if branches.is_empty() {
        out += "\nthere is no requirement yet\n";
    }
    context.page(&within(&out, context.width(), &below)).map(|()| 0)
}

/// Parses the session and the id, both of which are optional.
fn words(words: &[String]) -> anyhow::Result<(Option<SessionName>, Option<String>)> {
    Ok(match words {
        [] => (None, None),
        [one] => match record_id(one) {
            Some(id) => (None, Some(id)),
            None => (Some(one.parse()?), None),
        },
        [session, id, ..] => {
            let found = record_id(id).ok_or_else(|| {
                Error::usage(format!("'{id}' is not an id, such as REQ-001 or TASK-002"))
                    .hint(format!("git cowork trace {session}"))
            })?;
            (Some(session.parse()?), Some(found))
        }
    })
}

/// Converts an id to the form used in records: `req-1` becomes `REQ-001`.
fn record_id(word: &str) -> Option<String> {
    let word = word.to_ascii_uppercase();
    let kind = IdKind::of_id(&word)?;
    let number = number_of(kind, &word)?;
    let part = word.split_once('.').map(|(_, part)| format!(".{part}")).unwrap_or_default();
    Some(kind.format(number) + &part)
}

/// Finds the session as other commands do. If no session is unfinished, or the session's branch is
/// gone, reads the session from the checked-out commit.
fn session(context: &Context, git: &Git, name: Option<&SessionName>) -> anyhow::Result<Session> {
    let refs = context.refs()?;
    let named = name.or(context.global.session.as_ref());
    let found = match named {
        Some(name) if !exists(git, &refs, name)? => find_in_tree(git, name)?,
        Some(_) => None,
        None if default_session(git, &refs).is_err() => {
            let (newest, _) = delivered_here(git)?;
            let newest =
                newest.into_iter().max_by(|a, b| a.file.created_at.cmp(&b.file.created_at));
            let Some(session) = newest else {
                let found = delivered::name(context, None);
                let name = found.or_else(|error| newest_archived(context)?.ok_or(error))?;
                return find::readable(context, Some(&name));
            };
            let text = format!("session {}, the newest delivered one", session.name);
            context.ui.emit(Event::Note { text });
            Some(session)
        }
        None => None,
    };
    match found {
        Some(session) => Ok(session),
        None => find::readable(context, named),
    }
}

/// The completed session with the newest commit, including archived sessions.
fn newest_archived(context: &Context) -> anyhow::Result<Option<SessionName>> {
    let (sessions, _) = find::every(context, true)?;
    let delivered = sessions.into_iter().filter(Head::is_completed);
    Ok(delivered.max_by_key(Head::time).map(|head| head.name().clone()))
}

/// The commit whose lines are traced: the checked-out commit if it contains the session, otherwise
/// the session's tip.
fn seen_at(git: &Git, session: &Session) -> anyhow::Result<Oid> {
    let head = git.head()?.oid().cloned();
    let Some(head) = head.filter(|head| *head != session.tip) else {
        return Ok(session.tip.clone());
    };
    let has_it = git::refs::is_ancestor(git, &session.tip, &head)?
        || merged_in(git, session, &head)?.is_some();
    Ok(if has_it { head } else { session.tip.clone() })
}

fn require_known(session: &Session, records: &Records, id: &str) -> anyhow::Result<()> {
    let mut ids: Vec<&str> = records.requirements.iter().map(|one| one.id.as_str()).collect();
    ids.extend(records.features.iter().map(|one| one.id.as_str()));
    ids.extend(records.components.iter().map(|one| one.id.as_str()));
    ids.extend(records.plan.tasks.iter().map(|one| one.id.as_str()));
    if ids.contains(&id) {
        return Ok(());
    }
    let error = Error::repository(format!("'{}' has no {id}", session.name));
    let all = format!("its ids: git cowork trace {}", session.name);
    Err(hinted(error, id, ids, all).into())
}

/// The lines for a requirement. The files of a task are listed only once.
fn text<'a>(branch: &'a RequirementTrace, shown: &mut BTreeSet<&'a str>, paint: &Paint) -> String {
    let mut out = match &branch.requirement {
        Some(one) => format!("{}\n", paint.green(&format!("{} {}", one.id, line(&one.title)))),
        None => "Without a requirement\n".to_owned(),
    };
    if let Some(why) = &branch.why {
        let shared = branch.features.iter().flat_map(|of| &of.tasks).any(|t| !t.shared.is_empty());
        let why = if shared { why.clone() } else { format!("no line is left: {why}") };
        let _ = writeln!(out, "  {}", paint.red(&why));
    }
    for feature in &branch.features {
        out += &of_feature(feature, shown, paint);
    }
    if !branch.files.is_empty() {
        out += "  lines that cannot be attributed to a single task\n";
        out += &files(&branch.files);
    }
    out
}

fn of_feature<'a>(
    feature: &'a FeatureTrace,
    shown: &mut BTreeSet<&'a str>,
    paint: &Paint,
) -> String {
    let mut out = format!("  {} {}\n", feature.id, line(&feature.title));
    for TaskTrace { id, title, commits, files: of, lines, known_by, component, shared, .. } in
        &feature.tasks
    {
        let commits: Vec<&str> = commits.iter().map(|id| id.get(..7).unwrap_or(id)).collect();
        let mut facts = vec![format!("{id} {}", line(title))];
        facts.extend(Some(component.clone()).filter(|component| !component.is_empty()));
        facts.push(match commits.is_empty() {
            true if !shared.is_empty() => "in the squash of several tasks".to_owned(),
            true => "no commit".to_owned(),
            false => paint.yellow(&commits.join(" ")),
        });
        let by = if *known_by == "plan" { ", according to the plan" } else { "" };
        let is_new = shown.insert(id);
        let above = if is_new || *lines == 0 { "" } else { ", listed above" };
        facts.push(count(*lines, "line") + by + above);
        if !shared.is_empty() {
            let files: Vec<String> = shared.iter().map(|path| line(path)).collect();
            facts.push(format!("files with lines of this task or another: {}", files.join(", ")));
        }
        let _ = writeln!(out, "    {}", facts.join(" · "));
        if is_new {
            out += &files(of);
        }
    }
    out
}

fn files(of: &[FileLines]) -> String {
    let mut out = String::new();
    for file in of {
        let range = |[first, last]: &[usize; 2]| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        let lines: Vec<String> = file.lines.iter().map(range).collect();
        let _ = writeln!(out, "      {} {}", line(&file.path), lines.join(", "));
    }
    out
}

fn line(text: &str) -> String {
    one_line(text, TITLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_a_session_an_id_or_both() {
        let of = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|one| (*one).to_owned()).collect();
            words(&given).map(|(name, id)| (name.map(|name| name.to_string()), id)).ok()
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(of(&[]), Some((None, None)));
        assert_eq!(of(&["todo"]), Some((text("todo"), None)));
        assert_eq!(of(&["req-1"]), Some((None, text("REQ-001"))));
        assert_eq!(of(&["todo--x", "TASK-002.1"]), Some((text("todo--x"), text("TASK-002.1"))));
        assert_eq!(of(&["todo", "nothing"]), None);
        // This looks like an id, but is a session name.
        assert_eq!(of(&["task-force"]), Some((text("task-force"), None)));
    }
}
