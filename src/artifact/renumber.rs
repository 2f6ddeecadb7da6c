//! Resolves id collisions after a merge: if two branches gave one id to different records, one of
//! the records gets a new id, and all references to it are updated.
//!
//! The author of a record is determined from the *sides* of the merge: the records as each change
//! left them. The new ids are written into headings and fields lines, and the JSON follows.

use std::collections::{BTreeMap, BTreeSet};

use super::derived::{readable_json, rendered};
use super::ledger::replace;
use super::sections::{self, Document, Documents, Record, Records, Slot, read_plainly};
use super::{Artifact, Files, IdFloors};

/// A record that got a new id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renumbered {
    /// The id that two records had.
    pub from: String,
    /// The new id of one of them.
    pub to: String,
    /// The side that the record came from.
    pub side: usize,
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
    /// Returns the records that the side wrote.
    fn records(&self) -> anyhow::Result<Vec<Record>> {
        match self {
            Self::Whole(files) => records(*files),
            Self::Added { before, after } => Ok(added(&records(*before)?, records(*after)?)),
        }
    }

    /// Returns the lines that the side wrote.
    fn text(&self, artifact: Artifact) -> anyhow::Result<String> {
        let read = |files: &dyn Files| anyhow::Ok(files.read(artifact)?.unwrap_or_default());
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

/// Reads the records of a version from its documents; a record keeps the fields that exist only in
/// the JSON if the JSON has one with its id and title.
fn records(files: &dyn Files) -> anyhow::Result<Vec<Record>> {
    let documents = Documents::existing(files)?;
    let json = readable_json(files, files)?.0.records();
    let mut all = json.clone();
    for document in Document::ALL {
        if let Some(text) = files.read(document.artifact())? {
            let kinds = documents.kinds(document);
            replace(&mut all, kinds, &read_plainly(&text, kinds, &json));
        }
    }
    let name = |record: &Record| (record.id().to_owned(), record.title().to_owned());
    let mut json_by_name: BTreeMap<(String, String), Record> = BTreeMap::new();
    for record in json.into_records() {
        json_by_name.entry(name(&record)).or_insert(record);
    }
    let mut all: Vec<Record> = all.into_records().collect();
    for record in &mut all {
        if let Some(other) = json_by_name.get(&name(record)) {
            record.keep_unwritten(other);
            record.keep_sides(other);
        }
    }
    Ok(all)
}

/// Reduces `after` to what `before` does not contain: the records that are new or changed, and in
/// changed records only the new references.
fn added(before: &[Record], mut after: Vec<Record>) -> Vec<Record> {
    after.retain(|record| !before.iter().any(|other| same(record, other)));
    for record in &mut after {
        let is_it = |other: &&Record| other.id() == record.id() && other.title() == record.title();
        let Some(other) = before.iter().find(is_it) else { continue };
        for slot in reference_slots(record) {
            let known = other.values(slot);
            let new = record.values(slot).into_iter().filter(|id| !known.contains(id));
            record.set_values(slot, new.collect());
        }
    }
    after
}

/// The slots of a record's fields line that hold ids.
fn reference_slots(record: &Record) -> impl Iterator<Item = Slot> + use<> {
    record.kind().slots().iter().copied().filter(|slot| slot.id_kind().is_some())
}

/// True if the records are equal, ignoring their status, which changes with every merge of code.
fn same(one: &Record, other: &Record) -> bool {
    one.id() == other.id() && {
        let mut one = one.clone();
        one.keep_status(other);
        one == *other
    }
}

/// True if two records of a kind have the same id.
///
/// # Errors
///
/// If a file cannot be read.
pub fn repeats_ids(files: &dyn Files) -> anyhow::Result<bool> {
    Ok(repeats(&records(files)?))
}

fn repeats(records: &[Record]) -> bool {
    records.iter().map(Record::id).collect::<BTreeSet<_>>().len() < records.len()
}

/// Returns the duplicate ids whose records [`renumber`] can attribute to different sides.
///
/// # Errors
///
/// If a file cannot be read.
pub fn collided(merged: &dyn Files, sides: &[Side<'_>]) -> anyhow::Result<BTreeSet<String>> {
    let mut records = records(merged)?;
    if !repeats(&records) {
        // Without duplicate ids, skip the search for authors: it is slow with many records.
        return Ok(BTreeSet::new());
    }
    let sides: Vec<Vec<Record>> = sides.iter().map(Side::records).collect::<anyhow::Result<_>>()?;
    let authors = authors(&records, &sides);
    let done = new_ids(&mut records, &authors, None, &mut IdFloors::default());
    let mut ids: BTreeSet<String> = done.into_iter().map(|one| one.from).collect();
    // Sub-tasks get new ids with their task.
    for author in &authors {
        let task = author.id.split_once('.').map(|(task, _)| task);
        if task.is_some_and(|task| ids.contains(task)) && author.sides.len() == 1 {
            ids.insert(author.id.clone());
        }
    }
    Ok(ids)
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
    let versions = sides.iter().map(Side::records).collect::<anyhow::Result<Vec<_>>>()?;
    let mut all = records(merged)?;
    let done = renumber_records(&mut all, &versions, keeps, floors);
    if done.is_empty() {
        return Ok(done);
    }
    let documents = Documents::existing(merged)?;
    let (json, _) = readable_json(merged, merged)?;
    let records: Records = all.into_iter().collect();
    for document in Document::ALL {
        let artifact = document.artifact();
        let Some(text) = merged.read(artifact)? else { continue };
        let reading = read_plainly(&text, documents.kinds(document), &json.records());
        let new = sections::renumbered(&text, &reading, &records, &done);
        let lines = sides.iter().map(|side| side.text(artifact));
        let new = renumber_lines(&new, &lines.collect::<anyhow::Result<Vec<_>>>()?, &done);
        if new != text {
            merged.write(artifact, &new)?;
        }
    }
    let mut new = json.clone();
    new.set_records(records);
    for (artifact, text, same) in rendered(&json, &new, documents)? {
        if !same {
            merged.write(artifact, &text)?;
        }
    }
    Ok(done)
}

/// Gives new ids to records, and updates the references to them.
fn renumber_records(
    records: &mut [Record],
    sides: &[Vec<Record>],
    keeps: Option<usize>,
    floors: &mut IdFloors,
) -> Vec<Renumbered> {
    // Must run before any id changes.
    let authors = authors(records, sides);
    let done = new_ids(records, &authors, keeps, floors);
    for (record, author) in records.iter_mut().zip(&authors).filter(|_| !done.is_empty()) {
        follow(record, author, sides, &done);
    }
    done
}

/// Who wrote a record: one or more sides of the merge.
#[derive(Clone, Default)]
struct Author {
    /// The original id.
    id: String,
    /// True if another record has the same id.
    collided: bool,
    /// The sides that contain the record as it is, or as it was before a person edited it.
    sides: BTreeSet<usize>,
}

/// Returns the author of each record.
fn authors(records: &[Record], sides: &[Vec<Record>]) -> Vec<Author> {
    let mut by_id: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, record) in records.iter().enumerate() {
        by_id.entry(record.id()).or_default().push(at);
    }
    let mut authors = vec![Author::default(); records.len()];
    for (id, places) in by_id {
        let same_id: Vec<&Record> = places.iter().map(|at| &records[*at]).collect();
        for (at, sides) in places.iter().zip(writers(id, &same_id, sides)) {
            authors[*at] = Author { id: id.to_owned(), collided: places.len() > 1, sides };
        }
    }
    authors
}

/// Returns, for each record with this id, the sides that wrote it. If a person has edited a record
/// in the meantime, the record is identified by its title. If it has a new title and all other
/// records are attributed, it belongs to the one side that is left.
fn writers(id: &str, records: &[&Record], sides: &[Vec<Record>]) -> Vec<BTreeSet<usize>> {
    let holders = |is_it: &dyn Fn(&Record) -> bool| -> BTreeSet<usize> {
        (0..sides.len()).filter(|side| sides[*side].iter().any(is_it)).collect()
    };
    let mut writers: Vec<BTreeSet<usize>> =
        records.iter().map(|record| holders(&|other| same(other, record))).collect();
    if records.len() < 2 {
        return writers;
    }
    let others = |writers: &[BTreeSet<usize>], holders: BTreeSet<usize>| -> BTreeSet<usize> {
        holders.into_iter().filter(|side| !writers.iter().any(|one| one.contains(side))).collect()
    };
    let exact = writers.clone();
    for (record, sides) in records.iter().zip(&mut writers).filter(|(_, sides)| sides.is_empty()) {
        let is_it = |other: &Record| other.id() == id && other.title() == record.title();
        *sides = others(&exact, holders(&is_it));
    }
    let rest = others(&writers, holders(&|other| other.id() == id));
    let mut unknown = writers.iter_mut().filter(|sides| sides.is_empty());
    if let (Some(one), None, 1) = (unknown.next(), unknown.next(), rest.len()) {
        *one = rest;
    }
    writers
}

/// Gives new ids if two records have the same id.
fn new_ids(
    records: &mut [Record],
    authors: &[Author],
    keeps: Option<usize>,
    floors: &mut IdFloors,
) -> Vec<Renumbered> {
    let mut done = Vec::new();
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, author) in authors.iter().enumerate() {
        let Some(&before) = first.get(author.id.as_str()) else {
            first.insert(&author.id, at);
            continue;
        };
        let other = &authors[before];
        // A sub-task gets its new id with its parent. If one author is unknown, a reference could
        // mean either record, so both keep the id.
        if author.id.contains('.') || author.sides.is_empty() || other.sides.is_empty() {
            continue;
        }
        let only = |one: &Author, two: &Author| one.sides.difference(&two.sides).next().copied();
        // The later record gets the new id, unless only the earlier one can be attributed to a
        // side, or the later one belongs to the side that keeps its ids.
        let (moves, side) = match (only(author, other), only(other, author)) {
            (Some(later), Some(earlier)) if Some(later) == keeps => (before, earlier),
            (Some(side), _) => (at, side),
            (None, Some(side)) => (before, side),
            (None, None) => continue,
        };
        if moves == before {
            first.insert(&author.id, at);
        }
        let to = floors.next(records[moves].kind());
        records[moves].set_id(&to);
        done.push(Renumbered { from: author.id.clone(), to, side });
    }
    done
}

