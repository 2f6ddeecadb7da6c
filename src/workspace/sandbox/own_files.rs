//! Files of an agent program in a home directory. Its credentials and conversations persist. Its
//! configuration, which includes hooks and commands that later run as the user, must not change:
//! with its own mounts the program gets a private copy that is discarded; without, it can only
//! read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::covers::Cover;

/// Larger files are not copied.
const FILE_MAX: u64 = 8 * 1024 * 1024;
/// Databases are not copied: a copy of one that is being written is corrupt.
const DATABASE: &str = ".sqlite";

/// A folder or file that belongs to a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnFiles {
    /// Its path.
    pub at: PathBuf,
    /// True for a file: the program gets a private copy of it. False for a folder.
    pub is_file: bool,
    /// Names in the folder whose changes persist; names of folders (created if missing) end with a
    /// slash. An empty name means the whole folder.
    pub lasting: Vec<String>,
    /// Names of folders in it that start empty and are private to one conversation.
    pub fresh: Vec<String>,
    /// Read-only folders inside the persistent ones.
    pub sealed: Vec<String>,
}

/// How a program sees these files.
#[derive(Default)]
pub(super) struct LentFiles {
    /// Mounts, if mounts are available.
    pub(super) covers: Vec<Cover>,
    /// Without mounts: writable paths.
    pub(super) writable: Vec<PathBuf>,
    /// Without mounts: readable paths.
    pub(super) readable: Vec<PathBuf>,
    /// The paths of the files and folders themselves.
    pub(super) places: Vec<PathBuf>,
}

/// Returns the files as mounted for a program with its own mounts; copies are created in `copies`.
/// A path that is a link in one of the closed `homes`, where links are not visible, is mounted both
/// at the link's path and at its target's.
pub(super) fn mounted(all: &[OwnFiles], homes: &[PathBuf], copies: &Path) -> io::Result<LentFiles> {
    let mut lent = LentFiles::default();
    for (number, own) in all.iter().enumerate() {
        let Some(real) = own.make() else { continue };
        let named = own.at.parent().and_then(|above| above.canonicalize().ok());
        let named = named.zip(own.at.file_name()).map(|(above, name)| above.join(name));
        let is_closed = |path: &PathBuf| homes.iter().any(|home| path.starts_with(home));
        let named = named.filter(|named| *named != real && is_closed(named));
        let seen = own.seen(&real, &copies.join(number.to_string()))?;
        for place in [real].into_iter().chain(named) {
            lent.covers.extend(seen.iter().map(|(name, with, read_only)| Cover {
                at: if name.as_os_str().is_empty() { place.clone() } else { place.join(name) },
                with: Some(with.clone()),
                read_only: *read_only,
            }));
            lent.places.push(place);
        }
    }
    Ok(lent)
}

/// Returns the files for a program without mounts.
pub(super) fn by_rules(all: &[OwnFiles]) -> LentFiles {
    let mut lent = LentFiles::default();
    for own in all {
        let Some(real) = own.make() else { continue };
        let shut: Vec<PathBuf> =
            own.fresh.iter().chain(&own.sealed).map(|name| real.join(name)).collect();
        let lasting = own.lasting.iter().filter_map(|name| real.join(name).canonicalize().ok());
        lasting.for_each(|path| but(path, &shut, &mut lent.writable));
        lent.readable.push(real.clone());
        lent.places.push(real);
    }
    lent
}

/// Collects the path, or, if it contains a path in `shut`, its other entries.
fn but(path: PathBuf, shut: &[PathBuf], into: &mut Vec<PathBuf>) {
    if shut.contains(&path) {
        return;
    }
    if !shut.iter().any(|one| one.starts_with(&path)) {
        return into.push(path);
    }
    let entries = fs::read_dir(&path).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink())) {
        but(entry.path(), shut, into);
    }
}

/// A name in the folder, the path shown there, and whether it is read-only.
type Seen = (PathBuf, PathBuf, bool);

impl OwnFiles {
    /// Creates missing folders and returns `at` with links resolved; `None` if there is no such
    /// file or folder.
    fn make(&self) -> Option<PathBuf> {
        if !self.is_file {
            // If the whole folder persists, these folders are mount points.
            let fresh = self.fresh.iter().filter(|_| self.is_whole());
            let lasting = self.lasting.iter().filter(|name| name.ends_with('/'));
            let within = lasting.chain(&self.sealed).chain(fresh).map(|name| self.at.join(name));
            for folder in [self.at.clone()].into_iter().chain(within) {
                if let Err(error) = fs::create_dir_all(&folder) {
                    tracing::info!("cannot create {}: {error}", folder.display());
                }
            }
        }
        let real = self.at.canonicalize().ok()?;
        (real.is_file() == self.is_file && real != Path::new("/")).then_some(real)
    }

    /// True if the whole folder persists.
    fn is_whole(&self) -> bool {
        self.lasting.iter().any(String::is_empty)
    }

