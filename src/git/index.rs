//! Properties of index entries besides their content: which are marked so that `git status` hides
//! them, which are submodules, which are attributes files. Read in process, once for each index
//! file; by the binary if libgit2 does not support the format (a split or a sparse index).

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use git2::{Index, IndexEntry};

use super::output::{lossy, nul_texts};
use super::snapshot::relative;
use super::{Git, Hidden};
use crate::git::blobs;

/// The name of an attributes file.
const ATTRIBUTES: &str = ".gitattributes";

/// Bits of an entry (gitformat-index(5)).
const ASSUMED: u16 = 0x8000;
const SKIPPED: u16 = 1 << 14;

/// The facts of the index file that was read last.
#[derive(Clone, Debug, Default)]
pub(super) struct Known(Arc<Mutex<Option<Read>>>);

/// The stamp of an index file, and its facts.
type Read = (Stamp, Arc<Facts>);

/// All values are equal: the cache does not identify a repository.
impl PartialEq for Known {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Known {}

/// The marked entries, sorted by path.
pub(super) type Marked = Vec<(String, Hidden)>;

/// The properties of the entries of one index file.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The entries whose changes `git status` does not list.
    pub(super) marked: Marked,
    /// Only if libgit2 could read the index.
    pub(super) more: Option<More>,
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
    let meta = std::fs::metadata(file).ok()?;
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
    let mut known = git.index.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, facts)) = known.as_ref().filter(|(of, _)| *of == stamp) {
        return Ok(Arc::clone(facts));
    }
    let facts = match in_index_file(git, |index| Ok(facts_in(index))) {
        Some(facts) => facts,
        None => Facts { marked: marked_by_binary(git)?, more: None },
    };
    let facts = Arc::new(facts);
    *known = Some((stamp, Arc::clone(&facts)));
    Ok(facts)
}

/// The paths of the index, in libgit2's order; `None` if libgit2 cannot read it.
pub(super) fn paths(git: &Git) -> Option<Vec<String>> {
    in_index_file(git, |index| Ok(index.iter().map(|entry| lossy(&entry.path)).collect()))
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
        let committed =
            git.in_process(|reader| reader.entries_at(reader.tree_id(head)?, &[path]))?.pop()??;
        let bytes = std::fs::read(file).ok()?;
        let same = entry == (mode, 0, committed.1.to_string()) && committed.0 == mode;
        Some(same && git2::Oid::hash_object(git2::ObjectType::Blob, &bytes).ok()? == committed.1)
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
        if entry.mode == 0o160_000 {
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
    Facts { marked: sorted(marked), more: Some(more) }
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
