//! Documents that were found to give the JSON beside them, by the tree of the session's folder: `status`
//! and `log` ask it of the same tree each time, and for a plan of 500 tasks the answer takes longer than
//! all else they do. A tree never changes; losing the file costs the question once more.
//!
//! Nothing is kept where objects may be replaced by others.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use super::problem::Problem;
use crate::git::{self, Git, Oid};
use crate::session::Session;
use crate::shell_quote::quoted;

/// Below J.
const FILE: &str = "readable";

/// The first line: the form of the others, and who wrote them.
const FIRST: &str = concat!("readable 1 git-cowork ", env!("CARGO_PKG_VERSION"));

/// Trees that are kept; then the file begins anew.
const MOST: usize = 1024;

/// The tree of a session's folder whose documents are asked about.
pub(super) struct AskedTree {
    tree: Oid,
    path: PathBuf,
    kept: Vec<String>,
}

impl AskedTree {
    /// The tree at a session's tip; `None` where no answer may be kept.
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
        // A line without its end was not written whole.
        let is_ours = lines.next() == Some(FIRST) && text.ends_with('\n');
        let kept = lines.filter(|_| is_ours).map(str::to_owned).collect();
        Some(Self { tree, path, kept })
    }

    /// Whether its documents were found to give the JSON.
    pub(super) fn is_known(&self) -> bool {
        self.kept.iter().any(|tree| *tree == self.tree.as_str())
    }

    /// Keeps that they do. A disk that takes no file is no reason not to answer.
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
            // One write at the end: two processes lose nothing of each other.
            match begins {
                true => options.write(true).truncate(true),
                false => options.append(true),
            };
            options.create(true).open(&self.path)?.write_all(text.as_bytes())
        };
        if let Err(error) = write() {
            tracing::debug!(%error, "what can be read is not kept");
        }
    }

    /// For `verify`, where its documents do not give the JSON, and it is kept that they do.
    pub(super) fn problem(&self, session: &Session) -> Option<Problem> {
        self.is_known().then(|| {
            let about = self.path.display().to_string();
            let details = format!("{about} says that the documents give the JSON, and they do not");
            let remove = format!("rm {}", quoted(&about));
            Problem::new(session, "kept-answer-differs", about, details).fix(remove)
        })
    }
}
