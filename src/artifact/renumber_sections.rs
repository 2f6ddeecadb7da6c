//! Resolves id collisions in documents whose sections are the source of the JSON: derives the JSON,
//! finds the author of each record in it as `renumber.rs` does, and writes the new ids into
//! headings and fields lines.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::derived::{plainly_read, readable_json, rendered};
use super::ledger::replace;
use super::renumber as values;
use super::sections::{self, Document, Documents, Record, Records};
use super::{Artifact, Files, IdFloors, IdKind, Renumbered};

/// The files of one version, with the JSON that is derived from its documents.
struct View {
    files: RefCell<BTreeMap<Artifact, String>>,
    /// The documents that exist.
    documents: Vec<Document>,
}

impl View {
    fn of(files: &dyn Files) -> anyhow::Result<Self> {
        let mut found = BTreeMap::new();
        for artifact in Artifact::ALL {
            if let Some(text) = files.read(artifact)? {
                found.insert(artifact, text);
            }
        }
        let documents = Documents::of(files)?;
        let existing: Vec<Document> =
            Document::ALL.into_iter().filter(|one| documents.has(*one)).collect();
        let (json, _) = readable_json(files, files)?;
        let (known, mut records) = (json.records(), json.records());
        let mut kinds: Vec<IdKind> = Vec::new();
        for document in &existing {
            let own = documents.kinds(*document);
            let reading = plainly_read(&found[&document.artifact()], own, &known);
            replace(&mut records, own, &reading);
            kinds.extend(own);
        }
        let known = by_name(&known);
        let records: Vec<Record> = records.iter().map(|one| as_known(one, &known)).collect();
        let mut new = json.clone();
        super::derived::set(&mut new, records.into_iter().collect());
        for (artifact, text, _) in rendered(&json, &new, documents)? {
            let derived = kinds.iter().any(|kind| super::derived::file_of(*kind) == artifact);
            if derived && (found.contains_key(&artifact) || text.contains("\"id\"")) {
                found.insert(artifact, text);
            }
        }
        Ok(Self { files: RefCell::new(found), documents: existing })
    }

    fn views(sides: &[Side<'_>]) -> anyhow::Result<Vec<Self>> {
        let of = |side: &Side<'_>| match side {
            Side::Whole(files) => Self::of(*files),
            Side::Added { before, after } => {
                let (before, after) = (Self::of(*before)?, Self::of(*after)?);
                values::keep_added(&before, &after)?;
                Ok(after)
            }
        };
        sides.iter().map(of).collect()
    }
}

/// A side that assigned ids: a whole version, or the additions of one commit.
#[derive(Clone, Copy)]
pub enum Side<'a> {
    /// A complete version.
    Whole(&'a dyn Files),
    /// The records that one commit added.
    Added {
        /// The version before the commit.
        before: &'a dyn Files,
        /// The version after the commit.
        after: &'a dyn Files,
    },
}

impl Side<'_> {
    /// Returns the lines that the side wrote.
    fn text(&self, artifact: Artifact) -> anyhow::Result<String> {
        let read =
            |files: &dyn Files| Ok::<_, anyhow::Error>(files.read(artifact)?.unwrap_or_default());
        match self {
            Self::Whole(files) => read(*files),
            Self::Added { before, after } => {
                let (before, after) = (read(*before)?, read(*after)?);
                let known: BTreeSet<&str> = before.lines().collect();
                let added = after.lines().filter(|line| !known.contains(line));
                Ok(added.map(|line| format!("{line}\n")).collect())
            }
        }
    }
}

/// True if two records of a kind have the same id.
///
/// # Errors
///
/// If a file cannot be read.
pub fn repeats_ids(files: &dyn Files) -> anyhow::Result<bool> {
    values::repeats_ids(&View::of(files)?)
}

impl Files for View {
    fn read(&self, artifact: Artifact) -> anyhow::Result<Option<String>> {
        Ok(self.files.borrow().get(&artifact).cloned())
    }

    fn write(&self, artifact: Artifact, text: &str) -> anyhow::Result<()> {
        self.files.borrow_mut().insert(artifact, text.to_owned());
        Ok(())
    }
}

/// Records by id and title; if several records share both, the first one.
type ByName = HashMap<(String, String), Record>;

fn by_name(records: &Records) -> ByName {
    let mut found = ByName::new();
    for record in records.iter() {
        let name = (record.id().to_owned(), record.title().to_owned());
        found.entry(name).or_insert(record);
    }
    found
}

/// Adds the fields that exist only in JSON, from the known record with the same id and title.
fn as_known(mut record: Record, known: &ByName) -> Record {
    if let Some(other) = known.get(&(record.id().to_owned(), record.title().to_owned())) {
        record.keep_unwritten(other);
        record.keep_sides(other);
    }
    record
}

/// Returns the duplicate ids whose records [`renumber`] can attribute to different sides.
///
/// # Errors
///
/// If a file cannot be read.
pub fn collided(merged: &dyn Files, sides: &[Side<'_>]) -> anyhow::Result<BTreeSet<String>> {
    let views = View::views(sides)?;
    let views: Vec<&dyn Files> = views.iter().map(|view| view as &dyn Files).collect();
    values::collided(&View::of(merged)?, &views)
}

/// Gives one of every two records with the same id a new id, updates all references, and writes the
/// changed files. If the records cannot be attributed to different sides, they keep their ids;
/// `keeps` is a side whose records keep theirs.
///
/// # Errors
///
/// If a file cannot be read or written.
pub fn renumber(
    merged: &dyn Files,
    sides: &[Side<'_>],
    keeps: Option<usize>,
    floors: &mut IdFloors,
) -> anyhow::Result<Vec<Renumbered>> {
    let view = View::of(merged)?;
    let views = View::views(sides)?;
    let views: Vec<&dyn Files> = views.iter().map(|view| view as &dyn Files).collect();
    let done = values::renumber(&view, &views, keeps, floors)?;
    if done.is_empty() {
        return Ok(done);
    }
    let documents = Documents::of(merged)?;
    let (json, _) = readable_json(merged, merged)?;
    let records = readable_json(&view, &view)?.0.records();
    for document in &view.documents {
        let artifact = document.artifact();
        let Some(text) = merged.read(artifact)? else { continue };
        let reading = plainly_read(&text, documents.kinds(*document), &json.records());
        let text = sections::renumbered(&text, &reading, &records, &done);
        let texts = sides.iter().map(|side| side.text(artifact));
        let texts: Vec<String> = texts.collect::<anyhow::Result<_>>()?;
        view.write(artifact, &values::document(&text, &texts, &done))?;
    }
    for (artifact, text) in &*view.files.borrow() {
        if merged.read(*artifact)?.as_ref() != Some(text) {
            merged.write(*artifact, text)?;
        }
    }
    Ok(done)
}
