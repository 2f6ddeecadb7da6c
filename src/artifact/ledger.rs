//! Keeps documents whose sections are records in sync with the JSON that is derived from them.
//!
//! People and models write the Markdown, and the JSON is derived from it.

use std::collections::BTreeMap;

use super::agreement::is_settled;
use super::derived::rendered;
use super::sections::{
    self, Change, Context, Document, Documents, Extent, Reading, Record, RecordFiles, Records,
    Remark, Writer,
};
use super::{Artifact, Files, IdFloors, IdKind, Store};

/// The history of a session's records.
pub trait History {
    /// Returns the last title of each id that a commit contains.
    fn titles(&self) -> &BTreeMap<String, String>;
    /// Returns the highest number of each kind that was ever used.
    fn floors(&self) -> IdFloors;
    /// True if the session's base commit contains a file.
    fn in_base(&self, path: &str) -> bool;
    /// Returns the session's files in git-cowork's newest commit, if there is one.
    fn committed(&self) -> Option<&dyn Files>;
}

/// The records of a session and the documents that contain them.
#[derive(Clone, Copy)]
pub struct Ledger<'a> {
    /// The session's current files.
    pub files: &'a dyn Files,
    /// The files as last recorded with JSON that agreed with the documents.
    pub recorded: &'a dyn Files,
    /// The history of the session's records.
    pub history: &'a dyn History,
}

/// The result of reading the documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// The files that were written.
    pub changed: Vec<Artifact>,
    /// Notes for a person: `prd.md:12: …`.
    pub notes: Vec<String>,
    /// Parts that cannot be read: `prd.md:12: …`. If there are any, nothing was written.
    pub refusals: Vec<String>,
}

/// The result of reading all documents, before anything is written.
pub(super) struct Read {
    pub(super) settled: Settled,
    texts: Vec<(Document, String)>,
    pub(super) records: Records,
}

/// The result of a model saving a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// False if the document already had this content.
    pub changed: bool,
    /// The ids of records that the document no longer contains.
    pub deleted: Vec<String>,
    /// The ids of records that were sent without a number.
    pub numbered: Vec<String>,
    /// The records and headings that a document with a title did not have, and that stay.
    pub unsent: Vec<String>,
    /// `prd.md:12: …`
    pub notes: Vec<String>,
}

