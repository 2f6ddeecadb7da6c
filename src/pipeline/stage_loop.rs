//! The one actor–critic loop, for every row of the table.
//!
//! ```text
//! draft → checks → self-review → gate → critic, challenger → record
//!                                (critics → gate with [review] order = critic-first)
//! ```
//!
//! Whoever refuses a draft leaves feedback, and the next draft begins. Two invariants hold
//! whichever way it is configured: nobody's unseen bytes are recorded as approved, and nobody is
//! asked twice about the same bytes.

use crate::artifact::{Artifact, Feedback, Files as _, Store};
use crate::config::ReviewOrder;
use crate::error::Error;
use crate::event::Event;
use crate::gate::Mode;
use crate::git;
use crate::interrupt;
use crate::pipeline::change::scope;
use crate::pipeline::corrections::{self, earlier_stages};
use crate::pipeline::draft::{self, checks, finish_draft, keep, self_review};
use crate::pipeline::evidence::{Evidence, gather};
use crate::pipeline::files::project_files;
use crate::pipeline::history::{dropped, resume_stage};
use crate::pipeline::outcome::{BlockReason, StageEnd, StepOutcome};
use crate::pipeline::progress::Progress;
use crate::pipeline::review::{self, feedback, other_model};
use crate::pipeline::run::{Run, now};
use crate::pipeline::{criteria, critic, edits, limits, protected_files, record_stage};
use crate::record::DraftEnding;
use crate::session::{CommittedFiles, Waiting};
use crate::stages::{Approves, StageSpec};
use crate::verify::require_readable;

