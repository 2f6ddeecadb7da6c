//! A temporary working tree for unit tests.

use std::path::Path;

use tempfile::TempDir;

use crate::workspace::Edit;
use crate::workspace::Refusal;
use crate::workspace::Workspace;
use crate::workspace::WorkspaceOptions;

pub(super) fn edit(old: &str, new: &str) -> Edit {
    Edit { old_text: old.to_owned(), new_text: new.to_owned(), replace_all: false }
}

pub(super) struct Tree {
    dir: TempDir,
    pub workspace: Workspace,
}

impl Tree {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(super) fn with(adapt: impl FnOnce(&mut WorkspaceOptions)) -> Self {
        let dir = TempDir::new().unwrap();
        std::fs::create_dir_all(dir.path().join("tree/.git")).unwrap();
        std::fs::write(dir.path().join("tree/.git/config"), "secret").unwrap();
        std::fs::write(dir.path().join("outside"), "secret").unwrap();
        let mut options = Self::options(dir.path());
        adapt(&mut options);
        Self { workspace: Workspace::open(options).unwrap(), dir }
    }

    fn options(dir: &Path) -> WorkspaceOptions {
        WorkspaceOptions {
            root: dir.join("tree"),
            state_dir: dir.join("state/todo"),
            artifact_dirs: vec![".cowork/sessions/todo".to_owned()],
            timeout_s: 30,
            timeout_max_s: 60,
            env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            ..WorkspaceOptions::default()
        }
    }

    /// Opens the same tree and journal, as the next process would.
    pub(super) fn reopened(&self) -> Workspace {
        let tracking = self.workspace.tree.tracking.clone();
        Workspace::open(WorkspaceOptions { tracking, ..Self::options(self.dir.path()) }).unwrap()
    }

    pub(super) fn root(&self) -> &Path {
        self.workspace.root()
    }

    pub(super) fn put(&self, path: &str, text: &str) {
        self.put_bytes(path, text.as_bytes());
    }

    pub(super) fn put_bytes(&self, path: &str, bytes: &[u8]) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(super) fn get(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).unwrap()
    }

    /// Replaces one passage.
    pub(super) fn edit(&self, path: &str, old: &str, new: &str) -> Result<String, Refusal> {
        self.workspace.edit(path, &[edit(old, new)])
    }

    pub(super) fn remove_git_dir(&self) {
        std::fs::remove_dir_all(self.root().join(".git")).unwrap();
    }
}
