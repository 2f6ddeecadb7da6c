//! The turn of an agent program whose run was killed (`kill -9`, a crash): its changes are still in
//! its working tree, and the next run copies them if it continues the same work.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::bring_in::{self, Brought};
use crate::git::Oid;
use crate::pipeline::brief::part::Part;
use crate::pipeline::run::Run;
use crate::session::StateDir;
use crate::stage::{Role, Stage};
use crate::workspace::{self, ShownFiles, Workspace};

/// The folder in the state directory with the working tree and the notes of its processes.
pub(super) const FOLDER: &str = "agent";
/// The name of the note in that folder.
const NOTE: &str = "shown.json";
/// Maximum number of files that a warning names.
const NAMED: usize = 5;

/// The work a turn is about, and the draft it started from.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Work {
    tip: Oid,
    draft: Oid,
    stage: Stage,
    role: Role,
    task: Option<String>,
}

/// The note about a turn, written before the program starts.
#[derive(Serialize, Deserialize)]
struct Note {
    work: Work,
    shown: ShownFiles,
}

/// Records what a program is shown; the note is kept until the program's changes are copied. If the
/// note cannot be written and the run is killed, the turn is lost.
pub(super) fn note(run: &Run<'_>, part: &Part<'_>, draft: &Oid, shown: &ShownFiles) {
    let note = || {
        let note = Note { work: work(run, part, draft), shown: shown.clone() };
        std::fs::write(path(run.env.state), serde_json::to_vec(&note)?)?;
        anyhow::Ok(())
    };
    if let Err(error) = note() {
        tracing::warn!("cannot record what an agent program is shown: {error:#}");
    }
}

/// Removes the note: the changes have been copied.
pub(super) fn forget(state: &StateDir) {
    let _ = std::fs::remove_file(path(state));
}

/// True if a killed run may have left an unfinished turn.
pub(super) fn is_there(state: &StateDir, tree: &Path) -> bool {
    path(state).is_file() && tree.is_dir()
}

/// Copies the killed turn's files from the workspace `left` if that turn was about the same work as
/// the coming one. Returns the turn's documents, for the program to continue.
pub(super) fn take_over(
    run: &Run<'_>,
    part: &Part<'_>,
    title: &str,
    left: &Workspace,
) -> anyhow::Result<Brought> {
    let path = path(run.env.state);
    let bytes = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    // An incomplete note: the run was killed while writing it, before the program started.
    let Ok(note) = serde_json::from_slice::<Note>(&bytes) else { return Ok(Brought::default()) };
    let changes = workspace::linked(left).changes(&note.shown);
    if changes.is_empty() {
        return Ok(Brought::default());
    }
    let draft = run.tree()?;
    if note.work != work(run, part, &draft) {
        let paths = named(changes.iter().map(|change| change.path.as_str()));
        run.warn(format!(
            "the run was killed while {title} was working; its changes ({paths}) are discarded, \
             because the session has changed since"
        ));
        return Ok(Brought::default());
    }
    let brought = bring_in::bring_in(run, part, changes);
    for (path, why) in &brought.refused {
        run.warn_once(format!("{title}: {path} was not copied: {why}"));
    }
    let name = &run.session.name;
    let documents: Vec<String> = brought
        .documents
        .iter()
        .map(|(artifact, _)| crate::session::artifact_path(name, *artifact))
        .collect();
    let all = brought.files.iter().chain(&documents).map(String::as_str);
    let paths = named(all);
    if !paths.is_empty() {
        run.warn(format!(
            "the run was killed while {title} was working; its changes are recovered: {paths}"
        ));
    }
    Ok(brought)
}

fn work(run: &Run<'_>, part: &Part<'_>, draft: &Oid) -> Work {
    Work {
        tip: run.session.tip.clone(),
        draft: draft.clone(),
        stage: part.spec.stage,
        role: part.role,
        task: part.task.map(|task| task.id.clone()),
    }
}

fn path(state: &StateDir) -> PathBuf {
    state.path().join(Path::new(FOLDER)).join(NOTE)
}

/// The first [`NAMED`] paths, and the number of the others.
fn named<'p>(paths: impl Iterator<Item = &'p str>) -> String {
    let paths: Vec<&str> = paths.collect();
    let mut names = paths.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if paths.len() > NAMED {
        names = format!("{names} and {} more", paths.len() - NAMED);
    }
    names
}
