//! The gate of a stage: asks a person, lets the draft wait for one, or passes it.

pub(crate) mod answer;
mod decided;
pub(crate) mod feedback;
pub(crate) mod other_model;
mod question;
pub(crate) mod shown;
pub(crate) mod since_last_review;
pub(crate) mod waiting;

use crate::artifact::Artifact;
use crate::artifact::check::Report;
use crate::event::Event;
use crate::gate::{Decision, Mode, Reply};
use crate::git::{self, Oid};
use crate::pipeline::draft::keep;
use crate::pipeline::draft_count;
use crate::pipeline::draft_state::{DraftState, Edit, Next};
use crate::pipeline::edits::{self, overwritten_edits, records};
use crate::pipeline::files::approved_content;
use crate::pipeline::outcome::{self, Asked, StageEnd, WayBack};
use crate::pipeline::step::{Step, StepResult, Stop};
use crate::record::Approval;
use crate::session::Verdict;
use crate::stages::Approves;

/// Passes the draft through the gate, unless this content has passed it already.
pub(crate) async fn pass_gate(step: &mut Step<'_, '_>) -> StepResult {
    if !step.run.gated(step.spec.stage) {
        overwritten_edits::tell_of_overwritten(step)?;
        if step.draft.edit.is_some() {
            let bytes = approved_content::content_now(step.run, step.spec)?;
            step.draft.approvals.person =
                Some(Approval { bytes, verdict: Verdict::Edited, by: None });
        }
        return Ok(());
    }
    let bytes = approved_content::content_now(step.run, step.spec)?;
    if let Some(approval) = &step.draft.approvals.person
        && approval.bytes.same(step.run.env.git, &step.run.session, &bytes)?
    {
        return Ok(());
    }
    overwritten_edits::tell_of_overwritten(step)?;
    let shows_edit = std::mem::take(&mut step.draft.gate.shows_edit);
    if !shows_edit && decided::by_command(step, &bytes)? {
        return Ok(());
    }
    match step.run.env.mode {
        Mode::Auto => {
            let before = step.draft.approvals.person.as_ref().map(|approval| approval.verdict);
            let is_edit = step.draft.edit.is_some() || before == Some(Verdict::Edited);
            let verdict = if is_edit { Verdict::Edited } else { Verdict::Auto };
            step.draft.approvals.person = Some(Approval { bytes, verdict, by: None });
            Ok(())
        }
        Mode::Wait => {
            let why = step.draft.gate.note.take();
            waiting::leave_waiting(step, why)
        }
        Mode::Ask => open_gate(step).await,
    }
}

