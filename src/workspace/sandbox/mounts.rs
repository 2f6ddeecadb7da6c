//! A command's view of the file system: the tree and its own directories are writable, the rest is
//! read-only; directories with other programs' sockets are empty; few devices; no keys and no live
//! sockets.
//!
//! Paths that stay visible are cloned before anything is covered and mounted back afterwards, so
//! the tree may itself be below a covered directory.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind,
    mount_bind_recursive, mount_change, move_mount, open_tree,
};

use super::confinement::Overlay;
use super::spec::Spec;

const DEV: &str = "/dev";
const SHARED_MEMORY: &str = "/dev/shm";
/// The devices of a command, besides its own terminals.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// Some systems have links to their own files in this directory, such as `/run/current-system`.
pub(super) const OF_SYSTEM: &str = "/run";

/// The list of users.
pub(super) const USERS: &str = "/etc/passwd";

/// No devices and no setuid on the mount.
const INERT: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// A mount to be made.
struct Mount {
    at: PathBuf,
    what: What,
    is_dir: bool,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A path that stays visible.
    Back,
    /// A command's own directory.
    Cover,
    /// A directory that contains only the paths mounted back.
    Closed,
}

enum What {
    Tree(OwnedFd),
    /// An empty tmpfs with these options.
    Empty(&'static CStr),
}

/// Arranges the mounts of this process's mount namespace, which must be new. `live` are sockets
/// that programs listen on.
pub(super) fn arrange(spec: &Spec, live: &BTreeSet<PathBuf>) -> anyhow::Result<()> {
    ensure!(spec.root != Path::new("/"), "the working tree is the whole file system");
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .context("making mounts private")?;
    // Overlays come first, so that they are cloned together with the tree.
    for one in &spec.overlays {
        overlay(one).with_context(|| format!("showing {}", one.of.display()))?;
    }
    let links = links(Path::new(OF_SYSTEM));
    let mut mounts = covers(spec)?;
    let below = |path: &&PathBuf| {
        mounts.iter().any(|cover| **path != cover.at && path.starts_with(&cover.at))
    };
    let writable = || std::iter::once(&spec.root).chain(&spec.writable);
    let mut back = Vec::new();
    for path in writable() {
        let inert = if path.starts_with(DEV) { libc::MOUNT_ATTR_NOSUID } else { INERT };
        let content = spec.content.as_ref().filter(|_| *path == spec.root).unwrap_or(path);
        back.push(Mount { at: path.clone(), ..tree(content, inert)? });
    }
    if spec.content.is_some() {
        for path in spec.sealed.iter().filter(|path| path.starts_with(&spec.root)) {
            back.push(tree(path, INERT | libc::MOUNT_ATTR_RDONLY)?);
        }
    }
    let kept = spec.kept.iter().chain(&spec.sealed).filter(below);
    for path in kept.filter(|path| !writable().any(|ours| path.starts_with(ours))) {
        back.push(tree(path, INERT | libc::MOUNT_ATTR_RDONLY)?);
    }
    for file in &spec.shown {
        let own = file.with.as_ref().context("a file without its content")?;
        back.push(Mount { at: file.at.clone(), ..tree(own, INERT | libc::MOUNT_ATTR_RDONLY)? });
    }
    mounts.extend(back);
    for name in DEVICES {
        let path = Path::new(DEV).join(name);
        if path.exists() {
            // Devices can be written even on a read-only mount; on a writable one, root could
            // change their mode for everybody.
            mounts.push(tree(&path, libc::MOUNT_ATTR_RDONLY)?);
        }
    }
    if let Some(users) = &spec.users {
        mounts.push(Mount { at: USERS.into(), ..tree(users, INERT | libc::MOUNT_ATTR_RDONLY)? });
    }
    set(CWD, c"/", INERT | libc::MOUNT_ATTR_RDONLY, true).context("making mounts read-only")?;
    attach(mounts)?;
    for (name, to) in LINKS {
        std::os::unix::fs::symlink(to, Path::new(DEV).join(name))?;
    }
    if spec.covers.iter().any(|cover| cover.at == Path::new(OF_SYSTEM)) {
        for (link, to) in links {
            let _ = std::os::unix::fs::symlink(to, link);
        }
    }
    // Unlike /proc, devpts can be mounted here: it does not depend on the PID namespace.
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let _ = fs::create_dir("/dev/pts");
    let _ = mount("devpts", "/dev/pts", "devpts", flags, c"newinstance,ptmxmode=666,mode=620");
    set(CWD, c"/dev", libc::MOUNT_ATTR_RDONLY, false).context("making /dev read-only")?;

    for path in &spec.sealed {
        seal(path).with_context(|| format!("making {} read-only", path.display()))?;
    }
    for path in &spec.hidden {
        hide(path).with_context(|| format!("hiding {}", path.display()))?;
    }
    for path in live {
        close(path).with_context(|| format!("closing the socket {}", path.display()))?;
    }
    Ok(())
}

/// The directories that are empty, or replaced by a command's own.
fn covers(spec: &Spec) -> anyhow::Result<Vec<Mount>> {
    let empty = |at: &Path, options| Mount {
        at: at.to_owned(),
        what: What::Empty(options),
        is_dir: true,
        kind: Kind::Cover,
    };
    let mut covers = vec![
        empty(Path::new(DEV), c"mode=755,size=64k"),
        empty(Path::new(SHARED_MEMORY), c"mode=1777,size=1g"),
    ];
    for cover in &spec.covers {
        covers.push(match &cover.with {
            Some(own) => {
                let read_only = if cover.read_only { libc::MOUNT_ATTR_RDONLY } else { 0 };
                let tree = tree(own, INERT | read_only)?;
                Mount { at: cover.at.clone(), kind: Kind::Cover, ..tree }
            }
            None => empty(&cover.at, c"mode=755,size=64m"),
        });
    }
    for home in &spec.closed {
        covers.push(Mount { kind: Kind::Closed, ..empty(home, c"mode=755,size=1m") });
    }
    Ok(covers)
}

/// Clones the current content of `path` with all mounts below it, and adds these mount attributes.
fn tree(path: &Path, attributes: u64) -> anyhow::Result<Mount> {
    let clone = || -> io::Result<Mount> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE;
        let clone = open_tree(CWD, path, flags)?;
        set(clone.as_fd(), c"", attributes, true)?;
        let at = path.to_owned();
        Ok(Mount { at, what: What::Tree(clone), is_dir: path.is_dir(), kind: Kind::Back })
    };
    clone().with_context(|| format!("mounting {}", path.display()))
}

