//! Resumes a stage in the state that history, the draft ref and the working tree show.

use crate::artifact::{Origin, TaskStatus};
use crate::git::Oid;
use crate::pipeline::draft::keep;
use crate::pipeline::draft_state::{DraftState, Edit, Next, Readings, tells_edit};
use crate::pipeline::edits;
use crate::pipeline::files::{approved_content, project_files};
use crate::pipeline::history::waiting_draft::{
    correct_the_whole, edit_noted, is_there, only_waits, resume_waiting,
};
use crate::pipeline::other_models::Taken;
use crate::pipeline::outcome::{HOOK_CHANGED, NO_VERDICT, UNCHANGED, UNJUDGED};
use crate::pipeline::run::Run;
use crate::pipeline::step::{self, Step};
use crate::record::{self, Approval, DraftEnding, RestoredDraft};
use crate::session::{Entry, KeptDraft, Kind, RefNames, Verdict, kept_draft, key};
use crate::stage::Stage;
use crate::stages::Approves;

/// Takes up the stage's draft. False if it is waiting and nobody has answered.
pub(crate) fn resume(step: &mut Step<'_, '_>) -> anyhow::Result<bool> {
    let stage = step.spec.stage;
    let offset = step.run.earlier_drafts(stage);
    let mut is_abort = false;
    let live = match kept_draft(step.run.env.git, &step.run.session, stage)? {
        Some(KeptDraft::Live(entry)) if entry.iterations() > offset => Some(entry),
        // A person who aborted the draft has answered already.
        Some(KeptDraft::Elsewhere(_)) if answered_with_abort(step.run, stage) => None,
        Some(KeptDraft::Elsewhere(entry)) => {
            let draft = RefNames::draft(&step.run.session.name, stage);
            step.run.warn(format!(
                "draft {} of {} is based on another tip and is not used; it is saved: git show {draft}",
                entry.iterations(),
                stage
            ));
            None
        }
        Some(KeptDraft::Aborted) => {
            is_abort = true;
            None
        }
        Some(KeptDraft::LeftBehind(commit)) => {
            // Ends the draft, as `git cowork revert` does: later drafts are not based on the stage
            // commit that was removed.
            record::draft_refs::end(&step.run.recorder(), &commit, stage)?;
            None
        }
        _ => None,
    };
    if only_waits(&step.run.session, step.run.env.mode) {
        return Ok(false);
    }
    step.draft = DraftState {
        offset,
        iteration: offset,
        readings: Readings {
            person: last_look(step.run, stage),
            critic: last_reading(step.run, stage)?,
            challenger: None,
        },
        ..DraftState::default()
    };
    let newer = |entry: &Entry| entry.parents.first() == Some(&step.run.session.tip);
    match (step.run.session.waiting().filter(|waiting| waiting.stage == stage), live) {
        (waiting, Some(entry)) if waiting.is_none() || newer(&entry) => {
            resume_draft(step, &entry)?;
        }
        (Some(waiting), live) => {
            resume_waiting(step, &waiting)?;
            // If a gate opened on the waiting draft before it was answered, another model may have
            // been chosen there.
            let on_it = |entry: &Entry| entry.parents.first() == Some(&waiting.draft.commit);
            if let Some(kept) = live.filter(on_it) {
                step.draft.taken = kept.trailers.get(key::ACTOR_MODEL).and_then(Taken::parse);
            }
        }
        (None, _) => {
            step.run
                .continues_transcript
                .set(record::draft_refs::has_files(&step.run.recorder(), &step.run.session.tip)?);
            if is_abort {
                correct_the_whole(step.run, step.spec, offset)?;
            } else if edits::note_edit_of_killed_draft(step)? {
                step.draft.iteration = offset + 1;
                resume_edited(step)?;
            }
        }
    }
    step.draft.credit.at_least(step::credit_so_far(step.run, stage));
    Ok(true)
}

/// A person's newest answer to a draft of the stage's current run.
fn newest_answer<'r>(run: &'r Run<'_>, stage: Stage) -> Option<(&'r Entry, Verdict)> {
    let mut recent = run.session.since_last_stage().iter().rev();
    recent.find_map(|entry| match entry.kind {
        Kind::Review(answered, verdict) if answered == stage => Some((entry, verdict)),
        _ => None,
    })
}

fn answered_with_abort(run: &Run<'_>, stage: Stage) -> bool {
    newest_answer(run, stage).is_some_and(|(_, verdict)| verdict == Verdict::Aborted)
}

/// The commit with a person's last answer to a draft of the stage's current run.
fn last_look(run: &Run<'_>, stage: Stage) -> Option<Oid> {
    let (entry, verdict) = newest_answer(run, stage)?;
    (verdict != Verdict::Aborted).then(|| entry.commit.clone())
}

