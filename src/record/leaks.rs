//! Secrets in what would be committed: the user's own keys and what looks like anybody's. Only what
//! is new counts: what a file held before is a person's, and in history already.
//!
//! The cost follows what would be committed: each file is read once, and git is asked only where
//! something was found.

use std::fmt;
use std::fs;

use anyhow::Context as _;

use super::Recorder;
use crate::git::{self, Object, Oid, Store};
use crate::secret::Found;

/// Findings of one commit; nobody fixes more at once.
const MOST: usize = 20;

/// Bytes from which on it is cheaper to ask git whether a file has changed at all.
const LARGE: u64 = 256 * 1024;

/// A secret in what would be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// From the top of the working tree.
    pub path: String,
    /// From 1; 0 where it is in the name.
    pub line: usize,
    /// What it is, with its article; the value is nowhere.
    pub kind: &'static str,
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "the name of {} holds {}", self.path, self.kind),
            line => write!(f, "{}:{line} holds {}", self.path, self.kind),
        }
    }
}

/// The secrets a commit on `tip` would bring now.
///
/// # Errors
/// A file cannot be read, git fails.
pub fn find(recorder: &Recorder<'_>, tip: &Oid) -> anyhow::Result<Vec<Leak>> {
    find_in(recorder, tip, &recorder.changes()?)
}

/// The same, where the paths are known.
pub(super) fn find_in(
    recorder: &Recorder<'_>,
    tip: &Oid,
    paths: &[String],
) -> anyhow::Result<Vec<Leak>> {
    let mut leaks = Vec::new();
    let mut before: Option<Vec<Vec<u8>>> = None;
    for path in paths {
        leaks.extend(in_name(recorder, tip, path)?);
        for found in secrets_in(recorder, tip, path, MOST - leaks.len())? {
            let before = match &mut before {
                Some(before) => before,
                // Of all these paths, for a file may have been moved.
                none => none.insert(committed(recorder, tip, paths)?),
            };
            if !before.iter().any(|bytes| found.is_in(bytes)) {
                leaks.push(Leak { path: path.clone(), line: found.line, kind: found.kind });
            }
        }
        if leaks.len() >= MOST {
            break;
        }
    }
    Ok(leaks)
}

/// A secret in the name of a file that the tip does not have.
fn in_name(recorder: &Recorder<'_>, tip: &Oid, path: &str) -> anyhow::Result<Option<Leak>> {
    let secrets = recorder.workspace.secrets();
    let Some(found) = secrets.find(path.as_bytes(), 1)?.pop() else { return Ok(None) };
    let gone = recorder.git.top().join(path).symlink_metadata().is_err();
    if gone || git::snapshot::blob_id(recorder.git, tip, path)?.is_some() {
        return Ok(None);
    }
    Ok(Some(Leak { path: secrets.blanked(path).into_owned(), line: 0, kind: found.kind }))
}

fn secrets_in(
    recorder: &Recorder<'_>,
    tip: &Oid,
    path: &str,
    most: usize,
) -> anyhow::Result<Vec<Found>> {
    let full = recorder.git.top().join(path);
    let secrets = recorder.workspace.secrets();
    let failed = || format!("reading {path}");
    // What is gone, a directory or a device holds nothing that is committed.
    let Ok(meta) = fs::symlink_metadata(&full) else { return Ok(Vec::new()) };
    if meta.is_symlink() {
        let target = fs::read_link(&full).with_context(failed)?;
        let target = target.to_string_lossy().into_owned();
        return secrets.find(target.as_bytes(), most).with_context(failed);
    }
    if !meta.is_file() {
        return Ok(Vec::new());
    }
    if meta.len() > LARGE && is_as_committed(recorder, tip, path)? {
        return Ok(Vec::new());
    }
    let file = fs::File::open(&full).with_context(failed)?;
    secrets.find(file, most).with_context(failed)
}

/// A session's files are all looked at, also those that nobody has changed.
fn is_as_committed(recorder: &Recorder<'_>, tip: &Oid, path: &str) -> anyhow::Result<bool> {
    let here = git::blobs::hash_files(recorder.git, &[path], Store::No)?;
    Ok(here == git::snapshot::blob_ids(recorder.git, tip, &[path])?)
}

/// What the tip has at these paths.
fn committed(recorder: &Recorder<'_>, tip: &Oid, paths: &[String]) -> anyhow::Result<Vec<Vec<u8>>> {
    let reader = recorder.git.reader();
    let mut all = Vec::new();
    for path in paths {
        all.extend(reader.blob(Object::At(tip, path))?);
    }
    Ok(all)
}
