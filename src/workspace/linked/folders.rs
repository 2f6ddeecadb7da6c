//! Ignored folders that a build needs (dependencies and build output), provided in a linked working
//! tree: mounted as overlays, or else copied, so that a program can use them without changing the
//! originals.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::languages;
use crate::workspace::effects::repositories::ctime;
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
        let copied = room.hold(&source).and_then(|()| mirror(&source, &target, None, &|_| false));
        if let Err(error) = copied {
            // A partial copy would be worse than none.
            let _ = fs::remove_dir_all(&target);
            left_out.push((path.clone(), error.to_string()));
        }
    }
    left_out
}

/// The remaining allowance for copies.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) bytes: u64,
    pub(super) entries: usize,
}

impl Room {
    /// Deducts the size of a file or folder; fails if the allowance is too small.
    pub(super) fn hold(&mut self, path: &Path) -> io::Result<()> {
        let mut left = *self;
        let mut paths = vec![path.to_owned()];
        while let Some(path) = paths.pop() {
            let metadata = path.symlink_metadata()?;
            if metadata.is_dir() {
                let entries = fs::read_dir(&path)?.map(|entry| entry.map(|entry| entry.path()));
                paths.extend(entries.collect::<io::Result<Vec<_>>>()?);
            }
            let size = if metadata.is_file() { metadata.len() } else { 0 };
            let room = left.bytes.checked_sub(size).zip(left.entries.checked_sub(1));
            let Some((bytes, entries)) = room else {
                let room = self.bytes.div_ceil(1 << 20);
                let text = format!("more than {room} MiB are too much to copy");
                return Err(io::Error::other(text));
            };
            left = Self { bytes, entries };
        }
        *self = left;
        Ok(())
    }
}

/// Makes `to` like `from`: a file, or a folder with all in it but what `is_left_out` accepts. With
/// `since`, only where `from` has changed after that time. Links stay links; other special files are
/// omitted.
pub(super) fn mirror(
    from: &Path,
    to: &Path,
    since: Option<SystemTime>,
    is_left_out: &dyn Fn(&Path) -> bool,
) -> io::Result<()> {
    let now = from.symlink_metadata()?;
    let there = to.symlink_metadata().ok();
    let is_newer = since.is_none_or(|since| ctime(&now) > Some(since));
    if is_left_out(from) || there.is_none() && !is_newer {
        return Ok(());
    }
    let is_kind = |there: &fs::Metadata| there.file_type() == now.file_type();
    if let Some(there) = there.as_ref().filter(|there| !is_kind(there)) {
        if !is_newer {
            return Ok(());
        }
        if there.is_dir() { fs::remove_dir_all(to)? } else { fs::remove_file(to)? }
    }
    if now.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            mirror(&from.join(&name), &to.join(&name), since, is_left_out)?;
        }
        for entry in fs::read_dir(to)?.filter(|_| is_newer) {
            let entry = entry?;
            if from.join(entry.file_name()).symlink_metadata().is_err() {
                match entry.file_type()?.is_dir() {
                    true => fs::remove_dir_all(entry.path())?,
                    false => fs::remove_file(entry.path())?,
                }
            }
        }
        return Ok(());
    }
    if !is_newer {
        return Ok(());
    }
    let there = there.filter(is_kind);
    if now.is_symlink() {
        let target = fs::read_link(from)?;
        if there.is_some() && fs::read_link(to)? == target {
            return Ok(());
        }
        let _ = fs::remove_file(to);
        #[cfg(unix)]
        std::os::unix::fs::symlink(target, to)?;
    } else if now.is_file() {
        let is_same = |there: &fs::Metadata| {
            there.len() == now.len()
                && there.modified().ok() == now.modified().ok()
                && there.permissions() == now.permissions()
        };
        if !there.as_ref().is_some_and(is_same) {
            let _ = fs::remove_file(to);
            // Shares blocks with the original on a copy-on-write file system.
            copy_file(from, to)?;
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
