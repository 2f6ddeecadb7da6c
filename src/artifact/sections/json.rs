//! The JSON that is derived from documents, and whether it agrees with them.

use anyhow::Result;
use serde_json::{Map, Value};

use super::super::{Artifact, DesignSpec, FeatureList, IdKind, Plan, Requirements, read_json};
use super::apply::same;
use super::{Document, Record, Records, Section, normal, read_plainly};

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

    /// Reads one of the files from its text; any other artifact is left out.
    pub(in crate::artifact) fn read(&mut self, artifact: Artifact, text: &str) -> Result<()> {
        match artifact {
            Artifact::Requirements => self.requirements = read_json(artifact, text)?,
            Artifact::Features => self.features = read_json(artifact, text)?,
            Artifact::DesignSpec => self.design = read_json(artifact, text)?,
            Artifact::ImplementationPlan => self.plan = read_json(artifact, text)?,
            _ => {}
        }
        Ok(())
    }

    /// Replaces the records in the files.
    pub(in crate::artifact) fn set_records(&mut self, records: Records) {
        self.requirements.requirements = records.requirements;
        self.features.features = records.features;
        self.design.components = records.components;
        self.plan.tasks = records.tasks;
    }

    /// Returns these files with the records of the given kinds replaced by those from the
    /// documents, in the order of the documents. Fields that exist only in JSON are kept. Records
    /// of other kinds are unchanged.
    #[must_use]
    pub fn derived(&self, records: &Records, kinds: &[IdKind]) -> Self {
        let old = self.records();
        let derived = records.iter().filter(|one| kinds.contains(&one.kind())).map(|mut record| {
            if let Some(old) = old.get(record.id()) {
                record.keep_unwritten(&old);
                record.keep_sides(&old);
            }
            record
        });
        let others = old.iter().filter(|one| !kinds.contains(&one.kind()));
        let mut files = self.clone();
        files.set_records(derived.chain(others).collect());
        files
    }

    /// Says in the file of this kind that it is generated, and from which document.
    pub fn mark_generated(&mut self, kind: IdKind, document: Document) {
        let field = match kind {
            IdKind::Requirement => &mut self.requirements.generated,
            IdKind::Feature => &mut self.features.generated,
            IdKind::Component => &mut self.design.generated,
            IdKind::Task => &mut self.plan.generated,
        };
        *field = Some(format!("edit {}", document.artifact().file_name()));
    }
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

/// Returns the fields in which a section differs from this record in its Markdown form.
pub fn different_fields(section: &Section, record: &Record) -> Vec<String> {
    let read = fields(&normal(&section.record, section.level));
    let known = fields(&normal(record, section.level));
    let mut names: Vec<String> = read.keys().chain(known.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names.retain(|name| read.get(name) != known.get(name));
    names
}

/// True if the records in a document's sections equal the records of these kinds in JSON.
pub fn gives(text: &str, records: &Records, kinds: &[IdKind]) -> bool {
    let reading = read_plainly(text, kinds, records);
    let held: Vec<Record> = records.iter().filter(|one| kinds.contains(&one.kind())).collect();
    let mut found: Vec<&Section> = reading.sections.iter().collect();
    found.sort_by_key(|section| section.record.kind());
    reading.refusals.is_empty()
        && held.len() == found.len()
        && held.iter().zip(found).all(|(record, section)| {
            // Most records need no normalization, because rendering and reading them does not
            // change them.
            record.id() == section.record.id()
                && (same(record, &section.record)
                    || same(
                        &normal(record, section.level),
                        &normal(&section.record, section.level),
                    ))
        })
}
