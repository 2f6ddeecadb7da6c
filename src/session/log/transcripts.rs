//! The transcripts on this machine, and the steps they belong to.

use std::path::PathBuf;

use super::{Step, Teller};
use crate::git::Git;
use crate::session::{Session, StateDir};

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
        let fits = |path: &&PathBuf| {
            let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { return false };
            let mut parts = name.splitn(4, '.');
            let (of, draft, _role, task) = (parts.next(), parts.next(), parts.next(), parts.next());
            // `align`: older versions asked a model to apply a person's edit to the JSON.
            let task = task.filter(|task| *task != "align" && !task.starts_with("question-"));
            of == Some(stage.name())
                && draft.and_then(|n| n.parse().ok()).is_some_and(|n| drafts.contains(&n))
                && task == step.task.as_deref()
        };
        self.transcripts.iter().filter(fits).cloned().collect()
    }
}

/// Files of the session's transcripts on this machine, sorted.
pub(super) fn files(git: &Git, session: &Session) -> Vec<PathBuf> {
    let folder = StateDir::at(&git.state_dir(), &session.name).transcripts();
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
