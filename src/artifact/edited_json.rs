//! JSON that a person edited although it is generated from the documents.

use std::collections::BTreeSet;

use super::ledger::{Read, files_of, records_of};
use super::sections::{self, Document, Documents, Record, Records, Writer};
use super::{Artifact, IdKind, Ledger};

/// A JSON file in which a person changed records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedJson {
    /// The file.
    pub artifact: Artifact,
    /// The document that the file is generated from.
    pub document: Document,
    /// The ids of the records that were changed, added or removed.
    pub ids: Vec<String>,
}

impl Ledger<'_> {
    /// Returns those of the JSON files in which a person changed records: neither the documents nor
    /// a recorded version have these. None while a document cannot be read.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn edited_json(&self, candidates: &[Artifact]) -> anyhow::Result<Vec<EditedJson>> {
        let Read { settled, records, .. } = self.read(Writer::Person)?;
        if !settled.refusals.is_empty() {
            return Ok(Vec::new());
        }
        let (present, documents) = (self.records()?, Documents::existing(self.files)?);
        let mut recorded = vec![records_of(self.recorded)?];
        recorded.extend(self.history.committed().map(records_of).transpose()?);
        let mut found = Vec::new();
        for (artifact, kind) in IdKind::ALL.map(|kind| (kind.artifact(), kind)) {
            let Some(document) = documents.holding(kind) else { continue };
            if !candidates.contains(&artifact) || self.files.read(document.artifact())?.is_none() {
                continue;
            }
            let mut ids = different(&present, &records, kind);
            for earlier in &recorded {
                let changed = different(&present, earlier, kind);
                ids.retain(|id| changed.contains(id));
            }
            // A status is in no document, so it is compared with the recorded versions only.
            let own = present.iter().filter(|record| record.kind() == kind);
            let moved = own.filter(|record| {
                let mut earlier = recorded.iter().filter_map(|all| all.get(record.id())).peekable();
                earlier.peek().is_some() && earlier.all(|old| old.status() != record.status())
            });
            ids.extend(moved.map(|record| record.id().to_owned()));
            if !ids.is_empty() {
                found.push(EditedJson { artifact, document, ids: ids.into_iter().collect() });
            }
        }
        Ok(found)
    }

    /// Gives the records in these JSON files their recorded status again, and those that were
    /// removed their place; [`Ledger::settle`] then writes the rest from the documents.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written.
    pub fn put_back(&self, edited: &[EditedJson]) -> anyhow::Result<()> {
        let is_edited =
            |record: &Record| edited.iter().any(|one| one.artifact == record.kind().artifact());
        let recorded = records_of(self.recorded)?;
        let mut records = self.records()?;
        let removed: Vec<Record> =
            recorded.iter().filter(|one| is_edited(one) && !records.has(one.id())).collect();
        removed.into_iter().for_each(|record| records.push(record));
        let records = records.iter().map(|mut record| {
            if let Some(old) = recorded.get(record.id()).filter(|_| is_edited(&record)) {
                record.keep_status(&old);
            }
            record
        });
        let mut files = files_of(self.files)?;
        files.set_records(records.collect());
        self.write_files(&files)?;
        Ok(())
    }
}

/// Returns the ids of the records of a kind that differ in two versions, apart from their status.
fn different(one: &Records, other: &Records, kind: IdKind) -> BTreeSet<String> {
    let listed = |records: &Records| -> Vec<Record> {
        let own = records.iter().filter(|record| record.kind() == kind);
        own.map(|record| sections::normal(&record, sections::LEVEL).written()).collect()
    };
    let (one, other) = (listed(one), listed(other));
    let missing = |from: &[Record], all: &[Record]| -> Vec<String> {
        let gone = all.iter().filter(|record| !from.contains(record));
        gone.map(|record| record.id().to_owned()).collect()
    };
    missing(&one, &other).into_iter().chain(missing(&other, &one)).collect()
}
