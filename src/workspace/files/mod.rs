//! Files of the working tree as a model may reach them: judged by name, opened through no link,
//! written whole or not at all.

pub(crate) mod artifacts;
mod content;
pub(crate) mod git_control_files;
pub(crate) mod guard;
pub(crate) mod nofollow;
pub(crate) mod portable;
pub(crate) mod read;
pub(crate) mod search;
pub(crate) mod walk;
pub(crate) mod write;
pub(crate) mod written;

#[cfg(test)]
#[cfg(unix)]
mod race;
