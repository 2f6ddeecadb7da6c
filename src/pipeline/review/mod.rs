//! The gate of a stage: asks a person, lets the draft wait for one, or passes it.

pub(crate) mod answer;
pub(crate) mod approve;
pub(crate) mod broken_edit;
mod decided;
mod elsewhere;
pub(crate) mod feedback;
pub(crate) mod other_model;
mod question;
mod record_table;
pub(crate) mod shown;
pub(crate) mod since_last_review;
pub(crate) mod unread_edits;
pub(crate) mod waiting;

use crate::artifact::check::Report;
use crate::event::Event;
use crate::gate::{Decision, Mode, Reply};
use crate::git::{self, Oid};
use crate::pipeline::draft::keep;
use crate::pipeline::edits::{self, overwritten_edits, taken_back};
use crate::pipeline::files::approved_content;
use crate::pipeline::outcome::{self, Asked, StageEnd, StepOutcome, WayBack};
use crate::pipeline::progress::edit::Edit;
use crate::pipeline::progress::{self, Next, Progress};
use crate::pipeline::run::Run;
use crate::record::Approval;
use crate::session::Verdict;
use crate::stages::{Approves, StageSpec};

/// Passes the draft through the gate, unless this content has passed it already.
pub(crate) async fn pass_gate(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<StepOutcome> {
    if !run.gated(spec.stage) {
        overwritten_edits::tell_of_overwritten(run, spec, progress)?;
        if progress.newest.edit.is_some() {
            let bytes = approved_content::content_now(run, spec)?;
            progress.verdicts.person = Some(Approval { bytes, verdict: Verdict::Edited, by: None });
        }
        return Ok(StepOutcome::Next);
    }
    let bytes = approved_content::content_now(run, spec)?;
    if let Some(approval) = &progress.verdicts.person
        && approval.bytes.same(run.env.git, &run.session, &bytes)?
    {
        return Ok(StepOutcome::Next);
    }
    overwritten_edits::tell_of_overwritten(run, spec, progress)?;
    let shows_edit = std::mem::take(&mut progress.gate.shows_edit);
    if !shows_edit && let Some(turned) = decided::by_command(run, spec, progress, &bytes)? {
        return Ok(turned);
    }
    match run.env.mode {
        Mode::Auto => {
            let before = progress.verdicts.person.as_ref().map(|approval| approval.verdict);
            let edited = progress.newest.edit.is_some() || before == Some(Verdict::Edited);
            let verdict = if edited { Verdict::Edited } else { Verdict::Auto };
            progress.verdicts.person = Some(Approval { bytes, verdict, by: None });
            Ok(StepOutcome::Next)
        }
        Mode::Wait => {
            let why = progress.gate.note.take();
            waiting::leave_waiting(run, spec, progress, why)
        }
        Mode::Ask => open_gate(run, spec, progress).await,
    }
}

/// Asks the person until there is a decision, and carries it out.
pub(crate) async fn open_gate(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<StepOutcome> {
    opens(run, spec, progress);
    keep_persons_code(run, spec, progress)?;
    let mut reply = None;
    let mut looked_again = false;
    let (shown, decision) = loop {
        let shown = progress.newest.commit.clone();
        let decision = shown::ask_person(run, spec, progress, true, reply.take());
        if !matches!(decision, Ok(Decision::PassedElsewhere)) {
            run.env.gates.close(None);
        }
        match (decision?, shown) {
            (Decision::TakeBack, Some(shown)) => {
                let unread = edits::records::unreadable(run, Some(&shown))?.join("\n");
                let said = taken_back::take_back(run, spec, progress, &shown)?;
                // The text that could not be parsed is gone.
                progress.gate.asks.take_if(|asks| *asks == unread);
                keep::keep(run, spec, progress)?;
                progress.readings.person = Some(shown);
                // Remarks about the edit no longer apply.
                progress.gate.note.clone_from(&progress.gate.asks);
                if spec.approves == Approves::Tree {
                    // The checks ran on the edit; they must run again without it.
                    run.note(said);
                    return Ok(StepOutcome::Again);
                }
                reply = Some(Reply { text: said, redraws: true, calls: false });
            }
            (Decision::Look, Some(shown)) if spec.approves == Approves::Artifacts => {
                save_edited(run, spec, progress)?;
                // The draft is compared with the one that the person edited first.
                let before = progress.newest.edit.as_ref().map(|edit| edit.since.clone());
                progress.readings.person = Some(before.unwrap_or(shown));
                reply = Some(Reply { text: String::new(), redraws: true, calls: false });
                looked_again = true;
            }
            (Decision::OtherModel, shown) => {
                let (changed, said) = other_model::take(run, spec, progress).await?;
                if changed {
                    note_edits_meanwhile(run, spec, progress, shown.as_ref())?;
                    keep::keep(run, spec, progress)?;
                }
                reply = Some(Reply::at_once(said));
            }
            (Decision::Question(text), shown) => {
                note_edits_meanwhile(run, spec, progress, shown.as_ref())?;
                reply = Some(question::ask(run, spec, progress, &text).await?);
                opens(run, spec, progress);
            }
            (decision, shown) => break (shown, decision),
        }
    };
    // Code is edited in an editor that the gate opens, or beside the gate.
    let edited = keep_persons_code(run, spec, progress)?;
    let why = progress.gate.note.take();
    let asks = progress.gate.asks.take().or_else(|| why.clone());
    let blocked = progress.gate.blocked.take();
    progress.readings.person = shown;
    if decision == Decision::PassedElsewhere && !elsewhere::passes(run, spec, edited)? {
        elsewhere::note_code_edit(spec, progress);
        let saved = save_answered(run, spec, progress)?;
        ask_again(progress, asks, blocked);
        return Ok(saved);
    }
    match decision {
        Decision::Pass | Decision::PassedElsewhere => {
            let unread = edits::records::settle(run)?.refusals;
            if !unread.is_empty() {
                if blocked.is_some() {
                    // The gate opens on the question before it opens on the text.
                    run.warn(unread.join("\n"));
                }
                ask_again(progress, asks, blocked);
                return Ok(StepOutcome::Again);
            }
            let verdict = if edited { Verdict::Edited } else { Verdict::Passed };
            note_pass(run, spec, progress, verdict)?;
            if std::mem::take(&mut progress.gate.critic_asks) {
                // The critic asked for a person's decision, and this is the decision.
                let bytes = approved_content::content_now(run, spec)?;
                if progress::is_challengers_turn(run, spec, progress, &bytes)? {
                    progress.verdicts.challenger = Some((bytes.clone(), String::new()));
                }
                progress.verdicts.critic = Some((bytes, String::new()));
            }
            // The checks have not run on what the person edited here.
            Ok(if looked_again { StepOutcome::Again } else { StepOutcome::Next })
        }
        Decision::Commented => save_answered(run, spec, progress),
        Decision::HandOver => {
            let saved = save_answered(run, spec, progress)?;
            if let Some(edit) = &mut progress.newest.edit {
                edit.told = true;
            }
            Ok(saved)
        }
        Decision::Look => {
            // If this version passes, it passes as a person's edit.
            if let Some(since) = progress.readings.person.clone().filter(|_| edited) {
                progress.newest.edit = Some(Edit { since, files: Vec::new(), told: false });
                keep::keep(run, spec, progress)?;
            }
            progress.gate.note = why;
            progress.gate.shows_edit = true;
            ask_again(progress, asks, blocked);
            Ok(StepOutcome::Again)
        }
        Decision::Feedback(text) => {
            // Other edits of the person are recorded as theirs.
            if let Some(shown) = progress.readings.person.clone() {
                edits::note_edit(run, spec, progress, &shown)?;
            }
            let words = std::slice::from_ref(&text);
            let answer = feedback::take_answer(run, spec, progress, words)?;
            feedback::forget_comments(run, spec, &text)?;
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
        Decision::Stop | Decision::TakeBack | Decision::Question(_) | Decision::OtherModel => {
            let unread = edits::records::unreadable(run, progress.newest.commit.as_ref())?;
            // The person's edits are recorded as theirs, even if they cannot be parsed.
            if let Some(shown) = progress.readings.person.clone() {
                edits::note_edit(run, spec, progress, &shown)?;
            }
            progress.gate.blocked = blocked;
            let why = if unread.is_empty() { why } else { Some(unread.join("\n")) };
            waiting::leave_waiting(run, spec, progress, why)
        }
    }
}

/// Asks the question again without whose answer the stage cannot go on, if the gate opened on one
/// and the person has decided nothing.
fn ask_again(progress: &mut Progress, asks: Option<String>, blocked: Option<String>) {
    if blocked.is_some() && progress.next == Next::Review {
        progress.gate.waits = asks;
        progress.gate.blocked = blocked;
    }
}

/// Adds a person's edits of code to the draft and saves it. True if there were any.
fn keep_persons_code(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<bool> {
    let edited = !approved_content::take_persons_code(run, spec, progress.newest.commit.as_ref())?
        .is_empty();
    if edited {
        keep::keep(run, spec, progress)?;
    }
    Ok(edited)
}

/// Reports that the gate waits for a person.
fn opens(run: &Run<'_>, spec: &StageSpec, progress: &Progress) {
    run.env.sink.emit(Event::ReviewRequested {
        stage: spec.stage,
        iteration: progress.iteration,
        commit: None,
        reason: progress.gate.note.clone(),
    });
}

/// Records a person's edits beside the open gate, which stays open.
fn note_edits_meanwhile(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    shown: Option<&Oid>,
) -> anyhow::Result<()> {
    let Some(shown) = shown else { return Ok(()) };
    if keep_persons_code(run, spec, progress)? {
        let since = shown.clone();
        progress.newest.edit.get_or_insert(Edit { since, files: Vec::new(), told: false });
    }
    edits::note_edit(run, spec, progress, shown)
}

/// Asks a person what to do with their edit that the checks refuse.
pub(crate) async fn refused_edit(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    report: &Report,
) -> anyhow::Result<StepOutcome> {
    let why = progress.gate.note.take();
    let refused = "your edit does not pass the checks";
    let why = match why {
        Some(why) if progress.newest.by_hand => format!("{why}; {refused}"),
        Some(why) => why,
        None => refused.to_owned(),
    };
    if run.env.mode == Mode::Ask {
        progress.gate.note = Some(format!("{why}; if you pass it anyway, the actor must fix it"));
        return Ok(match open_gate(run, spec, progress).await? {
            StepOutcome::Next => StepOutcome::Again,
            other => other,
        });
    }
    let found: Vec<&str> = report.findings.iter().map(|f| f.details.as_str()).collect();
    waiting::leave_waiting(run, spec, progress, Some(format!("{why}: {}", found.join("; "))))
}

/// Saves a person's edit as the draft; comments in it go to the actor.
fn save_answered(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<StepOutcome> {
    let comments = match &progress.readings.person {
        Some(shown) => feedback::take_comments(run, spec, shown)?,
        None => Vec::new(),
    };
    save_edited(run, spec, progress)?;
    progress.readings.person.clone_from(&progress.newest.commit);
    if !comments.is_empty() {
        return feedback::take_answer(run, spec, progress, &comments);
    }
    // The checks have not run on this content.
    Ok(StepOutcome::Again)
}

/// Saves a person's edit as the draft.
fn save_edited(run: &Run<'_>, spec: &StageSpec, progress: &mut Progress) -> anyhow::Result<()> {
    // What the person wrote in JSON is not in the draft.
    edits::records::put_back_json(run)?;
    run.env.workspace.written().adopt(&approved_content::documents_on_disk(run, spec))?;
    edits::records::settle(run)?;
    if let Some(shown) = progress.newest.commit.clone() {
        edits::note_edit(run, spec, progress, &shown)?;
    }
    keep::keep(run, spec, progress)
}

/// Records an approval in the draft ref as well: the person is not asked again if the run stops
/// before the stage is committed.
fn note_pass(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    verdict: Verdict,
) -> anyhow::Result<()> {
    let bytes = approved_content::content_now(run, spec)?;
    let by = Some(git::state::author(run.env.git)?);
    let edited = progress.newest.edit.is_some() && verdict == Verdict::Passed;
    let verdict = if edited { Verdict::Edited } else { verdict };
    progress.verdicts.person = Some(Approval { bytes, verdict, by });
    keep::keep(run, spec, progress)
}
