//! The top of the page: the session, its state and its stages.

use serde_json::{Value, json};

use super::source::PageSource;
use crate::artifact::record_diff::count;
use crate::clock;
use crate::session::{Kind, key};
use crate::stage::Stage;

/// Maximum length of a title.
const TITLE: usize = 200;

pub(super) fn read(source: &PageSource<'_>) -> Value {
    let (status, session) = (source.status, source.session());
    let file = &session.file;
    let state = match (&status.stop, status.stage) {
        (Some(stop), _) => format!("stopped: {}", stop.why),
        (None, Some(stage)) => format!("{}, at {stage}", words(status.state.name())),
        (None, None) => words(status.state.name()),
    };
    let base = &file.base.branch;
    let base = if base.is_empty() { "a detached HEAD" } else { base };
    let used = &status.used.total;
    let is_used = used.requests > 0 || used.tokens() > 0;
    let facts = [
        ("State", Some(state)),
        ("Branch", Some(format!("{}, based on {base}", status.branch))),
        ("Changes", file.parent.as_ref().map(|parent| parent.session.clone())),
        ("Depth", Some(session.depth().to_string())),
        ("Started", Some(moment(&file.created_at))),
        ("Used", is_used.then(|| status.used.words())),
        ("Cost", used.cost()),
    ];
    let idea = file.idea.trim();
    json!({
        "title": crate::clean::one_line(&file.title, TITLE),
        "facts": facts.into_iter().filter(|(_, value)| value.is_some()).collect::<Vec<_>>(),
        "next": status.next_command(),
        "idea": if idea == file.title.trim() { "" } else { idea },
        "stages": source.passed.iter().map(|(stage, how)| row(source, *stage, how)).collect::<Vec<_>>(),
    })
}

/// A stage; for a finished one, how it was passed.
fn row(source: &PageSource<'_>, stage: Stage, how: &str) -> Value {
    let session = source.session();
    let (class, sign) = match session.done().contains(&stage) {
        true => ("done", "✓"),
        false if source.status.stage == Some(stage) => ("now", "●"),
        false => ("later", "·"),
    };
    let entry = session.stage_entry(stage).filter(|_| class == "done");
    json!({
        "class": class,
        "sign": sign,
        "name": stage.name(),
        "how": entry.map(|_| how),
        "standing": match entry {
            Some(entry) => entry.commit.short().to_owned(),
            None => standing(source, stage, class),
        },
    })
}

fn standing(source: &PageSource<'_>, stage: Stage, class: &str) -> String {
    let (status, session) = (source.status, source.session());
    match class {
        "done" => "in a later commit".to_owned(),
        "later" => "to come".to_owned(),
        _ if status.tasks.1 > 0 => {
            format!("{} of {}", status.tasks.0, count(status.tasks.1, "task"))
        }
        _ if session.waiting().is_some_and(|waiting| waiting.stage == stage) => {
            format!("draft {} waits for review", status.iteration)
        }
        _ if status.iteration > 0 => format!("draft {}", status.iteration),
        _ => "comes next".to_owned(),
    }
}

/// `in progress` for `in_progress`.
fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// A time to the minute.
pub(super) fn moment(rfc3339: &str) -> String {
    match clock::parse_rfc3339(rfc3339) {
        Some(_) => rfc3339.get(..16).unwrap_or_default().replace('T', " ") + " UTC",
        None => rfc3339.to_owned(),
    }
}

/// The subject of a commit. For a task's commit, the stage is left out.
pub(super) fn subject(kind: Option<&Kind>, subject: &str) -> String {
    // `coding: TASK-001 …` becomes `TASK-001 …`; a person's subject is not changed.
    match kind {
        Some(Kind::Task(_)) => {
            subject.split_once(": ").map_or(subject, |(_, rest)| rest).to_owned()
        }
        _ => subject.to_owned(),
    }
}

/// The checks that git-cowork ran on a commit, if any.
pub(super) fn checks(entry: &crate::session::Entry) -> Option<&str> {
    entry.trailers.get(key::CHECKS).filter(|checks| *checks != "none")
}
