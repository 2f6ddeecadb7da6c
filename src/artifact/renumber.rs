//! Ids that two branches gave to different things, and a merge brought together: one of the two gets
//! a new id, and so does everything that meant it.
//!
//! Whose a record is, is read from the *sides* that were merged: the artifacts as each change left
//! them. Works on JSON values, so that fields of other versions survive.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Artifact, Files, IdFloors, IdKind, render_json};

/// The lists of records, and what an id in each looks like.
const LISTS: [(Artifact, &str, IdKind); 4] = [
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

    fn records(&self, artifact: Artifact, list: &str) -> &[Value] {
        let records = self.files.get(&artifact).and_then(|file| file.get(list));
        records.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
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
    let versions: Vec<Version> =
        sides.iter().map(|side| Version::read(*side)).collect::<anyhow::Result<_>>()?;
    let owners = |artifact, list: &str, record: &Value| -> BTreeSet<usize> {
        let holds = |version: &&Version| {
            version.records(artifact, list).iter().any(|other| same(other, record))
        };
        (0..versions.len()).filter(|at| holds(&&versions[*at])).collect()
    };
    let mut done = Vec::new();
    // Before any id changes: who wrote which record.
    let mut written: BTreeMap<(Artifact, usize), (String, BTreeSet<usize>)> = BTreeMap::new();
    for (artifact, list, _) in LISTS {
        for (at, record) in version.records(artifact, list).iter().enumerate() {
            let owners = owners(artifact, list, record);
            written.insert((artifact, at), (id_of(record).to_owned(), owners));
        }
    }
    for (artifact, list, kind) in LISTS {
        let count = version.records(artifact, list).len();
        let mut first: BTreeMap<String, usize> = BTreeMap::new();
        for at in 0..count {
            let (id, ours) = &written[&(artifact, at)];
            let Some(&before) = first.get(id) else {
                first.insert(id.clone(), at);
                continue;
            };
            let theirs = &written[&(artifact, before)].1;
            // The later one moves, unless only the earlier one can be told to be somebody's.
            let (which, side) =
                match (ours.difference(theirs).next(), theirs.difference(ours).next()) {
                    (Some(side), _) => (at, *side),
                    (None, Some(side)) => (before, *side),
                    (None, None) => continue,
                };
            // A sub-task goes where its parent goes.
            if id.contains('.') {
                continue;
            }
            let to = floors.next(kind);
            if let Some(record) = record_mut(&mut version, artifact, list, which) {
                record["id"] = to.clone().into();
            }
            done.push(Renumbered { from: id.clone(), to, side });
        }
    }
    let moved = |id: &str, side: usize| {
        let top = id.split('.').next().unwrap_or(id);
        let found = done.iter().find(|one: &&Renumbered| one.from == top && one.side == side);
        found.map(|one| format!("{}{}", one.to, &id[top.len()..]))
    };
    for ((artifact, at), (id, owners)) in &written {
        let Some((_, list, _)) = LISTS.into_iter().find(|(other, ..)| other == artifact) else {
            continue;
        };
        let mentions = |side: &usize, field: &str, id: &str, target: &str| {
            let records = versions[*side].records(*artifact, list).iter();
            records.filter(|record| id_of(record) == id).any(|record| names(&record[field], target))
        };
        let Some(record) = record_mut(&mut version, *artifact, list, *at) else { continue };
        if id.contains('.')
            && owners.len() == 1
            && let Some(to) = owners.iter().find_map(|side| moved(id, *side))
        {
            record["id"] = to.into();
        }
        for field in REFERENCES {
            let targets: Vec<String> = match &record[field] {
                Value::String(one) => vec![one.clone()],
                Value::Array(many) => {
                    many.iter().filter_map(Value::as_str).map(str::to_owned).collect()
                }
                _ => continue,
            };
            for target in targets.iter().collect::<BTreeSet<_>>() {
                let all: BTreeSet<usize> = (0..versions.len()).collect();
                let meant = if owners.is_empty() { &all } else { owners };
                let meant: Vec<usize> = meant
                    .iter()
                    .copied()
                    .filter(|side| mentions(side, field, id, target))
                    .collect();
                let to = meant.iter().find_map(|side| moved(target, *side));
                let keeps = meant.iter().any(|side| moved(target, *side).is_none());
                if let Some(to) = to {
                    replace(&mut record[field], target, &to, keeps);
                }
            }
        }
    }
    if done.is_empty() {
        return Ok(done);
    }
    for (artifact, value) in &version.files {
        let text = render_json(value)?;
        if merged.read(*artifact)?.as_deref() != Some(text.as_str()) {
            merged.write(*artifact, &text)?;
        }
    }
    for artifact in DOCUMENTS {
        let Some(text) = merged.read(artifact)? else { continue };
        let texts: Vec<String> = sides
            .iter()
            .map(|side| Ok(side.read(artifact)?.unwrap_or_default()))
            .collect::<anyhow::Result<_>>()?;
        let new = document(&text, &texts, &done);
        if new != text {
            merged.write(artifact, &new)?;
        }
    }
    Ok(done)
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

fn record_mut<'v>(
    version: &'v mut Version,
    artifact: Artifact,
    list: &str,
    at: usize,
) -> Option<&'v mut Value> {
    version.files.get_mut(&artifact)?.get_mut(list)?.as_array_mut()?.get_mut(at)
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

fn names(field: &Value, target: &str) -> bool {
    match field {
        Value::String(one) => one == target,
        Value::Array(many) => many.iter().any(|one| one == target),
        _ => false,
    }
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