/// Asks the person until there is a decision, and carries it out.
pub(crate) async fn open_gate(step: &mut Step<'_, '_>) -> StepResult {
    opens(step);
    keep_persons_code(step)?;
    let mut reply = None;
    let mut looked_again = false;
    let (shown, decision) = loop {
        let commit = step.draft.commit.clone();
        let decision = shown::ask_person(step, true, reply.take());
        if !matches!(decision, Ok(Decision::PassedElsewhere)) {
            step.run.env.gates.close(None);
        }
        match (decision?, commit) {
            (Decision::TakeBack, Some(commit)) => {
                let unread = edits::records::unreadable(step.run, Some(&commit))?.join("\n");
                let message = edits::take_back(step, &commit)?;
                // The text that could not be parsed is gone.
                step.draft.gate.asks.take_if(|asks| *asks == unread);
                keep::keep(step)?;
                step.draft.readings.person = Some(commit);
                // Remarks about the edit no longer apply.
                step.draft.gate.note.clone_from(&step.draft.gate.asks);
                if step.spec.approves == Approves::Tree {
                    // The checks ran on the edit; they must run again without it.
                    step.run.note(message);
                    return Err(Stop::Again);
                }
                reply = Some(Reply { text: message, redraws: true, calls: false });
            }
            (Decision::Look, Some(commit)) if step.spec.approves == Approves::Artifacts => {
                save_edited(step)?;
                // The draft is compared with the one that the person edited first.
                let before = step.draft.edit.as_ref().map(|edit| edit.since.clone());
                step.draft.readings.person = Some(before.unwrap_or(commit));
                reply = Some(Reply { text: String::new(), redraws: true, calls: false });
                looked_again = true;
            }
            (Decision::OtherModel, commit) => {
                let (changed, said) = other_model::take(step).await?;
                if changed {
                    note_edits_meanwhile(step, commit.as_ref())?;
                    keep::keep(step)?;
                }
                reply = Some(Reply::at_once(said));
            }
            (Decision::Question(text), commit) => {
                note_edits_meanwhile(step, commit.as_ref())?;
                reply = Some(question::ask(step, &text).await?);
                opens(step);
            }
            (decision, commit) => break (commit, decision),
        }
    };
    // Code is edited in an editor that the gate opens, or beside the gate.
    let has_edits = keep_persons_code(step)?;
    let why = step.draft.gate.note.take();
    let asks = step.draft.gate.asks.take().or_else(|| why.clone());
    let block = step.draft.gate.blocked.take();
    step.draft.readings.person = shown;
    if decision == Decision::PassedElsewhere && !decided::passes(step.run, step.spec, has_edits)? {
        decided::note_code_edit(step);
        save_answered(step)?;
        ask_again(&mut step.draft, asks, block);
        return Err(Stop::Again);
    }
    match decision {
        Decision::Pass | Decision::PassedElsewhere => {
            let unread = edits::records::settle(step.run)?.refusals;
            if !unread.is_empty() {
                if block.is_some() {
                    // The gate opens on the question before it opens on the text.
                    step.run.warn(unread.join("\n"));
                }
                ask_again(&mut step.draft, asks, block);
                return Err(Stop::Again);
            }
            let verdict = if has_edits { Verdict::Edited } else { Verdict::Passed };
            note_pass(step, verdict)?;
            if std::mem::take(&mut step.draft.gate.critic_asks) {
                // The critic asked for a person's decision, and this is the decision.
                let bytes = approved_content::content_now(step.run, step.spec)?;
                if draft_count::is_challengers_turn(step, &bytes)? {
                    step.draft.approvals.challenger = Some((bytes.clone(), String::new()));
                }
                step.draft.approvals.critic = Some((bytes, String::new()));
            }
            // The checks have not run on what the person edited here.
            if looked_again { Err(Stop::Again) } else { Ok(()) }
        }
        Decision::Commented => {
            save_answered(step)?;
            Err(Stop::Again)
        }
        Decision::HandOver => {
            save_answered(step)?;
            if let Some(edit) = &mut step.draft.edit {
                edit.told = true;
            }
            Err(Stop::Again)
        }
        Decision::Look => {
            // If this version passes, it passes as a person's edit.
            if let Some(since) = step.draft.readings.person.clone().filter(|_| has_edits) {
                step.draft.edit = Some(Edit { since, files: Vec::new(), told: false });
                keep::keep(step)?;
            }
            step.draft.gate.note = why;
            step.draft.gate.shows_edit = true;
            ask_again(&mut step.draft, asks, block);
            Err(Stop::Again)
        }
        Decision::Feedback(text) => {
            // Other edits of the person are recorded as theirs.
            if let Some(shown) = step.draft.readings.person.clone() {
                edits::note_edit(step, &shown)?;
            }
            feedback::take_answer(step, std::slice::from_ref(&text))?;
            feedback::forget_comments(step.run, step.spec, &text)?;
            Err(Stop::Again)
        }
        Decision::GoBack(stage) => {
            let request = asks.and_then(|words| Asked::parse(&words, step.draft.iteration));
            Err(Stop::go_back(WayBack::decided(step.spec.stage, stage, "", request)))
        }
        Decision::Raise(depth) => {
            keep::keep(step)?;
            Err(Stop::Ends(StageEnd::Raise(depth)))
        }
        Decision::Abort => {
            waiting::drop_draft(step)?;
            Err(outcome::aborted(step.spec).into())
        }
        Decision::Stop | Decision::TakeBack | Decision::Question(_) | Decision::OtherModel => {
            let unread = edits::records::unreadable(step.run, step.draft.commit.as_ref())?;
            // The person's edits are recorded as theirs, even if they cannot be parsed.
            if let Some(shown) = step.draft.readings.person.clone() {
                edits::note_edit(step, &shown)?;
            }
            step.draft.gate.blocked = block;
            let why = if unread.is_empty() { why } else { Some(unread.join("\n")) };
            waiting::leave_waiting(step, why)
        }
    }
}

/// Asks the question again without whose answer the stage cannot go on, if the gate opened on one
/// and the person has decided nothing.
fn ask_again(draft: &mut DraftState, asks: Option<String>, blocked: Option<String>) {
    if blocked.is_some() && draft.next == Next::Review {
        draft.gate.waits = asks;
        draft.gate.blocked = blocked;
    }
}

