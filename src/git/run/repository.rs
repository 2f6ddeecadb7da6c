//! A repository and one of its working trees: what every command and reader needs to know of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::git::caches::Caches;
use crate::git::child::Children;
use crate::git::format::Format;

/// Set once git is known to be new enough for commands that write.
#[derive(Default)]
pub(crate) struct NewEnough(pub(crate) OnceLock<()>);

/// A repository and one of its working trees. Cheap to clone; owns the lock of
/// [`Git::with_children_in`] and the repository opened by libgit2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Git {
    pub(crate) top: PathBuf,
    pub(crate) git_dir: PathBuf,
    pub(crate) common_dir: PathBuf,
    pub(crate) format: Format,
    /// `--git-dir` and `--work-tree` are passed on, because git would not find them from `top`.
    pub(crate) explicit: bool,
    /// There is no working tree; `top` is the git directory.
    pub(crate) bare: bool,
    /// A commit may be made: the user's identity is read together with the configuration.
    pub(crate) will_commit: bool,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) children: Option<Arc<Children>>,
    /// What is known of this working tree.
    pub(crate) caches: Caches,
    /// What is known of the repository, whatever the working tree.
    pub(crate) shared_caches: Caches,
}

impl Git {
    /// The same repository, for a command that makes a commit: the user's identity is read in
    /// advance.
    #[must_use]
    pub fn for_commits(self) -> Self {
        Self { will_commit: true, ..self }
    }

    /// Adds variables to the environment of every child.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_env(mut self, env: Vec<(OsString, OsString)>) -> Self {
        self.env.extend(env);
        // They may contain configuration.
        self.caches = Caches::default();
        self
    }

    /// True if there is no working tree, and only history can be read.
    pub fn is_bare(&self) -> bool {
        self.bare
    }

    /// The working tree, as an absolute path; for a bare repository, its git directory.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The git directory of this working tree, absolute (in a linked one, not the shared one).
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The git directory that all working trees share, absolute.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The state directory, for files that are never committed: `cowork` in the shared git
    /// directory.
    pub fn state_dir(&self) -> PathBuf {
        self.common_dir.join("cowork")
    }

    /// The metadata of a path of the working tree, without following a link.
    pub(crate) fn lies_at(&self, path: &str) -> Option<std::fs::Metadata> {
        self.top.join(Path::new(path)).symlink_metadata().ok()
    }
}

/// True if git can record such a file. A FIFO, socket or device does not exist for git.
pub(crate) fn is_recorded(meta: &std::fs::Metadata) -> bool {
    meta.is_file() || meta.is_symlink()
}
