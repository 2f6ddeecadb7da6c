//! The files that tasks name: every task needs one, files to change must exist, and files to create
//! must exist in the end.

use std::collections::BTreeMap;

use super::{Baseline, Finding, Report};
use crate::artifact::check::task_order;
use crate::artifact::{Plan, Store, Task, TaskStatus};

/// Returns, for each ignored path, the git rule that ignores it.
pub type IgnoringRules<'a> = dyn Fn(&[&str]) -> BTreeMap<String, String> + 'a;

/// Checks the files that a plan names while it is drafted. `known` returns whether a path is in the
/// repository; `ignored` returns the git rules that ignore paths. In a change request (`added`),
/// the parent's tasks are already done. An approved plan is not checked again: the code may have
/// changed since, and older plans name no files to change.
pub fn planned_files(
    store: &Store<'_>,
    known: &dyn Fn(&str) -> bool,
    ignored: &IgnoringRules<'_>,
    added: Option<&Baseline>,
) -> Report {
    let mut report = Report::default();
    let plan = report.load(store.plan());
    report.rule("every task names a file", |report| named(report, &plan, added));
    report.rule("files to change exist or are created earlier", |report| {
        to_change_exist(report, &plan, known, added);
    });
    report.rule("files to create are not ignored by git", |report| {
        // A task that changes the rules may stop git from ignoring the file.
        if !plan.tasks.iter().any(|task| task.files().any(|path| path.ends_with(".gitignore"))) {
            ignored_files(report, &plan, known, ignored, added);
        }
    });
    report
}

/// Finds top-level tasks that name no file, neither themselves nor in a sub-task. Tasks made from
/// reviewers' comments are skipped, because nobody planned them.
fn named(report: &mut Report, plan: &Plan, added: Option<&Baseline>) {
    let planned = plan.tasks.iter().filter(|task| task.is_top_level() && !task.is_from_review());
    let own = planned.filter(|task| added.is_none_or(|known| !known.has(&task.id)));
    for task in own.filter(|task| plan.files_of(&task.id).next().is_none()) {
        report.find(
            Finding::missing("task-without-files", format!("{} names no file", task.id))
                .fix("name below its heading the files that it changes or creates")
                .about(&task.id),
        );
    }
}

/// Finds files to change that are neither in the repository nor created by an earlier task. A file
/// to create may already exist: it only has to exist in the end.
fn to_change_exist(
    report: &mut Report,
    plan: &Plan,
    known: &dyn Fn(&str) -> bool,
    added: Option<&Baseline>,
) {
    let order = task_order(plan).unwrap_or_else(|_| {
        plan.tasks.iter().filter(|task| task.is_top_level()).map(|t| t.id.clone()).collect()
    });
    let place = |task: &Task| {
        let top = task.id.split('.').next().unwrap_or_default();
        order.iter().position(|id| id == top)
    };
    for task in plan.tasks.iter().filter(|t| added.is_none_or(|known| !known.has(&t.id))) {
        for path in task.changes().filter(|path| !known(path)) {
            let creates = |other: &&Task| other.creates().any(|file| file == path);
            let mut creators = plan.tasks.iter().filter(creates).peekable();
            let finding = match creators.peek().copied() {
                None => Finding::wrong(
                    "unknown-file",
                    format!(
                        "{} is to change {path}, which is not in the repository, and no earlier task creates it",
                        task.id
                    ),
                )
                .fix("correct the path; only a file that does not exist yet is created"),
                Some(_) if creators.clone().any(|c| place(c) <= place(task)) => continue,
                Some(later) => Finding::wrong(
                    "unknown-file",
                    format!("{} is to change {path}, which {} creates later", task.id, later.id),
                )
                .fix(format!("let {} depend on {}", task.id, later.id)),
            };
            report.find(finding.about(&task.id));
        }
    }
}

/// Code of the finding about a file to create that git ignores.
pub const IGNORED: &str = "ignored-file";

/// Reports files that the plan creates but git ignores, so that they could not be committed. The
/// user's own list of ignored files (`core.excludesFile`) may ignore files that the project's
/// `.gitignore` does not. `known` returns whether a path is in the repository.
pub(super) fn ignored_files(
    report: &mut Report,
    plan: &Plan,
    known: &dyn Fn(&str) -> bool,
    ignored: &IgnoringRules<'_>,
    added: Option<&Baseline>,
) {
    let own = plan.tasks.iter().filter(|task| added.is_none_or(|known| !known.has(&task.id)));
    let new = own.flat_map(|task| task.creates().map(move |path| (task, path)));
    let new: Vec<_> = new.filter(|(_, path)| !known(path)).collect();
    let rules = ignored(&new.iter().map(|(_, path)| *path).collect::<Vec<_>>());
    for (task, path) in new {
        let Some(rule) = rules.get(path) else { continue };
        let details = format!("git ignores {path}, which {} creates: {rule}", task.id);
        report.find(
            Finding::wrong(IGNORED, details)
                .fix(format!(
                    "add a line !/{path} to .gitignore (and name .gitignore in a task), or plan \
                 another file"
                ))
                .about(&task.id),
        );
    }
}

