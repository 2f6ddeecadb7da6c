//! The gate of a stage: asking a person, leaving the draft to wait for one, or passing it.

pub(crate) mod answer;
pub(crate) mod approve;
mod decided;
pub(crate) mod elsewhere;
pub(crate) mod feedback;
mod record_table;
pub(crate) mod shown;
pub(crate) mod since_last_review;
pub(crate) mod unread_edits;
pub(crate) mod waiting;

use crate::artifact::Origin;
use crate::artifact::check::Report;
use crate::event::Event;
use crate::gate::{Decision, Mode};
use crate::git;
use crate::pipeline::draft::keep;
use crate::pipeline::edits::{self, overwritten_edits};
use crate::pipeline::files::approved_content;
use crate::pipeline::outcome::{self, Asked, StageEnd, StepOutcome, WayBack};
use crate::pipeline::progress::edit::Edit;
use crate::pipeline::progress::{self, Progress};
use crate::pipeline::run::Run;
use crate::record::Approval;
use crate::session::Verdict;
use crate::stages::StageSpec;

/// Lets the draft pass the gate, unless these bytes have passed it already.
pub(crate) fn pass_gate(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<StepOutcome> {
    if !run.gated(spec.stage) {
        overwritten_edits::tell_of_overwritten(run, spec, progress)?;
        if progress.edit.is_some() {
            let bytes = approved_content::content_now(run, spec)?;
            progress.approval = Some(Approval { bytes, verdict: Verdict::Edited, by: None });
        }
        return Ok(StepOutcome::Next);
    }
    let bytes = approved_content::content_now(run, spec)?;
    if let Some(approval) = &progress.approval
        && approval.bytes.same(run.env.git.reader().as_ref(), &bytes)?
    {
        return Ok(StepOutcome::Next);
    }
    overwritten_edits::tell_of_overwritten(run, spec, progress)?;
    if let Some(turned) = decided::by_command(run, spec, progress, &bytes)? {
        return Ok(turned);
    }
    match run.env.mode {
        Mode::Auto => {
            let before = progress.approval.as_ref().map(|approval| approval.verdict);
            let edited = progress.edit.is_some() || before == Some(Verdict::Edited);
            let verdict = if edited { Verdict::Edited } else { Verdict::Auto };
            progress.approval = Some(Approval { bytes, verdict, by: None });
            Ok(StepOutcome::Next)
        }
        Mode::Wait => {
            let why = progress.note.take();
            waiting::leave_waiting(run, spec, progress, why)
        }
        Mode::Ask => open_gate(run, spec, progress),
    }
}

pub(crate) fn open_gate(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<StepOutcome> {
    run.env.sink.emit(Event::ReviewRequested {
        stage: spec.stage,
        iteration: progress.iteration,
        commit: None,
        reason: progress.note.clone(),
    });
    let shown = progress.draft.clone();
    keep_persons_code(run, spec, progress)?;
    let decision = shown::ask_person(run, spec, progress, true);
    if !matches!(decision, Ok(Decision::PassedElsewhere)) {
        run.env.gates.close(None);
    }
    let decision = decision?;
    // Code has no editor of ours: a person edits it beside the gate.
    let edited = keep_persons_code(run, spec, progress)?;
    let why = progress.note.take();
    let asks = progress.asks.take().or_else(|| why.clone());
    progress.seen = shown;
    if decision == Decision::PassedElsewhere && !elsewhere::passes(run, spec, edited)? {
        elsewhere::note_code_edit(spec, progress);
        return save_edited(run, spec, progress, false);
    }
    match decision {
        Decision::Pass | Decision::PassedElsewhere => {
            if !edits::records::settle(run)?.refusals.is_empty() {
                return Ok(StepOutcome::Again);
            }
            let verdict = if edited { Verdict::Edited } else { Verdict::Passed };
            note_pass(run, spec, progress, verdict)?;
            if std::mem::take(&mut progress.critic_asks) {
                // The critic asked for a person, and this is the person's answer.
                let bytes = approved_content::content_now(run, spec)?;
                if progress::has_refused(run, spec, progress, Origin::Challenger)? {
                    progress.challenged = Some((bytes.clone(), String::new()));
                }
                progress.judged = Some((bytes, String::new()));
            }
            Ok(StepOutcome::Next)
        }
        Decision::Edited => save_edited(run, spec, progress, true),
        Decision::Look => {
            // A pass of it is the pass of an edit.
            if let Some(since) = progress.seen.clone().filter(|_| edited) {
                progress.edit = Some(Edit { since, files: Vec::new(), told: false });
                keep::keep(run, spec, progress)?;
            }
            progress.note = why;
            Ok(StepOutcome::Again)
        }
        Decision::Feedback(text) => {
            // Whatever else the person did to the files meanwhile is theirs.
            if let Some(shown) = progress.seen.clone() {
                edits::note_edit(run, spec, progress, &shown)?;
            }
            let answer = feedback::take_answer(run, spec, progress, &[text])?;
            feedback::forget_comments(run, spec)?;
            Ok(answer)
        }
        Decision::GoBack(stage) => {
            let asked = asks.and_then(|words| Asked::parse(&words, progress.iteration));
            let way = WayBack::decided(spec.stage, stage, "", asked);
            Ok(StepOutcome::Ends(StageEnd::GoBack(way)))
        }
        Decision::Raise(depth) => {
            keep::keep(run, spec, progress)?;
            Ok(StepOutcome::Ends(StageEnd::Raise(depth)))
        }
        Decision::Abort => {
            waiting::drop_draft(run, spec, progress)?;
            Err(outcome::aborted(spec).into())
        }
        Decision::Stop => {
            let unread = edits::records::unreadable(run, progress.draft.as_ref())?;
            let why = if unread.is_empty() { why } else { Some(unread.join("\n")) };
            waiting::leave_waiting(run, spec, progress, why)
        }
    }
}

/// Takes a person's edits of code into the draft and keeps it. True when there were any.
fn keep_persons_code(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<bool> {
    let edited =
        !approved_content::take_persons_code(run, spec, progress.draft.as_ref())?.is_empty();
    if edited {
        keep::keep(run, spec, progress)?;
    }
    Ok(edited)
}

/// The checks refuse what a person wrote: the person says what comes of it.
pub(crate) fn refused_edit(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    report: &Report,
) -> anyhow::Result<StepOutcome> {
    let why = progress.note.take();
    let refused = "your edit does not pass the checks";
    let why = match why {
        Some(why) if progress.by_hand => format!("{why}; {refused}"),
        Some(why) => why,
        None => refused.to_owned(),
    };
    if run.env.mode == Mode::Ask {
        progress.note = Some(format!("{why}; to pass it hands it to the actor as it is"));
        return Ok(match open_gate(run, spec, progress)? {
            StepOutcome::Next => StepOutcome::Again,
            other => other,
        });
    }
    let found: Vec<&str> = report.findings.iter().map(|f| f.details.as_str()).collect();
    waiting::leave_waiting(run, spec, progress, Some(format!("{why}: {}", found.join("; "))))
}

/// Takes over what a person saved; comments in it go to the actor. Without any it `passes`, where the
/// person has said so.
fn save_edited(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    passes: bool,
) -> anyhow::Result<StepOutcome> {
    let shown = progress.seen.clone();
    let comments = match &shown {
        Some(shown) => feedback::take_comments(run, spec, shown)?,
        None => Vec::new(),
    };
    run.env.workspace.written().adopt(&approved_content::documents_on_disk(run, spec))?;
    let read = edits::records::settle(run)?.refusals.is_empty();
    if let Some(shown) = &shown {
        edits::note_edit(run, spec, progress, shown)?;
    }
    keep::keep(run, spec, progress)?;
    progress.seen.clone_from(&progress.draft);
    if !comments.is_empty() {
        return feedback::take_answer(run, spec, progress, &comments);
    }
    if read && passes {
        note_pass(run, spec, progress, Verdict::Edited)?;
    }
    // The checks have not seen these bytes.
    Ok(StepOutcome::Again)
}

/// Notes a pass, also in the draft ref: whatever stops the run before the stage is recorded,
/// the person is not asked again.
fn note_pass(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    verdict: Verdict,
) -> anyhow::Result<()> {
    let bytes = approved_content::content_now(run, spec)?;
    let by = Some(git::state::author(run.env.git)?);
    let edited = progress.edit.is_some() && verdict == Verdict::Passed;
    let verdict = if edited { Verdict::Edited } else { verdict };
    progress.approval = Some(Approval { bytes, verdict, by });
    keep::keep(run, spec, progress)
}
