//! The project's files, including the draft in the working tree: which tasks have no commit yet, and
//! which task's commit contains which file. A model may write files of several tasks in one
//! conversation: each goes into the commit of the task that names it.

use std::collections::{BTreeMap, BTreeSet};

use crate::artifact::check::{Baseline, CodeChanges, has_code, nothing_changed, task_order};
use crate::artifact::{Plan, Store, Task, TaskStatus};
use crate::error::Error;
use crate::git::{self, Oid};
use crate::pipeline::run::Run;
use crate::session::{self, ProjectFiles, code, merged_tasks};
use crate::stages::{StageSpec, Work};

/// The state a change request started with; `None` if the session is not a change request.
pub(crate) fn baseline_of_change(run: &Run<'_>) -> anyhow::Result<Option<Baseline>> {
    session::baseline(run.env.git, &run.session)
}

/// Paths outside `.cowork` that differ between the session's start and a commit or tree.
pub(crate) fn code_since_start(run: &Run<'_>, commit: &Oid) -> anyhow::Result<Vec<String>> {
    session::code_since_start(run.env.git, &run.session, commit)
}

/// The files with the draft in the working tree.
pub(crate) fn project_files(run: &Run<'_>) -> anyhow::Result<ProjectFiles> {
    // A plan that cannot be read names no files; the checks report what is wrong with it.
    let plan = run.store().plan().unwrap_or_default();
    let tree = run.tree()?;
    ProjectFiles::at(run.env.git, &run.session, &tree, &plan)
}

/// The session's changes, including the code that is about to be committed for a task.
pub(crate) fn code_changes(run: &Run<'_>, task: Option<&Task>) -> anyhow::Result<CodeChanges> {
    let tree = run.tree()?;
    let history = run.committed_code()?;
    let mut changes = session::code_changes_with(run.env.git, &run.session, &tree, &history)?;
    if let Some(task) = task
        && (has_own_code(run, task)? || why_unchanged(run, task)?.is_some())
    {
        changes.tasks.insert(task.id.clone());
    }
    Ok(changes)
}

/// The ids of tasks that have code; uncommitted code belongs to `current`.
pub(crate) fn tasks_with_code(
    run: &Run<'_>,
    plan: &Plan,
    current: Option<&Task>,
) -> anyhow::Result<BTreeSet<String>> {
    let code = code_changes(run, current)?;
    let baseline = baseline_of_change(run)?;
    let has_code = has_code(plan, &code, baseline.as_ref());
    let is_current = |task: &Task| current.is_some_and(|current| current.id == task.id);
    let is_coded = |task: &&Task| match is_current(task) {
        true => code.has_work_of(plan, task),
        false => has_code(task),
    };
    let tasks = plan.tasks.iter().filter(is_coded);
    Ok(tasks.map(|task| task.id.clone()).collect())
}

/// True if nothing was changed for a task that its actor has completed, and the actor gave no reason.
pub(crate) fn lacks_change(run: &Run<'_>, task: &Task) -> anyhow::Result<bool> {
    let plan = run.store().plan()?;
    Ok(!code_changes(run, Some(task))?.has_work_of(&plan, task))
}

