//! Touching what the guard has resolved.
//!
//! A resolved path holds no link, so none is followed on the way to it: where one stands by now,
//! somebody has put it there since, and what it leads to (`.git`, say, which a capability to the
//! root alone knows nothing of) was never judged. The way is gone name by name from the root's own
//! handle, and what is done is done to one name in the directory that was reached.

use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::PathBuf;

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use crate::moment;
use crate::workspace::refusal::Refusal;
use crate::workspace::working_tree::WHOLE_FILE_MAX;
use crate::workspace::working_tree::WorkingTree;

impl WorkingTree {
    /// The directory at a resolved path.
    pub(crate) fn folder(&self, path: &str) -> Result<Dir> {
        // One call instead of five a name. What it refuses, the steps tell the cause of.
        #[cfg(target_os = "linux")]
        if let Some(dir) = opened_at_once(&self.dir, path) {
            return Ok(dir);
        }
        let mut dir = self.dir.try_clone()?;
        for name in names(path) {
            dir = step(&dir, name)?;
        }
        Ok(dir)
    }

    /// The directory a resolved path is in, and its name there.
    pub(crate) fn place<'p>(&self, path: &'p str) -> Result<(Dir, &'p str)> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((self.folder(parent)?, name))
    }

    /// Like [`Self::place`], but makes the directories that are missing.
    pub(crate) fn make_place<'p>(&self, path: &'p str) -> Result<(Dir, &'p str)> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut dir = self.dir.try_clone()?;
        for name in names(parent) {
            match dir.create_dir(name) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) => dir = step(&dir, name)?,
            }
        }
        Ok((dir, name))
    }

    /// What a resolved path is; a link there is told as a link.
    pub(crate) fn look(&self, path: &str) -> Result<Metadata> {
        if path == "." {
            return self.dir.dir_metadata();
        }
        let (dir, name) = self.place(path)?;
        dir.symlink_metadata(name)
    }

    /// Where a link leads, as it says itself.
    pub(crate) fn link_target(&self, path: &str) -> Result<PathBuf> {
        let (dir, name) = self.place(path)?;
        dir.read_link_contents(name)
    }

    /// Removes what a resolved path names, never what a link leads to.
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
        // Asked before as well: merely opening some devices does something.
        match dir.symlink_metadata(name) {
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
            // A FIFO nobody writes to would otherwise block us for ever.
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
                "Security: Access to .git is not allowed, and {path} is a file of it by another name"
            )));
        }
        Ok(file)
    }

    /// Whether a file is one of the repository's own, to which a hard link leads.
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

    /// A regular file's content, `None` when nothing is there.
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
        // Room for all of it and a byte, so that one call reads it and one finds the end.
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

/// The directory at a path below this one, where no link is on the way and the kernel can say so.
#[cfg(target_os = "linux")]
fn opened_at_once(dir: &Dir, path: &str) -> Option<Dir> {
    use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let way = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = if path.is_empty() { "." } else { path };
    let opened = openat2(dir, path, flags, Mode::empty(), way).ok()?;
    Some(Dir::from_std_file(opened.into()))
}

/// One directory further; through no link.
fn step(dir: &Dir, name: &str) -> Result<Dir> {
    dir.open_dir_nofollow(name).map_err(|error| {
        let is_link = dir.symlink_metadata(name).is_ok_and(|metadata| metadata.is_symlink());
        if is_link { swapped() } else { error }
    })
}

fn swapped() -> Error {
    Error::other("a symbolic link was put there in the meantime")
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".")
}
