//! Resolves id collisions after a merge: if two branches gave one id to different records, one of
//! the records gets a new id, and all references to it are updated.
//!
//! The author of a record is determined from the *sides* of the merge: the artifacts as each change
//! left them. Works on JSON values, so that fields of other versions survive.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

mod version;

pub(super) use version::{keep_added, repeats_ids};

use super::{Artifact, Files, IdFloors, render_json};
use version::{LISTS, List, REFERENCES, Version, id_of, name_of, same, targets};

const DOCUMENTS: [Artifact; 3] = [Artifact::Prd, Artifact::Design, Artifact::Plan];

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

/// Who wrote a record: one or more sides of the merge.
struct Author {
    /// The original id.
    id: String,
    /// True if another record has the same id.
    collided: bool,
    /// The sides that contain the record as it is, or as it was before a person edited it.
    sides: BTreeSet<usize>,
}

/// Returns the duplicate ids whose records [`renumber`] can attribute to different sides.
///
/// # Errors
///
/// If a file cannot be read.
pub fn collided(merged: &dyn Files, sides: &[&dyn Files]) -> anyhow::Result<BTreeSet<String>> {
    let mut version = Version::read(merged)?;
    if !version.repeats_ids() {
        // Without duplicate ids, skip the search for authors: it is slow with many records.
        return Ok(BTreeSet::new());
    }
    let sides = sides.iter().map(|side| Version::read(*side));
    let versions: Vec<Version> = sides.collect::<anyhow::Result<_>>()?;
    let written = authors(&version, &versions);
    let mut done = Vec::new();
    for list in LISTS {
        new_ids(&mut version, list, &written, None, &mut IdFloors::default(), &mut done);
    }
    let mut ids: BTreeSet<String> = done.iter().map(|one| one.from.clone()).collect();
    // Sub-tasks get new ids with their task.
    for author in written.values() {
        let task = author.id.split_once('.').map(|(task, _)| task);
        if task.is_some_and(|task| ids.contains(task)) && author.sides.len() == 1 {
            ids.insert(author.id.clone());
        }
    }
    Ok(ids)
}

/// A record with its name, by which people identify it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRecord {
    /// The file it is in.
    pub artifact: Artifact,
    /// Its id.
    pub id: String,
    /// Its title or name.
    pub name: String,
}

impl NamedRecord {
    /// True if both are records of the same kind with the same name, whatever their ids.
    pub fn is_called_as(&self, other: &Self) -> bool {
        self.artifact == other.artifact && self.name == other.name
    }
}

/// Returns all records.
///
/// # Errors
///
/// If a file cannot be read.
pub fn named_records(files: &dyn Files) -> anyhow::Result<Vec<NamedRecord>> {
    let version = Version::read(files)?;
    let mut found = Vec::new();
    for list in LISTS {
        for record in version.records(&list) {
            let (id, name) = (id_of(record).to_owned(), name_of(record).unwrap_or_default());
            found.push(NamedRecord { artifact: list.0, id, name: name.to_owned() });
        }
    }
    Ok(found)
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
    sides: &[&dyn Files],
    keeps: Option<usize>,
    floors: &mut IdFloors,
) -> anyhow::Result<Vec<Renumbered>> {
    let mut version = Version::read(merged)?;
    let sides_read = sides.iter().map(|side| Version::read(*side));
    let versions: Vec<Version> = sides_read.collect::<anyhow::Result<_>>()?;
    // Must run before any id changes.
    let written = authors(&version, &versions);
    let mut done = Vec::new();
    for list in LISTS {
        new_ids(&mut version, list, &written, keeps, floors, &mut done);
    }
    if done.is_empty() {
        return Ok(done);
    }
    for ((list, at), author) in &written {
        if let Some(record) = version.record_mut(list, *at) {
            follow(record, list, author, &versions, &done);
        }
    }
    for (artifact, value) in &version.files {
        write(merged, *artifact, &render_json(value)?)?;
    }
    for artifact in DOCUMENTS {
        let Some(text) = merged.read(artifact)? else { continue };
        let texts = sides.iter().map(|side| Ok(side.read(artifact)?.unwrap_or_default()));
        let texts: Vec<String> = texts.collect::<anyhow::Result<_>>()?;
        write(merged, artifact, &document(&text, &texts, &done))?;
    }
    Ok(done)
}

fn write(files: &dyn Files, artifact: Artifact, text: &str) -> anyhow::Result<()> {
    if files.read(artifact)?.as_deref() == Some(text) {
        return Ok(());
    }
    files.write(artifact, text)
}

/// Returns the author of each record, by list and index.
fn authors(version: &Version, sides: &[Version]) -> BTreeMap<(List, usize), Author> {
    let mut authors = BTreeMap::new();
    for list in LISTS {
        let mut by_id: BTreeMap<&str, Vec<(usize, &Value)>> = BTreeMap::new();
        for (at, record) in version.records(&list).iter().enumerate() {
            by_id.entry(id_of(record)).or_default().push((at, record));
        }
        for (id, records) in by_id {
            let wrote = writers(id, &list, &records, sides);
            for ((at, _), sides) in records.iter().zip(wrote) {
                let author = Author { id: id.to_owned(), collided: records.len() > 1, sides };
                authors.insert((list, *at), author);
            }
        }
    }
    authors
}