/// Fails if there is nothing to deliver, before a model is asked for a report: no more code can be
/// written at this point.
pub(crate) fn something_to_deliver(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<()> {
    if !code_changes(run, None)?.now.is_empty() {
        return Ok(());
    }
    let words = format!("{}: {}", spec.stage, nothing_changed().details);
    Err(Error::failed(words)
        .hint(format!("go back to coding: git cowork revert {} --to coding", run.session.name))
        .into())
}

/// The files that a task's commit leaves to later tasks, by path, with the task that names the
/// file.
pub(crate) type Left = BTreeMap<String, String>;

/// The uncommitted paths that other tasks without a commit (`open`) name and this task does not,
/// each with the first such task.
fn left_to(plan: &Plan, task: &str, open: &[String], uncommitted: &[String]) -> Left {
    let own_paths: BTreeSet<&str> = plan.files_of(task).collect();
    let mut others = Left::new();
    for other in open.iter().filter(|other| *other != task) {
        for path in plan.files_of(other).filter(|path| !own_paths.contains(path)) {
            if uncommitted.iter().any(|file| file == path) {
                others.entry(path.to_owned()).or_insert_with(|| other.clone());
            }
        }
    }
    others
}

/// The code in the working tree that a commit would contain now.
pub(crate) fn uncommitted_code(run: &Run<'_>) -> anyhow::Result<Vec<String>> {
    Ok(code(run.recorder().changes()?))
}

/// The uncommitted files that this task's commit leaves to other tasks.
pub(crate) fn left_to_others(run: &Run<'_>, task: &Task) -> anyhow::Result<Left> {
    let paths = uncommitted_code(run)?;
    if paths.is_empty() {
        return Ok(Left::new());
    }
    let plan = run.store().plan()?;
    let open = open_tasks(run, &plan)?;
    let open = open.into_iter().filter(|id| {
        plan.tasks.iter().any(|task| task.id == *id && task.status != TaskStatus::Blocked)
    });
    Ok(left_to(&plan, &task.id, &open.collect::<Vec<_>>(), &paths))
}

/// True if there is uncommitted code that goes into this task's commit.
pub(crate) fn has_own_code(run: &Run<'_>, task: &Task) -> anyhow::Result<bool> {
    Ok(uncommitted_code(run)?.len() > left_to_others(run, task)?.len())
}

/// Why the task needs no change, as its actor says in the present draft.
pub(crate) fn why_unchanged(run: &Run<'_>, task: &Task) -> anyhow::Result<Option<String>> {
    let draft = run.current_draft.borrow().as_ref().map(|draft| draft.iteration);
    let feedback = run.store().feedback()?;
    let mut newest = feedback.iter().rev().filter(|entry| Some(entry.iteration) == draft);
    Ok(newest.find_map(|entry| entry.why_unchanged(&task.id)).map(str::to_owned))
}

/// Names the commits that already contain a task's files, for the body of that task's own commit.
pub(crate) fn held_elsewhere(run: &Run<'_>, task: &Task) -> anyhow::Result<String> {
    let plan = run.store().plan()?;
    let mut lines = BTreeSet::new();
    for path in plan.files_of(&task.id) {
        let newest = code_commits(run, path)?;
        lines.extend(newest.map(|commit| format!("- `{path}`: {commit}")));
    }
    if lines.is_empty() {
        return Ok("It changed no file.".to_owned());
    }
    let lines: Vec<String> = lines.into_iter().collect();
    Ok(format!("Its files are in other commits:\n{}", lines.join("\n")))
}

/// The newest commit since the session began that changed a path, with its subject.
fn code_commits(run: &Run<'_>, path: &str) -> anyhow::Result<Option<String>> {
    let Some(start) = run.session.history.first() else { return Ok(None) };
    let range = format!("{}..{}", start.commit, run.session.tip);
    git::paths::newest_commit(run.env.git, &range, path)
}

/// Top-level tasks without a commit, in the order of their dependencies.
pub(crate) fn pending_tasks(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<Vec<Task>> {
    if !matches!(spec.work, Work::Tasks { .. }) {
        return Ok(Vec::new());
    }
    let plan = run.store().plan()?;
    let by_id = |id: &String| plan.tasks.iter().find(|task| task.id == *id);
    Ok(open_tasks(run, &plan)?.iter().filter_map(by_id).cloned().collect())
}

/// The ids of the top-level tasks without a commit, in the order of their dependencies.
pub(crate) fn open_tasks(run: &Run<'_>, plan: &Plan) -> anyhow::Result<Vec<String>> {
    let task_ids = run.session.completed_tasks();
    let mut order = task_order(plan).unwrap_or_else(|_| {
        plan.tasks.iter().filter(|task| task.is_top_level()).map(|t| t.id.clone()).collect()
    });
    let mut elsewhere = completed_by_parent(run)?;
    elsewhere.extend(merged_tasks(run.env.git, &run.session)?);
    order.retain(|id| !task_ids.contains(&id.as_str()) && !elsewhere.contains(id));
    Ok(order)
}

/// The tasks that were already completed when a change request started: their commits belong to
/// its parent.
pub(crate) fn completed_by_parent(run: &Run<'_>) -> anyhow::Result<Vec<String>> {
    let Some(start) = run.session.history.first().filter(|_| run.session.is_patch()) else {
        return Ok(Vec::new());
    };
    let files = run.files_at(&start.commit);
    let tasks = Store::new(&files).plan()?.tasks.into_iter();
    let complete = tasks.filter(|task| task.status == TaskStatus::Completed);
    Ok(complete.map(|task| task.id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_goes_with_the_task_that_names_it() {
        let task = |id: &str, files: &[&str]| Task {
            id: id.to_owned(),
            files_to_create: files.iter().map(|file| (*file).to_owned()).collect(),
            ..Task::default()
        };
        let tasks = vec![
            task("TASK-001", &["a.rs", "both.rs"]),
            task("TASK-002", &["b.rs", "both.rs"]),
            task("TASK-002.1", &["part.rs"]),
            task("TASK-003", &["b.rs", "c.rs"]),
            task("TASK-004", &["done.rs"]),
        ];
        let plan = Plan { tasks, ..Plan::default() };
        let owned = |items: &[&str]| -> Vec<String> {
            items.iter().map(|item| (*item).to_owned()).collect()
        };
        let open = owned(&["TASK-001", "TASK-002", "TASK-003"]);
        let written = owned(&["a.rs", "b.rs", "both.rs", "done.rs", "free.rs", "part.rs"]);
        let left = left_to(&plan, "TASK-001", &open, &written);
        let expected = [("b.rs", "TASK-002"), ("part.rs", "TASK-002")];
        let expected = expected.map(|(path, task)| (path.to_owned(), task.to_owned()));
        assert_eq!(left, expected.into());
        assert!(left_to(&plan, "TASK-003", &owned(&["TASK-003"]), &written).is_empty());
    }
}
