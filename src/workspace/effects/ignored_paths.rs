//! What git ignored before a command.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// What git ignores: files, and folders with a slash at the end.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct IgnoredPaths(BTreeSet<String>);

impl IgnoredPaths {
    pub(super) fn of(paths: Vec<String>) -> Self {
        Self(paths.into_iter().collect())
    }

    pub(super) fn add(&mut self, paths: Vec<String>) {
        self.0.extend(paths);
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &String> {
        self.0.iter()
    }

    /// True if git ignores a path, or a folder above it.
    pub(super) fn have(&self, path: &str) -> bool {
        let mut folders = path.match_indices('/').map(|(at, _)| &path[..=at]);
        self.0.contains(path) || folders.any(|folder| self.0.contains(folder))
    }
}
