//! Secrets in what would be committed: the user's own keys and what looks like anybody's. Only what
//! is new counts: what a file held before is a person's, and in history already.
//!
//! The cost follows what would be committed: each file is read once, and git is asked only where
//! something was found.

use std::fmt;
use std::fs;

use anyhow::Context as _;

use super::Recorder;
use crate::git::{Object, Oid, Store};
use crate::secret::Found;
use crate::session::Message;

/// Findings of one commit; nobody mends more at once.
const MOST: usize = 20;

/// Bytes from which on it is cheaper to ask git whether a file has changed at all.
const LARGE: u64 = 256 * 1024;

/// A secret in what would be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// From the top of the working tree.
    pub path: String,
    /// From 1.
    pub line: usize,
    /// What it is, with its article; the value is nowhere.
    pub kind: &'static str,
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} holds {}", self.path, self.line, self.kind)
    }
}

impl Recorder<'_> {
    /// The secrets a commit on `tip` would bring now.
    ///
    /// # Errors
    /// A file cannot be read, git fails.
    pub fn leaks(&self, tip: &Oid) -> anyhow::Result<Vec<Leak>> {
        self.leaks_in(tip, &self.changes()?)
    }

    /// The same, where the paths are known.
    pub(super) fn leaks_in(&self, tip: &Oid, paths: &[String]) -> anyhow::Result<Vec<Leak>> {
        let mut leaks = Vec::new();
        let mut before: Option<Vec<Vec<u8>>> = None;
        for path in paths {
            for found in self.secrets_in(tip, path, MOST - leaks.len())? {
                let before = match &mut before {
                    Some(before) => before,
                    // Of all these paths, for a file may have been moved.
                    none => none.insert(self.committed(tip, paths)?),
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

    fn secrets_in(&self, tip: &Oid, path: &str, most: usize) -> anyhow::Result<Vec<Found>> {
        let full = self.git.top().join(path);
        let secrets = self.workspace.secrets();
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
        if meta.len() > LARGE && self.is_as_committed(tip, path)? {
            return Ok(Vec::new());
        }
        let file = fs::File::open(&full).with_context(failed)?;
        secrets.find(file, most).with_context(failed)
    }

    /// A session's files are all looked at, also those that nobody has changed.
    fn is_as_committed(&self, tip: &Oid, path: &str) -> anyhow::Result<bool> {
        let here = self.git.hash_files(&[path], Store::No)?;
        Ok(here == self.git.blob_ids(tip, &[path])?)
    }

    /// What the tip has at these paths.
    fn committed(&self, tip: &Oid, paths: &[String]) -> anyhow::Result<Vec<Vec<u8>>> {
        let reader = self.git.reader();
        let mut all = Vec::new();
        for path in paths {
            all.extend(reader.blob(Object::At(tip, path))?);
        }
        Ok(all)
    }

    /// A message without secrets, whoever's words it holds.
    pub(super) fn without_secrets(&self, message: &Message) -> Message {
        let secrets = self.workspace.secrets();
        Message {
            subject: secrets.blanked(&message.subject).into_owned(),
            body: secrets.blanked(&message.body).into_owned(),
            trailers: message.trailers.map_values(|value| secrets.blanked(value).into_owned()),
        }
    }
}
