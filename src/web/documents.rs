//! The section on documents: each document as it is, and the diffs between its drafts, with the
//! feedback on the earlier draft.

use serde_json::{Value, json};

use super::changes::patch;
use super::markdown::markdown;
use super::room::{DOCUMENT, Room, VERSIONS};
use super::source::Source;
use super::template::short;
use super::versions::{Version, versions};
use crate::artifact::Artifact;
use crate::clock;
use crate::git::Object;
use crate::git::patches::patches;
use crate::session::Step;

/// Maximum length of a remark that is not folded.
const REMARK: usize = 300;

pub(super) fn read(source: &Source<'_>, room: &mut Room) -> anyhow::Result<Value> {
    let steps = source.steps()?;
    let mut all = Vec::new();
    for artifact in Artifact::ALL.into_iter().filter(|artifact| !artifact.is_json()) {
        let versions = versions(source, artifact)?;
        if let Some(newest) = versions.last() {
            all.push(document(source, room, artifact, newest, &versions, &steps)?);
        }
    }
    Ok(json!(all))
}

/// The id of a document, for links.
pub(super) fn id(artifact: Artifact) -> String {
    format!("document-{}", artifact.file_name().trim_end_matches(".md").replace('_', "-"))
}

fn document(
    source: &Source<'_>,
    room: &mut Room,
    artifact: Artifact,
    newest: &Version,
    versions: &[Version],
    steps: &[Step],
) -> anyhow::Result<Value> {
    let bytes = source.git.reader().blob(Object::Id(&newest.blob))?;
    // Secrets are removed before the text is cut: half of an API key would not be recognized.
    let text = bytes.map(|bytes| source.clean(&String::from_utf8_lossy(&bytes)));
    let command = format!("git cat-file blob {}", newest.blob.short());
    let (shown, cut) = match &text {
        Some(text) => room.take(text, DOCUMENT, &command),
        None => ("", Value::Null),
    };
    let older = versions.len().saturating_sub(VERSIONS);
    room.left_out += older;
    let mut differences = Vec::new();
    for (before, after) in versions.iter().zip(versions.iter().skip(1)).skip(older) {
        differences.push(difference(source, room, before, after, steps)?);
    }
    Ok(json!({
        "id": id(artifact),
        "name": artifact.file_name(),
        "label": newest.label,
        // The report is unfolded at first, because a reviewer reads it first.
        "open": artifact == Artifact::DeliveryReport,
        "text": text.is_some().then(|| markdown(source.secrets, shown)),
        "cut": cut,
        "older": older,
        "differences": differences,
    }))
}

/// The diff between two versions, with the remarks on the earlier one.
fn difference(
    source: &Source<'_>,
    room: &mut Room,
    before: &Version,
    after: &Version,
    steps: &[Step],
) -> anyhow::Result<Value> {
    let found = patches(source.git, &before.blob, &after.blob, &[])?;
    let command = format!("git diff {} {}", before.blob.short(), after.blob.short());
    let all: Vec<Value> = found.iter().map(|one| patch(source, room, one, &command)).collect();
    let counts = all.last().and_then(|one| one["counts"].as_str()).unwrap_or_default();
    let remarks = remarks(steps, before, after);
    Ok(json!({
        "label": format!("{} → {} {counts}", before.label, after.label),
        "remarks": remarks.iter().map(|remark| short(remark, REMARK)).collect::<Vec<Value>>(),
        "patches": all,
    }))
}

/// The feedback on the drafts that contain a version, given before the next version existed.
fn remarks(steps: &[Step], version: &Version, next: &Version) -> Vec<String> {
    let is_of = |step: &&Step| {
        let draft = step.stage.zip(step.iteration);
        let when = clock::parse_rfc3339(&step.timestamp).unwrap_or(0);
        matches!(step.event, "feedback" | "review_answered")
            && draft.is_some_and(|draft| version.drafts.contains(&draft))
            && (version.since..=next.since).contains(&when)
    };
    let mut remarks: Vec<String> = steps.iter().filter(is_of).map(Step::words).collect();
    remarks.dedup();
    remarks
}
