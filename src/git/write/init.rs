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
            git.write(["config", key, value]).checked()?;
        }
        if state::require_identity(&git).is_err() {
            git.write(["config", "user.name", "Demo User"]).checked()?;
            git.write(["config", "user.email", "demo@git-cowork.invalid"]).checked()?;
        }
        Ok(git)
    }
}
