//! A session's records at a commit.

use crate::artifact::{Artifact, Component, Feature, Files as _, Plan, Requirement, Store, Task};
use crate::git::{Git, Oid};
use crate::session::{CommittedFiles, SessionName};

/// Requirements, features, components and tasks. An unreadable file gives none; `verify` reports
/// it.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Requirements, in the order of the document, like the other records.
    pub requirements: Vec<Requirement>,
    /// Features.
    pub features: Vec<Feature>,
    /// Components.
    pub components: Vec<Component>,
    /// Tasks, with sub-tasks.
    pub plan: Plan,
    /// Changed files by task id, from the delivery report.
    pub changed: Vec<(String, Vec<String>)>,
}

/// The title of a record that a task names and that was removed.
pub const REMOVED: &str = "(removed)";

/// The features, requirements and component that a task belongs to.
#[derive(Clone, Debug, Default)]
pub struct Served<'a> {
    /// Features of the task and its sub-tasks, the task's own first.
    pub features: Vec<&'a Feature>,
    /// The requirements named by the task, else those of its features.
    pub requirements: Vec<&'a Requirement>,
    /// Component of the task.
    pub component: Option<&'a Component>,
}

impl Records {
    /// The records of a session at a commit.
    pub fn at(git: &Git, name: &SessionName, commit: &Oid) -> Self {
        let files = CommittedFiles::new(git, name, commit);
        let store = Store::new(&files);
        Self {
            requirements: store.requirements().unwrap_or_default().requirements,
            features: store.features().unwrap_or_default().features,
            components: store.design().unwrap_or_default().components,
            plan: store.plan().unwrap_or_default(),
            changed: files
                .read(Artifact::DeliveryReport)
                .ok()
                .flatten()
                .map_or_else(Vec::new, |report| changed(&report)),
        }
    }

    /// The top-level tasks.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.plan.tasks.iter().filter(|task| task.is_top_level())
    }

    /// A task by its id.
    pub fn task(&self, id: &str) -> Option<&Task> {
        self.plan.tasks.iter().find(|task| task.id == id)
    }

    /// The top-level tasks that name a file, directly or in a sub-task, and those that changed it
    /// according to the delivery report.
    pub fn naming<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Task> {
        let is_changed = move |id: &str| {
            let mut entries = self.changed.iter().filter(|(task, _)| task == id);
            entries.any(|(_, files)| files.iter().any(|file| file == path))
        };
        self.tasks().filter(move |task| {
            self.plan.files_of(&task.id).any(|file| file == path) || is_changed(&task.id)
        })
    }

    /// The features of a task and its sub-tasks, the task's own first.
    pub fn features_of(&self, task: &str) -> Vec<&str> {
        self.plan.features_of(task)
    }

    /// The features and components that a task and its sub-tasks name and that were removed.
    pub fn removed(&self, task: &str) -> (Vec<&str>, Vec<&str>) {
        let is_there = |id: &str| self.features.iter().any(|feature| feature.id == id);
        let features = self.features_of(task).into_iter().filter(|id| !is_there(id));
        let parts = self.plan.with_sub_tasks(task).map(|part| part.component_id.as_str());
        let is_component = |id: &str| self.components.iter().any(|one| one.id == id);
        let components = parts.filter(|id| !id.is_empty() && !is_component(id));
        (features.collect(), components.collect())
    }

    /// The features, requirements and component that a task belongs to.
    pub fn served(&self, task: &str) -> Served<'_> {
        let ids = self.features_of(task);
        let features: Vec<&Feature> =
            ids.iter().filter_map(|id| self.features.iter().find(|one| one.id == *id)).collect();
        let parts = || self.plan.with_sub_tasks(task);
        let mut ids: Vec<&str> =
            parts().flat_map(|part| &part.requirement_ids).map(String::as_str).collect();
        if ids.is_empty() {
            ids = features.iter().flat_map(|f| &f.requirement_ids).map(String::as_str).collect();
        }
        let requirements = self.requirements.iter().filter(|one| ids.contains(&&*one.id));
        let component = parts().find_map(|part| {
            self.components.iter().find(|component| component.id == part.component_id)
        });
        Served { features, requirements: requirements.collect(), component }
    }

    /// The id that a task from `others` has in these records. A merge of two branches may have
    /// renumbered the task: then this is the id of the only task with the same title.
    pub fn id_of(&self, task: &str, others: &Self) -> String {
        let Some(other) = others.task(task) else { return task.to_owned() };
        if self.task(task).is_some_and(|own_task| own_task.title == other.title) {
            return task.to_owned();
        }
        let mut alike = self.tasks().filter(|one| one.title == other.title);
        match (alike.next(), alike.next()) {
            (Some(only), None) => only.id.clone(),
            _ => task.to_owned(),
        }
    }
}

