//! Cleanup of files that runs leave outside the repository: caches no longer in use, and temporary
//! directories of killed runs.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Caches unused for this long are removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);
/// Maximum total size of the caches in bytes; caches in use are never removed.
const MOST_BYTES: u64 = 10 * 1024 * 1024 * 1024;
/// Bytes counted for each entry beside its content: millions of empty files take room, too.
const ENTRY: u64 = 512;
/// Measuring the size of all caches takes time, so it is done once a day.
const MEASURED_EVERY: Duration = Duration::from_secs(24 * 3600);
/// File beside the caches; its modification time is the time of the last measurement.
const MEASURED: &str = "measured";
/// A temporary directory younger than this is possibly not locked yet.
const YOUNG: Duration = Duration::from_secs(60);
/// File in a cache: contains the path the cache belongs to; its modification time is the time of
/// last use.
const OWNER: &str = "repository";
/// File in a temporary directory: locked while its run is alive.
const LOCK: &str = "lock";
/// Prefix of temporary directories' names.
pub(super) const PREFIX: &str = "cowork-";

/// The cache of a repository.
#[derive(Clone, Debug)]
pub struct Cache {
    /// The directory of the cache; other caches are beside it.
    pub dir: PathBuf,
    /// The directory that the cache belongs to. If it no longer exists, the cache is removed.
    pub of: PathBuf,
}

impl Cache {
    /// Marks the cache as used while the returned file is open. Removes caches beside it that are
    /// no longer in use, and more if all caches together exceed the size limit.
    pub(super) fn open(&self) -> std::io::Result<(PathBuf, File)> {
        std::fs::create_dir_all(&self.dir)?;
        let own = self.dir.canonicalize()?;
        if let Some(caches) = own.parent() {
            for other in entries(Some(caches)).filter(|other| *other != own) {
                if is_unused(&other, SystemTime::now()) {
                    tracing::info!("removing the cache {}", other.display());
                    remove(&other);
                }
            }
            if !was_measured(caches) {
                bound(caches, &own, MOST_BYTES);
                std::fs::write(caches.join(MEASURED), "")?;
            }
        }
        std::fs::write(own.join(OWNER), self.of.as_os_str().as_encoded_bytes())?;
        let used = File::open(own.join(OWNER))?;
        #[cfg(unix)]
        rustix::fs::flock(&used, rustix::fs::FlockOperation::LockShared)?;
        Ok((own, used))
    }
}

fn was_measured(caches: &Path) -> bool {
    let at = caches.join(MEASURED).metadata().and_then(|note| note.modified());
    at.is_ok_and(|at| at.elapsed().is_ok_and(|since| since < MEASURED_EVERY))
}

/// Removes unused caches until the total size is at most `most` bytes, the least recently used
/// first. This run's own cache comes last, and loses only the commands' files, not the fetched
/// dependencies.
fn bound(caches: &Path, own: &Path, most: u64) {
    let ours = |cache: &PathBuf| cache.join(OWNER).is_file();
    let mut found: Vec<_> = entries(Some(caches)).filter(ours).collect();
    let used = |cache: &PathBuf| {
        let used = cache.join(OWNER).metadata().and_then(|note| note.modified());
        (cache == own, used.unwrap_or(SystemTime::UNIX_EPOCH))
    };
    found.sort_by_cached_key(used);
    let unused: Vec<Option<File>> = found.iter().map(|cache| lock_unused(cache)).collect();
    for (cache, _) in found.iter().zip(&unused).filter(|(_, lock)| lock.is_some()) {
        open_folders(cache, 0o500);
    }
    let mut sizes: Vec<u64> = found.iter().map(|cache| size(cache)).collect();
    for at in (0..found.len()).filter(|at| unused[*at].is_some()) {
        if sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size)) <= most {
            return;
        }
        let gone = match found[at] == own {
            true => ["home", "checks", "trees"].map(|name| own.join(name)).to_vec(),
            false => vec![found[at].clone()],
        };
        for dir in gone {
            tracing::info!("removing {}: the caches of commands are too big", dir.display());
            remove(&dir);
        }
        sizes[at] = size(&found[at]);
    }
}

