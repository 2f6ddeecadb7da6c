//! What was fetched for the projects of a repository.

use std::path::{Path, PathBuf};

/// Where what was fetched lies: read by commands, written by no command but the one that fetches.
pub(crate) struct Fetched<'a>(pub(super) &'a Path);

impl Fetched<'_> {
    /// Whether all that the files with this hash name was fetched.
    pub(crate) fn is_done(&self, hash: &str) -> bool {
        self.0.join("done").join(hash).exists()
    }

    /// Notes that it was.
    pub(crate) fn set_done(&self, hash: &str) -> anyhow::Result<()> {
        Ok(std::fs::write(self.0.join("done").join(hash), "")?)
    }

    /// Makes its folders.
    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        for name in ["done", "python", "cargo", "cache"] {
            std::fs::create_dir_all(self.0.join(name))?;
        }
        Ok(())
    }

    /// The packages of Python that requirement files with this hash name.
    pub(crate) fn python(&self, hash: &str) -> PathBuf {
        self.0.join("python").join(&hash[..16])
    }
}