/// Replaces the ids that a record refers to by the new ids of the records that its author meant.
fn follow(record: &mut Record, author: &Author, sides: &[Vec<Record>], done: &[Renumbered]) {
    if author.collided && author.sides.is_empty() {
        return;
    }
    if author.id.contains('.')
        && author.sides.len() == 1
        && let Some(to) = author.sides.first().and_then(|side| moved(done, &author.id, *side))
    {
        record.set_id(&to);
    }
    let wrote = |side: &usize| author.sides.is_empty() || author.sides.contains(side);
    for slot in reference_slots(record) {
        for target in record.values(slot).into_iter().collect::<BTreeSet<_>>() {
            let refers = |one: &Record| one.id() == author.id && one.values(slot).contains(&target);
            let means = |side: &usize| sides[*side].iter().any(refers);
            let meant: Vec<usize> = (0..sides.len()).filter(wrote).filter(means).collect();
            let keeps = meant.iter().any(|side| moved(done, &target, *side).is_none());
            if let Some(to) = meant.iter().find_map(|side| moved(done, &target, *side)) {
                let ids = replaced(slot, record.values(slot), &target, &to, keeps);
                record.set_values(slot, ids);
            }
        }
    }
}

/// Returns the new id of a side's record, if it got one; a sub-task gets the new prefix of its
/// task.
fn moved(done: &[Renumbered], id: &str, side: usize) -> Option<String> {
    let top = id.split('.').next().unwrap_or(id);
    let one = done.iter().find(|one| one.from == top && one.side == side)?;
    Some(format!("{}{}", one.to, &id[top.len()..]))
}

