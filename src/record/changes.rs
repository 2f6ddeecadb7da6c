//! The paths that a commit of git-cowork may contain: the session's own files, files written by
//! tools and files changed by commands. Everything else that is uncommitted is the user's.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::artifact::Artifact;
use crate::error::Error;
use crate::git::{self, AlsoRead, Git, Hidden, Oid, StatusEntry, StatusKind};
use crate::path_text::encoded;
use crate::present::present;
use crate::session::{RefNames, SessionName, artifact_path};
use crate::workspace::{GitControlFiles, NestedStatus, Tracking, Workspace};

/// The paths that a commit may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The session's own documents and records: every stage except coding.
    Documents,
    /// Those, and the code.
    Code,
}

impl Scope {
    /// True if a commit may contain this path, provided that the session wrote it.
    pub fn reaches(self, path: &str) -> bool {
        self == Self::Code || path.starts_with(".cowork/")
    }
}

/// The paths a commit would contain, relative to the top of the working tree and sorted, at the
/// current moment ([`Git::status`]).
pub fn collect(
    git: &Git,
    workspace: &Workspace,
    name: &SessionName,
    scope: Scope,
) -> anyhow::Result<Vec<String>> {
    let mut dirs = vec![name.artifact_dir(), name.record_dir()];
    dirs.dedup();
    let written: BTreeSet<String> = workspace.written().paths().into_iter().collect();
    let is_code = |path: &String| !path.starts_with(".cowork/") && scope.reaches(path);
    let code = written.iter().filter(|path| is_code(path));
    let asked: Vec<String> = dirs.iter().chain(code).cloned().collect();
    let ours = |path: &String| {
        let is_recorded = || workspace.proposals().may_be_recorded(path);
        in_session(path, &dirs) || (is_code(path) && written.contains(path) && is_recorded())
    };
    // Half-written files of a killed run begin with a dot.
    let is_whole = |entry: &StatusEntry| {
        let name = entry.path.rsplit('/').next().unwrap_or_default();
        entry.kind != StatusKind::Untracked || !name.starts_with('.') || is_code(&entry.path)
    };
    let listed = taken(git::status::of(git, &asked)?).filter(is_whole).map(|entry| entry.path);
    let mut paths: BTreeSet<String> = listed.filter(ours).collect();
    // Users may ignore `.cowork`; a session's own files are recorded all the same.
    for dir in &dirs {
        paths.extend(files_in(git, dir)?);
    }
    Ok(paths.into_iter().collect())
}

/// The files directly in a folder of the working tree, except those of a killed run that are
/// half-written: their names begin with a dot.
fn files_in(git: &Git, folder: &str) -> anyhow::Result<Vec<String>> {
    let full = git.top().join(folder);
    let entries = present(std::fs::read_dir(&full));
    let entries = entries.with_context(|| format!("reading {}", full.display()))?;
    let mut files = Vec::new();
    for entry in entries.into_iter().flatten() {
        let entry = entry.with_context(|| format!("reading {}", full.display()))?;
        let name = entry.file_name();
        let name = name.to_str().filter(|name| !name.starts_with('.'));
        if let (Some(name), true) = (name, entry.file_type().is_ok_and(|kind| kind.is_file())) {
            files.push(format!("{folder}/{name}"));
        }
    }
    Ok(files)
}

/// The entries among these that a commit can take.
fn taken(entries: Vec<StatusEntry>) -> impl Iterator<Item = StatusEntry> {
    // A file marked skip-worktree is not in any commit, whoever wrote it.
    own(entries).filter(|entry| entry.hidden != Some(Hidden::Skipped))
}

/// The entries among these that are no submodules or nested repositories, which have their own
/// history.
fn own(entries: Vec<StatusEntry>) -> impl Iterator<Item = StatusEntry> {
    entries.into_iter().filter(|entry| !entry.submodule && !entry.path.ends_with('/'))
}

/// Gives the workspace access to the repository.
pub struct Tracked {
    git: Git,
    refs: RefNames,
    name: SessionName,
    /// True if the tree was on the session's branch at the beginning. It is not while a session is
    /// started, and when the records of a merged one are repaired.
    on_branch: bool,
    /// The session's `session.json`, if it was there at the beginning.
    record: Option<PathBuf>,
}

impl Tracked {
    /// The repository, in the working tree of a session.
    ///
    /// # Errors
    /// HEAD cannot be read.
    pub fn new(git: &Git, refs: RefNames, name: &SessionName) -> anyhow::Result<Self> {
        let on_branch = git.head()?.branch() == Some(&refs.branch(name));
        let record = git.top().join(artifact_path(name, Artifact::Session));
        let record = Some(record).filter(|record| on_branch && record.exists());
        Ok(Self { git: git.clone(), refs, name: name.clone(), on_branch, record })
    }
}

