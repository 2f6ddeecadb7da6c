//! Compares a session's documents with its JSON, and writes the JSON again from the documents.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::Result;

use super::agreement::{ReadOnce, is_settled};
use super::ledger::{Read, ReadDocument, files_of, records_of};
use super::sections::{
    self, Document, Documents, Record, RecordFiles, Records, RemarkKind, Writer, different_fields,
    further_status,
};
use super::{Artifact, Files, Flaw, IdKind, Ledger, render_json, unreadable};

/// The files that contain records.
pub const RECORDS: [Artifact; 4] = [
    Artifact::Requirements,
    Artifact::Features,
    Artifact::DesignSpec,
    Artifact::ImplementationPlan,
];

/// A problem in a session's file, with its place: `prd.md:12: …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordProblem {
    /// The file.
    pub artifact: Artifact,
    /// Line number from 1; 0 for the whole file.
    pub line: usize,
    /// Id of the record, if the problem is in one.
    pub id: Option<String>,
    /// The problem, as a sentence.
    pub text: String,
    /// What the problem is about.
    pub kind: RemarkKind,
}

impl RecordProblem {
    fn new(artifact: Artifact, line: usize, id: Option<&str>, text: String) -> Self {
        Self { artifact, line, id: id.map(str::to_owned), text, kind: RemarkKind::Other }
    }

    /// True if it is in one of these JSON files, or about a record of one.
    fn is_about(&self, files: &[Artifact]) -> bool {
        let of_record = self.id.as_deref().and_then(IdKind::of_id).map(IdKind::artifact);
        files.iter().any(|file| *file == self.artifact || Some(*file) == of_record)
    }
}

impl fmt::Display for RecordProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.artifact.file_name();
        match self.line {
            0 => write!(f, "{name} {}", self.text),
            line => write!(f, "{name}:{line}: {}", self.text),
        }
    }
}

/// The result of comparing documents with JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Parts of documents that cannot be read.
    pub unreadable: Vec<RecordProblem>,
    /// Differences between the JSON and the documents.
    pub different: Vec<RecordProblem>,
    /// JSON files that cannot be read at all, while their documents can.
    pub broken: Vec<Artifact>,
}

impl Compared {
    /// True if documents and JSON agree.
    pub fn is_same(&self) -> bool {
        self.unreadable.is_empty() && self.different.is_empty()
    }
}

impl Ledger<'_> {
    /// Compares each of these documents with its JSON.
    ///
    /// # Errors
    ///
    /// If a file cannot be read at all.
    pub fn compare(&self, documents: &[Document]) -> Result<Compared> {
        let (json, broken) = readable_json(self.files, self.recorded)?;
        let known = json.records();
        let (read, records) = self.read_documents(documents, &known, Writer::Person)?;
        let mut compared = Compared::default();
        for one in &read {
            let refusals = one.reading.refusals.iter();
            compared.unreadable.extend(refusals.map(|remark| one.problem(remark.clone())));
        }
        compared.unreadable.extend(self.dangling(&read, &records)?);
        let kinds: Vec<IdKind> = read.iter().flat_map(|one| one.kinds.iter().copied()).collect();
        let is_derived = |json: Artifact| kinds.iter().any(|kind| kind.artifact() == json);
        for (artifact, why) in broken.into_iter().filter(|(artifact, _)| is_derived(*artifact)) {
            let problem = RecordProblem::new(artifact, 0, None, why.to_string());
            compared.different.push(problem);
            compared.broken.push(artifact);
        }
        for one in &read {
            // Records of an unreadable JSON file are not reported: the file itself already is.
            let all = self.differences(one, &known)?.into_iter();
            compared.different.extend(all.filter(|problem| !problem.is_about(&compared.broken)));
        }
        Ok(compared)
    }

    /// Writes the JSON of these documents again. Each record gets the most advanced status that it
    /// has in this version or in `sides`. Returns the files that were written.
    ///
    /// # Errors
    ///
    /// If a document cannot be read, or a file cannot be written.
    pub fn derive(&self, documents: &[Document], sides: &[&dyn Files]) -> Result<Vec<Artifact>> {
        let (old, broken) = readable_json(self.files, self.recorded)?;
        let (read, records) = self.read_documents(documents, &old.records(), Writer::Person)?;
        let kinds: Vec<IdKind> = read.iter().flat_map(|one| one.kinds.iter().copied()).collect();
        if let Some(one) = read.iter().find(|one| !one.reading.refusals.is_empty()) {
            anyhow::bail!("{} cannot be read", one.document.artifact().file_name());
        }
        let mut new = old.derived(&records, &kinds);
        for side in sides {
            if let Ok(theirs) = records_of(*side) {
                new.set_records(further_status(new.records(), &called_the_same(theirs, &records)));
            }
        }
        let mut written = Vec::new();
        for (artifact, text, same) in rendered(&old, &new, Documents::existing(self.files)?)? {
            let is_derived = kinds.iter().any(|kind| kind.artifact() == artifact);
            if is_derived && (!same || broken.iter().any(|(json, _)| *json == artifact)) {
                self.files.write(artifact, &text)?;
                written.push(artifact);
            }
        }
        Ok(written)
    }

    /// Returns the differences between a document and its JSON.
    fn differences(&self, one: &ReadDocument, known: &Records) -> Result<Vec<RecordProblem>> {
        let artifact = one.document.artifact();
        let mut found = Vec::new();
        for section in &one.reading.sections {
            let id = section.record.id();
            let file = section.record.kind().artifact().file_name();
            let text = match known.get(id) {
                None => format!("{id} is not in {file}"),
                Some(record) => {
                    let fields = different_fields(section, &record);
                    if fields.is_empty() {
                        continue;
                    }
                    format!("{id} differs from {file}: {}", fields.join(", "))
                }
            };
            found.push(RecordProblem::new(artifact, section.line, Some(id), text));
        }
        for kind in one.kinds {
            let json = kind.artifact();
            let text = self.files.read(json)?.unwrap_or_default();
            let mut seen = BTreeSet::new();
            let ids = known.ids().filter(|id| IdKind::of_id(id) == Some(*kind));
            for id in ids {
                let said = if !seen.insert(id) {
                    format!("{id} appears twice")
                } else if one.reading.section(id).is_none() {
                    format!("{id} has no section in {}", artifact.file_name())
                } else {
                    continue;
                };
                let line = line_of_id(&text, id);
                found.push(RecordProblem::new(json, line, Some(id), said));
            }
        }
        Ok(found)
    }
}

