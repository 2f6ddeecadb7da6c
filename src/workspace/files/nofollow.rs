//! File operations on paths resolved by the guard.
//!
//! A resolved path contains no links, so none is followed: a link found now was created after the
//! check, and its target (such as `.git`, which a handle of the root alone does not exclude) was
//! never checked. Directories are opened one by one from the root's handle, and each operation
//! applies to one name in the directory reached.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use crate::moment;
use crate::path_text::encoded;
use crate::workspace::refusal::Refusal;
use crate::workspace::working_tree::WHOLE_FILE_MAX;
use crate::workspace::working_tree::WorkingTree;

impl WorkingTree {
    /// Opens the directory at a resolved path.
    pub(crate) fn folder(&self, path: &str) -> Result<Dir> {
        // One system call instead of five per component. If it fails, the steps below find the
        // cause.
        #[cfg(target_os = "linux")]
        if let Some(dir) = opened_at_once(&self.dir, path) {
            return Ok(dir);
        }
        let mut dir = self.dir.try_clone()?;
        for name in names(path) {
            dir = step(&dir, &name)?;
        }
        Ok(dir)
    }

    /// Opens the parent directory of a resolved path; returns it with the last component.
    pub(crate) fn place<'p>(&self, path: &'p str) -> Result<(Dir, Cow<'p, Path>)> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((self.folder(parent)?, encoded(name)))
    }

    /// Like [`Self::place`], but creates missing directories.
    pub(crate) fn make_place<'p>(&self, path: &'p str) -> Result<(Dir, Cow<'p, Path>)> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        // Most directories exist.
        #[cfg(target_os = "linux")]
        if let Some(dir) = opened_at_once(&self.dir, parent) {
            return Ok((dir, encoded(name)));
        }
        let mut dir = self.dir.try_clone()?;
        for name in names(parent) {
            match dir.create_dir(&name) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) => dir = step(&dir, &name)?,
            }
        }
        Ok((dir, encoded(name)))
    }

    /// Returns the metadata of a resolved path; links are not followed.
    pub(crate) fn look(&self, path: &str) -> Result<Metadata> {
        if path == "." {
            return self.dir.dir_metadata();
        }
        // One system call is usually enough: most of the requested files do not exist yet.
        #[cfg(target_os = "linux")]
        match found_at_once(&self.dir, path) {
            Ok(found) => return found.metadata(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(error),
            Err(_) => {}
        }
        let (dir, name) = self.place(path)?;
        dir.symlink_metadata(name)
    }

    /// Returns the target of a link, as stored in the link.
    pub(crate) fn link_target(&self, path: &str) -> Result<PathBuf> {
        let (dir, name) = self.place(path)?;
        dir.read_link_contents(name)
    }

    /// Removes a file, or a link itself.
    pub(crate) fn unlink(&self, path: &str) -> Result<()> {
        let (dir, name) = self.place(path)?;
        let removed = dir.remove_file(name);
        moment::end();
        removed
    }

    /// Opens a file for reading, unless it is a directory, link, device, FIFO or socket.
    pub(crate) fn open_regular(&self, path: &str) -> std::result::Result<File, Refusal> {
        let failed = |error| self.io_errors.failed("opening", path, error);
        let special = || Refusal::guard(format!("Security: {path} is not a regular file"));
        let folder = || {
            Refusal::failed(format!(
                "{path} is a directory, not a file; list_files shows what is in it"
            ))
        };
        if path == "." {
            return Err(folder());
        }
        let (dir, name) = self.place(path).map_err(failed)?;
        // Checked before opening: merely opening some devices has side effects.
        match dir.symlink_metadata(&name) {
            Ok(metadata) if metadata.is_dir() => return Err(folder()),
            Ok(metadata) if metadata.is_symlink() => return Err(failed(swapped())),
            Ok(metadata) if !metadata.is_file() => return Err(special()),
            Ok(_) | Err(_) => {}
        }
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt as _;
            // Opening a FIFO without a writer would otherwise block forever.
            let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
            options.custom_flags(flags.bits().cast_signed());
        }
        let file = dir.open_with(name, &options).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(special());
        }
        #[cfg(unix)]
        if self.is_gits(&metadata) {
            return Err(Refusal::guard(format!(
                "Security: Access to .git is not allowed, and {path} is a hard link to a file in it"
            )));
        }
        if self.is_hard_link_of_private(&metadata, path) {
            return Err(Refusal::private(path));
        }
        Ok(file)
    }

    /// True if a file with this metadata and name has the bytes of a private file.
    fn is_hard_link_of_private(&self, metadata: &Metadata, path: &str) -> bool {
        #[cfg(unix)]
        let names = cap_std::fs::MetadataExt::nlink(metadata);
        #[cfg(not(unix))]
        let (names, _) = (1, metadata);
        if names < 2 || !self.private.is_set() {
            return false;
        }
        let names = self.private_names.or_find((), || {
            let names = self.private.with_other_names(&self.root).into_iter();
            Ok::<_, std::convert::Infallible>(Rc::new(names.collect()))
        });
        names.is_ok_and(|names: Rc<BTreeSet<String>>| names.contains(path))
    }

    /// True if a file is a hard link to one of git's own files.
    #[cfg(unix)]
    fn is_gits(&self, metadata: &Metadata) -> bool {
        use std::os::unix::fs::MetadataExt as _;

        use cap_std::fs::MetadataExt as _;
        if metadata.nlink() < 2 {
            return false;
        }
        let dot_git = self.root.join(".git");
        let pointer = std::fs::read_to_string(&dot_git).ok();
        let led_to = pointer.as_deref().and_then(|text| text.strip_prefix("gitdir:"));
        let own = led_to.map_or(dot_git, |led_to| self.root.join(led_to.trim()));
        let shared = std::fs::read_to_string(own.join("commondir"));
        let shared = shared.map(|path| own.join(path.trim())).unwrap_or_else(|_| own.clone());
        let folders = [own, shared.join("hooks"), shared.join("info"), shared];
        let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
        files.flatten().filter_map(|entry| entry.metadata().ok()).any(|other| {
            other.is_file() && (other.dev(), other.ino()) == (metadata.dev(), metadata.ino())
        })
    }

    /// Returns a regular file's content, `None` if it does not exist.
    pub(crate) fn bytes_if_there(
        &self,
        path: &str,
    ) -> std::result::Result<Option<Vec<u8>>, Refusal> {
        let file = match self.look(path) {
            Ok(_) => self.open_regular(path)?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.io_errors.unreadable(path, error)),
        };
        let there = file.metadata().map_or(0, |metadata| metadata.len());
        // One byte more, so that one call reads the content and a second one finds the end.
        let mut bytes = Vec::with_capacity(there.min(WHOLE_FILE_MAX) as usize + 1);
        file.take(WHOLE_FILE_MAX + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| self.io_errors.unreadable(path, error))?;
        if bytes.len() as u64 > WHOLE_FILE_MAX {
            return Err(Refusal::failed(format!(
                "{path} is larger than {} MiB; read parts of it with offset and limit, and change \
                 it with a command",
                WHOLE_FILE_MAX >> 20
            )));
        }
        Ok(Some(bytes))
    }
}

