//! Compares a session's documents with its JSON, and writes the JSON again from the documents.

use std::collections::BTreeSet;
use std::fmt;

use super::agreement::{ReadOnce, is_settled};
use super::ledger::{History, records_of, replace};
use super::sections::{
    self, Context, Dangling, Document, Documents, Reading, RecordFiles, Records, Remark,
    RemarkKind, Taken, Writer, different_fields, further_status,
};
use super::{Artifact, Files, Flaw, IdFloors, IdKind, read_json, render_json, unreadable};

/// The files that contain records.
pub const RECORDS: [Artifact; 4] = [
    Artifact::Requirements,
    Artifact::Features,
    Artifact::DesignSpec,
    Artifact::ImplementationPlan,
];

/// A problem in a session's file, with its place: `prd.md:12: …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
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

impl Found {
    fn new(artifact: Artifact, line: usize, id: Option<&str>, text: String) -> Self {
        Self { artifact, line, id: id.map(str::to_owned), text, kind: RemarkKind::Other }
    }
}

impl fmt::Display for Found {
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
    pub unreadable: Vec<Found>,
    /// Differences between the JSON and the documents.
    pub different: Vec<Found>,
    /// JSON files that cannot be read at all, while their documents can.
    pub broken: Vec<Artifact>,
}

impl Compared {
    /// True if documents and JSON agree.
    pub fn is_same(&self) -> bool {
        self.unreadable.is_empty() && self.different.is_empty()
    }
}

/// A version of a session's files, with the last recorded version and the history.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The files to compare.
    pub files: &'a dyn Files,
    /// The files in the last recorded version.
    pub recorded: &'a dyn Files,
    /// The history of the session's records.
    pub history: &'a dyn History,
}

/// The id of the record whose section has this line.
fn record_at(reading: &Reading, line: usize) -> Option<String> {
    let section = reading.sections.iter().rev().find(|section| section.line <= line);
    section.map(|section| section.record.id().to_owned())
}

/// A document that was read.
struct Read {
    document: Document,
    text: String,
    reading: Reading,
    kinds: &'static [IdKind],
}

impl Known<'_> {
    /// Compares each of these documents with its JSON.
    ///
    /// # Errors
    ///
    /// If a file cannot be read at all.
    pub fn compare(&self, looked_at: &[Document]) -> anyhow::Result<Compared> {
        let (json, broken) = readable_json(self.files, self.recorded)?;
        let known = json.records();
        let (read, records) = self.read(looked_at, &known)?;
        let mut compared = Compared::default();
        for one in &read {
            let artifact = one.document.artifact();
            for remark in &one.reading.refusals {
                let id = record_at(&one.reading, remark.line);
                let Remark { line, text, kind } = remark.clone();
                compared.unreadable.push(Found { artifact, line, id, text, kind });
            }
        }
        compared.unreadable.extend(self.dangling(&read, &records)?);
        let held = |artifact: Artifact| {
            read.iter().any(|one| one.kinds.iter().any(|kind| file_of(*kind) == artifact))
        };
        for (artifact, why) in broken.into_iter().filter(|(artifact, _)| held(*artifact)) {
            compared.different.push(Found::new(artifact, 0, None, why.to_string()));
            compared.broken.push(artifact);
        }
        for one in &read {
            let found = self.differences(one, &known)?;
            let told = found.into_iter().filter(|f| !compared.broken.contains(&f.artifact));
            compared.different.extend(told.filter(|f| f.line > 0));
        }
        let broken = compared.broken.clone();
        // Records of an unreadable JSON file are not reported again: the file itself already is.
        compared.different.retain(|found| {
            found.line == 0 || !found.id.as_deref().is_some_and(|id| is_in(&broken, id))
        });
        Ok(compared)
    }

    /// Writes the JSON of these documents again. Each record gets the most advanced status that it
    /// has in this version or in `sides`. Returns the files that were written.
    ///
    /// # Errors
    ///
    /// If a document cannot be read, or a file cannot be written.
    pub fn derive(
        &self,
        looked_at: &[Document],
        sides: &[&dyn Files],
    ) -> anyhow::Result<Vec<Artifact>> {
        let (old, broken) = readable_json(self.files, self.recorded)?;
        let (read, records) = self.read(looked_at, &old.records())?;
        let kinds: Vec<IdKind> = read.iter().flat_map(|one| one.kinds.iter().copied()).collect();
        if let Some(one) = read.iter().find(|one| !one.reading.refusals.is_empty()) {
            anyhow::bail!("{} cannot be read", one.document.artifact().file_name());
        }
        let mut new = old.derived(&records, &kinds);
        for side in sides {
            if let Ok(theirs) = records_of(*side) {
                let further = further_status(new.records(), &called_the_same(theirs, &records));
                set(&mut new, further);
            }
        }
        let broken: Vec<Artifact> = broken.into_iter().map(|(artifact, _)| artifact).collect();
        let mut written = Vec::new();
        for (artifact, text, same) in rendered(&old, &new, Documents::of(self.files)?)? {
            let held = kinds.iter().any(|kind| file_of(*kind) == artifact);
            if held && (!same || broken.contains(&artifact)) {
                self.files.write(artifact, &text)?;
                written.push(artifact);
            }
        }
        Ok(written)
    }

    /// Reads these documents, and returns them with all resulting records.
    fn read(
        &self,
        looked_at: &[Document],
        known: &Records,
    ) -> anyhow::Result<(Vec<Read>, Records)> {
        let documents = Documents::of(self.files)?;
        let mut records = known.clone();
        let mut found = Vec::new();
        for document in looked_at.iter().copied() {
            let Some(text) = self.files.read(document.artifact())? else { continue };
            let kinds = documents.kinds(document);
            let in_base = |path: &str| self.history.in_base(path);
            let mut floors = self.history.floors();
            known.iter().for_each(|record| floors.see(record.kind(), record.id()));
            let (used, by) = (self.history.titles(), Writer::Person);
            let context = Context { kinds, used, floors, present: known, in_base: &in_base, by };
            let Taken { text, reading, .. } = sections::take(&text, &context, &mut floors);
            replace(&mut records, kinds, &reading);
            found.push(Read { document, text, reading, kinds });
        }
        Ok((found, records))
    }

    /// Returns references to records that do not exist.
    fn dangling(&self, read: &[Read], records: &Records) -> anyhow::Result<Vec<Found>> {
        let readings: Vec<(Document, &str, &Reading)> =
            read.iter().map(|one| (one.document, one.text.as_str(), &one.reading)).collect();
        let used = self.history.titles();
        let found = sections::references(Documents::of(self.files)?, &readings, records);
        Ok(found
            .into_iter()
            .filter(|one| !one.is_history(used) && !one.waits_for_its_stage(used))
            .map(|Dangling { document, remark: Remark { line, text, kind }, .. }| {
                let reading = readings.iter().find(|(other, ..)| *other == document);
                let id = reading.and_then(|(.., reading)| record_at(reading, line));
                Found { artifact: document.artifact(), line, id, text, kind }
            })
            .collect())
    }

    /// Returns the differences between a document and its JSON.
    fn differences(&self, one: &Read, known: &Records) -> anyhow::Result<Vec<Found>> {
        let artifact = one.document.artifact();
        let mut found = Vec::new();
        for section in &one.reading.sections {
            let id = section.record.id();
            let file = file_of(section.record.kind()).file_name();
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
            found.push(Found::new(artifact, section.line, Some(id), text));
        }
        for kind in one.kinds {
            let json = file_of(*kind);
            let text = self.files.read(json)?.unwrap_or_default();
            let mut seen = BTreeSet::new();
            let ids = known.ids().filter(|id| IdKind::of(id) == Some(*kind));
            for id in ids {
                let said = if !seen.insert(id) {
                    format!("{id} appears twice")
                } else if one.reading.section(id).is_none() {
                    format!("{id} has no section in {}", artifact.file_name())
                } else {
                    continue;
                };
                let line = line_of_id(&text, id);
                found.push(Found::new(json, line, Some(id), said));
            }
        }
        Ok(found)
    }
}

