//! File access for models: paths are checked by name, files are opened without following links and
//! written atomically.

pub(crate) mod artifacts;
mod content;
pub(crate) mod git_control_files;
pub(crate) mod guard;
pub(crate) mod nofollow;
pub(crate) mod portable;
pub(crate) mod read;
pub(crate) mod search;
pub(crate) mod state;
pub(crate) mod walk;
pub(crate) mod write;
pub(crate) mod written;

#[cfg(test)]
#[cfg(unix)]
mod race;
