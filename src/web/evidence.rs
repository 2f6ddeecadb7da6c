//! The section on evidence: the commands that git-cowork itself ran, on which tree, with their
//! logs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::overview::{checks, subject};
use super::room::{LOG, PageRoom};
use super::source::PageSource;
use crate::excerpt::plain;
use crate::git::{Object, refs};
use crate::record::logs::Evidence;
use crate::session::{TestResults, key};

pub(super) fn read(source: &PageSource<'_>, room: &mut PageRoom) -> anyhow::Result<Value> {
    let mut named_logs = BTreeSet::new();
    let mut commits = Vec::new();
    for entry in &source.session().history {
        let checks = checks(entry);
        if checks.is_none() && entry.trailers.get(key::EVIDENCE).is_none() {
            continue;
        }
        let mut runs = Vec::new();
        for run in entry.trailers.all(key::EVIDENCE) {
            runs.push(match Evidence::parse(run) {
                Some(run) => log(source, room, &run, &mut named_logs)?,
                None => json!({"said": run, "log": null}),
            });
        }
        commits.push(json!({
            "subject": subject(Some(&entry.kind), &entry.subject),
            "commit": entry.commit.short(),
            "checks": checks,
            "tests": TestResults::read(source.git, &entry.trailers)?.lines,
            "runs": runs,
        }));
    }
    Ok(json!(commits))
}

/// A run with its log; a log that was already shown is only named.
fn log(
    source: &PageSource<'_>,
    room: &mut PageRoom,
    run: &Evidence<'_>,
    named_logs: &mut BTreeSet<String>,
) -> anyhow::Result<Value> {
    let summary = format!("{} (log {}, tree {})", run.said, run.log, run.tree);
    if !named_logs.insert(run.log.to_owned()) {
        return Ok(json!({"said": format!("{summary}: as above"), "log": null}));
    }
    let blob = match refs::object_id(source.git, run.log)? {
        Some(id) => source.git.reader().blob(Object::Id(&id))?,
        None => None,
    };
    let Some(blob) = blob else {
        let summary = format!("{summary}: the log is not in this clone");
        return Ok(json!({"said": summary, "log": null}));
    };
    let text = source.clean(&plain(&String::from_utf8_lossy(&blob)));
    let command = format!("git notes --ref cowork show {}", run.log);
    let (excerpt, cut) = room.take_ends(text.trim_end(), LOG, &command);
    let lines = if excerpt.is_empty() { "it printed nothing" } else { &excerpt };
    Ok(json!({"said": summary, "log": lines, "cut": cut}))
}