/// True if every document agrees with its JSON and refers only to existing records.
pub fn is_plainly_same(files: &dyn Files) -> bool {
    let files = &ReadOnce::new(files);
    let Ok(records) = records_of(files) else { return false };
    let ids: BTreeSet<&str> = records.ids().collect();
    matches!(is_settled(files), Ok(true))
        && records
            .iter()
            .all(|record| record.references().iter().all(|id| ids.contains(id.as_str())))
}

/// The document from which a JSON file of this session is generated: the plan, where there is no
/// `prd.md`.
///
/// # Errors
/// If a file cannot be read.
pub fn document_of(files: &dyn Files, json: Artifact) -> Result<Option<Artifact>> {
    let kind = IdKind::ALL.into_iter().find(|kind| kind.artifact() == json);
    let documents = Documents::existing(files)?;
    Ok(kind.and_then(|kind| documents.holding(kind)).map(Document::artifact))
}

/// Returns the line number of a record in JSON, from 1. If the id occurs twice, returns the last
/// line.
fn line_of_id(text: &str, id: &str) -> usize {
    let value = format!("\"{id}\"");
    let is_it = |line: &&str| line.trim_start().starts_with("\"id\"") && line.contains(&value);
    let count = text.lines().count();
    let from_below = text.lines().rev().position(|line| is_it(&line));
    from_below.map_or(1, |below| count - below)
}

/// Reads the JSON. For a file that cannot be read, or that `recorded` has and is missing, uses the
/// version in `recorded` and returns the reason.
pub(super) fn readable_json(
    files: &dyn Files,
    recorded: &dyn Files,
) -> Result<(RecordFiles, Vec<(Artifact, Flaw)>)> {
    let (mut found, mut broken) = (RecordFiles::default(), Vec::new());
    for artifact in RECORDS {
        let readable = |text: &String| unreadable(artifact, text.as_bytes()).is_none();
        let earlier = || anyhow::Ok(recorded.read(artifact)?.filter(readable));
        let text = match files.read(artifact)? {
            Some(text) => match unreadable(artifact, text.as_bytes()) {
                None => Some(text),
                Some(why) => {
                    broken.push((artifact, why));
                    earlier()?
                }
            },
            None => {
                let earlier = earlier()?;
                broken.extend(earlier.is_some().then_some((artifact, Flaw::Missing)));
                earlier
            }
        };
        if let Some(text) = text {
            found.read(artifact, &text)?;
        }
    }
    Ok((found, broken))
}

/// Returns the text of each file, and true if the file is unchanged. A changed file says which of
/// the documents it is generated from.
pub(super) fn rendered(
    old: &RecordFiles,
    new: &RecordFiles,
    documents: Documents,
) -> Result<Vec<(Artifact, String, bool)>> {
    let mut marked = new.clone();
    for kind in IdKind::ALL {
        if let Some(document) = documents.holding(kind).filter(|one| documents.has(*one)) {
            marked.mark_generated(kind, document);
        }
    }
    let same = [
        old.requirements == new.requirements,
        old.features == new.features,
        old.design == new.design,
        old.plan == new.plan,
    ];
    let [requirements, features, design, plan] = same.map(|same| if same { new } else { &marked });
    let texts = [
        render_json(&requirements.requirements)?,
        render_json(&features.features)?,
        render_json(&design.design)?,
        render_json(&plan.plan)?,
    ];
    let all = RECORDS.into_iter().zip(texts).zip(same);
    Ok(all.map(|((artifact, text), same)| (artifact, text, same)).collect())
}

/// Returns the records of a side whose id and title are the same in `here`. An id with another
/// title may be another record.
fn called_the_same(side: Records, here: &Records) -> Records {
    let is_same = |one: &Record| here.get(one.id()).is_some_and(|r| r.title() == one.title());
    side.into_records().filter(is_same).collect()
}

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
