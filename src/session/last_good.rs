//! The last commit that holds an artifact as it can be read: what a broken one is restored from.

use crate::artifact::{Artifact, unreadable};
use crate::git::{Git, Object, Oid};
use crate::shell_quote::quoted;

/// The newest commit below `tip` that left readable bytes of an artifact at `path`. What the branch
/// itself went through comes first, then what was merged into it.
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

/// A path from the top of the working tree, for a command that may be pasted in any folder of it.
pub fn from_top(path: &str) -> String {
    quoted(&format!(":/{path}"))
}
