//! Modes of files that a command made or changed and that git does not record.

#[cfg(unix)]
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[cfg(unix)]
use cap_std::fs::{MetadataExt as _, Permissions, PermissionsExt as _};

use crate::workspace::working_tree::WorkingTree;
#[cfg(unix)]
use crate::{
    path_text::decoded,
    workspace::{
        effects::{repositories::ctime, user_files},
        user_files::UserFileChangeKind,
    },
};

/// The setuid and the setgid bit.
#[cfg(unix)]
const SET_ID: u32 = 0o6000;

/// Makes a file readable that a command made unreadable (`chmod 000`): git does not record that
/// mode, and the commit would fail. Another user's file is left unchanged. Never touches files
/// outside the tree: a command may have replaced a parent folder by a link.
#[cfg(unix)]
pub(super) fn make_readable(tree: &WorkingTree, path: &str) {
    let Ok(meta) = tree.dir.symlink_metadata(path) else { return };
    let mode = meta.permissions().mode();
    if meta.is_file() && mode & 0o400 == 0 {
        let readable = Permissions::from_mode(mode | 0o600);
        if let Err(error) = tree.dir.set_permissions(path, readable) {
            tracing::debug!("{path} stays unreadable: {error}");
        }
    }
}

#[cfg(not(unix))]
pub(super) fn make_readable(_tree: &WorkingTree, _path: &str) {}

/// Takes the setuid and setgid bits from regular files that changed since a command started (at
/// `begun`), if `is_effect` accepts them; older ones are a person's. Such a program runs as its owner
/// or group, whoever starts it, and git shows no such change. Folders keep them: new files there get
/// their group.
#[cfg(unix)]
pub(super) fn take_set_id(
    tree: &WorkingTree,
    begun: SystemTime,
    is_effect: &dyn Fn(&str) -> bool,
) -> anyhow::Result<()> {
    for path in with_set_id(tree, begun) {
        let text = decoded(path.as_os_str().as_encoded_bytes());
        if !is_effect(&text) {
            continue;
        }
        let taken = tree.dir.symlink_metadata(&path).and_then(|metadata| {
            let mode = metadata.mode() & 0o7777 & !SET_ID;
            tree.dir.set_permissions(&path, Permissions::from_mode(mode))
        });
        let kind = match taken {
            Ok(()) => UserFileChangeKind::SetIdTaken,
            Err(error) => {
                tracing::warn!("cannot change the mode of {text}: {error}");
                UserFileChangeKind::SetIdLeft
            }
        };
        user_files::note(tree, text, kind)?;
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn take_set_id(
    _tree: &WorkingTree,
    _begun: SystemTime,
    _is_effect: &dyn Fn(&str) -> bool,
) -> anyhow::Result<()> {
    Ok(())
}

/// The regular files with one of the bits that changed, relative to the root. Folders that git ignores
/// are left out: they may have many more files than the project, and a confined command cannot set the
/// setuid bit at all.
#[cfg(unix)]
fn with_set_id(tree: &WorkingTree, begun: SystemTime) -> Vec<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let mut found = Vec::new();
    let mut folders = vec![tree.root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                let is_git = folder == tree.root && entry.file_name() == ".git";
                if !is_git && !is_ignored(tree, &entry.path()) {
                    folders.push(entry.path());
                }
            } else if kind.is_file()
                && let Ok(metadata) = entry.metadata()
                && metadata.mode() & SET_ID != 0
                && ctime(&metadata) >= Some(begun)
            {
                found.extend(entry.path().strip_prefix(&tree.root).map(Path::to_owned));
            }
        }
    }
    found.sort();
    found
}

#[cfg(unix)]
fn is_ignored(tree: &WorkingTree, folder: &Path) -> bool {
    let inside = folder.strip_prefix(&tree.root).unwrap_or(folder);
    tree.protection.names(&format!("{}/", decoded(inside.as_os_str().as_encoded_bytes())))
}
