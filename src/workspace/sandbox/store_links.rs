//! Symbolic links in the files of an agent program that persist. The program's next run, and its
//! user's own, would write or read through a link that leads out of them, so such links of a run are
//! removed when it ends; if it was killed, by the next run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};

use super::own_files::OwnFiles;

/// File in the temporary directory of a run that has such files.
const NOTE: &str = "links.json";

/// The persistent folders of a run's program, and the links that were in them before. On drop, links
/// that were not and that lead out are removed.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct StoreLinks(Vec<Folder>);

/// A persistent folder.
#[derive(Serialize, Deserialize)]
struct Folder {
    /// Its path, with links resolved.
    at: PathBuf,
    /// Paths in it that the program cannot change, or that do not persist.
    shut: Vec<PathBuf>,
    /// The paths of the links that were in it, and their targets.
    known: BTreeMap<String, String>,
}

impl StoreLinks {
    /// Looks through these files, and notes what it finds in a run's temporary directory.
    pub(super) fn before(own: &[OwnFiles], temp: &Path) -> std::io::Result<Self> {
        let mut folders: Vec<Folder> = own.iter().flat_map(Folder::of).collect();
        for folder in &mut folders {
            let mut known = BTreeMap::new();
            folder.each_link(|_, _, path, target| {
                known.insert(text(path), text(target));
            });
            folder.known = known;
        }
        let links = Self(folders);
        if !links.0.is_empty() {
            fs::write(temp.join(NOTE), serde_json::to_vec(&links)?)?;
        }
        Ok(links)
    }

    /// What a killed run has noted in its temporary directory.
    pub(super) fn of_killed(temp: &Path) -> Self {
        let note = fs::read(temp.join(NOTE)).unwrap_or_default();
        serde_json::from_slice(&note).unwrap_or_default()
    }
}

impl Drop for StoreLinks {
    fn drop(&mut self) {
        for folder in &self.0 {
            folder.remove_new();
        }
    }
}

impl Folder {
    /// The persistent folders among a program's files.
    fn of(own: &OwnFiles) -> Vec<Self> {
        let real = |name: &String| own.at.join(name).canonicalize().ok();
        let shut: Vec<PathBuf> = own.fresh.iter().chain(&own.sealed).filter_map(real).collect();
        let folders = own.lasting.iter().filter_map(real).filter(|at| at.is_dir());
        folders.map(|at| Self { at, shut: shut.clone(), known: BTreeMap::new() }).collect()
    }

    fn remove_new(&self) {
        self.each_link(|dir, name, path, target| {
            let known = self.known.get(&text(path)).is_some_and(|known| *known == text(target));
            if known || self.holds(&lands(path, target)) {
                return;
            }
            match dir.remove_file(name) {
                Ok(()) => tracing::info!("removed the link {}: it leads out", path.display()),
                Err(error) => tracing::warn!("the link {} stays: {error}", path.display()),
            }
        });
    }

    /// True if a path is in the folder and persists.
    fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.at) && !self.shut.iter().any(|shut| path.starts_with(shut))
    }

    /// Calls `each` for the links in the folder with their directory, name, path and target. Leaves
    /// the folder by no link, also if another run of the program puts one into the way.
    fn each_link(&self, mut each: impl FnMut(&Dir, &Path, &Path, &Path)) {
        let Ok(top) = Dir::open_ambient_dir(&self.at, ambient_authority()) else { return };
        // Paths, since a program can make more folders than can be open at once.
        let mut folders = vec![PathBuf::from(".")];
        while let Some(folder) = folders.pop() {
            let Ok(dir) = top.open_dir(&folder) else { continue };
            for entry in dir.entries().into_iter().flatten().flatten() {
                let (name, kind) = (PathBuf::from(entry.file_name()), entry.file_type());
                let path = self.at.join(&folder).join(&name);
                match kind {
                    Ok(kind) if kind.is_dir() && !self.shut.contains(&path) => {
                        folders.push(folder.join(&name));
                    }
                    Ok(kind) if kind.is_symlink() => {
                        if let Ok(target) = dir.read_link_contents(&name) {
                            each(&dir, &name, &path, &target);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Where a link leads; what is not there yet is below the folder that is. The root if it goes up
/// again from there.
fn lands(link: &Path, target: &Path) -> PathBuf {
    let named = link.parent().unwrap_or(link).join(target);
    let there = named.ancestors().find_map(|path| Some((path, path.canonicalize().ok()?)));
    let rest = there.as_ref().and_then(|(path, _)| named.strip_prefix(path).ok());
    match (there.as_ref(), rest) {
        (Some((_, real)), Some(rest))
            if !rest.components().any(|one| one == Component::ParentDir) =>
        {
            real.join(rest)
        }
        _ => PathBuf::from("/"),
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_of_a_run_that_lead_out_are_removed_and_the_users_and_those_within_stay() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let at = |name: &str| top.join("own").join(name);
        for folder in ["talks/deep", "bin", "settings"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at("talks/one"), "").unwrap();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let links = [
            ("mine", "/etc/passwd", true),
            ("replaced", "one", true),
            ("deep/up", "../one", true),
            ("latest", "later", true),
            ("lock", "host-4711", true),
            ("whole", "/etc/passwd", false),
            ("deep/passwd", "/etc/passwd", false),
            ("settings", "../settings/new", false),
            ("missing", "/missing/file", false),
            ("over", "missing/../../settings", false),
            ("sealed", "bin/new", false),
        ];
        fs::create_dir_all(at("talks/bin")).unwrap();
        let own = OwnFiles {
            at: at(""),
            lasting: names(&["talks/", "login"]),
            sealed: names(&["talks/bin"]),
            ..OwnFiles::default()
        };
        for killed in [false, true] {
            let make = |(name, target, _): (&str, &str, bool)| {
                symlink(target, at("talks").join(name)).unwrap();
            };
            let _ = fs::remove_file(at("talks/replaced"));
            if !killed {
                make(links[0]);
            }
            symlink("/etc", at("talks/replaced")).unwrap();
            let before = StoreLinks::before(std::slice::from_ref(&own), &top).unwrap();
            fs::remove_file(at("talks/replaced")).unwrap();
            links[1..].iter().filter(|(.., stays)| !killed || !stays).copied().for_each(make);
            if killed {
                symlink("one", at("talks/replaced")).unwrap();
                std::mem::forget(before);
                drop(StoreLinks::of_killed(&top));
            } else {
                drop(before);
            }
            for (name, _, stays) in links {
                let is_there = at("talks").join(name).symlink_metadata().is_ok();
                assert_eq!(is_there, stays, "{name}, killed: {killed}");
            }
        }
    }
}
