//! The single actor–critic loop for every row of the stage table.
//!
//! ```text
//! draft → checks → self-review → gate → critic, challenger → record
//!                                (critics → gate with [review] order = critic-first)
//! ```
//!
//! Each refusal of a draft leaves feedback, and the next draft starts. Two invariants hold in every
//! configuration: content that a person has not seen is never recorded as approved, and nobody is
//! asked twice about the same content.

use crate::artifact::{Artifact, Feedback, Files as _};
use crate::config::ReviewOrder;
use crate::error::Error;
use crate::event::Event;
use crate::gate::Mode;
use crate::interrupt;
use crate::pipeline::change::scope;
use crate::pipeline::draft::{self, finish_draft, keep, self_review};
use crate::pipeline::draft_state::Next;
use crate::pipeline::evidence::{Evidence, gather};
use crate::pipeline::files::project_files;
use crate::pipeline::history::{resume_stage, rewind, waiting_draft};
use crate::pipeline::limits::{self, answers};
use crate::pipeline::outcome::{BlockReason, StageEnd};
use crate::pipeline::review::{self, feedback, other_model};
use crate::pipeline::run::{Run, now};
use crate::pipeline::step::{Step, StepResult, Stop};
use crate::pipeline::{
    checks, commit_message, corrections, criteria, critic, edits, protected_files, record_stage,
};
use crate::record::DraftEnding;
use crate::stages::{Approves, StageSpec};
use crate::verify::require_readable;

/// Runs one stage. `evidence` are the check results of the stage before it in this run, and then its
/// own.
pub(crate) async fn run_stage(
    run: &mut Run<'_>,
    spec: &'static StageSpec,
    evidence: &mut Option<Evidence>,
) -> anyhow::Result<StageEnd> {
    let order = run.session.order();
    let number = order.iter().position(|stage| *stage == spec.stage).map_or(0, |at| at + 1);
    let count = order.len();
    run.env.sink.emit(Event::StageStarted { stage: spec.stage, number, of: count, order });
    if let Some(way) = waiting_draft::way_back(run) {
        return Ok(StageEnd::GoBack(way));
    }
    require_earlier(run, spec)?;
    edits::records::put_back_json(run)?;
    protected_files::allow_planned(run, spec);
    if !spec.rechecks {
        *evidence = None;
    } else if let Some(end) = corrections::code_is_wrong(run, spec, evidence).await? {
        return Ok(end);
    }
    if spec.needs_code {
        project_files::something_to_deliver(run, spec)?;
    }
    let mut step = Step::new(run, spec);
    if !resume_stage::resume(&mut step)? {
        return answers::waits(run, spec);
    }
    other_model::take_up(&mut step).await?;
    rewind::tell_why_again(step.run, spec.stage, step.draft.offset)?;
    step.draft.evidence = evidence.take();
    if spec.writes_code() {
        scope::tell_change_so_far(step.run)?;
    }
    feedback::take_up_comments(&mut step)?;
    loop {
        interrupt::check()?;
        step.run.expect_tip()?;
        let mut result = round(&mut step).await;
        if let Err(Stop::Asks(request)) = result {
            result = limits::request(&mut step, request).await;
        }
        if let Err(Stop::Blocked(why)) = result {
            result = limits::stuck(&mut step, why).await;
        }
        match result {
            Err(Stop::Ends(end)) => {
                *evidence = step.draft.evidence;
                return Ok(end);
            }
            Err(Stop::Failed(error)) => return Err(error),
            Ok(()) | Err(Stop::Again | Stop::Asks(_) | Stop::Blocked(_)) => {}
        }
    }
}

