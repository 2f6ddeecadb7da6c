//! Creates a repository, for the demo.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::git::Git;
use crate::git::format::Format;
use crate::git::locate::Located;
use crate::git::state;

impl Git {
    /// Creates a repository at `path` (created if missing) with the branch `main`, in which commits
    /// can be made whatever the user has configured.
    ///
    /// # Errors
    /// Git fails, or the folder cannot be created.
    pub fn init(path: &Path) -> Result<Self> {
        std::fs::create_dir_all(path).with_context(|| format!("creating {}", path.display()))?;
        let top = path.canonicalize().with_context(|| format!("finding {}", path.display()))?;
        let git_dir = top.join(".git");
        let future = Self::new(Located {
            common_dir: git_dir.clone(),
            git_dir,
            top,
            format: Format::default(),
        });
        future.write(["init", "--quiet", "--initial-branch=main"]).checked()?;
        let git = future.at(path)?;
        for (key, value) in [("commit.gpgSign", "false"), ("core.hooksPath", "/dev/null")] {
            configure(&git, key, value)?;
        }
        if state::require_identity(&git).is_err() {
            configure(&git, "user.name", "Demo User")?;
            configure(&git, "user.email", "demo@git-cowork.invalid")?;
        }
        Ok(git)
    }
}

/// Sets a value of the repository's own configuration.
///
/// # Errors
/// Git fails.
pub fn configure(git: &Git, key: &str, value: &str) -> Result<()> {
    git.write(["config", key, value]).checked().map(drop)
}
