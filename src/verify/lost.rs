//! Silent losses in merges: records of a change request that are missing from the merge result, and
//! committed conflict markers.

use std::collections::BTreeSet;

use anyhow::Result;

use super::problem::{Problem, short};
use crate::artifact::sections::Record;
use crate::artifact::{Artifact, Files as _, records_of};
use crate::git::{self, Git, Oid};
use crate::session::{CommittedFiles, MergedChange, Session, artifact_path, key};

/// The Markdown documents; a JSON file with a conflict is reported as unreadable instead.
const PROSE: [Artifact; 4] = [Artifact::Idea, Artifact::Prd, Artifact::Design, Artifact::Plan];

pub(super) fn problems(
    git: &Git,
    session: &Session,
    changes: &[MergedChange],
) -> Result<Vec<Problem>> {
    let mut problems = conflicts(git, session)?;
    let here = records_at(git, session, &session.tip)?;
    let mut added = Vec::new();
    for change in changes {
        added.push(if is_whole(git, session, change)? {
            records_added(git, session, change)?
        } else {
            Vec::new()
        });
    }
    for (at, change) in changes.iter().enumerate() {
        for record in &added[at] {
            let id = id_now(session, change, record.id());
            let of_another = |other: &Record| {
                let others = added.iter().enumerate().filter(|(number, _)| *number != at);
                others.flat_map(|(_, records)| records).any(|one| is_called_as(one, other))
            };
            // The record may have got another id, or a person may have edited its title.
            let is_it = |other: &Record| {
                is_called_as(record, other) || other.id() == id && !of_another(other)
            };
            if here.iter().any(is_it) || was_taken_out(git, session, change, record)? {
                continue;
            }
            let path = artifact_path(&session.name, record.kind().artifact());
            let (id, title) = (record.id(), record.title());
            let details = format!("{id} of {} is missing: {title}", change.name);
            problems.push(Problem::new(session, "lost-record", id, details).fix(format!(
                "it was lost in a merge; even if it is not needed, restore it, and only then \
                 remove it in a separate commit; restore it in {path} from: git show {}:{path}",
                short(&change.tip)
            )));
        }
    }
    Ok(problems)
}

/// Conflict markers in a document.
fn conflicts(git: &Git, session: &Session) -> Result<Vec<Problem>> {
    let files = CommittedFiles::new(git, &session.name, &session.tip);
    let mut problems = Vec::new();
    for artifact in PROSE {
        let Some(text) = files.read(artifact)? else { continue };
        let first = text.lines().position(|line| line.starts_with("<<<<<<< "));
        let closes = text.lines().any(|line| line.starts_with(">>>>>>> "));
        if let Some(line) = first.filter(|_| closes) {
            let path = artifact_path(&session.name, artifact);
            let details = format!("{path} contains conflict markers, from line {}", line + 1);
            problems.push(
                Problem::new(session, "conflict-marker", &path, details)
                    .fix(format!("resolve it in {path} by hand, then commit")),
            );
        }
    }
    Ok(problems)
}

/// True if the change request was merged as it is at its known tip. After a squash, compares the
/// delivery reports, because git does not show what was squashed.
fn is_whole(git: &Git, session: &Session, change: &MergedChange) -> Result<bool> {
    if git::refs::is_ancestor(git, &change.tip, &session.tip)? {
        return Ok(true);
    }
    let report = artifact_path(&change.name, Artifact::DeliveryReport);
    let there = git::snapshot::blob_id(git, &session.tip, &report)?;
    Ok(there.is_some() && there == git::snapshot::blob_id(git, &change.tip, &report)?)
}

/// True if both are records of the same kind with the same title, whatever their ids.
fn is_called_as(one: &Record, other: &Record) -> bool {
    (one.kind(), one.title()) == (other.kind(), other.title())
}

fn records_at(git: &Git, session: &Session, commit: &Oid) -> Result<Vec<Record>> {
    let files = CommittedFiles::new(git, &session.name, commit);
    Ok(records_of(&files)?.into_records().collect())
}

/// The records added by a change request; empty if its start is unknown or unreadable.
fn records_added(git: &Git, session: &Session, change: &MergedChange) -> Result<Vec<Record>> {
    let Some(start) = &change.start else { return Ok(Vec::new()) };
    let (Ok(before), Ok(after)) =
        (records_at(git, session, start), records_at(git, session, &change.tip))
    else {
        return Ok(Vec::new());
    };
    let known: BTreeSet<&str> = before.iter().map(Record::id).collect();
    let added = after.into_iter().filter(|record| !known.contains(record.id()));
    Ok(added.collect())
}

/// The current id of a change request's record after renumbering.
fn id_now(session: &Session, change: &MergedChange, id: &str) -> String {
    let (task, part) = id.split_at(id.find('.').unwrap_or(id.len()));
    let mut now = task.to_owned();
    for entry in &session.history {
        for moved in entry.trailers.all(key::RENUMBERED) {
            let [name, from, to] = moved.split(' ').collect::<Vec<_>>()[..] else { continue };
            if name == change.name.as_str() && from == now {
                to.clone_into(&mut now);
            }
        }
    }
    now + part
}

/// True if an ordinary commit, by a person or a later change request, removed a record. Merges are
/// ignored: a record missing from a merge was not removed on purpose.
fn was_taken_out(
    git: &Git,
    session: &Session,
    change: &MergedChange,
    record: &Record,
) -> Result<bool> {
    let path = artifact_path(&session.name, record.kind().artifact());
    let log = git.read(["log", "--no-merges", "--min-parents=1", "--format=%H %P"]);
    let log = log.args([session.tip.as_str(), "--not", change.tip.as_str(), "--", &path]);
    for line in log.checked()?.text().lines() {
        let Some((commit, parent)) = line.split_once(' ') else { continue };
        let has = |commit: &str| -> Result<bool> {
            // An unreadable version counts as one without records.
            let records = records_at(git, session, &commit.parse()?).unwrap_or_default();
            Ok(records.iter().any(|other| is_called_as(record, other)))
        };
        if has(parent)? && !has(commit)? {
            return Ok(true);
        }
    }
    Ok(false)
}
