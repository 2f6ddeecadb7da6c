//! Checks a session's code against its tasks: whether anything was changed at all, and whether each
//! completed task changed something.

use std::collections::BTreeSet;

use super::{Baseline, Finding, Report};
use crate::artifact::{Plan, Task, TaskStatus};

/// What a session changed outside `.cowork`: in its commits and, while a draft is being written, in
/// the working tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeChanges {
    /// Paths that differ from the session's base.
    pub now: BTreeSet<String>,
    /// The paths in `now`, the paths that commits changed and later commits changed back, and the
    /// paths that were merged into the session.
    pub touched: BTreeSet<String>,
    /// Tasks whose own commit changed code, or says why none was needed.
    pub tasks: BTreeSet<String>,
}

impl CodeChanges {
    /// True if the session has code for a top-level task, as [`Self::has_work_of`]. For a task that
    /// names no file, any change of the session counts.
    pub fn stands_behind(&self, plan: &Plan, task: &Task) -> bool {
        self.has_work_of(plan, task)
            || plan.files_of(&task.id).next().is_none() && !self.now.is_empty()
    }

    /// True if the task's own commit changed code or says why none was needed, or any commit changed
    /// a file that the task names.
    pub fn has_work_of(&self, plan: &Plan, task: &Task) -> bool {
        self.tasks.contains(&task.id) || plan.files_of(&task.id).any(|file| self.touches(file))
    }

    /// True if the file, or a file in the folder, was changed.
    pub fn touches(&self, path: &str) -> bool {
        self.touched.contains(path) || {
            let folder = format!("{path}/");
            let mut from = self.touched.range(folder.clone()..);
            from.next().is_some_and(|file| file.starts_with(&folder))
        }
    }
}

/// Reports a session that changes nothing outside `.cowork`, so that it has nothing to deliver.
pub(super) fn something_changed(report: &mut Report, code: &CodeChanges) {
    report.rule("files outside .cowork are changed", |report| {
        if code.now.is_empty() {
            report.find(nothing_changed());
        }
    });
}

/// The finding that there is nothing to deliver.
pub fn nothing_changed() -> Finding {
    Finding::missing(
        "nothing-changed",
        "this session changes no file outside .cowork, so there is nothing to deliver",
    )
    .critical()
    .fix("make the change in the project's files; if there is nothing to do or something is in the way, say so with request_human_review")
}

/// Finds completed tasks whose files no commit of the session changes. Tasks with a missing file
/// (`exists`) are skipped, because another rule reports them.
pub(super) fn tasks_changed_something(
    report: &mut Report,
    plan: &Plan,
    exists: &dyn Fn(&str) -> bool,
    code: &CodeChanges,
    added: Option<&Baseline>,
) {
    report.rule("completed tasks changed files", |report| {
        // A session without any change is reported once, by `something_changed`.
        if code.now.is_empty() {
            return;
        }
        let done = |task: &&Task| task.is_top_level() && task.status == TaskStatus::Completed;
        let own = |task: &&Task| added.is_none_or(|known| !known.has(&task.id));
        for task in plan.tasks.iter().filter(done).filter(own) {
            let promised = plan.with_sub_tasks(&task.id).flat_map(Task::creates);
            if code.stands_behind(plan, task) || !promised.into_iter().all(exists) {
                continue;
            }
            let files: Vec<&str> = plan.files_of(&task.id).collect();
            let details = format!(
                "{} is completed, but no commit of this session changes {}",
                task.id,
                files.join(" or ")
            );
            report.find(
                Finding::missing("task-without-change", details)
                    .fix("make the change the task asks for, in the files it names")
                    .about(&task.id),
            );
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, files: &[&str]) -> Task {
        Task {
            id: id.to_owned(),
            files_to_change: files.iter().map(|file| (*file).to_owned()).collect(),
            status: TaskStatus::Completed,
            ..Task::default()
        }
    }

    fn set(items: &[&str]) -> BTreeSet<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    #[test]
    fn a_task_has_code_by_its_own_commit_or_by_its_files() {
        let tasks = vec![
            task("TASK-001", &["./a.rs"]),
            task("TASK-002", &["b.rs", "tests/"]),
            task("TASK-003", &["c.rs"]),
            task("TASK-004", &[]),
            task("TASK-005", &[]),
            task("TASK-005.1", &["d.rs"]),
        ];
        let plan = Plan { tasks, ..Plan::default() };
        let code = CodeChanges {
            now: set(&["a.rs"]),
            touched: set(&["a.rs", "tests/b.rs", "tests.rs"]),
            tasks: set(&["TASK-003"]),
        };
        let with: Vec<bool> =
            plan.tasks.iter().map(|task| code.stands_behind(&plan, task)).collect();
        assert_eq!(with, [true, true, true, true, false, false]);
        let mut report = Report::default();
        tasks_changed_something(&mut report, &plan, &|_| true, &code, None);
        assert_eq!(report.findings.len(), 1, "{report:?}");
        assert_eq!(
            report.findings[0].details,
            "TASK-005 is completed, but no commit of this session changes d.rs"
        );
        let known = Baseline { ids: set(&["TASK-005"]), ..Baseline::default() };
        let mut report = Report::default();
        tasks_changed_something(&mut report, &plan, &|_| true, &code, Some(&known));
        assert!(report.is_ok());
        // Without any change, there is only one finding.
        let mut report = Report::default();
        something_changed(&mut report, &CodeChanges::default());
        tasks_changed_something(&mut report, &plan, &|_| true, &CodeChanges::default(), None);
        assert_eq!(report.findings.len(), 1);
        assert_eq!(report.findings[0].code, "nothing-changed");
    }
}
