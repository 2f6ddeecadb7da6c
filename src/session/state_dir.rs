//! The state directory `$(git rev-parse --git-common-dir)/cowork/`: data for
//! recovery that is never committed. Losing it loses no work; it does not record which stages are
//! done.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::SessionName;
use crate::git::UNFINISHED;
use crate::replace_file::replace_file;
use crate::stage::Stage;

/// A user's path that was untracked or modified before the session began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protected {
    /// Relative to the top of the working tree.
    pub path: String,
    /// Blob id of its content then; empty if it was deleted or not a regular file.
    pub blob: String,
}

/// A session's part of the state directory: `sessions/S/`.
#[derive(Clone, Debug)]
pub struct StateDir {
    root: PathBuf,
}

impl StateDir {
    /// The folder of a session, for reading; it may not exist.
    pub fn at(j: &Path, name: &SessionName) -> Self {
        Self { root: j.join("sessions").join(name.as_str()) }
    }

    /// The folder of a session; created if missing.
    pub fn open(j: &Path, name: &SessionName) -> anyhow::Result<Self> {
        let dir = Self::at(j, name);
        let root = &dir.root;
        let is_new = !root.exists();
        std::fs::create_dir_all(root).with_context(|| format!("creating {}", root.display()))?;
        #[cfg(unix)]
        if is_new {
            close_to_others(root);
        }
        Ok(dir)
    }

    /// The sessions whose last run may have been killed during a git command.
    pub fn left_unfinished(j: &Path) -> Vec<SessionName> {
        let entries = std::fs::read_dir(j.join("sessions")).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let left = |name: &SessionName| {
            let state = Self::at(j, name);
            let child = state.git_children().metadata();
            child.is_ok_and(|meta| meta.len() > 0) || state.path().join(UNFINISHED).exists()
        };
        names.filter(left).collect()
    }

    /// The sessions that have a note with this name, sorted.
    pub fn with_note(j: &Path, file: &str) -> Vec<SessionName> {
        let entries = std::fs::read_dir(j.join("sessions")).into_iter().flatten().flatten();
        let named = |entry: std::fs::DirEntry| {
            let note = entry.path().join(file).metadata();
            // A removed note contains `null`.
            let there = note.is_ok_and(|note| note.len() > "null".len() as u64);
            there.then(|| entry.file_name().to_str()?.parse().ok()).flatten()
        };
        let mut names: Vec<SessionName> = entries.filter_map(named).collect();
        names.sort();
        names
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The lock file.
    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// The ledger of the tokens used by the session with this id.
    pub fn ledger(&self, id: &str) -> PathBuf {
        // Another session may reuse the name.
        self.root.join(format!("spent-{id}.jsonl"))
    }

    /// The lock file that the git processes of this session inherit if they write.
    pub fn git_children(&self) -> PathBuf {
        self.root.join("git-child")
    }

    /// Model transcripts.
    pub fn transcripts(&self) -> PathBuf {
        self.root.join("transcripts")
    }

    /// The user's files the session must not touch.
    pub fn protected(&self) -> anyhow::Result<Vec<Protected>> {
        self.load("protected.json")
    }

    /// Writes the list of protected files, before the start commit.
    pub fn set_protected(&self, list: &[Protected]) -> anyhow::Result<()> {
        self.save("protected.json", &list)
    }

    /// Reads a note that another command wrote.
    pub fn note<T: DeserializeOwned>(&self, file: &str) -> anyhow::Result<Option<T>> {
        self.load(file)
    }

    /// Writes a note; `None` removes it.
    pub fn set_note<T: Serialize>(&self, file: &str, note: Option<&T>) -> anyhow::Result<()> {
        self.save(file, &note)
    }

    /// Frees disk space: empties the log and removes all transcripts except those of the stage in
    /// progress, which are needed to continue it. Returns the number of bytes freed.
    pub fn prune(&self, stage: Stage) -> u64 {
        let size = |path: &Path| path.metadata().map_or(0, |meta| meta.len());
        let log = self.root.join("log");
        let mut freed = size(&log);
        if std::fs::File::create(&log).is_err() {
            freed = 0;
        }
        let keep = format!("{stage}.");
        let transcripts = std::fs::read_dir(self.transcripts()).into_iter().flatten().flatten();
        for entry in transcripts {
            let bytes = size(&entry.path());
            let kept = entry.file_name().to_string_lossy().starts_with(&keep);
            if !kept && std::fs::remove_file(entry.path()).is_ok() {
                freed += bytes;
            }
        }
        freed
    }

    fn load<T: DeserializeOwned + Default>(&self, file: &str) -> anyhow::Result<T> {
        let path = self.root.join(file);
        match small(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .with_context(|| format!("{} cannot be read", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(T::default()),
            Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
        }
    }

    fn save<T: Serialize>(&self, file: &str, value: &T) -> anyhow::Result<()> {
        let path = self.root.join(file);
        replace_file(&path, &serde_json::to_vec_pretty(value)?)
            .with_context(|| format!("writing {}", path.display()))
    }
}

/// Reads a file. Most have only a few bytes, so the size is not queried first.
fn small(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(512);
    std::fs::File::open(path)?.take(u64::MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}
/// Lets only its owner read a folder: transcripts hold files of a person that others cannot read.
/// Not where the group may write, as in a repository that several people share.
#[cfg(unix)]
fn close_to_others(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    const OF_GROUP: u32 = 0o020;
    let Ok(mode) = folder.metadata().map(|found| found.permissions().mode()) else { return };
    if mode & OF_GROUP == 0
        && let Err(error) = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
    {
        tracing::info!("others can read {}: {error}", folder.display());
    }
}
