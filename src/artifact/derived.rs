//! What the documents of a session say beside its JSON: where the two differ, and the JSON written
//! again from the documents.

use std::collections::BTreeSet;
use std::fmt;

use super::ledger::{History, records_of, replace};
use super::older_documents::{ReadOnce, is_older};
use super::sections::{
    self, Context, Document, Documents, Reading, RecordFiles, Records, Remark, Taken, Writer,
    different_fields, further_status,
};
use super::{Artifact, Files, IdFloors, IdKind, read_json, render_json, unreadable};

/// The files that hold records.
pub const RECORDS: [Artifact; 4] = [
    Artifact::Requirements,
    Artifact::Features,
    Artifact::DesignSpec,
    Artifact::ImplementationPlan,
];

/// Something in a file of a session, with its place: `prd.md:12: …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub artifact: Artifact,
    /// From 1; 0 where the whole file is meant.
    pub line: usize,
    /// The record, where it is about one.
    pub id: Option<String>,
    /// A sentence.
    pub text: String,
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

/// What comparing both sides has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// What cannot be read in the documents.
    pub unreadable: Vec<Found>,
    /// Where the JSON is not what follows from the documents.
    pub different: Vec<Found>,
    /// JSON that cannot be read at all, beside documents that can.
    pub broken: Vec<Artifact>,
}

impl Compared {
    /// Whether both sides say the same.
    pub fn is_same(&self) -> bool {
        self.unreadable.is_empty() && self.different.is_empty()
    }
}

/// A version of a session's files, and what is known of the versions before it.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The files that are looked at.
    pub files: &'a dyn Files,
    /// The files as they were recorded last.
    pub recorded: &'a dyn Files,
    /// What history knows.
    pub history: &'a dyn History,
}

/// One document as it is read.
struct Read {
    document: Document,
    text: String,
    reading: Reading,
    kinds: &'static [IdKind],
}

impl Known<'_> {
    /// Compares every document of these, older ones aside, with the JSON beside it.
    ///
    /// # Errors
    /// A file cannot be read at all.
    pub fn compare(&self, looked_at: &[Document]) -> anyhow::Result<Compared> {
        let (json, broken) = readable_json(self.files, self.recorded)?;
        let known = json.records();
        let (read, records) = self.read(looked_at, &known)?;
        let mut compared = Compared::default();
        for one in &read {
            let artifact = one.document.artifact();
            for Remark { line, text } in &one.reading.refusals {
                let line = *line;
                let id = one.reading.sections.iter().rev().find(|section| section.line <= line);
                let id = id.map(|section| section.record.id().to_owned());
                compared.unreadable.push(Found { artifact, line, id, text: text.clone() });
            }
        }
        compared.unreadable.extend(self.dangling(&read, &records)?);
        let held = |artifact: Artifact| {
            read.iter().any(|one| one.kinds.iter().any(|kind| file_of(*kind) == artifact))
        };
        for (artifact, why) in broken.into_iter().filter(|(artifact, _)| held(*artifact)) {
            compared.different.push(Found { artifact, line: 0, id: None, text: why });
            compared.broken.push(artifact);
        }
        for one in &read {
            let found = self.differences(one, &known)?;
            let told = found.into_iter().filter(|f| !compared.broken.contains(&f.artifact));
            compared.different.extend(told.filter(|f| f.line > 0));
        }
        let broken = compared.broken.clone();
        // Said once, as what cannot be read.
        compared.different.retain(|found| {
            found.line == 0 || !found.id.as_deref().is_some_and(|id| is_in(&broken, id))
        });
        Ok(compared)
    }

    /// Writes the JSON of these documents again as it follows from them, with the further status of
    /// these sides. Which files were written.
    ///
    /// # Errors
    /// A document cannot be read, a file cannot be written.
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
        for (artifact, text, same) in rendered(&old, &new)? {
            let held = kinds.iter().any(|kind| file_of(*kind) == artifact);
            if held && (!same || broken.contains(&artifact)) {
                self.files.write(artifact, &text)?;
                written.push(artifact);
            }
        }
        Ok(written)
    }

    /// Reads these documents, older ones aside; and all records then.
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
            if !is_source(self.files, self.recorded, document)? {
                continue;
            }
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

    /// References to records that there are not.
    fn dangling(&self, read: &[Read], records: &Records) -> anyhow::Result<Vec<Found>> {
        let readings: Vec<(Document, &str, &Reading)> =
            read.iter().map(|one| (one.document, one.text.as_str(), &one.reading)).collect();
        let found = sections::references(Documents::of(self.files)?, &readings, records);
        Ok(found
            .into_iter()
            .map(|(document, Remark { line, text })| {
                let id = text.split(' ').next().map(str::to_owned);
                Found { artifact: document.artifact(), line, id, text }
            })
            .collect())
    }

    /// Where the JSON of one document is something else.
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
                    format!("{id}: {} is something else in {file}", fields.join(", "))
                }
            };
            found.push(Found { artifact, line: section.line, id: Some(id.to_owned()), text });
        }
        for kind in one.kinds {
            let json = file_of(*kind);
            let text = self.files.read(json)?.unwrap_or_default();
            let mut seen = BTreeSet::new();
            let ids = known.ids().filter(|id| IdKind::of(id) == Some(*kind));
            for id in ids {
                let said = if !seen.insert(id) {
                    format!("{id} is there twice")
                } else if one.reading.section(id).is_none() {
                    format!("{id} has no section in {}", artifact.file_name())
                } else {
                    continue;
                };
                let line = line_of_id(&text, id);
                found.push(Found { artifact: json, line, id: Some(id.to_owned()), text: said });
            }
        }
        Ok(found)
    }
}

