//! Landlock: allows reading everything except keys and devices, and writing where the specification
//! permits.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};

use super::confinement::Level;
use super::filter::Close;
use super::spec::Spec;

/// The oldest version that suffices (Linux 6.2): with version 2, commands could truncate files
/// elsewhere; with version 1, all renames between directories would fail too.
const LEAST: ABI = ABI::V3;
/// The newest known version; the kernel applies the parts it supports.
const NEWEST: ABI = ABI::V9;

/// The first versions that restrict TCP, and UNIX sockets with a path.
const OF_TCP: libc::c_long = 4;
const OF_UNIX: libc::c_long = 9;

/// Directory of devices. Access to devices not listed in `DEVICES` would allow reading a terminal,
/// and, as root, a disk.
const DEV: &str = "/dev";
/// Devices that are safe to write.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
/// Directories private to a command that has its own mounts.
const PRIVATE: [&str; 2] = ["/dev/pts", "/dev/shm"];

/// The kernel's Landlock version; 0 if it has none.
fn version() -> libc::c_long {
    let nothing = std::ptr::null::<libc::c_void>();
    const VERSION: libc::c_uint = 1;
    // SAFETY: the pointer is null and its size zero, as this request requires.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, VERSION) }.max(0)
}

/// True if commands can use UNIX sockets with a path without reaching those of other programs.
pub(super) fn has_unix_sockets() -> bool {
    version() >= OF_UNIX
}

/// The gaps that Landlock alone leaves open.
pub(super) fn leaves_open(spec: &Spec) -> Close {
    let tcp_aside = !spec.network;
    Close { unix: !has_unix_sockets(), inet: tcp_aside && version() < OF_TCP, tcp_aside }
}

/// Restricts this process and all its descendants.
pub(super) fn restrict(spec: &Spec) -> anyhow::Result<()> {
    let no = "the kernel does not support Landlock version 3 (Linux 6.2)";
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST))
        .context(no)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    let alone = spec.level == Level::Landlock;
    // With namespaces, the private network is stricter and has its own loopback.
    if alone && !spec.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut rules = ruleset.create().context(no)?;
    // A command's own sockets need no permission.
    let all = AccessFs::from_all(NEWEST) & !BitFlags::from(AccessFs::ResolveUnix);
    let mut readable = Vec::new();
    if alone {
        rules = grant(rules, Path::new("/"), AccessFs::ReadDir.into())?;
        // Sockets cannot be read.
        let mut hidden: Vec<PathBuf> =
            spec.hidden.iter().filter(|path| path.is_dir() || path.is_file()).cloned().collect();
        let secret = hidden.clone();
        hidden.push(DEV.into());
        hidden.extend(spec.closed.iter().cloned());
        without(Path::new("/"), &hidden, &mut readable)?;
        let below = |path: &&PathBuf| spec.closed.iter().any(|home| path.starts_with(home));
        let own = std::iter::once(&spec.root).chain(&spec.writable).chain(&spec.sealed);
        for path in own.chain(&spec.kept).filter(below) {
            without(path, &secret, &mut readable)?;
        }
    } else {
        // Hidden paths are covered by mounts.
        readable.push("/".into());
    }
    for path in readable {
        rules = grant(rules, &path, AccessFs::from_read(NEWEST))?;
    }
    // With read-only mounts, git's directories may be below a writable directory; with Landlock
    // alone they may not.
    let sealed = if alone { &spec.sealed[..] } else { &[] };
    let mut writable = Vec::new();
    for path in std::iter::once(&spec.root).chain(&spec.writable) {
        without(path, sealed, &mut writable)?;
    }
    let own = PRIVATE.iter().map(PathBuf::from).chain(spec.covers.iter().map(|c| c.at.clone()));
    writable.extend(own.filter(|_| !alone));
    writable.extend(DEVICES.map(PathBuf::from));
    for path in writable {
        rules = grant(rules, &path, all)?;
    }
    let status = rules.restrict_self().context("restricting the command")?;
    anyhow::ensure!(status.ruleset != RulesetStatus::NotEnforced, "{no}");
    Ok(())
}

/// Collects the path, or, if a sealed path is below it, its entries without that path: access
/// granted to a directory cannot be revoked for its entries.
fn without(path: &Path, sealed: &[PathBuf], into: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if sealed.iter().any(|seal| path.starts_with(seal)) {
        return Ok(());
    }
    if !sealed.iter().any(|seal| seal.starts_with(path)) {
        into.push(path.to_owned());
        return Ok(());
    }
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?,
        // A directory that can be traversed but not listed: only the entries toward sealed paths
        // are known.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let names = path.components().count() + 1;
            let next = |seal: &PathBuf| seal.components().take(names).collect::<PathBuf>();
            sealed.iter().filter(|seal| seal.starts_with(path)).map(next).collect::<BTreeSet<_>>()
        }
        Err(error) => {
            return Err(error).with_context(|| format!("reading {}", path.display()));
        }
    };
    for entry in entries {
        without(&entry, sealed, into)?;
    }
    Ok(())
}

/// Grants access, if the path exists and is not a symbolic link, which would lead elsewhere.
fn grant(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> anyhow::Result<RulesetCreated> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(file): Result<OwnedFd, _> = open(path, flags, Mode::empty()) else {
        return Ok(rules);
    };
    let access = match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::Symlink => return Ok(rules),
        FileType::Directory => access,
        _ => access & AccessFs::from_file(NEWEST),
    };
    Ok(rules.add_rule(PathBeneath::new(file, access))?)
}
