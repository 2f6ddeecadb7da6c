//! Splits a session's file into its records and the lines of prose between them. This allows
//! comparing two versions whose order or ids may differ.

use serde_json::Value;

use super::derived::plainly_read;
use super::sections::{Document, Documents, Record, Records};
use super::{
    Artifact, DesignSpec, FeatureList, Files, Plan, Renumbered, Requirements, renumber_text,
};

/// Returns the records in a version of a file, and the lines that belong to no record. Ids are
/// first replaced according to the entries of `done` with side 0; entries that come from
/// `Cowork-Renumbered` trailers always have side 0. Returns `None` for a file that contains no
/// records or cannot be read. `files` determines which documents exist.
///
/// # Errors
///
/// If a file of `files` cannot be read.
pub fn pieces(
    files: &dyn Files,
    artifact: Artifact,
    text: &str,
    done: &[Renumbered],
) -> anyhow::Result<Option<Vec<String>>> {
    if let Some(document) = Document::of(artifact) {
        let text = renumber_text(text, 0, done);
        let kinds = Documents::of(files)?.kinds(document);
        let reading = plainly_read(&text, kinds, &Records::default());
        let is_prose = |at: usize| !reading.sections.iter().any(|one| one.range.contains(&at));
        let mut found = of_records(reading.records());
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            if is_prose(at) && !line.trim().is_empty() {
                found.push(line.trim().to_owned());
            }
            at += line.len();
        }
        return Ok(Some(found));
    }
    let value = serde_json::from_str(text).ok();
    let value = value.map(|value| renumbered(value, done));
    Ok(value.and_then(|value| records(artifact, value)).map(of_records))
}

fn of_records(records: Records) -> Vec<String> {
    records.iter().map(|record: Record| format!("{:?}", record.written())).collect()
}

/// Returns the records of a JSON file.
fn records(artifact: Artifact, value: Value) -> Option<Records> {
    let mut found = Records::default();
    match artifact {
        Artifact::Requirements => {
            found.requirements = serde_json::from_value::<Requirements>(value).ok()?.requirements;
        }
        Artifact::Features => {
            found.features = serde_json::from_value::<FeatureList>(value).ok()?.features;
        }
        Artifact::DesignSpec => {
            found.components = serde_json::from_value::<DesignSpec>(value).ok()?.components;
        }
        Artifact::ImplementationPlan => {
            found.tasks = serde_json::from_value::<Plan>(value).ok()?.tasks;
        }
        _ => return None,
    }
    Some(found)
}

/// Replaces ids in the texts of a value.
fn renumbered(value: Value, done: &[Renumbered]) -> Value {
    match value {
        Value::String(text) => Value::String(renumber_text(&text, 0, done)),
        Value::Array(items) => items.into_iter().map(|item| renumbered(item, done)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, renumbered(value, done))).collect()
        }
        other => other,
    }
}