/// Attaches all mounts, parents before children.
fn attach(mut mounts: Vec<Mount>) -> anyhow::Result<()> {
    mounts.sort_by_key(|mount| mount.at.components().count());
    let (mut done, mut scaffolds): (Vec<(PathBuf, Kind)>, Vec<PathBuf>) = (Vec::new(), Vec::new());
    let mut read_only = Vec::new();
    for Mount { at, what, is_dir, kind } in mounts {
        let attach = || -> anyhow::Result<()> {
            let above = done.iter().rev().find(|(above, _)| at != *above && at.starts_with(above));
            match above {
                Some((cover, Kind::Cover)) => make_point(cover, &at, is_dir, &mut scaffolds)?,
                Some((_, Kind::Closed)) => {
                    fs::create_dir_all(at.parent().context("a path without a parent")?)?;
                    make(&at, is_dir)?;
                }
                Some((_, Kind::Back)) | None => {}
            }
            match what {
                What::Tree(clone) => {
                    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
                    move_mount(&clone, c"", CWD, &at, flags)?;
                }
                What::Empty(options) => {
                    mount("none", &at, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options)?;
                }
            }
            Ok(())
        };
        attach().with_context(|| format!("mounting {}", at.display()))?;
        if kind == Kind::Closed {
            // Made read-only, because a write there would be lost.
            read_only.push(at.clone());
        }
        done.push((at, kind));
    }
    for scaffold in scaffolds.into_iter().chain(read_only) {
        let path = CString::new(scaffold.as_os_str().as_bytes())?;
        set(CWD, &path, libc::MOUNT_ATTR_RDONLY, false).context("making mounts read-only")?;
    }
    Ok(())
}

