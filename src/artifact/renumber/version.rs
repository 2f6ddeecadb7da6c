//! One version of the records, as JSON values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::{Artifact, Files, IdKind, read_json, render_json};

/// A list of records: its file, its name in the file, and the kind of its ids.
pub(super) type List = (Artifact, &'static str, IdKind);

pub(super) const LISTS: [List; 4] = [
    (Artifact::Requirements, "requirements", IdKind::Requirement),
    (Artifact::Features, "features", IdKind::Feature),
    (Artifact::DesignSpec, "components", IdKind::Component),
    (Artifact::ImplementationPlan, "tasks", IdKind::Task),
];

/// Fields that refer to other records.
pub(super) const REFERENCES: [&str; 5] =
    ["requirement_ids", "related_features", "feature_id", "component_id", "dependencies"];

/// One version of the records.
pub(super) struct Version {
    pub(super) files: BTreeMap<Artifact, Value>,
}

impl Version {
    pub(super) fn read(files: &dyn Files) -> anyhow::Result<Self> {
        let mut read = BTreeMap::new();
        for (artifact, ..) in LISTS {
            if let Some(text) = files.read(artifact)? {
                read.insert(artifact, read_json(artifact, &text)?);
            }
        }
        Ok(Self { files: read })
    }

    pub(super) fn records(&self, (artifact, list, _): &List) -> &[Value] {
        let records = self.files.get(artifact).and_then(|file| file.get(list));
        records.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// True if two records of a list have the same id.
    pub(super) fn repeats_ids(&self) -> bool {
        LISTS.iter().any(|list| {
            let records = self.records(list);
            records.iter().map(id_of).collect::<BTreeSet<_>>().len() < records.len()
        })
    }

    pub(super) fn record_mut(
        &mut self,
        (artifact, list, _): &List,
        at: usize,
    ) -> Option<&mut Value> {
        self.files.get_mut(artifact)?.get_mut(list)?.as_array_mut()?.get_mut(at)
    }
}

/// True if two records of a list have the same id.
///
/// # Errors
///
/// If a file cannot be read.
pub(in crate::artifact) fn repeats_ids(files: &dyn Files) -> anyhow::Result<bool> {
    Ok(Version::read(files)?.repeats_ids())
}

/// Reduces `after` to what `before` does not contain: the records that are new or changed, and in
/// changed records only the new references.
///
/// # Errors
///
/// If a file cannot be read or written.
pub(in crate::artifact) fn keep_added(before: &dyn Files, after: &dyn Files) -> anyhow::Result<()> {
    let (old, mut new) = (Version::read(before)?, Version::read(after)?);
    for list in LISTS {
        let known = old.records(&list).to_vec();
        let all = new.files.get_mut(&list.0).and_then(|file| file.get_mut(list.1));
        let Some(all) = all.and_then(Value::as_array_mut) else { continue };
        all.retain(|record| !known.iter().any(|other| same(record, other)));
        for record in all {
            let is_it =
                |other: &&Value| id_of(other) == id_of(record) && name_of(other) == name_of(record);
            let Some(other) = known.iter().find(is_it) else { continue };
            for field in REFERENCES {
                let named = targets(&other[field]);
                match record.get_mut(field) {
                    Some(Value::Array(ids)) => {
                        ids.retain(|id| !id.as_str().is_some_and(|id| named.contains(id)));
                    }
                    Some(Value::String(id)) if named.contains(id) => id.clear(),
                    _ => {}
                }
            }
        }
    }
    new.files.iter().try_for_each(|(artifact, value)| after.write(*artifact, &render_json(value)?))
}

/// Returns the ids in a field.
pub(super) fn targets(field: &Value) -> BTreeSet<String> {
    let ids = match field {
        Value::Array(many) => many.as_slice(),
        one => std::slice::from_ref(one),
    };
    ids.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

pub(super) fn id_of(record: &Value) -> &str {
    record.get("id").and_then(Value::as_str).unwrap_or_default()
}

/// Returns a record's title or name.
pub(super) fn name_of(record: &Value) -> Option<&str> {
    record.get("title").or_else(|| record.get("name")).and_then(Value::as_str)
}

/// True if the records are equal, ignoring `status`, which changes with every merge of code.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    let bare = |value: &Value| {
        let mut value = value.clone();
        if let Some(fields) = value.as_object_mut() {
            fields.remove("status");
        }
        value
    };
    bare(a) == bare(b)
}
