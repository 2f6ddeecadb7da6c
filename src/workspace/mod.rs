//! The working tree as tools may use it: files confined to it, a journal of what was written,
//! the project's commands, search.
//!
//! This room knows no model and no git; what it must know of git is asked for with [`Tracking`]. What it refuses to a model is a [`Refusal`] with a
//! sentence the model can act on; what is wrong with the machine itself is an ordinary error
//! when the workspace is opened.

mod atomic_file;
mod command;
mod dependencies;
mod edit;
mod effects;
mod files;
mod io_errors;
mod journal;
mod read_tracker;
mod sandbox;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

pub use command::process::CommandResult;
pub use command::process_tree::abandon as abandon_commands;
pub use dependencies::is_manifest;
pub use dependencies::missing::{Dependencies, Fetching, MayFetch, Missing, Wanted, undecided};
pub use edit::apply::Edit;
pub use effects::{Bulk, Tracking};
pub use files::artifacts::SessionFiles;
pub use files::git_control_files::{GitControlFiles, Proposed};
pub use files::guard::is_dot_git;
pub use journal::{Fingerprint, Written, lying_as_written};
pub use read_tracker::Seen;
#[cfg(target_os = "linux")]
pub use sandbox::run_helper;
pub use sandbox::{Cache, Confinement, Consent, HELPER_WORD, Level, Weaker};

use crate::secret::Secrets;
use journal::Journal;

/// Largest file, in bytes, that is read or written as a whole.
pub const WHOLE_FILE_MAX: u64 = 2 * 1024 * 1024;

/// What a workspace is made of.
#[derive(Clone, Default)]
pub struct WorkspaceOptions {
    /// The top level of the working tree.
    pub root: PathBuf,
    /// Where the journal is kept, outside the tree; created when missing.
    pub state_dir: PathBuf,
    /// Directories below the root, such as `.cowork/sessions/todo`, that hold the session's own
    /// artifacts: readable with the file tools, written only through [`SessionFiles`].
    pub artifact_dirs: Vec<String>,
    /// Seconds a command may take.
    pub timeout_s: u64,
    /// Seconds a caller may ask for.
    pub timeout_max_s: u64,
    /// Put before `sh -c COMMAND`, which is not confined then.
    pub command_prefix: Vec<String>,
    /// How commands are confined.
    pub confinement: Confinement,
    /// Keys that never reach a command's environment nor leave in its output.
    pub secrets: Secrets,
    /// The environment of the program, of which commands get a safe part.
    pub env: Vec<(OsString, OsString)>,
    /// Tells what commands changed; without it, that is not found out.
    pub tracking: Option<Rc<dyn Tracking>>,
}

/// Why a [`Refusal`] was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// Outside what a model may touch. Counts towards asking a person.
    Guard,
    /// A person's uncommitted work, or a file only a person changes.
    Protected,
    /// Could not be done: no such file, no match, a full disk.
    Failed,
}

/// Something that was not done, and why, in words for a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What kind.
    pub kind: RefusalKind,
    /// What was refused, why, and what to do instead.
    pub message: String,
}

impl Refusal {
    /// Outside what a model may touch.
    pub fn guard(message: impl Into<String>) -> Self {
        Self { kind: RefusalKind::Guard, message: message.into() }
    }

    /// A person's.
    pub fn protected(message: impl Into<String>) -> Self {
        Self { kind: RefusalKind::Protected, message: message.into() }
    }

    /// Could not be done.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { kind: RefusalKind::Failed, message: message.into() }
    }
}

