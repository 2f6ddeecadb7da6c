//! Notes of the workspace in its state directory, replaced whole or not at all.

use std::path::Path;

use anyhow::Context as _;

/// Writes beside the file and renames over it, so that whoever is killed in between leaves the old
/// note. Not synced: a note outlives our process, not a power cut.
pub(crate) fn replace(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let writing = || format!("writing {}", file.display());
    let new = file.with_extension("json.new");
    std::fs::write(&new, bytes).with_context(writing)?;
    std::fs::rename(&new, file).with_context(writing)
}
