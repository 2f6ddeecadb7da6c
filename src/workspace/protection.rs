//! Paths that hold a person's work which git does not have.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::instructions::instructs_agents;

/// Which paths tools do not write.
#[derive(Default)]
pub struct Protection {
    protected: RefCell<BTreeSet<String>>,
    allowed: RefCell<BTreeSet<String>>,
    planned: RefCell<BTreeSet<String>>,
    refused: RefCell<BTreeSet<String>>,
}

impl Protection {
    /// From now on refuses to write these paths (relative to the root): they hold a person's work
    /// that git does not have.
    /// An entry that ends with a slash stands for the files that are in that directory.
    pub fn protect(&self, paths: impl IntoIterator<Item = String>) {
        self.protected.borrow_mut().extend(paths);
    }

    /// Lets tools write a path after all, because a person said so.
    pub fn allow(&self, path: &str) {
        self.protected.borrow_mut().remove(path);
        self.allowed.borrow_mut().insert(path.to_owned());
    }

    /// Lets tools write these files that instruct agents, and no others of the kind: a plan that a person
    /// approved names them.
    pub fn plan(&self, paths: impl IntoIterator<Item = String>) {
        *self.planned.borrow_mut() =
            paths.into_iter().filter(|path| instructs_agents(path)).collect();
    }

    /// The paths tools wanted to write since this was last asked and were refused, because they
    /// hold a person's work.
    pub fn take_refused(&self) -> Vec<String> {
        std::mem::take(&mut *self.refused.borrow_mut()).into_iter().collect()
    }

    /// Notes that a tool wanted to write a path and was refused.
    pub(crate) fn note_refused(&self, path: &str) {
        self.refused.borrow_mut().insert(path.to_owned());
    }

    /// Whether a person said that tools may write a path, or approved a plan that says so.
    pub(crate) fn is_allowed(&self, path: &str) -> bool {
        self.allowed.borrow().contains(path) || self.planned.borrow().contains(path)
    }

    /// Whether a path is protected itself.
    pub(crate) fn names(&self, path: &str) -> bool {
        self.protected.borrow().contains(path)
    }

    /// Whether a folder is protected that a path is in.
    pub(crate) fn names_folder_of(&self, path: &str) -> bool {
        let protected = self.protected.borrow();
        path.match_indices('/').any(|(at, _)| protected.contains(&path[..=at]))
    }
}
