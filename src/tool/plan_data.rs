//! Tools for tasks: the plan stage plans them, the coding stage marks them as done.

use serde_json::{Map, Value};

use super::data::{
    Created, change, cleaned, create, exists, fields_of, keep_reason, keep_reason_of_update,
    reference, resolve, tally, updated, word,
};
use super::plain::{Plain, arguments, some};
use super::{Answer, Context, Effect, Tool};
use crate::artifact::check::{MAX_LEVELS, derive_feature_status, task_order};
use crate::artifact::record_diff::count;
use crate::artifact::sections::{Change, Record};
use crate::artifact::{Artifact, IdKind, Plan, SessionKind, Task, TaskStatus, UNCHANGED};

arguments! {
    CreateTask {
        title: String,
        description: String,
        feature_id: String,
        component_id: String,
        requirement_ids: Option<Vec<String>>,
        dependencies: Option<Vec<String>>,
        files_to_create: Option<Vec<String>>,
        files_to_change: Option<Vec<String>>,
        acceptance_criteria: Vec<String>,
        /// of a sub-task
        parent_id: Option<String>,
    }

    UpdateTask {
        task_id: String,
        reason: String,
        title: Option<String>,
        description: Option<String>,
        feature_id: Option<String>,
        component_id: Option<String>,
        requirement_ids: Option<Vec<String>>,
        dependencies: Option<Vec<String>>,
        files_to_create: Option<Vec<String>>,
        files_to_change: Option<Vec<String>>,
        acceptance_criteria: Option<Vec<String>>,
    }

    DeleteTask {
        task_id: String,
        reason: String,
    }

    UpdateTaskStatus {
        task_id: String,
        new_status: TaskStatus,
        /// why it needs no change, or is blocked
        reason: Option<String>,
    }
}

/// The tools of this file.
pub(super) static TOOLS: [&dyn Tool; 4] = [
    &Plain {
        name: "create_task",
        description: "Add a task; returns its id.",
        effect: Effect::WritesRecords,
        run: create_task,
    },
    &Plain {
        name: "update_task",
        description: "Change fields of a task.",
        effect: Effect::WritesRecords,
        run: update_task,
    },
    &Plain {
        name: "delete_task",
        description: "Delete a task and its sub-tasks.",
        effect: Effect::WritesRecords,
        run: delete_task,
    },
    &Plain {
        name: "update_task_status",
        description: "Set the status of your task.",
        effect: Effect::WritesRecords,
        run: update_task_status,
    },
];

fn create_task(context: &mut Context<'_>, args: CreateTask) -> anyhow::Result<Answer> {
    let mut fields = fields_of(&args, &["parent_id"])?;
    resolve_all(context, &mut fields)?;
    let mut plan = context.store.plan()?;
    let parent = some(args.parent_id.as_ref());
    let parent = parent.map(|id| reference(context, IdKind::Task, id)).transpose()?;
    if let Some(parent) = &parent {
        anyhow::ensure!(
            parent.split('.').count() < MAX_LEVELS,
            "{parent} is at the deepest of {MAX_LEVELS} levels; include the work in {parent} instead"
        );
    }
    let above =
        |task: &&Task| task.id.rsplit_once('.').map(|(above, _)| above) == parent.as_deref();
    let siblings: Vec<Task> = plan.tasks.iter().filter(above).cloned().collect();
    let task = match create(context, &siblings, fields)? {
        Created::New(task) => task,
        Created::Same(id) => return Ok(exists(&id)),
    };
    let text = format!("Created {} '{}'.", task.id, task.title);
    let id = task.id.clone();
    context.ledger.change(&[Change::Put(Record::Task(task.clone()))])?;
    plan.tasks.push(task);
    let hint = hint(context, &plan, &id);
    Ok(Answer::ok(format!("{text}{hint} {}", standing(context, &plan)?)))
}

