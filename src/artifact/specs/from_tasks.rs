//! Tasks of a plan from the groups of a `tasks.md`: a heading with several tasks is one with sub-tasks,
//! which share a commit.

use super::markdown::short;
use super::paths;
use super::tasks::{Group, Line};
use crate::artifact::{IdKind, Task};

/// Characters of a title.
const TITLE: usize = 100;

/// What the tasks of a group serve.
pub(super) struct Serves {
    /// Their feature.
    pub feature: String,
    /// Their requirements.
    pub requirements: Vec<String>,
}

/// The task of a group that comes after `number` others, with its sub-tasks.
pub(super) fn tasks_of(
    group: &Group,
    number: &mut u32,
    serves: &dyn Fn(&Group, Option<&Line>) -> Serves,
    is_file: &dyn Fn(&str) -> bool,
) -> Vec<Task> {
    if group.title.is_empty() || group.open.len() == 1 {
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
        (Some(first), Some(last)) => format!("{first} to {last} are done as tasks.md says"),
        _ => "its parts are done as tasks.md says".to_owned(),
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
        files_to_create: paths::named(&line.text, is_file),
        ..Task::default()
    }
}

fn described(group: &Group, line: &Line) -> String {
    match &group.goal {
        Some(goal) => format!("{}\n\n{goal}", line.text),
        None => line.text.clone(),
    }
}
