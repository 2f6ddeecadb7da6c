//! Atomic replacement of the workspace's JSON files in the state directory.

use std::path::Path;

use anyhow::Context as _;

/// Writes a new file beside `file` and renames it over `file`, so that a process killed in between
/// leaves the old content. Not synced: the file survives a crash of git-cowork, not a power cut.
pub(crate) fn replace(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let writing = || format!("writing {}", file.display());
    let new = file.with_extension("json.new");
    std::fs::write(&new, bytes).with_context(writing)?;
    std::fs::rename(&new, file).with_context(writing)
}
