//! The versions of a document: its drafts, the committed one, the current one.

use super::source::Source;
use crate::artifact::Artifact;
use crate::git::{EntryKind, Oid};
use crate::session::{Entry, Kind, RefNames, Verdict, artifact_path};
use crate::stage::Stage;

/// Maximum number of drafts of a stage that are read, from the newest on.
const DRAFTS: usize = 200;

/// A version of a document.
pub(super) struct Version {
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
struct Place {
    label: String,
    commit: Oid,
    draft: Option<(Stage, u32)>,
    time: i64,
}

/// The versions of a document, oldest first, each different from the one before.
pub(super) fn versions(source: &Source<'_>, artifact: Artifact) -> anyhow::Result<Vec<Version>> {
    let session = source.session();
    let mut places = Vec::new();
    if let Some(start) = session.history.first() {
        places.push(Place::of("at the start".to_owned(), start));
    }
    for stage in session.order() {
        if session.row(stage).artifacts.contains(&artifact) {
            places.extend(of_stage(source, stage)?);
        }
    }
    let path = artifact_path(&session.name, artifact);
    let tip = source.git.reader().commit(&session.tip)?;
    let now = Place {
        label: String::new(),
        commit: session.tip.clone(),
        draft: None,
        time: tip.committer_time,
    };
    let mut found: Vec<Version> = Vec::new();
    for place in places.into_iter().chain([now]) {
        let entry = source.git.reader().entries(&place.commit, &[&path])?.pop().flatten();
        if let Some(entry) = entry.filter(|entry| entry.kind == EntryKind::File) {
            place.join(&mut found, entry.oid);
        }
    }
    Ok(found)
}

impl Place {
    fn of(label: String, entry: &Entry) -> Self {
        Self { label, commit: entry.commit.clone(), draft: None, time: entry.time }
    }

    /// Adds `blob` as a new version or, if the last version has the same content, adds this place
    /// to that version.
    fn join(self, found: &mut Vec<Version>, blob: Oid) {
        let Self { label, draft, time: since, .. } = self;
        match found.last_mut() {
            Some(last) if last.blob == blob => {
                // A draft may be saved again unchanged.
                if !last.label.ends_with(&label) {
                    last.label = format!("{}, {label}", last.label);
                }
                last.drafts.extend(draft);
            }
            _ => {
                let label = if label.is_empty() { "now".to_owned() } else { label };
                found.push(Version { label, blob, drafts: draft.into_iter().collect(), since });
            }
        }
    }
}

/// The drafts of a stage, oldest first, and its commit.
fn of_stage(source: &Source<'_>, stage: Stage) -> anyhow::Result<Vec<Place>> {
    let session = source.session();
    let mut drafts = kept(source, stage)?;
    for entry in &session.history {
        let known = drafts.iter().any(|draft| draft.commit == entry.commit);
        if entry.kind == Kind::Draft(stage) && !known {
            drafts.push(entry.clone());
        }
    }
    drafts.sort_by_key(|draft| draft.time);
    let place = |entry: &Entry| {
        let draft = Some((stage, entry.iterations()));
        Place { draft, ..Place::of(format!("{stage} draft {}", entry.iterations()), entry) }
    };
    let mut all: Vec<Place> = drafts.iter().map(place).collect();
    let recorded = session.stage_entry(stage);
    all.extend(recorded.map(|entry| Place::of(format!("recorded with {stage}"), entry)));
    Ok(all)
}

/// The drafts in the stage's draft ref, oldest first: each has the one before it as a parent.
fn kept(source: &Source<'_>, stage: Stage) -> anyhow::Result<Vec<Entry>> {
    let session = source.session();
    let reader = source.git.reader();
    let mut next = source.git.resolve(RefNames::draft(&session.name, stage).as_str())?;
    let mut drafts = Vec::new();
    while let Some(id) = next.filter(|_| drafts.len() < DRAFTS) {
        // An older draft may have been pruned in a shallow or partial clone.
        let Ok(commit) = reader.commit(&id) else { break };
        next = commit.parents.get(1).cloned();
        let Some(entry) = Entry::of(&commit, &session.file.id) else { break };
        // The commit that ends an aborted draft is not a draft.
        if matches!(entry.kind, Kind::Draft(_)) && entry.verdict() != Some(Verdict::Aborted) {
            drafts.push(entry);
        }
    }
    drafts.reverse();
    Ok(drafts)
}
