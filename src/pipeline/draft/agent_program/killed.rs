//! The turn of an agent program whose run was killed (`kill -9`, a crash): what it had written by then is
//! in its working tree, and is taken over by the next run, where that goes on at the same place.

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

/// The folder in J with the working tree and the notes of what runs in it.
pub(super) const FOLDER: &str = "agent";
/// Its name in that folder.
const NOTE: &str = "shown.json";
/// Files that are named.
const NAMED: usize = 5;

/// Which work a turn is about, and on which bytes.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Work {
    tip: Oid,
    draft: Oid,
    stage: Stage,
    role: Role,
    task: Option<String>,
}

/// What is noted before a program is asked.
#[derive(Serialize, Deserialize)]
struct Note {
    work: Work,
    shown: ShownFiles,
}

/// Notes what a program is shown, until what it did is brought in. A note that cannot be written only means
/// that a turn is lost with its run.
pub(super) fn note(run: &Run<'_>, part: &Part<'_>, draft: &Oid, shown: &ShownFiles) {
    let note = || {
        let note = Note { work: work(run, part, draft), shown: shown.clone() };
        std::fs::write(path(run.env.state), serde_json::to_vec(&note)?)?;
        anyhow::Ok(())
    };
    if let Err(error) = note() {
        tracing::warn!("what an agent program is shown was not noted: {error:#}");
    }
}

/// What it did is brought in.
pub(super) fn forget(state: &StateDir) {
    let _ = std::fs::remove_file(path(state));
}

/// Whether a run that was killed may have left a turn.
pub(super) fn is_there(state: &StateDir, tree: &Path) -> bool {
    path(state).is_file() && tree.is_dir()
}

/// Takes over what the killed turn left, in the tree of this workspace, where it is about the same work as
/// the turn that comes now; documents are answered with, for the program to go on with.
pub(super) fn take_over(
    run: &Run<'_>,
    part: &Part<'_>,
    title: &str,
    left: &Workspace,
) -> anyhow::Result<Brought> {
    let path = path(run.env.state);
    let bytes = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    // It was being written: the program had not been asked.
    let Ok(note) = serde_json::from_slice::<Note>(&bytes) else { return Ok(Brought::default()) };
    let changes = workspace::linked(left).changes(&note.shown);
    if changes.is_empty() {
        return Ok(Brought::default());
    }
    let draft = run.recorder().tree(&run.session.tip)?;
    if note.work != work(run, part, &draft) {
        let paths = named(changes.iter().map(|change| change.path.as_str()));
        run.warn(format!(
            "{title} was at work when the run was killed; what it had changed ({paths}) is not taken over, \
             since the session has changed"
        ));
        return Ok(Brought::default());
    }
    let brought = bring_in::bring_in(run, part, changes);
    for (path, why) in &brought.refused {
        run.warn_once(format!("{title}: {path} was not taken over: {why}"));
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
            "{title} was at work when the run was killed; what it had written is taken over: {paths}"
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

/// The first few of these paths.
fn named<'p>(paths: impl Iterator<Item = &'p str>) -> String {
    let paths: Vec<&str> = paths.collect();
    let mut names = paths.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if paths.len() > NAMED {
        names = format!("{names} and {} more", paths.len() - NAMED);
    }
    names
}
