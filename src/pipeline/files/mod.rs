//! The files that a session and its tasks have changed, and the content that an approval names.

pub(crate) mod approved_content;
pub(crate) mod instructions;
pub(crate) mod project_files;