/// True if every document agrees with its JSON and refers only to existing records.
pub fn is_plainly_same(files: &dyn Files) -> bool {
    let files = &ReadOnce::of(files);
    let Ok(records) = records_of(files) else { return false };
    let ids: BTreeSet<&str> = records.ids().collect();
    matches!(is_settled(files), Ok(true))
        && records.iter().all(|record| record.references().iter().all(|id| ids.contains(id)))
}

/// Returns the file that contains a kind of record.
pub(super) const fn file_of(kind: IdKind) -> Artifact {
    match kind {
        IdKind::Requirement => Artifact::Requirements,
        IdKind::Feature => Artifact::Features,
        IdKind::Component => Artifact::DesignSpec,
        IdKind::Task => Artifact::ImplementationPlan,
    }
}

/// The document from which a JSON file of this session is generated: the plan, where there is no
/// `prd.md`.
///
/// # Errors
/// If a file cannot be read.
pub fn document_of(files: &dyn Files, json: Artifact) -> anyhow::Result<Option<Artifact>> {
    let kind = IdKind::ALL.into_iter().find(|kind| file_of(*kind) == json);
    let documents = Documents::of(files)?;
    Ok(kind.and_then(|kind| documents.holding(kind)).map(Document::artifact))
}

fn is_in(files: &[Artifact], id: &str) -> bool {
    IdKind::of(id).is_some_and(|kind| files.contains(&file_of(kind)))
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

/// Reads a document without knowledge of its history.
pub(super) fn plainly_read(text: &str, kinds: &[IdKind], present: &Records) -> Reading {
    let used = std::collections::BTreeMap::new();
    let (floors, by) = (IdFloors::default(), Writer::Person);
    sections::read(text, &Context { kinds, used: &used, floors, present, in_base: &|_| true, by })
}

/// Reads the JSON. For a file that cannot be read, or that `recorded` has and is missing, uses the
/// version in `recorded` and returns the reason.
pub(super) fn readable_json(
    files: &dyn Files,
    recorded: &dyn Files,
) -> anyhow::Result<(RecordFiles, Vec<(Artifact, Flaw)>)> {
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
        let Some(text) = text else { continue };
        match artifact {
            Artifact::Requirements => found.requirements = read_json(artifact, &text)?,
            Artifact::Features => found.features = read_json(artifact, &text)?,
            Artifact::DesignSpec => found.design = read_json(artifact, &text)?,
            _ => found.plan = read_json(artifact, &text)?,
        }
    }
    Ok((found, broken))
}

/// Replaces the records in their files.
pub(super) fn set(files: &mut RecordFiles, records: Records) {
    files.requirements.requirements = records.requirements;
    files.features.features = records.features;
    files.design.components = records.components;
    files.plan.tasks = records.tasks;
}

/// Returns the text of each file, and true if the file is unchanged. A changed file says which of
/// the documents it is generated from.
pub(super) fn rendered(
    old: &RecordFiles,
    new: &RecordFiles,
    documents: Documents,
) -> anyhow::Result<Vec<(Artifact, String, bool)>> {
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
    let same =
        side.iter().filter(|one| here.get(one.id()).is_some_and(|r| r.title() == one.title()));
    same.collect()
}
