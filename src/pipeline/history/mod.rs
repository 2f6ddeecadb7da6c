//! Continuing from the state in history, draft refs and the working tree, and going back.

pub(crate) mod discarded;
pub(crate) mod dropped;
pub(crate) mod formats;
pub(crate) mod from_files;
pub(crate) mod present_stage;
pub(crate) mod raise;
pub(crate) mod restore;
pub(crate) mod resume_stage;
pub(crate) mod rewind;
