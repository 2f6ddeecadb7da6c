//! The section on documents: each document as it is, and the diffs between its drafts, with the
//! feedback on the earlier draft.
//!
//! Versions of a document are its drafts, the committed one, the current one.

use serde_json::{Value, json};

use super::changes::patch;
use super::markdown::markdown;
use super::room::{DOCUMENT, PageRoom, VERSIONS};
use super::source::PageSource;
use super::template::short;
use crate::artifact::Artifact;
use crate::clock;
use crate::git::patches::patches;
use crate::git::{EntryKind, Object, Oid};
use crate::session::{Entry, Kind, RefNames, Step, Verdict, artifact_path};
use crate::stage::Stage;

/// Maximum length of a remark that is not folded.
const REMARK: usize = 300;

pub(super) fn read(source: &PageSource<'_>, room: &mut PageRoom) -> anyhow::Result<Value> {
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
    source: &PageSource<'_>,
    room: &mut PageRoom,
    artifact: Artifact,
    newest: &DocumentVersion,
    versions: &[DocumentVersion],
    steps: &[Step],
) -> anyhow::Result<Value> {
    let path = artifact_path(&source.session().name, artifact);
    let bytes =
        source.git.reader().blob(Object::Document(&newest.blob, &source.session().tip, &path))?;
    // Secrets are removed before the text is cut: half of an API key would not be recognized.
    let text = bytes.map(|bytes| source.clean(&String::from_utf8_lossy(&bytes)));
    let command = format!("git cat-file blob {}", newest.blob.short());
    let (excerpt, cut) = match &text {
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
        "text": text.is_some().then(|| markdown(source.secrets, excerpt)),
        "cut": cut,
        "older": older,
        "differences": differences,
    }))
}

/// The diff between two versions, with the remarks on the earlier one.
fn difference(
    source: &PageSource<'_>,
    room: &mut PageRoom,
    before: &DocumentVersion,
    after: &DocumentVersion,
    steps: &[Step],
) -> anyhow::Result<Value> {
    let file_patches = patches(source.git, &before.blob, &after.blob, &[])?;
    let command = format!("git diff {} {}", before.blob.short(), after.blob.short());
    let all: Vec<Value> =
        file_patches.iter().map(|one| patch(source, room, one, &command)).collect();
    let counts = all.last().and_then(|one| one["counts"].as_str()).unwrap_or_default();
    let remarks = remarks(steps, before, after);
    Ok(json!({
        "label": format!("{} → {} {counts}", before.label, after.label),
        "remarks": remarks.iter().map(|remark| short(remark, REMARK)).collect::<Vec<Value>>(),
        "patches": all,
    }))
}

/// The feedback on the drafts that contain a version, given before the next version existed.
fn remarks(steps: &[Step], version: &DocumentVersion, next: &DocumentVersion) -> Vec<String> {
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

/// Maximum number of drafts of a stage that are read, from the newest on.
const DRAFTS: usize = 200;

/// A version of a document.
pub(super) struct DocumentVersion {
    /// Its label, such as `prd draft 1` or `recorded with prd`; several labels if the bytes are
    /// equal.
    pub(super) label: String,
    /// Its content.
    pub(super) blob: Oid,
    /// The drafts that contain it: stage and number.
    pub(super) drafts: Vec<(Stage, u32)>,
    /// When it first existed (Unix seconds).
    pub(super) since: i64,
}

/// A commit that may contain a version.
struct VersionCommit {
    label: String,
    commit: Oid,
    draft: Option<(Stage, u32)>,
    time: i64,
}

/// The versions of a document, oldest first, each different from the one before.
pub(super) fn versions(
    source: &PageSource<'_>,
    artifact: Artifact,
) -> anyhow::Result<Vec<DocumentVersion>> {
    let session = source.session();
    let mut places = Vec::new();
    if let Some(start) = session.history.first() {
        places.push(VersionCommit::from_entry("at the start".to_owned(), start));
    }
    for stage in session.order() {
        if session.row(stage).artifacts.contains(&artifact) {
            places.extend(of_stage(source, stage)?);
        }
    }
    let path = artifact_path(&session.name, artifact);
    let tip = source.git.reader().commit(&session.tip)?;
    let now = VersionCommit {
        label: String::new(),
        commit: session.tip.clone(),
        draft: None,
        time: tip.committer_time,
    };
    let mut versions: Vec<DocumentVersion> = Vec::new();
    for place in places.into_iter().chain([now]) {
        let entry = source.git.reader().entries(&place.commit, &[&path])?.pop().flatten();
        if let Some(entry) = entry.filter(|entry| entry.kind == EntryKind::File) {
            place.join(&mut versions, entry.oid);
        }
    }
    Ok(versions)
}

impl VersionCommit {
    fn from_entry(label: String, entry: &Entry) -> Self {
        Self { label, commit: entry.commit.clone(), draft: None, time: entry.time }
    }

    /// Adds `blob` as a new version or, if the last version has the same content, adds this place
    /// to that version.
    fn join(self, versions: &mut Vec<DocumentVersion>, blob: Oid) {
        let Self { label, draft, time: since, .. } = self;
        match versions.last_mut() {
            Some(last) if last.blob == blob => {
                // A draft may be saved again unchanged.
                if !last.label.ends_with(&label) {
                    last.label = format!("{}, {label}", last.label);
                }
                last.drafts.extend(draft);
            }
            _ => {
                let label = if label.is_empty() { "now".to_owned() } else { label };
                versions.push(DocumentVersion {
                    label,
                    blob,
                    drafts: draft.into_iter().collect(),
                    since,
                });
            }
        }
    }
}

/// The drafts of a stage, oldest first, and its commit.
fn of_stage(source: &PageSource<'_>, stage: Stage) -> anyhow::Result<Vec<VersionCommit>> {
    let session = source.session();
    let mut drafts = saved_drafts(source, stage)?;
    for entry in &session.history {
        let is_listed = drafts.iter().any(|draft| draft.commit == entry.commit);
        if entry.kind == Kind::Draft(stage) && !is_listed {
            drafts.push(entry.clone());
        }
    }
    drafts.sort_by_key(|draft| draft.time);
    let place = |entry: &Entry| {
        let draft = Some((stage, entry.iterations()));
        VersionCommit {
            draft,
            ..VersionCommit::from_entry(format!("{stage} draft {}", entry.iterations()), entry)
        }
    };
    let mut all: Vec<VersionCommit> = drafts.iter().map(place).collect();
    let stage_commit = session.stage_entry(stage);
    all.extend(
        stage_commit
            .map(|entry| VersionCommit::from_entry(format!("recorded with {stage}"), entry)),
    );
    Ok(all)
}

/// The drafts in the stage's draft ref, oldest first: each has the one before it as a parent.
fn saved_drafts(source: &PageSource<'_>, stage: Stage) -> anyhow::Result<Vec<Entry>> {
    let session = source.session();
    let reader = source.git.reader();
    let mut next = source.git.resolve(RefNames::draft(&session.name, stage).as_str())?;
    let mut drafts = Vec::new();
    while let Some(id) = next.filter(|_| drafts.len() < DRAFTS) {
        // An older draft may have been pruned in a shallow or partial clone.
        let Ok(commit) = reader.commit(&id) else { break };
        next = commit.parents.get(1).cloned();
        let Some(entry) = Entry::from_commit(&commit, &session.file.id) else { break };
        // The commit that ends an aborted draft is not a draft.
        if matches!(entry.kind, Kind::Draft(_)) && entry.verdict() != Some(Verdict::Aborted) {
            drafts.push(entry);
        }
    }
    drafts.reverse();
    Ok(drafts)
}
