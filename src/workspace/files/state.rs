//! The state of a path before a command, with a copy from which it can be restored.

use std::io::{ErrorKind, Write as _};

use anyhow::Context as _;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::OpenOptions;

use crate::moment;
use crate::path_text::encoded;
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
        Was::Folder { mode } => return set_folder_mode(tree, path, *mode),
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
        Was::Nothing | Was::Folder { .. } => {}
        Was::File { copy, mode } => {
            tree.put_as(path, &content, *mode)?;
            tree.take_attributes(path, copy);
        }
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

/// Gives the owner all rights to the folders above a path: in one of mode 500 nothing can be put back.
pub(crate) fn open_folders(tree: &WorkingTree, path: &str) -> anyhow::Result<()> {
    for (at, _) in path.match_indices('/') {
        let folder = &path[..at];
        let Ok(metadata) = tree.look(folder) else { continue };
        if metadata.is_dir() {
            set_folder_mode(tree, folder, mode_of(&metadata) | 0o700)?;
        }
    }
    Ok(())
}

/// Restores the content of a file that is still the same one and has other names, which may lie outside
/// of the tree: a new file in its place would leave them changed.
pub(crate) fn put_back_in_place(tree: &WorkingTree, path: &str, was: &Was) -> anyhow::Result<()> {
    let Was::File { copy, mode } = was else { return put_back(tree, path, was) };
    let content = std::fs::read(copy)?;
    let (dir, name) = tree.place(path)?;
    let mut options = OpenOptions::new();
    let mut file = dir.open_with(name, options.write(true).follow(FollowSymlinks::No))?;
    file.set_len(0)?;
    file.write_all(&content)?;
    set_mode(&file, *mode)?;
    moment::end();
    Ok(())
}

/// Gives a file this mode.
pub(crate) fn set_file_mode(tree: &WorkingTree, path: &str, mode: u32) -> anyhow::Result<()> {
    Ok(set_mode(&tree.open_regular(path)?, mode)?)
}

#[cfg(unix)]
fn set_mode(file: &cap_std::fs::File, mode: u32) -> std::io::Result<()> {
    use cap_std::fs::PermissionsExt as _;
    file.set_permissions(cap_std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &cap_std::fs::File, _: u32) -> std::io::Result<()> {
    Ok(())
}

/// Gives a folder this mode again; `.` is the top. Does nothing if there is no such folder.
fn set_folder_mode(tree: &WorkingTree, path: &str, mode: u32) -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use std::fs::Permissions;
        use std::os::unix::fs::PermissionsExt as _;
        // Whoever may not enter the top can still change its mode by its path.
        let is_other = match path {
            "." => std::fs::metadata(&tree.root)?.permissions().mode() & 0o7777 != mode,
            _ => tree.look(path).is_ok_and(|now| now.is_dir() && mode_of(&now) != mode),
        };
        if is_other {
            std::fs::set_permissions(tree.root.join(encoded(path)), Permissions::from_mode(mode))?;
        }
    }
    #[cfg(not(unix))]
    let _ = (tree, path, mode);
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
