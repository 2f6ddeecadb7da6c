//! The contents of a document: records with their places, notes and refusals.

use std::ops::Range;

use super::body::Body;
use super::{Record, Records};

/// A remark about a line of a document; printed as `prd.md:LINE: text`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// Line number from 1.
    pub line: usize,
    /// The remark, as a sentence.
    pub text: String,
    /// What the remark is about.
    pub kind: RemarkKind,
}

/// What a remark is about, if the program does more with the remark than print it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemarkKind {
    /// A record that has no number yet.
    Unnumbered,
    /// A record that the text names but that has no section.
    NoSection,
    /// An id that another record has as well.
    RepeatedId,
    /// Anything else.
    Other,
}

impl Remark {
    /// A remark that is only printed.
    pub fn new(line: usize, text: String) -> Self {
        Self { line, text, kind: RemarkKind::Other }
    }
}

/// A record with its place in its document.
#[derive(Clone, Debug)]
pub struct Section {
    /// The record.
    pub record: Record,
    /// The range of the section, from its heading to the next block outside it.
    pub range: Range<usize>,
    /// Line number of the heading, from 1.
    pub line: usize,
    /// The level of the heading.
    pub(super) level: u8,
    /// The range of the id in the heading.
    pub(super) id: Range<usize>,
    /// The range of the title in the heading, including escapes.
    pub(super) title: Range<usize>,
    pub(super) body: Body,
    /// True if the record has no number yet.
    pub(super) unnumbered: bool,
}

/// The contents of a document.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The sections, in the order of the document.
    pub sections: Vec<Section>,
    /// Remarks that the author should know.
    pub notes: Vec<Remark>,
    /// Reasons why the document cannot be accepted.
    pub refusals: Vec<Remark>,
}

impl Reading {
    /// Returns the records without their places.
    pub fn records(&self) -> Records {
        self.sections.iter().map(|section| section.record.clone()).collect()
    }

    /// Returns a text without its sections of these records.
    pub fn without(&self, text: &str, is_left_out: impl Fn(&Record) -> bool) -> String {
        let (mut rest, mut at) = (String::new(), 0);
        for section in self.sections.iter().filter(|one| is_left_out(&one.record)) {
            rest += text.get(at..section.range.start).unwrap_or_default();
            at = section.range.end;
        }
        rest + text.get(at..).unwrap_or_default()
    }

    /// Returns the section of a record.
    pub fn section(&self, id: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.record.id() == id)
    }
}
