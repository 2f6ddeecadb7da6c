//! What the helper is told.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::confinement::{Level, Overlay};
use super::covers::Cover;

/// The first argument of the program when it is the helper.
pub const HELPER_WORD: &str = "__sandbox";

/// What the helper is told, as JSON in its second argument, or in the file that stands there after
/// an `@`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Spec {
    pub(super) level: Level,
    pub(super) root: PathBuf,
    pub(super) sealed: Vec<PathBuf>,
    pub(super) writable: Vec<PathBuf>,
    /// Files, directories and sockets that look empty: keys, and doors to other programs.
    pub(super) hidden: Vec<PathBuf>,
    /// Directories of other programs' files, which a command has for itself.
    #[serde(default)]
    pub(super) covers: Vec<Cover>,
    /// Homes: of what is in them only what is kept, sealed or writable is there.
    #[serde(default)]
    pub(super) closed: Vec<PathBuf>,
    /// What is there to be read although it is below one of either.
    #[serde(default)]
    pub(super) kept: Vec<PathBuf>,
    /// Folders of other trees, seen in this one.
    #[serde(default)]
    pub(super) overlays: Vec<Overlay>,
    /// The list of users, where the system's lacks this one.
    #[serde(default)]
    pub(super) users: Option<PathBuf>,
    pub(super) network: bool,
    /// Ports of the loopback in a network of its own whose connections are handed out (`door`), through
    /// the descriptor that the helper's first argument names.
    #[serde(default)]
    pub(super) doors: Vec<u16>,
    /// Bubblewrap has made the namespaces and the mounts already.
    #[serde(default)]
    pub(super) inside: bool,
}
