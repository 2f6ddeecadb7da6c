//! The specification of a command's confinement, passed to the helper.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::confinement::{Level, Overlay};
use super::covers::Cover;
use crate::path_text;

/// The first argument with which git-cowork runs as the helper.
pub const HELPER_WORD: &str = "__sandbox";

/// The specification, passed to the helper as JSON in its second argument, or in the file named
/// after an `@`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Spec {
    pub(super) level: Level,
    #[serde(with = "path_text::json")]
    pub(super) root: PathBuf,
    /// The folder that is shown at `root`, if it is another one: see `commands::Sandbox::confine`.
    #[serde(default, with = "path_text::json_option")]
    pub(super) content: Option<PathBuf>,
    #[serde(with = "path_text::json_list")]
    pub(super) sealed: Vec<PathBuf>,
    #[serde(with = "path_text::json_list")]
    pub(super) writable: Vec<PathBuf>,
    /// Files, directories and sockets that look empty: keys, and sockets of other programs.
    #[serde(with = "path_text::json_list")]
    pub(super) hidden: Vec<PathBuf>,
    /// Directories with other programs' files; a command gets its own version of each directory.
    #[serde(default)]
    pub(super) covers: Vec<Cover>,
    /// Homes in which only kept, sealed and writable paths are visible.
    #[serde(default, with = "path_text::json_list")]
    pub(super) closed: Vec<PathBuf>,
    /// Read-only paths that stay visible below `covers` and `closed`.
    #[serde(default, with = "path_text::json_list")]
    pub(super) kept: Vec<PathBuf>,
    /// Folders of other trees, mounted in this tree.
    #[serde(default)]
    pub(super) overlays: Vec<Overlay>,
    /// Files that have another content for commands, and the files with that content.
    #[serde(default)]
    pub(super) shown: Vec<Cover>,
    /// The user list, if the system's lacks the current user.
    #[serde(default, with = "path_text::json_option")]
    pub(super) users: Option<PathBuf>,
    pub(super) network: bool,
    /// Loopback ports in a private network namespace whose connections are passed out (`door`),
    /// over the descriptor named by the helper's first argument.
    #[serde(default)]
    pub(super) doors: Vec<u16>,
    /// True once bubblewrap has created the namespaces and mounts.
    #[serde(default)]
    pub(super) inside: bool,
}
