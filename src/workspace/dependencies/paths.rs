//! Helpers for paths in commands.

use std::path::Path;

use crate::shell_quote::quoted;

/// Returns the last component of a path.
pub(super) fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Returns a path as one word of `sh`.
pub(super) fn word(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}
