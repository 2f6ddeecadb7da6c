//! A person's own files: their state before a command, and what happened to them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use cap_std::fs::Metadata;
use serde::{Deserialize, Serialize};

use crate::path_text;
use crate::shell_quote::quoted;

/// State of a path before a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Was {
    Nothing,
    File {
        #[serde(with = "path_text::json")]
        copy: PathBuf,
        mode: u32,
    },
    Link(#[serde(with = "path_text::json")] PathBuf),
    /// Only its mode is restored.
    Folder {
        mode: u32,
    },
}

/// What a command did to a person's own file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserFileChange {
    /// Relative to the root.
    pub path: String,
    /// What happened, with the copies.
    pub kind: UserFileChangeKind,
}

/// The kinds of [`UserFileChange`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserFileChangeKind {
    /// A document that was replaced while the person edited it: the copy is the person's version.
    Replaced(PathBuf),
    /// Changed or deleted, and put back: the copy is the command's version, if there is one.
    PutBack(Option<PathBuf>),
    /// An ignored file, changed or deleted: the copy is the file as it was.
    IgnoredChanged(PathBuf),
    /// A file of the draft, changed or deleted after the person had edited it: the copy is the
    /// person's version.
    EditChanged(PathBuf),
    /// An uncommitted file that was changed or deleted and is not put back: it is too large to be
    /// copied, or it or its copy cannot be read or written. The copy, if there is one.
    NotPutBack(Option<PathBuf>),
    /// Not copied before commands: it is too large, or with smaller files too much.
    TooLarge {
        /// Git ignores it.
        is_ignored: bool,
    },
    /// A folder that git ignores as a whole and that no command made, emptied or deleted.
    FolderEmptied,
    /// A repository below the tree whose uncommitted files are not compared, and why.
    NotCompared(String),
    /// An ignored file that a model has read.
    IgnoredRead,
    /// A file that a command made setuid or setgid, and that is no longer.
    SetIdTaken,
    /// A file that a command made setuid or setgid, and whose mode cannot be changed.
    SetIdLeft,
}

/// Maximum number of files of a kind that are named one by one: a build may write hundreds.
const NAMED: usize = 10;

/// What the person is told about several changes, a line each; the last line is about the other ones of
/// a kind of which there are many.
pub fn told(changes: Vec<UserFileChange>) -> Vec<String> {
    let (ignored, others): (Vec<_>, Vec<_>) = changes
        .into_iter()
        .partition(|change| matches!(change.kind, UserFileChangeKind::IgnoredChanged(_)));
    let (large, others): (Vec<_>, Vec<_>) = others
        .into_iter()
        .partition(|change| matches!(change.kind, UserFileChangeKind::TooLarge { .. }));
    let named = others.iter().chain(large.iter().take(NAMED)).chain(ignored.iter().take(NAMED));
    let mut lines: Vec<String> = named.map(UserFileChange::to_string).collect();
    if let Some(more) = large.len().checked_sub(NAMED).filter(|more| *more > 0) {
        lines.push(format!(
            "{more} more files are too large to be copied: commands may change them"
        ));
    }
    let more = ignored.get(NAMED..).unwrap_or_default();
    if let Some(UserFileChangeKind::IgnoredChanged(copy)) = more.first().map(|change| &change.kind)
    {
        let folder = copy.parent().unwrap_or(copy).display();
        lines.push(format!(
            "commands changed or deleted {} more files that git ignores; as they were: {folder}",
            more.len()
        ));
    }
    lines
}

