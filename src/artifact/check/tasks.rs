//! Checks of tasks: complete, linked, without dependency cycles; and the status of features that
//! follows from tasks.

use super::code::{CodeChanges, something_changed, tasks_changed_something};
use super::order::{find_cycle, task_order};
use super::planned_files::{IgnoringRules, ignored_files, missing_file, promised};
use super::records::{blank, incomplete, requirements_and_features};
use super::{Baseline, Finding, Report, Sizes, ids, removed};
use crate::artifact::record_diff::count;
use crate::artifact::{
    Artifact, DesignSpec, FeatureList, FeatureStatus, IdKind, Plan, Requirements, Store, Task,
    TaskStatus,
};

/// Maximum number of levels of task ids: `TASK-001.1.1` has three.
pub const MAX_LEVELS: usize = 3;

/// Checks `plan.md` and `implementation_plan.json`. Without a `prd.md`, also checks the
/// requirements and features, which are in the plan.
pub fn plan(store: &Store<'_>, sizes: &Sizes, added: Option<&Baseline>) -> Report {
    let mut report = Report::default();
    let text = report.document(store, Artifact::Plan);
    let plan = report.load(store.plan());
    let requirements = report.load(store.requirements());
    let features = report.load(store.features());
    let design = report.load(store.design());
    let top: Vec<_> = plan
        .tasks
        .iter()
        .filter(|task| task.is_top_level() && !task.is_from_review())
        .map(|task| task.id.as_str())
        .collect();
    let is_alone = report.load(store.text(Artifact::Prd)).is_none();
    if is_alone {
        report.merge(requirements_and_features(store, sizes, added));
    }
    report.count(IdKind::Task, &top, sizes.tasks, added);
    report.merge(tasks_of(&plan, &requirements, &features, &design));
    let has = |id: &str| {
        requirements.requirements.iter().any(|one| one.id == id)
            || features.features.iter().any(|one| one.id == id)
            || design.components.iter().any(|one| one.id == id)
    };
    removed::stays(&mut report, &plan, added, &has);
    let kinds = [IdKind::Task, IdKind::Requirement, IdKind::Feature, IdKind::Component];
    let (own, others) = kinds.split_at(if is_alone { 3 } else { 1 });
    ids::agree(&mut report, store, Artifact::Plan, own, others);
    for (id, name) in unworked_features(&features, &plan) {
        let words = format!("no task works on {id} '{name}'");
        // What a change did not add may have been built without a task.
        match added.is_some_and(|known| known.has(&id)) && !is_alone {
            false => report.find(
                Finding::missing("uncovered-feature", words)
                    .fix(format!("name {id} in the task that builds it"))
                    .about(id),
            ),
            true => report.notes.push(words),
        }
    }
    report.notes.extend(super::word_evidence(&text.unwrap_or_default()));
    report
}

/// Returns id and name of the features that no task works on.
pub(crate) fn unworked_features(features: &FeatureList, plan: &Plan) -> Vec<(String, String)> {
    let worked_on = |id: &String| plan.tasks.iter().any(|task| task.feature_id == *id);
    let idle = features.features.iter().filter(|feature| !worked_on(&feature.id));
    idle.map(|feature| (feature.id.clone(), feature.name.clone())).collect()
}

/// Checks that coding is done: every top-level task is completed, with its promised files and a
/// change of its own, and the status of features agrees. `exists` returns whether a file exists
/// now; `ignored` returns the git rules that ignore paths. In a patch session (`added`), only its
/// own tasks count.
pub fn coding(
    store: &Store<'_>,
    exists: &dyn Fn(&str) -> bool,
    ignored: &IgnoringRules<'_>,
    code: &CodeChanges,
    added: Option<&Baseline>,
) -> Report {
    let mut report = Report::default();
    let plan = report.load(store.plan());
    let mut features = report.load(store.features());
    let top: Vec<_> = plan.tasks.iter().filter(|task| task.is_top_level()).collect();
    report.rule(&format!("{} of {} completed", top.len(), count(top.len(), "task")), |report| {
        for finding in open_tasks(&plan) {
            report.find(finding);
        }
        if top.is_empty() {
            report.find(Finding::missing("open-task", "there are no tasks").critical());
        }
    });
    report.rule("completed tasks created the files they promised", |report| {
        for (task, path) in promised(&plan, added) {
            if !exists(path) {
                report.find(missing_file(task, path));
            }
        }
        ignored_files(report, &plan, exists, ignored, added);
    });
    something_changed(&mut report, code);
    tasks_changed_something(&mut report, &plan, exists, code, added);
    report.rule("feature status follows its tasks", |report| {
        let has_code = has_code(&plan, code, added);
        for change in derive_feature_status(&mut features, &plan, &has_code) {
            let id = change.split(' ').next().unwrap_or_default().to_owned();
            report.find(
                Finding::wrong("feature-status", format!("according to its tasks, {change}"))
                    .about(id),
            );
        }
    });
    report
}