impl Ledger<'_> {
    /// Returns the records in the JSON.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn records(&self) -> anyhow::Result<Records> {
        records_of(self.files)
    }

    /// Reads every document, numbers new records, and writes the JSON again if it differs. If
    /// anything cannot be read, nothing is written.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written.
    pub fn settle(&self, by: Writer) -> anyhow::Result<Settled> {
        let Read { mut settled, texts, records } = self.read(by)?;
        if !settled.refusals.is_empty() {
            return Ok(settled);
        }
        for (document, text) in texts {
            if self.files.read(document.artifact())?.as_ref() != Some(&text) {
                self.files.write(document.artifact(), &text)?;
                settled.changed.push(document.artifact());
            }
        }
        settled.changed.extend(self.write_json(&records)?);
        Ok(settled)
    }

    /// Returns the parts of documents that cannot be read: `prd.md:12: …`.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn unreadable(&self) -> anyhow::Result<Vec<String>> {
        Ok(self.read(Writer::Person)?.settled.refusals)
    }

    /// Reads every document: returns their texts, with new numbers, and all resulting records.
    pub(super) fn read(&self, by: Writer) -> anyhow::Result<Read> {
        let mut settled = Settled::default();
        if is_settled(self.files)? {
            return Ok(Read { settled, texts: Vec::new(), records: self.records()? });
        }
        let documents = Documents::of(self.files)?;
        let in_base = |path: &str| self.history.in_base(path);
        let present = self.records()?;
        let mut floors = self.floors(&present);
        let mut texts = Vec::new();
        let mut records = present.clone();
        for document in Document::ALL {
            let Some(text) = self.files.read(document.artifact())? else { continue };
            let context = self.context(documents.kinds(document), &present, &in_base, by);
            let taken = sections::take(&text, &context, &mut floors);
            settled.notes.extend(told(document, &taken.reading.notes));
            settled.refusals.extend(told(document, &taken.reading.refusals));
            replace(&mut records, context.kinds, &taken.reading);
            texts.push((document, taken.text, taken.reading));
        }
        let readings: Vec<(Document, &str, &Reading)> = texts
            .iter()
            .map(|(document, text, reading)| (*document, text.as_str(), reading))
            .collect();
        let used = self.history.titles();
        for one in sections::references(documents, &readings, &records) {
            if !one.is_history(used) && !one.waits_for_its_stage(used) {
                settled.refusals.extend(told(one.document, &[one.remark]));
            }
        }
        let texts = texts.into_iter().map(|(document, text, _)| (document, text)).collect();
        Ok(Read { settled, texts, records })
    }

    /// Returns how many records of each kind a document contains.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn held(&self, document: Document) -> anyhow::Result<Vec<(IdKind, usize)>> {
        let records = self.records()?;
        let count = |kind: &IdKind| records.iter().filter(|one| one.kind() == *kind).count();
        let kinds = Documents::of(self.files)?.kinds(document);
        Ok(kinds.iter().map(|kind| (*kind, count(kind))).collect())
    }

    /// Saves what a model sends: some sections of a document, or all of it.
    ///
    /// # Errors
    ///
    /// If the content cannot be accepted: the message names the place and the reason, and nothing
    /// is written. Also if a file cannot be read or written.
    pub fn save(
        &self,
        document: Document,
        sent: &str,
        extent: Extent<'_>,
    ) -> anyhow::Result<Saved> {
        let artifact = document.artifact();
        let before = self.files.read(artifact)?;
        let documents = Documents::with(self.files, document)?;
        let present = self.records()?;
        let in_base = |path: &str| self.history.in_base(path);
        let context = self.context(documents.kinds(document), &present, &in_base, Writer::Model);
        let mut floors = self.floors(&present);
        let saved = sections::save(before.as_deref(), sent, extent, &context, &mut floors)
            .map_err(|found| refused(document, &found))?;
        let mut records = present.clone();
        replace(&mut records, context.kinds, &saved.reading);
        let dangling = |text: &str, reading: &Reading, records: &Records| {
            sections::references(documents, &[(document, text, reading)], records)
        };
        // What dangled before is for the checks: a save may fix one record after the other.
        let before = before.unwrap_or_default();
        let earlier = dangling(&before, &sections::read(&before, &context), &records);
        let now = dangling(&saved.text, &saved.reading, &records).into_iter();
        let introduced =
            now.filter(|one| !one.is_history(self.history.titles()) && !one.is_among(&earlier));
        let introduced: Vec<Remark> = introduced.map(|one| one.remark).collect();
        anyhow::ensure!(introduced.is_empty(), refused(document, &introduced));
        let changed = self.files.read(artifact)?.as_ref() != Some(&saved.text);
        if changed {
            self.files.write(artifact, &saved.text)?;
        }
        let changed = !self.write_json(&records)?.is_empty() || changed;
        let notes = told(document, &saved.reading.notes);
        let numbered = saved.numbered.into_iter().map(|(_, id)| id).collect();
        Ok(Saved { changed, deleted: saved.deleted, numbered, unsent: saved.unsent, notes })
    }

    /// Adds, replaces and deletes records in their documents and in the JSON.
    ///
    /// # Errors
    ///
    /// If a document cannot contain the record as it is; nothing is written then. Also if a file
    /// cannot be read or written.
    pub fn change(&self, changes: &[Change]) -> anyhow::Result<()> {
        let mut records = self.records()?;
        let documents = Documents::of(self.files)?;
        let in_base = |path: &str| self.history.in_base(path);
        let mut texts = Vec::new();
        for document in Document::ALL {
            let own: Vec<Change> = changes
                .iter()
                .filter(|one| Self::home(documents, one) == Some(document))
                .cloned()
                .collect();
            if own.is_empty() {
                continue;
            }
            let mut documents = documents;
            documents.add(document);
            let context =
                self.context(documents.kinds(document), &records, &in_base, Writer::Model);
            let before = self.files.read(document.artifact())?.unwrap_or_default();
            let text = sections::apply(&before, &own, &context)
                .map_err(|found| refused(document, &found))?;
            texts.push((document, text));
        }
        for change in changes {
            records.apply(change);
        }
        for (document, text) in texts {
            let kinds = Documents::with(self.files, document)?.kinds(document);
            let read =
                sections::read(&text, &self.context(kinds, &records, &in_base, Writer::Model));
            let ids: Vec<String> = read.records().ids().map(str::to_owned).collect();
            // A record as Markdown says it, such as a criterion whose text named its test.
            read.sections.into_iter().for_each(|one| records.apply(&Change::Put(one.record)));
            records.order(&ids);
            if self.files.read(document.artifact())?.as_deref() != Some(text.as_str()) {
                self.files.write(document.artifact(), &text)?;
            }
        }
        self.write_json(&records)?;
        Ok(())
    }

    /// Returns the document that contains records of the changed kind; if there is none, the
    /// document to create.
    fn home(documents: Documents, change: &Change) -> Option<Document> {
        let kind = match change {
            Change::Put(record) => record.kind(),
            Change::Delete(id) => IdKind::of(id)?,
        };
        // If no document exists, requirements create prd.md, not the plan.
        let there = documents.holding(kind).filter(|one| *one != Document::Plan || documents.plan);
        Some(there.unwrap_or(match kind {
            IdKind::Requirement | IdKind::Feature => Document::Prd,
            IdKind::Component => Document::Design,
            IdKind::Task => Document::Plan,
        }))
    }

    /// Returns the highest id numbers in the history and in these records.
    fn floors(&self, present: &Records) -> IdFloors {
        let mut floors = self.history.floors();
        present.iter().for_each(|record| floors.see(record.kind(), record.id()));
        floors
    }

    fn context<'c>(
        &'c self,
        kinds: &'c [IdKind],
        present: &'c Records,
        in_base: &'c dyn Fn(&str) -> bool,
        by: Writer,
    ) -> Context<'c> {
        Context {
            kinds,
            used: self.history.titles(),
            floors: self.floors(present),
            present,
            in_base,
            by,
        }
    }

    /// Writes the JSON files that differ, and returns them.
    fn write_json(&self, records: &Records) -> anyhow::Result<Vec<Artifact>> {
        self.write_files(&files_of(self.files)?.derived(records, &IdKind::ALL))
    }

    /// Writes these files where they differ, and returns those.
    pub(super) fn write_files(&self, new: &RecordFiles) -> anyhow::Result<Vec<Artifact>> {
        let documents = Documents::of(self.files)?;
        let mut changed = Vec::new();
        for (artifact, text, same) in rendered(&files_of(self.files)?, new, documents)? {
            if !same {
                self.files.write(artifact, &text)?;
                changed.push(artifact);
            }
        }
        Ok(changed)
    }
}