/// The tasks under `## Changes` in a delivery report, each with its files (in backticks).
fn changed(report: &str) -> Vec<(String, Vec<String>)> {
    let lines = report.lines().skip_while(|line| line.trim_end() != "## Changes").skip(1);
    let mut tasks: Vec<(String, Vec<String>)> = Vec::new();
    for line in lines.take_while(|line| !line.starts_with("## ")) {
        if let Some(item) = line.strip_prefix("- ") {
            let id = item.split(' ').next().unwrap_or_default();
            tasks.push((id.to_owned(), Vec::new()));
        }
        let Some((_, files)) = tasks.last_mut() else { continue };
        files.extend(line.split('`').skip(1).step_by(2).map(|file| file.replace("\\|", "|")));
    }
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_tasks_are_read_from_a_report() {
        let report = "T\n\n- TASK-009 x: `no`\n\n## Changes\n\n2 files: 1 line added, 0 removed.\n\n\
                      - TASK-001 One: `a.rs`,\n  `b.rs`\n- TASK-002 Two: `b.rs` and 2 more\n- … and 1 \
                      more: `git cowork show todo plan`\n\n## Checks\n\n- TASK-003 x: `no`\n";
        let found = changed(report);
        assert_eq!(found[0], ("TASK-001".to_owned(), vec!["a.rs".to_owned(), "b.rs".to_owned()]));
        assert_eq!(found[1], ("TASK-002".to_owned(), vec!["b.rs".to_owned()]));
        let records = Records {
            plan: Plan {
                tasks: vec![
                    task("TASK-001", "One", &[], &[]),
                    task("TASK-002", "Two", &["c.rs"], &[]),
                ],
                ..Plan::default()
            },
            changed: found,
            ..Records::default()
        };
        let naming = |path| records.naming(path).map(|task| task.id.as_str()).collect::<Vec<_>>();
        assert_eq!(naming("b.rs"), ["TASK-001", "TASK-002"]);
        assert_eq!(naming("c.rs"), ["TASK-002"]);
    }

    fn task(id: &str, title: &str, files: &[&str], requirements: &[&str]) -> Task {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        Task {
            id: id.into(),
            title: title.into(),
            feature_id: "FEAT-001".into(),
            files_to_create: owned(files),
            requirement_ids: owned(requirements),
            ..Task::default()
        }
    }

    fn records(tasks: Vec<Task>) -> Records {
        let requirement = |id: &str| Requirement { id: id.into(), ..Requirement::default() };
        Records {
            requirements: ["REQ-001", "REQ-002"].map(requirement).into(),
            features: vec![Feature {
                id: "FEAT-001".into(),
                requirement_ids: vec!["REQ-001".into(), "REQ-002".into()],
                ..Feature::default()
            }],
            plan: Plan { tasks, ..Plan::default() },
            ..Records::default()
        }
    }

    #[test]
    fn a_task_serves_its_requirements_else_those_of_its_feature() {
        let all = records(vec![
            task("TASK-001", "a", &["a.rs"], &["REQ-002"]),
            task("TASK-002", "b", &["a.rs"], &[]),
            task("TASK-002.1", "c", &["c.rs"], &[]),
        ]);
        let ids = |task| -> Vec<String> {
            all.served(task).requirements.iter().map(|one| one.id.clone()).collect()
        };
        assert_eq!(ids("TASK-001"), ["REQ-002"]);
        assert_eq!(ids("TASK-002"), ["REQ-001", "REQ-002"]);
        let naming = |path| all.naming(path).map(|task| task.id.as_str()).collect::<Vec<_>>();
        assert_eq!(naming("a.rs"), ["TASK-001", "TASK-002"]);
        assert_eq!(naming("c.rs"), ["TASK-002"]);
    }

    #[test]
    fn a_task_that_got_another_id_is_found_by_its_title() {
        let before = records(vec![task("TASK-006", "mine", &[], &[])]);
        let both = vec![task("TASK-006", "theirs", &[], &[]), task("TASK-007", "mine", &[], &[])];
        assert_eq!(records(both).id_of("TASK-006", &before), "TASK-007");
        let renamed = records(vec![task("TASK-006", "said better", &[], &[])]);
        assert_eq!(renamed.id_of("TASK-006", &before), "TASK-006");
    }
}
