//! Resumes a session from its history, draft refs and working tree, and rewinds it.

pub(crate) mod discarded;
pub(crate) mod dropped;
pub(crate) mod formats;
pub(crate) mod from_files;
pub(crate) mod present_stage;
pub(crate) mod raise;
pub(crate) mod restore;
pub(crate) mod resume_stage;
pub(crate) mod rewind;
pub(crate) mod waiting_draft;
