//! Checks that every record that others refer to has a section.

use super::super::IdKind;
use super::fields::Meaning;
use super::{Document, Documents, Reading, Record, Records, Remark};

/// Returns the references to records that do not exist, each with its document and line. `records`
/// are all existing records, including those in documents outside `readings`.
pub fn references(
    documents: Documents,
    readings: &[(Document, &str, &Reading)],
    records: &Records,
) -> Vec<(Document, Remark)> {
    let mut found = Vec::new();
    for (document, text, reading) in readings {
        for section in &reading.sections {
            let id = section.record.id();
            for value in &section.body.values {
                let Meaning::Id(kind, named) = &value.meaning else { continue };
                if records.has(named) || !names(&section.record, named) {
                    continue;
                }
                let said = match kind {
                    IdKind::Component if !documents.design => format!(
                        "{id} names {named}, but there is no design.md; remove {named} here"
                    ),
                    _ => format!(
                        "{id} refers to {named}, which has no section; remove it here or restore \
                         the section"
                    ),
                };
                let line = super::blocks::line_of(text, value.range.start);
                found.push((*document, Remark::new(line, said)));
            }
        }
    }
    found.dedup();
    found
}

fn names(record: &Record, id: &str) -> bool {
    record.references().contains(&id)
}