/// Reads the files that contain records.
pub(super) fn files_of(files: &dyn Files) -> anyhow::Result<RecordFiles> {
    let store = Store::new(files);
    Ok(RecordFiles {
        requirements: store.requirements()?,
        features: store.features()?,
        design: store.design()?,
        plan: store.plan()?,
    })
}

/// Returns all records in the JSON.
pub(super) fn records_of(files: &dyn Files) -> anyhow::Result<Records> {
    Ok(files_of(files)?.records())
}

impl Documents {
    /// Returns the documents that exist.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn of(files: &dyn Files) -> anyhow::Result<Self> {
        let mut documents = Self::default();
        for document in Document::ALL {
            if files.read(document.artifact())?.is_some() {
                documents.add(document);
            }
        }
        Ok(documents)
    }

    /// Returns the documents that exist, and the given one.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn with(files: &dyn Files, document: Document) -> anyhow::Result<Self> {
        let mut documents = Self::of(files)?;
        documents.add(document);
        Ok(documents)
    }
}

/// Replaces the records of these kinds by those of a document.
pub(super) fn replace(records: &mut Records, kinds: &[IdKind], reading: &Reading) {
    let others = records.iter().filter(|record| !kinds.contains(&record.kind()));
    let own = reading.sections.iter().map(|section| section.record.clone());
    *records = others.chain(own).collect::<Vec<Record>>().into_iter().collect();
}

/// Formats remarks with the name of their file.
fn told(document: Document, remarks: &[Remark]) -> Vec<String> {
    let name = document.artifact().file_name();
    remarks.iter().map(|one| format!("{name}:{}: {}", one.line, one.text)).collect()
}

fn refused(document: Document, remarks: &[Remark]) -> anyhow::Error {
    anyhow::anyhow!("not saved: {}", told(document, remarks).join("\n"))
}
