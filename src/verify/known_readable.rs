//! A cache of the trees of session folders whose documents match the JSON beside them. `status` and
//! `log` check the same tree each time, and for a plan of 500 tasks the check takes longer than
//! everything else they do. A tree never changes, so an entry stays valid; if the cache file is
//! missing, the check only runs once more.
//!
//! The cache is not used if git may replace objects.

use std::path::PathBuf;

use super::problem::Problem;
use crate::git::{self, Git, Oid};
use crate::replace_file::replace_file;
use crate::session::Session;

/// Name of the file in the state directory.
const FILE: &str = "readable";

/// The first line: format version and git-cowork version.
const FIRST: &str = concat!("readable 1 git-cowork ", env!("CARGO_PKG_VERSION"));

/// Maximum number of trees; then the file is started from scratch.
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
        // A damaged file is started from scratch.
        let is_ours = lines.next() == Some(FIRST) && text.ends_with('\n');
        let kept = lines.filter(|_| is_ours).map(str::to_owned).collect();
        Some(Self { tree, path, kept })
    }

    /// True if its documents are known to match the JSON.
    pub(super) fn is_known(&self) -> bool {
        self.kept.iter().any(|tree| *tree == self.tree.as_str())
    }

    /// Adds the tree to the cache. If the file cannot be written, the command still succeeds.
    pub(super) fn keep(&self) {
        let earlier = if self.kept.len() < MOST { &self.kept[..] } else { &[] };
        let trees = earlier.iter().map(String::as_str).chain([self.tree.as_str()]);
        let text: String = [FIRST].into_iter().chain(trees).flat_map(|line| [line, "\n"]).collect();
        let made = self.path.parent().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(error) = made.and_then(|()| replace_file(&self.path, text.as_bytes())) {
            tracing::debug!(%error, "cannot save the list of readable trees");
        }
    }

    /// The problem for `verify` if the cache says the documents match the JSON, but they do not.
    pub(super) fn problem(&self, session: &Session) -> Option<Problem> {
        let details = "says that the documents match the JSON, but they do not";
        self.is_known()
            .then(|| Problem::to_remove(session, "kept-answer-differs", &self.path, details))
    }
}
