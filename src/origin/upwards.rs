//! From requirements through features and tasks to commits and surviving lines: `git cowork trace`,
//! also as JSON.

use std::collections::BTreeSet;

use serde::Serialize;

use super::answer::RecordTitle;
use super::records::{REMOVED, Records};
use super::standing::{FileLines, SurvivingLines, TaskLines, count};
use crate::artifact::{Feature, Task, TaskStatus};
use crate::session::{Kind, Session};

/// A requirement with its features, tasks and lines.
#[derive(Clone, Debug, Serialize)]
pub struct RequirementTrace {
    /// The requirement; `None` for tasks without a requirement, and for lines that belong to no
    /// single task.
    pub requirement: Option<RecordTitle>,
    /// Features of the requirement, with their tasks.
    pub features: Vec<FeatureTrace>,
    /// Number of surviving lines.
    pub lines: usize,
    /// Why there are no lines.
    pub why: Option<String>,
    /// Lines of the session that belong to no single task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileLines>,
}

/// A feature.
#[derive(Clone, Debug, Serialize)]
pub struct FeatureTrace {
    /// `FEAT-001`; empty for tasks without a feature.
    pub id: String,
    /// Its name.
    pub title: String,
    /// The tasks.
    pub tasks: Vec<TaskTrace>,
}

/// A task with its lines.
#[derive(Clone, Debug, Serialize)]
pub struct TaskTrace {
    /// `TASK-001`
    pub id: String,
    /// Its title.
    pub title: String,
    /// Status of the task.
    pub status: TaskStatus,
    /// `COMP-001`; empty if the task names none.
    pub component: String,
    /// The task's own commits, and the commits that its surviving lines come from.
    pub commits: Vec<String>,
    /// `commit`, or `plan` if some lines were attributed only by the plan's list of files.
    pub known_by: &'static str,
    /// Its surviving lines.
    pub files: Vec<FileLines>,
    /// Number of lines.
    pub lines: usize,
    /// Files with lines that may belong to this task or to another one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<String>,
}

/// The input of a trace.
pub struct TraceQuery<'a> {
    /// The current records.
    pub records: &'a Records,
    /// The records at the session's tip, to which the ids in its commits refer.
    pub at_tip: &'a Records,
    /// A requirement, feature, component or task to show; `None` for all.
    pub id: Option<&'a str>,
    /// Returns true if the repository contains this commit.
    pub is_here: &'a dyn Fn(&str) -> bool,
}

/// Returns the requirements with their features, tasks, commits and lines; if no id is selected,
/// also the lines that belong to no single task, as the last entry.
pub fn trace(
    session: &Session,
    standing: &SurvivingLines,
    query: &TraceQuery<'_>,
) -> Vec<RequirementTrace> {
    let records = query.records;
    let leaf = |task: &Task| leaf(session, standing, query, task);
    let mut out = Vec::new();
    let mut listed_ids: Vec<&str> = Vec::new();
    for requirement in &records.requirements {
        let tasks: Vec<&Task> = records
            .tasks()
            .filter(|task| {
                let belongings = records.served(&task.id);
                belongings.requirements.iter().any(|one| one.id == requirement.id)
            })
            .collect();
        listed_ids.extend(tasks.iter().map(|task| task.id.as_str()));
        let whole = query.id.is_none_or(|id| id == requirement.id);
        let shown_tasks: Vec<&Task> =
            tasks.iter().copied().filter(|task| whole || is_of(records, task, query.id)).collect();
        if !whole && shown_tasks.is_empty() {
            continue;
        }
        let serving = |feature: &&Feature| feature.requirement_ids.contains(&requirement.id);
        let features: Vec<&Feature> = records.features.iter().filter(serving).collect();
        let features = grouped(records, &features, &shown_tasks, whole, leaf);
        let lines = lines_of(&features);
        let why = (lines == 0).then(|| why_none(&features, standing));
        let heading = RecordTitle { id: requirement.id.clone(), title: requirement.title.clone() };
        out.push(RequirementTrace {
            requirement: Some(heading),
            features,
            lines,
            why,
            files: Vec::new(),
        });
    }
    let rest: Vec<&Task> = records
        .tasks()
        .filter(|task| !listed_ids.contains(&task.id.as_str()))
        .filter(|task| query.id.is_none() || is_of(records, task, query.id))
        .collect();
    let others = if query.id.is_none() { standing.others.clone() } else { Vec::new() };
    if !rest.is_empty() || !others.is_empty() {
        let features = grouped(records, &[], &rest, false, leaf);
        let lines = lines_of(&features) + count(&others);
        out.push(RequirementTrace { requirement: None, features, lines, why: None, files: others });
    }
    out
}

fn lines_of(features: &[FeatureTrace]) -> usize {
    features.iter().flat_map(|feature| &feature.tasks).map(|task| task.lines).sum()
}

