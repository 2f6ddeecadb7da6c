//! The queries the workspace makes about git, implemented outside of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::SystemTime;

/// The queries the workspace makes about git, implemented outside of it.
pub trait Tracking {
    /// Paths that differ from the last commit, relative to the root: with untracked files; without
    /// ignored files, submodules and nested repositories.
    fn uncommitted(&self) -> anyhow::Result<BTreeSet<String>>;
    /// True if this path differs from the last commit.
    fn is_uncommitted(&self, path: &str) -> anyhow::Result<bool>;
    /// Reports that git-cowork has just written or removed a file of the session.
    fn wrote(&self, path: &str);
    /// True if git tracks a file below this folder.
    fn tracks_below(&self, folder: &str) -> anyhow::Result<bool>;
    /// True if git tracks this path.
    fn tracks(&self, path: &str) -> anyhow::Result<bool>;
    /// Files and folders that git ignores; for a fully ignored folder, only the folder itself.
    fn ignored(&self) -> anyhow::Result<Vec<String>>;
    /// The folders of submodules, checked out or not.
    fn submodules(&self) -> anyhow::Result<BTreeSet<String>>;
    /// The status of the repository in this folder below the tree, with paths from the tree's root. It
    /// runs nothing that this repository configures.
    fn status_of(&self, _folder: &str) -> anyhow::Result<NestedStatus> {
        Ok(NestedStatus::default())
    }
    /// The program that git would run in the repository of this git directory, because of its
    /// configuration or hooks.
    fn would_run(&self, git_dir: &Path) -> anyhow::Result<Option<String>>;
    /// Checks that the tree is on the session's branch and has its records: a person may switch the
    /// branch at any time, and what is written afterwards would lie among the files of another one.
    ///
    /// # Errors
    /// It is on another branch, or the records were deleted: exit 5, with the command that continues.
    fn require_branch(&self) -> anyhow::Result<()> {
        Ok(())
    }
    /// True if the tree was on the session's branch when it was opened.
    fn is_on_branch(&self) -> bool {
        true
    }
    /// The git control files of the tree.
    fn acted_on(&self) -> anyhow::Result<GitControlFiles>;
}

/// The status of a repository below the tree.
#[derive(Clone, Debug, Default)]
pub struct NestedStatus {
    /// Like [`Tracking::uncommitted`].
    pub uncommitted: Vec<String>,
    /// Like [`Tracking::ignored`].
    pub ignored: Vec<String>,
}

/// Files in the tree that change git's behavior, besides those that git finds by a fixed name.
#[derive(Clone, Debug, Default)]
pub struct GitControlFiles {
    /// Files, relative to the root; may include missing ones.
    pub files: BTreeSet<String>,
    /// Folders, with everything in them.
    pub folders: BTreeSet<String>,
}

/// The repositories and special files found below a tree since the first command of a run.
#[derive(Clone, Debug)]
pub(crate) struct KnownRepositories {
    /// Git directories and special files that no command created, relative to the root.
    pub(crate) others: BTreeSet<String>,
    /// When the first command started.
    pub(crate) begun: SystemTime,
}
