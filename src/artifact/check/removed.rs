//! The code of records that a change request removed must go, too.

use std::collections::{BTreeMap, BTreeSet};

use super::{Baseline, CodeOf, Finding, Report};
use crate::artifact::{Plan, Task, TaskStatus};

/// Returns, for each requirement, feature and component, the completed tasks that name it.
pub(super) fn code_of(plan: &Plan) -> Vec<CodeOf> {
    let is_done = |task: &&Task| task.is_top_level() && task.status == TaskStatus::Completed;
    let mut code = Vec::new();
    for top in plan.tasks.iter().filter(is_done) {
        let files: Vec<String> = plan.files_of(&top.id).map(str::to_owned).collect();
        if files.is_empty() {
            continue;
        }
        let mut records = BTreeSet::new();
        for task in plan.with_sub_tasks(&top.id) {
            records.extend([&task.feature_id, &task.component_id]);
            records.extend(&task.requirement_ids);
        }
        let named = records.into_iter().filter(|record| !record.is_empty());
        code.extend(named.map(|record| CodeOf {
            record: record.clone(),
            task: top.id.clone(),
            files: files.clone(),
        }));
    }
    code
}

/// Returns the removed records for which completed tasks have code. `has` returns whether a record
/// exists.
fn removed_with_code<'a>(
    known: &'a Baseline,
    has: &'a dyn Fn(&str) -> bool,
) -> impl Iterator<Item = &'a CodeOf> {
    known.code.iter().filter(move |code| !has(&code.record))
}

/// Finds removed records whose code no task of the change request takes out. A change request
/// without tasks is coded as a whole.
pub(super) fn stays(
    report: &mut Report,
    plan: &Plan,
    added: Option<&Baseline>,
    has: &dyn Fn(&str) -> bool,
) {
    let Some(known) = added else { return };
    let own: Vec<&Task> = plan.tasks.iter().filter(|task| !known.has(&task.id)).collect();
    if own.is_empty() {
        return;
    }
    let mut removed: BTreeMap<&str, (Vec<&str>, BTreeSet<&str>)> = BTreeMap::new();
    for code in removed_with_code(known, has) {
        let (tasks, files) = removed.entry(&code.record).or_default();
        tasks.push(&code.task);
        files.extend(code.files.iter().map(String::as_str));
    }
    for (record, (tasks, files)) in removed {
        let takes_out = |task: &&Task| {
            task.dependencies.iter().any(|id| tasks.contains(&id.as_str()))
                || task.files().any(|file| files.contains(file))
        };
        if own.iter().any(takes_out) {
            continue;
        }
        let files: Vec<&str> = files.into_iter().collect();
        let (tasks, files) = (tasks.join(", "), files.join(", "));
        let details = format!(
            "{record} was removed, but no task of this change takes out its code: {files} \
                     ({tasks})"
        );
        report.find(Finding::missing("code-of-removed", details)
            .fix(format!(
                "add a task that changes or deletes these files, for a feature that stays; if they \
                 are still needed, let a task of this change depend on {tasks} and say why"
            ))
            .about(record));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn task(id: &str, feature: &str, files: &[&str], status: TaskStatus) -> Task {
        Task {
            id: id.to_owned(),
            feature_id: feature.to_owned(),
            files_to_change: files.iter().map(|file| (*file).to_owned()).collect(),
            status,
            ..Task::default()
        }
    }

    #[test]
    fn code_of_a_removed_feature_needs_a_task() {
        let done = |id, feature, files| task(id, feature, files, TaskStatus::Completed);
        let mut plan = Plan {
            tasks: vec![
                done("TASK-001", "FEAT-001", &["a.sh"]),
                done("TASK-002", "FEAT-002", &["b.sh"]),
            ],
            ..Plan::default()
        };
        let ids = ["FEAT-001", "FEAT-002", "TASK-001", "TASK-002"].map(str::to_owned);
        let ids = BTreeSet::from(ids);
        let known = Baseline { ids, plans: true, code: code_of(&plan), ..Baseline::default() };
        let has = |id: &str| id != "FEAT-002";
        let found = |plan: &Plan| {
            let mut report = Report::default();
            stays(&mut report, plan, Some(&known), &has);
            report.findings.into_iter().map(|finding| finding.details).collect::<Vec<_>>()
        };
        let told = "FEAT-002 was removed, but no task of this change takes out its code: b.sh \
                    (TASK-002)";
        assert!(found(&plan).is_empty());
        plan.tasks.push(task("TASK-003", "FEAT-001", &["a.sh"], TaskStatus::Pending));
        assert_eq!(found(&plan), [told]);
        plan.tasks.push(task("TASK-004", "FEAT-001", &["b.sh"], TaskStatus::Pending));
        assert!(found(&plan).is_empty());
    }
}
