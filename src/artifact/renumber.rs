//! Ids that two branches gave to different things, and a merge brought together: one of the two gets
//! a new id, and so does everything that meant it.
//!
//! Whose a record is, is read from the *sides* that were merged: the artifacts as each change left
//! them. Works on JSON values, so that fields of other versions survive.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Artifact, Files, IdFloors, IdKind, render_json};

/// A list of records: its file, its name in there, and what its ids look like.
type List = (Artifact, &'static str, IdKind);

const LISTS: [List; 4] = [
    (Artifact::Requirements, "requirements", IdKind::Requirement),
    (Artifact::Features, "features", IdKind::Feature),
    (Artifact::DesignSpec, "components", IdKind::Component),
    (Artifact::ImplementationPlan, "tasks", IdKind::Task),
];

/// Fields that name other records.
const REFERENCES: [&str; 5] =
    ["requirement_ids", "related_features", "feature_id", "component_id", "dependencies"];

const DOCUMENTS: [Artifact; 3] = [Artifact::Prd, Artifact::Design, Artifact::Plan];

/// A record that got another id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renumbered {
    /// The id two records had.
    pub from: String,
    /// What one of them has now.
    pub to: String,
    /// Which of the sides it came from.
    pub side: usize,
}

/// One version of the records.
struct Version {
    files: BTreeMap<Artifact, Value>,
}

impl Version {
    fn read(files: &dyn Files) -> anyhow::Result<Self> {
        let mut read = BTreeMap::new();
        for (artifact, ..) in LISTS {
            if let Some(text) = files.read(artifact)? {
                read.insert(artifact, super::read_json(artifact, &text)?);
            }
        }
        Ok(Self { files: read })
    }

