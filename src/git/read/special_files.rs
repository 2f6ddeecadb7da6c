//! FIFOs, sockets and devices in place of tracked files. `git status` lists them as deleted; `git
//! commit --only` refuses them, so such a commit is made from a separate index.

use std::path::Path;

use anyhow::Result;

use crate::git::Git;
use crate::git::repository::is_recorded;

/// The paths at which there is such a file.
pub(crate) fn at(git: &Git, paths: &[String]) -> Vec<String> {
    let special = |path: &&String| {
        git.lies_at(path).is_some_and(|meta| !is_recorded(&meta) && !meta.is_dir())
    };
    paths.iter().filter(special).cloned().collect()
}

/// Writes an index with the content of HEAD, and with these paths as they are in the working tree;
/// `special` ones are removed.
///
/// # Errors
/// Git fails.
pub(crate) fn index(git: &Git, file: &Path, paths: &[String], special: &[String]) -> Result<()> {
    let in_own_index = |args: &[&str]| git.write(args).env("GIT_INDEX_FILE", file);
    in_own_index(&["read-tree", "HEAD"]).checked()?;
    in_own_index(&["update-index", "--force-remove", "-z", "--stdin"])
        .stdin_nul(special)
        .checked()?;
    let rest: Vec<&String> = paths.iter().filter(|path| !special.contains(path)).collect();
    in_own_index(&["update-index", "--add", "--remove", "-z", "--stdin"])
        .stdin_nul(&rest)
        .checked()?;
    Ok(())
}
