//! Decides whether an actor's conversation ends after its closing call: it does if the mechanical
//! checks find nothing in the draft and the draft differs from the rejected one. Otherwise the
//! actor gets a message about what is missing, and continues; this does not count as another draft.

use std::cell::Cell;
use std::fmt::Write as _;

use crate::agent::{AfterWords, ClosingCheck, Conversation, Ending};
use crate::artifact::check::Report;
use crate::artifact::{Artifact, Task, TaskStatus};
use crate::git::{self, Oid};
use crate::model::BoxFuture;
use crate::model::prose::{document_between_tags, whole_document};
use crate::pipeline::brief::part::Part;
use crate::pipeline::change::scope;
use crate::pipeline::checks;
use crate::pipeline::draft::{agent_program, finish_draft};
use crate::pipeline::draft_state::DraftState;
use crate::pipeline::evidence::{Evidence, gather};
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;
use crate::pipeline::step::Step;
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
struct Closing<'a, 'r> {
    run: &'a Run<'r>,
    spec: &'a StageSpec,
    draft: &'a mut DraftState,
    task: Option<&'a Task>,
    works: Works,
    /// The tree of the draft when the actor was last sent a message about what is missing.
    told: Option<Oid>,
    /// The actor was asked why its task, or its stage of a change, changes nothing.
    asked_why: Cell<bool>,
}

/// Runs a conversation of the actor about a draft, or about a task of it, until nothing is missing.
pub(crate) async fn converse(
    step: &mut Step<'_, '_>,
    part: &Part<'_>,
) -> anyhow::Result<Conversation> {
    let Step { run, spec, draft } = step;
    let run: &Run<'_> = run;
    let (refusals, task) = (draft.refusals, part.task);
    let works = match run.is_drafted_by_agent(spec.stage) {
        true => Works::OnFiles,
        false => Works::WithTools,
    };
    let mut closing =
        Closing { run, spec, draft, task, works, told: None, asked_why: Cell::new(false) };
    let mut conversation = agent_program::converse(run, part, refusals, &mut closing).await?;
    step.draft.note_run(&mut conversation);
    Ok(conversation)
}

