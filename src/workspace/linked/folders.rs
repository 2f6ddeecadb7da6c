//! Ignored folders that a build needs (dependencies and build output), provided in a linked working
//! tree: mounted as overlays, or else copied, so that a program can use them without changing the
//! originals.

use std::fs;
use std::io;
use std::path::Path;

use crate::languages;
use crate::workspace::sandbox::Overlay;
use crate::workspace::working_tree::WorkingTree;

/// Maximum total size of the copies in bytes.
const MOST: u64 = 1 << 30;
/// Maximum total number of files and folders copied.
const ENTRIES: usize = 200_000;
/// Folders with the output of build tools.
const BUILT: [&str; 8] = ["target", "build", "dist", "out", "vendor", ".gradle", ".next", ".tox"];

/// A folder that is missing in the linked working tree, and the reason.
pub type LeftOut = (String, String);

/// Returns the folders of dependencies and build output among the `ignored` paths.
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

/// Returns the overlays that show these folders in the tree `into`; changes are stored below
/// `notes`.
pub(super) fn overlays(
    tree: &WorkingTree,
    into: &Path,
    notes: &Path,
    folders: &[String],
) -> io::Result<Vec<Overlay>> {
    let mut overlays = Vec::new();
    for path in folders {
        // The name is the same in each conversation of a run, whatever other folders exist.
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

/// Gives the owner all rights to a folder and those in it: the kernel makes one in each overlay's work
/// folder that nobody can open, and a program may have closed the folders of its tree to itself.
#[cfg(unix)]
pub fn open_folders(top: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    const OWNER: u32 = 0o700;
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(found) = folder.symlink_metadata() else { continue };
        let mode = found.permissions().mode();
        if mode & OWNER != OWNER
            && let Err(error) =
                fs::set_permissions(&folder, fs::Permissions::from_mode(mode | OWNER))
        {
            tracing::debug!("{} stays closed: {error}", folder.display());
        }
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.extend(inner.map(|entry| entry.path()));
    }
}

/// Modes of folders are not known here.
#[cfg(not(unix))]
pub fn open_folders(_top: &Path) {}

/// Copies the folders; a copy-on-write file system shares their blocks. Returns the omitted
/// folders.
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
            // A partial copy would be worse than none.
            let _ = fs::remove_dir_all(&target);
            left_out.push((path.clone(), error.to_string()));
        }
    }
    left_out
}

/// The remaining allowance for copies.
struct Room {
    bytes: u64,
    entries: usize,
}

impl Room {
    /// Deducts the size of a folder; false if the allowance is too small.
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

/// Copies a folder. Links stay links; other special files are omitted.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_file() {
            // Shares blocks with the original on a copy-on-write file system.
            copy_file(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, &target)?;
        }
    }
    Ok(())
}

/// Copies a file with its modification time, by which build tools detect what is up to date.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    let modified = fs::metadata(from)?.modified()?;
    match fs::File::options().write(true).open(to) {
        Ok(file) => file.set_modified(modified),
        // The copy of a read-only file cannot be opened to set its time, so it looks new.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    }
}
