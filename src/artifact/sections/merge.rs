//! Three-way merge of documents: records by field and item, the order of sections, and the prose
//! between them.

use std::collections::{BTreeMap, BTreeSet};

use super::super::id::next_below;
use super::super::{IdFloors, IdKind, Renumbered, renumber_text};
use super::apply::same;
use super::merge_document::{Side, Three};
use super::merge_records::without_sets;
use super::{Document, Documents, Reading, Record, Records, read_plainly, references};

/// The existing documents of one version.
pub type Texts = BTreeMap<Document, String>;

/// Merges three versions of a prose text; returns `None` on conflict.
pub type MergeProse<'a> = dyn Fn(&str, &str, &str) -> Option<String> + 'a;

/// The merged documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
    /// All documents of the session.
    pub texts: Texts,
    /// Records of `theirs` that got a new id because `ours` has another record with the old id.
    pub renumbered: Vec<Renumbered>,
}

/// A conflict that only a person can resolve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The document with the conflict.
    pub document: Document,
    /// A description of the changes on both sides.
    pub text: String,
}

/// One version of the documents, with their contents.
pub(super) struct Version<'a> {
    texts: &'a Texts,
    pub(super) readings: BTreeMap<Document, Reading>,
}

impl<'a> Version<'a> {
    fn read(texts: &'a Texts, documents: Documents, name: &str) -> Result<Self, Vec<Conflict>> {
        let mut readings = BTreeMap::new();
        let mut refused = Vec::new();
        for (document, text) in texts {
            let reading = read_committed(text, documents.kinds(*document));
            refused.extend(reading.refusals.iter().map(|remark| Conflict {
                document: *document,
                text: format!("{name}, line {}: {}", remark.line, remark.text),
            }));
            readings.insert(*document, reading);
        }
        if refused.is_empty() { Ok(Self { texts, readings }) } else { Err(refused) }
    }

    fn ids(&self) -> BTreeSet<&str> {
        let sections = self.readings.values().flat_map(|reading| &reading.sections);
        sections.map(|section| section.record.id()).collect()
    }

    fn record(&self, id: &str) -> Option<&Record> {
        self.readings.values().find_map(|reading| Some(&reading.section(id)?.record))
    }
}

/// Returns a text without the sections of these records, and the id and title of each.
pub fn without_sections(text: &str, is_left_out: &dyn Fn(&str) -> bool) -> (String, Vec<String>) {
    let reading = read_committed(text, &IdKind::ALL);
    let titles = reading.sections.iter().map(|one| &one.record);
    let titles = titles.filter(|record| is_left_out(record.id()));
    let titles = titles.map(|record| format!("{} {}", record.id(), record.title())).collect();
    (reading.without(text, |record| is_left_out(record.id())), titles)
}

fn read_committed(text: &str, kinds: &[IdKind]) -> Reading {
    read_plainly(text, kinds, &Records::default())
}

/// Returns the documents that exist on any side.
fn documents_of(sides: &[&Texts]) -> Documents {
    let has = |document| sides.iter().any(|side| side.contains_key(&document));
    Documents { prd: has(Document::Prd), design: has(Document::Design), plan: has(Document::Plan) }
}

/// Merges two versions of a session's documents. If both sides gave one id to different new
/// records, the record of `theirs` gets the next number, and references in `theirs` are updated.
///
/// # Errors
///
/// Conflicting changes of both sides, and references to records that one side deleted.
pub fn merge(
    base: &Texts,
    ours: &Texts,
    theirs: &Texts,
    floors: &mut IdFloors,
    prose: &MergeProse<'_>,
) -> Result<Merged, Vec<Conflict>> {
    let documents = documents_of(&[base, ours, theirs]);
    let old = Version::read(base, documents, "base")?;
    let our = Version::read(ours, documents, "ours")?;
    let their = Version::read(theirs, documents, "theirs")?;
    let (theirs, renumbered) = told_apart(&old, &our, their, floors)?;
    let their = Version::read(&theirs, documents, "theirs")?;
    let mut merged = Merged { texts: Texts::new(), renumbered };
    let mut conflicts = Vec::new();
    for document in Document::ALL {
        let side = |texts: &Texts| texts.get(&document).cloned();
        let text = match (side(base), side(ours), side(theirs_of(&their))) {
            (_, None, None) => continue,
            (Some(base), None, Some(theirs)) if base == theirs => continue,
            (Some(base), Some(ours), None) if base == ours => continue,
            (Some(_), Some(_), None) | (Some(_), None, Some(_)) => {
                let text = "one side deleted the document, the other changed it".to_owned();
                conflicts.push(Conflict { document, text });
                continue;
            }
            (None, Some(text), None) | (None, None, Some(text)) => text,
            (base, Some(_), Some(_)) => {
                let empty = (Texts::from([(document, String::new())]), Reading::default());
                let base_text = base.unwrap_or_default();
                let three = Three {
                    document,
                    base: Side::new(&old, document, &base_text, &empty.1),
                    ours: Side::new(&our, document, &ours[&document], &empty.1),
                    theirs: Side::new(&their, document, &theirs[&document], &empty.1),
                };
                match three.merged(prose, documents.kinds(document)) {
                    Ok(text) => text,
                    Err(more) => {
                        conflicts.extend(more);
                        continue;
                    }
                }
            }
        };
        merged.texts.insert(document, text);
    }
    if conflicts.is_empty() {
        conflicts = dangling(&merged.texts, documents, &our, &their);
    }
    if conflicts.is_empty() { Ok(merged) } else { Err(conflicts) }
}

