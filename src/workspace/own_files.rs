//! A person's own files: their state before a command, and what happened to them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::SystemTime;

use cap_std::fs::Metadata;
use serde::{Deserialize, Serialize};

/// State of a path before a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Was {
    Nothing,
    File { copy: PathBuf, mode: u32 },
    Link(PathBuf),
}

/// What a command did to a person's own file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnFileChange {
    /// Relative to the root.
    pub path: String,
    /// What happened, with the copies.
    pub kind: OwnFileChangeKind,
}

/// The kinds of [`OwnFileChange`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnFileChangeKind {
    /// A document that was replaced while the person edited it: the copy is the person's version.
    Replaced(PathBuf),
    /// Changed or deleted, and put back: the copy is the command's version, if there is one.
    PutBack(Option<PathBuf>),
    /// An ignored file, changed or deleted: the copy is the file as it was.
    IgnoredChanged(PathBuf),
    /// An uncommitted file that could not be copied, because it is too large or cannot be read, and
    /// was changed or deleted.
    NotCopiedChanged,
    /// Too large to be copied: an ignored file that a command may change.
    IgnoredTooLarge,
}

/// A person's file before a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnFile {
    /// Git ignores it.
    pub(crate) is_ignored: bool,
    /// `None` if it could not be copied.
    pub(crate) was: Option<Was>,
    pub(crate) stamp: Option<Stamp>,
}

/// What changes when a file is written: size, inode number, and the times of the last changes of
/// content and of the inode. Reading 10,000 files before each command would take longer than most
/// commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    size: u64,
    inode: u64,
    pub(crate) modified: SystemTime,
    changed: (i64, i64),
}

/// What is known about a person's files between the commands of a run.
#[derive(Debug, Default)]
pub(crate) struct OwnFiles {
    /// The files as they were before the last command; `None` before the first one.
    pub(crate) known: Option<BTreeMap<String, OwnFile>>,
    /// The ignored files; `None` until the list is read.
    pub(crate) ignored: Option<Vec<String>>,
    /// What commands left in the tree that no commit contains; `None` until the list is read.
    pub(crate) left: Option<BTreeSet<String>>,
    /// What was noted for the person.
    pub(crate) told: Vec<OwnFileChange>,
}

impl OwnFile {
    /// True if its copy is still there: a person may have cleared the state directory.
    pub(crate) fn is_copied(&self) -> bool {
        match &self.was {
            Some(Was::File { copy, .. }) => copy.exists(),
            _ => true,
        }
    }
}

impl Stamp {
    #[cfg(unix)]
    pub(crate) fn of(metadata: &Metadata) -> Option<Self> {
        use cap_std::fs::MetadataExt as _;
        let modified = metadata.modified().ok()?.into_std();
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Some(Self { size: metadata.len(), inode: metadata.ino(), modified, changed })
    }

    #[cfg(not(unix))]
    pub(crate) fn of(metadata: &Metadata) -> Option<Self> {
        let modified = metadata.modified().ok()?.into_std();
        Some(Self { size: metadata.len(), inode: 0, modified, changed: (0, 0) })
    }
}
