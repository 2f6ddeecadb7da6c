//! What must not be committed: secrets (the user's own keys, and anything that looks like a key), and
//! copies of files with a person's uncommitted work.
//!
//! Only new ones count: what a file contained before is a person's, and already in history.
//!
//! The cost depends on what would be committed: only changed files are searched, each content
//! once in a run, and what they contained before is read only if something was found.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;

use anyhow::{Context as _, Result};

use super::Recorder;
use crate::git::blobs::PlainFiles;
use crate::git::embedded::Embedded;
use crate::git::{self, Object, Oid, Store};
use crate::secret::FoundSecret;
use crate::session::Protected;

/// Maximum number of findings in one commit; nobody fixes more at once.
const MOST: usize = 20;

/// Size in bytes above which asking git whether a file has changed is cheaper than searching it;
/// only for files that git-cowork cannot compare itself.
const LARGE: u64 = 256 * 1024;

/// Content that must not be committed. Paths are from the top of the working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leak {
    /// A secret.
    Secret {
        /// The file.
        path: String,
        /// From 1; 0 if the secret is in the name.
        line: usize,
        /// The kind of secret, with its article; the value is not stored.
        kind: &'static str,
    },
    /// A repository in which git would run a program.
    Repository(Embedded),
    /// A copy of a file with a person's uncommitted work.
    Copy {
        /// The copy.
        path: String,
        /// The person's file.
        of: String,
    },
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Secret { path, line: 0, kind } => write!(f, "the name of {path} holds {kind}"),
            Self::Secret { path, line, kind } => write!(f, "{path}:{line} holds {kind}"),
            Self::Repository(embedded) => write!(f, "{embedded}"),
            Self::Copy { path, of } => write!(f, "{path} is a copy of the uncommitted {of}"),
        }
    }
}

/// Shorter files, in bytes, are equal by chance.
const SHORTEST_COPY: u64 = 16;

/// What a commit on `tip` would contain now although it must not.
///
/// # Errors
/// A file cannot be read, or git fails.
pub fn find(recorder: &Recorder<'_>, tip: &Oid) -> Result<Vec<Leak>> {
    find_in(recorder, tip, &recorder.changes()?)
}

/// Like [`find`], for given paths.
pub(super) fn find_in(recorder: &Recorder<'_>, tip: &Oid, paths: &[String]) -> Result<Vec<Leak>> {
    let mut leaks = Vec::new();
    let search = Search::new(recorder, tip, paths);
    for (path, blob) in paths.iter().zip(git::snapshot::blob_ids(recorder.git, tip, paths)?) {
        if blob.is_none() {
            leaks.extend(in_name(recorder, path)?);
        }
        leaks.extend(search.in_content(path, blob.as_ref(), MOST.saturating_sub(leaks.len()))?);
        if leaks.len() >= MOST {
            break;
        }
    }
    // Making a tree writes the content of the files, which must not be a secret.
    if leaks.is_empty() && paths.iter().any(|path| git::embedded::may_belong_to_one(path)) {
        let tree = git::snapshot::tree(recorder.git, tip, paths)?;
        let found = git::embedded::with_a_program(recorder.git, &tree, paths)?;
        leaks.extend(found.map(Leak::Repository));
    }
    Ok(leaks)
}

/// The regular files with content that must not be committed, each with one reason.
pub(super) fn files_with_any(
    recorder: &Recorder<'_>,
    tip: &Oid,
    paths: &[String],
) -> Result<BTreeMap<String, Leak>> {
    let search = Search::new(recorder, tip, paths);
    let mut found = BTreeMap::new();
    for (path, blob) in paths.iter().zip(git::snapshot::blob_ids(recorder.git, tip, paths)?) {
        let leak = search.in_content(path, blob.as_ref(), 1)?.into_iter().next();
        let is_file =
            || fs::symlink_metadata(recorder.git.top().join(path)).is_ok_and(|m| m.is_file());
        found.extend(leak.filter(|_| is_file()).map(|leak| (path.clone(), leak)));
    }
    Ok(found)
}

/// A search in the files of one commit.
struct Search<'a> {
    recorder: &'a Recorder<'a>,
    tip: &'a Oid,
    paths: &'a [String],
    files: PlainFiles<'a>,
    /// The person's files; read when a file has changed.
    own: OnceCell<Vec<Protected>>,
    /// The content of all these paths in the tip, because a file may have been moved; read when
    /// something is found.
    before: OnceCell<Vec<Vec<u8>>>,
}

