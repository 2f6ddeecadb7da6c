//! A user's answers, stored in the repository's state directory, so that nobody is asked twice.

use crate::replace_file::replace_file;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A set of answers in a file.
#[derive(Debug)]
pub(crate) struct Remembered(PathBuf);

impl Remembered {
    /// The answers in this file of the state directory.
    pub(crate) fn in_file(state: &Path, file: &str) -> Self {
        Self(state.join(file))
    }

    /// All answers; empty if they cannot be read, so that the user is asked again.
    pub(crate) fn all(&self) -> BTreeSet<String> {
        let read = std::fs::read(&self.0);
        read.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Adds answers. If they cannot be written, the user is asked again.
    pub(crate) fn add(&self, answers: &[String]) {
        if let Err(error) = self.write(answers) {
            tracing::warn!("{} was not written: {error:#}", self.0.display());
        }
    }

    fn write(&self, answers: &[String]) -> anyhow::Result<()> {
        let mut all = self.all();
        all.extend(answers.iter().cloned());
        let folder = self.0.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        Ok(replace_file(&self.0, &serde_json::to_vec(&all)?)?)
    }
}
