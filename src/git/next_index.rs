//! The index after a commit, written in process: the previous one, with the committed paths as they
//! are in the commit. It is locked in the same way as by git.

use std::fs::{self, Metadata};
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use git2::{Index, IndexEntry, IndexTime};

use super::Git;
use super::index::{SUBMODULE, mark};
use super::libgit2::raw;
use super::locks::with_lock;
use crate::git::{blobs, index, plain, state};

/// Optional parts of an index that libgit2 does not preserve.
const LOST: [&[u8]; 4] = [b"UNTR", b"FSMN", b"EOIE", b"IEOT"];

/// The new index entry of a path: the metadata that the file had before it was read, its mode and
/// its blob; `None` to remove the entry.
pub(super) type Entry = Option<(Metadata, u32, git2::Oid)>;

/// The next index, written beside the current one, which is locked. It can be dropped, with nothing
/// changed, until [`Self::replace`] is called.
pub(super) struct NextIndex {
    index: PathBuf,
    lock: PathBuf,
    next: PathBuf,
}

impl NextIndex {
    /// Locks the index, and writes the next one beside it.
    ///
    /// # Errors
    /// The index is locked, or only git can write it.
    pub(super) fn write(git: &Git, entries: &[(String, Entry)]) -> Result<Self> {
        let index = index::file(git);
        let lock = with_lock(&index);
        // Git's name for the next index of `commit --only`.
        let next = index.with_file_name(format!("next-index-{}.lock", std::process::id()));
        fs::File::create_new(&lock).with_context(|| format!("creating {}", lock.display()))?;
        let this = Self { index, lock, next };
        this.fill(git, entries)?;
        Ok(this)
    }

    /// Replaces the index, then unlocks it.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub(super) fn replace(self) -> Result<()> {
        fs::rename(&self.next, &self.index).context("replacing the index")?;
        fs::remove_file(&self.lock).context("unlocking the index")
    }

    fn fill(&self, git: &Git, entries: &[(String, Entry)]) -> Result<()> {
        let written = modified(&fs::metadata(&self.index)?).map_or(0, |(seconds, _)| seconds);
        let bytes = fs::read(&self.index)?;
        let keeps = |part: &&[u8]| memchr::memmem::find(&bytes, part).is_none();
        ensure!(LOST.iter().all(keeps), "the index has extensions that would be lost");
        fs::write(&self.next, bytes)?;
        let mut index = Index::open_ext(&self.next, git.format.of_objects())?;
        // Remove the file, so that writing the new index does not replace it: ext4 flushes a file
        // that replaces another to disk at once. Only the index itself is worth that.
        fs::remove_file(&self.next)?;
        ensure!(!index.has_conflicts(), "there are conflicts");
        for (path, entry) in entries {
            match entry {
                Some((meta, mode, blob)) => {
                    index.add(&entry_of(path.as_bytes(), meta, *mode, *blob)?)?
                }
                None => index.remove_path(path.as_ref())?,
            }
        }
        distrust(git, &mut index, written)?;
        Ok(index.write()?)
    }
}

impl Drop for NextIndex {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.next);
        let _ = fs::remove_file(&self.lock);
    }
}

/// A file that was written in the same second as the index, or later, may have been written again
/// with the same time and size. While the index is older than the file, git compares the content.
/// The next index is newer, so its writer has to compare, and sets the size of a changed file to 0
/// (<https://git-scm.com/docs/racy-git>).
fn distrust(git: &Git, index: &mut Index, written: i64) -> Result<()> {
    let may_hide = |entry: &IndexEntry| {
        let young = i64::from(entry.mtime.seconds()) >= written;
        young && entry.file_size != 0 && entry.mode != SUBMODULE && mark(entry).is_none()
    };
    let young: Vec<IndexEntry> = index.iter().filter(may_hide).collect();
    let sources = plain::plain_sources(git);
    for mut entry in young {
        let path = std::str::from_utf8(&entry.path)?;
        let same = match state::lies_at(git, path) {
            // A deleted file needs no comparison.
            None => true,
            Some(meta) if meta.is_dir() => true,
            Some(meta) => {
                let blob = blobs::blob_as_it_lies(git, sources.as_ref(), path, &meta);
                raw(&blob.context("only git can hash the file")?)? == entry.id
            }
        };
        if !same {
            entry.file_size = 0;
            index.add(&entry)?;
        }
    }
    Ok(())
}

/// The index entry of a file with this metadata.
#[cfg(unix)]
pub(super) fn entry_of(
    path: &[u8],
    meta: &Metadata,
    mode: u32,
    id: git2::Oid,
) -> Result<IndexEntry> {
    use std::os::unix::fs::MetadataExt as _;
    // Like git, store only the lower 32 bits of these numbers.
    #[expect(clippy::cast_possible_truncation, reason = "the index has 32 bits for each")]
    #[expect(clippy::cast_sign_loss, reason = "nanoseconds are not negative")]
    let (time, low) = (|s: i64, n: i64| IndexTime::new(s as i32, n as u32), |n: u64| n as u32);
    Ok(IndexEntry {
        ctime: time(meta.ctime(), meta.ctime_nsec()),
        mtime: time(meta.mtime(), meta.mtime_nsec()),
        dev: low(meta.dev()),
        ino: low(meta.ino()),
        mode,
        uid: meta.uid(),
        gid: meta.gid(),
        file_size: low(meta.len()),
        id,
        flags: 0,
        flags_extended: 0,
        path: path.to_owned(),
    })
}

#[cfg(not(unix))]
pub(super) fn entry_of(
    _path: &[u8],
    _meta: &Metadata,
    _mode: u32,
    _id: git2::Oid,
) -> Result<IndexEntry> {
    anyhow::bail!("only git can write an index entry on this system")
}

/// The time of a file's last change, in seconds and nanoseconds; `None` if git cannot compare it on
/// this system.
#[cfg(unix)]
pub(super) fn modified(meta: &Metadata) -> Option<(i64, i64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((meta.mtime(), meta.mtime_nsec()))
}

#[cfg(not(unix))]
pub(super) fn modified(_meta: &Metadata) -> Option<(i64, i64)> {
    None
}
