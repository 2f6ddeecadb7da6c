//! Reading a document: which records it holds, and what is said about them.

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::{Component, Feature, IdKind, Requirement, Task};
use super::blocks::{Block, BlockKind, document_blocks, line_of};
use super::body::{self, Body};
use super::fields::{self, Value};
use super::heading::{self, IdText, RecordHeading};
use super::values::{self, Remarks};
use super::{Context, Record, Records, Writer, criteria, mentions, text};

/// What is said about a line of a document; printed as `prd.md:LINE: text`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// From 1.
    pub line: usize,
    /// A sentence.
    pub text: String,
}

/// A record and where it is in its document.
#[derive(Clone, Debug)]
pub struct Section {
    /// What it says.
    pub record: Record,
    /// Its bytes, from the heading to what comes next.
    pub range: Range<usize>,
    /// The line of its heading, from 1.
    pub line: usize,
    /// The level of its heading.
    pub(super) level: u8,
    /// The bytes of the heading.
    pub(super) heading: Range<usize>,
    /// The id in the heading.
    pub(super) written: Range<usize>,
    /// The title in the heading, with escapes.
    pub(super) title: Range<usize>,
    pub(super) body: Body,
    /// A number is still to be given; of a sub-task the task above it.
    pub(super) unnumbered: Option<Option<String>>,
}

/// What a document says.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// In the order of the document.
    pub sections: Vec<Section>,
    /// What the reader should know.
    pub notes: Vec<Remark>,
    /// Why it cannot be taken as it is.
    pub refusals: Vec<Remark>,
}

impl Reading {
    /// The records, without their places.
    pub fn records(&self) -> Records {
        self.sections.iter().map(|section| section.record.clone()).collect()
    }

    /// The section of a record.
    pub fn section(&self, id: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.record.id() == id)
    }
}

/// What is said of a record that waits for its number.
const UNNUMBERED: &str = "? has no number yet";

/// True for what is said of a record that waits for its number.
pub(super) fn is_unnumbered(remark: &Remark) -> bool {
    remark.text.ends_with(UNNUMBERED)
}

/// A heading that begins a record, among the blocks of a document.
pub(super) struct Head {
    pub at: usize,
    pub level: u8,
    pub heading: RecordHeading,
    /// Where the content of the heading begins.
    pub start: usize,
}

/// Reads a document.
pub fn read(text: &str, context: &Context<'_>) -> Reading {
    let blocks = document_blocks(text);
    let heads = heads(text, &blocks, context.kinds);
    let mut reader = Reader { text, context, blocks: &blocks, out: Reading::default() };
    reader.open_blocks();
    for (number, head) in heads.iter().enumerate() {
        let next = heads.get(number + 1).map(|next| next.at);
        reader.section(head, next);
    }
    reader.mentions();
    reader.ids();
    reader.sides();
    if context.by == Writer::Person {
        reader.nothing_left();
    }
    let mut out = reader.out;
    out.notes.sort();
    out.notes.dedup();
    out.refusals.sort();
    out.refusals.dedup();
    out
}

/// The headings of records of these kinds.
pub(super) fn heads(text: &str, blocks: &[Block], kinds: &[IdKind]) -> Vec<Head> {
    let mut found = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let BlockKind::Heading(level) = block.kind else { continue };
        let source = block.source(text);
        let content = heading::content(source);
        let start = block.range.start + content.start;
        let Some(heading) = heading::record_heading(&source[content]) else { continue };
        let followed = || {
            let next = blocks.get(at + 1).filter(|next| next.kind == BlockKind::Paragraph);
            next.is_some_and(|next| {
                let read = fields::values(heading.kind, text, next.range.clone());
                let meant = |value: &Value| value.code || fields::fits(heading.kind, value);
                read.end > next.range.start && read.values.iter().any(meant)
            })
        };
        let counts = match &heading.id {
            IdText::Id(_) | IdText::New(_) => true,
            IdText::Word => followed(),
            IdText::Bad => {
                let written = &heading.written;
                let word = &source[heading_text(source, written)];
                word.contains(|c: char| c.is_ascii_digit()) || followed()
            }
        };
        if counts && kinds.contains(&heading.kind) {
            found.push(Head { at, level, heading, start });
        }
    }
    found
}

