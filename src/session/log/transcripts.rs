//! The transcripts on this machine, and the steps they belong to.

use std::path::PathBuf;

use super::{Step, Teller};
use crate::git::Git;
use crate::session::{Session, StateDir};
use crate::stage::Stage;

impl Teller<'_> {
    /// The transcripts of a step.
    pub(super) fn transcripts_of(&self, step: &Step) -> Vec<PathBuf> {
        let Some(stage) = step.stage else { return Vec::new() };
        let drafts = match (step.event, step.iteration) {
            ("stage_completed", Some(used)) => step.first..step.first + used.max(1),
            ("task_completed", _) => 0..u32::MAX,
            ("review_requested" | "question_answered", Some(draft)) => draft..draft + 1,
            _ => return Vec::new(),
        };
        let fits = |one: &&Transcript| {
            one.stage == stage && drafts.contains(&one.draft) && one.task == step.task
        };
        self.transcripts.iter().filter(fits).map(|one| one.path.clone()).collect()
    }
}

/// A transcript, and what its name says it is about.
pub(super) struct Transcript {
    path: PathBuf,
    stage: Stage,
    draft: u32,
    task: Option<String>,
}

impl Transcript {
    fn at_path(path: PathBuf) -> Option<Self> {
        let mut parts = path.file_stem()?.to_str()?.splitn(4, '.');
        let (stage, draft, _role) = (parts.next()?, parts.next()?, parts.next()?);
        // `align`: older versions asked a model to apply a person's edit to the JSON.
        let task = parts.next().filter(|task| *task != "align" && !task.starts_with("question-"));
        let (stage, draft) = (stage.parse().ok()?, draft.parse().ok()?);
        let task = task.map(str::to_owned);
        Some(Self { path, stage, draft, task })
    }
}

/// The session's transcripts on this machine, sorted by path.
pub(super) fn transcripts(git: &Git, session: &Session) -> Vec<Transcript> {
    let folder = StateDir::at(&git.state_dir(), &session.name).transcripts();
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().filter_map(Transcript::at_path).collect()
}