fn theirs_of<'a>(version: &Version<'a>) -> &'a Texts {
    version.texts
}

/// Gives new ids to records of theirs if both sides created different records under one id; returns
/// the texts and the new ids. A record that both sides created alike gets a new id as well if the
/// record that it belongs to got one.
fn told_apart(
    old: &Version<'_>,
    our: &Version<'_>,
    their: Version<'_>,
    floors: &mut IdFloors,
) -> Result<(Texts, Vec<Renumbered>), Vec<Conflict>> {
    let documents = documents_of(&[old.texts, our.texts, their.texts]);
    let mut done = collisions([old, our, &their], floors, &same);
    let mut theirs = renumbered_texts(their.texts, &done);
    loop {
        let version = Version::read(&theirs, documents, "theirs")?;
        let alike = |one: &Record, other: &Record| same(&without_sets(one), &without_sets(other));
        let more = collisions([old, our, &version], floors, &alike);
        if more.is_empty() {
            return Ok((theirs, done));
        }
        theirs = renumbered_texts(&theirs, &more);
        done.extend(more);
    }
}

fn renumbered_texts(texts: &Texts, done: &[Renumbered]) -> Texts {
    texts.iter().map(|(document, text)| (*document, renumber_text(text, 1, done))).collect()
}

/// Finds records that both sides created under one id, and returns new ids for them.
fn collisions(
    [old, our, their]: [&Version<'_>; 3],
    floors: &mut IdFloors,
    is_same: &dyn Fn(&Record, &Record) -> bool,
) -> Vec<Renumbered> {
    let mut known: Vec<String> = Vec::new();
    for version in [old, our, their] {
        known.extend(version.ids().into_iter().map(str::to_owned));
    }
    for id in &known {
        if let Some(kind) = IdKind::of_id(id) {
            floors.see(kind, id);
        }
    }
    let mut done: Vec<Renumbered> = Vec::new();
    let both = our.ids().into_iter().filter(|id| their.record(id).is_some());
    for id in both.filter(|id| old.record(id).is_none()) {
        let (Some(one), Some(other)) = (our.record(id), their.record(id)) else { continue };
        let moved = |done: &[Renumbered]| {
            done.iter()
                .any(|one| id.strip_prefix(&one.from).is_some_and(|rest| rest.starts_with('.')))
        };
        if is_same(one, other) || moved(&done) {
            continue;
        }
        let Some(kind) = IdKind::of_id(id) else { continue };
        let to = match id.rsplit_once('.') {
            Some((above, _)) => next_below(above, known.iter().map(String::as_str)),
            None => floors.next(kind),
        };
        known.push(to.clone());
        done.push(Renumbered { from: id.to_owned(), to, side: 1 });
    }
    done
}

/// Returns references to missing records that no side had before the merge.
fn dangling(
    texts: &Texts,
    documents: Documents,
    our: &Version<'_>,
    their: &Version<'_>,
) -> Vec<Conflict> {
    let read: Vec<(Document, &String, Reading)> = texts
        .iter()
        .map(|(document, text)| (*document, text, read_committed(text, documents.kinds(*document))))
        .collect();
    let all: Vec<(Document, &str, &Reading)> =
        read.iter().map(|(document, text, reading)| (*document, text.as_str(), reading)).collect();
    let before: Vec<String> = [our, their]
        .into_iter()
        .flat_map(|version| {
            let all: Vec<(Document, &str, &Reading)> = version
                .readings
                .iter()
                .map(|(document, reading)| (*document, version.texts[document].as_str(), reading))
                .collect();
            references(documents, &all, &records_of(&all))
        })
        .map(|one| one.remark.text)
        .collect();
    let mut found: Vec<Conflict> = references(documents, &all, &records_of(&all))
        .into_iter()
        .filter(|one| !before.contains(&one.remark.text))
        .map(|one| Conflict { document: one.document, text: one.remark.text })
        .collect();
    for (document, _, reading) in &read {
        found.extend(reading.refusals.iter().map(|remark| Conflict {
            document: *document,
            text: format!("line {}: {}", remark.line, remark.text),
        }));
    }
    found
}

/// Returns the records of these readings.
fn records_of(readings: &[(Document, &str, &Reading)]) -> Records {
    let sections = readings.iter().flat_map(|(_, _, reading)| &reading.sections);
    sections.map(|section| section.record.clone()).collect()
}
