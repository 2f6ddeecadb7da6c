//! Three-way merge of records, by field and item.

use serde_json::{Map, Value};

use super::align::{Step, steps};
use super::json::{fields, record_of};
use super::{Record, Records};
use crate::artifact::TaskStatus;

/// Lists of ids and paths, whose order does not matter.
const SETS: [&str; 4] = ["requirement_ids", "related_features", "dependencies", "files_to_create"];

/// Merges the changes of both sides into a record.
///
/// # Errors
///
/// The fields that both sides changed differently.
pub(super) fn merged(base: &Record, ours: &Record, theirs: &Record) -> Result<Record, Vec<String>> {
    let (old, our, their) = (fields(base), fields(ours), fields(theirs));
    let mut names: Vec<&String> = our.keys().collect();
    names.extend(their.keys().chain(old.keys()).filter(|name| !our.contains_key(*name)));
    let mut all = Map::new();
    let mut twice = Vec::new();
    for name in names {
        let value = |of: &Map<String, Value>| of.get(name).cloned().unwrap_or(Value::Null);
        match field(name, &value(&old), &value(&our), &value(&their)) {
            Some(Value::Null) => {}
            Some(value) => {
                all.insert(name.clone(), value);
            }
            None if twice.contains(name) => {}
            None => twice.push(name.clone()),
        }
    }
    if !twice.is_empty() {
        return Err(twice);
    }
    Ok(record_of(all, ours).unwrap_or_else(|| ours.clone()))
}

/// Returns the record with empty lists of ids and paths.
pub(super) fn without_sets(record: &Record) -> Record {
    let mut all = fields(record);
    for (_, value) in all.iter_mut().filter(|(name, _)| SETS.contains(&name.as_str())) {
        *value = Value::Array(Vec::new());
    }
    record_of(all, record).unwrap_or_else(|| record.clone())
}

/// Merges one field; `None` if both sides changed it differently.
fn field(name: &str, old: &Value, ours: &Value, theirs: &Value) -> Option<Value> {
    if ours == theirs || theirs == old {
        return Some(ours.clone());
    }
    if ours == old {
        return Some(theirs.clone());
    }
    let list = |value: &Value| match value {
        Value::Array(items) => Some(items.clone()),
        Value::Null => Some(Vec::new()),
        _ => None,
    };
    let (old, ours, theirs) = (list(old)?, list(ours)?, list(theirs)?);
    let items =
        if SETS.contains(&name) { set(&old, &ours, &theirs) } else { items(&old, &ours, &theirs)? };
    Some(Value::Array(items))
}

/// Merges two sets: the items of ours that theirs did not remove, and the items that theirs added.
fn set(old: &[Value], ours: &[Value], theirs: &[Value]) -> Vec<Value> {
    let kept = ours.iter().filter(|one| !old.contains(one) || theirs.contains(one));
    let added = theirs.iter().filter(|one| !old.contains(one) && !ours.contains(one));
    kept.chain(added).cloned().collect()
}

/// One side's changes to a list: the new value of each old item (`None` if removed), and the items
/// added before each old item and at the end.
struct Fates {
    items: Vec<Option<Value>>,
    added: Vec<Vec<Value>>,
}

fn fates(old: &[Value], new: &[Value]) -> Fates {
    let mut fates = Fates { items: old.iter().cloned().map(Some).collect(), added: Vec::new() };
    fates.added.resize(old.len() + 1, Vec::new());
    let mut at = 0;
    for step in steps(old, new) {
        match step {
            Step::Keep(i, _) => at = i + 1,
            Step::Replace(i, j) => {
                fates.items[i] = Some(new[j].clone());
                at = i + 1;
            }
            Step::Delete(i) => {
                fates.items[i] = None;
                at = i + 1;
            }
            Step::Insert(j) => fates.added[at].push(new[j].clone()),
        }
    }
    fates
}

/// Merges two lists of items; if both sides added some, those of ours come first.
fn items(old: &[Value], ours: &[Value], theirs: &[Value]) -> Option<Vec<Value>> {
    let (ours, theirs) = (fates(old, ours), fates(old, theirs));
    let mut all: Vec<Value> = Vec::new();
    for at in 0..=old.len() {
        all.extend(ours.added[at].iter().cloned());
        let new = theirs.added[at].iter().filter(|one| !ours.added[at].contains(one));
        all.extend(new.cloned());
        let Some(item) = old.get(at) else { break };
        let (our, their) = (&ours.items[at], &theirs.items[at]);
        let kept = match () {
            () if our == their || their.as_ref() == Some(item) => our,
            () if our.as_ref() == Some(item) => their,
            () => return None,
        };
        all.extend(kept.clone());
    }
    Some(all)
}

/// Returns the records with the more advanced status of two versions and the unknown fields of
/// both.
pub fn further_status(records: Records, other: &Records) -> Records {
    let further = |mut record: Record| {
        let Some(mut theirs) = other.get(record.id()) else { return record };
        match (&mut record, &theirs) {
            (Record::Feature(one), Record::Feature(other)) => {
                one.status = one.status.max(other.status);
            }
            (Record::Task(one), Record::Task(other)) if rank(other.status) > rank(one.status) => {
                one.status = other.status;
            }
            _ => {}
        }
        let fields = record.extra_mut();
        for (name, value) in std::mem::take(theirs.extra_mut()) {
            fields.entry(name).or_insert(value);
        }
        record
    };
    records.iter().map(further).collect()
}

const fn rank(status: TaskStatus) -> u8 {
    match status {
        TaskStatus::Pending => 0,
        TaskStatus::InProgress => 1,
        TaskStatus::Blocked => 2,
        TaskStatus::Completed => 3,
    }
}
