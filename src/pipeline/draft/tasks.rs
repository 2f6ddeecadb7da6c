//! The tasks of the coding stage: one commit each, and one conversation each unless the depth uses
//! one for all.

use std::collections::BTreeSet;

use crate::artifact::check::IGNORED;
use crate::artifact::knowledge::take_proposals;
use crate::artifact::{Artifact, Origin, Task, TaskStatus};
use crate::event::Event;
use crate::pipeline::brief::part::Part;
use crate::pipeline::brief::{conversation, part_files};
use crate::pipeline::change::reviewer_feedback;
use crate::pipeline::draft::{closing, finish_draft, keep};
use crate::pipeline::evidence::{self, Evidence, gather, recorded};
use crate::pipeline::files::project_files::{self, Left};
use crate::pipeline::outcome::BlockReason;
use crate::pipeline::prompts::{NEXT_TASK, TASK};
use crate::pipeline::run::Run;
use crate::pipeline::step::{self, Step, StepResult, Stop};
use crate::pipeline::{checks, commit_message, edits, knowledge, protected_files};
use crate::record::{self, Credit, DraftEnding, Recorded, TaskRecord};
use crate::session::{changed_files, in_short};
use crate::stage::Role;
use crate::stages::StageSpec;
use crate::workspace::SPECIAL;

/// How a task's conversation ended.
enum TaskEnd {
    /// The task was committed.
    Committed,
    /// The task is not completed.
    Open,
    /// Its actor completed it without a change and without a reason: it is blocked.
    Unchanged,
}

/// Runs one conversation and makes one commit for each task that has none.
pub(crate) async fn work_on_tasks(step: &mut Step<'_, '_>, pending: Vec<Task>) -> StepResult {
    let last = pending.last().map(|task| task.id.clone());
    let mut waiting = Waiting::default();
    for task in pending {
        if waiting.takes(step.run, &task)? {
            continue;
        }
        reopen(step.run, &task)?;
        let label = format!("{} {}", task.id, task.title);
        keep::announce(step, Some(label))?;
        let mut variables = conversation::brief_variables(step)?;
        variables.task = part_files::task_item(step.run, &task)?;
        variables.task_text = step.run.env.prompts.render(TASK, &variables)?;
        let is_last = last.as_ref() == Some(&task.id);
        variables.summary_wanted &= is_last;
        variables.failing_now = recorded::failing_now(step.run)?;
        let (prompt, tools) = (step.spec.actor.prompt, step.run.actor_tools(step.spec));
        let part = Part {
            again: step.run.joins(step.spec.stage, step.spec.stage).then_some(NEXT_TASK),
            closing: step.spec.closing.to_vec(),
            task: Some(&task),
            ..Part::new(step, Role::Actor, prompt, tools, variables)
        };
        let conversation = closing::converse(step, &part).await?;
        step::take_credit(step.run);
        let credit = step::task_credit(step.run, &task.id, step.draft.iteration);
        let closing_words = (conversation.text.clone(), conversation.corrected.clone());
        let result = step.end_of(Origin::Actor, conversation);
        if let Err(stop) = protected_files::offer_protected(step, result) {
            step.draft.credit.merge(credit);
            return Err(stop);
        }
        match finish_task(step, &task, credit, (&closing_words.0, &closing_words.1)).await? {
            TaskEnd::Committed => {
                step.run.continues_transcript.set(false);
                keep::mark(step, step.draft.iteration, DraftEnding::Partial);
            }
            // Later tasks may depend on this one, so the draft ends here.
            TaskEnd::Open => {
                tell_of_open_task(step.run, &task, last.as_ref() != Some(&task.id))?;
                break;
            }
            TaskEnd::Unchanged => {
                step.run.continues_transcript.set(false);
                waiting.unchanged.push(task.id);
            }
        }
    }
    let Some(words) = waiting.words() else { return Ok(()) };
    // A file that git ignores does not count as a change; a person decides whether git should.
    let report = checks::check_report(step.run, step.spec, &step.draft)?;
    let findings = report.findings.into_iter().filter(|finding| finding.code == IGNORED);
    let words = findings.fold(words, |words, finding| format!("{words}; {}", finding.details));
    Err(Stop::Blocked(BlockReason::Unchanged(words)))
}

/// Tasks that are blocked because nothing was changed for them, and the tasks that depend on them.
#[derive(Default)]
struct Waiting {
    unchanged: Vec<String>,
    after: Vec<String>,
}

