//! Namespaces: a command sees its own processes, network and mounts (`mounts`).

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::Context as _;
use rustix::mount::{MountFlags, mount};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, SendFlags, SocketType, sendto, socket};
use rustix::process::{Resource, Rlimit, chdir, getegid, geteuid, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, unshare_unsafe,
};

use super::spec::Spec;
use super::why::Why;
use super::{mounts, sockets};

/// Limit of processes and threads at the same time.
const TASKS_MAX: u64 = 4096;

/// Enters new namespaces; the next child is the first process of the new PID namespace.
pub(super) fn enter(spec: &Spec) -> anyhow::Result<()> {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    refuse_foreign_tree(spec)?;
    // Look for sockets before entering: a new network namespace lists only its own sockets.
    let live = sockets::live().context("looking for sockets of other programs")?;
    let mut flags =
        UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC;
    flags.set(UnshareFlags::NEWNET, !spec.network);
    // SAFETY: file descriptors stay shared, and there is one thread.
    unsafe { unshare_unsafe(flags) }.map_err(|error| Why::no_namespace(error.into()))?;
    let map = |name: &str, ids: &str| {
        let path = Path::new("/proc/self").join(name);
        fs::write(&path, ids).map_err(|error| Why::powerless(&path.display().to_string(), error))
    };
    map("setgroups", "deny")?;
    map("uid_map", &format!("{uid} {uid} 1"))?;
    map("gid_map", &format!("{gid} {gid} 1"))?;
    mounts::arrange(spec, &live)?;
    // The current directory is still on the mount below the new ones.
    chdir(&spec.root).context("changing to the working tree")?;
    if !spec.network {
        // Tests need the loopback for their own servers; without it only such tests fail.
        let up = loopback_up();
        if !spec.doors.is_empty() {
            up.context("bringing up the loopback")?;
        }
    }
    Ok(())
}

/// Fails if root works in another user's tree: inside the namespace, root has no special rights to
/// other users' files.
pub(super) fn refuse_foreign_tree(spec: &Spec) -> anyhow::Result<()> {
    let owner = fs::metadata(&spec.root).context("reading the owner of the working tree")?.uid();
    match geteuid().is_root() && owner != 0 {
        true => Err(Why::foreign_tree().into()),
        false => Ok(()),
    }
}

/// Brings up the first interface, like `ip link set lo up`.
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

/// Mounts the `/proc` of the namespace; call as its first process.
pub(super) fn furnish() -> anyhow::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    // In a container parts of /proc may be covered; then this mount is refused. The old /proc shows
    // other processes, but Landlock keeps commands from touching them.
    if mount("proc", "/proc", "proc", flags, None).is_ok() {
        limit_tasks();
    }
    for keys in ["/proc/keys", "/proc/key-users"] {
        mounts::hide(Path::new(keys)).with_context(|| format!("hiding {keys}"))?;
    }
    limit_processes();
    Ok(())
}

/// Limits the number of processes of a command.
pub(super) fn limit_processes() {
    let most = Some(TASKS_MAX);
    let _ = setrlimit(Resource::Nproc, Rlimit { current: most, maximum: most });
}

/// Limits the tasks of the PID namespace. Only since Linux 6.14 is this limit per namespace;
/// before, the write would change the system's.
fn limit_tasks() {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    if version >= (6, 14) {
        let _ = fs::write("/proc/sys/kernel/pid_max", TASKS_MAX.to_string());
    }
}

/// Capabilities that root keeps if there are no namespaces: they allow writing other users' files,
/// for example in a container whose tree belongs to a user outside it.
pub(super) const OF_FILES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// Permanently drops all capabilities except `kept`, also for root.
pub(super) fn drop_capabilities_but(kept: CapabilitySet) -> anyhow::Result<()> {
    let _ = clear_ambient_capability_set();
    for bit in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        if !kept.contains(one) {
            // Fails for capabilities the kernel does not know, and for a user without privileges.
            let _ = remove_capability_from_bounding_set(one);
        }
    }
    let left = capabilities(None)?.permitted & kept;
    let inheritable = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: left, permitted: left, inheritable })
        .context("dropping capabilities")
}
