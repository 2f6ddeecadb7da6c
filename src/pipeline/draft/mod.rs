//! One draft: the actor's conversations, and the commit that saves it.

pub(crate) mod agent_program;
pub(crate) mod closing;
pub(crate) mod finish_draft;
pub(crate) mod keep;
pub(crate) mod self_review;
pub(crate) mod tasks;

use crate::artifact::{Files as _, Origin};
use crate::pipeline::brief::part::Part;
use crate::pipeline::brief::sections::artifacts;
use crate::pipeline::brief::{conversation, draft_ids};
use crate::pipeline::change::scope;
use crate::pipeline::draft::closing::closing_acts;
use crate::pipeline::draft_state::Next;
use crate::pipeline::evidence::base;
use crate::pipeline::files::project_files;
use crate::pipeline::prompts::DRAFT_AGAIN;
use crate::pipeline::step::{self, Step, StepResult, Stop};
use crate::pipeline::{draft_count, protected_files, test_changes};
use crate::record::DraftEnding;
use crate::stage::Role;
use crate::stages::{Prompt, Work};

/// Makes the next draft and saves it in its ref.
pub(crate) async fn make_draft(step: &mut Step<'_, '_>) -> StepResult {
    let first = step.draft.iteration == step.draft.offset;
    if first && !step.run.continues_transcript.get() {
        draft_ids::forget(step.run)?;
    }
    step.draft.begin_draft();
    keep::mark(step, step.draft.iteration, DraftEnding::Partial);
    base::look_before_coding(step.run, step.spec).await?;
    tasks::complete_adopted(step.run, step.spec)?;
    let pending = project_files::pending_tasks(step.run, step.spec)?;
    let asked_for_more = |step: &Step<'_, '_>| {
        draft_count::asked_for_more(step.run, step.spec.stage, step.draft.offset)
    };
    let is_rendered = first
        && !asked_for_more(step)?
        && finish_draft::write_here(step.run, step.spec, &step.draft)?;
    let result = match step.spec.work {
        _ if is_rendered => Ok(()),
        Work::Tasks { .. } if !pending.is_empty() => tasks::work_on_tasks(step, pending).await,
        // A change request without a plan is coded in one conversation.
        Work::Tasks { change, .. } if first && scope::own_tasks(step.run)?.is_empty() => {
            whole(step, change).await
        }
        // The run was killed after its last task: the draft is complete.
        Work::Tasks { .. } if first && !asked_for_more(step)? => Ok(()),
        Work::Tasks { correction, .. } => whole(step, correction).await,
        Work::Whole => whole(step, step.spec.actor.prompt).await,
    };
    let again = match result {
        Ok(()) => false,
        Err(Stop::Again) => true,
        Err(stop) => return Err(stop),
    };
    // After a branch switch the files in the working tree are not the draft's.
    step.run.expect_tip()?;
    finish_draft::finish(step.run, step.spec, &step.draft, None)?;
    keep::keep(step)?;
    if let (Work::Tasks { .. }, Some(draft)) = (step.spec.work, &step.draft.commit) {
        scope::warn_outside_scope(step.run, &project_files::code_since_start(step.run, draft)?)?;
        test_changes::warn_of_tests(step.run, draft)?;
    }
    step.run.continues_transcript.set(false);
    step.draft.next = if again { Next::Draft } else { Next::Review };
    if again { Err(Stop::Again) } else { Ok(()) }
}

async fn whole(step: &mut Step<'_, '_>, prompt: Prompt) -> StepResult {
    keep::announce(step, None)?;
    let mut variables = conversation::brief_variables(step)?;
    if step.spec.judges {
        variables.evidence += &test_changes::tests_for_readers(step.run, &step.run.session.tip)?;
    }
    let tools = step.run.actor_tools(step.spec);
    let part = Part {
        again: step.run.joins(step.spec.stage, step.spec.stage).then(|| again(step, prompt)),
        closing: closing_acts(step.spec, step.draft.used() > 1, step.run.session.is_patch()),
        extra: draft_so_far(step)?,
        ..Part::new(step, Role::Actor, prompt, tools, variables)
    };
    let conversation = closing::converse(step, &part).await?;
    step.draft.credit.merge(step::take_credit(step.run));
    let has_tasks = !scope::own_tasks(step.run)?.is_empty();
    step.draft.note_words(step.spec, &conversation, has_tasks);
    let result = step.end_of(Origin::Actor, conversation);
    protected_files::offer_protected(step, result)
}

/// The brief of a draft in a continued conversation: for a correction, the feedback on the previous
/// draft.
fn again(step: &Step<'_, '_>, prompt: Prompt) -> Prompt {
    let corrects = step.draft.used() > 1 && step.spec.work == Work::Whole;
    if corrects { DRAFT_AGAIN } else { prompt }
}

/// The stage's documents as they are now, for the actor: from the second draft on, including
/// drafts of earlier runs of the stage. In a change request, or if a commit (such as the parent
/// session's) already contains the stage's document, the actor gets them from the first draft on.
fn draft_so_far(step: &Step<'_, '_>) -> anyhow::Result<String> {
    let tip_files = step.run.files_at(&step.run.session.tip);
    let exists = |document| tip_files.read(document).map(|text| text.is_some());
    let again = step.draft.iteration > 1
        || step.run.session.is_patch()
        || step.spec.document().map_or(Ok(false), exists)?;
    if again && step.spec.work == Work::Whole {
        artifacts(step.run, &step.spec.own_artifacts())
    } else {
        Ok(String::new())
    }
}
