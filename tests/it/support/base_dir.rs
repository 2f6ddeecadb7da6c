//! The directory in which all sandboxes are created.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A directory of this user in the directory for temporary files; the latter itself where that is
/// not possible.
pub fn base_dir() -> &'static Path {
    static DIR: LazyLock<PathBuf> = LazyLock::new(|| {
        let temporary = std::env::temp_dir();
        own_directory(&temporary).unwrap_or(temporary)
    });
    &DIR
}

#[cfg(target_os = "linux")]
fn own_directory(temporary: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};

    let user = rustix::process::geteuid().as_raw();
    let dir = temporary.join(format!("git-cowork-tests-{user}"));
    // Other users enter it: tests run by root run programs as an ordinary user.
    match std::fs::DirBuilder::new().mode(0o711).create(&dir) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return None,
        _ => {}
    }
    let meta = dir.symlink_metadata().ok()?;
    let is_own = meta.is_dir() && meta.uid() == user && meta.mode() & 0o022 == 0;
    if is_own {
        spread(&dir);
    }
    is_own.then_some(dir)
}

#[cfg(not(target_os = "linux"))]
fn own_directory(_temporary: &Path) -> Option<PathBuf> {
    None
}

/// Asks ext4 to put each directory made here into another group of blocks (`chattr +T`). In one
/// group, each new file passes over the inodes that were deleted in the last minute; with the
/// sandboxes of all tests in it, that took 40 % of the time of the suite. Other file systems do not
/// know the flag.
#[cfg(target_os = "linux")]
fn spread(dir: &Path) {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

    let Ok(opened) = std::fs::File::open(dir) else { return };
    if let Ok(flags) = ioctl_getflags(&opened) {
        let _ = ioctl_setflags(&opened, flags | IFlags::TOPDIR);
    }
}