/// Adds a person's edits of code to the draft and saves it. True if there were any.
fn keep_persons_code(step: &mut Step<'_, '_>) -> anyhow::Result<bool> {
    let has_edits =
        !approved_content::take_persons_code(step.run, step.spec, step.draft.commit.as_ref())?
            .is_empty();
    if has_edits {
        keep::keep(step)?;
    }
    Ok(has_edits)
}

/// Reports that the gate waits for a person.
fn opens(step: &Step<'_, '_>) {
    step.run.env.sink.emit(Event::ReviewRequested {
        stage: step.spec.stage,
        iteration: step.draft.iteration,
        commit: None,
        reason: step.draft.gate.note.clone(),
    });
}

/// Records a person's edits beside the open gate, which stays open.
fn note_edits_meanwhile(step: &mut Step<'_, '_>, shown: Option<&Oid>) -> anyhow::Result<()> {
    let Some(shown) = shown else { return Ok(()) };
    if keep_persons_code(step)? {
        let since = shown.clone();
        step.draft.edit.get_or_insert(Edit { since, files: Vec::new(), told: false });
    }
    edits::note_edit(step, shown)
}

/// Asks a person what to do with their edit that the checks refuse.
pub(crate) async fn refused_edit(step: &mut Step<'_, '_>, report: &Report) -> StepResult {
    let why = step.draft.gate.note.take();
    let remark = "your edit does not pass the checks";
    let why = match why {
        Some(why) if step.draft.by_hand => format!("{why}; {remark}"),
        Some(why) => why,
        None => remark.to_owned(),
    };
    if step.run.env.mode == Mode::Ask {
        step.draft.gate.note = Some(format!("{why}; if you pass it anyway, the actor must fix it"));
        open_gate(step).await?;
        return Err(Stop::Again);
    }
    let details: Vec<&str> = report.findings.iter().map(|f| f.details.as_str()).collect();
    waiting::leave_waiting(step, Some(format!("{why}: {}", details.join("; "))))
}

/// Saves a person's edit as the draft, on which the checks have not run; comments in it go to the
/// actor.
fn save_answered(step: &mut Step<'_, '_>) -> anyhow::Result<()> {
    let comments = match &step.draft.readings.person {
        Some(shown) => feedback::take_comments(step.run, step.spec, shown)?,
        None => Vec::new(),
    };
    save_edited(step)?;
    step.draft.readings.person.clone_from(&step.draft.commit);
    if comments.is_empty() { Ok(()) } else { feedback::take_answer(step, &comments) }
}

/// Saves a person's edit as the draft.
fn save_edited(step: &mut Step<'_, '_>) -> anyhow::Result<()> {
    // What the person wrote in JSON is not in the draft.
    edits::records::put_back_json(step.run)?;
    step.run
        .env
        .workspace
        .written()
        .adopt(&approved_content::documents_on_disk(step.run, step.spec))?;
    edits::records::settle(step.run)?;
    if let Some(shown) = step.draft.commit.clone() {
        edits::note_edit(step, &shown)?;
    }
    keep::keep(step)
}

/// Records an approval in the draft ref as well: the person is not asked again if the run stops
/// before the stage is committed.
fn note_pass(step: &mut Step<'_, '_>, verdict: Verdict) -> anyhow::Result<()> {
    let bytes = approved_content::content_now(step.run, step.spec)?;
    let by = Some(git::state::author(step.run.env.git)?);
    let is_edit = step.draft.edit.is_some() && verdict == Verdict::Passed;
    let verdict = if is_edit { Verdict::Edited } else { verdict };
    step.draft.approvals.person = Some(Approval { bytes, verdict, by });
    keep::keep(step)
}

/// Updates the records of the draft from its documents before anybody reviews it. A person's edit
/// that cannot be parsed goes back to the person.
pub(crate) async fn read_edits(step: &mut Step<'_, '_>) -> StepResult {
    let result = records::settle(step.run)?;
    if !result.refusals.is_empty() {
        return refused_text(step, &result.refusals).await;
    }
    let is_own = |artifact: &Artifact| step.spec.artifacts.contains(artifact);
    if result.changed.iter().any(is_own) {
        keep::keep(step)?;
    }
    Ok(())
}

/// On a terminal the gate shows the errors, and the person edits again; without one the draft
/// waits.
async fn refused_text(step: &mut Step<'_, '_>, refusals: &[String]) -> StepResult {
    step.draft.approvals.person = None;
    let why = refusals.join("\n");
    if step.run.env.mode != Mode::Ask {
        return waiting::leave_waiting(step, Some(why));
    }
    step.draft.gate.note = Some(why);
    open_gate(step).await?;
    Err(Stop::Again)
}
