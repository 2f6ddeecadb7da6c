//! How commands are to be confined, and who answers for those that are not.

use std::path::PathBuf;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::beside::Beside;
use super::fetching::Fetching;
use super::own_files::OwnFiles;
use super::sweep::Cache;
use crate::host::Host;

/// How well commands are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Not at all.
    None,
    /// A profile of `sandbox-exec`, on macOS.
    #[serde(rename = "sandbox-exec")]
    Seatbelt,
    /// Landlock alone.
    Landlock,
    /// Namespaces that the system's bubblewrap makes, and Landlock.
    Bubblewrap,
    /// Namespaces and Landlock.
    #[default]
    Namespaces,
}

impl Level {
    /// The word of a level: `none`, `sandbox-exec`, `landlock`, `bubblewrap`,
    /// `namespaces`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Seatbelt => "sandbox-exec",
            Self::Landlock => "landlock",
            Self::Bubblewrap => "bubblewrap",
            Self::Namespaces => "namespaces",
        }
    }

    /// Whether a command has mounts of its own, so that what it must not see is not there.
    pub const fn has_mounts(self) -> bool {
        matches!(self, Self::Bubblewrap | Self::Namespaces)
    }

    /// The level with this word.
    pub fn of_word(word: &str) -> Option<Self> {
        const ALL: [Level; 5] =
            [Level::None, Level::Seatbelt, Level::Landlock, Level::Bubblewrap, Level::Namespaces];
        ALL.into_iter().find(|level| level.word() == word)
    }
}

/// Who answers for commands that the kernel cannot confine.
pub trait Consent {
    /// Hears, once, that commands are confined less well than they could be.
    fn weaker(&self, weaker: &Weaker);
    /// Whether commands may read what the project's manifests name outside of the tree; asked once.
    fn may_read(&self, named: &[Beside]) -> anyhow::Result<bool>;
    /// Whether this command may run without confinement; `None` when nobody is there to say so.
    fn may_run_unconfined(&self, command: &str) -> anyhow::Result<Option<bool>>;
}

/// Why commands are confined less well than they could be, and what that means.
#[derive(Clone, Debug)]
pub struct Weaker {
    /// How they are.
    pub level: Level,
    /// What is in the way of the next better level.
    pub cause: String,
    /// What would help, as a sentence without its full stop; empty where that is not known.
    pub remedy: String,
    /// Whether they can make sockets with a path.
    pub unix_sockets: bool,
}

/// A folder of another tree that commands see and change only for themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// Where they see it: an empty folder in their tree.
    pub at: PathBuf,
    /// What they see.
    pub of: PathBuf,
    /// An empty folder for their changes.
    pub changes: PathBuf,
    /// An empty folder for the kernel, on the same file system.
    pub work: PathBuf,
}

/// How commands are to be confined. The default is not at all.
#[derive(Clone, Default)]
pub struct Confinement {
    /// This program, to be started as the helper; without it nothing is confined.
    pub helper: Option<PathBuf>,
    /// Files and directories that are never written: the tree's `.git`, where it points to, the
    /// directory linked worktrees share; what else only the program writes. Repositories below the
    /// tree are found and added.
    pub sealed: Vec<PathBuf>,
    /// Writable besides the tree. Those that do not exist are passed over.
    pub writable: Vec<PathBuf>,
    /// Folders of other trees that commands see in theirs, and change only for themselves; where that can be
    /// had.
    pub overlays: Vec<Overlay>,
    /// What a program keeps in a home for itself.
    pub own: Vec<OwnFiles>,
    /// Readable besides what is installed there, where a home is closed.
    pub readable: Vec<PathBuf>,
    /// Not to be seen, wherever it is.
    pub hidden: Vec<PathBuf>,
    /// What commands find in their own configuration of git.
    pub git_settings: Vec<(String, String)>,
    /// Whether commands have the network.
    pub network: bool,
    /// Servers that a program reaches through a proxy where commands have no network; commands reach
    /// none.
    pub hosts: Vec<Host>,
    /// Where the commands' private home with its caches is kept between runs; created.
    pub cache: Option<Cache>,
    /// Better levels than this are not tried.
    pub most: Level,
    /// Asked where nothing can be confined; without it such commands are refused.
    pub consent: Option<Rc<dyn Consent>>,
    /// Asked before a project's dependencies are fetched; without it none are.
    pub fetching: Option<Rc<dyn Fetching>>,
}