/// What the person is told, with the copies.
impl fmt::Display for UserFileChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.kind {
            UserFileChangeKind::Replaced(copy) => {
                let copy = copy.display();
                write!(f, "{path} was written while you edited it; your version is in {copy}")
            }
            UserFileChangeKind::PutBack(Some(copy)) => write!(
                f,
                "a command changed your uncommitted {path}, or you did while it ran: it is as it was \
                 before, and the other version is in {}",
                copy.display()
            ),
            UserFileChangeKind::PutBack(None) => {
                write!(f, "a command deleted your uncommitted {path}; it is as it was")
            }
            UserFileChangeKind::IgnoredChanged(copy) => write!(
                f,
                "a command changed or deleted {path}, which git ignores; as it was: {}",
                copy.display()
            ),
            UserFileChangeKind::EditChanged(copy) => write!(
                f,
                "a command changed or deleted {path} after you had edited it; your version is in {}",
                copy.display()
            ),
            UserFileChangeKind::NotPutBack(Some(copy)) => write!(
                f,
                "a command changed or deleted your uncommitted {path}, and it cannot be put back now; as \
                 it was: {}",
                copy.display()
            ),
            UserFileChangeKind::NotPutBack(None) => write!(
                f,
                "a command changed or deleted your uncommitted {path}, and it is not put back: it is \
                 too large to be copied, or it or its copy cannot be read or written"
            ),
            UserFileChangeKind::TooLarge { is_ignored: true } => write!(
                f,
                "{path}, which git ignores, is too large to be copied: a command may change it"
            ),
            UserFileChangeKind::TooLarge { is_ignored: false } => write!(
                f,
                "your uncommitted {path} is too large to be copied (more than 10 MiB, or 100 MiB with \
                 smaller files): a command may change it"
            ),
            UserFileChangeKind::FolderEmptied => write!(
                f,
                "a command emptied or deleted {path}, which git ignores and which was there before: of \
                 such a folder no copy is kept, so install or build it again"
            ),
            UserFileChangeKind::NotCompared(why) => write!(
                f,
                "your uncommitted files in the repository {path} are not put back after commands: {why}"
            ),
            UserFileChangeKind::IgnoredRead => write!(
                f,
                "a model read {path}, which git ignores; to keep it from models, add it to `private` \
                 under [project]"
            ),
            UserFileChangeKind::SetIdTaken => write!(
                f,
                "a command made {path} run as its owner or group (setuid or setgid), which was undone"
            ),
            UserFileChangeKind::SetIdLeft => write!(
                f,
                "a command made {path} run as its owner or group (setuid or setgid); to undo it: \
                 chmod ug-s {}",
                quoted(path)
            ),
        }
    }
}

/// Why a file is a person's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// It differs from the last commit.
    #[default]
    Uncommitted,
    /// Git ignores it.
    Ignored,
    /// The person edited what a tool or a command wrote for the draft.
    Edit,
}

/// A person's file before a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UserFile {
    #[serde(default)]
    pub(crate) kind: Kind,
    /// `None` if it could not be copied.
    pub(crate) was: Option<Was>,
    pub(crate) stamp: Option<Stamp>,
    /// A command changed it, and putting it back failed: what is there is not the person's.
    #[serde(default)]
    pub(crate) is_lost: bool,
}

/// What changes when a file is written: size, inode number, and the times of the last changes of
/// content and of the inode. Reading 10,000 files before each command would take longer than most
/// commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    size: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// What is known about a person's files between the commands of a run.
#[derive(Debug, Default)]
pub(crate) struct UserFiles {
    /// The files as they were before the last command; `None` before the first one.
    pub(crate) known: Option<BTreeMap<String, UserFile>>,
    /// The mode of the top folder before the command.
    pub(crate) top: Option<u32>,
    /// The ignored files; `None` until the list is read.
    pub(crate) ignored: Option<Vec<String>>,
    /// What commands left in the tree that no commit contains; `None` until the list is read.
    pub(crate) left: Option<BTreeSet<String>>,
    /// What was noted for the person.
    pub(crate) told: Vec<UserFileChange>,
}

impl UserFile {
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
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Some(Self { size: metadata.len(), inode: metadata.ino(), modified, changed })
    }

    #[cfg(not(unix))]
    pub(crate) fn of(metadata: &Metadata) -> Option<Self> {
        let modified = metadata.modified().ok()?.into_std();
        let since = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let modified = (since.as_secs().cast_signed(), i64::from(since.subsec_nanos()));
        Some(Self { size: metadata.len(), inode: 0, modified, changed: (0, 0) })
    }

    /// The time of the last change of content, also one before 1970.
    pub(crate) fn modified(&self) -> SystemTime {
        let (seconds, nanoseconds) = self.modified;
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let begun = match seconds {
            0.. => SystemTime::UNIX_EPOCH + whole,
            _ => SystemTime::UNIX_EPOCH - whole,
        };
        begun + Duration::from_nanos(nanoseconds.unsigned_abs())
    }

    /// True for the same file, whatever was written into it.
    pub(crate) fn is_of_same_file(&self, other: &Self) -> bool {
        self.inode != 0 && self.inode == other.inode
    }
}