/// Returns the files that completed tasks had to create, each with the task or sub-task that names
/// it. A sub-task is completed with its top-level task, whatever its own status. In a patch
/// session, only its own tasks count, since a change may remove files.
pub(super) fn promised<'a>(plan: &'a Plan, added: Option<&Baseline>) -> Vec<(&'a Task, &'a str)> {
    let done = plan
        .tasks
        .iter()
        .filter(|task| task.is_top_level() && task.status == TaskStatus::Completed);
    let tasks = done.flat_map(|task| plan.with_sub_tasks(&task.id));
    let own = tasks.filter(|task| added.is_none_or(|known| !known.has(&task.id)));
    own.flat_map(|task| task.creates().map(move |file| (task, file))).collect()
}

pub(super) fn missing_file(task: &Task, path: &str) -> Finding {
    Finding::missing(
        "missing-file",
        format!("{path}, promised by {}, is not among the files of this session", task.id),
    )
    .critical()
    .fix("write it; if the plan is wrong about it, say so with request_replanning")
    .about(&task.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, create: &[&str], change: &[&str], needs: &[&str]) -> Task {
        let owned = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
        Task {
            id: id.to_owned(),
            files_to_create: owned(create),
            files_to_change: owned(change),
            dependencies: owned(needs),
            ..Task::default()
        }
    }

    fn found(check: impl FnOnce(&mut Report)) -> Vec<String> {
        let mut report = Report::default();
        check(&mut report);
        report.findings.into_iter().map(|finding| finding.details).collect()
    }

    #[test]
    fn a_task_must_name_a_file_for_any_description() {
        let described = |id: &str, words: &str| Task {
            description: words.to_owned(),
            ..task(id, &["", " "], &[], &[])
        };
        let tasks = vec![
            described(
                "TASK-001",
                "Show the creditor in the changelog; no new files, edit existing",
            ),
            described("TASK-002", "Den Gläubiger anzeigen"),
            Task { description: "Show it".into(), ..task("TASK-003", &[], &["./a.rs"], &[]) },
            task("TASK-004", &["b.rs"], &[], &[]),
            task("TASK-005", &[], &[], &[]),
            task("TASK-005.1", &[], &["c.rs"], &[]),
            task("TASK-006", &[], &[], &[]).from_review(),
        ];
        let plan = Plan { tasks, ..Plan::default() };
        let found = found(|report| named(report, &plan, None));
        assert_eq!(found, ["TASK-001 names no file", "TASK-002 names no file"]);
    }

    #[test]
    fn a_file_to_create_is_not_ignored() {
        let tasks = vec![task("TASK-001", &["a.log", "b.rs", "there.log"], &[], &[])];
        let plan = Plan { tasks, ..Plan::default() };
        let rules = |paths: &[&str]| {
            assert_eq!(paths, ["a.log", "b.rs"]);
            BTreeMap::from([("a.log".to_owned(), "/home/ana/ignore, line 1 (*.log)".to_owned())])
        };
        let known = |path: &str| path == "there.log";
        let found = found(|report| ignored_files(report, &plan, &known, &rules, None));
        let told = "git ignores a.log, which TASK-001 creates: /home/ana/ignore, line 1 (*.log)";
        assert_eq!(found, [told]);
    }

    #[test]
    fn a_file_to_change_exists_or_is_created_before() {
        let tasks = vec![
            task("TASK-001", &["new.rs"], &["there.rs", "src/"], &[]),
            task("TASK-002", &["there.rs"], &["new.rs", "gone.rs"], &[]),
            task("TASK-003", &[], &["late.rs"], &[]),
            task("TASK-004", &["late.rs"], &[], &[]),
            task("TASK-005", &[], &["last.rs"], &["TASK-006"]),
            task("TASK-006", &["last.rs"], &["last.rs"], &[]),
        ];
        let plan = Plan { tasks, ..Plan::default() };
        let known = |path: &str| ["there.rs", "src"].contains(&path);
        let check = |added: Option<&Baseline>| {
            found(|report| to_change_exist(report, &plan, &known, added))
        };
        assert_eq!(
            check(None),
            [
                "TASK-002 is to change gone.rs, which is not in the repository, and no earlier task creates it",
                "TASK-003 is to change late.rs, which TASK-004 creates later",
            ]
        );
        let ids = ["TASK-002", "TASK-003"].map(str::to_owned).into();
        assert!(check(Some(&Baseline { ids, ..Baseline::default() })).is_empty());
    }
}