/// Returns the bytes that a directory takes on the disk, with those of its entries.
fn size(dir: &Path) -> u64 {
    let (mut bytes, mut folders) = (0_u64, vec![dir.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in entries(Some(&folder)) {
            let Ok(meta) = path.symlink_metadata() else { continue };
            bytes = bytes.saturating_add(taken(&meta)).saturating_add(ENTRY);
            folders.extend(meta.is_dir().then_some(path));
        }
    }
    bytes
}

#[cfg(unix)]
fn taken(meta: &std::fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    meta.blocks().saturating_mul(512)
}

#[cfg(not(unix))]
fn taken(meta: &std::fs::Metadata) -> u64 {
    meta.len()
}

/// Gives this user these rights to all folders below a directory: what a command has closed would
/// not be measured, and Go makes folders that cannot be emptied. Call only if no command can put
/// links in their place meanwhile.
#[cfg(unix)]
fn open_folders(dir: &Path, rights: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(meta) = folder.symlink_metadata() else { continue };
        let mode = meta.permissions().mode();
        if mode & rights != rights {
            let open = std::fs::Permissions::from_mode(mode | rights);
            let _ = std::fs::set_permissions(&folder, open);
        }
        folders.extend(entries(Some(&folder)).filter(|path| path.is_dir() && !path.is_symlink()));
    }
}

#[cfg(not(unix))]
fn open_folders(_dir: &Path, _rights: u32) {}

/// Locks a cache against runs that want to use it; `None` if a run uses it.
#[cfg(unix)]
fn lock_unused(cache: &Path) -> Option<File> {
    let file = File::open(cache.join(OWNER)).ok()?;
    let locked = rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
    locked.is_ok().then_some(file)
}

#[cfg(not(unix))]
fn lock_unused(cache: &Path) -> Option<File> {
    File::open(cache.join(OWNER)).ok()
}

/// True if a cache can be removed; false for a directory that is not a cache.
fn is_unused(cache: &Path, now: SystemTime) -> bool {
    let note = cache.join(OWNER);
    let Ok(of) = std::fs::read_to_string(&note) else { return false };
    let used = note.metadata().and_then(|note| note.modified());
    let long_ago = used.is_ok_and(|at| now.duration_since(at).is_ok_and(|since| since > UNUSED));
    long_ago || !Path::new(&of).exists()
}

/// Locks a new temporary directory while the returned file is open.
#[cfg(unix)]
pub(super) fn lock(temp: &Path) -> std::io::Result<File> {
    let file = File::create(temp.join(LOCK))?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

#[cfg(not(unix))]
pub(super) fn lock(temp: &Path) -> std::io::Result<File> {
    File::create(temp.join(LOCK))
}

/// Removes temporary directories left by killed runs of this user.
#[cfg(unix)]
pub(super) fn temporary(dir: &Path) {
    use std::os::unix::fs::MetadataExt as _;

    use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open};

    use super::store_links::StoreLinks;

    let user = rustix::process::geteuid().as_raw();
    for left in entries(Some(dir)) {
        let named = left.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
        if !named || left.is_symlink() {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(file) = open(left.join(LOCK), flags, Mode::empty()) else { continue };
        let made_by = left.metadata().map(|found| found.uid());
        let own = fstat(&file)
            .is_ok_and(|found| found.st_uid == user && made_by.is_ok_and(|by| by == user));
        let file = File::from(file);
        let made = file.metadata().and_then(|found| found.modified());
        let old = made.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > YOUNG));
        if own && old && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            drop(StoreLinks::of_killed(&left));
            remove(&left);
        }
    }
}

#[cfg(not(unix))]
pub(super) fn temporary(_dir: &Path) {}

