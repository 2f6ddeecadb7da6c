//! The paths that a commit of git-cowork may contain: the session's own files, files written by
//! tools and files changed by commands. Everything else that is uncommitted is the user's.

use std::collections::BTreeSet;
use std::path::Path;

use crate::git::{self, AlsoRead, Git, Hidden, StatusEntry};
use crate::session::SessionName;
use crate::workspace::{GitControlFiles, Tracking, Workspace};

/// The folder in a session's folder that contains its change requests.
const CHANGES: &str = "changes";

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
    let found = git::folders::look(git, &dirs, CHANGES)?;
    let written: BTreeSet<String> = workspace.written().paths().into_iter().collect();
    let is_code = |path: &String| !path.starts_with(".cowork/") && scope.reaches(path);
    let may_be_recorded = |path: &String| workspace.proposals().may_be_recorded(path);
    let code: Vec<String> = written.iter().filter(|path| is_code(path)).cloned().collect();
    let mut paths: BTreeSet<String> = match &found.gone {
        Some(gone) if code.is_empty() => gone.clone(),
        Some(gone) => {
            let code = git::uncommitted::among(git, &code)?.into_iter().filter(may_be_recorded);
            gone.iter().cloned().chain(code).collect()
        }
        None => {
            // A file marked skip-worktree is not in any commit, whoever wrote it.
            let takes = uncommitted(git)?.filter(|entry| entry.hidden != Some(Hidden::Skipped));
            let ours = |path: &String| {
                // Here, only `git status` lists a committed session file that was deleted.
                in_session(path, &dirs)
                    || (is_code(path) && written.contains(path) && may_be_recorded(path))
            };
            takes.map(|entry| entry.path).filter(ours).collect()
        }
    };
    // Users may ignore `.cowork`; a session's own files are recorded all the same.
    paths.extend(found.there.iter().cloned());
    Ok(paths.into_iter().collect())
}

/// Paths that differ from HEAD, except submodules and nested repositories, which have their own
/// history.
fn uncommitted(git: &Git) -> anyhow::Result<impl Iterator<Item = StatusEntry> + use<>> {
    let own = |entry: &StatusEntry| !entry.submodule && !entry.path.ends_with('/');
    Ok(git.status()?.into_iter().filter(own))
}

/// Gives the workspace access to the repository.
pub struct Tracked(pub Git);

impl Tracking for Tracked {
    fn uncommitted(&self) -> anyhow::Result<BTreeSet<String>> {
        Ok(uncommitted(&self.0)?.map(|entry| entry.path).collect())
    }

    fn is_uncommitted(&self, path: &str) -> anyhow::Result<bool> {
        git::status::is_uncommitted(&self.0, path)
    }

    fn wrote(&self, path: &str) {
        git::status::note_written(&self.0, path);
    }

    fn tracks_below(&self, folder: &str) -> anyhow::Result<bool> {
        git::status::tracks_below(&self.0, folder)
    }

    fn tracks(&self, path: &str) -> anyhow::Result<bool> {
        git::status::tracks(&self.0, path)
    }

    fn submodules(&self) -> anyhow::Result<BTreeSet<String>> {
        git::paths::submodules(&self.0)
    }

    fn acted_on(&self) -> anyhow::Result<GitControlFiles> {
        let AlsoRead { files, folders } = git::also_read::list(&self.0)?;
        Ok(GitControlFiles { files, folders })
    }

    fn would_run(&self, git_dir: &Path) -> anyhow::Result<Option<String>> {
        git::would_run::would_run(&self.0, git_dir)
    }

    fn ignored(&self) -> anyhow::Result<Vec<String>> {
        git::paths::ignored(&self.0)
    }
}

/// True for the session's own documents and records in these directories; the records of a change
/// request below them belong to another session.
pub fn in_session(path: &str, dirs: &[String]) -> bool {
    dirs.iter().any(|dir| {
        path.strip_prefix(dir.as_str())
            .is_some_and(|rest| rest.starts_with('/') && !rest[1..].starts_with("changes/"))
    })
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
