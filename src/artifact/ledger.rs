//! Keeps documents whose sections are records in sync with the JSON that is derived from them.
//!
//! People and models write the Markdown, and the JSON is derived from it.

use std::collections::BTreeMap;

use anyhow::Result;

use super::agreement::is_settled;
use super::derived::{RecordProblem, rendered};
use super::sections::{
    self, Change, Context, Dangling, Document, Documents, Extent, Reading, RecordFiles, Records,
    Remark, Taken, Writer,
};
use super::{Artifact, Files, IdFloors, IdKind, RECORDS};

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
    /// Empty if the JSON agrees with them.
    documents: Vec<ReadDocument>,
    pub(super) records: Records,
}

/// A document that was read.
pub(super) struct ReadDocument {
    pub(super) document: Document,
    /// The text, in which new records have numbers.
    text: String,
    pub(super) reading: Reading,
    pub(super) kinds: &'static [IdKind],
}

impl ReadDocument {
    /// Returns the problem that a remark describes, with the record whose section has its line.
    pub(super) fn problem(&self, Remark { line, text, kind }: Remark) -> RecordProblem {
        let mut sections = self.reading.sections.iter().rev();
        let section = sections.find(|section| section.line <= line);
        let id = section.map(|section| section.record.id().to_owned());
        RecordProblem { artifact: self.document.artifact(), line, id, text, kind }
    }
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
    pub fn records(&self) -> Result<Records> {
        records_of(self.files)
    }