/// Returns a finding for each task that is not completed. Later tasks that were never started are
/// named in the first finding.
fn open_tasks(plan: &Plan) -> Vec<Finding> {
    let order = task_order(plan).unwrap_or_default();
    let place = |task: &Task| order.iter().position(|id| *id == task.id).unwrap_or(usize::MAX);
    let is_open = |task: &&Task| task.is_top_level() && task.status != TaskStatus::Completed;
    let mut open: Vec<&Task> = plan.tasks.iter().filter(is_open).collect();
    open.sort_by_key(|task| place(task));
    let not_begun = |task: &&Task| task.status == TaskStatus::Pending;
    let after: Vec<&str> =
        open.iter().skip(1).copied().filter(not_begun).map(|task| task.id.as_str()).collect();
    let finding = |(at, task): (usize, &&Task)| {
        let status = status_name(task.status);
        let mut words =
            format!("{} '{}' is not completed (its status: {status})", task.id, task.title);
        if at == 0 && !after.is_empty() {
            let were =
                if after.len() == 1 { "comes after it and was" } else { "come after it and were" };
            words += &format!("; {} {were} not begun", after.join(", "));
        }
        Finding::missing("open-task", words)
            .fix("finish it, then call update_task_status with completed")
            .about(&task.id)
    };
    let told = open.iter().enumerate();
    told.filter(|(at, task)| *at == 0 || task.status != TaskStatus::Pending).map(finding).collect()
}

/// Checks the form of every task, the records that it names, and its dependencies.
pub(crate) fn tasks_of(
    plan: &Plan,
    requirements: &Requirements,
    features: &FeatureList,
    design: &DesignSpec,
) -> Report {
    let mut report = Report::default();
    let ids: Vec<_> = plan.tasks.iter().map(|task| task.id.as_str()).collect();
    let named = match design.components.is_empty() {
        true => "every task names a feature",
        false => "every task names a feature and a component",
    };
    report.rule(named, |report| {
        report.well_formed(IdKind::Task, &ids);
        report.unique(Artifact::ImplementationPlan, &ids);
        for task in &plan.tasks {
            let empty = [
                ("title", task.title.trim().is_empty()),
                ("description", task.is_top_level() && task.description.trim().is_empty()),
                ("criteria", task.is_top_level() && blank(&task.acceptance_criteria)),
            ];
            incomplete(report, "incomplete-task", &task.id, &empty);
            traced(report, task, requirements, features, design);
            nested(report, task, &ids);
        }
    });
    report.rule("no dependency cycle", |report| dependencies(report, plan));
    report
}

/// A completed task is history: it may name what was removed since.
fn is_done(task: &Task) -> bool {
    task.status == TaskStatus::Completed
}

fn traced(
    report: &mut Report,
    task: &Task,
    requirements: &Requirements,
    features: &FeatureList,
    design: &DesignSpec,
) {
    let names = [
        ("feature", &task.feature_id, features.features.iter().any(|f| f.id == task.feature_id)),
        (
            "component",
            &task.component_id,
            design.components.iter().any(|c| c.id == task.component_id),
        ),
    ];
    for id in &task.requirement_ids {
        if !is_done(task) && !requirements.requirements.iter().any(|one| one.id == *id) {
            let details = format!("{} names {id}, which does not exist", task.id);
            report.find(Finding::wrong("untraced-task", details).about(&task.id));
        }
    }
    for (what, id, known) in names {
        // A sub-task can inherit the id from its parent; without a design there are no components.
        let none = what == "component" && design.components.is_empty();
        if known
            || (id.is_empty() && (none || !task.is_top_level()))
            || (!id.is_empty() && is_done(task))
        {
            continue;
        }
        let details = if id.is_empty() {
            format!("{} names no {what}", task.id)
        } else {
            format!("{} names {what} {id}, which does not exist", task.id)
        };
        report.find(Finding::wrong("untraced-task", details).about(&task.id));
    }
}

