//! What git ignores and a build needs, dependencies and what was built, in a linked working tree: shown
//! there by the kernel, or else copied, so that a program finds it and changes nobody else's.

use std::fs;
use std::io;
use std::path::Path;

use crate::languages;
use crate::workspace::sandbox::Overlay;
use crate::workspace::working_tree::WorkingTree;

/// Bytes that are copied in all, at most.
const MOST: u64 = 1 << 30;
/// Files and folders that are copied in all, at most.
const ENTRIES: usize = 200_000;
/// Where build tools put what they make.
const BUILT: [&str; 8] = ["target", "build", "dist", "out", "vendor", ".gradle", ".next", ".tox"];

/// A folder that is not in the linked working tree, and why.
pub type LeftOut = (String, String);

/// The folders of dependencies and of what was built, of those that git `ignored`.
pub(super) fn for_builds(tree: &WorkingTree, ignored: &[String]) -> Vec<String> {
    let folders = ignored.iter().filter_map(|path| path.strip_suffix('/'));
    let folders = folders.filter(|path| is_for_builds(path) && !tree.private.has(path));
    let there = folders.filter(|path| tree.look(path).is_ok_and(|found| found.is_dir()));
    there.map(str::to_owned).collect()
}

fn is_for_builds(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut known = languages::ALL.iter();
    BUILT.contains(&name) || known.any(|language| language.foreign_folders.contains(&name))
}

/// How the kernel shows these folders in the tree `into`; the changes go below `notes`.
pub(super) fn overlays(
    tree: &WorkingTree,
    into: &Path,
    notes: &Path,
    folders: &[String],
) -> io::Result<Vec<Overlay>> {
    let mut overlays = Vec::new();
    for path in folders {
        // The same for each conversation of a run, whatever else there is by then.
        let name = path.replace('%', "%25").replace('/', "%2F");
        let own = |kind: &str| notes.join(kind).join(&name);
        let one = Overlay {
            at: into.join(path),
            of: tree.root.join(path),
            changes: own("changes"),
            work: own("work"),
        };
        for folder in [&one.at, &one.changes, &one.work] {
            fs::create_dir_all(folder)?;
        }
        overlays.push(one);
    }
    Ok(overlays)
}

/// Lets what the kernel keeps for overlays be removed: it has a folder there that nobody may open.
#[cfg(unix)]
pub fn open_overlay_work(notes: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let entries = fs::read_dir(notes.join("work")).into_iter().flatten().flatten();
    for work in entries.map(|entry| entry.path().join("work")) {
        // Not there where nothing was shown.
        let _ = fs::set_permissions(work, fs::Permissions::from_mode(0o700));
    }
}

/// Nothing to do here.
#[cfg(not(unix))]
pub fn open_overlay_work(_notes: &Path) {}

/// Where the file system can, a copy takes no room. Answers with the folders that were left out.
pub(super) fn copy_folders(tree: &WorkingTree, into: &Path, folders: &[String]) -> Vec<LeftOut> {
    let mut left_out = Vec::new();
    let mut room = Room { bytes: MOST, entries: ENTRIES };
    for path in folders {
        let (source, target) = (tree.root.join(path), into.join(path));
        let mut needs = Room { ..room };
        let copied = match needs.take(&source) {
            Ok(true) => {
                room = needs;
                copy(&source, &target)
            }
            Ok(false) => Err(io::Error::other(format!("it is larger than {} GiB", MOST >> 30))),
            Err(error) => Err(error),
        };
        if let Err(error) = copied {
            // Half of it would be worse than none.
            let _ = fs::remove_dir_all(&target);
            left_out.push((path.clone(), error.to_string()));
        }
    }
    left_out
}

/// How much may still be copied.
struct Room {
    bytes: u64,
    entries: usize,
}

impl Room {
    /// Takes the room that a folder needs; false where there is not so much.
    fn take(&mut self, folder: &Path) -> io::Result<bool> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            let Some(entries) = self.entries.checked_sub(1) else { return Ok(false) };
            self.entries = entries;
            if metadata.is_dir() {
                if !self.take(&entry.path())? {
                    return Ok(false);
                }
            } else if metadata.is_file() {
                let Some(bytes) = self.bytes.checked_sub(metadata.len()) else { return Ok(false) };
                self.bytes = bytes;
            }
        }
        Ok(true)
    }
}

/// Links stay links; what is neither a file, a folder nor a link is left out.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_file() {
            // Shares its blocks with the original where the file system can.
            copy_file(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, &target)?;
        }
    }
    Ok(())
}

/// A copy with the time of the original, by which build tools tell what is up to date.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    let modified = fs::metadata(from)?.modified()?;
    match fs::File::options().write(true).open(to) {
        Ok(file) => file.set_modified(modified),
        // A read-only file keeps the time of its copy.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    }
}
