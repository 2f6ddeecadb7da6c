//! Journal of the files that tools wrote: `written.json` in the state directory, one record per
//! line; for each path, the last record counts.
//!
//! A crash leaves files in the working tree. Files with the content that a tool wrote belong to the
//! draft; other changes are a person's edits. So the intended content is recorded *before* each
//! write, together with the content it replaces: whenever the process dies, the file matches one of
//! the two.
//!
//! Nothing is synced to disk: the journal survives a crash of git-cowork, not a power cut. After a
//! power cut every file counts as a person's edit, which is the safe side.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Write as _};
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

/// The journal file in the format of earlier releases.
#[derive(Deserialize)]
struct Older {
    written: Vec<Written>,
    #[serde(default)]
    last: Option<String>,
}

/// The content of the journal file.
#[derive(Default)]
struct Stored {
    entries: BTreeMap<String, Written>,
    /// The path written last; a crash may have left its temporary file.
    last: Option<String>,
    /// True if a line can be added: the file is not in the older format, and its last line is
    /// complete.
    has_lines: bool,
}

impl Stored {
    fn read(file: &Path) -> anyhow::Result<Self> {
        match std::fs::read_to_string(file) {
            Ok(text) => Ok(Self::parse(&text)),
            // An unreadable journal counts as empty: every file then counts as a person's edit.
            Err(error) if error.kind() == ErrorKind::InvalidData => Ok(Self::default()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("reading {}", file.display())),
        }
    }

    fn parse(text: &str) -> Self {
        if let Ok(Older { written, last }) = serde_json::from_str(text) {
            let entries = written.into_iter().map(|w| (w.path.clone(), w)).collect();
            return Self { entries, last, has_lines: false };
        }
        let mut stored = Self { has_lines: text.ends_with('\n'), ..Self::default() };
        for line in text.lines() {
            // Leave out a line that is incomplete because git-cowork was killed while it wrote it.
            match serde_json::from_str::<Written>(line) {
                Ok(written) => {
                    stored.last = Some(written.path.clone());
                    stored.entries.insert(written.path.clone(), written);
                }
                Err(error) => {
                    tracing::warn!("a line of the journal cannot be read: {error}");
                    stored.has_lines = false;
                }
            }
        }
        stored
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
    let written = stored.entries.into_values().filter(|written| {
        found(&written.path).is_some_and(|found| found == written.now || found == written.before)
    });
    Ok(written.map(|written| written.path).collect())
}

/// The journal, in memory and on disk.
pub(crate) struct Journal {
    file: PathBuf,
    stored: Stored,
}

impl Journal {
    pub(crate) fn open(state_dir: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(state_dir)
            .with_context(|| format!("creating {}", state_dir.display()))?;
        let file = state_dir.join(FILE);
        let stored = Stored::read(&file)?;
        Ok(Self { file, stored })
    }

    /// Records a write before it happens.
    pub(crate) fn note(&mut self, written: Written) -> anyhow::Result<()> {
        self.add(vec![written])
    }

    /// Records writes that already happened.
    pub(crate) fn note_all(
        &mut self,
        written: impl IntoIterator<Item = Written>,
    ) -> anyhow::Result<()> {
        let is_new = |entry: &Written| self.get(&entry.path) != Some(entry);
        let new: Vec<Written> = written.into_iter().filter(is_new).collect();
        if new.is_empty() { Ok(()) } else { self.add(new) }
    }

    fn add(&mut self, written: Vec<Written>) -> anyhow::Result<()> {
        let mut lines = String::new();
        for entry in written {
            add_line(&mut lines, &entry)?;
            self.stored.last = Some(entry.path.clone());
            self.stored.entries.insert(entry.path.clone(), entry);
        }
        if !self.stored.has_lines {
            return self.save();
        }
        match self.append(&lines) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => self.save(),
            Err(error) => {
                // On a full disk, the file may now end with half a line.
                self.stored.has_lines = false;
                Err(error).with_context(|| format!("writing {}", self.file.display()))
            }
        }
    }

