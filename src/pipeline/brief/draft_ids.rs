//! The ids that the draft in progress has used: kept in the state directory, so that a run that
//! goes on with the draft gives none of them again.

use crate::artifact::sections::{Document, Documents};
use crate::artifact::{DraftIds, Ledger};
use crate::pipeline::run::Run;
use crate::stages::StageSpec;

/// The note with them.
const NOTE: &str = "draft-ids.json";

/// Returns the ids of the draft in progress. A note that cannot be read counts as missing.
pub(crate) fn load(run: &Run<'_>) -> DraftIds {
    run.env.state.note(NOTE).ok().flatten().unwrap_or_default()
}

/// Keeps the ids.
///
/// # Errors
/// The note cannot be written.
pub(crate) fn keep(run: &Run<'_>, ids: &DraftIds) -> anyhow::Result<()> {
    run.env.state.set_note(NOTE, Some(ids))
}

/// Notes the records that exist.
///
/// # Errors
/// A file cannot be read or written.
pub(crate) fn see(run: &Run<'_>, ledger: &Ledger<'_>) -> anyhow::Result<()> {
    let before = load(run);
    let mut ids = before.clone();
    ids.see(&ledger.records()?, ledger.history);
    if ids == before { Ok(()) } else { keep(run, &ids) }
}

/// Forgets the ids: a stage starts again, and nothing of its earlier drafts is left.
///
/// # Errors
/// The note cannot be written.
pub(crate) fn forget(run: &Run<'_>) -> anyhow::Result<()> {
    match load(run) == DraftIds::default() {
        true => Ok(()),
        false => run.env.state.set_note::<DraftIds>(NOTE, None),
    }
}

/// The ids that new records of the stage's document will get: `REQ-004, FEAT-003`.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn next(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<String> {
    let documents = spec.artifacts.iter().filter_map(|artifact| Document::of_artifact(*artifact));
    let documents: Vec<Document> = documents.collect();
    if documents.is_empty() {
        return Ok(String::new());
    }
    let mut floors = run.known_records()?.floors;
    run.store().see_ids(&mut floors)?;
    load(run).raise(&mut floors);
    let mut next = Vec::new();
    for document in documents {
        let kinds = Documents::with(&run.files, document)?.kinds(document);
        next.extend(kinds.iter().map(|kind| floors.next(*kind)));
    }
    Ok(next.join(", "))
}
