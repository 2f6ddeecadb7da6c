//! The input of a role: its conversation, the repository, the documents and the open feedback.

pub(crate) mod continued;
pub(crate) mod conversation;
pub(crate) mod draft_ids;
mod knowledge;
pub(crate) mod open_feedback;
pub(crate) mod part;
mod part_files;
pub(crate) mod reader;
pub(crate) mod repository;
mod role_tools;
pub(crate) mod sections;
mod sources;
pub(crate) mod task_brief;
mod typed_notes;
