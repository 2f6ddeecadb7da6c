//! Which task's commit holds which file. A model may write files of several tasks in one
//! conversation: each goes into the commit of the task that names it.

use std::collections::{BTreeMap, BTreeSet};

use crate::artifact::{Plan, Store, Task, TaskStatus};
use crate::pipeline::Pipeline;
use crate::pipeline::brief::sections::section;
use crate::pipeline::files::project_files::code;

/// Bytes of a list of files that is told.
const TOLD: usize = 2_500;

/// What a task's commit leaves to the commits of later tasks, by path: the task that names it.
pub(crate) type Left = BTreeMap<String, String>;

/// The uncommitted paths that only other tasks without a commit (`open`) name, each with the first
/// that does.
fn left_to_others(plan: &Plan, task: &str, open: &[String], uncommitted: &[String]) -> Left {
    let own: BTreeSet<&str> = plan.files_of(task).collect();
    let mut left = Left::new();
    for other in open.iter().filter(|other| *other != task) {
        for path in plan.files_of(other).filter(|path| !own.contains(path)) {
            if uncommitted.iter().any(|file| file == path) {
                left.entry(path.to_owned()).or_insert_with(|| other.clone());
            }
        }
    }
    left
}

impl Pipeline<'_> {
    /// Code in the working tree that a commit would hold now.
    pub(crate) fn uncommitted_code(&self) -> anyhow::Result<Vec<String>> {
        Ok(code(self.recorder().changes()?))
    }

    /// What of it the commit of this task leaves to others.
    pub(crate) fn left_to_others(&self, task: &Task) -> anyhow::Result<Left> {
        let uncommitted = self.uncommitted_code()?;
        if uncommitted.is_empty() {
            return Ok(Left::new());
        }
        let files = self.files();
        let plan = Store::new(&files).plan()?;
        let open = self.open_tasks(&plan)?;
        let open = open.into_iter().filter(|id| {
            plan.tasks.iter().any(|task| task.id == *id && task.status != TaskStatus::Blocked)
        });
        Ok(left_to_others(&plan, &task.id, &open.collect::<Vec<_>>(), &uncommitted))
    }

    /// For the commit of a task whose files are in other commits already: which ones.
    pub(crate) fn held_elsewhere(&self, task: &Task) -> anyhow::Result<String> {
        let files = self.files();
        let plan = Store::new(&files).plan()?;
        let mut lines = BTreeSet::new();
        for path in plan.files_of(&task.id) {
            let newest = self.code_commits(path)?;
            lines.extend(newest.map(|commit| format!("- `{path}`: {commit}")));
        }
        if lines.is_empty() {
            return Ok("It changed no file.".to_owned());
        }
        let lines: Vec<String> = lines.into_iter().collect();
        Ok(format!("Its files are in other commits:\n{}", lines.join("\n")))
    }

    /// The newest commit since the session began that changed a path, with its subject.
    fn code_commits(&self, path: &str) -> anyhow::Result<Option<String>> {
        let Some(start) = self.session.history.first() else { return Ok(None) };
        let range = format!("{}..{}", start.commit, self.session.tip);
        self.env.git.newest_commit(&range, path)
    }

    /// What lies written and uncommitted when a task is begun: an earlier task's conversation, or one
    /// that was cut, wrote it.
    pub(crate) fn written_before(&self, task: Option<&Task>) -> anyhow::Result<String> {
        let mut out = String::new();
        let Some(task) = task else { return Ok(out) };
        let left = self.left_to_others(task)?;
        let mut written = self.uncommitted_code()?;
        written.retain(|path| !left.contains_key(path));
        section(
            &mut out,
            "Files that are written already and become part of this task's commit",
            &written.join("\n"),
            TOLD,
        );
        Ok(out)
    }
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
        let left = left_to_others(&plan, "TASK-001", &open, &written);
        let expected = [("b.rs", "TASK-002"), ("part.rs", "TASK-002")];
        let expected = expected.map(|(path, task)| (path.to_owned(), task.to_owned()));
        assert_eq!(left, expected.into());
        assert!(left_to_others(&plan, "TASK-003", &owned(&["TASK-003"]), &written).is_empty());
    }
}
