//! Compares the sections of a document with records of JSON.

use super::super::IdKind;
use super::apply::same;
use super::json::fields;
use super::{Record, Records, Section, normal, read_plainly};

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