/// Opens a directory below `dir` without following links, if the kernel supports it.
#[cfg(target_os = "linux")]
fn opened_at_once(dir: &Dir, path: &str) -> Option<Dir> {
    use rustix::fs::OFlags;
    let path = if path.is_empty() { "." } else { path };
    let opened = without_links(dir, path, OFlags::RDONLY | OFlags::DIRECTORY).ok()?;
    Some(Dir::from_std_file(opened.into()))
}

/// Opens whatever is at a path below `dir`, but not for reading; for a link, the link itself.
#[cfg(target_os = "linux")]
fn found_at_once(dir: &Dir, path: &str) -> Result<File> {
    use rustix::fs::OFlags;
    let found = without_links(dir, path, OFlags::PATH | OFlags::NOFOLLOW)?;
    Ok(File::from_std(found.into()))
}

#[cfg(target_os = "linux")]
fn without_links(
    dir: &Dir,
    path: &str,
    flags: rustix::fs::OFlags,
) -> rustix::io::Result<rustix::fd::OwnedFd> {
    use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
    let way = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(dir, &*encoded(path), flags | OFlags::CLOEXEC, Mode::empty(), way)
}

/// Opens a subdirectory, without following a link.
fn step(dir: &Dir, name: &Path) -> Result<Dir> {
    dir.open_dir_nofollow(name).map_err(|error| {
        let is_link = dir.symlink_metadata(name).is_ok_and(|metadata| metadata.is_symlink());
        if is_link { swapped() } else { error }
    })
}

fn swapped() -> Error {
    Error::other("a symbolic link was put there in the meantime")
}

fn names(path: &str) -> impl Iterator<Item = Cow<'_, Path>> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".").map(encoded)
}
