//! FIFOs, sockets and devices in place of tracked files. To `git status` they are deletions; `git commit
//! --only` refuses them, so that such a commit is made from an index of its own.

use std::path::Path;

use anyhow::Result;

use super::{Git, state};

/// Those of the paths where such a file lies.
pub(super) fn at(git: &Git, paths: &[String]) -> Vec<String> {
    let special = |path: &&String| {
        state::lies_at(git, path).is_some_and(|meta| !state::is_recorded(&meta) && !meta.is_dir())
    };
    paths.iter().filter(special).cloned().collect()
}

/// Writes an index that has what HEAD has, and these paths as they are in the working tree: `special`
/// ones are gone.
///
/// # Errors
/// Git fails.
pub(super) fn index(git: &Git, file: &Path, paths: &[String], special: &[String]) -> Result<()> {
    let own = |args: &[&str]| git.write(args).env("GIT_INDEX_FILE", file);
    own(&["read-tree", "HEAD"]).checked()?;
    own(&["update-index", "--force-remove", "-z", "--stdin"]).stdin_nul(special).checked()?;
    let rest: Vec<&String> = paths.iter().filter(|path| !special.contains(path)).collect();
    own(&["update-index", "--add", "--remove", "-z", "--stdin"]).stdin_nul(&rest).checked()?;
    Ok(())
}