/// The working tree, as tools may use it.
///
/// Not shared between threads: one agent works in a tree at a time, by the session lock.
pub struct Workspace {
    root: PathBuf,
    dir: Dir,
    artifact_dirs: Vec<String>,
    protected: RefCell<BTreeSet<String>>,
    allowed: RefCell<BTreeSet<String>>,
    refused: RefCell<BTreeSet<String>>,
    submodules: OnceCell<BTreeSet<String>>,
    acted_on: OnceCell<GitControlFiles>,
    sight: read_tracker::ReadTracker,
    /// Commands run together; true when the first has begun.
    together: Cell<Option<bool>>,
    bulk: RefCell<BTreeMap<String, usize>>,
    documents: RefCell<BTreeSet<String>>,
    set_aside: RefCell<Vec<(String, PathBuf)>>,
    journal: RefCell<Journal>,
    state_dir: PathBuf,
    tracking: Option<Rc<dyn Tracking>>,
    commands: command::process::Settings,
    troubles: RefCell<io_errors::IoErrors>,
}

// Not derived: the command environment and the secrets must not end up in a log.
impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Workspace {
    /// Opens a tree and its journal. Fails when the root cannot be opened, or the state directory
    /// neither read nor made.
    pub fn open(options: WorkspaceOptions) -> anyhow::Result<Self> {
        let root = std::fs::canonicalize(&options.root)
            .with_context(|| format!("opening the working tree {}", options.root.display()))?;
        let dir = Dir::open_ambient_dir(&root, ambient_authority())
            .with_context(|| format!("opening the working tree {}", root.display()))?;
        let journal = Journal::open(&options.state_dir)?;
        let workspace = Self {
            commands: command::process::Settings::new(&options, &root),
            root,
            dir,
            artifact_dirs: options.artifact_dirs,
            protected: RefCell::default(),
            allowed: RefCell::default(),
            refused: RefCell::default(),
            submodules: OnceCell::new(),
            acted_on: OnceCell::new(),
            sight: read_tracker::ReadTracker::default(),
            together: Cell::new(None),
            bulk: RefCell::default(),
            documents: RefCell::default(),
            set_aside: RefCell::default(),
            journal: RefCell::new(journal),
            troubles: RefCell::default(),
            state_dir: options.state_dir,
            tracking: options.tracking,
        };
        workspace.sweep_temporary();
        workspace.put_back_lock_files();
        // Of a command that was cut short together with the last process.
        workspace.take_left_effects()?;
        Ok(workspace)
    }

    /// Whether a regular file is at this path of the working tree; false for a path the guard
    /// would refuse.
    pub fn exists(&self, path: &str) -> bool {
        self.resolve_entry(path, files::guard::Purpose::Look)
            .is_ok_and(|path| self.dir.metadata(path).is_ok_and(|meta| meta.is_file()))
    }

    /// Whether a file or a folder is at this path; false for a path the guard would refuse.
    pub fn has(&self, path: &str) -> bool {
        self.resolve_entry(path, files::guard::Purpose::Look)
            .is_ok_and(|path| self.dir.metadata(path).is_ok())
    }

    /// The user's keys, which nothing a model reads or writes may hold.
    pub fn secrets(&self) -> &Secrets {
        self.commands.secrets()
    }

    /// The top level of the working tree, with links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// From now on refuses to write these paths (relative to the root): they hold a person's work
    /// that git does not have.
    /// An entry that ends with a slash stands for the files that are in that directory.
    pub fn protect(&self, paths: impl IntoIterator<Item = String>) {
        self.protected.borrow_mut().extend(paths);
    }

    /// Lets tools write a path after all, because a person said so.
    pub fn allow(&self, path: &str) {
        self.protected.borrow_mut().remove(path);
        self.allowed.borrow_mut().insert(path.to_owned());
    }

    /// Documents a person had edited and that were replaced since this was last asked, with the
    /// copies that keep the person's version.
    pub fn take_set_aside(&self) -> Vec<(String, PathBuf)> {
        std::mem::take(&mut *self.set_aside.borrow_mut())
    }

    /// The paths tools wanted to write since this was last asked and were refused, because they
    /// hold a person's work.
    pub fn take_refused(&self) -> Vec<String> {
        std::mem::take(&mut *self.refused.borrow_mut()).into_iter().collect()
    }
}

#[cfg(test)]
mod testing;
