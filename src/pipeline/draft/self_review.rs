//! The self-review (`[project] self_review`): the actor reads its own draft once,
//! before anybody else does, and fixes the problems it finds. The fixes are read from the files.
//! Problems that the actor reports but could not fix become feedback. This feedback rejects
//! nothing; the critic and the person see it, and it appears in the history.

use std::fmt::Write as _;

use crate::agent::WithWords;
use crate::artifact::{Artifact, Feedback, Origin};
use crate::event::Event;
use crate::git::{self, Oid};
use crate::markers::{Marker, review_verdict, without_markers};
use crate::pipeline::brief::conversation;
use crate::pipeline::brief::part::Part;
use crate::pipeline::brief::reader;
use crate::pipeline::brief::sections::section;
use crate::pipeline::draft::{agent_program, finish_draft, keep};
use crate::pipeline::draft_state::{NEEDS_REVISION, PASSED, REVISED, SelfReview};
use crate::pipeline::prompts::SELF_REVIEW;
use crate::pipeline::run::Run;
use crate::pipeline::step::{Step, StepResult, Stop};
use crate::stage::Role;

/// Maximum characters of a self-review's text that are recorded as feedback.
const MOST_SAID: usize = 4_000;
/// Maximum bytes of the unfixed problems in the critic's input.
const UNFIXED: usize = 6_000;

/// True if an interrupted self-review is to be continued.
pub(crate) fn is_self_reviewing(step: &Step<'_, '_>) -> anyhow::Result<bool> {
    Ok(step.draft.self_review.reads().is_some() && is_for_self_review(step)?)
}

/// True until the self-review is done, or somebody else has judged the draft: from then on the
/// actor answers their feedback.
fn is_for_self_review(step: &Step<'_, '_>) -> anyhow::Result<bool> {
    let open = step.run.env.config.self_reviewed(step.run.session.depth(), step.spec.stage)
        && !matches!(step.draft.self_review, SelfReview::Done(_))
        && step.draft.approvals.person.is_none()
        && step.draft.edit.is_none();
    let has_spoken = |entry: &Feedback| {
        entry.stage == step.spec.stage
            && entry.iteration > step.draft.offset
            && matches!(entry.from, Origin::Critic | Origin::Human | Origin::Challenger)
            && !entry.is_note()
    };
    Ok(open && !step.run.feedback_so_far()?.iter().any(has_spoken))
}

/// Lets the actor read, once, a draft that passed the checks. After its edits the checks run again.
pub(crate) async fn self_review(step: &mut Step<'_, '_>) -> StepResult {
    if !is_for_self_review(step)? {
        return Ok(());
    }
    let goes_on = step.draft.self_review.reads().cloned();
    let is_resumed = goes_on.is_some();
    let before = match goes_on.or_else(|| step.draft.commit.clone()) {
        Some(before) => before,
        None => step.run.session.tip.clone(),
    };
    if !is_resumed {
        // If the run is killed during the self-review, the next run knows which draft was being
        // reviewed.
        step.draft.self_review = SelfReview::Begun(before.clone());
        keep::keep(step)?;
        step.run.continues_transcript.set(false);
    }
    let mut tools = step.spec.actor.tools();
    tools.push("provide_feedback");
    let variables = conversation::brief_variables(step)?;
    let part = Part {
        extra: reader::draft_for_reader(step.run, step.spec)?,
        ..Part::new(step, Role::SelfReview, SELF_REVIEW, tools, variables)
    };
    let mut conversation =
        agent_program::converse(step.run, &part, step.draft.refusals, &mut WithWords).await?;
    step.run.continues_transcript.set(false);
    step.account_for(&mut conversation);
    let problems = take_unfixed(step, &mut conversation);
    // After a branch switch the files in the working tree are not the draft's.
    step.run.expect_tip()?;
    let mut files = changed_since(step.run, &before)?;
    finish_draft::finish(step.run, step.spec, &step.draft, None)?;
    // Sections that git-cowork writes itself are not part of the revision.
    let own_changes = changed_since(step.run, &before)?;
    files.retain(|path| own_changes.contains(path));
    let outcome = match (files.is_empty(), problems.is_empty()) {
        (false, _) => REVISED,
        (true, true) => PASSED,
        (true, false) => NEEDS_REVISION,
    };
    step.run.env.sink.emit(Event::SelfReview {
        stage: step.spec.stage,
        iteration: step.draft.iteration,
        outcome,
        files: files.clone(),
        unfixed: problems.len(),
    });
    step.run.give_feedback(problems)?;
    step.draft.self_review = SelfReview::Done(outcome);
    keep::keep(step)?;
    step.end_of(Origin::SelfReview, conversation)?;
    if is_resumed || !files.is_empty() { Err(Stop::Again) } else { Ok(()) }
}

/// Returns the problems the self-review could not fix.
fn take_unfixed(
    step: &Step<'_, '_>,
    conversation: &mut crate::agent::Conversation,
) -> Vec<Feedback> {
    let problems = std::mem::take(&mut conversation.outcome.feedback);
    let marker = review_verdict(&conversation.text);
    if marker.is_none() {
        step.run.warn(format!(
            "{}: the self-review gave no <review> marker; treated as PASS",
            step.spec.stage
        ));
    }
    if !problems.is_empty() || matches!(marker, None | Some(Marker::Pass)) {
        return problems;
    }
    let text: String = without_markers(&conversation.text).trim().chars().take(MOST_SAID).collect();
    let words = match text.is_empty() {
        true => "the self-review says that the draft needs a revision, without details".to_owned(),
        false => text,
    };
    vec![step.feedback(Origin::SelfReview, &words)]
}

/// The draft's files that differ from a commit, except the feedback.
fn changed_since(run: &Run<'_>, before: &Oid) -> anyhow::Result<Vec<String>> {
    let tree = run.tree()?;
    let mut paths = git::paths::changed(run.env.git, before, &tree)?;
    paths.retain(|path| !path.ends_with(Artifact::Feedback.file_name()));
    Ok(paths)
}

/// The problems the actor's self-reviews could not fix in this run of the stage.
fn unfixed_so_far(step: &Step<'_, '_>) -> anyhow::Result<Vec<Feedback>> {
    let mut entries = step.run.feedback_so_far()?;
    entries.retain(|entry| {
        entry.stage == step.spec.stage
            && entry.from == Origin::SelfReview
            && entry.iteration > step.draft.offset
    });
    Ok(entries)
}

/// Like [`unfixed_so_far`], as a section for the critic.
pub(crate) fn unfixed_section(step: &Step<'_, '_>) -> anyhow::Result<String> {
    let mut list = String::new();
    for entry in unfixed_so_far(step)? {
        let draft = entry.iteration - step.draft.offset;
        let _ = writeln!(list, "- draft {draft}, {}: {}", entry.severity.name(), entry.details);
    }
    Ok(section("What the author's self-review could not fix", &list, UNFIXED))
}

/// The unfixed problems of the current draft, for its reviewer.
pub(crate) fn unfixed_about(step: &Step<'_, '_>) -> anyhow::Result<Vec<String>> {
    let mut entries = unfixed_so_far(step)?;
    entries.retain(|entry| entry.iteration == step.draft.iteration);
    Ok(entries.into_iter().map(|entry| entry.details).collect())
}