/// The newest passed draft of the stage's current run that the critic then rejected.
fn last_reading(run: &Run<'_>, stage: Stage) -> anyhow::Result<Option<Oid>> {
    for entry in run.session.since_last_stage().iter().rev() {
        if matches!(entry.kind, Kind::Review(answered, Verdict::Passed | Verdict::Edited) if answered == stage)
            && is_judged_by_critic(run, stage, entry.iterations())?
        {
            return Ok(Some(entry.commit.clone()));
        }
    }
    Ok(None)
}

/// True if the critic has rejected this draft with a verdict; giving no verdict does not count.
fn is_judged_by_critic(run: &Run<'_>, stage: Stage, number: u32) -> anyhow::Result<bool> {
    let feedback = run.feedback_so_far()?;
    Ok(feedback.iter().any(|entry| {
        (entry.stage, entry.iteration, entry.from) == (stage, number, Origin::Critic)
            && !entry.details.starts_with(NO_VERDICT)
    }))
}

/// Resumes from the draft ref: the run was stopped or killed after this draft.
fn resume_draft(step: &mut Step<'_, '_>, entry: &Entry) -> anyhow::Result<()> {
    let number = entry.iterations();
    let partial = entry.trailers.get(key::PARTIAL).is_some();
    step.draft.read_notes(entry);
    let commit_in = |key| {
        let commit = entry.trailers.get(key).and_then(|oid| oid.parse().ok());
        commit.filter(|commit| is_there(step.run, commit))
    };
    step.draft.readings.person = commit_in(key::SEEN).or(step.draft.readings.person.take());
    step.draft.readings.critic = commit_in(key::READ).or(step.draft.readings.critic.take());
    step.draft.edit = edit_noted(step.run, entry);
    let reading = step.draft.self_review.reads().is_some_and(|oid| is_there(step.run, oid));
    let refusals = entry.trailers.get(key::REFUSALS);
    step.draft.refusals = refusals.and_then(|n| n.parse().ok()).unwrap_or(0);
    let ending = if partial { DraftEnding::Partial } else { DraftEnding::Whole };
    keep::mark(step, number, ending);
    let base = entry.parents.first().unwrap_or(&step.run.session.tip);
    match record::draft_refs::restore(
        &step.run.recorder(),
        &entry.commit,
        base,
        &step.run.session.tip,
    )? {
        RestoredDraft::FilesInPlace => step.run.continues_transcript.set(true),
        RestoredDraft::Restored { skipped } => {
            step.run.continues_transcript.set((partial || reading) && skipped.is_empty());
            if !skipped.is_empty() {
                step.run.warn(format!(
                    "not restored from the saved draft, because they changed since: {}",
                    skipped.join(", ")
                ));
                // A person's changes to these files are saved before anybody works on the draft.
                let (tip, stage) = (&step.run.session.tip, step.spec.stage);
                record::draft_refs::keep(
                    &step.run.recorder(),
                    tip,
                    stage,
                    number,
                    ending,
                    &step.draft.notes(),
                )?;
            }
        }
    }
    step.draft.commit = Some(entry.commit.clone());
    let why = entry.trailers.get(key::STUCK);
    let stuck = why.is_some();
    if why.is_some_and(|why| why.split(' ').next() == Some(UNCHANGED)) {
        step.run.continues_transcript.set(false);
    }
    let has_edits = edits::note_edit_by_hand(step, &entry.commit)?;
    let broken_off = partial && step.spec.approves == Approves::Artifacts;
    if (stuck || broken_off || !partial && is_refused(step.run, step.spec.stage, number)?)
        && (has_edits || edits::note_code_by_hand(step, entry)?)
    {
        step.draft.iteration = if partial { number } else { number + 1 };
        return resume_edited(step);
    }
    if partial || task_awaits_commit(step, number)? {
        step.draft.iteration = number - 1;
        step.draft.next = Next::RestOfDraft;
        return Ok(());
    }
    step.draft.iteration = number;
    if let Some(passed) = passed_before(step.run, entry)? {
        step.draft.readings.person = Some(passed);
        step.draft.gate.note = Some(HOOK_CHANGED.to_owned());
    }
    let is_refused = refused_by_somebody(step.run, step.spec.stage, number)?;
    step.draft.next = if is_refused { Next::Draft } else { Next::Review };
    if is_refused && is_judged_by_critic(step.run, step.spec.stage, number)? {
        // The critic read this draft; the run ended before that was recorded.
        step.draft.readings.critic = Some(entry.commit.clone());
    }
    if !is_refused {
        resume_approvals(step, entry)?;
        if let Some(why) = why.filter(|why| why.starts_with(UNJUDGED)) {
            step.draft.gate.ask_again(why);
        }
    }
    // However this run ends, the next run must know what this run knows about the draft.
    keep::mark(step, number, ending);
    Ok(())
}