    fn append(&self, lines: &str) -> std::io::Result<()> {
        let mut file = OpenOptions::new().append(true).open(&self.file)?;
        file.write_all(lines.as_bytes())
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Written> {
        self.stored.entries.values()
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Written> {
        self.stored.entries.get(path)
    }

    pub(crate) fn last(&self) -> Option<&str> {
        self.stored.last.as_deref()
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) -> anyhow::Result<()> {
        let entries = &mut self.stored.entries;
        let had = entries.len();
        entries.retain(|path, _| keep(path));
        if entries.len() == had {
            Ok(())
        } else if entries.is_empty() {
            self.stored.has_lines = false;
            // Removing the file works even on a full disk.
            match std::fs::remove_file(&self.file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    Err(error).with_context(|| format!("removing {}", self.file.display()))
                }
                _ => Ok(()),
            }
        } else {
            self.save()
        }
    }

    /// Writes the whole file, with the path written last at its end.
    fn save(&mut self) -> anyhow::Result<()> {
        let is_last = |entry: &&Written| self.stored.last.as_ref() == Some(&entry.path);
        let entries = self.stored.entries.values();
        let (last, others): (Vec<&Written>, Vec<&Written>) = entries.partition(is_last);
        let mut lines = String::new();
        for entry in others.into_iter().chain(last) {
            add_line(&mut lines, entry)?;
        }
        atomic_file::replace(&self.file, lines.as_bytes())?;
        self.stored.has_lines = true;
        Ok(())
    }
}

fn add_line(lines: &mut String, entry: &Written) -> anyhow::Result<()> {
    lines.push_str(&serde_json::to_string(entry)?);
    lines.push('\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(path: &str, now: &[u8]) -> Written {
        Written { path: path.to_owned(), now: Some(Fingerprint::of(now)), before: None }
    }

    #[test]
    fn each_write_adds_a_line_and_the_last_of_a_path_counts() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(FILE);
        let lines = || std::fs::read_to_string(&file).unwrap().lines().count();
        let mut journal = Journal::open(dir.path()).unwrap();
        journal.note(written("b", b"1")).unwrap();
        journal.note(written("a", b"1")).unwrap();
        journal.note(written("b", b"22")).unwrap();
        journal.note_all([written("a", b"1"), written("b", b"22")]).unwrap();
        assert_eq!(lines(), 3);
        let again = Journal::open(dir.path()).unwrap();
        assert!(again.entries().eq(journal.entries()));
        assert_eq!(again.last(), Some("b"));
        journal.retain(|path| path == "b").unwrap();
        assert_eq!((lines(), Journal::open(dir.path()).unwrap().last()), (1, Some("b")));
        journal.retain(|_| false).unwrap();
        assert!(!file.exists());
    }

    #[test]
    fn a_half_written_line_is_left_out_and_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(FILE);
        Journal::open(dir.path()).unwrap().note(written("a", b"1")).unwrap();
        let whole = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{whole}{}", &whole[..whole.len() / 2])).unwrap();
        let mut journal = Journal::open(dir.path()).unwrap();
        journal.note(written("b", b"1")).unwrap();
        let again = Journal::open(dir.path()).unwrap();
        assert_eq!(again.entries().count(), 2);
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 2);
    }

    #[test]
    fn the_file_of_an_earlier_release_is_read_and_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let older = r#"{
            "written": [{"path": "a", "now": "1-af63ac4c86019afc", "before": null},
                        {"path": "b", "now": null, "before": "1-af63ac4c86019afc"}],
            "last": "a"
        }"#;
        std::fs::write(dir.path().join(FILE), older).unwrap();
        let mut journal = Journal::open(dir.path()).unwrap();
        assert_eq!((journal.entries().count(), journal.last()), (2, Some("a")));
        journal.note(written("c", b"1")).unwrap();
        let again = Journal::open(dir.path()).unwrap();
        assert_eq!((again.entries().count(), again.last()), (3, Some("c")));
    }
}
