//! Landlock: read everywhere, write where the specification says.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};

use super::{Level, Spec};

/// Below this (Linux 6.2), files elsewhere could be emptied, or renames between directories would
/// all fail.
const LEAST: ABI = ABI::V3;
/// The newest one that is known; the kernel takes of it what it can.
const NEWEST: ABI = ABI::V9;

/// Devices that are safe to write.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
/// Those that are the command's own where the namespaces made them so.
const PRIVATE: [&str; 3] = ["/dev/pts", "/dev/ptmx", "/dev/shm"];

/// Restricts this process and all that come of it.
pub(super) fn restrict(spec: &Spec, private_devices: bool) -> anyhow::Result<()> {
    let no = "the kernel has no Landlock of version 3 (Linux 6.2)";
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST))
        .context(no)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    // A namespace is a better network: it has a loopback of its own.
    if spec.level == Level::Landlock && !spec.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut rules = ruleset.create().context(no)?;
    let all = AccessFs::from_all(NEWEST);
    rules = grant(rules, Path::new("/"), AccessFs::from_read(NEWEST))?;
    // Mounted read-only, git's directories may lie below what can be written; else they must not.
    let sealed = if spec.level == Level::Namespaces { &[][..] } else { &spec.sealed };
    let mut writable = Vec::new();
    for path in std::iter::once(&spec.root).chain(&spec.writable) {
        without(path, sealed, &mut writable)?;
    }
    for path in writable {
        rules = grant(rules, &path, all)?;
    }
    let devices = DEVICES.iter().chain(PRIVATE.iter().filter(|_| private_devices));
    for path in devices {
        rules = grant(rules, Path::new(path), all)?;
    }
    let status = rules.restrict_self().context("restricting the command")?;
    anyhow::ensure!(status.ruleset != RulesetStatus::NotEnforced, "{no}");
    Ok(())
}

/// The path, or where something sealed lies below it, its entries without that: a right that was
/// given to a directory cannot be taken from what is in it.
fn without(path: &Path, sealed: &[PathBuf], into: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if sealed.iter().any(|seal| path.starts_with(seal)) {
        return Ok(());
    }
    if !sealed.iter().any(|seal| seal.starts_with(path)) {
        into.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path).with_context(|| format!("reading {}", path.display()))? {
        without(&entry?.path(), sealed, into)?;
    }
    Ok(())
}

/// Grants a right, where the path is there and no symbolic link, which would lead elsewhere.
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