    /// Reads every document, numbers new records, and writes the JSON again if it differs. If
    /// anything cannot be read, nothing is written.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written.
    pub fn settle(&self, by: Writer) -> Result<Settled> {
        let Read { mut settled, documents, records } = self.read(by)?;
        if !settled.refusals.is_empty() {
            return Ok(settled);
        }
        for ReadDocument { document, text, .. } in documents {
            if self.write(document, &text)? {
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
    pub fn unreadable(&self) -> Result<Vec<String>> {
        Ok(self.read(Writer::Person)?.settled.refusals)
    }

    /// Reads every document.
    pub(super) fn read(&self, by: Writer) -> Result<Read> {
        let (mut settled, present) = (Settled::default(), self.records()?);
        if is_settled(self.files)? {
            return Ok(Read { settled, documents: Vec::new(), records: present });
        }
        let (documents, records) = self.read_documents(&Document::ALL, &present, by)?;
        for one in &documents {
            settled.notes.extend(told(one.document, &one.reading.notes));
            settled.refusals.extend(told(one.document, &one.reading.refusals));
        }
        let dangling = self.dangling(&documents, &records)?;
        settled.refusals.extend(dangling.iter().map(ToString::to_string));
        Ok(Read { settled, documents, records })
    }

    /// Reads these documents, and returns them with all resulting records; `present` are those of
    /// the JSON.
    pub(super) fn read_documents(
        &self,
        documents: &[Document],
        present: &Records,
        by: Writer,
    ) -> Result<(Vec<ReadDocument>, Records)> {
        let all = Documents::existing(self.files)?;
        let in_base = |path: &str| self.history.in_base(path);
        let (mut records, mut floors) = (present.clone(), self.floors(present));
        let mut read = Vec::new();
        for document in documents.iter().copied() {
            let Some(text) = self.files.read(document.artifact())? else { continue };
            let kinds = all.kinds(document);
            let context = self.context(kinds, present, &in_base, by);
            let Taken { text, reading, .. } = sections::take(&text, &context, &mut floors);
            replace(&mut records, kinds, &reading);
            read.push(ReadDocument { document, text, reading, kinds });
        }
        Ok((read, records))
    }

    /// Returns the references to records that do not exist.
    pub(super) fn dangling(
        &self,
        documents: &[ReadDocument],
        records: &Records,
    ) -> Result<Vec<RecordProblem>> {
        let readings: Vec<(Document, &str, &Reading)> =
            documents.iter().map(|one| (one.document, &*one.text, &one.reading)).collect();
        let used = self.history.titles();
        let all =
            sections::references(Documents::existing(self.files)?, &readings, records).into_iter();
        let due = all.filter(|one| !one.is_history(used) && !one.waits_for_its_stage(used));
        let problem = |one: Dangling| {
            let document = documents.iter().find(|other| other.document == one.document)?;
            Some(document.problem(one.remark))
        };
        Ok(due.filter_map(problem).collect())
    }

    /// Returns how many records of each kind a document contains.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn held(&self, document: Document) -> Result<Vec<(IdKind, usize)>> {
        let records = self.records()?;
        let count = |kind: &IdKind| records.iter().filter(|one| one.kind() == *kind).count();
        let kinds = Documents::existing(self.files)?.kinds(document);
        Ok(kinds.iter().map(|kind| (*kind, count(kind))).collect())
    }

    /// Saves what a model sends: some sections of a document, or all of it.
    ///
    /// # Errors
    ///
    /// If the content cannot be accepted: the message names the place and the reason, and nothing
    /// is written. Also if a file cannot be read or written.
    pub fn save(&self, document: Document, sent: &str, extent: Extent<'_>) -> Result<Saved> {
        let before = self.files.read(document.artifact())?;
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
        let changed = self.write(document, &saved.text)?;
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
    pub fn change(&self, changes: &[Change]) -> Result<()> {
        let mut records = self.records()?;
        let documents = Documents::existing(self.files)?;
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
            self.write(document, &text)?;
        }
        self.write_json(&records)?;
        Ok(())
    }

    /// Writes a document unless it has this text. Returns true if it was written.
    fn write(&self, document: Document, text: &str) -> Result<bool> {
        let is_new = self.files.read(document.artifact())?.as_deref() != Some(text);
        if is_new {
            self.files.write(document.artifact(), text)?;
        }
        Ok(is_new)
    }

    /// Returns the document that contains records of the changed kind; if there is none, the
    /// document to create.
    fn home(documents: Documents, change: &Change) -> Option<Document> {
        let kind = match change {
            Change::Put(record) => record.kind(),
            Change::Delete(id) => IdKind::of_id(id)?,
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
    fn write_json(&self, records: &Records) -> Result<Vec<Artifact>> {
        self.write_files(&files_of(self.files)?.derived(records, &IdKind::ALL))
    }

    /// Writes these files where they differ, and returns those.
    pub(super) fn write_files(&self, new: &RecordFiles) -> Result<Vec<Artifact>> {
        let documents = Documents::existing(self.files)?;
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
pub(super) fn files_of(files: &dyn Files) -> Result<RecordFiles> {
    let mut found = RecordFiles::default();
    for json in RECORDS {
        if let Some(text) = files.read(json)? {
            found.read(json, &text)?;
        }
    }
    Ok(found)
}

/// Returns all records in the JSON.
///
/// # Errors
///
/// If a file cannot be read.
pub fn records_of(files: &dyn Files) -> Result<Records> {
    Ok(files_of(files)?.records())
}

impl Documents {
    /// Returns the documents that exist.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn existing(files: &dyn Files) -> Result<Self> {
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
    pub fn with(files: &dyn Files, document: Document) -> Result<Self> {
        let mut documents = Self::existing(files)?;
        documents.add(document);
        Ok(documents)
    }
}

/// Replaces the records of these kinds by those of a document.
pub(super) fn replace(records: &mut Records, kinds: &[IdKind], reading: &Reading) {
    let others = records.iter().filter(|record| !kinds.contains(&record.kind()));
    *records = others.chain(reading.records().into_records()).collect();
}

/// Formats remarks with the name of their file.
fn told(document: Document, remarks: &[Remark]) -> Vec<String> {
    let name = document.artifact().file_name();
    remarks.iter().map(|one| format!("{name}:{}: {}", one.line, one.text)).collect()
}

fn refused(document: Document, remarks: &[Remark]) -> anyhow::Error {
    anyhow::anyhow!("not saved: {}", told(document, remarks).join("\n"))
}