    fn records(&self, (artifact, list, _): &List) -> &[Value] {
        let records = self.files.get(artifact).and_then(|file| file.get(list));
        records.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn record_mut(&mut self, (artifact, list, _): &List, at: usize) -> Option<&mut Value> {
        self.files.get_mut(artifact)?.get_mut(list)?.as_array_mut()?.get_mut(at)
    }
}

/// Whose a record is.
struct Author {
    /// The id it had.
    id: String,
    /// The sides that hold it just so.
    sides: BTreeSet<usize>,
}

/// Gives one of every two records with the same id a new one, with all references, and writes what
/// changed. Ids whose records cannot be told apart by the sides are left as they are.
///
/// # Errors
/// A file cannot be read or written.
pub fn renumber(
    merged: &dyn Files,
    sides: &[&dyn Files],
    floors: &mut IdFloors,
) -> anyhow::Result<Vec<Renumbered>> {
    let mut version = Version::read(merged)?;
    let sides_read = sides.iter().map(|side| Version::read(*side));
    let versions: Vec<Version> = sides_read.collect::<anyhow::Result<_>>()?;
    // Before any id changes.
    let written = authors(&version, &versions);
    let mut done = Vec::new();
    for list in LISTS {
        new_ids(&mut version, list, &written, floors, &mut done);
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

/// Whose each record of a version is, by list and place.
fn authors(version: &Version, sides: &[Version]) -> BTreeMap<(List, usize), Author> {
    let mut authors = BTreeMap::new();
    for list in LISTS {
        for (at, record) in version.records(&list).iter().enumerate() {
            let wrote = |side: &usize| sides[*side].records(&list).iter().any(|r| same(r, record));
            let sides = (0..sides.len()).filter(wrote).collect();
            authors.insert((list, at), Author { id: id_of(record).to_owned(), sides });
        }
    }
    authors
}

/// Gives new ids where two records of a list have the same.
fn new_ids(
    version: &mut Version,
    list: List,
    written: &BTreeMap<(List, usize), Author>,
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
        // A sub-task goes where its parent goes.
        let Some(other) = written.get(&(list, before)).filter(|_| !author.id.contains('.')) else {
            continue;
        };
        let only = |one: &Author, two: &Author| one.sides.difference(&two.sides).next().copied();
        // The later one moves, unless only the earlier one can be told to be somebody's.
        let (moves, side) = match (only(author, other), only(other, author)) {
            (Some(side), _) => (at, side),
            (None, Some(side)) => (before, side),
            (None, None) => continue,
        };
        let to = floors.next(list.2);
        if let Some(record) = version.record_mut(&list, moves) {
            record["id"] = to.clone().into();
        }
        done.push(Renumbered { from: author.id.clone(), to, side });
    }
}

/// Lets a record follow the new ids of what it names, as whoever wrote it meant them.
fn follow(
    record: &mut Value,
    list: &List,
    author: &Author,
    sides: &[Version],
    done: &[Renumbered],
) {
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

/// What a side's id is now, if it moved; a sub-task's moves with its task.
fn moved(done: &[Renumbered], id: &str, side: usize) -> Option<String> {
    let top = id.split('.').next().unwrap_or(id);
    let one = done.iter().find(|one| one.from == top && one.side == side)?;
    Some(format!("{}{}", one.to, &id[top.len()..]))
}

/// The ids in a field.
fn targets(field: &Value) -> BTreeSet<String> {
    let ids = match field {
        Value::Array(many) => many.as_slice(),
        one => std::slice::from_ref(one),
    };
    ids.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A text in which everything is one side's: all its ids that moved are replaced.
pub fn renumber_text(text: &str, side: usize, done: &[Renumbered]) -> String {
    let ours = done.iter().filter(|one| one.side == side);
    ours.fold(text.to_owned(), |text, one| replace_word(&text, &one.from, &one.to))
}

/// Lines that only one side wrote name what that side meant.
fn document(text: &str, sides: &[String], done: &[Renumbered]) -> String {
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

/// Replaces an id where it stands alone: `TASK-001`, also in `TASK-001.2`, not in `TASK-0011`.
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

fn id_of(record: &Value) -> &str {
    record.get("id").and_then(Value::as_str).unwrap_or_default()
}

/// The same record, `status` aside: it changes with every merge of code.
fn same(a: &Value, b: &Value) -> bool {
    let bare = |value: &Value| {
        let mut value = value.clone();
        if let Some(fields) = value.as_object_mut() {
            fields.remove("status");
        }
        value
    };
    bare(a) == bare(b)
}

/// Puts `to` in the place of `from`; where `from` is meant as well, beside it.
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
mod tests {
    use serde_json::json;

    use super::*;
    use crate::artifact::check::testing::Memory;

    /// A version with these requirements, features and tasks added to nothing.
    fn version(title: &str, related: &[&str]) -> Memory {
        let files = Memory::default();
        let put = |artifact, value: Value| files.put(artifact, &value.to_string());
        put(Artifact::Requirements, json!({"requirements": [{"id": "REQ-004", "title": title}]}));
        put(
            Artifact::Features,
            json!({"features": [{"id": "FEAT-003", "name": title, "requirement_ids": ["REQ-004"], "status": "planned"}]}),
        );
        put(
            Artifact::DesignSpec,
            json!({"components": [{"id": "COMP-001", "name": "Core", "related_features": related}]}),
        );
        put(
            Artifact::ImplementationPlan,
            json!({"tasks": [
                {"id": "TASK-006", "title": title, "feature_id": "FEAT-003", "dependencies": []},
                {"id": "TASK-006.1", "title": title, "feature_id": "FEAT-003"},
            ]}),
        );
        files.put(Artifact::Prd, &format!("# PRD\n- REQ-004 {title} (FEAT-003)\n"));
        files
    }

    /// What a person who keeps both makes of it.
    fn both(a: &Memory, b: &Memory, related: &[&str]) -> Memory {
        let files = Memory::default();
        for (artifact, list, _) in LISTS {
            let read = |side: &Memory| -> Value {
                serde_json::from_str(&side.read(artifact).unwrap().unwrap()).unwrap()
            };
            let mut all = read(a);
            for record in read(b)[list].as_array().unwrap() {
                if artifact != Artifact::DesignSpec {
                    all[list].as_array_mut().unwrap().push(record.clone());
                }
            }
            files.put(artifact, &all.to_string());
        }
        files.edit(Artifact::DesignSpec, |v| {
            v["components"][0]["related_features"] = json!(related)
        });
        let line = |side: &Memory| {
            side.read(Artifact::Prd).unwrap().unwrap().lines().nth(1).unwrap().to_owned()
        };
        files.put(Artifact::Prd, &format!("# PRD\n{}\n{}\n", line(a), line(b)));
        files
    }

    #[test]
    fn the_second_of_two_gets_a_new_id_with_all_that_means_it() {
        let (due, sort) =
            (version("Due", &["FEAT-001", "FEAT-003"]), version("Sort", &["FEAT-001", "FEAT-003"]));
        let merged = both(&due, &sort, &["FEAT-001", "FEAT-003"]);
        let mut floors = IdFloors { requirement: 4, feature: 3, component: 2, task: 6 };
        let done = renumber(&merged, &[&due, &sort], &mut floors).unwrap();
        let moved: Vec<_> = done.iter().map(|one| (&one.from[..], &one.to[..], one.side)).collect();
        assert_eq!(
            moved,
            [("REQ-004", "REQ-005", 1), ("FEAT-003", "FEAT-004", 1), ("TASK-006", "TASK-007", 1)]
        );
        let read = |artifact| -> Value {
            serde_json::from_str(&merged.read(artifact).unwrap().unwrap()).unwrap()
        };
        let features = read(Artifact::Features);
        assert_eq!(features["features"][0]["requirement_ids"], json!(["REQ-004"]));
        assert_eq!(features["features"][1]["id"], "FEAT-004");
        assert_eq!(features["features"][1]["requirement_ids"], json!(["REQ-005"]));
        let tasks = read(Artifact::ImplementationPlan);
        let ids: Vec<_> =
            tasks["tasks"].as_array().unwrap().iter().map(|t| t["id"].clone()).collect();
        assert_eq!(ids, ["TASK-006", "TASK-006.1", "TASK-007", "TASK-007.1"]);
        assert_eq!(tasks["tasks"][3]["feature_id"], "FEAT-004");
        // Both sides meant their own.
        let related = &read(Artifact::DesignSpec)["components"][0]["related_features"];
        assert_eq!(*related, json!(["FEAT-001", "FEAT-003", "FEAT-004"]));
        let prd = merged.read(Artifact::Prd).unwrap().unwrap();
        assert_eq!(prd, "# PRD\n- REQ-004 Due (FEAT-003)\n- REQ-005 Sort (FEAT-004)\n");
        assert_eq!(renumber_text("REQ-004, REQ-0041", 1, &done), "REQ-005, REQ-0041");
        // Once is enough.
        assert!(renumber(&merged, &[&due, &sort], &mut floors).unwrap().is_empty());
    }

    #[test]
    fn what_nobody_can_tell_apart_is_left() {
        let (due, sort) = (version("Due", &[]), version("Sort", &[]));
        let merged = both(&due, &sort, &[]);
        let before = merged.read(Artifact::Features).unwrap();
        let mut floors = IdFloors::default();
        assert!(renumber(&merged, &[], &mut floors).unwrap().is_empty());
        assert_eq!(merged.read(Artifact::Features).unwrap(), before);
    }
}
