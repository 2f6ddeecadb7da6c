//! The last commit with a readable version of an artifact, from which a broken one is restored.

use crate::artifact::{Artifact, unreadable};
use crate::git::{Git, Object, Oid};
use crate::shell_quote::quoted;

/// The newest ancestor of `tip` that changed the artifact at `path` and left it readable. Commits
/// on the branch itself come first, then commits merged into it.
///
/// # Errors
/// Git cannot be read.
pub fn last_good(
    git: &Git,
    tip: &Oid,
    artifact: Artifact,
    path: &str,
) -> anyhow::Result<Option<Oid>> {
    let reader = git.reader();
    for which in ["--first-parent", "--full-history"] {
        let list = git.read(["rev-list", "--topo-order", which, tip.as_str(), "--", path]);
        for line in list.checked()?.text().lines() {
            let commit: Oid = line.parse()?;
            let bytes = reader.blob(Object::At(&commit, path))?;
            if bytes.is_some_and(|bytes| unreadable(artifact, &bytes).is_none()) {
                return Ok(Some(commit));
            }
        }
    }
    Ok(None)
}

/// Quotes a path relative to the top of the working tree, so that it works in any subdirectory.
pub fn from_top(path: &str) -> String {
    quoted(&format!(":/{path}"))
}
