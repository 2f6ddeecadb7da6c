//! Cleanup of files that runs leave outside the repository: caches no longer in use, and temporary
//! directories of killed runs.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Caches unused for this long are removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);
/// Maximum total size of the caches in bytes; caches in use are never removed.
const MOST_BYTES: u64 = 10 * 1024 * 1024 * 1024;
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
    let mut sizes: Vec<u64> = found.iter().map(|cache| size(cache)).collect();
    for at in 0..found.len() {
        if sizes.iter().sum::<u64>() <= most {
            return;
        }
        let Some(_unused) = lock_unused(&found[at]) else { continue };
        let gone = if found[at] == own { own.join("home") } else { found[at].clone() };
        tracing::info!("removing {}: the caches of commands are too big", gone.display());
        remove(&gone);
        sizes[at] = size(&found[at]);
    }
}

/// Returns the total size in bytes of the files below a directory.
fn size(dir: &Path) -> u64 {
    let (mut bytes, mut folders) = (0_u64, vec![dir.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in entries(Some(&folder)) {
            match path.symlink_metadata() {
                Ok(meta) if meta.is_dir() => folders.push(path),
                Ok(meta) => bytes = bytes.saturating_add(meta.len()),
                Err(_) => {}
            }
        }
    }
    bytes
}

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
fn remove(dir: &Path) {
    if std::fs::remove_dir_all(dir).is_ok() {
        return;
    }
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let _ = std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700));
        }
        folders.extend(entries(Some(&folder)).filter(|path| path.is_dir() && !path.is_symlink()));
    }
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

    #[test]
    fn oversized_caches_are_removed_unless_in_use() {
        let dir = TempDir::new().unwrap();
        std::fs::create_dir(dir.path().join("repo")).unwrap();
        let at = |name: &str| dir.path().join("caches").join(name);
        let cache = |name: &str| Cache { dir: at(name), of: dir.path().join("repo") };
        let mut held = Vec::new();
        for (name, hours) in [("busy", 4), ("oldest", 3), ("newer", 2), ("own", 1)] {
            held.push(cache(name).open().unwrap());
            for folder in ["home", "fetched"] {
                std::fs::create_dir(at(name).join(folder)).unwrap();
                std::fs::write(at(name).join(folder).join("file"), [0; 1000]).unwrap();
            }
            age(&at(name).join(OWNER), YOUNG * 60 * hours);
        }
        held.truncate(1);
        bound(&at(""), &at("own"), 7000);
        assert_eq!(
            ["busy", "oldest", "newer", "own"].map(|name| at(name).exists()),
            [true, false, true, true]
        );
        bound(&at(""), &at("own"), 1000);
        assert!(at("busy/home/file").exists() && !at("newer").exists());
        assert!(at("own/fetched/file").exists() && !at("own/home").exists());
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
