//! Reads the records of a document, and the remarks about them.

use std::ops::Range;

use super::super::IdKind;
use super::blocks::{Block, BlockKind, document_blocks, line_of, never_closed};
use super::body::{self, Body};
use super::fields::{self, Value};
use super::heading::{self, IdText, RecordHeading};
use super::values;
use super::{Context, Reading, Record, Records, Remark, RemarkKind, Section, Slot, Writer};

/// A heading that starts a record; `at` is the index of its block.
pub(super) struct Head {
    pub at: usize,
    pub level: u8,
    pub heading: RecordHeading,
    /// Offset of the heading's content.
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
    values::split_paths(&mut reader.out.sections, context);
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

/// Reads a document whose history does not matter; `present` are its earlier records.
pub fn read_plainly(text: &str, kinds: &[IdKind], present: &Records) -> Reading {
    read(text, &Context::plain(kinds, present))
}

/// Finds the headings of records of these kinds.
pub(super) fn heads(text: &str, blocks: &[Block], kinds: &[IdKind]) -> Vec<Head> {
    let mut found = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let BlockKind::Heading(level) = block.kind else { continue };
        let marked = block.with_plain_emphasis(text);
        let source = block.source(&marked);
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

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) context: &'a Context<'a>,
    pub(super) blocks: &'a [Block],
    pub(super) out: Reading,
}

impl Reader<'_> {
    pub(super) fn note(&mut self, at: usize, text: String) {
        self.out.notes.push(Remark::new(line_of(self.text, at), text));
    }

    pub(super) fn refuse(&mut self, at: usize, text: String) {
        self.refuse_as(at, text, RemarkKind::Other);
    }

    pub(super) fn refuse_as(&mut self, at: usize, text: String, kind: RemarkKind) {
        self.out.refusals.push(Remark { line: line_of(self.text, at), text, kind });
    }

    /// Finds unclosed blocks, and conflict markers outside code.
    fn open_blocks(&mut self) {
        for block in self.blocks {
            if let Some(what) = never_closed(self.text, block) {
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
                (id.clone(), false)
            }
            IdText::New(_) | IdText::Word => (format!("{}?", kind.prefix()), true),
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
        let level = head.level;
        let range = at..stop;
        let id = written;
        self.out.sections.push(Section { record, range, line, level, id, title, body, unnumbered });
    }

    fn record(&mut self, kind: IdKind, id: &str, title: &str, body: &Body, at: usize) -> Record {
        let texts =
            |pieces: &[body::Piece]| pieces.iter().map(|one| one.text.clone()).collect::<Vec<_>>();
        let description = texts(&body.description).join("\n\n");
        let head = [id.to_owned(), title.to_owned(), description];
        let (items, interfaces) = (texts(&body.items), texts(&body.interfaces));
        let mut record = Record::new(kind, head, items, interfaces);
        self.fill(&mut record, &body.values, at);
        let is_empty = |slot| record.values(slot).iter().all(String::is_empty);
        if kind == IdKind::Component
            && self.context.by == Writer::Model
            && is_empty(Slot::Type)
            && is_empty(Slot::Technology)
        {
            let fix = "write both on the line below its heading: `module` `Rust`";
            self.refuse(at, format!("{id} has no type and no technology; {fix}"));
        }
        if let Some(present) = self.context.present.get(id) {
            record.keep_unwritten(&present);
        }
        record
    }

    fn body_notes(&mut self, id: &str, body: &Body) {
        if let Some(at) = body.boxes.first() {
            self.note(*at, "checkboxes are ignored".to_owned());
        }
        if let Some(at) = body.second_list {
            let text = match IdKind::of_id(id) {
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

    /// Adds notes about an unexpected end of a section, and about text that a thematic break
    /// separates from the section.
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
}
