//! Copies an agent program's changes into the session's tree: files are written as a tool writes
//! them, and the stage's documents are saved by the calls that a model would make. Everything else
//! is refused with a reason.

use crate::artifact::Artifact;
use crate::config::configures_agents;
use crate::pipeline::brief::part::Part;
use crate::pipeline::run::Run;
use crate::session::artifact_path;
use crate::workspace::{self, LinkedChange, NowThere};

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
        let taken = match path.starts_with(".cowork/") {
            true => document(run, part, change).map(|document| brought.documents.push(document)),
            false => file(run, part, &change).map(|changed| {
                if changed {
                    brought.files.push(change.path);
                }
            }),
        };
        if let Err(why) = taken {
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
    let own = Artifact::ALL.iter().find(is_it);
    let Some(artifact) = own.filter(|own| part.tools.contains(&own.save_tool())) else {
        return Err(match own {
            Some(own) if own.is_json() => {
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
