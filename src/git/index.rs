//! Properties of index entries besides their content: which are marked so that `git status` hides
//! them, which are submodules, which are attributes files. Read in process, once for each index
//! file; by the binary if libgit2 does not support the format (a split or a sparse index).

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use git2::{Index, IndexEntry, IndexTime};

use super::output::{lossy, nul_texts};
use super::shared::Shared;
use super::snapshot::relative;
use super::{Git, Hidden};
use crate::git::{blobs, next_index};

/// The name of an attributes file.
const ATTRIBUTES: &str = ".gitattributes";

/// The mode of a submodule.
pub(super) const SUBMODULE: u32 = 0o160_000;

/// Bits of an entry (gitformat-index(5)).
const ASSUMED: u16 = 0x8000;
const SKIPPED: u16 = 1 << 14;

/// The facts of the index file that was read last.
pub(super) type Known = Shared<Mutex<Option<Read>>>;

/// The stamp of an index file, and its facts.
pub(super) type Read = (Stamp, Arc<Facts>);

/// The marked entries, sorted by path.
pub(super) type Marked = Vec<(String, Hidden)>;

/// The properties of the entries of one index file.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The entries whose changes `git status` does not list.
    pub(super) marked: Marked,
    /// Only if libgit2 could read the index.
    pub(super) more: Option<More>,
    /// All paths, once they have been requested.
    paths: OnceLock<Vec<String>>,
}

#[derive(Debug, Default)]
pub(super) struct More {
    /// The paths of submodules.
    pub(super) submodules: BTreeSet<String>,
    /// The folders with an attributes file; the empty string is the top.
    pub(super) attributes: BTreeSet<String>,
}

/// Metadata that distinguishes a file from a later file with the same name.
pub(super) type Stamp = (SystemTime, u64, [i64; 3]);

/// The stamp of a file; `None` if there is none.
pub(super) fn stamp(file: &Path) -> Option<Stamp> {
    stamp_of(&std::fs::metadata(file).ok()?)
}

/// The stamp of a file with this metadata.
pub(super) fn stamp_of(meta: &Metadata) -> Option<Stamp> {
    #[cfg(unix)]
    let number = {
        use std::os::unix::fs::MetadataExt as _;
        [i64::from_ne_bytes(meta.ino().to_ne_bytes()), meta.ctime(), meta.ctime_nsec()]
    };
    #[cfg(not(unix))]
    let number = [0; 3];
    Some((meta.modified().ok()?, meta.len(), number))
}

/// The facts of the current index.
///
/// # Errors
/// Git fails.
pub(super) fn facts(git: &Git) -> Result<Arc<Facts>> {
    let Some(stamp) = stamp(&file(git)) else {
        let more = Some(More::default());
        return Ok(Arc::new(Facts { more, ..Facts::default() }));
    };
    let mut known = git.index.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, facts)) = known.as_ref().filter(|(of, _)| *of == stamp) {
        return Ok(Arc::clone(facts));
    }
    let facts = match in_index_file(git, |index| Ok(facts_in(index))) {
        Some(facts) => facts,
        None => Facts { marked: marked_by_binary(git)?, ..Facts::default() },
    };
    let facts = Arc::new(facts);
    *known = Some((stamp, Arc::clone(&facts)));
    Ok(facts)
}

/// The entry of a file in the index.
pub(super) enum IndexedFile {
    /// There is none.
    No,
    /// It has no flags and is not in conflict.
    Plain(Entry),
    /// Anything else; also an entry below this path.
    Special,
}

/// An index entry, and the time of the index file that it was read from.
pub(super) struct Entry {
    /// Its mode.
    pub(super) mode: u32,
    /// Its blob.
    pub(super) id: git2::Oid,
    whole: IndexEntry,
    written: Option<(i64, i64)>,
}

impl Entry {
    /// True if a file is certainly as it was when it was indexed: all its metadata is the same, and
    /// it is older than the index (<https://git-scm.com/docs/racy-git>).
    pub(super) fn is_as_indexed(&self, meta: &Metadata) -> bool {
        let mode = blobs::mode(meta);
        let now = next_index::entry_of(&self.whole.path, meta, mode, self.id);
        let of = |entry: &IndexEntry| {
            let time = |time: IndexTime| (time.seconds(), time.nanoseconds());
            let numbers = [entry.dev, entry.ino, entry.uid, entry.gid, entry.file_size];
            (time(entry.ctime), time(entry.mtime), numbers, entry.mode)
        };
        // Git sets the size to 0 where the other numbers cannot be trusted.
        let is_trusted = self.whole.file_size != 0;
        let is_older = next_index::modified(meta) < self.written;
        is_trusted && is_older && now.is_ok_and(|now| of(&now) == of(&self.whole))
    }
}