fn heading_text(source: &str, written: &Range<usize>) -> Range<usize> {
    let start = heading::content(source).start;
    start + written.start..start + written.end
}

struct Reader<'a> {
    text: &'a str,
    context: &'a Context<'a>,
    blocks: &'a [Block],
    out: Reading,
}

impl Reader<'_> {
    fn note(&mut self, at: usize, text: String) {
        self.out.notes.push(Remark { line: line_of(self.text, at), text });
    }

    fn refuse(&mut self, at: usize, text: String) {
        self.out.refusals.push(Remark { line: line_of(self.text, at), text });
    }

    /// Blocks that never end, and conflict markers outside code.
    fn open_blocks(&mut self) {
        for block in self.blocks {
            if let Some(what) = text::never_closed(self.text, block) {
                self.refuse(block.range.start, format!("the {what} opened here is never closed"));
            }
        }
        let mut at = 0;
        for line in self.text.split_inclusive('\n') {
            let marker = ["<<<<<<<", ">>>>>>>"].into_iter().find(|marker| {
                line.strip_prefix(marker).is_some_and(|rest| rest.starts_with([' ', '\r', '\n']))
            });
            let in_code = || {
                let code = |b: &&Block| matches!(b.kind, BlockKind::Code { .. });
                self.blocks.iter().filter(code).any(|block| block.range.contains(&at))
            };
            if let Some(marker) = marker
                && !in_code()
            {
                self.refuse(at, format!("conflict marker {marker}"));
                return;
            }
            at += line.len();
        }
    }

    fn section(&mut self, head: &Head, next: Option<usize>) {
        let block = &self.blocks[head.at];
        let last = next.unwrap_or(self.blocks.len());
        let ends = |block: &Block| match block.kind {
            BlockKind::Heading(level) => level <= head.level,
            BlockKind::Rule => true,
            _ => false,
        };
        let end = (head.at + 1..last).find(|at| ends(&self.blocks[*at])).unwrap_or(last);
        let stop = self.blocks.get(end).map_or(self.text.len(), |block| block.range.start);
        let kind = head.heading.kind;
        let at = block.range.start;
        let written =
            head.start + head.heading.written.start..head.start + head.heading.written.end;
        let written_id = self.text[written.clone()].to_owned();
        let (id, unnumbered) = match &head.heading.id {
            IdText::Id(id) => {
                if *id != written_id {
                    self.note(at, format!("'{written_id}' is read as {id}"));
                }
                (id.clone(), None)
            }
            IdText::New(above) => (format!("{}?", kind.prefix()), Some(above.clone())),
            IdText::Word => (format!("{}?", kind.prefix()), Some(None)),
            IdText::Bad => {
                let (what, prefix) = (kind.name(), kind.prefix());
                self.refuse(
                    at,
                    format!(
                        "'{written_id}' is not an id; a {what} is {prefix}001, a new one {prefix}?"
                    ),
                );
                return;
            }
        };
        if head.heading.title.is_empty() {
            self.refuse(at, format!("{id} has no title"));
        }
        let body = body::body(kind, self.text, &self.blocks[head.at + 1..end]);
        let record = self.record(kind, &id, &head.heading.title, &body, at);
        self.body_notes(&id, &body);
        self.end_notes(&id, head.level, end, last, next.is_some());
        let title =
            head.start + head.heading.title_range.start..head.start + head.heading.title_range.end;
        let line = line_of(self.text, at);
        let (level, heading) = (head.level, block.range.clone());
        let range = at..stop;
        self.out.sections.push(Section {
            record,
            range,
            line,
            level,
            heading,
            written,
            title,
            body,
            unnumbered,
        });
    }

    fn record(&mut self, kind: IdKind, id: &str, title: &str, body: &Body, at: usize) -> Record {
        let present = self.context.present.get(id);
        let (id, title) = (id.to_owned(), title.to_owned());
        let texts =
            |pieces: &[body::Piece]| pieces.iter().map(|one| one.text.clone()).collect::<Vec<_>>();
        let description = texts(&body.description).join("\n\n");
        let items = texts(&body.items);
        let floors = self.context.floors;
        let mut remarks = Remarks { id: id.clone(), at, notes: Vec::new(), refusals: Vec::new() };
        let mut record = match kind {
            IdKind::Requirement => {
                let acceptance_criteria =
                    items.iter().map(|item| criteria::criterion(item)).collect();
                let mut one = Requirement {
                    id,
                    title,
                    description,
                    acceptance_criteria,
                    ..Requirement::default()
                };
                values::requirement(&mut one, &body.values, present.is_none(), &mut remarks);
                Record::Requirement(one)
            }
            IdKind::Feature => {
                let mut one = Feature {
                    id,
                    name: title,
                    description,
                    completion_criteria: items,
                    ..Feature::default()
                };
                values::feature(&mut one, &body.values, floors, &mut remarks);
                Record::Feature(one)
            }
            IdKind::Component => {
                let interfaces = texts(&body.interfaces);
                let mut one = Component {
                    id,
                    name: title,
                    description,
                    responsibilities: items,
                    interfaces,
                    ..Component::default()
                };
                values::component(&mut one, &body.values, floors, &mut remarks);
                if self.context.by == Writer::Model
                    && one.component_type.is_empty()
                    && one.technology.is_empty()
                {
                    let text = format!(
                        "{} has no type and no technology; write both on the line below its heading: `module` `Rust`",
                        one.id
                    );
                    remarks.refuse(at, text);
                }
                Record::Component(one)
            }
            IdKind::Task => {
                let mut one =
                    Task { id, title, description, acceptance_criteria: items, ..Task::default() };
                let known: BTreeSet<&str> = match &present {
                    Some(Record::Task(old)) => old
                        .files_to_create
                        .iter()
                        .chain(&old.files_to_change)
                        .map(String::as_str)
                        .collect(),
                    _ => BTreeSet::new(),
                };
                let is_path = |path: &str| known.contains(path) || (self.context.in_base)(path);
                values::task(&mut one, &body.values, &is_path, floors, &mut remarks);
                Record::Task(one)
            }
        };
        if let Some(present) = &present {
            record.keep_unwritten(present);
        }
        for (at, text) in remarks.notes {
            self.note(at, text);
        }
        for (at, text) in remarks.refusals {
            self.refuse(at, text);
        }
        record
    }

    fn body_notes(&mut self, id: &str, body: &Body) {
        if let Some(at) = body.boxes.first() {
            self.note(*at, "tick boxes are not read".to_owned());
        }
        if let Some(at) = body.second_list {
            let text = match IdKind::of(id) {
                Some(IdKind::Component) => format!(
                    "{id} has a second list: its items are read as interfaces; to keep a list in the description, put <!-- --> alone on a line below it"
                ),
                _ => format!(
                    "{id} has more than one list: all items are criteria; to keep a list in the description, put <!-- --> alone on a line below it"
                ),
            };
            self.note(at, text);
        }
        for range in &body.headings {
            let source = self.text.get(range.clone()).unwrap_or_default();
            let title = heading::one_line(&source[heading::content(source)]);
            self.note(range.start, format!("'{title}' has no id: it is part of {id}"));
        }
    }

    /// What ends a section by surprise, and what is left out behind a rule.
    fn end_notes(&mut self, id: &str, level: u8, end: usize, last: usize, more: bool) {
        let Some(block) = self.blocks.get(end).filter(|_| end < last) else { return };
        let source = block.source(self.text);
        if let BlockKind::Heading(_) = block.kind
            && source.trim_end().ends_with('-')
            && source.trim_end().contains('\n')
            && !source.trim_start().starts_with("# ")
        {
            let at = block.range.end.saturating_sub(1);
            self.note(at, format!("--- directly below text makes it a heading, which ends {id}; put a blank line above ---"));
        }
        if block.kind != BlockKind::Rule || !more {
            return;
        }
        for at in end + 1..last {
            let block = &self.blocks[at];
            match block.kind {
                BlockKind::Heading(above) if above < level => return,
                BlockKind::Heading(_) | BlockKind::List { .. } => {
                    self.note(block.range.start, format!("not part of {id}"));
                }
                _ => {}
            }
        }
    }

    /// Ids used twice, deleted ones, and those above the next number.
    fn ids(&mut self) {
        let mut seen: Vec<(String, usize)> = Vec::new();
        let mut added: Vec<(String, usize)> = Vec::new();
        let mut remarks: Vec<(usize, String, bool)> = Vec::new();
        for section in &self.out.sections {
            let id = section.record.id();
            let (at, kind) = (section.range.start, section.record.kind());
            let prefix = kind.prefix();
            if section.unnumbered.is_some() {
                remarks.push((at, format!("{}{UNNUMBERED}", id.trim_end_matches('?')), true));
                continue;
            }
            if let Some((_, line)) = seen.iter().find(|(known, _)| known == id) {
                let text = format!(
                    "{id} is already at line {line}; write {prefix}? to give this one a new number"
                );
                remarks.push((at, text, true));
                continue;
            }
            seen.push((id.to_owned(), section.line));
            if self.context.present.has(id) {
                continue;
            }
            match self.context.used.get(id) {
                Some(title) if title == section.record.title() => {}
                Some(title) => {
                    remarks.push((
                        at,
                        format!("{id} was \"{title}\" and was deleted; write {prefix}?"),
                        true,
                    ));
                }
                None => added.push((id.to_owned(), at)),
            }
        }
        added.sort();
        let mut floors = self.context.floors;
        for id in self.context.present.ids() {
            if let Some(kind) = IdKind::of(id) {
                floors.see(kind, id);
            }
        }
        for (id, at) in added {
            let Some(kind) = IdKind::of(&id) else { continue };
            let mut above = floors;
            let next = above.next(kind);
            if super::super::number_of(kind, &id) > super::super::number_of(kind, &next) {
                remarks.push((at, format!("{id} is above the next number, {next}"), false));
            }
            floors.see(kind, &id);
        }
        for (at, text, refused) in remarks {
            if refused { self.refuse(at, text) } else { self.note(at, text) }
        }
    }

    /// Which paths of a task are created and which changed.
    fn sides(&mut self) {
        let mut named: BTreeSet<String> = BTreeSet::new();
        let context = self.context;
        for section in &mut self.out.sections {
            let Record::Task(task) = &mut section.record else { continue };
            let old = match context.present.get(&task.id) {
                Some(Record::Task(old)) => old,
                _ => Task::default(),
            };
            let paths = std::mem::take(&mut task.files_to_create);
            for path in paths {
                let bare = path.trim_start_matches("./").trim_end_matches('/').to_owned();
                let created = if old.files_to_create.contains(&path) {
                    true
                } else if old.files_to_change.contains(&path) {
                    false
                } else {
                    !(context.in_base)(&bare) && !named.contains(&bare)
                };
                named.insert(bare);
                if created {
                    task.files_to_create.push(path)
                } else {
                    task.files_to_change.push(path)
                }
            }
        }
    }

    /// Records that are no sections: bold text, items, quotes, rows.
    fn mentions(&mut self) {
        let sections: BTreeSet<&str> = self.out.sections.iter().map(|s| s.record.id()).collect();
        let fields: Vec<Range<usize>> =
            self.out.sections.iter().flat_map(|s| s.body.fields.clone()).collect();
        let mut found = Vec::new();
        for block in self.blocks.iter().filter(|block| !fields.contains(&block.range)) {
            for (at, kind, id) in mentions::leading_ids(self.text, block) {
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
            self.refuse(at, text);
        }
    }

    /// A person took all records away.
    fn nothing_left(&mut self) {
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
