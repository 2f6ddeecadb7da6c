//! Renders a record as a section.

use super::super::{Category, Component, Feature, IdFloors, IdKind, Priority, Requirement, Task};
use super::blocks::{Block, BlockKind, blocks};
use super::fields::{code, one_value};
use super::heading;
use super::{Context, Record, Records, Writer, body, criteria, indent, parse, text};

/// The default level of a record's heading.
pub const LEVEL: u8 = 3;

/// Renders a record as a section of this level, with a final newline.
pub fn render(record: &Record, level: u8) -> String {
    section(record, level, &Parts::of(record, level))
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
    pub(super) fn of(record: &Record, level: u8) -> Self {
        let (items, interfaces) = match record {
            Record::Requirement(one) => {
                (one.acceptance_criteria.iter().map(criteria::item_of).collect(), Vec::new())
            }
            Record::Feature(one) => (one.completion_criteria.clone(), Vec::new()),
            Record::Component(one) => (one.responsibilities.clone(), one.interfaces.clone()),
            Record::Task(one) => (one.acceptance_criteria.clone(), Vec::new()),
        };
        let items = items.iter().map(|item| text::item(item)).filter(|item| !item.is_empty());
        let interfaces = interfaces.iter().filter(|one| !one.trim().is_empty());
        Self {
            fields: fields_line(record).join(" "),
            description: text::description(record.description(), level),
            items: items.collect(),
            interfaces: interfaces.map(|one| interface(one)).collect(),
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
    let values = match record {
        Record::Requirement(one) => requirement_values(one),
        Record::Feature(one) => feature_values(one),
        Record::Component(one) => component_values(one),
        Record::Task(one) => task_values(one),
    };
    let values = values.into_iter().map(|value| code(&value));
    let values: Vec<String> = values.collect();
    if values.is_empty() { vec![code("-")] } else { values }
}

/// Returns the word for a priority in Markdown and in JSON.
pub(super) const fn priority_word(priority: Priority) -> &'static str {
    match priority {
        Priority::High => "high",
        Priority::Medium => "medium",
        Priority::Low => "low",
    }
}

/// Returns the word for a category in Markdown and in JSON.
pub(super) const fn category_word(category: Category) -> &'static str {
    match category {
        Category::Functional => "functional",
        Category::NonFunctional => "non_functional",
    }
}

fn requirement_values(one: &Requirement) -> Vec<String> {
    vec![priority_word(one.priority).to_owned(), category_word(one.category).to_owned()]
}

fn feature_values(one: &Feature) -> Vec<String> {
    present(&one.requirement_ids)
}

fn component_values(one: &Component) -> Vec<String> {
    let own = [&one.component_type, &one.technology];
    let own = own.map(|text| if text.trim().is_empty() { "-".to_owned() } else { text.clone() });
    own.into_iter().chain(present(&one.related_features)).collect()
}

fn task_values(one: &Task) -> Vec<String> {
    let own = [&one.feature_id, &one.component_id].into_iter();
    let ids = own.chain(&one.requirement_ids).chain(&one.dependencies).cloned();
    let paths = one.files_to_create.iter().chain(&one.files_to_change);
    let paths = paths.map(|path| one_value(IdKind::Task, path));
    ids.chain(paths).filter(|value| !value.trim().is_empty()).collect()
}

fn present(ids: &[String]) -> Vec<String> {
    ids.iter().filter(|id| !id.trim().is_empty()).cloned().collect()
}

/// Returns a record in normal form: as it is after it was rendered and read.
pub fn normal(record: &Record, level: u8) -> Record {
    let present = Records::from_iter([record.clone()]);
    let known = |_: &str| true;
    let context = Context {
        kinds: &[record.kind()],
        used: &std::collections::BTreeMap::new(),
        floors: IdFloors::default(),
        present: &present,
        in_base: &known,
        by: Writer::Model,
    };
    let read = parse::read(&render(record, level), &context);
    read.section(record.id()).map_or_else(|| record.clone(), |section| section.record.clone())
}