/// The index entries of these files, in their order; `None` if libgit2 cannot read the index.
pub(super) fn files(git: &Git, paths: &[&str]) -> Option<Vec<IndexedFile>> {
    // Read the time first: if the index is replaced after that, its entries are compared with the
    // older time, and fewer of them are trusted. This also fails if there is no index, which
    // libgit2 does not report.
    let written = next_index::modified(&std::fs::metadata(file(git)).ok()?);
    in_index_file(git, |index| {
        let is_special = |path: &str| {
            (1..=3).any(|stage| index.get_path(Path::new(path), stage).is_some())
                || index.find_prefix(Path::new(&format!("{path}/"))).is_ok()
        };
        let file = |path: &&str| match index.get_path(Path::new(path), 0) {
            _ if is_special(path) => IndexedFile::Special,
            None => IndexedFile::No,
            Some(whole) if whole.flags_extended != 0 || whole.mode == SUBMODULE => {
                IndexedFile::Special
            }
            Some(whole) => {
                let (mode, id) = (whole.mode, whole.id);
                IndexedFile::Plain(Entry { mode, id, whole, written })
            }
        };
        Ok(paths.iter().map(file).collect())
    })
}

/// Maximum number of paths that are cached.
const KEPT_PATHS: usize = 20_000;

/// The paths of the index, in libgit2's order; `None` if libgit2 cannot read it.
pub(super) fn paths(git: &Git) -> Option<Vec<String>> {
    let facts = facts(git).ok()?;
    if let Some(known) = facts.paths.get() {
        return Some(known.clone());
    }
    let all: Vec<String> =
        in_index_file(git, |index| Ok(index.iter().map(|entry| lossy(&entry.path)).collect()))?;
    if all.len() <= KEPT_PATHS {
        let _ = facts.paths.set(all.clone());
    }
    Some(all)
}

/// True if this file is certainly the same in HEAD, in the index and on disk, byte for byte. False
/// means unknown: git has to check files with filters, marks or conflicts.
pub(super) fn is_as_committed(git: &Git, path: &str) -> bool {
    let committed = || {
        let (file, mode) = blobs::regular_file(git, path)?;
        let head = git.head().ok()?;
        let entry = in_index_file(git, |index| {
            let entry = index.get_path(Path::new(path), 0).context("not in the index")?;
            Ok((entry.mode, entry.flags_extended, entry.id.to_string()))
        })?;
        let head = head.oid()?;
        let committed = git.reader().entries(head, &[path]).ok()?.pop()??;
        let blob = git.in_process(|reader| reader.blob_id(&std::fs::read(file)?))?;
        let same = entry == (mode, 0, committed.oid.to_string()) && committed.mode == mode;
        Some(same && blob.as_str() == entry.2)
    };
    // git2 panics on some of the paths that `relative` refuses.
    relative(path).is_ok() && committed() == Some(true)
}

/// The result of `question` for the index; `None` if libgit2 cannot read the repository or the
/// index.
fn in_index_file<T>(git: &Git, question: impl FnOnce(&Index) -> Result<T>) -> Option<T> {
    git.in_process(|reader| question(&reader.index_in(&file(git))?))
}

pub(super) fn file(git: &Git) -> std::path::PathBuf {
    git.git_dir.join("index")
}

fn marked_by_binary(git: &Git) -> Result<Marked> {
    // `H path`; the letter is `S` for skip-worktree, and in lower case for assume-unchanged.
    let list = git.read(["ls-files", "-v", "-z"]).checked()?;
    let marked = nul_texts(&list.stdout).filter_map(|line| {
        let (mark, path) = line.split_once(' ')?;
        let why = match mark {
            "S" | "s" => Hidden::Skipped,
            mark if mark.starts_with(|c: char| c.is_ascii_lowercase()) => Hidden::Assumed,
            _ => return None,
        };
        Some((path.to_owned(), why))
    });
    Ok(sorted(marked.collect()))
}

fn facts_in(index: &Index) -> Facts {
    let (mut marked, mut more) = (Marked::new(), More::default());
    for entry in index.iter() {
        if let Some(why) = mark(&entry) {
            marked.push((lossy(&entry.path), why));
        }
        if entry.mode == SUBMODULE {
            more.submodules.insert(lossy(&entry.path));
        } else if entry.path.ends_with(ATTRIBUTES.as_bytes()) {
            let path = lossy(&entry.path);
            match path.rsplit_once('/') {
                Some((folder, ATTRIBUTES)) => more.attributes.insert(folder.to_owned()),
                None if path == ATTRIBUTES => more.attributes.insert(String::new()),
                _ => false,
            };
        }
    }
    Facts { marked: sorted(marked), more: Some(more), ..Facts::default() }
}

pub(super) fn mark(entry: &IndexEntry) -> Option<Hidden> {
    if entry.flags_extended & SKIPPED != 0 {
        return Some(Hidden::Skipped);
    }
    (entry.flags & ASSUMED != 0).then_some(Hidden::Assumed)
}

fn sorted(mut marked: Marked) -> Marked {
    marked.sort_by(|(a, _), (b, _)| a.cmp(b));
    marked.dedup_by(|(a, _), (b, _)| a == b);
    marked
}