impl<'a> Search<'a> {
    fn new(recorder: &'a Recorder<'a>, tip: &'a Oid, paths: &'a [String]) -> Self {
        let files = PlainFiles::of(recorder.git);
        Self { recorder, tip, paths, files, own: OnceCell::new(), before: OnceCell::new() }
    }

    /// What a file's content leaks, at most `most` secrets; `blob` is what the tip has there.
    fn in_content(&self, path: &str, blob: Option<&Oid>, most: usize) -> Result<Vec<Leak>> {
        let secrets = self.recorder.workspace.secrets();
        let is_unchanged = |id: &Oid| Some(id) == blob;
        let has_seen = |id: &Oid| is_unchanged(id) || secrets.is_clean(id.as_str());
        let here = self.files.read_unless(path, has_seen);
        // All files of a session are listed, even unchanged ones.
        if here.as_ref().is_some_and(|(id, _)| is_unchanged(id)) {
            return Ok(Vec::new());
        }
        let mut leaks = Vec::new();
        if let Some((id, _)) = &here {
            let copied = copied_from(self.recorder, &self.files, path, id, self.own()?);
            leaks.extend(copied.map(|of| Leak::Copy { path: path.to_owned(), of }));
        }
        let all = match here {
            Some((_, None)) => Vec::new(),
            Some((id, Some(bytes))) => {
                let found = secrets.find(&*bytes, most)?;
                if found.is_empty() && most > 0 {
                    secrets.note_clean(id.as_str());
                }
                found
            }
            None => secrets_in(self.recorder, self.tip, path, most)?,
        };
        for found in all {
            if !self.before()?.iter().any(|bytes| found.is_in(bytes)) {
                let (path, line, kind) = (path.to_owned(), found.line, found.kind);
                leaks.push(Leak::Secret { path, line, kind });
            }
        }
        Ok(leaks)
    }

    fn own(&self) -> Result<&[Protected]> {
        if let Some(own) = self.own.get() {
            return Ok(own);
        }
        let own = self.recorder.state.protected()?;
        Ok(self.own.get_or_init(|| own))
    }

    fn before(&self) -> Result<&[Vec<u8>]> {
        if let Some(before) = self.before.get() {
            return Ok(before);
        }
        let before = committed(self.recorder, self.tip, self.paths)?;
        Ok(self.before.get_or_init(|| before))
    }
}

/// The person's file that a file with this blob id is a copy of. A file that is gone from its own
/// path was moved by the person: what a command moves is put back.
fn copied_from(
    recorder: &Recorder<'_>,
    files: &PlainFiles<'_>,
    path: &str,
    id: &Oid,
    own: &[Protected],
) -> Option<String> {
    let is_long = |path: &str| {
        let meta = recorder.git.top().join(path).symlink_metadata();
        meta.is_ok_and(|meta| meta.len() >= SHORTEST_COPY)
    };
    let is_there =
        |path: &str| files.read_unless(path, |_| true).is_some_and(|(now, _)| now == *id);
    let mut same = own.iter().filter(|file| file.blob == id.as_str() && file.path != path);
    same.find(|file| is_long(&file.path) && is_there(&file.path)).map(|file| file.path.clone())
}

/// Finds a secret in the name of a file that is on disk.
fn in_name(recorder: &Recorder<'_>, path: &str) -> Result<Option<Leak>> {
    let secrets = recorder.workspace.secrets();
    let Some(found) = secrets.find(path.as_bytes(), 1)?.pop() else { return Ok(None) };
    if recorder.git.top().join(path).symlink_metadata().is_err() {
        return Ok(None);
    }
    Ok(Some(Leak::Secret { path: secrets.blanked(path).into_owned(), line: 0, kind: found.kind }))
}

fn secrets_in(
    recorder: &Recorder<'_>,
    tip: &Oid,
    path: &str,
    most: usize,
) -> Result<Vec<FoundSecret>> {
    let full = recorder.git.top().join(path);
    let secrets = recorder.workspace.secrets();
    let failed = || format!("reading {path}");
    // A missing file, a directory or a device has no content to be committed.
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

/// True if a file is the same in the tip, as git stores it.
fn is_as_committed(recorder: &Recorder<'_>, tip: &Oid, path: &str) -> Result<bool> {
    let here = git::blobs::hash_files(recorder.git, &[path], Store::No)?;
    Ok(here == git::snapshot::blob_ids(recorder.git, tip, &[path])?)
}

/// The content of these paths in the tip.
fn committed(recorder: &Recorder<'_>, tip: &Oid, paths: &[String]) -> Result<Vec<Vec<u8>>> {
    let reader = recorder.git.reader();
    let mut all = Vec::new();
    for path in paths {
        all.extend(reader.blob(Object::At(tip, path))?);
    }
    Ok(all)
}
