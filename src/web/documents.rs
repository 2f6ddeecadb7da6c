//! The section on documents: each document as it is, and the diffs between its drafts, with the
//! feedback on the earlier draft.

use super::html::Html;
use super::markdown::markdown;
use super::patch::{counts, patch};
use super::room::{DOCUMENT, Room, VERSIONS};
use super::source::Source;
use super::versions::{Version, versions};
use crate::artifact::Artifact;
use crate::clock;
use crate::git::patches::patches;
use crate::git::{Object, Oid};
use crate::session::Step;

/// Maximum length of a remark that is not folded.
const REMARK: usize = 300;

pub(super) fn write(
    source: &Source<'_>,
    room: &mut Room,
    html: &mut Html<'_>,
) -> anyhow::Result<()> {
    let steps = source.steps()?;
    let mut any = false;
    for artifact in Artifact::ALL.into_iter().filter(|artifact| !artifact.is_json()) {
        let versions = versions(source, artifact)?;
        if let Some(newest) = versions.last() {
            any = true;
            html.open("h3", &[("id", &id(artifact))]).text(artifact.file_name()).raw("</h3>\n");
            document(source, room, html, artifact, newest)?;
            differences(source, room, html, &versions, &steps)?;
        }
    }
    if !any {
        html.raw("<p>No document is written yet.</p>\n");
    }
    Ok(())
}

/// The id of a document, for links.
pub(super) fn id(artifact: Artifact) -> String {
    format!("document-{}", artifact.file_name().trim_end_matches(".md").replace('_', "-"))
}

fn document(
    source: &Source<'_>,
    room: &mut Room,
    html: &mut Html<'_>,
    artifact: Artifact,
    newest: &Version,
) -> anyhow::Result<()> {
    let Some(text) = read(source, &newest.blob)? else { return Ok(()) };
    // Secrets are removed before the text is cut: half of an API key would not be recognized.
    let text = html.clean(&text);
    let command = format!("git cat-file blob {}", newest.blob.short());
    let mut cut = html.part();
    let shown = room.take(&text, DOCUMENT, &command, &mut cut);
    let mut inner = html.part();
    inner.raw("<div class=\"document\">\n");
    markdown(&mut inner, shown);
    inner.close("div").add(cut);
    // The report is unfolded at first, because a reviewer reads it first.
    let open = artifact == Artifact::DeliveryReport;
    html.raw(if open { "<details open><summary>" } else { "<details><summary>" });
    html.text("Read it (").isolated(&newest.label).raw(")</summary>\n").add(inner);
    html.close("details");
    Ok(())
}

/// The diffs between the versions.
fn differences(
    source: &Source<'_>,
    room: &mut Room,
    html: &mut Html<'_>,
    versions: &[Version],
    steps: &[Step],
) -> anyhow::Result<()> {
    let from = versions.len().saturating_sub(VERSIONS);
    if from > 0 {
        room.left_out += from;
        let text = format!("{from} older versions are left out here: see git cowork log");
        html.element("p", &[("class", "note")], &text);
    }
    for (before, after) in versions.iter().zip(versions.iter().skip(1)).skip(from) {
        let mut inner = html.part();
        let remarks = remarks(steps, before, after);
        if !remarks.is_empty() {
            inner.raw("<ul>\n");
            for remark in remarks {
                inner.raw("<li>").short(&remark, REMARK).raw("</li>\n");
            }
            inner.close("ul");
        }
        let found = patches(source.git, &before.blob, &after.blob, &[])?;
        let command = format!("git diff {} {}", before.blob.short(), after.blob.short());
        let mut lines = String::new();
        for one in &found {
            lines = counts(one);
            patch(&mut inner, room, one, &command);
        }
        html.folded(&format!("{} → {} {lines}", before.label, after.label), inner);
    }
    Ok(())
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

fn read(source: &Source<'_>, blob: &Oid) -> anyhow::Result<Option<String>> {
    let bytes = source.git.reader().blob(Object::Id(blob))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}