/// True if this is the id of the task or of one of its sub-tasks, or of a feature or component that
/// one of them belongs to.
fn is_of(records: &Records, task: &Task, id: Option<&str>) -> bool {
    let Some(id) = id else { return true };
    records.features_of(&task.id).contains(&id)
        || records.plan.with_sub_tasks(&task.id).any(|t| t.id == id || t.component_id == id)
}

/// Groups tasks by feature: by the first of `features` that the task belongs to, else by the first
/// feature of the task itself. `with_empty` keeps features without a task.
fn grouped(
    records: &Records,
    features: &[&Feature],
    tasks: &[&Task],
    with_empty: bool,
    leaf: impl Fn(&Task) -> TaskTrace,
) -> Vec<FeatureTrace> {
    let empty_trace = |feature: &Feature| FeatureTrace {
        id: feature.id.clone(),
        title: feature.name.clone(),
        tasks: Vec::new(),
    };
    let mut out: Vec<FeatureTrace> = features.iter().map(|feature| empty_trace(feature)).collect();
    for task in tasks {
        let works_on = records.features_of(&task.id);
        let place = out.iter().position(|feature| works_on.contains(&feature.id.as_str()));
        let place = place.unwrap_or_else(|| {
            let first_id = works_on.first().copied().unwrap_or_default();
            let position = out.iter().position(|feature| feature.id == first_id);
            position.unwrap_or_else(|| {
                let feature = records.features.iter().find(|feature| feature.id == first_id);
                let title = if first_id.is_empty() { "" } else { REMOVED };
                let nameless = || FeatureTrace {
                    id: first_id.to_owned(),
                    title: title.to_owned(),
                    tasks: Vec::new(),
                };
                out.push(feature.map_or_else(nameless, empty_trace));
                out.len() - 1
            })
        });
        out[place].tasks.push(leaf(task));
    }
    out.retain(|feature| with_empty || !feature.tasks.is_empty());
    out
}

fn leaf(
    session: &Session,
    standing: &SurvivingLines,
    query: &TraceQuery<'_>,
    task: &Task,
) -> TaskTrace {
    let none = TaskLines::default();
    let surviving = standing.tasks.get(&task.id).unwrap_or(&none);
    let own_commits = session.history.iter().filter(|entry| match &entry.kind {
        Kind::Task(id) => query.records.id_of(id, query.at_tip) == task.id,
        _ => false,
    });
    let mut commits: Vec<String> = own_commits.map(|entry| entry.commit.to_string()).collect();
    if commits.is_empty() && surviving.commits.is_empty() {
        // Adopted commits are used only if no lines survive: a rebase may have rewritten them, so
        // the commits of surviving lines come first.
        let is_its = |id: &str| query.records.id_of(id, query.at_tip) == task.id;
        let adoptions = session.file.adopted().filter(|(id, _)| is_its(id));
        let present = adoptions.map(|(_, commit)| commit).filter(|commit| (query.is_here)(commit));
        commits.extend(present.map(str::to_owned));
    }
    let new = surviving.commits.iter().filter(|commit| !commits.contains(commit));
    let new: Vec<String> = new.cloned().collect();
    commits.extend(new);
    TaskTrace {
        id: task.id.clone(),
        title: task.title.clone(),
        status: task.status,
        component: task.component_id.clone(),
        commits,
        known_by: if surviving.by_plan { "plan" } else { "commit" },
        lines: count(&surviving.files),
        files: surviving.files.clone(),
        shared: standing.shared.get(&task.id).into_iter().flatten().cloned().collect(),
    }
}

/// Why a requirement has no lines.
fn why_none(features: &[FeatureTrace], standing: &SurvivingLines) -> String {
    let tasks: Vec<&TaskTrace> = features.iter().flat_map(|feature| &feature.tasks).collect();
    if tasks.is_empty() {
        return "no task works on it".to_owned();
    }
    let files: BTreeSet<&str> =
        tasks.iter().flat_map(|task| &task.shared).map(String::as_str).collect();
    if !files.is_empty() {
        let files: Vec<&str> = files.into_iter().collect();
        return format!(
            "cannot tell which lines of {} belong to this requirement's tasks: \
             several tasks changed them",
            files.join(", ")
        );
    }
    if standing.is_cut {
        return "this shallow clone's history does not reach the commits of the requirement's \
                tasks; fetch the rest: git fetch --unshallow"
            .to_owned();
    }
    // A merged change request's commits are in its own history, which may be gone.
    let is_open =
        |task: &&&TaskTrace| task.commits.is_empty() && task.status != TaskStatus::Completed;
    let open: Vec<&str> = tasks.iter().filter(is_open).map(|task| task.id.as_str()).collect();
    match (open.len() == tasks.len(), &open[..]) {
        (true, [one]) => format!("{one} has no commit yet"),
        (true, all) => format!("{} have no commit yet", all.join(", ")),
        _ => "the lines of its tasks have since been replaced or removed".to_owned(),
    }
}