fn update_task(context: &mut Context<'_>, args: UpdateTask) -> anyhow::Result<Answer> {
    let id = reference(context, IdKind::Task, &args.task_id)?;
    let mut fields = fields_of(&args, &["task_id", "reason"])?;
    resolve_all(context, &mut fields)?;
    let mut plan = context.store.plan()?;
    let was_ordered = task_order(&plan).is_ok();
    let (mut changed, mut changes) = (Vec::new(), Vec::new());
    for task in plan.tasks.iter_mut().filter(|task| task.id == id) {
        changed = change(task, std::mem::take(&mut fields))?;
        changes.push(Change::Put(Record::Task(task.clone())));
    }
    if let (true, Err(cycle)) = (was_ordered, task_order(&plan)) {
        anyhow::bail!("tasks would wait for each other: {}", cycle.join(" → "));
    }
    context.ledger.change(&changes)?;
    keep_reason_of_update(context, &id, &changed, Some(&args.reason))?;
    let mut answer = updated(&id, &changed);
    answer.text += &hint(context, &plan, &id);
    Ok(answer)
}

/// A hint with what the check of the plan would report about the files of a task.
fn hint(context: &Context<'_>, plan: &Plan, id: &str) -> String {
    let Some(task) = plan.tasks.iter().find(|task| task.id == id) else { return String::new() };
    if task.is_top_level() && plan.files_of(id).next().is_none() {
        return " It names no file; set files_to_change or files_to_create.".to_owned();
    }
    let created = |path: &str| plan.tasks.iter().any(|task| task.creates().any(|p| p == path));
    let unknown = |path: &&str| !created(path) && !context.workspace.has(path);
    let unknown: Vec<&str> = task.changes().filter(unknown).collect();
    if unknown.is_empty() {
        return String::new();
    }
    format!(
        " Remove {} from files_to_change: not in the repository and not created by any task.",
        unknown.join(", ")
    )
}

fn delete_task(context: &mut Context<'_>, args: DeleteTask) -> anyhow::Result<Answer> {
    let id = reference(context, IdKind::Task, &args.task_id)?;
    let mut plan = context.store.plan()?;
    let below = format!("{id}.");
    let gone = |other: &String| *other == id || other.starts_with(&below);
    let deleted: Vec<_> = plan.tasks.iter().map(|t| t.id.clone()).filter(&gone).collect();
    plan.tasks.retain(|task| !gone(&task.id));
    let mut changes: Vec<Change> = deleted.iter().cloned().map(Change::Delete).collect();
    let mut from = Vec::new();
    for task in plan.tasks.iter_mut().filter(|task| task.dependencies.iter().any(gone)) {
        task.dependencies.retain(|other| !gone(other));
        from.push(format!("the dependencies of {}", task.id));
        changes.push(Change::Put(Record::Task(task.clone())));
    }
    context.ledger.change(&changes)?;
    keep_reason(context, &id, "deleted", Some(&args.reason))?;
    let (deleted, cleaned) = (deleted.join(", "), cleaned(&from));
    let standing = standing(context, &plan)?;
    Ok(Answer::ok(format!("Deleted {deleted}.{cleaned} {standing}")))
}

fn update_task_status(context: &mut Context<'_>, args: UpdateTaskStatus) -> anyhow::Result<Answer> {
    let id = reference(context, IdKind::Task, &args.task_id)?;
    let status = args.new_status;
    if let Some(current) = context.task
        && id != current
        && !id.starts_with(&format!("{current}."))
    {
        anyhow::bail!("you are working on {current}; {id} gets its own turn");
    }
    let mut plan = context.store.plan()?;
    let workspace = context.workspace;
    let in_a_change =
        context.store.session()?.is_some_and(|session| session.kind == SessionKind::Patch);
    if status == TaskStatus::Completed {
        can_be_completed(&plan, &id, &|path| workspace.has(path))?;
    }
    let below = format!("{id}.");
    for task in &mut plan.tasks {
        // Completing a task also completes all its sub-tasks.
        if task.id.starts_with(&below) && status == TaskStatus::Completed {
            task.status = status;
        }
        if task.id != id {
            continue;
        }
        let reopens = task.status == TaskStatus::Completed && status != TaskStatus::Completed;
        anyhow::ensure!(
            !(in_a_change && context.task.is_none() && reopens),
            "{id} was completed before this change; leave it and say at the end what is wrong"
        );
        task.status = status;
    }
    let mut features = context.store.features()?;
    let mut coded = (context.coded)(&plan);
    if status == TaskStatus::Completed && !coded.contains(&id) && context.task == Some(id.as_str())
    {
        keep_reason(context, &id, UNCHANGED, args.reason.as_ref())?;
        coded = (context.coded)(&plan);
    } else if status == TaskStatus::Blocked {
        keep_reason(context, &id, "blocked", args.reason.as_ref())?;
    }
    let changes = derive_feature_status(&mut features, &plan, &|task| coded.contains(&task.id));
    context.store.save(Artifact::ImplementationPlan, &plan)?;
    if !changes.is_empty() {
        context.store.save(Artifact::Features, &features)?;
    }
    let top: Vec<_> = plan.tasks.iter().filter(|task| task.is_top_level()).collect();
    let done = top.iter().filter(|task| task.status == TaskStatus::Completed).count();
    let mut text =
        format!("{id} is {}: {done} of {} completed.", word(status), count(top.len(), "task"));
    for change in changes {
        text.push_str(&format!(" {change}."));
    }
    Ok(Answer::ok(text))
}

