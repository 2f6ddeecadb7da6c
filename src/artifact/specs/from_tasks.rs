//! Makes the tasks of a plan from the groups of a `tasks.md`: a heading with several tasks becomes
//! one task with sub-tasks, which share a commit.

use super::markdown::{named_paths, short};
use super::tasks::{Group, Line};
use crate::artifact::{IdKind, Task};

/// Maximum number of characters of a title.
const TITLE: usize = 100;

/// The feature and requirements that the tasks of a group serve.
pub(super) struct Serves {
    /// Id of the feature.
    pub feature: String,
    /// Ids of the requirements.
    pub requirements: Vec<String>,
}

/// Returns the tasks of a group, numbered from `number` + 1; none if all of its tasks are ticked.
pub(super) fn tasks_of(
    group: &Group,
    number: &mut u32,
    serves: &dyn Fn(&Group, Option<&Line>) -> Serves,
    is_file: &dyn Fn(&str) -> bool,
) -> Vec<Task> {
    if group.title.is_empty() || group.open.len() <= 1 {
        let one = |line: &Line| {
            *number += 1;
            let Serves { feature, requirements } = serves(group, Some(line));
            let id = IdKind::Task.format(*number);
            Task {
                description: described(group, line),
                feature_id: feature,
                requirement_ids: requirements,
                acceptance_criteria: vec![group.test.clone().unwrap_or_else(|| line.text.clone())],
                ..task(id, line, is_file)
            }
        };
        return group.open.iter().map(one).collect();
    }
    *number += 1;
    let id = IdKind::Task.format(*number);
    let Serves { feature, requirements } = serves(group, None);
    let names: Vec<&str> =
        group.open.iter().map(|line| line.id.as_str()).filter(|id| !id.is_empty()).collect();
    let done = match (names.first(), names.last()) {
        (Some(first), Some(last)) => format!("{first} to {last} are done as tasks.md describes"),
        _ => "its parts are done as tasks.md describes".to_owned(),
    };
    let whole = Task {
        id: id.clone(),
        title: short(&group.title, TITLE),
        description: group.goal.clone().unwrap_or_else(|| format!("{}.", group.title)),
        feature_id: feature,
        requirement_ids: requirements,
        acceptance_criteria: vec![group.test.clone().unwrap_or(done)],
        ..Task::default()
    };
    let part = |(at, line): (usize, &Line)| Task {
        description: line.text.clone(),
        feature_id: serves(group, Some(line)).feature,
        ..task(format!("{id}.{}", at + 1), line, is_file)
    };
    let parts = group.open.iter().enumerate().map(part);
    std::iter::once(whole).chain(parts).collect()
}

fn task(id: String, line: &Line, is_file: &dyn Fn(&str) -> bool) -> Task {
    let named = format!("{} {}", line.id, line.text);
    Task {
        id,
        title: short(named.trim(), TITLE),
        files_to_create: named_paths(&line.text, is_file),
        ..Task::default()
    }
}

fn described(group: &Group, line: &Line) -> String {
    match &group.goal {
        Some(goal) => format!("{}\n\n{goal}", line.text),
        None => line.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tasks::groups;
    use super::*;

    #[test]
    fn a_heading_whose_tasks_are_all_ticked_is_not_planned() {
        let text = "# Tasks\n\n## 1. Setup\n\n- [x] 1.1 Begin\n- [X] 1.2 Go on\n\n## 2. Work\n\n\
                    - [ ] 2.1 Do a\n- [ ] 2.2 Do b\n";
        let serves = |_: &Group, _: Option<&Line>| Serves {
            feature: "FEAT-001".to_owned(),
            requirements: Vec::new(),
        };
        let mut number = 0;
        let groups = groups(text);
        let tasks =
            groups.iter().flat_map(|group| tasks_of(group, &mut number, &serves, &|_| true));
        let ids: Vec<String> = tasks.map(|task| format!("{} {}", task.id, task.title)).collect();
        assert_eq!(ids, ["TASK-001 2. Work", "TASK-001.1 2.1 Do a", "TASK-001.2 2.2 Do b"]);
    }
}