fn nested(report: &mut Report, task: &Task, ids: &[&str]) {
    if task.id.split('.').count() > MAX_LEVELS {
        let details = format!("{} is deeper than {MAX_LEVELS} levels", task.id);
        report.find(Finding::wrong("sub-task-too-deep", details).about(&task.id));
    }
    if let Some((parent, _)) = task.id.rsplit_once('.')
        && !ids.contains(&parent)
    {
        let details = format!("the parent of {}, {parent}, does not exist", task.id);
        report.find(Finding::wrong("sub-task-without-parent", details).about(&task.id));
    }
}

fn dependencies(report: &mut Report, plan: &Plan) {
    for task in plan.tasks.iter().filter(|task| !is_done(task)) {
        for id in &task.dependencies {
            if !plan.tasks.iter().any(|other| &other.id == id) {
                let details = format!("{} depends on {id}, which does not exist", task.id);
                report.find(Finding::wrong("unknown-dependency", details).about(&task.id));
            }
        }
    }
    let exact = plan.tasks.iter().map(|task| {
        (task.id.as_str(), task.dependencies.iter().map(String::as_str).collect::<Vec<_>>())
    });
    let cycle = find_cycle(&exact.collect()).or_else(|| task_order(plan).err());
    if let Some(cycle) = cycle {
        let details = format!("tasks wait for each other: {}", cycle.join(" → "));
        report.find(
            Finding::wrong("dependency-cycle", details)
                .critical()
                .fix("remove one of these dependencies")
                .about(cycle.first().cloned().unwrap_or_default()),
        );
    }
}

/// Returns whether a task has code, for [`derive_feature_status`]. The code of tasks that existed
/// before a change request (`added`) is in the parent session.
pub fn has_code<'a>(
    plan: &'a Plan,
    code: &'a CodeChanges,
    added: Option<&'a Baseline>,
) -> impl Fn(&Task) -> bool + 'a {
    move |task| added.is_some_and(|known| known.has(&task.id)) || code.stands_behind(plan, task)
}

/// Sets each feature's status from the top-level tasks that work on it, themselves or in a
/// sub-task: implemented if all are completed and have code (`has_code`), in progress if one is
/// started or done, otherwise planned. Verified and delivered features keep their status until they
/// get a task that is not completed; features without tasks keep it, too. Returns the changes, such as `FEAT-001 is implemented`.
pub fn derive_feature_status(
    features: &mut FeatureList,
    plan: &Plan,
    has_code: &dyn Fn(&Task) -> bool,
) -> Vec<String> {
    let mut changes = Vec::new();
    for feature in &mut features.features {
        let tasks: Vec<&Task> = plan.tasks_of(&feature.id).collect();
        let is_over = tasks.iter().all(|task| task.status == TaskStatus::Completed);
        if tasks.is_empty() || (feature.status >= FeatureStatus::Verified && is_over) {
            continue;
        }
        let begun = |t: &&Task| matches!(t.status, TaskStatus::InProgress | TaskStatus::Completed);
        let done = |t: &&Task| t.status == TaskStatus::Completed && has_code(t);
        let (derived, name) = if tasks.iter().all(done) {
            (FeatureStatus::Implemented, "implemented")
        } else if tasks.iter().any(begun) {
            (FeatureStatus::InProgress, "in_progress")
        } else {
            (FeatureStatus::Planned, "planned")
        };
        if feature.status != derived {
            feature.status = derived;
            changes.push(format!("{} is {name}", feature.id));
        }
    }
    changes
}

