//! The commands of a project (build, test, lint), and helpers to find them in its files.

use std::path::Path;

/// Files larger than this many bytes are not read.
const SIZE_MAX: u64 = 2 * 1024 * 1024;

/// The project's own commands, configured or detected; empty if there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectCommands {
    /// Runs the tests.
    pub test: String,
    /// Builds.
    pub build: String,
    /// Lints.
    pub lint: String,
}

impl ProjectCommands {
    pub(super) fn new(test: &str, build: &str, lint: &str) -> Self {
        Self { test: test.to_owned(), build: build.to_owned(), lint: lint.to_owned() }
    }
}

/// Returns the text of a project file, unless it is missing, too large, not a regular file or not
/// text.
pub(super) fn text(root: &Path, file: &str) -> Option<String> {
    let path = root.join(file);
    let metadata = std::fs::metadata(&path).ok()?;
    let readable = metadata.is_file() && metadata.len() < SIZE_MAX;
    readable.then(|| std::fs::read_to_string(path).ok()).flatten()
}

/// Returns the names of the entries directly in a directory of the project; none if the directory
/// does not exist.
pub(super) fn files_in(root: &Path, dir: &str) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(root.join(dir)).ok();
    entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok())
}
