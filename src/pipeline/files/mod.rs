//! The files that a session and its tasks have changed, the content that an approval names, and the
//! files that say how to work.

pub(crate) mod approved_content;
pub(crate) mod open_gate;
pub(crate) mod project_files;
pub(crate) mod task_files;
