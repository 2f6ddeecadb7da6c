//! One file a command: `X.rs` is `git cowork X`.

pub(crate) mod archive;
pub(crate) mod completions;
pub(crate) mod delete;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod feedback;
pub(crate) mod hook;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod models;
pub(crate) mod modify;
pub(crate) mod new;
pub(crate) mod pr;
pub(crate) mod prune;
pub(crate) mod restore;
pub(crate) mod resume;
pub(crate) mod revert;
pub(crate) mod review;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod verify;