/// Creates a mount point below a cover. The directories in between are on a separate mount: an
/// earlier command may have written to the covering directory, and a later command must not move
/// the directories in between.
fn make_point(
    cover: &Path,
    at: &Path,
    is_dir: bool,
    scaffolds: &mut Vec<PathBuf>,
) -> anyhow::Result<()> {
    let names = at.strip_prefix(cover)?.components().count();
    if let Some(parent) = at.parent().filter(|_| names > 1) {
        let top = at.ancestors().nth(names - 1).context("a path without an ancestor")?;
        if !scaffolds.iter().any(|scaffold| scaffold == top) {
            make(top, true)?;
            let flags = MountFlags::NOSUID | MountFlags::NODEV;
            mount("none", top, "tmpfs", flags, c"mode=755,size=1m")?;
            scaffolds.push(top.to_owned());
        }
        fs::create_dir_all(parent)?;
    }
    make(at, is_dir)?;
    Ok(())
}

/// Creates an empty directory or file, replacing anything else.
fn make(path: &Path, is_dir: bool) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() == is_dir && !found.is_symlink() => return Ok(()),
        Ok(found) if found.is_dir() => fs::remove_dir_all(path)?,
        Ok(_) => fs::remove_file(path)?,
        Err(_) => {}
    }
    if is_dir { fs::create_dir(path) } else { File::create(path).map(drop) }
}

/// Returns the symbolic links in a directory, with their targets.
pub(super) fn links(dir: &Path) -> Vec<(PathBuf, PathBuf)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.path(), fs::read_link(entry.path()).ok()?))).collect()
}

/// Mounts a folder of another tree, with changes stored beside it. Source: `overlayfs.rst` in the
/// kernel's documentation; in a user namespace overlayfs stores its metadata in `user.*` extended
/// attributes.
fn overlay(one: &Overlay) -> anyhow::Result<()> {
    let mut options = b"userxattr".to_vec();
    for (name, path) in [("lowerdir", &one.of), ("upperdir", &one.changes), ("workdir", &one.work)]
    {
        options.extend(format!(",{name}=").as_bytes());
        for byte in path.as_os_str().as_bytes() {
            if matches!(byte, b'\\' | b',' | b':') {
                options.push(b'\\');
            }
            options.push(*byte);
        }
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount("overlay", &one.at, "overlay", flags, CString::new(options)?.as_c_str())?)
}

fn seal(path: &Path) -> anyhow::Result<()> {
    mount_bind_recursive(path, path)?;
    let path = CString::new(path.as_os_str().as_bytes())?;
    Ok(set(CWD, &path, libc::MOUNT_ATTR_RDONLY, true)?)
}

/// Makes a file or directory look empty.
pub(super) fn hide(path: &Path) -> anyhow::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {
            let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
            mount("none", path, "tmpfs", flags, c"size=4k,mode=755")?;
        }
        Ok(_) => mount_bind("/dev/null", path)?,
        Err(_) => {}
    }
    Ok(())
}

/// Blocks connections to a socket, if the socket is visible at all.
fn close(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt as _;
    let is_socket = fs::metadata(path).is_ok_and(|found| found.file_type().is_socket());
    match if is_socket { mount_bind("/dev/null", path) } else { Ok(()) } {
        // The program with the socket has ended in the meantime.
        Err(error) if error == rustix::io::Errno::NOENT => Ok(()),
        done => Ok(done?),
    }
}

/// Adds attributes to a mount and keeps its other attributes; if `below` is set, does the same for
/// all mounts below it.
fn set(dir: BorrowedFd<'_>, path: &CStr, attr_set: u64, below: bool) -> io::Result<()> {
    let attributes = libc::mount_attr { attr_set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = if below { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: both pointers outlive the call, and the size is that of the struct.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            dir.as_raw_fd(),
            path.as_ptr(),
            flags | if path.is_empty() { libc::AT_EMPTY_PATH } else { 0 },
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
