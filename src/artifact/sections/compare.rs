//! A section beside a record of JSON.

use super::json::fields;
use super::{Record, Section, normal};

/// The fields in which a section says something else than this record, as Markdown holds them.
pub fn different_fields(section: &Section, record: &Record) -> Vec<String> {
    let read = fields(&normal(&section.record, section.level));
    let known = fields(&normal(record, section.level));
    let mut names: Vec<String> = read.keys().chain(known.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names.retain(|name| read.get(name) != known.get(name));
    names
}
