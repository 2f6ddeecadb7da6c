//! What this room must know of git, told by a room that knows it.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::SystemTime;

/// What this room must know of git, told by a room that knows it.
pub trait Tracking {
    /// Paths that differ from the last commit, untracked ones included, ignored ones, submodules
    /// and nested repositories left out; relative to the root.
    fn uncommitted(&self) -> anyhow::Result<BTreeSet<String>>;
    /// Whether that holds of this one path.
    fn is_uncommitted(&self, path: &str) -> anyhow::Result<bool>;
    /// Hears of a file of the session that this program itself has just written or removed.
    fn wrote(&self, path: &str);
    /// Whether git tracks anything below this folder.
    fn tracks_below(&self, folder: &str) -> anyhow::Result<bool>;
    /// Whether git tracks a file of this name.
    fn tracks(&self, path: &str) -> anyhow::Result<bool>;
    /// Files and folders that git ignores; of a folder that is ignored as a whole only itself.
    fn ignored(&self) -> anyhow::Result<Vec<String>>;
    /// The folders where a submodule is due, filled or not.
    fn submodules(&self) -> anyhow::Result<BTreeSet<String>>;
    /// What git would run in the repository of this git directory, by its configuration and hooks.
    fn would_run(&self, git_dir: &Path) -> anyhow::Result<Option<String>>;
    /// What git acts upon in the tree.
    fn acted_on(&self) -> anyhow::Result<GitControlFiles>;
}

/// What git acts upon in the tree, besides what it knows by its name.
#[derive(Clone, Debug, Default)]
pub struct GitControlFiles {
    /// Files, relative to the root; also such that are not there.
    pub files: BTreeSet<String>,
    /// Folders with all that is in them.
    pub folders: BTreeSet<String>,
}

/// What is known of repositories below a tree since the first command of a run.
#[derive(Clone, Debug)]
pub(crate) struct KnownRepositories {
    /// Those that no command made, by their git directories, relative to the root.
    pub(crate) others: BTreeSet<String>,
    /// When the first command began.
    pub(crate) begun: SystemTime,
}
