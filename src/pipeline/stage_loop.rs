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
use crate::pipeline::corrections::{self, earlier_stages};
use crate::pipeline::draft::{self, checks, finish_draft, imported, keep, self_review};
use crate::pipeline::evidence::{Evidence, gather};
use crate::pipeline::files::project_files;
use crate::pipeline::history::{dropped, resume_stage, waiting_draft};
use crate::pipeline::limits::answers;
use crate::pipeline::outcome::{BlockReason, StageEnd, StepOutcome};
use crate::pipeline::progress::{Next, Progress};
use crate::pipeline::review::{self, feedback, other_model};
use crate::pipeline::run::{Run, now};
use crate::pipeline::{criteria, critic, edits, limits, protected_files, record_stage};
use crate::record::DraftEnding;
use crate::stages::{Approves, StageSpec};
use crate::verify::require_readable;

/// Runs one stage. `evidence` are the check results of the stage before it in this run, and then its
/// own.
pub(crate) async fn run_stage(
    run: &mut Run<'_>,
    spec: &StageSpec,
    evidence: &mut Option<Evidence>,
) -> anyhow::Result<StageEnd> {
    let order = run.session.order();
    let number = order.iter().position(|stage| *stage == spec.stage).map_or(0, |at| at + 1);
    let of = order.len();
    run.env.sink.emit(Event::StageStarted { stage: spec.stage, number, of, order });
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
    let Some(mut progress) = resume_stage::resume(run, spec)? else {
        return answers::waits(run, spec);
    };
    other_model::take_up(run, spec, &mut progress).await?;
    dropped::tell_why_again(run, spec.stage, progress.offset)?;
    progress.newest.evidence = evidence.take();
    if spec.writes_code() {
        scope::tell_change_so_far(run)?;
    }
    feedback::take_up_comments(run, spec, &mut progress)?;
    loop {
        interrupt::check()?;
        run.expect_tip()?;
        let mut turned = step(run, spec, &mut progress).await?;
        if let StepOutcome::Asks(wish) = turned {
            turned = limits::request(run, spec, &mut progress, wish).await?;
        }
        if let StepOutcome::Blocked(why) = turned {
            turned = limits::stuck(run, spec, &mut progress, why).await?;
        }
        if let StepOutcome::Ends(end) = turned {
            *evidence = progress.newest.evidence;
            return Ok(end);
        }
    }
}

/// One round of the loop.
async fn step(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<StepOutcome> {
    if let Some(words) = progress.gate.asks.clone() {
        return Ok(StepOutcome::Blocked(BlockReason::of_words(words)));
    }
    if run.env.mode == Mode::Ask
        && let Some(words) = progress.gate.waits.take()
    {
        // This comes before the checks: a role that stopped to ask may not have finished the draft,
        // and the checks would send it back without an answer.
        return limits::read_draft(run, spec, progress, words).await;
    }
    let drafts = progress.next != Next::Review;
    if drafts {
        match limits::may_draft(run, spec, progress)? {
            StepOutcome::Next => {}
            other => return Ok(other),
        }
        edits::tell_edit(run, spec, progress)?;
        match draft::make_draft(run, spec, progress).await? {
            StepOutcome::Next => {}
            other => return Ok(other),
        }
    }
    let is_later = drafts && progress.iteration > 1;
    match review::unread_edits::follow(run, spec, progress).await? {
        StepOutcome::Next => {}
        other => return Ok(other),
    }
    keep::mark(run, progress, progress.iteration, DraftEnding::Whole);
    // An interrupted self-review may have left an incomplete change: the self-review finishes
    // that change before the checks run.
    if !self_review::is_self_reviewing(run, spec, progress)? {
        match checks_hold(run, spec, progress).await? {
            StepOutcome::Next => {}
            other => return Ok(other),
        }
    }
    if let Some(words) = is_later.then(|| imported::dropped(run, spec)).transpose()?.flatten() {
        run.warn(words);
    }
    match self_review::self_review(run, spec, progress).await? {
        StepOutcome::Next => {}
        other => return Ok(other),
    }
    let critic_first = run.env.config.review.order == ReviewOrder::CriticFirst;
    if progress.gate.take_asks_again() || critic_first {
        match judge(run, spec, progress).await? {
            StepOutcome::Next => {}
            other => return Ok(other),
        }
    }
    match review::pass_gate(run, spec, progress).await? {
        StepOutcome::Next => {}
        other => return Ok(other),
    }
    // In critic-first order the critic also reads a person's edit.
    match judge(run, spec, progress).await? {
        StepOutcome::Next => record_stage::record_stage(run, spec, progress),
        other => Ok(other),
    }
}

/// Asks the critic about the draft, then the challenger if the critic approved it.
async fn judge(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<StepOutcome> {
    match critic::ask_critic(run, spec, progress).await? {
        StepOutcome::Next => critic::challenger::ask_challenger(run, spec, progress).await,
        other => Ok(other),
    }
}

/// The documents of earlier stages must exist and be readable.
fn require_earlier(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<()> {
    require_readable(run.env.git, &run.session)?;
    earlier_stages::tell_what_no_longer_holds(run, spec.stage)?;
    let store = run.store();
    let committed = run.files_at(&run.session.tip);
    let done = run.session.done();
    let left = |artifact: &Artifact| {
        done.iter().any(|stage| run.session.row(*stage).document() == Some(*artifact))
    };
    for artifact in spec.context {
        // Documents that the depth lacks, or that a change request's parent did not have, are not
        // required.
        let is_due = left(artifact) || committed.read(*artifact)?.is_some();
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
async fn checks_hold(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<StepOutcome> {
    if spec.runs_checks {
        let known = progress.newest.evidence.take();
        progress.newest.evidence =
            gather::gather_evidence(run, known, &progress.newest.checked).await?;
        criteria::look_at_named_tests(run, &mut progress.newest.evidence).await?;
        if progress.newest.evidence.as_ref().is_some_and(Evidence::lacks_dependencies) {
            gather::require_dependencies(run).await?;
        }
    }
    // A person may have committed the code that a task needed, so the feature statuses are set
    // again.
    if spec.approves == Approves::Tree && finish_draft::finish_features(run, spec, progress, None)?
    {
        keep::keep(run, spec, progress)?;
    }
    let report = checks::check_report(run, spec, progress)?;
    if report.is_ok() {
        checks::remarks(run, spec, progress)?.into_iter().for_each(|text| run.warn_once(text));
        return Ok(StepOutcome::Next);
    }
    if let Some(edit) = progress.newest.edit.as_mut().filter(|edit| !edit.told)
        && run.env.mode != Mode::Auto
    {
        // The person is shown the findings about their edit before the actor gets it.
        edit.told = true;
        progress.verdicts.person = None;
        return review::refused_edit(run, spec, progress, &report).await;
    }
    let at = now();
    let entries: Vec<Feedback> = report
        .findings
        .iter()
        .map(|finding| finding.to_feedback(&at, spec.stage, progress.iteration))
        .collect();
    let wider = scope::needs_wider_scope(run, spec.stage, &report, progress.iteration)?;
    run.give_feedback(entries)?;
    progress.next = Next::Draft;
    Ok(wider.map_or(StepOutcome::Again, StepOutcome::Asks))
}