impl Closing<'_, '_> {
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
        run.expect_tip()?;
        self.draft.note_checked(&outcome.checked);
        finish_draft::finish(run, spec, self.draft, self.task)?;
        if let Some(standing) = self.of_unchanged()? {
            return Ok(standing);
        }
        let tree = run.tree()?;
        if self.told.as_ref() == Some(&tree) {
            return Ok(ClosingCheck::Open);
        }
        let report = self.report().await?;
        if self.draft.evidence.as_ref().is_some_and(Evidence::lacks_dependencies) {
            // No model can install the missing dependencies.
            return Ok(ClosingCheck::Ends);
        }
        let lacks = match report.is_ok() {
            false => self.works.missing(&report),
            true if self.is_rejected_one(&tree)? => self.works.unchanged(),
            true => return Ok(ClosingCheck::Ends),
        };
        let problem =
            if report.is_ok() { "nothing has changed".to_owned() } else { count(&report) };
        run.note(format!("{}: {problem}; the actor is told", spec.stage));
        self.told = Some(tree);
        Ok(ClosingCheck::Lacks(lacks))
    }

    /// The state of the tasks that the conversation is about.
    fn tasks(&self) -> anyhow::Result<Tasks> {
        if self.spec.work == Work::Whole {
            return Ok(Tasks::Done);
        }
        let plan = self.run.store().plan()?;
        let is_own = |task: &&Task| match self.task {
            Some(own) => task.id == own.id,
            None => task.is_top_level(),
        };
        let mut own_tasks = plan.tasks.iter().filter(is_own);
        Ok(match self.task {
            Some(_) => match own_tasks.next().map(|task| task.status) {
                Some(TaskStatus::Completed) => Tasks::Done,
                Some(TaskStatus::Blocked) => Tasks::Blocked,
                _ => Tasks::Open,
            },
            None if own_tasks.all(|task| task.status == TaskStatus::Completed) => Tasks::Done,
            None => Tasks::Open,
        })
    }

    /// The findings of the checks in the draft, or in the task's changes.
    async fn report(&mut self) -> anyhow::Result<Report> {
        let (run, spec) = (self.run, self.spec);
        let runs = match self.task {
            // If files are left to other tasks, the checks do not run: the working tree contains
            // these files, the task's commit does not.
            Some(task) => project_files::left_to_others(run, task)?.is_empty(),
            None => spec.runs_checks,
        };
        let evidence = self.draft.evidence.take();
        if runs {
            self.draft.evidence =
                gather::gather_evidence(run, evidence, &self.draft.checked).await?;
        }
        match self.task {
            Some(_) => checks::task_report(run, spec, self.draft),
            None => checks::check_report(run, spec, self.draft),
        }
    }

    /// True if the scope of the change names the stage, nothing in its first draft changed, and the
    /// actor was not asked about that yet.
    fn asks_why(&self) -> anyhow::Result<bool> {
        let is_first = self.draft.commit.is_none() && !self.asked_why.get();
        let asks = is_first && scope::changes_nothing(self.run, self.spec)?;
        Ok(asks && !self.asked_why.replace(true))
    }

    /// True if the previous draft was rejected and this draft is identical.
    fn is_rejected_one(&self, tree: &Oid) -> anyhow::Result<bool> {
        let (Some(rejected), None) = (&self.draft.commit, self.task) else {
            return Ok(false);
        };
        let mut paths = git::paths::changed(self.run.env.git, rejected, tree)?;
        paths.retain(|path| !path.ends_with(Artifact::Feedback.file_name()));
        Ok(paths.is_empty())
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
        let exists = self.run.store().text(artifact)?.is_some();
        let in_words = match document_between_tags(words) {
            None if !exists => whole_document(words),
            between => between,
        };
        Ok(match in_words.filter(|_| !artifact.is_json()) {
            Some(text) => AfterWords::Document { tool, text: text.to_owned() },
            None if exists && self.asks_why()? => {
                let name = artifact.file_name();
                AfterWords::Lacks(self.works.unchanged_stage(self.spec.stage.name(), name))
            }
            None if exists => AfterWords::Ends,
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

/// Maximum characters of a finding.
const DETAILS: usize = 6_000;

/// Beginning of the message to an actor whose draft does not differ from the rejected one.
const UNCHANGED: &str = "Nothing in the draft differs from the rejected one. Answer each point of the \
                         feedback with a change; if a point is wrong, say so in text, without";

/// How an actor works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Works {
    /// It calls git-cowork's tools.
    WithTools,
    /// It is a program that edits files.
    OnFiles,
}

impl Works {
    /// The message with the findings.
    pub(crate) fn missing(self, report: &Report) -> String {
        let mut out =
            "git-cowork checked your files; the following is missing or wrong:\n".to_owned();
        for finding in &report.findings {
            let details: String = finding.details.chars().take(DETAILS).collect();
            let _ = write!(out, "\n- {details}");
            if let Some(fix) = &finding.suggested_fix {
                let _ = write!(out, " ({fix})");
            }
        }
        out + match self {
            Self::WithTools => {
                "\n\nFix it with all calls in one answer. Your turn ends when nothing is missing any \
                 more."
            }
            Self::OnFiles => {
                "\n\nFix it in your working directory, where your files are as you left them, and end \
                 with a one-sentence answer."
            }
        }
    }

    /// The message if the draft does not differ from the rejected one.
    pub(crate) fn unchanged(self) -> String {
        match self {
            Self::WithTools => format!("{UNCHANGED} a tool call."),
            Self::OnFiles => format!("{UNCHANGED} a change."),
        }
    }

    /// The message if the scope of a change names the stage and nothing in its documents changed.
    pub(crate) fn unchanged_stage(self, stage: &str, name: &str) -> String {
        let without = match self {
            Self::WithTools => "a tool call",
            Self::OnFiles => "a change",
        };
        format!(
            "The scope of this change names {stage}, but nothing in {name} differs. Change what the \
             change needs there, or say in one sentence why nothing has to change, without {without}."
        )
    }

    /// The message if the actor ends with text while its task is open.
    pub(crate) fn open_task(self, id: &str) -> String {
        match self {
            Self::WithTools => format!(
                "{id} is not completed. Write its files, then call update_task_status {{\"task_id\": \
                 \"{id}\", \"new_status\": \"completed\"}}; \"blocked\" if it cannot be done."
            ),
            Self::OnFiles => format!(
                "{id} is not completed. Write its files in your working directory. If they need no \
                 change, end with the line `DONE: why`; if it cannot be done, with `BLOCKED: why`."
            ),
        }
    }

    /// The message if the actor completed its task and nothing was changed for it.
    pub(crate) fn no_change(self, id: &str) -> String {
        let start = format!("Nothing was changed for {id}.");
        match self {
            Self::WithTools => format!(
                "{start} Write what it asks for, then set its status again. If it needs no change, \
                 call update_task_status {{\"task_id\": \"{id}\", \"new_status\": \"completed\", \
                 \"reason\": \"why\"}}; if it cannot be done, set \"blocked\"."
            ),
            Self::OnFiles => format!(
                "{start} Write what it asks for in your working directory. If it needs no change, \
                 end with the line `DONE: why`; if it cannot be done, with `BLOCKED: why`."
            ),
        }
    }

    /// The message if the actor ends with text and has saved nothing. It asks the actor to save the
    /// document the usual way or, if it was asked that before (`told` > 0), to send the document as
    /// text. `path` is the document's path.
    pub(crate) fn unsaved(self, artifact: Artifact, path: &str, told: u32) -> String {
        let (name, tool) = (artifact.file_name(), artifact.save_tool());
        match (self, told) {
            (Self::OnFiles, 0) => format!(
                "{name} is not written yet. Write all of it to the file {path} in your working \
                 directory."
            ),
            (Self::OnFiles, _) => format!(
                "{name} is still missing. If you cannot write {path}, answer with nothing but the \
                 whole document between <document> and </document>."
            ),
            (Self::WithTools, 0) => format!(
                "{name} is not saved yet. Call {tool} with all of it; text alone saves nothing."
            ),
            (Self::WithTools, _) if artifact.is_json() => {
                format!("{name} is still missing. Call {tool}.")
            }
            (Self::WithTools, _) => format!(
                "{name} is still missing. If you cannot call {tool}, answer with nothing but the \
                 whole document between <document> and </document>."
            ),
        }
    }
}
