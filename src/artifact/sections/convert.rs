//! Converts documents of format 1.0, whose records are only in JSON.

use super::super::{IdFloors, IdKind};
use super::apply::{inserted, same};
use super::blocks::document_blocks;
use super::parse::heads;
use super::{Context, LEVEL, Record, Records, Writer, edit, heading, normal, read, render};

/// True if the records in a document's sections equal the records of these kinds in JSON.
pub fn gives(text: &str, records: &Records, kinds: &[IdKind]) -> bool {
    let used = std::collections::BTreeMap::new();
    let any = |_: &str| true;
    let (floors, by) = (IdFloors::default(), Writer::Person);
    let context = Context { kinds, used: &used, floors, present: records, in_base: &any, by };
    let reading = read(text, &context);
    let held: Vec<Record> = records.iter().filter(|one| kinds.contains(&one.kind())).collect();
    let mut found: Vec<&super::Section> = reading.sections.iter().collect();
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

/// Appends all records of these kinds to a document as sections. Existing headings that start with
/// an id lose that id.
pub fn convert(text: &str, records: &Records, kinds: &[IdKind]) -> String {
    let mut text = without_ids(text, kinds);
    let held = records.iter().filter(|record| kinds.contains(&record.kind()));
    let sections: Vec<String> = held.map(|record| render(&record, LEVEL)).collect();
    if sections.is_empty() {
        return text;
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let at = text.len();
    inserted(&text, at, &sections.join("\n"))
}

/// Replaces `### REQ-001 Add` by `### Add`.
fn without_ids(text: &str, kinds: &[IdKind]) -> String {
    let blocks = document_blocks(text);
    let mut edits = Vec::new();
    for head in heads(text, &blocks, kinds) {
        let block = &blocks[head.at];
        let source = block.source(text);
        let content = heading::content(source);
        let range = block.range.start + content.start..block.range.start + content.end;
        let title = heading::one_line(&head.heading.title);
        // A heading that contains only an id becomes the name of its kind.
        let title = if title.is_empty() { head.heading.kind.name().to_owned() } else { title };
        edits.push((range, title));
    }
    edit::replaced(text, edits)
}
