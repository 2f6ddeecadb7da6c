//! What tools wrote: `written.json` in the state directory.
//!
//! After a crash the files lie where they were. Those that are as a tool left them are the draft;
//! the others are a person's edits. So the intended content is noted *before* each write, beside
//! the content it replaces: whenever the process dies, the file is one of the two.
//!
//! Nothing is synced to the disk: the journal outlives our process, not a power cut, and after
//! one everything counts as a person's edit, which is the safe side.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::workspace::atomic_file;

const FILE: &str = "written.json";

/// A content's length and hash.
///
/// FNV-1a, because it must be the same in every release, which the standard library's hasher does
/// not promise. It need not be cryptographic: it tells a person's edit from a tool's, and whoever
/// could forge a collision can also edit the journal or simply leave the file alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hash = Fnv::default();
        hash.add(bytes);
        hash.finish()
    }

    /// Of a file, without holding it in memory.
    pub fn of_reader(mut reader: impl Read) -> std::io::Result<Self> {
        let mut hash = Fnv::default();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match reader.read(&mut buffer)? {
                0 => return Ok(hash.finish()),
                n => hash.add(&buffer[..n]),
            }
        }
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

struct Fnv {
    hash: u64,
    length: u64,
}

impl Default for Fnv {
    fn default() -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, length: 0 }
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
            self.length += 1;
        }
    }

    fn finish(&self) -> Fingerprint {
        Fingerprint(format!("{}-{:016x}", self.length, self.hash))
    }
}

/// What a tool did to one path last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Relative to the root.
    pub path: String,
    /// What it was to hold; `None` = deleted.
    pub now: Option<Fingerprint>,
    /// What it held before that write; `None` = there was no file.
    pub before: Option<Fingerprint>,
}

#[derive(Default, Serialize, Deserialize)]
struct Stored {
    written: Vec<Written>,
    /// The path written last, whose temporary file may have been left behind.
    #[serde(default)]
    last: Option<String>,
}

impl Stored {
    fn read(file: &Path) -> anyhow::Result<Self> {
        match std::fs::read(file) {
            // A journal we cannot read says nothing: every file then counts as a person's.
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                tracing::warn!("{} cannot be read: {error}", file.display());
                Self::default()
            })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("reading {}", file.display())),
        }
    }
}

/// The paths of the tree `root` that lie as a run's tools left them, which the journal in `state_dir`
/// tells. Nothing is made or changed.
///
/// # Errors
/// The journal is there and cannot be read.
pub fn lying_as_written(root: &Path, state_dir: &Path) -> anyhow::Result<Vec<String>> {
    let stored = Stored::read(&state_dir.join(FILE))?;
    let found = |path: &str| {
        let file = root.join(path);
        match file.symlink_metadata() {
            Err(_) => Some(None),
            Ok(meta) if !meta.is_file() => None,
            Ok(_) => std::fs::read(&file).ok().map(|bytes| Some(Fingerprint::of(&bytes))),
        }
    };
    let written = stored.written.into_iter().filter(|written| {
        found(&written.path).is_some_and(|found| found == written.now || found == written.before)
    });
    Ok(written.map(|written| written.path).collect())
}

/// The journal, in memory and on disk.
pub(crate) struct Journal {
    file: PathBuf,
    entries: BTreeMap<String, Written>,
    last: Option<String>,
}

impl Journal {
    pub(crate) fn open(state_dir: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(state_dir)
            .with_context(|| format!("creating {}", state_dir.display()))?;
        let file = state_dir.join(FILE);
        let stored = Stored::read(&file)?;
        let entries = stored.written.into_iter().map(|w| (w.path.clone(), w)).collect();
        Ok(Self { file, entries, last: stored.last })
    }

    /// Notes a write that is about to happen.
    pub(crate) fn note(&mut self, written: Written) -> anyhow::Result<()> {
        self.last = Some(written.path.clone());
        self.entries.insert(written.path.clone(), written);
        self.save()
    }

    /// Notes what is there already.
    pub(crate) fn note_all(
        &mut self,
        written: impl IntoIterator<Item = Written>,
    ) -> anyhow::Result<()> {
        let mut changed = false;
        for entry in written {
            changed |= self.entries.get(&entry.path) != Some(&entry);
            self.entries.insert(entry.path.clone(), entry);
        }
        if changed { self.save() } else { Ok(()) }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Written> {
        self.entries.values()
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Written> {
        self.entries.get(path)
    }

    pub(crate) fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) -> anyhow::Result<()> {
        let had = self.entries.len();
        self.entries.retain(|path, _| keep(path));
        if self.entries.len() == had {
            Ok(())
        } else if self.entries.is_empty() {
            // Needs no room on a full disk.
            match std::fs::remove_file(&self.file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(error).with_context(|| format!("removing {}", self.file.display()))
                }
                _ => Ok(()),
            }
        } else {
            self.save()
        }
    }

    fn save(&self) -> anyhow::Result<()> {
        let stored =
            Stored { written: self.entries.values().cloned().collect(), last: self.last.clone() };
        atomic_file::replace(&self.file, &serde_json::to_vec_pretty(&stored)?)
    }
}
