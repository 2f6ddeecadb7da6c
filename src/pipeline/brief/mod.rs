//! The input of a role: its conversation, the repository, the documents and the open feedback.

pub(crate) mod continued;
pub(crate) mod conversation;
pub(crate) mod draft_ids;
pub(crate) mod knowledge;
pub(crate) mod open_feedback;
pub(crate) mod part;
pub(crate) mod part_files;
pub(crate) mod reader;
pub(crate) mod repository;
pub(crate) mod sections;
mod typed_notes;
