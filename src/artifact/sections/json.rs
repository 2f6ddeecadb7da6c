//! The JSON that is derived from documents, and manual edits of it.

use serde_json::{Map, Value};

use super::super::{DesignSpec, FeatureList, IdKind, Plan, Requirements};
use super::apply::{Change, same};
use super::{Record, Records, normal, values};

/// The four files that contain records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordFiles {
    /// `requirements.json`
    pub requirements: Requirements,
    /// `feature_list.json`
    pub features: FeatureList,
    /// `design_spec.json`
    pub design: DesignSpec,
    /// `implementation_plan.json`
    pub plan: Plan,
}

impl RecordFiles {
    /// Returns the records in the files.
    pub fn records(&self) -> Records {
        Records {
            requirements: self.requirements.requirements.clone(),
            features: self.features.features.clone(),
            components: self.design.components.clone(),
            tasks: self.plan.tasks.clone(),
        }
    }

    /// Returns these files with the records of the given kinds replaced by those from the
    /// documents, in the order of the documents. Fields that exist only in JSON are kept. Records
    /// of other kinds are unchanged.
    #[must_use]
    pub fn derived(&self, records: &Records, kinds: &[IdKind]) -> Self {
        let mut files = self.clone();
        let old = self.records();
        let mut all: Records = records
            .iter()
            .map(|mut record| {
                if let Some(old) = old.get(record.id()) {
                    record.keep_unwritten(&old);
                    record.keep_sides(&old);
                }
                record
            })
            .collect();
        for kind in kinds {
            match kind {
                IdKind::Requirement => {
                    files.requirements.requirements = std::mem::take(&mut all.requirements);
                }
                IdKind::Feature => files.features.features = std::mem::take(&mut all.features),
                IdKind::Component => {
                    files.design.components = std::mem::take(&mut all.components);
                }
                IdKind::Task => files.plan.tasks = std::mem::take(&mut all.tasks),
            }
        }
        files
    }
}

/// A manual edit of JSON that can be applied to the Markdown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonEdit {
    /// Changes of the documents, in the order of the JSON.
    pub changes: Vec<Change>,
    /// Notes about edits that are undone or ignored.
    pub notes: Vec<String>,
}

/// Finds the manual edits of JSON, field by field: `edited` is the current JSON, `committed` the
/// JSON of the last commit, and `document` the records in the Markdown.
///
/// # Errors
///
/// Records and fields that were changed differently in JSON and in Markdown.
pub fn take_json_edit(
    edited: &Records,
    committed: &Records,
    document: &Records,
    kinds: &[IdKind],
) -> Result<JsonEdit, Vec<String>> {
    let mut taken = JsonEdit::default();
    let mut refused = Vec::new();
    let held = |id: &str| IdKind::of(id).is_some_and(|kind| kinds.contains(&kind));
    for record in edited.iter().filter(|record| held(record.id())) {
        let id = record.id();
        let (base, present) = (committed.get(id), document.get(id));
        if let Some(base) = &base
            && base.status() != record.status()
        {
            taken.notes.push(format!("the status of {id} is reset: it comes from the commits"));
        }
        if base.as_ref() != Some(&record)
            && let Record::Task(task) = &record
            && let Some(path) = task.files().find(|path| values::is_outside(path))
        {
            refused.push(format!("{id}: {}", values::outside(path)));
            continue;
        }
        match (base, present) {
            (None, Some(present)) if !normal_same(&record, &present) => refused.push(format!(
                "{id} was added in JSON and in Markdown with different contents; undo one of them"
            )),
            (None, Some(_)) => {}
            (Some(base), Some(present)) => match three_way(&base, &record, &present) {
                Ok(merged) if same(&merged, &present) => {}
                Ok(merged) => taken.changes.push(Change::Put(merged)),
                Err(fields) => refused.extend(fields.into_iter().map(|field| {
                    format!("{field} of {id} was changed in JSON and in Markdown; undo one of them")
                })),
            },
            (Some(base), None) if normal_same(&base, &record) => {}
            (Some(_), None) => refused.push(format!(
                "{id} was changed in JSON and deleted in Markdown; undo one of them"
            )),
            (None, None) => taken.changes.push(Change::Put(record)),
        }
    }
    for base in committed.iter().filter(|base| held(base.id()) && !edited.has(base.id())) {
        match document.get(base.id()) {
            Some(present) if normal_same(&base, &present) => {
                taken.changes.push(Change::Delete(base.id().to_owned()));
            }
            Some(_) => refused.push(format!(
                "{} was deleted in JSON and changed in Markdown; undo one of them",
                base.id()
            )),
            None => {}
        }
    }
    if reordered(edited, committed) {
        taken
            .notes
            .push("the order of records in JSON is ignored; move the sections instead".to_owned());
    }
    if refused.is_empty() { Ok(taken) } else { Err(refused) }
}

/// True if the records that exist in both have a different order.
fn reordered(edited: &Records, committed: &Records) -> bool {
    let common = |one: &Records, other: &Records| -> Vec<String> {
        one.ids().filter(|id| other.has(id)).map(str::to_owned).collect()
    };
    common(edited, committed) != common(committed, edited)
}

fn normal_same(one: &Record, other: &Record) -> bool {
    same(&normal(one, super::LEVEL), &normal(other, super::LEVEL))
}

/// Returns the fields of a record as JSON, without those that are not in Markdown.
pub(super) fn fields(record: &Record) -> Map<String, Value> {
    let record = record.written();
    let value = match &record {
        Record::Requirement(one) => serde_json::to_value(one),
        Record::Feature(one) => serde_json::to_value(one),
        Record::Component(one) => serde_json::to_value(one),
        Record::Task(one) => serde_json::to_value(one),
    };
    let mut fields = match value {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.remove("status");
    fields
}

/// Makes a record from its fields; fields that Markdown does not have come from `like`.
pub(super) fn record_of(fields: Map<String, Value>, like: &Record) -> Option<Record> {
    let value = Value::Object(fields);
    let mut record = match like {
        Record::Requirement(_) => Record::Requirement(serde_json::from_value(value).ok()?),
        Record::Feature(_) => Record::Feature(serde_json::from_value(value).ok()?),
        Record::Component(_) => Record::Component(serde_json::from_value(value).ok()?),
        Record::Task(_) => Record::Task(serde_json::from_value(value).ok()?),
    };
    record.keep_unwritten(like);
    record.keep_sides(like);
    Some(record)
}

/// Merges the edits of JSON into the record; fails with the fields that both sides changed.
fn three_way(base: &Record, edited: &Record, present: &Record) -> Result<Record, Vec<String>> {
    let level = super::LEVEL;
    let base_fields = fields(&normal(base, level));
    let edited_fields = fields(&normal(edited, level));
    let present_fields = fields(&normal(present, level));
    let mut merged = fields(present);
    let mut twice = Vec::new();
    let names: Vec<String> = base_fields.keys().chain(edited_fields.keys()).cloned().collect();
    for name in names {
        let (old, new) = (base_fields.get(&name), edited_fields.get(&name));
        let now = present_fields.get(&name);
        if new == old || new == now {
            continue;
        }
        if now == old {
            match new {
                Some(new) => merged.insert(name, new.clone()),
                None => merged.remove(&name),
            };
        } else if !twice.contains(&name) {
            twice.push(name);
        }
    }
    if !twice.is_empty() {
        return Err(twice);
    }
    Ok(record_of(merged, present).unwrap_or_else(|| present.clone()))
}
