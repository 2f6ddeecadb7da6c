//! A linked working tree that somebody else's program works in, such as an agent program: what it has
//! changed there, and how that gets into the session's own tree, as a tool's write does.
//!
//! Git is never asked what such a program has changed, since it would follow what lies there: that is
//! found by what the kernel says of each file.

mod changed;
mod folders;
mod take_over;

use std::path::Path;

pub use changed::{LinkedChange, NowThere, ShownFiles};
pub use folders::{LeftOut, open_overlay_work};

use crate::secret::Secrets;
use crate::workspace::effects::Bulk;
use crate::workspace::refusal::Refusal;
use crate::workspace::sandbox::Overlay;
use crate::workspace::working_tree::WorkingTree;

/// A tree, as one of two that are linked: the session's own, or the one a program works in.
pub struct LinkedFiles<'a> {
    tree: &'a WorkingTree,
    secrets: &'a Secrets,
}

impl<'a> LinkedFiles<'a> {
    /// Those of a tree.
    pub(crate) fn of(tree: &'a WorkingTree, secrets: &'a Secrets) -> Self {
        Self { tree, secrets }
    }

    /// The files at these paths as they are now, for [`Self::changes`].
    pub fn shown(&self, paths: impl IntoIterator<Item = String>) -> ShownFiles {
        ShownFiles::now(self.tree, paths)
    }

    /// What is not as it was shown, sorted by path; first what is gone.
    pub fn changes(&self, shown: &ShownFiles) -> Vec<LinkedChange> {
        shown.changes(self.tree)
    }

    /// Puts a text there, as the program does that works in the tree.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put(&self, path: &str, text: &str) -> std::io::Result<()> {
        self.tree.put(path, text.as_bytes(), self.tree.look(path).is_ok())
    }

    /// Removes what was not shown and is not ignored.
    pub fn remove_new(&self, shown: &ShownFiles) {
        shown.remove_new(self.tree);
    }

    /// The folders of dependencies and of what was built, of those that git `ignored`.
    pub fn for_builds(&self, ignored: &[String]) -> Vec<String> {
        folders::for_builds(self.tree, ignored)
    }

    /// How the kernel shows these folders in the tree `into`; the changes go below `notes`.
    ///
    /// # Errors
    /// A folder cannot be made.
    pub fn overlays(
        &self,
        into: &Path,
        notes: &Path,
        folders: &[String],
    ) -> std::io::Result<Vec<Overlay>> {
        folders::overlays(self.tree, into, notes, folders)
    }

    /// Copies these folders to the tree `into`. Answers with those that were left out.
    pub fn copy_folders(&self, into: &Path, folders: &[String]) -> Vec<LeftOut> {
        folders::copy_folders(self.tree, into, folders)
    }

    /// Makes one path as it is in the other tree. False where it is so already.
    ///
    /// # Errors
    /// What a tool would be refused.
    pub fn take_over(&self, path: &str, is_new: bool, now: &NowThere) -> Result<bool, Refusal> {
        take_over::take_over(self.tree, self.secrets, (path, is_new), now)
    }

    /// Takes out what is too much below one folder that this tree does not have.
    pub fn without_bulk(&self, changes: Vec<LinkedChange>) -> (Vec<LinkedChange>, Vec<Bulk>) {
        take_over::without_bulk(self.tree, changes)
    }
}