/// Replaces `from` by `to`. With `keeps`, `from` must stay: `to` is added to a list that has `from`
/// only once, and a single id does not change.
fn replaced(slot: Slot, mut ids: Vec<String>, from: &str, to: &str, keeps: bool) -> Vec<String> {
    let Some(last) = ids.iter().rposition(|id| id == from) else { return ids };
    let twice = ids.iter().filter(|id| *id == from).count() > 1;
    match slot {
        Slot::One(_) if keeps => {}
        _ if !keeps || twice => to.clone_into(&mut ids[last]),
        _ if ids.iter().any(|id| id == to) => {}
        _ => ids.push(to.to_owned()),
    }
    ids
}

/// Replaces all ids that changed, in a text that belongs to one side.
pub fn renumber_text(text: &str, side: usize, done: &[Renumbered]) -> String {
    let ours = done.iter().filter(|one| one.side == side);
    ours.fold(text.to_owned(), |text, one| replace_word(&text, &one.from, &one.to))
}

/// Updates ids in a document, but only in lines that exactly one side wrote.
fn renumber_lines(text: &str, sides: &[String], done: &[Renumbered]) -> String {
    let wrote = |side: usize, line: &str| sides[side].lines().any(|other| other == line);
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        let mut line = line.to_owned();
        for one in done {
            let others = (0..sides.len()).filter(|side| *side != one.side);
            if wrote(one.side, bare) && !others.into_iter().any(|side| wrote(side, bare)) {
                line = replace_word(&line, &one.from, &one.to);
            }
        }
        out += &line;
    }
    out
}

/// Replaces an id that is a whole word: `TASK-001`, also in `TASK-001.2`, but not in `TASK-0011`.
fn replace_word(text: &str, from: &str, to: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, after) = (&rest[..at], &rest[at + from.len()..]);
        let part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        let alone = !before.ends_with(part) && !after.starts_with(part);
        out += before;
        out += if alone { to } else { from };
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests;