fn entries(dir: Option<&Path>) -> impl Iterator<Item = PathBuf> {
    let entries = dir.and_then(|dir| std::fs::read_dir(dir).ok());
    entries.into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Removes a directory, including read-only subdirectories, which Go creates. Failures are logged.
pub(super) fn remove(dir: &Path) {
    if std::fs::remove_dir_all(dir).is_ok() {
        return;
    }
    open_folders(dir, 0o700);
    if let Err(error) = std::fs::remove_dir_all(dir) {
        tracing::info!("{} was not removed: {error}", dir.display());
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use tempfile::TempDir;

    use super::*;

    fn age(path: &Path, age: Duration) {
        let file = File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn old_caches_and_caches_of_missing_repositories_are_removed() {
        let dir = TempDir::new().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("repo")).unwrap();
        let cache = |name: &str, of: &str| Cache { dir: at("caches").join(name), of: at(of) };
        for (name, of) in [("used", "repo"), ("old", "repo"), ("orphan", "gone")] {
            let cache = cache(name, of);
            std::fs::create_dir_all(cache.dir.join("home/go/pkg")).unwrap();
            std::fs::write(cache.dir.join("home/go/pkg/mod"), "").unwrap();
            std::fs::write(cache.dir.join(OWNER), cache.of.as_os_str().as_encoded_bytes()).unwrap();
            let read_only = std::fs::Permissions::from_mode(0o500);
            std::fs::set_permissions(cache.dir.join("home/go/pkg"), read_only).unwrap();
        }
        std::fs::create_dir(at("caches/not-ours")).unwrap();
        age(&at("caches/old/repository"), UNUSED + YOUNG);
        age(&at("caches/used/repository"), UNUSED - YOUNG);
        cache("own", "repo").open().unwrap();
        let mut left: Vec<_> = entries(Some(&at("caches"))).collect();
        left.sort();
        assert_eq!(left, [MEASURED, "not-ours", "own", "used"].map(|name| at("caches").join(name)));
    }

    /// Caches with 64 kB in each of their folders, the first one in use.
    fn caches(dir: &Path, names: &[&str]) -> Vec<File> {
        std::fs::create_dir(dir.join("repo")).unwrap();
        let mut held = Vec::new();
        for (hours, name) in (1..=4).rev().zip(names) {
            let at = dir.join("caches").join(name);
            held.push(Cache { dir: at.clone(), of: dir.join("repo") }.open().unwrap().1);
            for folder in ["home", "fetched"] {
                std::fs::create_dir(at.join(folder)).unwrap();
                std::fs::write(at.join(folder).join("file"), [1; 64_000]).unwrap();
            }
            age(&at.join(OWNER), YOUNG * 60 * hours);
        }
        held.truncate(1);
        held
    }

    #[test]
    fn oversized_caches_are_removed_unless_in_use() {
        let dir = TempDir::new().unwrap();
        let at = |name: &str| dir.path().join("caches").join(name);
        let _held = caches(dir.path(), &["busy", "oldest", "newer", "own"]);
        bound(&at(""), &at("own"), 490_000);
        assert_eq!(
            ["busy", "oldest", "newer", "own"].map(|name| at(name).exists()),
            [true, false, true, true]
        );
        bound(&at(""), &at("own"), 1000);
        assert!(at("busy/home/file").exists() && !at("newer").exists());
        assert!(at("own/fetched/file").exists() && !at("own/home").exists());
    }

    #[test]
    fn empty_links_and_closed_files_count() {
        let dir = TempDir::new().unwrap();
        let at = |name: &str| dir.path().join("caches").join(name);
        let _held = caches(dir.path(), &["busy", "empty", "links", "closed"]);
        bound(&at(""), &at("closed"), 700_000);
        std::fs::create_dir(at("closed/home/shut")).unwrap();
        for n in 0..1000 {
            std::fs::write(at("empty/home").join(n.to_string()), "").unwrap();
            std::os::unix::fs::symlink("x", at("links/home").join(n.to_string())).unwrap();
        }
        std::fs::write(at("closed/home/shut/file"), [1; 700_000]).unwrap();
        let closed = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(at("closed/home/shut"), closed).unwrap();
        bound(&at(""), &at("busy"), 1_900_000);
        assert!(!at("empty").exists() && at("links").exists());
        bound(&at(""), &at("busy"), 1_300_000);
        assert!(!at("links").exists() && at("closed").exists());
        bound(&at(""), &at("busy"), 700_000);
        assert!(!at("closed").exists() && at("busy").exists());
    }

    #[test]
    fn temporary_directories_of_killed_runs_are_removed() {
        let dir = TempDir::new().unwrap();
        let at = |name: &str| dir.path().join(name);
        let mut locks = Vec::new();
        for name in ["cowork-living", "cowork-dead", "cowork-young", "other-dead"] {
            std::fs::create_dir(at(name)).unwrap();
            locks.push((name, lock(&at(name)).unwrap()));
        }
        std::fs::create_dir(at("cowork-without")).unwrap();
        locks.retain(|(name, _)| *name == "cowork-living");
        for name in ["cowork-living", "cowork-dead", "other-dead"] {
            age(&at(name).join(LOCK), 2 * YOUNG);
        }
        temporary(dir.path());
        let mut left: Vec<_> = entries(Some(dir.path())).collect();
        left.sort();
        let kept = ["cowork-living", "cowork-without", "cowork-young", "other-dead"];
        assert_eq!(left, kept.map(at));
    }
}
