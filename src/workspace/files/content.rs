//! Content of resolved paths: atomic writes recorded in the journal, copies, and fingerprints.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, OpenOptions};

use crate::excerpt;
use crate::moment;
use crate::workspace::journal::{Fingerprint, Written};
use crate::workspace::refusal::Refusal;
use crate::workspace::user_files::Was;
use crate::workspace::working_tree::WorkingTree;

/// Bytes of a file's name in the name of its copy.
const MOST_OF_NAME: usize = 100;

impl WorkingTree {
    /// Path in the state directory for the copy of a person's version of a file.
    pub(crate) fn copy_of(&self, path: &str, content: &Fingerprint) -> PathBuf {
        let name = path.rsplit('/').next().unwrap_or(path);
        // With what is put before and after it, a name may be longer than file systems take.
        let name = excerpt::beginning(name, MOST_OF_NAME);
        self.state_dir.join("set-aside").join(format!("{content}-{name}"))
    }

    /// The state of a path as an earlier run noted it: a person may have moved the repository, and
    /// the copy with it.
    pub(crate) fn with_own_copy(&self, was: Was) -> Was {
        match was {
            Was::File { copy, mode } => {
                let name = copy.file_name().unwrap_or_default();
                Was::File { copy: self.state_dir.join("set-aside").join(name), mode }
            }
            other => other,
        }
    }

    /// Copies a file of the tree to the state directory, with the same permissions.
    pub(crate) fn copy_out(&self, path: &str, copy: &Path) -> anyhow::Result<()> {
        let mut file = self.open_regular(path)?.into_std();
        std::fs::create_dir_all(copy.parent().unwrap_or(&self.state_dir))?;
        // A copy that was cut short would be taken for the whole file, by its name.
        let mut part = copy.as_os_str().to_owned();
        part.push(".part");
        let mut into = std::fs::File::create(&part)?;
        into.set_permissions(file.metadata()?.permissions())?;
        std::io::copy(&mut file, &mut into)?;
        copy_attributes(&file, &into);
        std::fs::rename(&part, copy)?;
        Ok(())
    }

    /// Gives a file of the tree the extended attributes of its copy.
    pub(crate) fn take_attributes(&self, path: &str, copy: &Path) {
        if let (Ok(copy), Ok(file)) = (std::fs::File::open(copy), self.open_regular(path)) {
            copy_attributes(&copy, &file.into_std());
        }
    }

