//! What a program keeps in a home for itself: its login and its conversations last. What configures it,
//! hooks and commands included, runs later as the user, so it stays as it is: with mounts of its own the
//! program has a private copy, which is thrown away, else it only reads.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::covers::Cover;

/// A larger file is not copied.
const FILE_MAX: u64 = 8 * 1024 * 1024;
/// A copy of a database that somebody writes to is broken.
const DATABASE: &str = ".sqlite";

/// A folder or file of a program's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnFiles {
    /// Where it is.
    pub at: PathBuf,
    /// It is a file, of which the program gets a private copy.
    pub is_file: bool,
    /// Names in it whose changes last; folders, which are made, have a slash at their end. An empty one is
    /// all of it.
    pub lasting: Vec<String>,
    /// Names in it of folders that are empty, and the program's for one conversation.
    pub fresh: Vec<String>,
    /// Folders in what lasts that are only read.
    pub sealed: Vec<String>,
}

/// How a program sees all of them.
#[derive(Default)]
pub(super) struct LentFiles {
    /// What is mounted, where there are mounts.
    pub(super) covers: Vec<Cover>,
    /// Else what it writes to.
    pub(super) writable: Vec<PathBuf>,
    /// And what it reads.
    pub(super) readable: Vec<PathBuf>,
    /// Where they are.
    pub(super) places: Vec<PathBuf>,
}

/// How they are seen by a program that has mounts: copies are made in `copies`. Below one of the `homes`,
/// which are closed, links are not there.
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

/// The same for a program that has none.
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

/// The path; where something of these is in it, what else is there.
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

/// A name below the place, what is seen there, and whether that is only read.
type Seen = (PathBuf, PathBuf, bool);

impl OwnFiles {
    /// Makes its folders, and answers with where it is; nowhere where it is not.
    fn make(&self) -> Option<PathBuf> {
        if !self.is_file {
            // Where all of it lasts, something is mounted on these.
            let fresh = self.fresh.iter().filter(|_| self.is_whole());
            let lasting = self.lasting.iter().filter(|name| name.ends_with('/'));
            let within = lasting.chain(&self.sealed).chain(fresh).map(|name| self.at.join(name));
            for folder in [self.at.clone()].into_iter().chain(within) {
                if let Err(error) = fs::create_dir_all(&folder) {
                    tracing::info!("{} is not there: {error}", folder.display());
                }
            }
        }
        let real = self.at.canonicalize().ok()?;
        (real.is_file() == self.is_file && real != Path::new("/")).then_some(real)
    }

    /// All of it lasts.
    fn is_whole(&self) -> bool {
        self.lasting.iter().any(String::is_empty)
    }

    /// What a program sees of what is at `real`, with its own in `copy`.
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

    /// Copies the files that lie directly in it; its other folders are only read.
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
                // One that this user cannot read is of no use to the program either.
                if let Err(error) = fs::copy(entry.path(), own.join(&name)) {
                    tracing::info!("{} is not seen: {error}", entry.path().display());
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
    fn what_configures_is_a_copy_or_only_read_and_what_lasts_is_in_place() {
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
    fn without_mounts_only_what_lasts_is_written() {
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