pub(crate) const fn status_name(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Pending => "pending",
        TaskStatus::InProgress => "in_progress",
        TaskStatus::Completed => "completed",
        TaskStatus::Blocked => "blocked",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::json;

    use super::*;
    use crate::artifact::check::testing::{Memory, sizes};

    fn no_rules(_: &[&str]) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn codes(report: &Report) -> Vec<&'static str> {
        report.findings.iter().map(|f| f.code).collect()
    }

    #[test]
    fn a_valid_plan_passes() {
        let files = Memory::valid();
        let report = plan(&Store::new(&files), &sizes(), None);
        assert!(report.is_ok(), "{report:?}");
        assert!(report.passed.contains(&"5 tasks (5–12)".to_owned()), "{report:?}");
    }

    #[test]
    fn a_dependency_cycle_is_reported() {
        let files = Memory::valid();
        files.edit(Artifact::ImplementationPlan, |v| {
            v["tasks"][1]["dependencies"] = json!(["TASK-005"]);
            v["tasks"][4]["dependencies"] = json!(["TASK-002"]);
        });
        let report = plan(&Store::new(&files), &sizes(), None);
        assert_eq!(codes(&report), ["dependency-cycle"]);
        assert!(report.findings[0].details.ends_with("TASK-002 → TASK-005 → TASK-002"));
    }

    #[test]
    fn records_that_a_task_names_must_exist() {
        let files = Memory::valid();
        files.edit(Artifact::ImplementationPlan, |v| {
            v["tasks"][0]["feature_id"] = json!("FEAT-009");
            v["tasks"][1]["component_id"] = json!("");
            v["tasks"][3]["dependencies"] = json!(["TASK-099"]);
            for id in ["TASK-001.1.1.1", "TASK-001.1"] {
                v["tasks"].as_array_mut().unwrap().push(json!({"id": id, "title": "s"}));
            }
        });
        let report = plan(&Store::new(&files), &sizes(), None);
        assert_eq!(
            codes(&report),
            [
                "untraced-task",
                "untraced-task",
                "sub-task-too-deep",
                "sub-task-without-parent",
                "unknown-dependency"
            ]
        );
    }

    #[test]
    fn coding_is_done_when_every_task_is_done() {
        let files = Memory::valid();
        let store = Store::new(&files);
        let changed: BTreeSet<String> = (1..6).map(|n| format!("src/{n}.rs")).collect();
        let code = CodeChanges { now: changed.clone(), touched: changed, ..CodeChanges::default() };
        let report = coding(&store, &|_| true, &no_rules, &code, None);
        assert_eq!(codes(&report), ["open-task"]);
        let told = &report.findings[0].details;
        assert!(
            told.starts_with("TASK-001 '") && told.contains("(its status: pending); "),
            "{told}"
        );
        assert!(told.ends_with("TASK-005 come after it and were not begun"), "{told}");
        files.edit(Artifact::ImplementationPlan, |v| v["tasks"][3]["status"] = json!("blocked"));
        let report = coding(&store, &|_| true, &no_rules, &code, None);
        assert_eq!(codes(&report), ["open-task"; 2]);
        assert!(report.findings[1].details.contains("TASK-004"), "{report:?}");
        files.edit(Artifact::ImplementationPlan, |v| {
            v["tasks"]
                .as_array_mut()
                .unwrap()
                .iter_mut()
                .for_each(|t| t["status"] = json!("completed"));
        });
        assert_eq!(
            codes(&coding(&store, &|_| true, &no_rules, &code, None)),
            ["feature-status"; 2]
        );
        files.edit(Artifact::Features, |v| {
            v["features"][0]["status"] = json!("implemented");
            v["features"][1]["status"] = json!("verified");
        });
        assert!(coding(&store, &|_| true, &no_rules, &code, None).is_ok());
        let report = coding(&store, &|path| path != "src/2.rs", &no_rules, &code, None);
        assert_eq!(codes(&report), ["missing-file"]);
        assert_eq!(report.findings[0].about.as_deref(), Some("TASK-002"));
        // Without any change, no feature is implemented.
        let report = coding(&store, &|_| true, &no_rules, &CodeChanges::default(), None);
        assert_eq!(codes(&report), ["nothing-changed", "feature-status"]);
        let baseline = Baseline::in_store(&store).unwrap();
        let report =
            coding(&store, &|_| false, &no_rules, &CodeChanges::default(), Some(&baseline));
        assert_eq!(codes(&report), ["nothing-changed"]);
    }

    #[test]
    fn features_follow_their_tasks() {
        let files = Memory::valid();
        let store = Store::new(&files);
        let (mut plan, mut features) = (store.plan().unwrap(), store.features().unwrap());
        let coded = |task: &Task| task.id != "TASK-002";
        let all = |_: &Task| true;
        assert!(derive_feature_status(&mut features, &plan, &all).is_empty());
        plan.tasks[0].status = TaskStatus::Completed;
        assert_eq!(derive_feature_status(&mut features, &plan, &all), ["FEAT-001 is in_progress"]);
        plan.tasks[1].status = TaskStatus::Completed;
        assert!(derive_feature_status(&mut features, &plan, &coded).is_empty());
        assert_eq!(derive_feature_status(&mut features, &plan, &all), ["FEAT-001 is implemented"]);
        assert_eq!(
            derive_feature_status(&mut features, &plan, &coded),
            ["FEAT-001 is in_progress"]
        );
        features.features[0].status = FeatureStatus::Delivered;
        assert!(derive_feature_status(&mut features, &plan, &all).is_empty());
        // A change gives it a new task.
        plan.tasks[0].status = TaskStatus::Pending;
        assert_eq!(derive_feature_status(&mut features, &plan, &all), ["FEAT-001 is in_progress"]);
    }
}
