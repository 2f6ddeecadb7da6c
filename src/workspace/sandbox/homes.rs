//! Home directories: commands see only the allowed paths in them (`toolchains`, and the user's
//! own setting), whichever files programs use for credentials.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::covers::Cover;

/// A home equal to, inside or above one of these is a system directory, which commands need.
const OF_SYSTEM: [&str; 10] =
    ["/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/dev", "/proc", "/sys"];
/// The list of users with their homes.
const USERS: &str = "/etc/passwd";

/// Returns the current user's homes that can be closed: from `env` and from the system's list of
/// users. A home that is, or is inside, one of `needed` stays open.
pub(super) fn closed(
    env: &BTreeMap<OsString, OsString>,
    covers: &[Cover],
    needed: &[PathBuf],
) -> Vec<PathBuf> {
    let system = OF_SYSTEM.map(|path| Path::new(path).canonicalize().unwrap_or_default());
    let is_apart = |home: &PathBuf| {
        let of_system = |path: &Path| path.starts_with(home) || home.starts_with(path);
        !system.iter().any(|path| of_system(path))
            && !covers.iter().any(|cover| cover.at.starts_with(home))
            && !needed.iter().any(|needed| home.starts_with(needed))
    };
    let own = env.get(OsStr::new("HOME")).map(PathBuf::from);
    let homes = own.into_iter().chain(listed()).filter(|home| home.is_absolute());
    let real = homes.filter_map(|home| home.canonicalize().ok()).filter(|home| home.is_dir());
    let mut closed: Vec<_> = real.filter(is_apart).collect();
    closed.sort();
    closed.dedup();
    closed
}

/// The current user's home in the system's list of users.
#[cfg(unix)]
fn listed() -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw().to_string();
    let list = std::fs::read_to_string(USERS).ok()?;
    let line = list.lines().find(|line| line.split(':').nth(2) == Some(&user))?;
    line.split(':').nth(5).map(PathBuf::from)
}

#[cfg(not(unix))]
fn listed() -> Option<PathBuf> {
    None
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_closed_unless_needed_as_a_whole_or_a_system_directory() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let home = top.join("home");
        std::fs::create_dir_all(home.join("tree")).unwrap();
        let of = |home: &Path, needed: &Path| {
            let env = BTreeMap::from([("HOME".into(), home.into())]);
            closed(&env, &[], &[needed.to_owned()]).contains(&home.canonicalize().unwrap())
        };
        assert!(of(&home, &home.join("tree")) && of(&home, Path::new("/elsewhere")));
        assert!(!of(&home, &home) && !of(&home, &top));
        for system in ["/", "/usr", "/usr/bin"] {
            assert!(!of(Path::new(system), &top), "{system}");
        }
    }
}