/// Returns, for each record with this id, the sides that wrote it. If a person has edited a record
/// in the meantime, the record is identified by its name. If it has a new name and all other
/// records are attributed, it belongs to the one side that is left.
fn writers(
    id: &str,
    list: &List,
    records: &[(usize, &Value)],
    sides: &[Version],
) -> Vec<BTreeSet<usize>> {
    let holders = |known: &dyn Fn(&Value) -> bool| -> BTreeSet<usize> {
        let holds = |side: &usize| sides[*side].records(list).iter().any(known);
        (0..sides.len()).filter(holds).collect()
    };
    let mut wrote: Vec<BTreeSet<usize>> =
        records.iter().map(|(_, record)| holders(&|r| same(r, record))).collect();
    if records.len() < 2 {
        return wrote;
    }
    let taken: BTreeSet<usize> = wrote.iter().flatten().copied().collect();
    for ((_, record), wrote) in records.iter().zip(&mut wrote) {
        if wrote.is_empty() {
            let named = |r: &Value| id_of(r) == id && name_of(r) == name_of(record);
            *wrote = holders(&named).difference(&taken).copied().collect();
        }
    }
    let taken: BTreeSet<usize> = wrote.iter().flatten().copied().collect();
    let left: BTreeSet<usize> = holders(&|r| id_of(r) == id).difference(&taken).copied().collect();
    let mut unknown = wrote.iter_mut().filter(|wrote| wrote.is_empty());
    if let (Some(one), None, 1) = (unknown.next(), unknown.next(), left.len()) {
        *one = left;
    }
    wrote
}

/// Gives new ids if two records of a list have the same id.
fn new_ids(
    version: &mut Version,
    list: List,
    written: &BTreeMap<(List, usize), Author>,
    keeps: Option<usize>,
    floors: &mut IdFloors,
    done: &mut Vec<Renumbered>,
) {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for at in 0..version.records(&list).len() {
        let Some(author) = written.get(&(list, at)) else { continue };
        let Some(&before) = first.get(author.id.as_str()) else {
            first.insert(&author.id, at);
            continue;
        };
        // A sub-task gets its new id with its parent.
        let Some(other) = written.get(&(list, before)).filter(|_| !author.id.contains('.')) else {
            continue;
        };
        // If one author is unknown, a reference could mean either record, so both keep the id.
        if author.sides.is_empty() || other.sides.is_empty() {
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
        let to = floors.next(list.2);
        if let Some(record) = version.record_mut(&list, moves) {
            record["id"] = to.clone().into();
        }
        done.push(Renumbered { from: author.id.clone(), to, side });
    }
}

/// Replaces the ids that a record refers to by the new ids of the records that its author meant.
fn follow(
    record: &mut Value,
    list: &List,
    author: &Author,
    sides: &[Version],
    done: &[Renumbered],
) {
    if author.collided && author.sides.is_empty() {
        return;
    }
    if let [side] = author.sides.iter().collect::<Vec<_>>()[..]
        && author.id.contains('.')
        && let Some(to) = moved(done, &author.id, *side)
    {
        record["id"] = to.into();
    }
    let wrote = |side: &usize| author.sides.is_empty() || author.sides.contains(side);
    for field in REFERENCES {
        for target in targets(&record[field]) {
            let means = |side: &usize| {
                let mut records = sides[*side].records(list).iter();
                records.any(|r| id_of(r) == author.id && targets(&r[field]).contains(&target))
            };
            let meant: Vec<usize> = (0..sides.len()).filter(wrote).filter(means).collect();
            let keeps = meant.iter().any(|side| moved(done, &target, *side).is_none());
            if let Some(to) = meant.iter().find_map(|side| moved(done, &target, *side)) {
                replace(&mut record[field], &target, &to, keeps);
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

/// Replaces all ids that changed, in a text that belongs to one side.
pub fn renumber_text(text: &str, side: usize, done: &[Renumbered]) -> String {
    let ours = done.iter().filter(|one| one.side == side);
    ours.fold(text.to_owned(), |text, one| replace_word(&text, &one.from, &one.to))
}

/// Updates ids in a document, but only in lines that exactly one side wrote.
pub(super) fn document(text: &str, sides: &[String], done: &[Renumbered]) -> String {
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

/// Replaces `from` by `to`. With `keeps`, `from` must stay: `to` is added to a list that has `from`
/// only once, and a single value does not change.
fn replace(field: &mut Value, from: &str, to: &str, keeps: bool) {
    match field {
        Value::String(one) if !keeps => to.clone_into(one),
        Value::Array(many) => {
            let Some(last) = many.iter().rposition(|one| one == from) else { return };
            let twice = many.iter().filter(|one| *one == from).count() > 1;
            if !keeps || twice {
                many[last] = to.into();
            } else if !many.iter().any(|one| one == to) {
                many.push(to.into());
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