/// True where every document gives the JSON beside it and names records that there are.
pub fn is_plainly_same(files: &dyn Files) -> bool {
    let files = &ReadOnce::of(files);
    let gives = |document| matches!(is_older(files, document), Ok(false));
    let Ok(records) = records_of(files) else { return false };
    let ids: BTreeSet<&str> = records.ids().collect();
    Document::ALL.into_iter().all(gives)
        && records.iter().all(|record| record.references().iter().all(|id| ids.contains(id)))
}

/// The file that holds a kind of record.
pub(super) const fn file_of(kind: IdKind) -> Artifact {
    match kind {
        IdKind::Requirement => Artifact::Requirements,
        IdKind::Feature => Artifact::Features,
        IdKind::Component => Artifact::DesignSpec,
        IdKind::Task => Artifact::ImplementationPlan,
    }
}

fn is_in(files: &[Artifact], id: &str) -> bool {
    IdKind::of(id).is_some_and(|kind| files.contains(&file_of(kind)))
}

/// The line of a record in JSON, from 1; the last one where there are two.
fn line_of_id(text: &str, id: &str) -> usize {
    let value = format!("\"{id}\"");
    let is_it = |line: &&str| line.trim_start().starts_with("\"id\"") && line.contains(&value);
    let count = text.lines().count();
    let from_below = text.lines().rev().position(|line| is_it(&line));
    from_below.map_or(1, |below| count - below)
}

/// True for a document whose sections are the source: as it was recorded last, or as it is, they
/// give the JSON. After a merge neither need hold; then some sections still do.
pub(super) fn is_source(
    files: &dyn Files,
    recorded: &dyn Files,
    document: Document,
) -> anyhow::Result<bool> {
    let artifact = document.artifact();
    let gives = |of: &dyn Files| -> bool {
        matches!(of.read(artifact), Ok(Some(_))) && matches!(is_older(of, document), Ok(false))
    };
    if gives(recorded) || gives(files) {
        return Ok(true);
    }
    let Some(text) = files.read(artifact)? else { return Ok(false) };
    let kinds = Documents::of(files)?.kinds(document);
    let records = readable_json(files, recorded)?.0.records();
    let reading = plainly_read(&text, kinds, &records);
    let known = records.ids().filter(|id| IdKind::of(id).is_some_and(|kind| kinds.contains(&kind)));
    let (mut all, mut same) = (0_usize, 0_usize);
    for id in known {
        all += 1;
        let is_same = reading.section(id).zip(records.get(id));
        same += usize::from(
            is_same.is_some_and(|(one, other)| different_fields(one, &other).is_empty()),
        );
    }
    Ok(same > 0 && same * 2 >= all)
}

/// What a document says, with nothing known of its history.
pub(super) fn plainly_read(text: &str, kinds: &[IdKind], present: &Records) -> Reading {
    let used = std::collections::BTreeMap::new();
    let (floors, by) = (IdFloors::default(), Writer::Person);
    sections::read(text, &Context { kinds, used: &used, floors, present, in_base: &|_| true, by })
}

/// The JSON, as far as it can be read, in place of the rest that of `recorded`; and why the rest
/// cannot.
pub(super) fn readable_json(
    files: &dyn Files,
    recorded: &dyn Files,
) -> anyhow::Result<(RecordFiles, Vec<(Artifact, String)>)> {
    let (mut found, mut broken) = (RecordFiles::default(), Vec::new());
    for artifact in RECORDS {
        let Some(mut text) = files.read(artifact)? else { continue };
        if let Some(why) = unreadable(artifact, text.as_bytes()) {
            broken.push((artifact, why));
            let earlier = recorded.read(artifact)?;
            let Some(earlier) =
                earlier.filter(|text| unreadable(artifact, text.as_bytes()).is_none())
            else {
                continue;
            };
            text = earlier;
        }
        match artifact {
            Artifact::Requirements => found.requirements = read_json(artifact, &text)?,
            Artifact::Features => found.features = read_json(artifact, &text)?,
            Artifact::DesignSpec => found.design = read_json(artifact, &text)?,
            _ => found.plan = read_json(artifact, &text)?,
        }
    }
    Ok((found, broken))
}

/// Puts records into the files that hold them.
pub(super) fn set(files: &mut RecordFiles, records: Records) {
    files.requirements.requirements = records.requirements;
    files.features.features = records.features;
    files.design.components = records.components;
    files.plan.tasks = records.tasks;
}

/// The files as bytes, each with whether it is as it was.
pub(super) fn rendered(
    old: &RecordFiles,
    new: &RecordFiles,
) -> anyhow::Result<Vec<(Artifact, String, bool)>> {
    Ok(vec![
        (
            Artifact::Requirements,
            render_json(&new.requirements)?,
            old.requirements == new.requirements,
        ),
        (Artifact::Features, render_json(&new.features)?, old.features == new.features),
        (Artifact::DesignSpec, render_json(&new.design)?, old.design == new.design),
        (Artifact::ImplementationPlan, render_json(&new.plan)?, old.plan == new.plan),
    ])
}

/// Those of a side that are the same thing here: an id may mean another one there.
fn called_the_same(side: Records, here: &Records) -> Records {
    let same =
        side.iter().filter(|one| here.get(one.id()).is_some_and(|r| r.title() == one.title()));
    same.collect()
}
