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
use crate::pipeline::outcome::{self, StepOutcome};
use crate::pipeline::progress::Progress;
use crate::pipeline::progress::self_review::{NEEDS_REVISION, PASSED, REVISED, SelfReview};
use crate::pipeline::prompts::SELF_REVIEW;
use crate::pipeline::run::Run;
use crate::pipeline::usage;
use crate::stage::Role;
use crate::stages::StageSpec;

/// Maximum characters of a self-review's text that are recorded as feedback.
const MOST_SAID: usize = 4_000;
/// Maximum bytes of the unfixed problems in the critic's input.
const UNFIXED: usize = 6_000;

/// True if an interrupted self-review is to be continued.
pub(crate) fn is_self_reviewing(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
) -> anyhow::Result<bool> {
    Ok(progress.newest.self_review.reads().is_some() && is_for_self_review(run, spec, progress)?)
}

/// True until the self-review is done, or somebody else has judged the draft: from then on the
/// actor answers their feedback.
fn is_for_self_review(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
) -> anyhow::Result<bool> {
    let open = run.env.config.self_reviewed(run.session.depth(), spec.stage)
        && !matches!(progress.newest.self_review, SelfReview::Done(_))
        && progress.verdicts.person.is_none()
        && progress.newest.edit.is_none();
    let has_spoken = |entry: &Feedback| {
        entry.stage == spec.stage
            && entry.iteration > progress.offset
            && matches!(entry.from, Origin::Critic | Origin::Human | Origin::Challenger)
            && !entry.is_note()
    };
    Ok(open && !run.feedback_so_far()?.iter().any(has_spoken))
}

/// Lets the actor read, once, a draft that passed the checks. After its edits the checks run again.
pub(crate) async fn self_review(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<StepOutcome> {
    if !is_for_self_review(run, spec, progress)? {
        return Ok(StepOutcome::Next);
    }
    let goes_on = progress.newest.self_review.reads().cloned();
    let unchecked = goes_on.is_some();
    let before = match goes_on.or_else(|| progress.newest.commit.clone()) {
        Some(before) => before,
        None => run.session.tip.clone(),
    };
    if !unchecked {
        // If the run is killed during the self-review, the next run knows which draft was being
        // reviewed.
        progress.newest.self_review = SelfReview::Begun(before.clone());
        keep::keep(run, spec, progress)?;
        run.continues_transcript.set(false);
    }
    let mut tools = spec.actor.tools();
    tools.push("provide_feedback");
    let part = Part {
        spec,
        role: Role::SelfReview,
        prompt: SELF_REVIEW,
        again: None,
        tools,
        closing: Vec::new(),
        iteration: progress.iteration,
        task: None,
        question: None,
        opening: None,
        extra: reader::draft_for_reader(run, spec)?,
        variables: conversation::brief_variables(run, spec, progress)?,
    };
    let mut conversation =
        agent_program::converse(run, &part, progress.refusals, &mut WithWords).await?;
    run.continues_transcript.set(false);
    progress.note_run(&mut conversation);
    progress.newest.credit.merge(usage::take_credit(run));
    let unfixed = take_unfixed(run, spec, progress, &mut conversation);
    // After a branch switch the files in the working tree are not the draft's.
    run.expect_tip()?;
    let mut files = changed_since(run, &before)?;
    finish_draft::finish(run, spec, progress, None)?;
    // Sections that git-cowork writes itself are not part of the revision.
    let settled = changed_since(run, &before)?;
    files.retain(|path| settled.contains(path));
    let outcome = match (files.is_empty(), unfixed.is_empty()) {
        (false, _) => REVISED,
        (true, true) => PASSED,
        (true, false) => NEEDS_REVISION,
    };
    run.env.sink.emit(Event::SelfReview {
        stage: spec.stage,
        iteration: progress.iteration,
        outcome,
        files: files.clone(),
        unfixed: unfixed.len(),
    });
    run.give_feedback(unfixed)?;
    progress.newest.self_review = SelfReview::Done(outcome);
    keep::keep(run, spec, progress)?;
    Ok(match outcome::of_conversation(spec, progress, Origin::SelfReview, conversation) {
        StepOutcome::Next if unchecked || !files.is_empty() => StepOutcome::Again,
        turned => turned,
    })
}

/// Returns the problems the self-review could not fix.
fn take_unfixed(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
    conversation: &mut crate::agent::Conversation,
) -> Vec<Feedback> {
    let named = std::mem::take(&mut conversation.outcome.feedback);
    let marker = review_verdict(&conversation.text);
    if marker.is_none() {
        run.warn(format!(
            "{}: the self-review gave no <review> marker; treated as PASS",
            spec.stage
        ));
    }
    if !named.is_empty() || matches!(marker, None | Some(Marker::Pass)) {
        return named;
    }
    let said: String = without_markers(&conversation.text).trim().chars().take(MOST_SAID).collect();
    let words = match said.is_empty() {
        true => "the self-review says that the draft needs a revision, without details".to_owned(),
        false => said,
    };
    vec![run.feedback(spec.stage, progress.iteration, Origin::SelfReview, &words)]
}

/// The draft's files that differ from a commit, except the feedback.
fn changed_since(run: &Run<'_>, before: &Oid) -> anyhow::Result<Vec<String>> {
    let tree = run.tree()?;
    let mut paths = git::paths::changed(run.env.git, before, &tree)?;
    paths.retain(|path| !path.ends_with(Artifact::Feedback.file_name()));
    Ok(paths)
}

/// The problems the actor's self-reviews could not fix in this run of the stage.
fn unfixed_so_far(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
) -> anyhow::Result<Vec<Feedback>> {
    let mut said = run.feedback_so_far()?;
    said.retain(|entry| {
        entry.stage == spec.stage
            && entry.from == Origin::SelfReview
            && entry.iteration > progress.offset
    });
    Ok(said)
}

/// Like [`unfixed_so_far`], as a section for the critic.
pub(crate) fn unfixed_section(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
) -> anyhow::Result<String> {
    let mut list = String::new();
    for entry in unfixed_so_far(run, spec, progress)? {
        let draft = entry.iteration - progress.offset;
        let _ = writeln!(list, "- draft {draft}, {}: {}", entry.severity.name(), entry.details);
    }
    let mut out = String::new();
    section(&mut out, "What the author's self-review could not fix", &list, UNFIXED);
    Ok(out)
}

/// The unfixed problems of the current draft, for its reviewer.
pub(crate) fn unfixed_about(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
) -> anyhow::Result<Vec<String>> {
    let mut said = unfixed_so_far(run, spec, progress)?;
    said.retain(|entry| entry.iteration == progress.iteration);
    Ok(said.into_iter().map(|entry| entry.details).collect())
}
