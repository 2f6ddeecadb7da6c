//! Checks that every record that others refer to has a section.

use std::collections::BTreeMap;

use super::super::IdKind;
use super::fields::Meaning;
use super::{Document, Documents, Reading, Record, Records, Remark};

/// A reference to a record that has no section.
#[derive(Clone, Debug)]
pub struct Dangling {
    /// The document with the reference.
    pub document: Document,
    /// The line and what is wrong there.
    pub remark: Remark,
    /// The record that refers.
    pub from: String,
    /// The id that it names.
    pub to: String,
    /// True if the record that refers is a completed task.
    is_done: bool,
    /// True if records of the named kind are in another document.
    crosses: bool,
}

impl Dangling {
    /// True if a completed task names a record that was removed since: a task is history. `used`
    /// are the ids that commits have used.
    pub fn is_history(&self, used: &BTreeMap<String, String>) -> bool {
        self.is_done && used.contains_key(&self.to)
    }

    /// True if one of these refers from the same record to the same id.
    pub fn is_among(&self, others: &[Self]) -> bool {
        others.iter().any(|other| (&other.from, &other.to) == (&self.from, &self.to))
    }

    /// True if the stage of this document has to find it, because an earlier stage removed the
    /// record: that stage must be able to begin.
    pub fn waits_for_its_stage(&self, used: &BTreeMap<String, String>) -> bool {
        self.crosses && used.contains_key(&self.to)
    }
}

/// Returns the references to records that do not exist. `records` are all existing records,
/// including those in documents outside `readings`.
pub fn references(
    documents: Documents,
    readings: &[(Document, &str, &Reading)],
    records: &Records,
) -> Vec<Dangling> {
    let mut dangling = Vec::new();
    for (document, text, reading) in readings {
        for section in &reading.sections {
            let id = section.record.id();
            let is_done = section.record.is_completed_task();
            for value in &section.body.values {
                let Meaning::Id(kind, named) = &value.meaning else { continue };
                if records.has(named) || !names(&section.record, named) {
                    continue;
                }
                let text_of_remark = match kind {
                    IdKind::Component if !documents.design => format!(
                        "{id} names {named}, but there is no design.md; remove {named} here"
                    ),
                    _ => format!(
                        "{id} refers to {named}, which has no section; remove it here or restore \
                         the section"
                    ),
                };
                let line = super::blocks::line_of(text, value.range.start);
                dangling.push(Dangling {
                    document: *document,
                    remark: Remark::new(line, text_of_remark),
                    from: id.to_owned(),
                    to: named.clone(),
                    is_done,
                    crosses: !documents.kinds(*document).contains(kind),
                });
            }
        }
    }
    dangling.dedup_by(|a, b| a.remark == b.remark && a.document == b.document);
    dangling
}

fn names(record: &Record, id: &str) -> bool {
    record.references().contains(&id)
}
