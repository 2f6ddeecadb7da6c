//! Namespaces: a command sees its own processes and network, git's directories read-only, and
//! neither keys nor the sockets of other programs.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Context as _, ensure};
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change,
};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, SendFlags, SocketType, sendto, socket};
use rustix::process::{Resource, Rlimit, chdir, getegid, geteuid, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, unshare_unsafe,
};

use super::Spec;

/// Processes and threads at a time.
const TASKS_MAX: u64 = 4096;

/// Leaves the namespaces of the caller; the next child is the first process of a new one.
pub(super) fn enter(spec: &Spec) -> anyhow::Result<()> {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    // In a namespace root is no more than the owner of its own files.
    let owner = fs::metadata(&spec.root).context("looking at the working tree")?.uid();
    ensure!(uid != 0 || owner == 0, "the working tree belongs to another user than root");
    let mut flags =
        UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC;
    flags.set(UnshareFlags::NEWNET, !spec.network);
    // SAFETY: file descriptors stay shared, and there is one thread.
    unsafe { unshare_unsafe(flags) }.context("the kernel gives no user namespace")?;
    fs::write("/proc/self/setgroups", "deny").context("giving up groups")?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")).context("mapping the user")?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")).context("mapping the group")?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .context("making mounts private")?;
    // Landlock lets modes and times of files be changed; a read-only mount does not.
    let writable = || std::iter::once(&spec.root).chain(&spec.writable);
    for path in writable() {
        mount_bind_recursive(path, path).with_context(|| format!("mounting {}", path.display()))?;
    }
    read_only(Path::new("/"), true, true).context("making mounts read-only")?;
    for path in writable() {
        // A mount below that was read-only before has to stay so.
        let opened = read_only(path, false, true).or_else(|_| read_only(path, false, false));
        opened.with_context(|| format!("making {} writable", path.display()))?;
    }
    for path in &spec.sealed {
        seal(path).with_context(|| format!("making {} read-only", path.display()))?;
    }
    for path in &spec.hidden {
        hide(path).with_context(|| format!("hiding {}", path.display()))?;
    }
    // Where we stand is below what was mounted here.
    chdir(&spec.root).context("going to the working tree")?;
    if !spec.network {
        // Tests talk to servers of their own; without it they just cannot.
        let _ = loopback_up();
    }
    Ok(())
}

fn seal(path: &Path) -> anyhow::Result<()> {
    mount_bind_recursive(path, path)?;
    Ok(read_only(path, true, true)?)
}

/// Makes a mount, or it and all below, read-only or writable, and leaves its other flags.
fn read_only(path: &Path, yes: bool, below: bool) -> std::io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let (attr_set, attr_clr) =
        if yes { (libc::MOUNT_ATTR_RDONLY, 0) } else { (0, libc::MOUNT_ATTR_RDONLY) };
    let attributes = libc::mount_attr { attr_set, attr_clr, propagation: 0, userns_fd: 0 };
    let flags = if below { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: both pointers live through the call, and the size is that of what is pointed to.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

fn hide(path: &Path) -> anyhow::Result<()> {
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

/// Sets the first interface up, as `ip link set lo up` does.
fn loopback_up() -> anyhow::Result<()> {
    const NEWLINK: u16 = 16;
    const REQUEST: u16 = 1;
    const UP: u32 = 1;
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(NEWLINK.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    message.extend([0; 12]);
    message.extend(1_u32.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    let socket = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    Ok(())
}

/// To be called as the first process of the namespace: mounts what shows its processes, and
/// answers whether terminals and shared memory are its own as well.
pub(super) fn furnish() -> anyhow::Result<bool> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    // In a container parts of /proc may be covered, and then this is refused. The old one shows
    // other processes, which Landlock keeps from being touched.
    if mount("proc", "/proc", "proc", flags, None).is_ok() {
        limit_tasks();
    }
    let most = Some(TASKS_MAX);
    let _ = setrlimit(Resource::Nproc, Rlimit { current: most, maximum: most });
    let pts = mount("devpts", "/dev/pts", "devpts", flags, c"newinstance,ptmxmode=666,mode=620");
    let shm = mount(
        "none",
        "/dev/shm",
        "tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        c"mode=1777,size=1g",
    );
    Ok(pts.is_ok() && shm.is_ok())
}

/// Since Linux 6.14 every process namespace has a limit of its own; before, this would set the
/// system's.
fn limit_tasks() {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    if version >= (6, 14) {
        let _ = fs::write("/proc/sys/kernel/pid_max", TASKS_MAX.to_string());
    }
}

/// What root may keep outside a namespace: to write files of others, as in a container whose tree
/// belongs to the user outside.
pub(super) const OF_FILES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// Drops all capabilities but these, for good, also for root.
pub(super) fn drop_capabilities_but(kept: CapabilitySet) -> anyhow::Result<()> {
    let _ = clear_ambient_capability_set();
    for bit in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        if !kept.contains(one) {
            // Those the kernel does not know are refused, and to a user who has none.
            let _ = remove_capability_from_bounding_set(one);
        }
    }
    let left = capabilities(None)?.permitted & kept;
    let inheritable = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: left, permitted: left, inheritable })
        .context("dropping capabilities")
}
