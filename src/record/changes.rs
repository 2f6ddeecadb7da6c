//! Which paths a commit of ours may hold: the session's own files, what tools wrote and what
//! commands changed. Everything else that is uncommitted is the user's (contract, sections 1 and
//! 2).

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;

use crate::git::{AlsoRead, Git, Hidden, StatusEntry};
use crate::session::SessionName;
use crate::workspace::{ActedOn, Tracking, Workspace};

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

/// The paths a commit would hold, relative to the top of the working tree and sorted.
pub fn collect(
    git: &Git,
    workspace: &Workspace,
    name: &SessionName,
    scope: Scope,
) -> anyhow::Result<Vec<String>> {
    let dirs = [name.artifact_dir(), name.record_dir()];
    let written: BTreeSet<String> = workspace.written_paths().into_iter().collect();
    let ours = |path: &String| {
        if path.starts_with(".cowork/") {
            // A committed session file that is gone is listed here and nowhere else.
            in_session(path, &dirs)
        } else {
            scope.reaches(path) && written.contains(path) && workspace.may_be_recorded(path)
        }
    };
    let places: Vec<&str> = written.iter().chain(&dirs).map(String::as_str).collect();
    // A file that is marked to be skipped is in no commit, whoever wrote it.
    let takes = uncommitted(git, &places)?.filter(|entry| entry.hidden != Some(Hidden::Skipped));
    let mut paths: BTreeSet<String> = takes.map(|entry| entry.path).filter(ours).collect();
    // People may ignore `.cowork`; a session's own files are recorded all the same.
    for dir in &dirs {
        session_files(git.top(), dir, &mut paths)?;
    }
    Ok(paths.into_iter().collect())
}

/// Paths that differ from HEAD, of these files and folders; of all, when none is given. A submodule
/// or a nested repository is somebody else's history.
fn uncommitted(
    git: &Git,
    places: &[&str],
) -> anyhow::Result<impl Iterator<Item = StatusEntry> + use<>> {
    let own = |entry: &StatusEntry| !entry.submodule && !entry.path.ends_with('/');
    Ok(git.status_of(places)?.into_iter().filter(own))
}

/// A repository, as the workspace asks for it.
pub struct Tracked(pub Git);

impl Tracking for Tracked {
    fn uncommitted(&self) -> anyhow::Result<BTreeSet<String>> {
        Ok(uncommitted(&self.0, &[])?.map(|entry| entry.path).collect())
    }

    fn is_uncommitted(&self, path: &str) -> anyhow::Result<bool> {
        self.0.is_uncommitted(path)
    }

    fn tracks_below(&self, folder: &str) -> anyhow::Result<bool> {
        self.0.tracks_below(folder)
    }

    fn submodules(&self) -> anyhow::Result<BTreeSet<String>> {
        self.0.submodules()
    }

    fn acted_on(&self) -> anyhow::Result<ActedOn> {
        let AlsoRead { files, folders } = self.0.also_read()?;
        Ok(ActedOn { files, folders })
    }

    fn ignored(&self) -> anyhow::Result<Vec<String>> {
        self.0.ignored_files()
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