impl Waiting {
    /// True if a task depends on one of these; it then waits as well.
    fn takes(&mut self, run: &Run<'_>, task: &Task) -> anyhow::Result<bool> {
        if self.unchanged.is_empty() {
            return Ok(false);
        }
        let plan = run.store().plan()?;
        let waits = |id: &str| self.unchanged.iter().chain(&self.after).any(|own| own == id);
        // A dependency on a sub-task is one on its task.
        let mut needs = plan.with_sub_tasks(&task.id).flat_map(|part| &part.dependencies);
        let takes = needs.any(|id| waits(id.split('.').next().unwrap_or(id)));
        if takes {
            self.after.push(task.id.clone());
        }
        Ok(takes)
    }

    fn words(&self) -> Option<String> {
        let are = match self.unchanged.len() {
            0 => return None,
            1 => "is",
            _ => "are",
        };
        let mut words = format!(
            "{} {are} not completed: nothing was changed, and the actor gave no reason",
            self.unchanged.join(", ")
        );
        if !self.after.is_empty() {
            let wait = if self.after.len() == 1 { "waits" } else { "wait" };
            words += &format!("; {} {wait}", self.after.join(", "));
        }
        Some(words)
    }
}

/// Opens a blocked task again, unless the conversation that blocked it continues.
fn reopen(run: &Run<'_>, task: &Task) -> anyhow::Result<()> {
    match task.status == TaskStatus::Blocked && !run.continues_transcript.get() {
        true => set_status(run, task, TaskStatus::Pending),
        false => Ok(()),
    }
}

fn set_status(run: &Run<'_>, task: &Task, status: TaskStatus) -> anyhow::Result<()> {
    let store = run.store();
    let mut plan = store.plan()?;
    for own in plan.tasks.iter_mut().filter(|own| own.id == task.id) {
        own.status = status;
    }
    store.save(Artifact::ImplementationPlan, &plan)?;
    Ok(())
}

/// Commits a task if it is completed.
async fn finish_task(
    step: &mut Step<'_, '_>,
    task: &Task,
    credit: Credit,
    (said, corrected): (&str, &str),
) -> Result<TaskEnd, Stop> {
    edits::records::put_back_json(step.run)?;
    reviewer_feedback::close_review_task(step.run, task)?;
    if !task_is_completed(step.run, task)? {
        step.draft.credit.merge(credit);
        return Ok(TaskEnd::Open);
    }
    if project_files::lacks_change(step.run, task)? {
        set_status(step.run, task, TaskStatus::Blocked)?;
        step.draft.credit.merge(credit);
        return Ok(TaskEnd::Unchanged);
    }
    finish_draft::finish(step.run, step.spec, &step.draft, Some(task))?;
    let others = project_files::left_to_others(step.run, task)?;
    let (said, mut proposed) = take_proposals(said);
    let (corrected, more) = take_proposals(corrected);
    proposed.extend(more);
    let mut body =
        commit_message::task_body(&part_files::task_item(step.run, task)?, &said, &corrected);
    let mut reason = String::new();
    if !project_files::has_own_code(step.run, task)? {
        reason = project_files::why_unchanged(step.run, task)?.unwrap_or_default();
        let elsewhere = match reason.is_empty() {
            true => project_files::held_elsewhere(step.run, task)?,
            false => format!("It needs no change: {reason}"),
        };
        body = format!("{body}\n\n{elsewhere}");
    }
    let mut record = TaskRecord {
        id: task.id.clone(),
        title: task.title.clone(),
        body,
        features: features_of(step.run, task)?,
        credit,
        checks: String::new(),
        evidence: Vec::new(),
        knowledge: knowledge::trailers(&knowledge::acceptable(step.run, proposed)?),
        reason,
        left: others.keys().cloned().collect(),
    };
    let (mut fails, mut tests) = (false, String::new());
    if others.is_empty() {
        let evidence =
            gather::gather_evidence(step.run, step.draft.evidence.take(), &step.draft.checked)
                .await?;
        record.checks = evidence::trailer(evidence.as_ref());
        record.evidence = evidence.as_ref().map(Evidence::digests).unwrap_or_default();
        fails = evidence.as_ref().is_some_and(Evidence::fails);
        tests = evidence
            .as_ref()
            .map(|ran| recorded::passed_in_short(step.run, ran))
            .unwrap_or_default();
        step.draft.evidence = evidence;
    } else {
        record.checks = not_run_on_a_part(step.run, &others);
    }
    warn_of_left_out(step.run);
    edits::tell_of_edited_earlier(step.run, step.spec)?;
    for made in step.run.env.workspace.command_effects().repositories() {
        step.run.warn_once(made.told());
    }
    match record::task::commit(&step.run.recorder(), &step.run.session.tip, &record)? {
        Recorded::Done(commit) => {
            let subject = format!("{} {}", task.id, task.title);
            let paths = changed_files(step.run.env.git, &step.run.session.tip, &commit)?;
            step.run.advance_leaving(&commit, &record.left)?;
            step.run.env.sink.emit(Event::TaskCompleted {
                task: task.id.clone(),
                commit: commit.to_string(),
                subject,
                checks: record.checks.clone(),
                fails,
                files: in_short(&paths),
                tests,
                millis: record.credit.spent.millis,
            });
            // Stop if this task added dependencies and nobody can be asked whether to fetch them:
            // all later tasks would lack them.
            gather::require_dependencies(step.run).await?;
            Ok(TaskEnd::Committed)
        }
        Recorded::Refused(why) => {
            step.draft.credit.merge(record.credit);
            step.run.give_feedback(keep::refusal_feedback(step, &why)?)?;
            Err(Stop::Again)
        }
    }
}