/// Checks that a task can be completed: none of its sub-tasks is blocked, and all files to be
/// created by the task and its sub-tasks exist.
fn can_be_completed(plan: &Plan, id: &str, exists: &dyn Fn(&str) -> bool) -> anyhow::Result<()> {
    let parts: Vec<&Task> = plan.with_sub_tasks(id).collect();
    let blocked = |task: &&&Task| task.id != id && task.status == TaskStatus::Blocked;
    if let Some(blocked) = parts.iter().find(blocked) {
        anyhow::bail!("{id} is not complete: its sub-task {} is blocked", blocked.id);
    }
    let missing: Vec<&str> =
        parts.iter().flat_map(|task| task.creates()).filter(|path| !exists(path)).collect();
    anyhow::ensure!(
        missing.is_empty(),
        "{id} is not complete: {} must exist first (write_file)",
        missing.join(", ")
    );
    Ok(())
}

fn resolve_all(context: &Context<'_>, fields: &mut Map<String, Value>) -> anyhow::Result<()> {
    resolve(context, IdKind::Feature, fields, "feature_id")?;
    resolve(context, IdKind::Component, fields, "component_id")?;
    resolve(context, IdKind::Requirement, fields, "requirement_ids")?;
    resolve(context, IdKind::Task, fields, "dependencies")
}

