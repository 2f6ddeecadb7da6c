//! A task and its sub-tasks, in the form its brief contains.

use crate::artifact::{Component, Feature, Task};
use crate::pipeline::brief::sections::section;
use crate::pipeline::files::task_files;
use crate::pipeline::prompts::TaskItem;
use crate::pipeline::run::Run;

/// Maximum bytes of a list of files.
const TOLD: usize = 2_500;

/// A top-level task with its sub-tasks. This is all that its actor sees of the sub-tasks, whose
/// files and criteria are as binding as the task's.
pub(crate) fn task_item(run: &Run<'_>, task: &Task) -> anyhow::Result<TaskItem> {
    let store = run.store();
    let plan = store.plan()?;
    let names =
        Names { features: store.features()?.features, components: store.design()?.components };
    let mut item = names.item(task);
    let mut parts: Vec<&Task> =
        plan.with_sub_tasks(&task.id).filter(|part| part.id != task.id).collect();
    parts.sort_by_cached_key(|part| numbers(&part.id));
    item.parts = parts.into_iter().map(|part| names.item(part)).collect();
    Ok(item)
}

/// Resolves ids to names.
struct Names {
    features: Vec<Feature>,
    components: Vec<Component>,
}

impl Names {
    fn item(&self, task: &Task) -> TaskItem {
        let feature = self.features.iter().find(|feature| feature.id == task.feature_id);
        let component = self.components.iter().find(|c| c.id == task.component_id);
        let named = |id: &str, name: Option<&str>| match name {
            _ if id.is_empty() => String::new(),
            Some(name) => format!("{id} {name}"),
            None => format!("{id} (removed)"),
        };
        TaskItem {
            id: task.id.clone(),
            title: task.title.clone(),
            description: task.description.clone(),
            feature: named(&task.feature_id, feature.map(|feature| feature.name.as_str())),
            component: named(&task.component_id, component.map(|c| c.name.as_str())),
            files: task.creates().map(str::to_owned).collect(),
            changes: task.changes().map(str::to_owned).collect(),
            criteria: task.acceptance_criteria.clone(),
            parts: Vec::new(),
        }
    }
}

/// `TASK-001.2` comes before `TASK-001.10`, and after its task.
fn numbers(id: &str) -> Vec<u32> {
    id.split('.').skip(1).map(|part| part.parse().unwrap_or(u32::MAX)).collect()
}

/// The uncommitted files when a task starts, written in an earlier task's conversation or in a
/// conversation that was cut off.
pub(crate) fn written_before(run: &Run<'_>, task: Option<&Task>) -> anyhow::Result<String> {
    let Some(task) = task else { return Ok(String::new()) };
    let left = task_files::left_to_others(run, task)?;
    let mut written = task_files::uncommitted_code(run)?;
    written.retain(|path| !left.contains_key(path));
    let title = "Files already written that will be part of this task's commit";
    Ok(section(title, &written.join("\n"), TOLD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_tasks_are_listed_in_numeric_order() {
        let mut ids = ["TASK-001.10", "TASK-001.2.1", "TASK-001.1", "TASK-001.2"];
        ids.sort_by_cached_key(|id| numbers(id));
        assert_eq!(ids, ["TASK-001.1", "TASK-001.2", "TASK-001.2.1", "TASK-001.10"]);
    }
}