fn features_of(run: &Run<'_>, task: &Task) -> anyhow::Result<Vec<String>> {
    let plan = run.store().plan()?;
    Ok(plan.features_of(&task.id).into_iter().map(str::to_owned).collect())
}

/// The value of the checks trailer of a commit that leaves out files of other tasks: checks that
/// run in the working tree, which contains these files, prove nothing about the commit.
fn not_run_on_a_part(run: &Run<'_>, left: &Left) -> String {
    for (path, task) in left {
        run.note(format!("{path} is left for the commit of {task}, which lists it"));
    }
    let tasks: BTreeSet<&str> = left.values().map(String::as_str).collect();
    let tasks = tasks.into_iter().collect::<Vec<_>>().join(", ");
    match gather::has_commands(run) {
        true => format!("not run (files of {tasks} are written but not in this commit)"),
        false => evidence::trailer(None),
    }
}

fn task_is_completed(run: &Run<'_>, task: &Task) -> anyhow::Result<bool> {
    Ok(task_status(run, task)? == Some(TaskStatus::Completed))
}

fn task_status(run: &Run<'_>, task: &Task) -> anyhow::Result<Option<TaskStatus>> {
    let plan = run.store().plan()?;
    Ok(plan.tasks.iter().find(|t| t.id == task.id).map(|t| t.status))
}

/// Warns about a task whose conversation ended before it was completed. This ends the draft; the
/// warning explains why later tasks are not worked on.
fn tell_of_open_task(run: &Run<'_>, task: &Task, others_wait: bool) -> anyhow::Result<()> {
    let how = match task_status(run, task)? {
        Some(TaskStatus::Blocked) => "the actor says that it is blocked",
        Some(TaskStatus::InProgress) => "the actor stopped while it was in progress",
        Some(_) => "the actor stopped without setting its status",
        None => "it is no longer in the plan",
    };
    let wait = if others_wait { "; the tasks after it wait" } else { "" };
    run.warn(format!("{} is not completed: {how}{wait}", task.id));
    Ok(())
}

fn warn_of_left_out(run: &Run<'_>) {
    for (folder, files) in run.env.workspace.command_effects().bulk() {
        let (what, line) = match files {
            0 => (folder.clone(), format!("/{folder}")),
            _ => (format!("{folder}/ ({files} new files)"), format!("/{folder}/")),
        };
        run.warn_once(format!(
            "{what} is too big to be recorded; add the line {line} to .gitignore, or commit it \
             yourself"
        ));
    }
    for (file, why) in run.env.workspace.command_effects().odd_names() {
        let then = if why.starts_with(SPECIAL) { "" } else { "; you may commit it yourself" };
        run.warn_once(format!("{} is not recorded: {why}{then}", file.escape_default()));
    }
}

/// Marks tasks of adopted commits as completed: their code exists already.
pub(crate) fn complete_adopted(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<()> {
    if !spec.writes_code() || !run.session.file.is_adopted() {
        return Ok(());
    }
    let store = run.store();
    let mut plan = store.plan()?;
    let task_ids = run.session.completed_tasks();
    let is_open = |status| matches!(status, TaskStatus::Pending | TaskStatus::InProgress);
    let mut has_changes = false;
    for task in &mut plan.tasks {
        if task_ids.contains(&task.id.as_str()) && is_open(task.status) {
            task.status = TaskStatus::Completed;
            has_changes = true;
        }
    }
    if has_changes {
        store.save(Artifact::ImplementationPlan, &plan)?;
    }
    Ok(())
}