fn standing(context: &Context<'_>, plan: &Plan) -> anyhow::Result<String> {
    let top = plan.tasks.iter().filter(|task| task.is_top_level()).count();
    tally(context, IdKind::Task, top, context.limits.tasks)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::artifact::FeatureStatus;
    use crate::stage::Stage;
    use crate::tool::testing::Bench;

    const TASK: &str = r#"{"title":"t","description":"d","feature_id":"feat-1","component_id":
        "COMP-002","dependencies":["TASK-005",""],"files_to_create":"a.rs","acceptance_criteria":"a"}"#;

    #[test]
    fn a_status_or_id_from_the_model_is_ignored() {
        let bench = Bench::new(Stage::Plan);
        let mut context = bench.context();
        let own = r#"{"id":"TASK-040","status":"completed","title":"#;
        let answer = context.call("create_task", &TASK.replace(r#"{"title":"#, own));
        assert!(answer.ok && answer.text.contains("git-cowork sets the status"), "{answer:?}");
        let plan = bench.store().plan().unwrap();
        let made = plan.tasks.last().unwrap();
        assert_eq!(made.status, TaskStatus::Pending);
        assert_ne!(made.id, "TASK-040");
    }

    #[test]
    fn tasks_are_created_with_what_exists() {
        let bench = Bench::new(Stage::Plan);
        let mut context = bench.context();
        let answer = context.call("create_task", TASK);
        assert_eq!(answer.text, "Created TASK-006 't'. 6 of 5–12 tasks.");
        let task = bench.store().plan().unwrap().tasks[5].clone();
        assert_eq!((task.feature_id.as_str(), task.dependencies.len()), ("FEAT-001", 1));
        assert!(context.call("create_task", TASK).text.starts_with("TASK-006 exists already"));
        let answer = context.call("create_task", &TASK.replace("TASK-005", "TASK-009"));
        assert!(!answer.ok && answer.text.contains("TASK-009 does not exist"), "{}", answer.text);
        let answer = context.call("create_task", &TASK.replace("COMP-002", ""));
        assert!(answer.text.contains("an id like COMP-001 is needed"), "{}", answer.text);
    }

    #[test]
    fn sub_tasks_go_three_levels_deep() {
        let bench = Bench::new(Stage::Plan);
        let mut context = bench.context();
        let mut below = |parent: &str| {
            let task =
                TASK.replace("{\"title\"", &format!("{{\"parent_id\":\"{parent}\",\"title\""));
            context.call("create_task", &task).text
        };
        assert!(below("TASK-001").starts_with("Created TASK-001.1 't'. 5 of"));
        assert!(below("TASK-001").starts_with("TASK-001.1 exists"));
        assert!(below("TASK-001.1").starts_with("Created TASK-001.1.1"));
        assert!(below("TASK-001.1.1").contains("deepest of 3 levels"));
    }

    #[test]
    fn a_cycle_is_refused_and_named() {
        let bench = Bench::new(Stage::Plan);
        let mut context = bench.context();
        let update = r#"{"task_id":"TASK-004","reason":"r","dependencies":["TASK-005"]}"#;
        let answer = context.call("update_task", update);
        assert_eq!(answer.text, "tasks would wait for each other: TASK-004 → TASK-005 → TASK-004");
        let answer = context.call("update_task", r#"{"id":"TASK-004","title":"x"}"#);
        assert!(answer.text.contains("missing: reason"), "{}", answer.text);
        let answer = context.call("update_task", r#"{"id":"TASK-004","title":"x","reason":"r"}"#);
        assert_eq!(answer.text, "Updated TASK-004: title.");
    }

    #[test]
    fn reasons_are_kept_once() {
        let bench = Bench::new(Stage::Plan);
        let mut context = bench.context();
        let update = r#"{"task_id":"TASK-004","reason":"too big","title":"x"}"#;
        assert!(context.call("update_task", update).ok);
        // Nothing changes here, so no reason is stored.
        assert!(context.call("update_task", &update.replace("too big", "why")).ok);
        let delete = r#"{"task_id":"TASK-005","reason":"not asked for"}"#;
        assert!(context.call("delete_task", delete).ok);
        let kept = bench.store().feedback().unwrap();
        let said: Vec<_> = kept.iter().map(|entry| entry.details.as_str()).collect();
        assert_eq!(said, ["TASK-004 updated (title): too big", "TASK-005 deleted: not asked for"]);
        assert!(kept.iter().all(|entry| entry.is_reason() && entry.from.name() == "actor"));
    }

    #[test]
    fn deleting_cleans_dependencies() {
        let bench = Bench::new(Stage::Plan);
        let mut context = bench.context();
        let answer = context.call("delete_task", r#"{"task_id":"TASK-002","reason":"r"}"#);
        assert!(
            answer
                .text
                .starts_with("Deleted TASK-002. Removed from the dependencies of TASK-003. 4 of"),
            "{}",
            answer.text
        );
        assert!(bench.store().plan().unwrap().tasks[1].dependencies.is_empty());
        context.call("delete_task", r#"{"task_id":"TASK-005","reason":"r"}"#);
        let task = TASK.replace("TASK-005", "TASK-001");
        assert!(context.call("create_task", &task).text.starts_with("Created TASK-006"));
    }

    #[test]
    fn a_task_is_completed_when_its_files_exist() {
        let bench = Bench::new(Stage::Coding);
        bench.touch("there.rs");
        bench.files.edit(Artifact::ImplementationPlan, |v| {
            v["tasks"][0]["files_to_create"] = json!(["there.rs"]);
            v["tasks"][1]["files_to_create"] = json!(["no/such/file"]);
        });
        let mut context = bench.context();
        context.0.task = Some("TASK-001");
        let status = |id: &str| format!(r#"{{"task_id":"{id}","new_status":"Completed"}}"#);
        let answer = context.call("update_task_status", &status("TASK-002"));
        assert_eq!(answer.text, "you are working on TASK-001; TASK-002 gets its own turn");
        let answer = context.call("update_task_status", &status("TASK-001"));
        assert!(answer.text.starts_with(
            "TASK-001 is completed: 1 of 5 tasks completed. FEAT-001 is in_progress."
        ));
        assert_eq!(bench.store().features().unwrap().features[0].status, FeatureStatus::InProgress);
        context.0.task = None;
        let answer = context.call("update_task_status", &status("TASK-002"));
        assert!(!answer.ok && answer.text.contains("no/such/file must exist first"));
    }
}
