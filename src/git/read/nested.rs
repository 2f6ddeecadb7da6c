//! The status of another repository below the working tree: a submodule, a nested repository, or a
//! linked working tree.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use git2::{Repository, Status, StatusOptions};

use crate::git::bounded::prepare;
use crate::path_text::decoded;

/// What another repository below the working tree lists, relative to its own top.
#[derive(Debug, Default)]
pub struct NestedStatus {
    /// Paths that differ from its last commit, and untracked files, as [`crate::git::Git::status`] lists
    /// them.
    pub uncommitted: Vec<String>,
    /// What it ignores; a folder that is ignored as a whole has a slash at its end.
    pub ignored: Vec<String>,
}

/// The status of the repository in this folder. Nothing that the repository configures is run: git
/// itself would run its filters, and a command may have changed what is configured.
///
/// # Errors
/// libgit2 cannot read the repository, or its working tree is another folder.
pub fn status(folder: &Path) -> Result<NestedStatus> {
    prepare();
    let repository = Repository::open(folder)?;
    let top = repository.workdir().map(Path::canonicalize).transpose()?;
    ensure!(top == Some(folder.canonicalize()?), "its working tree is another folder");
    let mut options = StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true).exclude_submodules(true);
    options.include_ignored(true);
    let mut status = NestedStatus::default();
    let statuses = repository.statuses(Some(&mut options)).context("listing its changes")?;
    for entry in statuses.iter() {
        let path = decoded(entry.path_bytes());
        if entry.status().contains(Status::IGNORED) {
            status.ignored.push(path);
        } else if !path.ends_with('/') {
            status.uncommitted.push(path);
        }
    }
    Ok(status)
}
