//! Paths with a person's uncommitted work.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::instructions::instructs_agents;

/// The paths that tools must not write.
#[derive(Default)]
pub struct Protection {
    protected: RefCell<BTreeSet<String>>,
    ignored: RefCell<BTreeSet<String>>,
    allowed: RefCell<BTreeSet<String>>,
    planned: RefCell<BTreeSet<String>>,
    refused: RefCell<BTreeSet<String>>,
}

impl Protection {
    /// Refuses writes to these paths (relative to the root) from now on: they contain a person's
    /// uncommitted work. An entry that ends with a slash covers the files in that directory.
    pub fn protect(&self, paths: impl IntoIterator<Item = String>) {
        self.protected.borrow_mut().extend(paths);
    }

    /// Like [`Self::protect`], for what git ignores: no commit could restore it, whoever made it.
    pub fn protect_ignored(&self, paths: impl IntoIterator<Item = String>) {
        self.ignored.borrow_mut().extend(paths);
    }

    /// The paths with a person's uncommitted work that `is_wanted` accepts.
    pub(crate) fn uncommitted(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let protected = self.protected.borrow();
        protected.iter().filter(|path| is_wanted(path)).cloned().collect()
    }

    /// Lets tools write a path again, because a person allowed it.
    pub fn allow(&self, path: &str) {
        self.protected.borrow_mut().remove(path);
        self.ignored.borrow_mut().remove(path);
        self.allowed.borrow_mut().insert(path.to_owned());
    }

    /// Lets tools write the files in `paths` that instruct agents, because an approved plan names
    /// them; other files that instruct agents stay protected.
    pub fn plan(&self, paths: impl IntoIterator<Item = String>) {
        *self.planned.borrow_mut() =
            paths.into_iter().filter(|path| instructs_agents(path)).collect();
    }

    /// Returns the paths that tools were refused since the last call, because they contain a
    /// person's work.
    pub fn take_refused(&self) -> Vec<String> {
        std::mem::take(&mut *self.refused.borrow_mut()).into_iter().collect()
    }

    /// Records that a tool was refused a write to `path`.
    pub(crate) fn note_refused(&self, path: &str) {
        self.refused.borrow_mut().insert(path.to_owned());
    }

    /// True if a person, or a plan that a person approved, allows tools to write a path.
    pub(crate) fn is_allowed(&self, path: &str) -> bool {
        self.allowed.borrow().contains(path) || self.planned.borrow().contains(path)
    }

    /// True if the path itself is protected.
    pub(crate) fn names(&self, path: &str) -> bool {
        self.protected.borrow().contains(path) || self.ignored.borrow().contains(path)
    }

    /// True if a folder that contains the path is protected.
    pub(crate) fn names_folder_of(&self, path: &str) -> bool {
        let (protected, ignored) = (self.protected.borrow(), self.ignored.borrow());
        let mut folders = path.match_indices('/').map(|(at, _)| &path[..=at]);
        folders.any(|folder| protected.contains(folder) || ignored.contains(folder))
    }
}
