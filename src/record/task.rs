//! The commit of a completed task.

use super::{Credit, Recorded, Recorder, commit, logs, point};
use crate::git::Oid;
use crate::session::{Message, key};
use crate::stages;

/// The content of a task commit.
#[derive(Clone, Debug)]
pub struct TaskRecord {
    /// Task id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// A few lines.
    pub body: String,
    /// Ids of the features that the task and its sub-tasks work on, its own first.
    pub features: Vec<String>,
    /// The models that generated it, and their usage.
    pub credit: Credit,
    /// The checks that git-cowork ran on the tree to be committed.
    pub checks: String,
    /// Each command of the checks with its result, its log and its tree.
    pub evidence: Vec<String>,
    /// The facts about the project that its actor proposes, in the form recorded in history.
    pub knowledge: Vec<String>,
    /// Why the task needs no change; empty if it has code.
    pub reason: String,
    /// Paths that are left to the commits of other tasks.
    pub left: Vec<String>,
}

/// Records a completed top-level task.
pub fn commit(recorder: &Recorder<'_>, tip: &Oid, task: &TaskRecord) -> anyhow::Result<Recorded> {
    let mut trailers = recorder.base_trailers();
    trailers.push(key::TASK, &task.id);
    task.features.iter().for_each(|feature| trailers.push(key::FEATURE, feature));
    task.credit.push(&mut trailers, recorder.project.attribution);
    trailers.push(key::REASON, &task.reason);
    trailers.push(key::CHECKS, &task.checks);
    task.evidence.iter().for_each(|run| trailers.push(key::EVIDENCE, run));
    task.knowledge.iter().for_each(|fact| trailers.push(key::KNOWLEDGE, fact));
    let subject = recorder
        .project
        .subject_for(stages::code_stage().name(), &format!("{} {}", task.id, task.title));
    let message = Message { subject, body: task.body.clone(), trailers };
    logs::keep(recorder, &task.evidence)?;
    let mut paths = recorder.changes()?;
    paths.retain(|path| !task.left.contains(path));
    point("task.before-commit");
    let recorded = commit::commit(recorder, tip, &paths, &message)?;
    point("task.after-commit");
    Ok(recorded)
}