pub(crate) async fn run_stage(run: &mut Run<'_>, spec: &StageSpec) -> anyhow::Result<StageEnd> {
    let order = run.session.order();
    let number = order.iter().position(|stage| *stage == spec.stage).map_or(0, |at| at + 1);
    let of = order.len();
    run.env.sink.emit(Event::StageStarted { stage: spec.stage, number, of, order });
    require_earlier(run, spec)?;
    protected_files::allow_planned(run, spec);
    let mut evidence = None;
    if spec.rechecks
        && let Some(end) = corrections::code_is_wrong(run, spec, &mut evidence).await?
    {
        return Ok(end);
    }
    if spec.needs_code {
        project_files::something_to_deliver(run, spec)?;
    }
    let Some(mut progress) = resume_stage::resume(run, spec)? else {
        let waiting = run.session.waiting();
        let reason = waiting.as_ref().and_then(Waiting::reason);
        if let Some(waiting) = waiting {
            run.env.sink.emit(Event::ReviewRequested {
                stage: spec.stage,
                iteration: waiting.draft.iterations(),
                commit: Some(waiting.draft.commit.to_string()),
                reason: reason.clone(),
            });
        }
        return Ok(StageEnd::Waiting(reason));
    };
    other_model::take_up(run, spec, &mut progress).await?;
    dropped::tell_why_again(run, spec.stage, progress.offset)?;
    progress.evidence = evidence;
    if spec.writes_code() {
        scope::tell_change_so_far(run)?;
    }
    feedback::take_up_comments(run, spec, &mut progress)?;
    loop {
        interrupt::check()?;
        run.recorder().expect_tip(&run.session.tip)?;
        let mut turned = step(run, spec, &mut progress).await?;
        if let StepOutcome::Asks(wish) = turned {
            turned = limits::request(run, spec, &mut progress, wish).await?;
        }
        if let StepOutcome::Blocked(why) = turned {
            turned = limits::stuck(run, spec, &mut progress, why).await?;
        }
        if let StepOutcome::Ends(end) = turned {
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
    if let Some(words) = progress.asks.clone() {
        return Ok(StepOutcome::Blocked(BlockReason::Asked(words)));
    }
    if run.env.mode == Mode::Ask
        && let Some(words) = progress.waits.take()
    {
        // Before anything is done about the draft: a role that stopped to ask may not have
        // finished it, and checks would send it back without an answer.
        return limits::read_draft(run, spec, progress, words).await;
    }
    if progress.needs_draft {
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
    match review::unread_edits::follow(run, spec, progress).await? {
        StepOutcome::Next => {}
        other => return Ok(other),
    }
    keep::mark(run, progress, progress.iteration, DraftEnding::Whole);
    // What a self-review that was stopped has left is half a change: it is finished first.
    if !self_review::is_self_reviewing(run, spec, progress)? {
        match checks_hold(run, spec, progress).await? {
            StepOutcome::Next => {}
            other => return Ok(other),
        }
    }
    match self_review::self_review(run, spec, progress).await? {
        StepOutcome::Next => {}
        other => return Ok(other),
    }
    let critic_first = run.env.config.review.order == ReviewOrder::CriticFirst;
    if critic_first {
        match judge(run, spec, progress).await? {
            StepOutcome::Next => {}
            other => return Ok(other),
        }
    }
    match review::pass_gate(run, spec, progress).await? {
        StepOutcome::Next => {}
        other => return Ok(other),
    }
    // After a person's edit in critic-first order the critic reads the new bytes, too.
    match judge(run, spec, progress).await? {
        StepOutcome::Next => record_stage::record_stage(run, spec, progress),
        other => Ok(other),
    }
}

/// The critic, then whoever gives a second opinion on what it approved.
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

/// The stages before this one must have left what they promise, and it must be readable (row B6).
fn require_earlier(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<()> {
    require_readable(run.env.git, &run.session)?;
    earlier_stages::tell_what_no_longer_holds(run, spec.stage)?;
    let files = run.files();
    let store = Store::new(&files);
    let committed = CommittedFiles::new(run.env.git, &run.session.name, &run.session.tip);
    let done = run.session.done();
    let left = |artifact: &Artifact| {
        done.iter().any(|stage| run.session.row(*stage).document() == Some(*artifact))
    };
    for artifact in spec.context {
        // What the depth lacks, or a change request's parent had not, is no stage's to leave.
        let is_due = left(artifact) || committed.read(*artifact)?.is_some();
        if is_due && store.text(*artifact)?.is_none() {
            return Err(Error::repository(format!(
                "{} is missing, which {} needs",
                crate::session::artifact_path(&run.session.name, *artifact),
                spec.stage
            ))
            .hint("take it back from history: git checkout HEAD -- .cowork, or go back: git cowork revert --to STAGE")
            .into());
        }
    }
    tell_of_edited_earlier(run, spec)
}

/// A person's edit of a document of an earlier stage counts, and nobody passes it: it is said.
fn tell_of_edited_earlier(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<()> {
    if spec.context.is_empty() {
        return Ok(());
    }
    let path = |artifact| crate::session::artifact_path(&run.session.name, artifact);
    let earlier = spec.context.iter().filter(|artifact| !spec.artifacts.contains(artifact));
    let paths: Vec<String> = earlier.map(|artifact| path(*artifact)).collect();
    let written = run.env.workspace.written().paths();
    for path in paths.iter().filter(|path| !written.contains(path)) {
        if !git::status::is_uncommitted(run.env.git, path)? {
            continue;
        }
        run.warn(format!(
            "{path} has your edits since it was approved; they go along with {}; take them back: git checkout HEAD -- {path}",
            spec.stage
        ));
    }
    Ok(())
}

/// The mechanical checks; what fails is feedback and costs no model call.
async fn checks_hold(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<StepOutcome> {
    if spec.runs_checks {
        let known = progress.evidence.take();
        progress.evidence = gather::gather_evidence(run, known, &progress.checked).await?;
        criteria::look_at_named_tests(run, &mut progress.evidence).await?;
        if progress.evidence.as_ref().is_some_and(Evidence::lacks_dependencies) {
            gather::require_dependencies(run).await?;
        }
    }
    // A person may have committed code that a task was waiting for.
    if spec.approves == Approves::Tree && finish_draft::finish_features(run, spec, progress, None)?
    {
        keep::keep(run, spec, progress)?;
    }
    let report = checks::check_report(run, spec, progress)?;
    if report.is_ok() {
        return Ok(StepOutcome::Next);
    }
    if let Some(edit) = progress.edit.as_mut().filter(|edit| !edit.told)
        && run.env.mode != Mode::Auto
    {
        // What a person wrote is not handed to the actor before the person has seen why.
        edit.told = true;
        progress.approval = None;
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
    progress.needs_draft = true;
    Ok(wider.map_or(StepOutcome::Again, StepOutcome::Asks))
}
