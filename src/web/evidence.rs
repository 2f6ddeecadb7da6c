//! The section on evidence: the commands that git-cowork itself ran, on which tree, with their
//! logs.

use std::collections::BTreeSet;

use super::html::Html;
use super::overview::{checks, subject};
use super::room::{LOG, Room};
use super::source::Source;
use crate::excerpt::plain;
use crate::git::{Object, refs};
use crate::record::logs::Evidence;
use crate::session::{Entry, TestResults, key};

pub(super) fn write(
    source: &Source<'_>,
    room: &mut Room,
    html: &mut Html<'_>,
) -> anyhow::Result<()> {
    let mut told = BTreeSet::new();
    let told_of =
        |entry: &&Entry| checks(entry).is_some() || entry.trailers.get(key::EVIDENCE).is_some();
    for entry in source.session().history.iter().filter(told_of) {
        of_commit(source, room, html, entry, &mut told)?;
    }
    if html_is_empty(source) {
        html.raw("<p>git-cowork has not run any check on the session's commits yet.</p>\n");
    }
    Ok(())
}

fn html_is_empty(source: &Source<'_>) -> bool {
    let mut history = source.session().history.iter();
    !history.any(|e| checks(e).is_some() || e.trailers.get(key::EVIDENCE).is_some())
}

fn of_commit(
    source: &Source<'_>,
    room: &mut Room,
    html: &mut Html<'_>,
    entry: &Entry,
    told: &mut BTreeSet<String>,
) -> anyhow::Result<()> {
    html.raw("<h3>").isolated(&subject(Some(&entry.kind), &entry.subject)).raw("</h3>\n");
    html.raw("<p class=\"soft\">").element("code", &[], entry.commit.short());
    if let Some(checks) = checks(entry) {
        html.raw(" · ").isolated(checks);
    }
    html.raw("</p>\n");
    let tests = TestResults::of(source.git, &entry.trailers)?.lines;
    if !tests.is_empty() {
        html.raw("<ul>\n");
        for test in tests {
            html.raw("<li>").isolated(&test).raw("</li>\n");
        }
        html.close("ul");
    }
    for run in entry.trailers.all(key::EVIDENCE) {
        match Evidence::parse(run) {
            Some(run) => log(source, room, html, &run, told)?,
            None => {
                html.element("p", &[], run);
            }
        }
    }
    Ok(())
}

/// A run with its log; a log that was already shown is only named.
fn log(
    source: &Source<'_>,
    room: &mut Room,
    html: &mut Html<'_>,
    run: &Evidence<'_>,
    told: &mut BTreeSet<String>,
) -> anyhow::Result<()> {
    let said = format!("{} (log {}, tree {})", run.said, run.log, run.tree);
    if !told.insert(run.log.to_owned()) {
        html.element("p", &[], &format!("{said}: as above"));
        return Ok(());
    }
    let blob = match refs::object_id(source.git, run.log)? {
        Some(id) => source.git.reader().blob(Object::Id(&id))?,
        None => None,
    };
    let Some(blob) = blob else {
        html.element("p", &[], &format!("{said}: the log is not in this clone"));
        return Ok(());
    };
    let text = html.clean(&plain(&String::from_utf8_lossy(&blob)));
    let command = format!("git notes --ref cowork show {}", run.log);
    let mut inner = html.part();
    let mut cut = html.part();
    let shown = room.take_ends(text.trim_end(), LOG, &command, &mut cut);
    let shown = if shown.is_empty() { "it printed nothing" } else { &shown };
    inner.open("pre", &[("class", "log")]).text(shown).close("pre");
    inner.add(cut);
    html.folded(&said, inner);
    Ok(())
}
