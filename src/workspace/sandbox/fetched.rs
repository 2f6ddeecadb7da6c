//! Dependencies fetched for the projects of a repository.

use std::path::{Path, PathBuf};

/// Directory of the fetched dependencies: commands read it, only the fetch command writes it.
pub(crate) struct Fetched<'a>(pub(super) &'a Path);

impl Fetched<'_> {
    /// True if all dependencies named by the files with this hash were fetched.
    pub(crate) fn is_done(&self, hash: &str) -> bool {
        self.0.join("done").join(hash).exists()
    }

    /// Records that all dependencies named by the files with this hash were fetched.
    pub(crate) fn set_done(&self, hash: &str) -> anyhow::Result<()> {
        Ok(std::fs::write(self.0.join("done").join(hash), "")?)
    }

    /// Creates the subdirectories.
    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        for name in ["done", "python", "cargo", "cache"] {
            std::fs::create_dir_all(self.0.join(name))?;
        }
        Ok(())
    }

    /// Directory of the Python packages for the requirement files with this hash.
    pub(crate) fn python(&self, hash: &str) -> PathBuf {
        self.0.join("python").join(&hash[..16])
    }
}
