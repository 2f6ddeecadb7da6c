//! Renders a record as a section.

use super::super::IdKind;
use super::blocks::{Block, BlockKind, blocks};
use super::fields::{code, one_value};
use super::heading;
use super::{Record, Records, Slot, body, indent, parse, text};

/// The default level of a record's heading.
pub const LEVEL: u8 = 3;

/// Renders a record as a section of this level, with a final newline.
pub fn render(record: &Record, level: u8) -> String {
    section(record, level, &Parts::of_record(record, level))
}

/// Renders a section from these parts.
pub(super) fn section(record: &Record, level: u8, parts: &Parts) -> String {
    let mut out = format!("{}\n", heading_line(record, level));
    for part in parts.below(record.kind()) {
        out += &format!("\n{part}\n");
    }
    out
}

/// Renders the heading: `### REQ-001 Title`.
pub(super) fn heading_line(record: &Record, level: u8) -> String {
    let marks = "#".repeat(level.clamp(1, 6).into());
    format!("{marks} {} {}", record.id(), heading::escaped(record.title())).trim_end().to_owned()
}

/// The parts of a section below its heading.
pub(super) struct Parts {
    pub fields: String,
    pub description: String,
    /// The items, without markers.
    pub items: Vec<String>,
    pub interfaces: Vec<String>,
}

impl Parts {
    pub(super) fn of_record(record: &Record, level: u8) -> Self {
        let items = record.items();
        let items = items.iter().map(|item| text::item(item)).filter(|item| !item.is_empty());
        Self {
            fields: fields_line(record).join(" "),
            description: text::description(record.description(), level),
            items: items.collect(),
            interfaces: record.interfaces().map(|one| interface(one)).collect(),
        }
    }

    /// Returns the blocks below the heading, with dividers where a block could be read as another
    /// kind of block.
    fn below(&self, kind: IdKind) -> Vec<String> {
        let mut parts = vec![self.fields.clone()];
        let described = blocks(&self.description);
        let items = self.items.iter().map(|item| indent::marked("-", item));
        let list = items.collect::<Vec<_>>().join("\n");
        let first = match described.first() {
            Some(_) => self.description.as_str(),
            None => list.as_str(),
        };
        if continues_fields(kind, first) {
            parts.push(DIVIDER.to_owned());
        }
        if !self.description.is_empty() {
            parts.push(self.description.clone());
        }
        if described.iter().any(|block| needs_divider(kind, &self.description, block)) {
            parts.push(DIVIDER.to_owned());
        }
        if !list.is_empty() {
            parts.push(list);
        }
        parts.extend(self.interfaces.iter().cloned());
        parts
    }
}

/// A comment between two parts of a section, where a block would otherwise be read as belonging to
/// the wrong part.
pub(super) const DIVIDER: &str = "<!-- -->";

/// True for a block of a description that would be read as another part without a divider.
pub(super) fn needs_divider(kind: IdKind, text: &str, block: &Block) -> bool {
    match block.kind {
        BlockKind::List { .. } => true,
        BlockKind::Code { fenced: true } => kind == IdKind::Component,
        _ => body::is_label(text, block),
    }
}

/// True for a text whose first block would be read as part of the fields line above it.
fn continues_fields(kind: IdKind, text: &str) -> bool {
    let blocks = blocks(text);
    let Some(first) = blocks.first() else { return false };
    let first_is_label = body::is_label(text, first);
    first_is_label || body::more_values(kind, text, first).is_some()
}

/// Renders one entry of `interfaces` as a code block.
pub(super) fn interface(entry: &str) -> String {
    text::fenced(entry.replace("\r\n", "\n").trim_end(), "")
}

/// Returns the code spans of a fields line.
pub(super) fn fields_line(record: &Record) -> Vec<String> {
    let kind = record.kind();
    let written = |slot: Slot, value: &String| match slot {
        Slot::Paths => one_value(kind, value),
        Slot::Type | Slot::Technology if value.trim().is_empty() => "-".to_owned(),
        _ => value.clone(),
    };
    let mut spans = Vec::new();
    for slot in kind.slots() {
        let values = record.values(*slot);
        let values = values.iter().map(|value| written(*slot, value));
        spans.extend(values.filter(|value| !value.trim().is_empty()).map(|value| code(&value)));
    }
    if spans.is_empty() { vec![code("-")] } else { spans }
}

/// Returns a record in normal form: as it is after it was rendered and read.
pub fn normal(record: &Record, level: u8) -> Record {
    let present = Records::from_iter([record.clone()]);
    let read = parse::read_plainly(&render(record, level), &[record.kind()], &present);
    read.section(record.id()).map_or_else(|| record.clone(), |section| section.record.clone())
}
