//! The state of a path before a command, with a copy from which it can be restored.

use std::io::ErrorKind;

use anyhow::Context as _;

use crate::workspace::user_files::Was;
use crate::workspace::working_tree::WorkingTree;

/// Returns the state of a path; `None` for a directory and anything else that cannot be restored.
pub(crate) fn of(tree: &WorkingTree, path: &str) -> anyhow::Result<Option<Was>> {
    let reading = || format!("reading {path}");
    let metadata = match tree.look(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(Was::Nothing)),
        // A parent of the path is not a directory, or no longer one.
        Err(_) => return Ok(None),
    };
    if metadata.is_symlink() {
        return Ok(Some(Was::Link(tree.link_target(path).with_context(reading)?)));
    }
    if !metadata.is_file() {
        return Ok(None);
    }
    let Some(now) = tree.fingerprint(path).with_context(reading)? else {
        return Ok(Some(Was::Nothing));
    };
    let copy = tree.copy_of(path, &now);
    if !copy.exists() {
        tree.copy_out(path, &copy).with_context(|| format!("copying {path}"))?;
    }
    Ok(Some(Was::File { copy, mode: mode_of(&metadata) }))
}

/// Restores a path, whatever is there now.
pub(crate) fn put_back(tree: &WorkingTree, path: &str, was: &Was) -> anyhow::Result<()> {
    // Before anything is removed: the copy may be gone.
    let content = match was {
        Was::File { copy, .. } => std::fs::read(copy)?,
        Was::Nothing | Was::Link(_) => Vec::new(),
    };
    // A parent directory may have become a link, or may be gone.
    for (at, _) in path.match_indices('/') {
        let folder = &path[..at];
        if tree.look(folder).is_ok_and(|metadata| !metadata.is_dir()) {
            tree.unlink(folder)?;
        }
    }
    match tree.look(path) {
        Ok(metadata) if metadata.is_dir() => {
            let (dir, name) = tree.place(path)?;
            // Created by the command: the original was not a directory.
            dir.remove_dir_all(name)?;
        }
        Ok(_) => tree.unlink(path)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    match was {
        Was::Nothing => {}
        Was::File { mode, .. } => tree.put_as(path, &content, *mode)?,
        Was::Link(target) => {
            let (dir, name) = tree.make_place(path)?;
            #[cfg(unix)]
            dir.symlink_contents(target, name)?;
            #[cfg(not(unix))]
            anyhow::bail!("cannot restore {name}, a link to {}, in {dir:?}", target.display());
        }
    }
    Ok(())
}

/// The permissions of a file.
#[cfg(unix)]
pub(crate) fn mode_of(metadata: &cap_std::fs::Metadata) -> u32 {
    use cap_std::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o777
}

/// The permissions of a file; not known here.
#[cfg(not(unix))]
pub(crate) fn mode_of(_: &cap_std::fs::Metadata) -> u32 {
    0o644
}