impl Tracking for Tracked {
    fn uncommitted(&self) -> anyhow::Result<BTreeSet<String>> {
        Ok(own(self.git.status()?).map(|entry| entry.path).collect())
    }

    fn is_uncommitted(&self, path: &str) -> anyhow::Result<bool> {
        git::status::is_uncommitted(&self.git, path)
    }

    fn wrote(&self, path: &str) {
        git::status::note_written(&self.git, path);
    }

    fn tracks_below(&self, folder: &str) -> anyhow::Result<bool> {
        git::status::tracks_below(&self.git, folder)
    }

    fn tracks(&self, path: &str) -> anyhow::Result<bool> {
        git::status::tracks(&self.git, path)
    }

    fn submodules(&self) -> anyhow::Result<BTreeSet<String>> {
        git::paths::submodules(&self.git)
    }

    fn acted_on(&self) -> anyhow::Result<GitControlFiles> {
        let AlsoRead { files, folders } = git::also_read::list(&self.git)?;
        Ok(GitControlFiles { files, folders })
    }

    fn status_of(&self, folder: &str) -> anyhow::Result<NestedStatus> {
        let found = git::nested::status(&self.git.top().join(encoded(folder)))?;
        let from_root =
            |paths: Vec<String>| paths.into_iter().map(|path| format!("{folder}/{path}")).collect();
        let [uncommitted, ignored] = [found.uncommitted, found.ignored].map(from_root);
        Ok(NestedStatus { uncommitted, ignored })
    }

    fn would_run(&self, git_dir: &Path) -> anyhow::Result<Option<String>> {
        git::would_run::would_run(&self.git, git_dir)
    }

    fn is_on_branch(&self) -> bool {
        self.on_branch
    }

    fn require_branch(&self) -> anyhow::Result<()> {
        if self.on_branch {
            require_branch(&self.git, &self.refs, &self.name, None)?;
        }
        match &self.record {
            // Whoever deletes the records would have the session recorded as deleted.
            Some(record) if !record.exists() => Err(records_gone(&self.name).into()),
            _ => Ok(()),
        }
    }

    fn ignored(&self) -> anyhow::Result<Vec<String>> {
        git::status::all_ignored(&self.git)
    }
}

fn records_gone(name: &SessionName) -> Error {
    Error::moved(format!("the records of '{name}' were deleted: {}", name.record_dir()))
        .hint(format!("to bring them back and continue: git cowork resume {name}"))
}

/// True for the session's own documents and records in these directories; the records of a change
/// request below them belong to another session.
pub fn in_session(path: &str, dirs: &[String]) -> bool {
    dirs.iter().any(|dir| {
        path.strip_prefix(dir.as_str())
            .is_some_and(|rest| rest.starts_with('/') && !rest[1..].starts_with("changes/"))
    })
}

/// Makes sure that HEAD is on the session's branch, whose tip was `tip` if that is known.
///
/// # Errors
/// Exit 5, with the command that goes back.
pub(super) fn require_branch(
    git: &Git,
    refs: &RefNames,
    name: &SessionName,
    tip: Option<&Oid>,
) -> anyhow::Result<()> {
    let (branch, short) = (refs.branch(name), refs.short_branch(name));
    if git.head()?.branch() == Some(&branch) {
        return Ok(());
    }
    let resume = format!("git cowork resume {name}");
    let gone = || Error::moved(format!("{short} is gone"));
    Err(match (git.resolve(branch.as_str())?, tip) {
        (None, Some(tip)) => gone().hint(format!("git branch {short} {tip} && {resume}")),
        (None, None) => gone()
            .hint(format!("if you renamed it: git branch -m {short} && {resume}"))
            .hint("otherwise find its tip: git reflog"),
        _ => Error::moved(format!("HEAD is no longer on {short}"))
            .hint(format!("to continue: git switch {short} && {resume}")),
    }
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_change_request_do_not_belong_to_its_parent() {
        let dirs = [".cowork/sessions/todo".to_owned()];
        assert!(in_session(".cowork/sessions/todo/prd.md", &dirs));
        assert!(!in_session(".cowork/sessions/todo/changes/due/session.json", &dirs));
        assert!(!in_session(".cowork/sessions/todo-2/prd.md", &dirs));
        let own = [".cowork/sessions/todo/changes/due".to_owned()];
        assert!(in_session(".cowork/sessions/todo/changes/due/session.json", &own));
    }
}
