//! One draft: the actor's conversations, and the commit that saves it.

mod adopted;
pub(crate) mod agent_program;
pub(crate) mod checks;
pub(crate) mod closing;
pub(crate) mod commit_message;
pub(crate) mod finish_draft;
pub(crate) mod imported;
pub(crate) mod keep;
mod missing_words;
pub(crate) mod self_review;
pub(crate) mod stop;
pub(crate) mod tasks;

use crate::artifact::{Files as _, Origin};
use crate::pipeline::brief::part::Part;
use crate::pipeline::brief::sections::artifacts;
use crate::pipeline::brief::{conversation, draft_ids};
use crate::pipeline::change::scope;
use crate::pipeline::draft::closing::{Closing, closing_acts};
use crate::pipeline::evidence::base;
use crate::pipeline::files::{open_tasks, project_files};
use crate::pipeline::outcome::{self, StepOutcome};
use crate::pipeline::progress::{self, Next, Progress};
use crate::pipeline::prompts::DRAFT_AGAIN;
use crate::pipeline::run::Run;
use crate::pipeline::{protected_files, test_changes, usage};
use crate::record::DraftEnding;
use crate::stage::Role;
use crate::stages::Prompt;
use crate::stages::{StageSpec, Work};

/// Makes the next draft and saves it in its ref.
pub(crate) async fn make_draft(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<StepOutcome> {
    let first = progress.iteration == progress.offset;
    if first && !run.continues_transcript.get() {
        draft_ids::forget(run)?;
    }
    progress.begin_draft();
    keep::mark(run, progress, progress.iteration, DraftEnding::Partial);
    base::look_before_coding(run, spec).await?;
    adopted::complete_tasks(run, spec)?;
    let pending = open_tasks::pending_tasks(run, spec)?;
    let asked = || progress::asked_for_more(run, spec.stage, progress.offset);
    let here = first && !asked()? && finish_draft::write_here(run, spec, progress)?;
    let turned = match spec.work {
        _ if here => StepOutcome::Next,
        Work::Tasks { .. } if !pending.is_empty() => {
            tasks::work_on_tasks(run, spec, progress, pending).await?
        }
        // A change request without a plan is coded in one conversation.
        Work::Tasks { change, .. } if first && scope::own_tasks(run)?.is_empty() => {
            whole(run, spec, progress, change).await?
        }
        // The run was killed after its last task: the draft is complete.
        Work::Tasks { .. }
            if first && !progress::asked_for_more(run, spec.stage, progress.offset)? =>
        {
            StepOutcome::Next
        }
        Work::Tasks { correction, .. } => whole(run, spec, progress, correction).await?,
        Work::Whole => whole(run, spec, progress, spec.actor.prompt).await?,
    };
    if let StepOutcome::Asks(_) | StepOutcome::Blocked(_) = turned {
        return Ok(turned);
    }
    // After a branch switch the files in the working tree are not the draft's.
    run.expect_tip()?;
    finish_draft::finish(run, spec, progress, None)?;
    keep::keep(run, spec, progress)?;
    if let (Work::Tasks { .. }, Some(draft)) = (spec.work, &progress.newest.commit) {
        scope::warn_outside_scope(run, &project_files::code_since_start(run, draft)?)?;
        test_changes::warn_of_tests(run, draft)?;
    }
    run.continues_transcript.set(false);
    progress.next = if turned == StepOutcome::Again { Next::Draft } else { Next::Review };
    Ok(turned)
}

async fn whole(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    prompt: Prompt,
) -> anyhow::Result<StepOutcome> {
    keep::announce(run, spec, progress, None)?;
    let mut variables = conversation::brief_variables(run, spec, progress)?;
    if spec.judges {
        variables.evidence += &test_changes::tests_for_readers(run, &run.session.tip)?;
    }
    let part = Part {
        spec,
        role: Role::Actor,
        prompt,
        again: run.joins(spec.stage, spec.stage).then(|| again(spec, progress, prompt)),
        tools: run.actor_tools(spec),
        closing: closing_acts(spec, progress.used() > 1, run.session.is_patch()),
        iteration: progress.iteration,
        task: None,
        question: None,
        opening: None,
        extra: draft_so_far(run, spec, progress)?,
        variables,
    };
    let refusals = progress.refusals;
    let mut closing = Closing::new(run, spec, progress, None);
    let mut conversation = agent_program::converse(run, &part, refusals, &mut closing).await?;
    progress.note_run(&mut conversation);
    progress.newest.credit.merge(usage::take_credit(run));
    let has_tasks = !scope::own_tasks(run)?.is_empty();
    progress.note_words(spec, &conversation, has_tasks);
    let turned = outcome::of_conversation(spec, progress, Origin::Actor, conversation);
    let tries_again = protected_files::offer_protected(run, spec, progress, &turned)?;
    Ok(if tries_again { StepOutcome::Again } else { turned })
}

/// The brief of a draft in a continued conversation: for a correction, the feedback on the previous
/// draft.
fn again(spec: &StageSpec, progress: &Progress, prompt: Prompt) -> Prompt {
    let corrects = progress.used() > 1 && spec.work == Work::Whole;
    if corrects { DRAFT_AGAIN } else { prompt }
}

/// The stage's documents as they are now, for the actor: from the second draft on, including
/// drafts of earlier runs of the stage. In a change request, or if a commit (such as the parent
/// session's) already contains the stage's document, the actor gets them from the first draft on.
fn draft_so_far(run: &Run<'_>, spec: &StageSpec, progress: &Progress) -> anyhow::Result<String> {
    let store = run.store();
    let committed = run.files_at(&run.session.tip);
    let there = |document| committed.read(document).map(|text| text.is_some());
    let again = progress.iteration > 1
        || run.session.is_patch()
        || spec.document().map_or(Ok(false), there)?;
    if again && spec.work == Work::Whole {
        artifacts(run, &store, &spec.own_artifacts())
    } else {
        Ok(String::new())
    }
}