    /// Writes a new file beside `path` and renames it over `path`, so that a partial file is never
    /// visible, and hard links to the old file keep the old content.
    pub(crate) fn put(&self, path: &str, content: &[u8], replaces: bool) -> std::io::Result<()> {
        let (dir, name) = self.make_place(path)?;
        let temporary = temporary_name(path);
        let put = || put_in(&dir, &name, &temporary, content, replaces);
        let mut written = put();
        if written.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) {
            // A crash left the temporary file.
            let _ = dir.remove_file(&temporary);
            written = put();
        }
        if written.is_err() {
            let _ = dir.remove_file(&temporary);
        }
        match &self.tracking {
            Some(tracking) if path.starts_with(".cowork/") => {
                tracking.wrote(path);
                moment::wrote();
            }
            _ => moment::end(),
        }
        written
    }

    /// Like [`Self::put`], with this mode.
    pub(crate) fn put_as(&self, path: &str, content: &[u8], mode: u32) -> std::io::Result<()> {
        self.put(path, content, false)?;
        #[cfg(unix)]
        {
            use cap_std::fs::PermissionsExt as _;
            let (dir, name) = self.place(path)?;
            let mut options = OpenOptions::new();
            let file = dir.open_with(name, options.read(true).follow(FollowSymlinks::No))?;
            file.set_permissions(cap_std::fs::Permissions::from_mode(mode))?;
        }
        #[cfg(not(unix))]
        let _ = mode;
        Ok(())
    }

    /// Removes the temporary file of a write that a crash interrupted.
    pub(crate) fn sweep_temporary(&self) {
        if let Some(path) = self.journal.borrow().last()
            && let Ok((dir, _)) = self.place(path)
        {
            let _ = dir.remove_file(temporary_name(path));
        }
    }

    /// Checks that the tree is on the session's branch ([`Tracking::require_branch`]).
    pub(crate) fn require_branch(&self) -> anyhow::Result<()> {
        self.tracking.as_ref().map_or(Ok(()), |tracking| tracking.require_branch())
    }

    /// Records an upcoming write in the journal. Refuses it if the tree has left the session's
    /// branch.
    pub(crate) fn note(
        &self,
        path: &str,
        now: Option<Fingerprint>,
        before: Option<Fingerprint>,
    ) -> Result<(), Refusal> {
        let left =
            |error: anyhow::Error| Refusal::failed(format!("{path} was not touched: {error:#}"));
        self.require_branch().map_err(left)?;
        self.journal.borrow_mut().note(Written { path: path.to_owned(), now, before }).map_err(
            |error| {
                let text = format!("{path} was not touched: {error:#}");
                self.io_errors.note(text.clone(), &error);
                Refusal::failed(text)
            },
        )
    }

    /// Returns the fingerprint of the current content; for a link, of its target path, like in git.
    pub(crate) fn fingerprint(&self, path: &str) -> std::io::Result<Option<Fingerprint>> {
        match self.look(path) {
            Ok(metadata) if metadata.is_symlink() => {
                let target = self.link_target(path)?;
                Ok(Some(Fingerprint::of(target.as_os_str().as_encoded_bytes())))
            }
            Ok(metadata) if metadata.is_file() => {
                let file = self.open_regular(path).map_err(std::io::Error::other)?;
                Fingerprint::of_reader(file).map(Some)
            }
            Ok(_) => Err(std::io::Error::other("not a regular file")),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Copies the extended attributes that a user's programs set (`user.*`), as far as the file systems
/// have some.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn copy_attributes(from: &std::fs::File, to: &std::fs::File) {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, flistxattr_query, fsetxattr};
    /// Linux limits the list of names and each value to this many bytes.
    const MOST: usize = 64 * 1024;
    let copy = || {
        if flistxattr_query(from)? == 0 {
            return Ok(());
        }
        let (mut names, mut value) = (vec![0; MOST], vec![0; MOST]);
        let length = flistxattr(from, &mut *names)?;
        let names = names[..length].split(|byte| *byte == 0);
        for name in names.filter(|name| name.starts_with(b"user.")) {
            let length = fgetxattr(from, name, &mut *value)?;
            fsetxattr(to, name, &value[..length], XattrFlags::empty())?;
        }
        rustix::io::Result::Ok(())
    };
    if let Err(error) = copy() {
        tracing::debug!("extended attributes are not copied: {error}");
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn copy_attributes(_from: &std::fs::File, _to: &std::fs::File) {}

/// Writes a new file with the old file's mode, then renames it.
fn put_in(
    dir: &Dir,
    name: &Path,
    temporary: &str,
    content: &[u8],
    replaces: bool,
) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let old = replaces.then(|| dir.symlink_metadata(name)).transpose()?;
    let permissions = old.filter(cap_std::fs::Metadata::is_file).map(|old| old.permissions());
    #[cfg(unix)]
    if let Some(permissions) = &permissions {
        use cap_std::fs::{OpenOptionsExt as _, PermissionsExt as _};
        // The file is never readable by more users than before.
        options.mode(permissions.mode() & 0o777);
    }
    let mut file = dir.open_with(temporary, &options)?;
    file.write_all(content)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    dir.rename(temporary, dir, name)
}

/// Returns a hidden name in the same directory (renames do not cross file systems). The name never
/// changes, so that a leftover of a crash is found again.
pub(super) fn temporary_name(path: &str) -> String {
    // Most file systems limit names to 255 bytes.
    const MOST: usize = 200;
    let name = path.rsplit('/').next().unwrap_or(path);
    let end = (0..=name.len().min(MOST)).rev().find(|end| name.is_char_boundary(*end));
    format!(".{}.cowork-new", &name[..end.unwrap_or(0)])
}

#[cfg(all(test, unix))]
mod tests {
    use crate::workspace::testing::Tree;

    #[test]
    fn what_a_crash_left_beside_a_file_is_replaced() {
        let tree = Tree::new();
        let (file, left) = (tree.root().join("a"), tree.root().join(".a.cowork-new"));
        std::fs::write(&left, "half of").unwrap();
        tree.workspace.write("a", "1\n").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\n");
        std::os::unix::fs::symlink("../outside", &left).unwrap();
        tree.workspace.write("a", "2\n").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "2\n");
        assert!(left.symlink_metadata().is_err());
        assert_eq!(std::fs::read_to_string(tree.root().join("../outside")).unwrap(), "secret");
    }
}
