//! Records in Markdown: sections of a fixed form inside free prose. This module reads them from a
//! document's text and writes them into it, without access to files or git.

mod align;
mod apply;
mod blocks;
mod body;
mod checks;
mod criteria;
mod edit;
mod fields;
mod heading;
mod ids;
mod indent;
mod json;
mod merge;
mod merge_document;
mod merge_records;
mod parse;
mod reading;
mod record;
mod render;
mod save;
mod text;
mod values;

use std::collections::BTreeMap;

use super::{Artifact, IdFloors, IdKind};

pub use apply::{Change, apply};
pub use checks::{Dangling, references};
pub use criteria::{criterion, item_of};
pub use edit::renumbered;
pub use ids::{Taken, number, take, written};
pub use json::{RecordFiles, different_fields, gives};
pub use merge::{Conflict, MergeProse, Merged, Texts, merge, without_sections};
pub use merge_records::further_status;
pub use parse::{read, read_plainly};
pub use reading::{Reading, Remark, RemarkKind, Section};
pub use record::{Record, Records, Slot};
pub use render::{LEVEL, normal, render};
pub use save::{Extent, Saved, save, unfenced};

/// A document that contains records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Document {
    /// `prd.md`
    Prd,
    /// `design.md`
    Design,
    /// `plan.md`
    Plan,
}

impl Document {
    /// All documents.
    pub const ALL: [Self; 3] = [Self::Prd, Self::Design, Self::Plan];

    /// Returns the document's file.
    pub const fn artifact(self) -> Artifact {
        match self {
            Self::Prd => Artifact::Prd,
            Self::Design => Artifact::Design,
            Self::Plan => Artifact::Plan,
        }
    }

    /// Returns the document in a file.
    pub fn of_artifact(artifact: Artifact) -> Option<Self> {
        Self::ALL.into_iter().find(|document| document.artifact() == artifact)
    }
}

/// The documents that exist in a folder. They determine which kinds of records each document
/// contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Documents {
    /// `prd.md` exists.
    pub prd: bool,
    /// `design.md` exists.
    pub design: bool,
    /// `plan.md` exists.
    pub plan: bool,
}

impl Documents {
    /// Adds a document.
    pub const fn add(&mut self, document: Document) {
        match document {
            Document::Prd => self.prd = true,
            Document::Design => self.design = true,
            Document::Plan => self.plan = true,
        }
    }

    /// True if the document exists.
    pub const fn has(self, document: Document) -> bool {
        match document {
            Document::Prd => self.prd,
            Document::Design => self.design,
            Document::Plan => self.plan,
        }
    }

    /// Returns the kinds of records that a document contains.
    pub const fn kinds(self, document: Document) -> &'static [IdKind] {
        match document {
            Document::Prd => &[IdKind::Requirement, IdKind::Feature],
            Document::Design => &[IdKind::Component],
            Document::Plan if self.prd => &[IdKind::Task],
            Document::Plan => &[IdKind::Requirement, IdKind::Feature, IdKind::Task],
        }
    }

    /// Returns the document that contains a kind of record; without a `design.md`, there are no
    /// components.
    pub const fn holding(self, kind: IdKind) -> Option<Document> {
        match kind {
            IdKind::Requirement | IdKind::Feature if self.prd => Some(Document::Prd),
            IdKind::Requirement | IdKind::Feature | IdKind::Task => Some(Document::Plan),
            IdKind::Component if self.design => Some(Document::Design),
            IdKind::Component => None,
        }
    }
}

/// The author of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// A person, in any editor.
    Person,
    /// A model, with a tool.
    Model,
}

/// What the parser needs besides the text.
pub struct Context<'a> {
    /// The kinds of records that the document contains.
    pub kinds: &'a [IdKind],
    /// The ids that commits have used, with the last title of each.
    pub used: &'a BTreeMap<String, String>,
    /// The highest numbers used.
    pub floors: IdFloors,
    /// The records before this edit. They show which records the edit removes, and they provide the
    /// fields that are never in Markdown.
    pub present: &'a Records,
    /// Returns true if a path is in the base commit.
    pub in_base: &'a dyn Fn(&str) -> bool,
    /// The author of the text.
    pub by: Writer,
}

impl<'a> Context<'a> {
    /// The context of a text whose history does not matter: a person's, with paths that all exist.
    pub fn plain(kinds: &'a [IdKind], present: &'a Records) -> Self {
        static UNUSED: BTreeMap<String, String> = BTreeMap::new();
        let (floors, by) = (IdFloors::default(), Writer::Person);
        Self { kinds, used: &UNUSED, floors, present, in_base: &|_| true, by }
    }
}

#[cfg(test)]
mod tests;
