//! Copies an agent program's changes into the session's tree: files are written as a tool writes
//! them, and the stage's documents are saved by the calls that a model would make. Everything else
//! is refused with a reason. If the run was killed (`kill -9`, a crash), the changes are still in the
//! program's working tree, and the next run copies them if it continues the same work.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::artifact::Artifact;
use crate::clean::few;
use crate::config::configures_agents;
use crate::git::Oid;
use crate::pipeline::brief::part::Part;
use crate::pipeline::run::Run;
use crate::session::{StateDir, artifact_path};
use crate::stage::{Role, Stage};
use crate::workspace::{self, LinkedChange, NowThere, ShownFiles, Workspace};

/// The result of copying the changes.
#[derive(Debug, Default)]
pub(super) struct Brought {
    /// Files that were copied.
    pub files: Vec<String>,
    /// Documents of the stage, with their new text.
    pub documents: Vec<(Artifact, String)>,
    /// Paths that were refused, with the reason.
    pub refused: Vec<(String, String)>,
}

/// Copies the changes that are allowed.
pub(super) fn bring_in(run: &Run<'_>, part: &Part<'_>, changes: Vec<LinkedChange>) -> Brought {
    let mut brought = Brought::default();
    for change in changes {
        let path = change.path.clone();
        let result = match path.starts_with(".cowork/") {
            true => document(run, part, change).map(|document| brought.documents.push(document)),
            false => file(run, part, &change).map(|changed| {
                if changed {
                    brought.files.push(change.path);
                }
            }),
        };
        if let Err(why) = result {
            brought.refused.push((path, why));
        }
    }
    brought
}

/// Copies a file of the project; false if the tree has the same content already.
fn file(run: &Run<'_>, part: &Part<'_>, change: &LinkedChange) -> Result<bool, String> {
    if configures_agents(&change.path) {
        return match &change.now {
            // The file is gone because it was hidden from the program, not deleted by it.
            Ok(NowThere::Gone) => Ok(false),
            _ => Err("it configures agent programs, and only a person may change it".to_owned()),
        };
    }
    let now = change.now.as_ref().map_err(Clone::clone)?;
    if !part.spec.writes_code() {
        return Err(format!("the {} stage may write only its documents", part.spec.stage));
    }
    let files = workspace::linked(run.env.workspace);
    files.take_over(&change.path, change.is_new, now).map_err(|refusal| refusal.message)
}

/// The stage's document that the program wrote.
fn document(
    run: &Run<'_>,
    part: &Part<'_>,
    change: LinkedChange,
) -> Result<(Artifact, String), String> {
    let name = &run.session.name;
    let is_it = |artifact: &&Artifact| artifact_path(name, **artifact) == change.path;
    let candidate = Artifact::ALL.iter().find(is_it);
    let Some(artifact) = candidate.filter(|candidate| part.tools.contains(&candidate.save_tool()))
    else {
        return Err(match candidate {
            Some(candidate) if candidate.is_json() => {
                "git-cowork generates it from the documents; edit those".to_owned()
            }
            _ => format!("the {} stage must not change it", part.spec.stage),
        });
    };
    match change.now? {
        NowThere::Gone => Err("a document of the stage must not be deleted".to_owned()),
        NowThere::File { content, .. } => match String::from_utf8(content) {
            Ok(text) => Ok((*artifact, text)),
            Err(_) => Err("it is not UTF-8 text".to_owned()),
        },
    }
}

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
        let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        let paths = few(&paths, NAMED, ", ");
        run.warn(format!(
            "the run was killed while {title} was working; its changes ({paths}) are discarded, \
             because the session has changed since"
        ));
        return Ok(Brought::default());
    }
    let brought = bring_in(run, part, changes);
    for (path, why) in &brought.refused {
        run.warn_once(format!("{title}: {path} was not copied: {why}"));
    }
    let documents: Vec<String> =
        brought.documents.iter().map(|(artifact, _)| run.path_of(*artifact)).collect();
    let paths = few(&[&brought.files[..], &documents].concat(), NAMED, ", ");
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
