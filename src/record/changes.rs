//! Which paths a commit of ours may hold: the session's own files, what tools wrote and what
//! commands changed. Everything else that is uncommitted is the user's (contract, sections 1 and
//! 2).

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;

use crate::git::{self, AlsoRead, Git, Hidden, StatusEntry};
use crate::session::SessionName;
use crate::workspace::{GitControlFiles, Tracking, Workspace};

/// The folder in a session's own that its change requests are in.
const CHANGES: &str = "changes";

/// How far a commit may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The session's own documents and records: every stage but coding.
    Documents,
    /// Those, and the code.
    Code,
}

impl Scope {
    /// Whether a commit may hold this path, if it is ours.
    pub fn reaches(self, path: &str) -> bool {
        self == Self::Code || path.starts_with(".cowork/")
    }
}

/// The paths a commit would hold, relative to the top of the working tree and sorted, as they are at the
/// present moment ([`Git::status`]). Without code of ours no look at the tree is needed.
pub fn collect(
    git: &Git,
    workspace: &Workspace,
    name: &SessionName,
    scope: Scope,
) -> anyhow::Result<Vec<String>> {
    let dirs = [name.artifact_dir(), name.record_dir()];
    let written: BTreeSet<String> = workspace.written().paths().into_iter().collect();
    let ours = |path: &String| {
        if path.starts_with(".cowork/") {
            // A committed session file that is gone is listed here and nowhere else.
            in_session(path, &dirs)
        } else {
            scope.reaches(path)
                && written.contains(path)
                && workspace.proposals().may_be_recorded(path)
        }
    };
    let has_code = written.iter().any(|path| !path.starts_with(".cowork/") && scope.reaches(path));
    let gone = if has_code { None } else { gone_documents(git, &dirs)? };
    let mut paths: BTreeSet<String> = match gone {
        Some(gone) => gone,
        None => {
            // Of all: commands are compared by the same look. A file that is marked to be skipped
            // is in no commit, whoever wrote it.
            let takes = uncommitted(git)?.filter(|entry| entry.hidden != Some(Hidden::Skipped));
            takes.map(|entry| entry.path).filter(ours).collect()
        }
    };
    // People may ignore `.cowork`; a session's own files are recorded all the same.
    for dir in &dirs {
        session_files(git.top(), dir, &mut paths)?;
    }
    Ok(paths.into_iter().collect())
}

/// Paths that differ from HEAD. A submodule or a nested repository is somebody else's history.
fn uncommitted(git: &Git) -> anyhow::Result<impl Iterator<Item = StatusEntry> + use<>> {
    let own = |entry: &StatusEntry| !entry.submodule && !entry.path.ends_with('/');
    Ok(git.status()?.into_iter().filter(own))
}

/// The committed files of these directories of a session that are there no longer. All others are
/// found by their names ([`session_files`]), so no look at the tree is needed; `None` where it is: for a
/// directory with other things in it than files of a session, and for marked files, of which a
/// sparse checkout may have taken some away.
fn gone_documents(git: &Git, dirs: &[String]) -> anyhow::Result<Option<BTreeSet<String>>> {
    let mut gone = BTreeSet::new();
    let Some(head) = git.head()?.oid().cloned() else { return Ok(None) };
    for dir in dirs {
        if !is_plain_folder(git.top(), dir) || git::hidden::marks_below(git, dir)? {
            return Ok(None);
        }
        for name in
            git::paths::names_in(git, &head, dir)?.into_iter().filter(|name| name != CHANGES)
        {
            let path = format!("{dir}/{name}");
            if git.top().join(&path).symlink_metadata().is_err() {
                gone.insert(path);
            }
        }
    }
    // What is a folder in the commit is not a file of the session.
    let paths: Vec<&String> = gone.iter().collect();
    let blobs = git::snapshot::blob_ids(git, &head, &paths)?;
    Ok(blobs.iter().all(Option::is_some).then_some(gone))
}

/// Whether a directory holds regular files that have a session's names, its change requests, and
/// nothing else; or is not there.
fn is_plain_folder(top: &Path, dir: &str) -> bool {
    let mut above = dir.match_indices('/').map(|(at, _)| &dir[..at]).chain([dir]);
    let real =
        above.all(|folder| top.join(folder).symlink_metadata().map_or(true, |meta| meta.is_dir()));
    let Ok(entries) = std::fs::read_dir(top.join(dir)) else { return real };
    let plain = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            let (kind, name) = (entry.file_type(), entry.file_name());
            let name = name.to_str().filter(|name| !name.starts_with('.'));
            name.is_some_and(|name| kind.is_ok_and(|kind| kind.is_file() || name == CHANGES))
        })
    };
    real && entries.into_iter().all(plain)
}

/// A repository, as the workspace asks for it.
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
/// request below them are another session's.
pub fn in_session(path: &str, dirs: &[String]) -> bool {
    dirs.iter().any(|dir| {
        path.strip_prefix(dir.as_str())
            .is_some_and(|rest| rest.starts_with('/') && !rest[1..].starts_with("changes/"))
    })
}

fn session_files(top: &Path, dir: &str, paths: &mut BTreeSet<String>) -> anyhow::Result<()> {
    let full = top.join(dir);
    let entries = match std::fs::read_dir(&full) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("reading {}", full.display())),
    };
    for entry in entries {
        let entry = entry.with_context(|| format!("reading {}", full.display()))?;
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        // A name with a dot is the half-written file of a run that was killed.
        if let (true, Ok(name)) = (is_file, entry.file_name().into_string())
            && !name.starts_with('.')
        {
            paths.insert(format!("{dir}/{name}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_change_are_not_its_parents() {
        let dirs = [".cowork/sessions/todo".to_owned()];
        assert!(in_session(".cowork/sessions/todo/prd.md", &dirs));
        assert!(!in_session(".cowork/sessions/todo/changes/due/session.json", &dirs));
        assert!(!in_session(".cowork/sessions/todo-2/prd.md", &dirs));
        let own = [".cowork/sessions/todo/changes/due".to_owned()];
        assert!(in_session(".cowork/sessions/todo/changes/due/session.json", &own));
    }
}
