//! Manifests and lock files stay as they were while a package manager looks and fetches: to write
//! them is the session's or a person's work, and comes with a commit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::{Workspace, whole};
use super::Need;

/// Their note in the state directory, for the process after one that was killed.
const FILE: &str = "lock-files.json";

/// The files of some projects as they were; put back when this is dropped.
pub(in super::super) struct LockFiles<'a> {
    workspace: &'a Workspace,
    /// What a project did not have is none.
    files: BTreeMap<PathBuf, Option<String>>,
}

impl<'a> LockFiles<'a> {
    /// Keeps what one project has.
    pub(super) fn of(workspace: &'a Workspace, need: &Need) -> anyhow::Result<Self> {
        let names = [need.manager.locks, need.manager.manifests].concat();
        let mut files = BTreeMap::new();
        for name in names {
            let path = need.place.join(name);
            let whole = workspace.root.join(&path);
            match whole.symlink_metadata() {
                // What is no text is no lock file that a manager would write.
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
        whole::replace(&workspace.state_dir.join(FILE), &serde_json::to_vec(&files)?)?;
        Ok(Self { workspace, files })
    }
}

impl Drop for LockFiles<'_> {
    fn drop(&mut self) {
        self.workspace.put_back_files(&self.files);
    }
}

impl Workspace {
    /// Puts back what a run that was killed while it fetched has left.
    pub(in super::super) fn put_back_lock_files(&self) {
        let note = std::fs::read(self.state_dir.join(FILE)).ok();
        if let Some(files) = note.and_then(|note| serde_json::from_slice(&note).ok()) {
            self.put_back_files(&files);
        }
    }

    fn put_back_files(&self, files: &BTreeMap<PathBuf, Option<String>>) {
        for (path, text) in files {
            if let Err(error) = put_back(&self.root.join(path), text.as_deref()) {
                let text = format!("putting back {}: {error}", path.display());
                self.trouble(text, &error.into());
            }
        }
        let _ = std::fs::remove_file(self.state_dir.join(FILE));
    }
}

/// Gives a file its text again, or takes it away. Never through a link.
fn put_back(file: &Path, text: Option<&str>) -> std::io::Result<()> {
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
    use super::super::super::testing::Tree;
    use super::super::{look, needs};
    use super::*;

    const MANIFEST: &str = "[dependencies]\nserde = \"1\"\n";

    fn need(tree: &Tree) -> Need {
        needs(tree.root(), &look(tree.root())).remove(0)
    }

    #[test]
    fn what_a_manager_writes_is_put_back() {
        let tree = Tree::new();
        tree.put("Cargo.toml", MANIFEST);
        let kept = LockFiles::of(&tree.workspace, &need(&tree)).unwrap();
        tree.put("Cargo.toml", "");
        tree.put("Cargo.lock", "new");
        drop(kept);
        assert_eq!(tree.get("Cargo.toml"), MANIFEST);
        assert!(!tree.root().join("Cargo.lock").exists());

        tree.put("Cargo.lock", "old");
        let kept = LockFiles::of(&tree.workspace, &need(&tree)).unwrap();
        std::fs::remove_file(tree.root().join("Cargo.lock")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("Cargo.toml", tree.root().join("Cargo.lock")).unwrap();
        drop(kept);
        assert_eq!(
            (tree.get("Cargo.lock"), tree.get("Cargo.toml")),
            ("old".into(), MANIFEST.into())
        );
    }

    #[test]
    fn the_next_process_puts_back_what_a_killed_one_left() {
        let tree = Tree::new();
        tree.put("Cargo.toml", MANIFEST);
        tree.put("Cargo.lock", "old");
        std::mem::forget(LockFiles::of(&tree.workspace, &need(&tree)).unwrap());
        tree.put("Cargo.lock", "new");
        tree.reopened();
        assert_eq!(tree.get("Cargo.lock"), "old");
        tree.put("Cargo.lock", "mine");
        tree.reopened();
        assert_eq!(tree.get("Cargo.lock"), "mine");
    }
}
