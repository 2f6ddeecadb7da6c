//! Journal of the files that tools wrote: `written.json` in the state directory.
//!
//! A crash leaves files in the working tree. Files with the content that a tool wrote belong to the
//! draft; other changes are a person's edits. So the intended content is recorded *before* each
//! write, together with the content it replaces: whenever the process dies, the file matches one of
//! the two.
//!
//! Nothing is synced to disk: the journal survives a crash of git-cowork, not a power cut. After a
//! power cut every file counts as a person's edit, which is the safe side.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::workspace::atomic_file;

const FILE: &str = "written.json";

/// Length and hash of a file's content.
///
/// FNV-1a, because the value must be the same in every release, which the standard library's hasher
/// does not guarantee. It need not be cryptographic: it distinguishes a person's edits from a
/// tool's, and anyone who could forge a collision could also edit the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Returns the fingerprint of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hash = Fnv::default();
        hash.add(bytes);
        hash.finish()
    }

    /// Returns the fingerprint of a file, without loading the file into memory.
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

/// The last write of a tool to one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Relative to the root.
    pub path: String,
    /// The content the tool wrote; `None` = deleted.
    pub now: Option<Fingerprint>,
    /// The content before that write; `None` = there was no file.
    pub before: Option<Fingerprint>,
}

#[derive(Default, Serialize, Deserialize)]
struct Stored {
    written: Vec<Written>,
    /// The path written last; a crash may have left its temporary file.
    #[serde(default)]
    last: Option<String>,
}

impl Stored {
    fn read(file: &Path) -> anyhow::Result<Self> {
        match std::fs::read(file) {
            // An unreadable journal counts as empty: every file is then a person's.
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                tracing::warn!("{} cannot be read: {error}", file.display());
                Self::default()
            })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("reading {}", file.display())),
        }
    }
}

/// Returns the paths below `root` whose content is as recorded in the journal in `state_dir`
/// (before or after the tool's write). Creates and changes nothing.
///
/// # Errors
/// If the journal exists and cannot be read.
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

    /// Records a write before it happens.
    pub(crate) fn note(&mut self, written: Written) -> anyhow::Result<()> {
        self.last = Some(written.path.clone());
        self.entries.insert(written.path.clone(), written);
        self.save()
    }

    /// Records writes that already happened.
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
            // Removing the file works even on a full disk.
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
