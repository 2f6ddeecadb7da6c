//! Homes: of what a person keeps there, commands see only what was named for them (`installed`, and
//! the user's own setting), whatever program keeps its logins there tomorrow.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::covers::Cover;

/// A home that is one of these, in one of them or above one is no person's: commands need what is
/// there.
const OF_SYSTEM: [&str; 10] =
    ["/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/dev", "/proc", "/sys"];
/// The list of users, with their homes.
const USERS: &str = "/etc/passwd";

/// The homes of who runs this that can be closed: by the environment `env`, and by the system's list
/// of users. One that holds something in `needed` as a whole, or is in it, stays open.
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

/// The home that the system's list of users has for this one.
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
    fn a_home_is_closed_unless_all_of_it_is_needed_or_it_is_the_systems() {
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
