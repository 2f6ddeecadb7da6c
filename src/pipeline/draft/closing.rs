//! Decides whether an actor's conversation ends after its closing call: it does if the mechanical
//! checks find nothing in the draft and the draft differs from the rejected one. Otherwise the
//! actor gets a message about what is missing, and continues; this does not count as another draft.

use std::cell::Cell;

use crate::agent::{AfterWords, ClosingCheck, Ending};
use crate::artifact::check::Report;
use crate::artifact::{Artifact, Store, Task, TaskStatus};
use crate::git::{self, Oid};
use crate::model::BoxFuture;
use crate::model::prose::{document_between_tags, whole_document};
use crate::pipeline::change::scope;
use crate::pipeline::draft::missing_words::Works;
use crate::pipeline::draft::{checks, finish_draft};
use crate::pipeline::evidence::{Evidence, gather};
use crate::pipeline::files::{project_files, task_files};
use crate::pipeline::progress::Progress;
use crate::pipeline::run::Run;
use crate::session::artifact_path;
use crate::stages::{StageSpec, Work};
use crate::tool::{self, Outcome};

/// The tool that edits parts of files, including documents.
const EDIT: &str = "edit_file";

/// The tools that end the actor's conversation. If the draft `corrects` a previous draft, also
/// every tool that can change a document shown at the gate; in the first draft of a `change`, where
/// the documents exist, too, every tool that can change the stage's own.
pub(crate) fn closing_acts(spec: &StageSpec, corrects: bool, change: bool) -> Vec<&'static str> {
    let mut acts = spec.closing.to_vec();
    if (corrects || change) && spec.work == Work::Whole {
        let earlier = spec.earlier_document().filter(|_| !corrects).map(Artifact::save_tool);
        let writes = |name: &&str| {
            *name == EDIT || tool::find(name).is_some_and(|t| t.effect().writes_artifacts())
        };
        let tools = spec.actor.tools().into_iter().filter(writes);
        acts.extend(tools.filter(|name| Some(*name) != earlier));
    }
    acts
}

/// The end of an actor's conversation about a draft, or about one of its tasks.
pub(crate) struct Closing<'a, 'r> {
    pub run: &'a Run<'r>,
    pub spec: &'a StageSpec,
    pub progress: &'a mut Progress,
    pub task: Option<&'a Task>,
    works: Works,
    /// The tree of the draft when the actor was last sent a message about what is missing.
    told: Option<Oid>,
    /// The actor was asked why its task, or its stage of a change, changes nothing.
    asked_why: Cell<bool>,
}

impl<'a, 'r> Closing<'a, 'r> {
    pub fn new(
        run: &'a Run<'r>,
        spec: &'a StageSpec,
        progress: &'a mut Progress,
        task: Option<&'a Task>,
    ) -> Self {
        let works = match run.is_drafted_by_agent(spec.stage) {
            true => Works::OnFiles,
            false => Works::WithTools,
        };
        Self { run, spec, progress, task, works, told: None, asked_why: Cell::new(false) }
    }

    /// Decides about a completed task without a change: its actor is asked once for the change or
    /// for the reason.
    fn of_unchanged(&self) -> anyhow::Result<Option<ClosingCheck>> {
        let Some(task) = self.task else { return Ok(None) };
        if !project_files::lacks_change(self.run, task)? {
            return Ok(None);
        }
        if self.asked_why.replace(true) {
            return Ok(Some(ClosingCheck::Ends));
        }
        self.run.note(format!("{}: nothing was changed for it; the actor is asked why", task.id));
        Ok(Some(ClosingCheck::Lacks(self.works.no_change(&task.id))))
    }

    async fn stands(&mut self, outcome: &Outcome) -> anyhow::Result<ClosingCheck> {
        let (run, spec) = (self.run, self.spec);
        match self.tasks()? {
            Tasks::Open => return Ok(ClosingCheck::Open),
            Tasks::Blocked => return Ok(ClosingCheck::Ends),
            Tasks::Done => {}
        }
        // After a branch switch the files in the working tree are not the draft's.
        run.recorder().expect_tip(&run.session.tip)?;
        self.progress.note_checked(&outcome.checked);
        finish_draft::finish(run, spec, self.progress, self.task)?;
        if let Some(standing) = self.of_unchanged()? {
            return Ok(standing);
        }
        let tree = run.recorder().tree(&run.session.tip)?;
        if self.told.as_ref() == Some(&tree) {
            return Ok(ClosingCheck::Open);
        }
        let report = self.report().await?;
        if self.progress.newest.evidence.as_ref().is_some_and(Evidence::lacks_dependencies) {
            // No model can install the missing dependencies.
            return Ok(ClosingCheck::Ends);
        }
        let lacks = match report.is_ok() {
            false => self.works.missing(&report),
            true if self.is_rejected_one(&tree)? => self.works.unchanged(),
            true => return Ok(ClosingCheck::Ends),
        };
        let what = if report.is_ok() { "nothing has changed".to_owned() } else { count(&report) };
        run.note(format!("{}: {what}; the actor is told", spec.stage));
        self.told = Some(tree);
        Ok(ClosingCheck::Lacks(lacks))
    }

