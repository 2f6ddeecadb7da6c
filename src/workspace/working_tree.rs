//! State of an open working tree: the handle of its root, records about its files, and the git
//! queries. The file operations are in `files`.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::SystemTime;

use anyhow::Context as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::activity::Watch;
use crate::moment::{TreeCache, Untouched};
use crate::private::PrivateFiles;
use crate::workspace::io_errors::IoErrors;
use crate::workspace::journal::Journal;
use crate::workspace::options::WorkspaceOptions;
use crate::workspace::protection::Protection;
use crate::workspace::read_tracker::ReadTracker;
use crate::workspace::tracking::{GitControlFiles, KnownRepositories, Tracking};
use crate::workspace::user_files::{UserFileChange, UserFiles};

/// Largest file, in bytes, that is read or written as a whole.
pub const WHOLE_FILE_MAX: u64 = 2 * 1024 * 1024;

/// Artifact texts by path.
type Artifacts = BTreeMap<String, Option<String>>;

/// A working tree and its journal.
pub(crate) struct WorkingTree {
    /// The top level, with links resolved.
    pub(crate) root: PathBuf,
    pub(crate) dir: Dir,
    pub(crate) state_dir: PathBuf,
    pub(crate) artifact_dirs: Vec<String>,
    pub(crate) tracking: Option<Rc<dyn Tracking>>,
    pub(crate) watch: Option<Watch>,
    pub(crate) journal: RefCell<Journal>,
    pub(crate) io_errors: IoErrors,
    pub(crate) read_tracker: ReadTracker,
    pub(crate) protection: Protection,
    pub(crate) private: PrivateFiles,
    /// The files that private ones are hard links to.
    pub(crate) private_names: TreeCache<(), Rc<BTreeSet<String>>>,
    pub(crate) submodules: OnceCell<BTreeSet<String>>,
    pub(crate) acted_on: OnceCell<GitControlFiles>,
    /// `acted_on` in lower case, for comparison.
    pub(crate) acted_on_lowercase: OnceCell<GitControlFiles>,
    /// Whether git or an agent acts on a path, for each path that was asked about.
    pub(crate) acted_on_paths: RefCell<HashMap<String, bool>>,
    /// The end of the last command before this process.
    pub(crate) last_command: Cell<Option<SystemTime>>,
    /// Set once a command of this process may have run.
    pub(crate) has_commands: Cell<bool>,
    /// Set if the last command was confined.
    pub(crate) confined: Cell<bool>,
    pub(crate) bulk: RefCell<BTreeMap<String, usize>>,
    /// Files that cannot be committed because of their names, with the problem of each name.
    pub(crate) odd_names: RefCell<BTreeMap<String, String>>,
    /// Repositories below the tree, known since the first command of a run.
    pub(crate) repositories: RefCell<Option<KnownRepositories>>,
    pub(crate) documents: RefCell<BTreeSet<String>>,
    /// Artifacts read since the tree last changed, by path; `None` if there is no file.
    pub(crate) artifacts: RefCell<Option<(Untouched, Artifacts)>>,
    pub(crate) user_files: RefCell<UserFiles>,
    /// What happened to a person's own files, until it is told.
    pub(crate) user_file_changes: RefCell<Vec<UserFileChange>>,
}

// Not derived: records about files must not end up in a log.
impl std::fmt::Debug for WorkingTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkingTree").field("root", &self.root).finish_non_exhaustive()
    }
}

impl WorkingTree {
    /// Opens a tree and its journal.
    pub(crate) fn open(options: &WorkspaceOptions) -> anyhow::Result<Self> {
        let root = std::fs::canonicalize(&options.root)
            .with_context(|| format!("opening the working tree {}", options.root.display()))?;
        let dir = Dir::open_ambient_dir(&root, ambient_authority())
            .with_context(|| format!("opening the working tree {}", root.display()))?;
        let journal = Journal::open(&options.state_dir)?;
        Ok(Self {
            root,
            dir,
            state_dir: options.state_dir.clone(),
            artifact_dirs: options.artifact_dirs.clone(),
            tracking: options.tracking.clone(),
            watch: options.watch.clone(),
            journal: RefCell::new(journal),
            io_errors: IoErrors::default(),
            read_tracker: ReadTracker::default(),
            protection: Protection::default(),
            private: options.private.clone(),
            private_names: TreeCache::default(),
            submodules: OnceCell::new(),
            acted_on: OnceCell::new(),
            acted_on_lowercase: OnceCell::new(),
            acted_on_paths: RefCell::default(),
            last_command: Cell::new(None),
            has_commands: Cell::new(false),
            confined: Cell::new(false),
            bulk: RefCell::default(),
            odd_names: RefCell::default(),
            repositories: RefCell::default(),
            documents: RefCell::default(),
            artifacts: RefCell::default(),
            user_files: RefCell::default(),
            user_file_changes: RefCell::default(),
        })
    }
}