    /// Returns what the program sees of `real`; private copies are created in `copy`.
    fn seen(&self, real: &Path, copy: &Path) -> io::Result<Vec<Seen>> {
        if self.is_file {
            fs::create_dir_all(copy)?;
            let own = copy.join("file");
            fs::copy(real, &own)?;
            return Ok(vec![(PathBuf::new(), own, false)]);
        }
        let own = copy.join("folder");
        fs::create_dir_all(&own)?;
        let mut seen: Vec<Seen> = Vec::new();
        match self.is_whole() {
            true => {
                seen.push((PathBuf::new(), real.to_owned(), false));
                for name in &self.fresh {
                    fs::create_dir_all(own.join(name))?;
                    seen.push((name.into(), own.join(name), false));
                }
            }
            false => {
                seen.push((PathBuf::new(), own.clone(), false));
                self.copy(real, &own, &mut seen)?;
                for name in &self.lasting {
                    if let Ok(with) = real.join(name).canonicalize() {
                        seen.push((name.into(), with, false));
                    }
                }
            }
        }
        let sealed = self.sealed.iter().map(|name| (name, real.join(name).canonicalize()));
        seen.extend(sealed.filter_map(|(name, with)| Some((name.into(), with.ok()?, true))));
        Ok(seen)
    }

    /// Copies the files at the top level of the folder; other folders are shown read-only.
    fn copy(&self, real: &Path, own: &Path, seen: &mut Vec<Seen>) -> io::Result<()> {
        let is_of = |names: &[String], name: &str| {
            names.iter().any(|other| other.trim_end_matches('/') == name)
        };
        for entry in fs::read_dir(real)?.flatten() {
            let name = entry.file_name();
            let text = name.to_string_lossy();
            let Ok(found) = fs::metadata(entry.path()) else { continue };
            if is_of(&self.lasting, &text) {
                continue;
            } else if is_of(&self.fresh, &text) {
                fs::create_dir_all(own.join(&name))?;
            } else if found.is_dir() {
                seen.push((PathBuf::from(&name), entry.path().canonicalize()?, true));
            } else if found.is_file() && found.len() <= FILE_MAX && !text.contains(DATABASE) {
                // A file unreadable to this user is useless to the program.
                if let Err(error) = fs::copy(entry.path(), own.join(&name)) {
                    tracing::info!("cannot copy {}: {error}", entry.path().display());
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn own(at: &Path) -> OwnFiles {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        OwnFiles {
            at: at.to_owned(),
            lasting: names(&["sessions/", "auth.json", "tmp/"]),
            fresh: names(&["log"]),
            sealed: names(&["tmp/bin"]),
            ..OwnFiles::default()
        }
    }

    #[test]
    fn configuration_is_copied_or_read_only_and_persistent_files_are_in_place() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (at, copies) = (top.join("home/.own"), top.join("copies"));
        for folder in ["plugins", "log"] {
            fs::create_dir_all(at.join(folder)).unwrap();
        }
        for file in ["config.toml", "auth.json", "state.sqlite-wal"] {
            fs::write(at.join(file), file).unwrap();
        }
        let link = top.join("home/link");
        std::os::unix::fs::symlink(&at, &link).unwrap();
        let homes = [top.join("home")];
        let lent = mounted(&[own(&link)], &homes, &copies).unwrap();
        assert_eq!(lent.places, [at.clone(), link.clone()]);
        let mut seen: Vec<_> =
            lent.covers.iter().filter(|cover| cover.at.starts_with(&link)).collect();
        seen.sort_by(|a, b| a.at.cmp(&b.at));
        let text = |cover: &&Cover| {
            let with = cover.with.as_ref().unwrap().strip_prefix(&top).unwrap();
            let at = cover.at.strip_prefix(&link).unwrap().display();
            format!("{at}: {}{}", with.display(), if cover.read_only { ", read" } else { "" })
        };
        let seen: Vec<String> = seen.iter().map(text).collect();
        let expected = [
            ": copies/0/folder",
            "auth.json: home/.own/auth.json",
            "plugins: home/.own/plugins, read",
            "sessions: home/.own/sessions",
            "tmp: home/.own/tmp",
            "tmp/bin: home/.own/tmp/bin, read",
        ];
        assert_eq!(seen, expected);
        let copied = fs::read_dir(copies.join("0/folder")).unwrap().flatten();
        let mut copied: Vec<_> = copied.map(|entry| entry.file_name()).collect();
        copied.sort();
        assert_eq!(copied, ["config.toml", "log"]);
    }

    #[test]
    fn without_mounts_only_persistent_files_are_writable() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().canonicalize().unwrap();
        for file in ["config.toml", "auth.json"] {
            fs::write(at.join(file), file).unwrap();
        }
        fs::create_dir_all(at.join("tmp/project")).unwrap();
        let lent = by_rules(&[own(&at)]);
        let mut writable = lent.writable;
        writable.sort();
        assert_eq!(writable, ["auth.json", "sessions", "tmp/project"].map(|name| at.join(name)));
        let whole =
            OwnFiles { lasting: vec![String::new()], sealed: vec!["tmp".into()], ..own(&at) };
        let mut writable = by_rules(&[whole]).writable;
        writable.sort();
        let others = ["auth.json", "config.toml", "sessions"];
        assert_eq!(writable, others.map(|name| at.join(name)));
        assert!(at.join("log").is_dir());
    }
}
