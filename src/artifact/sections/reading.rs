//! What a document says: records with their places, notes and refusals.

use std::ops::Range;

use super::body::Body;
use super::{Record, Records};

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
    /// The id in the heading.
    pub(super) id: Range<usize>,
    /// The title in the heading, with escapes.
    pub(super) title: Range<usize>,
    pub(super) body: Body,
    /// A number is still to be given.
    pub(super) unnumbered: bool,
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
