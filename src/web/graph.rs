//! The section with the graph of requirements, tasks and files: as a drawing, and as a list for
//! readers who cannot see it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::documents;
use super::drawing::{GraphNode, drawing};
use super::room::{FILES, NODES, PageRoom};
use super::source::{CodeCommit, PageSource, commit_id, file_id};
use crate::artifact::{Artifact, Plan, Requirement, Store, Task, TaskStatus};
use crate::session::{Kind, artifact_path};

pub(super) fn read(source: &PageSource<'_>, room: &mut PageRoom) -> anyhow::Result<Value> {
    let graph = SessionGraph::build(source, room)?;
    if graph.tasks.is_empty() && graph.requirements.is_empty() {
        return Ok(Value::Null);
    }
    let mut data = drawing(
        [("Requirements", &graph.requirements), ("Tasks", &graph.tasks), ("Files", &graph.files)],
        // Each task has its own colour, as long as there are enough colours.
        [(&graph.works_on, |(_, task)| task), (&graph.touches, |(task, _)| task)],
    );
    data["left_out"] = json!(graph.left_out);
    data["list"] = json!(graph.list());
    Ok(data)
}

#[derive(Default)]
struct SessionGraph {
    requirements: Vec<GraphNode>,
    tasks: Vec<GraphNode>,
    files: Vec<GraphNode>,
    /// Pairs of a requirement and a task, by their indices.
    works_on: Vec<(usize, usize)>,
    /// Pairs of a task and a file, by their indices.
    touches: Vec<(usize, usize)>,
    left_out: usize,
}

impl SessionGraph {
    fn build(source: &PageSource<'_>, room: &mut PageRoom) -> anyhow::Result<Self> {
        let files = source.files()?;
        let store = Store::new(&files);
        let (plan, own) = source.plan()?;
        let (commits, _) = source.code_commits()?;
        let features = store.features()?.features;
        let serves = |task: &Task, requirement: &Requirement| {
            let with = plan.with_sub_tasks(&task.id);
            let names_it =
                with.flat_map(|task| &task.requirement_ids).any(|id| *id == requirement.id);
            let through = plan.features_of(&task.id);
            names_it
                || features.iter().any(|feature| {
                    through.contains(&feature.id.as_str())
                        && feature.requirement_ids.contains(&requirement.id)
                })
        };
        let (tasks, more) = room.first(&own, NODES);
        let mut graph = Self { left_out: more, ..Self::default() };
        let mut all = store.requirements()?.requirements;
        if source.session().is_patch() {
            // Leave out the parent's requirements that no task of this session serves.
            all.retain(|requirement| tasks.iter().any(|task| serves(task, requirement)));
        }
        let (requirements, more) = room.first(&all, NODES);
        graph.left_out += more;
        let document = place_of_requirements(source, &files)?;
        for (r, requirement) in requirements.iter().enumerate() {
            let (id, title) = (requirement.id.clone(), requirement.title.clone());
            let works = (0..).zip(tasks).filter(|(_, task)| serves(task, requirement));
            graph.works_on.extend(works.map(|(t, _)| (r, t)));
            graph.requirements.push(GraphNode { id, title, place: document.clone(), done: false });
        }
        for (t, task) in tasks.iter().enumerate() {
            graph.add_task(t, task, &plan, &commits, room);
        }
        for (r, requirement) in graph.requirements.iter_mut().enumerate() {
            let mut own_tasks = graph.works_on.iter().filter(|(index, _)| *index == r).peekable();
            requirement.done =
                own_tasks.peek().is_some() && own_tasks.all(|(_, t)| graph.tasks[*t].done);
        }
        Ok(graph)
    }

    fn add_task(
        &mut self,
        t: usize,
        task: &Task,
        plan: &Plan,
        commits: &[CodeCommit],
        room: &mut PageRoom,
    ) {
        let is_of = |commit: &CodeCommit| {
            let kind = commit.entry.as_ref().map(|entry| &entry.kind);
            matches!(kind, Some(Kind::Task(id)) if *id == task.id)
        };
        let at = commits.iter().position(is_of);
        let mut paths: BTreeSet<&str> = plan.files_of(&task.id).collect();
        paths
            .extend(commits.iter().filter(|c| is_of(c)).flat_map(|c| &c.files).map(String::as_str));
        for path in paths {
            match self.files.iter().position(|file| file.id == path) {
                Some(f) => self.touches.push((t, f)),
                None if self.files.len() < NODES => {
                    let newest = commits.iter().enumerate().rev().find_map(|(n, commit)| {
                        Some((n, commit.files.iter().position(|file| file == path)?))
                    });
                    let is_done = newest.is_some();
                    // The place where the newest diff of the file is shown.
                    let place = newest.filter(|(_, k)| *k < FILES).map(|(n, k)| file_id(n, k));
                    self.touches.push((t, self.files.len()));
                    self.files.push(GraphNode {
                        id: path.to_owned(),
                        title: String::new(),
                        place,
                        done: is_done,
                    });
                }
                None => {
                    self.left_out += 1;
                    room.left_out += 1;
                }
            }
        }
        self.tasks.push(GraphNode {
            id: task.id.clone(),
            title: task.title.clone(),
            place: at.map(commit_id).or_else(|| Some(documents::id(Artifact::Plan))),
            done: task.status == TaskStatus::Completed || at.is_some(),
        });
    }

    /// The requirements, each with its tasks and their files; at last the tasks without one.
    fn list(&self) -> Vec<Value> {
        let mut list = Vec::new();
        for (r, requirement) in self.requirements.iter().enumerate() {
            let tasks = self.works_on.iter().filter(|(index, _)| *index == r).map(|(_, t)| *t);
            list.push(json!({"item": requirement, "tasks": self.tasks(tasks)}));
        }
        let free = |t: &usize| !self.works_on.iter().any(|(_, index)| index == t);
        let free = self.tasks((0..self.tasks.len()).filter(free));
        if !free.is_empty() {
            list.push(json!({"item": null, "tasks": free}));
        }
        list
    }

    fn tasks(&self, tasks: impl Iterator<Item = usize>) -> Vec<Value> {
        let task = |t: usize| {
            let touches = self.touches.iter().filter(|(index, _)| *index == t);
            let files: Vec<&GraphNode> = touches.map(|(_, f)| &self.files[*f]).collect();
            json!({"item": self.tasks[t], "files": files})
        };
        tasks.map(task).collect()
    }
}

/// The id of the document that contains the requirements, if the session has it.
fn place_of_requirements(
    source: &PageSource<'_>,
    files: &dyn crate::artifact::Files,
) -> anyhow::Result<Option<String>> {
    let tip = &source.session().tip;
    for document in [Artifact::Prd, Artifact::Plan] {
        let path = artifact_path(&source.session().name, document);
        let at_tip = source.git.reader().entries(tip, &[&path])?.pop().flatten();
        if files.read(document)?.is_some() && at_tip.is_some() {
            return Ok(Some(documents::id(document)));
        }
    }
    Ok(None)
}
