//! Keeps manifests and lock files unchanged while a package manager checks and fetches: only the
//! session or a person may change them, in a commit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::need::Need;
use crate::workspace::atomic_file;
use crate::workspace::working_tree::WorkingTree;

/// File in the state directory that records the project's files: the next process reads it if this
/// one is killed.
const FILE: &str = "lock-files.json";
/// Folder in the state directory for copies of changed files that the next process replaced when it
/// restored the recorded ones.
const REPLACED: &str = "replaced";

/// The files of a project, restored on drop.
pub(crate) struct LockFiles<'a> {
    tree: &'a WorkingTree,
    /// `None` for a file the project did not have.
    files: BTreeMap<PathBuf, Option<String>>,
}

impl<'a> LockFiles<'a> {
    /// Saves the files of one project.
    pub(super) fn of(tree: &'a WorkingTree, need: &Need) -> anyhow::Result<Self> {
        let names = [need.manager.locks, need.manager.manifests].concat();
        let mut files = BTreeMap::new();
        for name in names {
            let path = need.place.join(name);
            let whole = tree.root.join(&path);
            match whole.symlink_metadata() {
                // A file that is not text is not a lock file.
                Ok(found) if found.is_file() => {
                    if let Ok(text) = std::fs::read_to_string(&whole) {
                        files.insert(path, Some(text));
                    }
                }
                Ok(_) => {}
                Err(_) => {
                    files.insert(path, None);
                }
            }
        }
        atomic_file::replace(&tree.state_dir.join(FILE), &serde_json::to_vec(&files)?)?;
        Ok(Self { tree, files })
    }
}

impl Drop for LockFiles<'_> {
    fn drop(&mut self) {
        put_back_files(self.tree, &self.files);
    }
}

/// Restores the files after a run was killed while fetching.
pub(crate) fn put_back_lock_files(tree: &WorkingTree) {
    let note = std::fs::read(tree.state_dir.join(FILE)).ok();
    if let Some(files) = note.and_then(|note| serde_json::from_slice(&note).ok()) {
        keep_lock_files(tree, &files);
        put_back_files(tree, &files);
    }
}

/// Copies files that differ from the record: the change may be the killed manager's, or a later one
/// by a person.
fn keep_lock_files(tree: &WorkingTree, files: &BTreeMap<PathBuf, Option<String>>) {
    for (path, text) in files {
        let Ok(now) = std::fs::read(tree.root.join(path)) else { continue };
        if text.as_ref().is_some_and(|text| text.as_bytes() == now) {
            continue;
        }
        let copy = tree.state_dir.join(REPLACED).join(path);
        let kept = copy.parent().map_or(Ok(()), std::fs::create_dir_all);
        match kept.and_then(|()| std::fs::write(&copy, now)) {
            Ok(()) => tracing::warn!(
                "{} was restored because a fetch was killed; its last content is in {}",
                path.display(),
                copy.display()
            ),
            Err(error) => {
                let text = format!("copying {}: {error}", path.display());
                tree.io_errors.note(text, &error.into());
            }
        }
    }
}

fn put_back_files(tree: &WorkingTree, files: &BTreeMap<PathBuf, Option<String>>) {
    for (path, text) in files {
        if let Err(error) = put_back(&tree.root, path, text.as_deref()) {
            let text = format!("restoring {}: {error}", path.display());
            tree.io_errors.note(text, &error.into());
        }
    }
    crate::moment::end();
    let _ = std::fs::remove_file(tree.state_dir.join(FILE));
}

/// Restores a file's text, or removes the file. Never follows a link, neither the file itself nor
/// one that a command put in place of a folder.
fn put_back(root: &Path, path: &Path, text: Option<&str>) -> std::io::Result<()> {
    for folder in path.ancestors().skip(1) {
        let found = root.join(folder).symlink_metadata()?;
        if !found.is_dir() {
            return Err(std::io::Error::other(format!("{} is not a folder", folder.display())));
        }
    }
    let file = &root.join(path);
    let found = file.symlink_metadata().ok();
    let Some(text) = text else {
        return match found {
            Some(found) if found.is_file() || found.is_symlink() => std::fs::remove_file(file),
            _ => Ok(()),
        };
    };
    let regular = found.filter(std::fs::Metadata::is_file);
    if regular.is_some() && std::fs::read_to_string(file).is_ok_and(|now| now == text) {
        return Ok(());
    }
    let folder = file.parent().unwrap_or(Path::new("."));
    let temporary = tempfile::NamedTempFile::new_in(folder)?;
    std::fs::write(temporary.path(), text)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = regular.map_or(0o644, |found| found.permissions().mode());
        temporary.as_file().set_permissions(std::fs::Permissions::from_mode(mode))?;
    }
    temporary.persist(file).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::projects::{look, needs};
    use super::*;
    use crate::workspace::testing::Tree;

    const MANIFEST: &str = "[dependencies]\nserde = \"1\"\n";

    fn need(tree: &Tree) -> Need {
        needs(tree.root(), &look(tree.root())).remove(0)
    }

    #[test]
    fn changes_of_a_manager_are_reverted() {
        let tree = Tree::new();
        tree.put("Cargo.toml", MANIFEST);
        let kept = LockFiles::of(&tree.workspace.tree, &need(&tree)).unwrap();
        tree.put("Cargo.toml", "");
        tree.put("Cargo.lock", "new");
        drop(kept);
        assert_eq!(tree.get("Cargo.toml"), MANIFEST);
        assert!(!tree.root().join("Cargo.lock").exists());

        tree.put("Cargo.lock", "old");
        let kept = LockFiles::of(&tree.workspace.tree, &need(&tree)).unwrap();
        std::fs::remove_file(tree.root().join("Cargo.lock")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("Cargo.toml", tree.root().join("Cargo.lock")).unwrap();
        drop(kept);
        assert_eq!(
            (tree.get("Cargo.lock"), tree.get("Cargo.toml")),
            ("old".into(), MANIFEST.into())
        );
    }

    #[cfg(unix)]
    #[test]
    fn files_are_not_restored_through_a_folder_that_became_a_link() {
        let (tree, elsewhere) = (Tree::new(), tempfile::tempdir().unwrap());
        tree.put("sub/Cargo.toml", MANIFEST);
        let kept = LockFiles::of(&tree.workspace.tree, &need(&tree)).unwrap();
        std::fs::rename(tree.root().join("sub"), tree.root().join("moved")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), tree.root().join("sub")).unwrap();
        std::fs::write(elsewhere.path().join("Cargo.lock"), "theirs").unwrap();
        drop(kept);
        let names = std::fs::read_dir(elsewhere.path()).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["Cargo.lock"]);
    }

    #[test]
    fn the_next_process_restores_the_files_of_a_killed_one() {
        let tree = Tree::new();
        tree.put("Cargo.toml", MANIFEST);
        tree.put("Cargo.lock", "old");
        std::mem::forget(LockFiles::of(&tree.workspace.tree, &need(&tree)).unwrap());
        tree.put("Cargo.lock", "new");
        tree.reopened();
        assert_eq!(tree.get("Cargo.lock"), "old");
        let copy = tree.workspace.tree.state_dir.join(REPLACED).join("Cargo.lock");
        assert_eq!(std::fs::read_to_string(copy).unwrap(), "new");
        tree.put("Cargo.lock", "mine");
        tree.reopened();
        assert_eq!(tree.get("Cargo.lock"), "mine");
    }
}
