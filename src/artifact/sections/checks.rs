//! Checks of a document as a whole: duplicate ids, text that starts with an id but is not a record's
//! heading, and references to records that have no section.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::super::{IdKind, number_of};
use super::blocks::{Block, BlockKind};
use super::fields::Meaning;
use super::heading::{IdText, id_at};
use super::parse::Reader;
use super::{Document, Documents, Reading, Record, Records, Remark, RemarkKind};

impl Reader<'_> {
    /// Finds duplicate ids, ids of deleted records, and ids above the next number.
    pub(super) fn ids(&mut self) {
        let mut seen: Vec<(String, usize)> = Vec::new();
        let mut added: Vec<(String, usize)> = Vec::new();
        let mut refusals: Vec<(usize, String, RemarkKind)> = Vec::new();
        for section in &self.out.sections {
            let id = section.record.id();
            let (at, kind) = (section.range.start, section.record.kind());
            let prefix = kind.prefix();
            if section.unnumbered {
                let text = format!("{}? has no number yet", id.trim_end_matches('?'));
                refusals.push((at, text, RemarkKind::Unnumbered));
                continue;
            }
            if let Some((_, line)) = seen.iter().find(|(known, _)| known == id) {
                let text = format!(
                    "{id} is already at line {line}; write {prefix}? to give this one a new number"
                );
                refusals.push((at, text, RemarkKind::RepeatedId));
                continue;
            }
            seen.push((id.to_owned(), section.line));
            if self.context.present.has(id) {
                continue;
            }
            match self.context.used.get(id) {
                Some(title) if title == section.record.title() => {}
                Some(title) => {
                    let text = format!(
                        "{id} was \"{title}\" and was deleted; write {prefix}? for a new number"
                    );
                    refusals.push((at, text, RemarkKind::Other));
                }
                None => added.push((id.to_owned(), at)),
            }
        }
        added.sort();
        let mut notes = Vec::new();
        let mut floors = self.context.floors;
        for id in self.context.present.ids() {
            if let Some(kind) = IdKind::of_id(id) {
                floors.see(kind, id);
            }
        }
        for (id, at) in added {
            let Some(kind) = IdKind::of_id(&id) else { continue };
            let mut above = floors;
            let next = above.next(kind);
            if number_of(kind, &id) > number_of(kind, &next) {
                notes.push((at, format!("{id} is above the next number, {next}")));
            }
            floors.see(kind, &id);
        }
        for (at, text, kind) in refusals {
            self.refuse_as(at, text, kind);
        }
        for (at, text) in notes {
            self.note(at, text);
        }
    }

    /// Finds records that are not sections: in bold text, list items, quotes and table rows.
    pub(super) fn mentions(&mut self) {
        let sections: BTreeSet<&str> = self.out.sections.iter().map(|s| s.record.id()).collect();
        let fields: Vec<Range<usize>> =
            self.out.sections.iter().flat_map(|s| s.body.fields.clone()).collect();
        let mut found = Vec::new();
        for block in self.blocks.iter().filter(|block| !fields.contains(&block.range)) {
            for (at, kind, id) in leading_ids(self.text, block) {
                let known = self.context.present.has(&id);
                let used = self.context.used.contains_key(&id);
                if self.context.kinds.contains(&kind)
                    && !sections.contains(id.as_str())
                    && (known || !used)
                {
                    let name = kind.name();
                    found.push((
                        at,
                        format!(
                            "{id} has no section; a {name} begins with a heading: ### {id} Title"
                        ),
                    ));
                }
            }
        }
        for (at, text) in found {
            self.refuse_as(at, text, RemarkKind::NoSection);
        }
    }

    /// Refuses a document if a person removed all records from it.
    pub(super) fn nothing_left(&mut self) {
        let held =
            |kind: &&IdKind| self.context.present.ids().any(|id| id.starts_with(kind.prefix()));
        let Some(kind) = self.context.kinds.iter().find(held) else { return };
        if self.out.sections.is_empty() && self.out.refusals.is_empty() {
            let (name, prefix) = (kind.name(), kind.prefix());
            self.refuse(
                0,
                format!("no {name} found; a {name} begins with a heading: ### {prefix}001 Title"),
            );
        }
    }
}

/// Returns the ids, with their offsets, at the start of bold text, list items, quotes and table
/// rows.
pub(super) fn leading_ids(text: &str, block: &Block) -> Vec<(usize, IdKind, String)> {
    let start = block.range.start;
    match &block.kind {
        BlockKind::Paragraph => {
            let bold = block.source(text).trim_start().starts_with(['*', '_']);
            found(text, start, block.range.end).filter(|_| bold).into_iter().collect()
        }
        BlockKind::List { items, .. } => {
            let first_line = |item: &std::ops::Range<usize>| {
                let source = text.get(item.clone()).unwrap_or_default();
                let digits = source.bytes().take_while(u8::is_ascii_digit).count();
                found(text, item.start + (digits + 1).min(source.len()), item.end)
            };
            items.iter().filter_map(first_line).collect()
        }
        BlockKind::Quote | BlockKind::Table => {
            let mut at = start;
            let mut all = Vec::new();
            for line in block.source(text).split_inclusive('\n') {
                let bare = line.trim_start();
                let marked = block.kind == BlockKind::Table || bare.starts_with('>');
                all.extend(found(text, at, at + line.len()).filter(|_| marked));
                at += line.len();
            }
            all
        }
        _ => Vec::new(),
    }
}

fn found(text: &str, start: usize, end: usize) -> Option<(usize, IdKind, String)> {
    let source = text.get(start..end)?;
    let bare = source.trim_start_matches(['>', '|', '#', '*', '_', '[', ' ', '\t', '`']);
    let (kind, id, length) = id_at(bare)?;
    let at = end - bare.len();
    // Only an id with letters after it looks like a record; `REQ-001/2` does not.
    let titled = bare[length..].chars().any(char::is_alphabetic);
    match id {
        IdText::Id(id) if titled => Some((at, kind, id)),
        _ => None,
    }
}

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
    record.references().iter().any(|one| one == id)
}
