//! Compares a section with a record of JSON.

use super::json::fields;
use super::{Record, Section, normal};

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
