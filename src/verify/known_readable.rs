//! A cache of session folder trees whose documents match the JSON beside them: `status` and `log`
//! check the same tree each time, and for a plan of 500 tasks the check takes longer than
//! everything else they do. A tree never changes; without the file the check runs once more.
//!
//! The cache is not used if git may replace objects.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use super::problem::Problem;
use crate::git::{self, Git, Oid};
use crate::session::Session;

/// Name of the file in the state directory.
const FILE: &str = "readable";

/// The first line: format version and git-cowork version.
const FIRST: &str = concat!("readable 1 git-cowork ", env!("CARGO_PKG_VERSION"));

/// Maximum number of trees; then the file is started again.
const MOST: usize = 1024;

/// The tree of a session's folder to check.
pub(super) struct AskedTree {
    tree: Oid,
    path: PathBuf,
    kept: Vec<String>,
}

impl AskedTree {
    /// The tree at a session's tip; `None` if the cache cannot be used.
    pub(super) fn at_tip(git: &Git, session: &Session) -> Option<Self> {
        if !git::fallback::is_history_as_written(git) {
            return None;
        }
        let folder = session.name.artifact_dir();
        let [tree] = &mut git.reader().entries(&session.tip, &[&folder]).ok()?[..] else {
            return None;
        };
        let tree = tree.take()?.oid;
        let path = git.state_dir().join(FILE);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let mut lines = text.lines();
        // A line without a newline was only partly written.
        let is_ours = lines.next() == Some(FIRST) && text.ends_with('\n');
        let kept = lines.filter(|_| is_ours).map(str::to_owned).collect();
        Some(Self { tree, path, kept })
    }

    /// True if its documents are known to match the JSON.
    pub(super) fn is_known(&self) -> bool {
        self.kept.iter().any(|tree| *tree == self.tree.as_str())
    }

    /// Records that they match. Errors are ignored.
    pub(super) fn keep(&self) {
        let begins = self.kept.is_empty() || self.kept.len() >= MOST;
        let write = || -> std::io::Result<()> {
            if let Some(folder) = self.path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let text = match begins {
                true => format!("{FIRST}\n{}\n", self.tree),
                false => format!("{}\n", self.tree),
            };
            let mut options = OpenOptions::new();
            // A single write at the end, so that two processes do not overwrite each other's lines.
            match begins {
                true => options.write(true).truncate(true),
                false => options.append(true),
            };
            options.create(true).open(&self.path)?.write_all(text.as_bytes())
        };
        if let Err(error) = write() {
            tracing::debug!(%error, "cannot save the list of readable trees");
        }
    }

    /// The problem for `verify` if the cache says the documents match the JSON, but they do not.
    pub(super) fn problem(&self, session: &Session) -> Option<Problem> {
        let details = "says that the documents give the JSON, and they do not";
        self.is_known()
            .then(|| Problem::to_remove(session, "kept-answer-differs", &self.path, details))
    }
}