    /// The state of the tasks that the conversation is about.
    fn tasks(&self) -> anyhow::Result<Tasks> {
        if self.spec.work == Work::Whole {
            return Ok(Tasks::Done);
        }
        let files = self.run.files();
        let plan = Store::new(&files).plan()?;
        let ours = |task: &&Task| match self.task {
            Some(own) => task.id == own.id,
            None => task.is_top_level(),
        };
        let mut ours = plan.tasks.iter().filter(ours);
        Ok(match self.task {
            Some(_) => match ours.next().map(|task| task.status) {
                Some(TaskStatus::Completed) => Tasks::Done,
                Some(TaskStatus::Blocked) => Tasks::Blocked,
                _ => Tasks::Open,
            },
            None if ours.all(|task| task.status == TaskStatus::Completed) => Tasks::Done,
            None => Tasks::Open,
        })
    }

    /// The findings of the checks in the draft, or in the task's changes.
    async fn report(&mut self) -> anyhow::Result<Report> {
        let (run, spec) = (self.run, self.spec);
        let runs = match self.task {
            // If files are left to other tasks, the checks do not run: the working tree contains
            // these files, the task's commit does not.
            Some(task) => task_files::left_to_others(run, task)?.is_empty(),
            None => spec.runs_checks,
        };
        let known = self.progress.newest.evidence.take();
        if runs {
            self.progress.newest.evidence =
                gather::gather_evidence(run, known, &self.progress.newest.checked).await?;
        }
        match self.task {
            Some(_) => checks::task_report(run, spec, self.progress),
            None => checks::check_report(run, spec, self.progress),
        }
    }

    /// True if the scope of the change names the stage, nothing in its first draft changed, and the
    /// actor was not asked about that yet.
    fn asks_why(&self) -> anyhow::Result<bool> {
        let is_first = self.progress.newest.commit.is_none() && !self.asked_why.get();
        let asks = is_first && scope::changes_nothing(self.run, self.spec)?;
        Ok(asks && !self.asked_why.replace(true))
    }

    /// True if the previous draft was rejected and this draft is identical.
    fn is_rejected_one(&self, tree: &Oid) -> anyhow::Result<bool> {
        let (Some(rejected), None) = (&self.progress.newest.commit, self.task) else {
            return Ok(false);
        };
        let mut changed = git::paths::changed(self.run.env.git, rejected, tree)?;
        changed.retain(|path| !path.ends_with(Artifact::Feedback.file_name()));
        Ok(changed.is_empty())
    }
}

impl Ending for Closing<'_, '_> {
    fn standing<'a>(
        &'a mut self,
        outcome: &'a Outcome,
    ) -> BoxFuture<'a, anyhow::Result<ClosingCheck>> {
        Box::pin(self.stands(outcome))
    }

    fn after_words(&self, words: &str, told: u32) -> anyhow::Result<AfterWords> {
        if let (Work::Tasks { .. }, Some(task)) = (self.spec.work, self.task)
            && let Tasks::Open = self.tasks()?
        {
            return Ok(AfterWords::Lacks(self.works.open_task(&task.id)));
        }
        let Some(artifact) = self.spec.artifacts.first().filter(|_| self.spec.work == Work::Whole)
        else {
            return Ok(AfterWords::Ends);
        };
        let artifact = self.spec.document().unwrap_or(*artifact);
        let tool = artifact.save_tool();
        let files = self.run.files();
        let there = Store::new(&files).text(artifact)?.is_some();
        let in_words = match document_between_tags(words) {
            None if !there => whole_document(words),
            between => between,
        };
        Ok(match in_words.filter(|_| !artifact.is_json()) {
            Some(text) => AfterWords::Document { tool, text: text.to_owned() },
            None if there && self.asks_why()? => {
                let name = artifact.file_name();
                AfterWords::Lacks(self.works.unchanged_stage(self.spec.stage.name(), name))
            }
            None if there => AfterWords::Ends,
            None => {
                let path = artifact_path(&self.run.session.name, artifact);
                AfterWords::Lacks(self.works.unsaved(artifact, &path, told))
            }
        })
    }

    fn after_act(&self) -> anyhow::Result<AfterWords> {
        Ok(match (self.tasks()?, self.task) {
            (Tasks::Done, Some(_)) => match self.of_unchanged()? {
                Some(ClosingCheck::Lacks(what)) => AfterWords::Lacks(what),
                _ => AfterWords::Ends,
            },
            _ => AfterWords::Ends,
        })
    }
}

/// The combined state of tasks.
enum Tasks {
    Open,
    Done,
    Blocked,
}

fn count(report: &Report) -> String {
    match report.findings.len() {
        1 => "the checks report 1 problem".to_owned(),
        several => format!("the checks report {several} problems"),
    }
}
