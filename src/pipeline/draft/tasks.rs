//! The tasks of the coding stage: one conversation and one commit each.

use std::collections::BTreeSet;

use crate::artifact::check::task_order;
use crate::artifact::{Origin, Plan, Store, Task, TaskStatus};
use crate::event::Event;
use crate::pipeline::Pipeline;
use crate::pipeline::brief::conversation::Part;
use crate::pipeline::evidence::{self, Evidence};
use crate::pipeline::files::task_files::Left;
use crate::pipeline::progress::Progress;
use crate::pipeline::stage_loop::Turned;
use crate::pipeline::summary;
use crate::pipeline::table::{StageSpec, Work};
use crate::record::{Credit, DraftEnding, Recorded, TaskRecord};
use crate::session::{CommittedFiles, tasks_taken_in};
use crate::stage::Role;

/// How a task's conversation ended.
enum TaskEnd {
    /// It has its commit.
    Committed,
    /// It is not completed.
    Open,
    /// A hook refused its commit.
    Refused,
}

impl Pipeline<'_> {
    /// One conversation and one commit for each task that has none.
    pub(crate) async fn tasks(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
        pending: Vec<Task>,
    ) -> anyhow::Result<Turned> {
        let last = pending.last().map(|task| task.id.clone());
        for task in pending {
            let label = format!("{} {}", task.id, task.title);
            self.announce(spec, progress, Some(label))?;
            let mut variables = self.variables(spec, progress)?;
            variables.task = self.task_item(&task)?;
            variables.failing_now = self.failing_now()?;
            let part = Part {
                spec,
                role: Role::Actor,
                prompt: spec.actor.prompt,
                tools: spec.actor.tools(),
                iteration: progress.iteration,
                task: Some(&task),
                opening: None,
                extra: String::new(),
                variables,
            };
            let mut run = self.converse(&part, &mut progress.refusals).await?;
            progress.note_checked(&mut run);
            self.taken();
            let credit = self.task_credit(&task.id, progress.iteration);
            let said = run.text.clone();
            let turned = self.turned(spec, progress, Origin::Actor, run);
            if self.offer_theirs(spec, progress, &turned)? {
                progress.credit.merge(credit);
                return Ok(Turned::Again);
            }
            if let Turned::Wishes(_) | Turned::Stuck(_) = turned {
                progress.credit.merge(credit);
                return Ok(turned);
            }
            match self.finish_task(spec, progress, &task, credit, &said).await? {
                TaskEnd::Committed => {
                    self.goes_on.set(false);
                    self.mark(progress, progress.iteration, DraftEnding::Partial);
                }
                // What comes after may build on it: the draft ends here.
                TaskEnd::Open => {
                    self.tell_of_open_task(&task, last.as_ref() != Some(&task.id))?;
                    break;
                }
                TaskEnd::Refused => return Ok(Turned::Again),
            }
        }
        Ok(Turned::On)
    }

    /// Commits a task that is completed.
    async fn finish_task(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
        task: &Task,
        credit: Credit,
        said: &str,
    ) -> anyhow::Result<TaskEnd> {
        self.close_review_task(task)?;
        if !self.task_is_completed(task)? {
            progress.credit.merge(credit);
            return Ok(TaskEnd::Open);
        }
        self.settle(spec, progress, Some(task))?;
        let left = self.left_to_others(task)?;
        let mut body = summary::task_body(&self.task_item(task)?, said);
        if self.uncommitted_code()?.iter().all(|path| left.contains_key(path)) {
            body = format!("{body}\n\n{}", self.held_elsewhere(task)?);
        }
        let mut record = TaskRecord {
            id: task.id.clone(),
            title: task.title.clone(),
            body,
            features: self.features_of(task)?,
            credit,
            checks: String::new(),
            evidence: Vec::new(),
            left: left.keys().cloned().collect(),
        };
        let mut fails = false;
        if left.is_empty() {
            let evidence = self.evidence(progress.evidence.take(), &progress.checked).await?;
            record.checks = evidence::trailer(evidence.as_ref());
            record.evidence = evidence.as_ref().map(Evidence::digests).unwrap_or_default();
            fails = evidence.as_ref().is_some_and(Evidence::fails);
            progress.evidence = evidence;
        } else {
            record.checks = self.not_run_on_a_part(&left);
        }
        self.warn_of_bulk();
        match self.recorder().task(&self.session.tip, &record)? {
            Recorded::Done(commit) => {
                let subject = format!("{} {}", task.id, task.title);
                self.advance_leaving(&commit, &record.left)?;
                self.env.sink.emit(Event::TaskCompleted {
                    task: task.id.clone(),
                    commit: commit.to_string(),
                    subject,
                    checks: record.checks.clone(),
                    fails,
                });
                // What this task has added and nobody may fetch is missing for all after it.
                self.require_dependencies().await?;
                Ok(TaskEnd::Committed)
            }
            Recorded::Refused(why) => {
                progress.credit.merge(record.credit);
                self.refusal_feedback(spec, progress.iteration, &why)?;
                Ok(TaskEnd::Refused)
            }
        }
    }

    fn features_of(&self, task: &Task) -> anyhow::Result<Vec<String>> {
        let files = self.files();
        let plan = Store::new(&files).plan()?;
        Ok(plan.features_of(&task.id).into_iter().map(str::to_owned).collect())
    }

    /// What is said of checks where files of other tasks lie beside those of the commit: what runs in
    /// the working tree says nothing of the commit's own tree.
    fn not_run_on_a_part(&self, left: &Left) -> String {
        for (path, task) in left {
            self.note(format!("{path} is left to the commit of {task}, which names it"));
        }
        let tasks: BTreeSet<&str> = left.values().map(String::as_str).collect();
        let tasks = tasks.into_iter().collect::<Vec<_>>().join(", ");
        match self.has_commands() {
            true => format!("not run (files of {tasks} are written and not in this commit)"),
            false => evidence::trailer(None),
        }
    }

    fn task_is_completed(&self, task: &Task) -> anyhow::Result<bool> {
        Ok(self.task_status(task)? == Some(TaskStatus::Completed))
    }

    fn task_status(&self, task: &Task) -> anyhow::Result<Option<TaskStatus>> {
        let files = self.files();
        let plan = Store::new(&files).plan()?;
        Ok(plan.tasks.iter().find(|t| t.id == task.id).map(|t| t.status))
    }

    /// A conversation that ends without its task completed ends the draft: why nothing is done
    /// about the tasks after it must be seen.
    fn tell_of_open_task(&self, task: &Task, others_wait: bool) -> anyhow::Result<()> {
        let how = match self.task_status(task)? {
            Some(TaskStatus::Blocked) => "the actor says that it is blocked",
            Some(TaskStatus::InProgress) => "the actor ended with it in progress",
            Some(_) => "the actor ended without setting its status",
            None => "it is no longer in the plan",
        };
        let wait = if others_wait { "; the tasks after it wait" } else { "" };
        self.warn(format!("{} is not completed: {how}{wait}", task.id));
        Ok(())
    }

    /// Top-level tasks without a commit, in the order of their dependencies.
    pub(crate) fn pending_tasks(&self, spec: &StageSpec) -> anyhow::Result<Vec<Task>> {
        if !matches!(spec.work, Work::Tasks { .. }) {
            return Ok(Vec::new());
        }
        let files = self.files();
        let plan = Store::new(&files).plan()?;
        let by_id = |id: &String| plan.tasks.iter().find(|task| task.id == *id);
        Ok(self.open_tasks(&plan)?.iter().filter_map(by_id).cloned().collect())
    }

    /// Their ids.
    pub(crate) fn open_tasks(&self, plan: &Plan) -> anyhow::Result<Vec<String>> {
        let done = self.session.completed_tasks();
        let mut order = task_order(plan).unwrap_or_else(|_| {
            plan.tasks.iter().filter(|task| task.is_top_level()).map(|t| t.id.clone()).collect()
        });
        let mut elsewhere = self.completed_by_parent()?;
        elsewhere.extend(tasks_taken_in(self.env.git, &self.session)?);
        order.retain(|id| !done.contains(&id.as_str()) && !elsewhere.contains(id));
        Ok(order)
    }

    /// The tasks a change request began with as completed: their commits are its parent's.
    fn completed_by_parent(&self) -> anyhow::Result<Vec<String>> {
        let Some(start) = self.session.history.first().filter(|_| self.session.is_patch()) else {
            return Ok(Vec::new());
        };
        let files = CommittedFiles::new(self.env.git, &self.session.name, &start.commit);
        let tasks = Store::new(&files).plan()?.tasks.into_iter();
        let completed = tasks.filter(|task| task.status == TaskStatus::Completed);
        Ok(completed.map(|task| task.id).collect())
    }

    fn warn_of_bulk(&self) {
        for (folder, files) in self.env.workspace.bulk() {
            self.warn(format!(
                "{folder}/ ({files} new files) is too big to be recorded; ignore it in .gitignore, or commit it yourself"
            ));
        }
    }
}
