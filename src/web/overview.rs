//! The top of the page: the session, its state and its stages.

use super::html::Html;
use super::source::Source;
use crate::artifact::record_diff::count;
use crate::clock;
use crate::session::{Kind, key};
use crate::stage::Stage;

/// Maximum length of a title.
const TITLE: usize = 200;

pub(super) fn write(source: &Source<'_>, html: &mut Html<'_>) {
    let (status, session) = (source.status, source.session());
    let file = &session.file;
    html.raw("<h1>").isolated(&crate::clean::one_line(&file.title, TITLE)).raw("</h1>\n");
    html.element("p", &[("class", "soft")], &format!("git-cowork session {}", session.name));
    let state = match (&status.stop, status.stage) {
        (Some(stop), _) => format!("stopped: {}", stop.why),
        (None, Some(stage)) => format!("{}, at {stage}", words(status.state.name())),
        (None, None) => words(status.state.name()),
    };
    let base = &file.base.branch;
    let base = if base.is_empty() { "a detached HEAD" } else { base };
    html.raw("<dl class=\"facts\">\n");
    fact(html, "State", &state);
    fact(html, "Branch", &format!("{}, based on {base}", status.branch));
    if let Some(parent) = &file.parent {
        fact(html, "Changes", parent.session.as_str());
    }
    fact(html, "Depth", &session.depth().to_string());
    fact(html, "Started", &moment(&file.created_at));
    if status.used.total.requests > 0 || status.used.total.tokens() > 0 {
        fact(html, "Used", &status.used.words());
    }
    if let Some(cost) = status.used.total.cost() {
        fact(html, "Cost", &cost);
    }
    html.raw("<dt>Next</dt><dd>").element("code", &[], &status.next_command());
    html.raw("</dd>\n</dl>\n");
    if file.idea.trim() != file.title.trim() && !file.idea.trim().is_empty() {
        let mut idea = html.part();
        idea.element("p", &[("class", "long")], file.idea.trim());
        html.folded("The idea as it was given", idea);
    }
    rail(source, html);
}

fn fact(html: &mut Html<'_>, name: &'static str, value: &str) {
    html.raw("<dt>").raw(name).raw("</dt><dd>").isolated(value).raw("</dd>\n");
}

/// The stages; for each finished stage, how it was passed.
fn rail(source: &Source<'_>, html: &mut Html<'_>) {
    let session = source.session();
    html.raw("<ol class=\"rail\" aria-label=\"Stages\">\n");
    for (stage, how) in source.passed {
        let (class, sign) = match session.done().contains(stage) {
            true => ("done", "✓"),
            false if source.status.stage == Some(*stage) => ("now", "●"),
            false => ("later", "·"),
        };
        html.open("li", &[("class", class)]);
        html.element("strong", &[], &format!("{sign} {stage}"));
        match session.stage_entry(*stage).filter(|_| class == "done") {
            Some(entry) => {
                html.raw("<span>").isolated(how).raw("</span>\n");
                html.element("span", &[], entry.commit.short());
            }
            None => {
                html.element("span", &[], &standing(source, *stage, class));
            }
        }
        html.close("li");
    }
    html.close("ol");
}

fn standing(source: &Source<'_>, stage: Stage, class: &str) -> String {
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
