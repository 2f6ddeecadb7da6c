//! Settings for confining commands, and the prompts for commands that cannot be confined.

use std::path::PathBuf;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::beside::Beside;
use super::fetching::Fetching;
use super::own_files::OwnFiles;
use super::sweep::Cache;
use crate::host::Host;
use crate::path_text;

/// Confinement level of commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Not confined.
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
    /// The name of the level: `none`, `sandbox-exec`, `landlock`, `bubblewrap`, `namespaces`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Seatbelt => "sandbox-exec",
            Self::Landlock => "landlock",
            Self::Bubblewrap => "bubblewrap",
            Self::Namespaces => "namespaces",
        }
    }

    /// True if a command has its own mounts, so that hidden paths do not exist for it.
    pub const fn has_mounts(self) -> bool {
        matches!(self, Self::Bubblewrap | Self::Namespaces)
    }

    /// The level with this name.
    pub fn of_word(word: &str) -> Option<Self> {
        const ALL: [Level; 5] =
            [Level::None, Level::Seatbelt, Level::Landlock, Level::Bubblewrap, Level::Namespaces];
        ALL.into_iter().find(|level| level.word() == word)
    }
}

/// Prompts and warnings about commands that the kernel cannot fully confine.
pub trait Consent {
    /// Warns, once, that commands are confined at a weaker level than possible.
    fn weaker(&self, weaker: &Weaker);
    /// True if commands may read the paths outside the tree that the project's manifests name;
    /// asked once.
    fn may_read(&self, named: &[Beside]) -> anyhow::Result<bool>;
    /// True if this command may run unconfined; `None` if nobody is there to decide.
    fn may_run_unconfined(&self, command: &str) -> anyhow::Result<Option<bool>>;
}

/// Why commands are confined at a weaker level, and the consequences.
#[derive(Clone, Debug)]
pub struct Weaker {
    /// The level in use.
    pub level: Level,
    /// The reason why the next better level does not work.
    pub cause: String,
    /// The remedy, as a sentence without its full stop; empty if unknown.
    pub remedy: String,
    /// True if commands can create UNIX sockets with a path.
    pub unix_sockets: bool,
}

/// A folder of another tree mounted for commands; their changes to it stay private to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// Mount point: an empty folder in the commands' tree.
    #[serde(with = "path_text::json")]
    pub at: PathBuf,
    /// The folder shown there.
    #[serde(with = "path_text::json")]
    pub of: PathBuf,
    /// An empty folder that receives the changes.
    #[serde(with = "path_text::json")]
    pub changes: PathBuf,
    /// An empty work folder for overlayfs, on the same file system as `changes`.
    #[serde(with = "path_text::json")]
    pub work: PathBuf,
}

/// Settings for confining commands. By default nothing is confined.
#[derive(Clone, Default)]
pub struct Confinement {
    /// Path of git-cowork, started as the helper; if `None`, nothing is confined.
    pub helper: Option<PathBuf>,
    /// Read-only files and directories: the tree's `.git` and the directories it points to, the
    /// directory shared by linked worktrees, and other paths only git-cowork writes. Repositories
    /// below the tree are detected and added.
    pub sealed: Vec<PathBuf>,
    /// Writable paths besides the tree. Missing ones are ignored.
    pub writable: Vec<PathBuf>,
    /// Folders of other trees that commands see in their own tree and change only privately, if the
    /// system supports overlays.
    pub overlays: Vec<Overlay>,
    /// Files in a home directory that belong to the confined agent program.
    pub own: Vec<OwnFiles>,
    /// Readable paths besides installed software, if a home is closed.
    pub readable: Vec<PathBuf>,
    /// Paths that are hidden, except those that contain the working tree.
    pub hidden: Vec<PathBuf>,
    /// Files that have another content for commands: git's configuration, without logins. Where
    /// commands have no mounts of their own, they cannot read these files at all.
    pub shown: Vec<(PathBuf, String)>,
    /// Entries of the commands' git configuration.
    pub git_settings: Vec<(String, String)>,
    /// True if commands have network access.
    pub network: bool,
    /// Servers that an agent program may reach through a proxy if commands have no network access;
    /// commands cannot reach them.
    pub hosts: Vec<Host>,
    /// Directory that keeps the commands' private home and its caches between runs; created if
    /// missing.
    pub cache: Option<Cache>,
    /// Better levels than this one are not tried.
    pub most: Level,
    /// Prompt used if commands cannot be confined; if `None`, such commands are refused.
    pub consent: Option<Rc<dyn Consent>>,
    /// Prompt before a project's dependencies are fetched; if `None`, nothing is fetched.
    pub fetching: Option<Rc<dyn Fetching>>,
}
