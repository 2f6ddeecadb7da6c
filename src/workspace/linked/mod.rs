//! A linked working tree for an external program, such as an agent program: detects the program's
//! changes, and copies them to the session's own tree with the checks of a tool's write.
//!
//! Git is not used to detect the changes, because it would follow configuration that the program
//! may have written: changes are detected from file metadata.

mod changed;
pub(crate) mod check_folder;
mod folders;
mod take_over;

use std::path::Path;

pub use changed::{LinkedChange, NowThere, ShownFiles};
pub use folders::{LeftOut, open_folders};

use crate::secret::Secrets;
use crate::workspace::refusal::Refusal;
use crate::workspace::sandbox::Overlay;
use crate::workspace::working_tree::WorkingTree;

/// One of two linked trees: the session's own, or the one a program works in.
pub struct LinkedFiles<'a> {
    tree: &'a WorkingTree,
    secrets: &'a Secrets,
}

impl<'a> LinkedFiles<'a> {
    /// The file operations of a tree.
    pub(crate) fn of(tree: &'a WorkingTree, secrets: &'a Secrets) -> Self {
        Self { tree, secrets }
    }

    /// Records the current state of these paths, for [`Self::changes`].
    pub fn shown(&self, paths: impl IntoIterator<Item = String>) -> ShownFiles {
        ShownFiles::now(self.tree, paths)
    }

    /// Returns the changes since `shown` was recorded: deletions first, then sorted by path. Too many
    /// new files in a folder are one change, which cannot be copied.
    pub fn changes(&self, shown: &ShownFiles) -> Vec<LinkedChange> {
        shown.changes(self.tree)
    }

    /// Writes a file, as if by the program that works in the tree.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn put(&self, path: &str, text: &str) -> std::io::Result<()> {
        self.tree.put(path, text.as_bytes(), self.tree.look(path).is_ok())
    }

    /// Removes files that are not in `shown` and not ignored.
    pub fn remove_new(&self, shown: &ShownFiles) {
        shown.remove_new(self.tree);
    }

    /// Returns the folders of dependencies and build output among the `ignored` paths.
    pub fn for_builds(&self, ignored: &[String]) -> Vec<String> {
        folders::for_builds(self.tree, ignored)
    }

    /// Returns the overlays that show these folders in the tree `into`; changes are stored below
    /// `notes`.
    ///
    /// # Errors
    /// If a folder cannot be created.
    pub fn overlays(
        &self,
        into: &Path,
        notes: &Path,
        folders: &[String],
    ) -> std::io::Result<Vec<Overlay>> {
        folders::overlays(self.tree, into, notes, folders)
    }

    /// Copies these folders to the tree `into`. Returns the omitted ones.
    pub fn copy_folders(&self, into: &Path, folders: &[String]) -> Vec<LeftOut> {
        folders::copy_folders(self.tree, into, folders)
    }

    /// Changes one path to its state in the other tree. False if it is unchanged.
    ///
    /// # Errors
    /// If a model's tool would not be allowed to make the same change.
    pub fn take_over(&self, path: &str, is_new: bool, now: &NowThere) -> Result<bool, Refusal> {
        take_over::take_over(self.tree, self.secrets, (path, is_new), now)
    }
}