/// One round of the loop.
async fn round(step: &mut Step<'_, '_>) -> StepResult {
    if let Some(words) = step.draft.gate.asks.clone() {
        return Err(Stop::Blocked(BlockReason::of_words(words)));
    }
    if step.run.env.mode == Mode::Ask
        && let Some(words) = step.draft.gate.waits.take()
    {
        // This comes before the checks: a role that stopped to ask may not have finished the draft,
        // and the checks would send it back without an answer.
        return limits::read_draft(step, words).await;
    }
    let drafts = step.draft.next != Next::Review;
    if drafts {
        limits::may_draft(step)?;
        edits::tell_edit(step)?;
        draft::make_draft(step).await?;
    }
    let is_later = drafts && step.draft.iteration > 1;
    review::read_edits(step).await?;
    keep::mark(step, step.draft.iteration, DraftEnding::Whole);
    // An interrupted self-review may have left an incomplete change: the self-review finishes
    // that change before the checks run.
    if !self_review::is_self_reviewing(step)? {
        checks_hold(step).await?;
    }
    if let Some(words) = is_later
        .then(|| commit_message::dropped_imports(step.run, step.spec))
        .transpose()?
        .flatten()
    {
        step.run.warn(words);
    }
    self_review::self_review(step).await?;
    let critic_first = step.run.env.config.review.order == ReviewOrder::CriticFirst;
    if step.draft.gate.take_asks_again() || critic_first {
        judge(step).await?;
    }
    review::pass_gate(step).await?;
    // In critic-first order the critic also reads a person's edit.
    judge(step).await?;
    record_stage::record_stage(step)
}

/// Asks the critic about the draft, then the challenger if the critic approved it.
async fn judge(step: &mut Step<'_, '_>) -> StepResult {
    critic::ask_critic(step).await?;
    critic::ask_challenger(step).await
}

/// The documents of earlier stages must exist and be readable.
fn require_earlier(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<()> {
    require_readable(run.env.git, &run.session)?;
    corrections::tell_what_no_longer_holds(run, spec.stage)?;
    let store = run.store();
    let tip_files = run.files_at(&run.session.tip);
    let stages = run.session.done();
    let is_left = |artifact: &Artifact| {
        stages.iter().any(|stage| run.session.row(*stage).document() == Some(*artifact))
    };
    for artifact in spec.context {
        // Documents that the depth lacks, or that a change request's parent did not have, are not
        // required.
        let is_due = is_left(artifact) || tip_files.read(*artifact)?.is_some();
        if is_due && store.text(*artifact)?.is_none() {
            return Err(Error::repository(format!(
                "{} is missing, and {} needs it",
                run.path_of(*artifact),
                spec.stage
            ))
            .hint("restore it: git checkout HEAD -- .cowork, or go back: git cowork revert --to STAGE")
            .into());
        }
    }
    edits::tell_of_edited_earlier(run, spec)
}

/// Runs the mechanical checks. Findings become feedback without a model call.
async fn checks_hold(step: &mut Step<'_, '_>) -> StepResult {
    if step.spec.runs_checks {
        let evidence = step.draft.evidence.take();
        step.draft.evidence =
            gather::gather_evidence(step.run, evidence, &step.draft.checked).await?;
        criteria::look_at_named_tests(step.run, &mut step.draft.evidence).await?;
        if step.draft.evidence.as_ref().is_some_and(Evidence::lacks_dependencies) {
            gather::require_dependencies(step.run).await?;
        }
    }
    // A person may have committed the code that a task needed, so the feature statuses are set
    // again.
    if step.spec.approves == Approves::Tree
        && finish_draft::finish_features(step.run, step.spec, &step.draft, None)?
    {
        keep::keep(step)?;
    }
    let report = checks::check_report(step.run, step.spec, &step.draft)?;
    if report.is_ok() {
        checks::remarks(step.run, step.spec, &step.draft)?
            .into_iter()
            .for_each(|text| step.run.warn_once(text));
        return Ok(());
    }
    if let Some(edit) = step.draft.edit.as_mut().filter(|edit| !edit.told)
        && step.run.env.mode != Mode::Auto
    {
        // The person is shown the findings about their edit before the actor gets it.
        edit.told = true;
        step.draft.approvals.person = None;
        return review::refused_edit(step, &report).await;
    }
    let at = now();
    let entries: Vec<Feedback> = report
        .findings
        .iter()
        .map(|finding| finding.to_feedback(&at, step.spec.stage, step.draft.iteration))
        .collect();
    let wider = scope::needs_wider_scope(step.run, step.spec.stage, &report, step.draft.iteration)?;
    step.run.give_feedback(entries)?;
    step.draft.next = Next::Draft;
    Err(wider.map_or(Stop::Again, Stop::Asks))
}