/// Turns a person's edits of a rejected or stuck draft into the next draft, which is reviewed
/// before another one is requested.
fn resume_edited(step: &mut Step<'_, '_>) -> anyhow::Result<()> {
    step.draft.next = Next::Review;
    step.draft.refusals = 0;
    step.draft.by_hand = true;
    let names = step.draft.edit.as_ref().map(Edit::names).unwrap_or_default();
    let number = step.draft.used();
    step.run.note(format!("{}: your edits of {names} are draft {number}", step.spec.stage));
    step.draft.gate.note = Some(format!("draft {number} contains your edits of {names}"));
    keep::keep(step)
}

/// Restores the approvals of a person and the critic from before the run was stopped, if the
/// draft's content is the same.
fn resume_approvals(step: &mut Step<'_, '_>, entry: &Entry) -> anyhow::Result<()> {
    let bytes = approved_content::content_at(step.run, step.spec, &entry.commit)?;
    let is_approved = bytes.is_approved_in(&entry.trailers);
    if let Some(verdict) = entry.verdict().filter(|_| is_approved) {
        let by = entry.trailers.get(key::REVIEWED_BY);
        let by = by.or_else(|| entry.trailers.get(key::DECIDED_BY)).map(str::to_owned);
        step.draft.approvals.person = Some(Approval { bytes: bytes.clone(), verdict, by });
    }
    let trailer = |key| entry.trailers.get(key).unwrap_or_default();
    if trailer(key::CHALLENGER).split_once(' ') == Some(("approved", bytes.render().as_str())) {
        step.draft.approvals.challenger =
            Some((bytes.clone(), trailer(key::CHALLENGER_SAID).to_owned()));
    }
    let critic = trailer(key::CRITIC);
    match critic.split_once(' ') {
        Some(("approved", judged)) if judged == bytes.render() => {
            step.draft.approvals.critic = Some((bytes, trailer(key::CRITIC_SAID).to_owned()));
        }
        Some((who @ ("asks" | "actor"), words)) => {
            step.draft.gate.critic_asks = who == "asks";
            step.draft.gate.asks = Some(words.to_owned());
        }
        _ => {}
    }
    Ok(())
}

/// True if the draft ended because the commit of a completed task was refused: the commit is tried
/// again, because the hook may have been fixed.
fn task_awaits_commit(step: &Step<'_, '_>, number: u32) -> anyhow::Result<bool> {
    let pending = project_files::pending_tasks(step.run, step.spec)?;
    if pending.first().is_none_or(|task| task.status != TaskStatus::Completed)
        || refused_by_somebody(step.run, step.spec.stage, number)?
    {
        return Ok(false);
    }
    step.run.continues_transcript.set(true);
    let (tip, partial) = (&step.run.session.tip, DraftEnding::Partial);
    record::draft_refs::keep(
        &step.run.recorder(),
        tip,
        step.spec.stage,
        number,
        partial,
        &step.draft.notes(),
    )?;
    keep::mark(step, number, partial);
    Ok(true)
}

/// The draft that a person passed, if `draft` contains a hook's changes to it.
fn passed_before(run: &Run<'_>, draft: &Entry) -> anyhow::Result<Option<Oid>> {
    let Some(before) = draft.parents.get(1).filter(|_| draft.verdict().is_none()) else {
        return Ok(None);
    };
    let pass = run.session.entry_at(run.env.git, before)?;
    let same = |entry: &Entry| {
        entry.trailers.get(key::APPROVED).is_some()
            && (entry.kind.clone(), entry.iterations()) == (draft.kind.clone(), draft.iterations())
            && entry.parents.first() == draft.parents.first()
    };
    Ok(pass.filter(same).map(|entry| entry.commit))
}

/// True if checks, a hook or a critic refused this draft, and no person did: a person's refusal
/// already requests another draft.
fn is_refused(run: &Run<'_>, stage: Stage, number: u32) -> anyhow::Result<bool> {
    let feedback = run.feedback_so_far()?;
    let mut entries = feedback
        .iter()
        .filter(|entry| (entry.stage, entry.iteration) == (stage, number))
        .filter(|entry| !tells_edit(entry) && !entry.is_note());
    let first = entries.next();
    Ok(first.is_some() && first.into_iter().chain(entries).all(|e| e.from != Origin::Human))
}

/// True if a critic or a person refused this draft. After a restart, drafts that checks or hooks
/// refused are tried again: limits and hooks may have been fixed.
fn refused_by_somebody(run: &Run<'_>, stage: Stage, number: u32) -> anyhow::Result<bool> {
    let feedback = run.feedback_so_far()?;
    Ok(feedback.iter().any(|entry| {
        entry.stage == stage
            && entry.iteration == number
            && matches!(entry.from, Origin::Critic | Origin::Human | Origin::Challenger)
            && !tells_edit(entry)
            && !entry.is_note()
    }))
}
