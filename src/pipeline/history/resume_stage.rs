//! Resumes a stage in the state that history, the draft ref and the working tree show.

use crate::artifact::{Origin, TaskStatus};
use crate::git::Oid;
use crate::pipeline::draft::keep;
use crate::pipeline::files::{approved_content, open_tasks};
use crate::pipeline::history::waiting_draft::{
    correct_the_whole, edit_noted, is_there, only_waits, resume_waiting,
};
use crate::pipeline::other_models::Taken;
use crate::pipeline::outcome::{HOOK_CHANGED, NO_VERDICT, UNCHANGED, UNJUDGED};
use crate::pipeline::progress::code_words::CodeWords;
use crate::pipeline::progress::edit::{Edit, tells_edit};
use crate::pipeline::progress::self_review::SelfReview;
use crate::pipeline::progress::{Next, Progress, Readings};
use crate::pipeline::run::Run;
use crate::pipeline::{edits, usage};
use crate::record::{self, Approval, Credit, DraftEnding, RestoredDraft};
use crate::session::{Entry, KeptDraft, Kind, RefNames, Verdict, kept_draft, key};
use crate::stage::Stage;
use crate::stages::{Approves, StageSpec};

/// The stage's progress; `None` if its draft is waiting and nobody has answered.
pub(crate) fn resume(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<Option<Progress>> {
    let offset = run.earlier_drafts(spec.stage);
    let mut progress = Progress {
        offset,
        iteration: offset,
        readings: Readings {
            person: last_look(run, spec.stage),
            critic: last_reading(run, spec.stage)?,
            challenger: None,
        },
        ..Progress::default()
    };
    let mut aborted = false;
    let live = match kept_draft(run.env.git, &run.session, spec.stage)? {
        Some(KeptDraft::Live(entry)) if entry.iterations() > offset => Some(entry),
        // A person who aborted the draft has answered already.
        Some(KeptDraft::Elsewhere(_)) if answered_with_abort(run, spec.stage) => None,
        Some(KeptDraft::Elsewhere(entry)) => {
            let draft = RefNames::draft(&run.session.name, spec.stage);
            run.warn(format!(
                "draft {} of {} is based on another tip and is not used; it is saved: git show {draft}",
                entry.iterations(),
                spec.stage
            ));
            None
        }
        Some(KeptDraft::Aborted) => {
            aborted = true;
            None
        }
        Some(KeptDraft::LeftBehind(commit)) => {
            // Ends the draft, as `git cowork revert` does: later drafts are not based on the stage
            // commit that was removed.
            record::draft_refs::end(&run.recorder(), &commit, spec.stage)?;
            None
        }
        _ => None,
    };
    if only_waits(&run.session, run.env.mode) {
        return Ok(None);
    }
    let newer = |entry: &Entry| entry.parents.first() == Some(&run.session.tip);
    match (run.session.waiting().filter(|waiting| waiting.stage == spec.stage), live) {
        (waiting, Some(entry)) if waiting.is_none() || newer(&entry) => {
            resume_draft(run, spec, &entry, &mut progress)?;
        }
        (Some(waiting), live) => {
            resume_waiting(run, spec, &waiting, &mut progress)?;
            // If a gate opened on the waiting draft before it was answered, another model may have
            // been chosen there.
            let on_it = |entry: &Entry| entry.parents.first() == Some(&waiting.draft.commit);
            if let Some(kept) = live.filter(on_it) {
                progress.taken = kept.trailers.get(key::ACTOR_MODEL).and_then(Taken::parse);
            }
        }
        (None, _) => {
            run.continues_transcript
                .set(record::draft_refs::has_files(&run.recorder(), &run.session.tip)?);
            if aborted {
                correct_the_whole(run, spec, offset)?;
            } else if edits::note_edit_of_killed_draft(run, spec, &mut progress)? {
                progress.iteration = offset + 1;
                resume_edited(run, spec, &mut progress)?;
            }
        }
    }
    progress.newest.credit.at_least(usage::credit_so_far(run, spec.stage));
    Ok(Some(progress))
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
    let said = run.feedback_so_far()?;
    Ok(said.iter().any(|entry| {
        (entry.stage, entry.iteration, entry.from) == (stage, number, Origin::Critic)
            && !entry.details.starts_with(NO_VERDICT)
    }))
}

/// Resumes from the draft ref: the run was stopped or killed after this draft.
fn resume_draft(
    run: &Run<'_>,
    spec: &StageSpec,
    entry: &Entry,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let number = entry.iterations();
    let partial = entry.trailers.get(key::PARTIAL).is_some();
    progress.newest.credit = Credit::in_entry(entry);
    progress.newest.words = entry.trailers.get(key::ACTOR_SAID).unwrap_or_default().to_owned();
    progress.newest.code_words = CodeWords::of(&entry.trailers);
    let noted = |key| {
        let commit = entry.trailers.get(key).and_then(|oid| oid.parse().ok());
        commit.filter(|commit| is_there(run, commit))
    };
    progress.readings.person = noted(key::SEEN).or(progress.readings.person.take());
    progress.readings.critic = noted(key::READ).or(progress.readings.critic.take());
    progress.newest.edit = edit_noted(run, entry);
    let own = entry.trailers.get(key::SELF_REVIEW).unwrap_or_default();
    progress.newest.self_review = SelfReview::parse(own);
    let reading = progress.newest.self_review.reads().is_some_and(|oid| is_there(run, oid));
    progress.taken = entry.trailers.get(key::ACTOR_MODEL).and_then(Taken::parse);
    let refusals = entry.trailers.get(key::REFUSALS);
    progress.refusals = refusals.and_then(|n| n.parse().ok()).unwrap_or(0);
    let ending = if partial { DraftEnding::Partial } else { DraftEnding::Whole };
    keep::mark(run, progress, number, ending);
    let base = entry.parents.first().unwrap_or(&run.session.tip);
    match record::draft_refs::restore(&run.recorder(), &entry.commit, base, &run.session.tip)? {
        RestoredDraft::FilesInPlace => run.continues_transcript.set(true),
        RestoredDraft::Restored { skipped } => {
            run.continues_transcript.set((partial || reading) && skipped.is_empty());
            if !skipped.is_empty() {
                run.warn(format!(
                    "not restored from the saved draft, because they changed since: {}",
                    skipped.join(", ")
                ));
                // A person's changes to these files are saved before anybody works on the draft.
                let (tip, stage) = (&run.session.tip, spec.stage);
                record::draft_refs::keep(
                    &run.recorder(),
                    tip,
                    stage,
                    number,
                    ending,
                    &progress.notes(),
                )?;
            }
        }
    }
    progress.newest.commit = Some(entry.commit.clone());
    let why = entry.trailers.get(key::STUCK);
    let stuck = why.is_some();
    if why.is_some_and(|why| why.split(' ').next() == Some(UNCHANGED)) {
        run.continues_transcript.set(false);
    }
    let edited = edits::note_edit_by_hand(run, spec, progress, &entry.commit)?;
    let broken_off = partial && spec.approves == Approves::Artifacts;
    if (stuck || broken_off || !partial && is_refused(run, spec.stage, number)?)
        && (edited || edits::note_code_by_hand(run, spec, progress, entry)?)
    {
        progress.iteration = if partial { number } else { number + 1 };
        return resume_edited(run, spec, progress);
    }
    if partial || task_awaits_commit(run, spec, number, progress)? {
        progress.iteration = number - 1;
        progress.next = Next::RestOfDraft;
        return Ok(());
    }
    progress.iteration = number;
    if let Some(passed) = passed_before(run, entry)? {
        progress.readings.person = Some(passed);
        progress.gate.note = Some(HOOK_CHANGED.to_owned());
    }
    let is_refused = refused_by_somebody(run, spec.stage, number)?;
    progress.next = if is_refused { Next::Draft } else { Next::Review };
    if is_refused && is_judged_by_critic(run, spec.stage, number)? {
        // The critic read this draft; the run ended before that was recorded.
        progress.readings.critic = Some(entry.commit.clone());
    }
    if !is_refused {
        resume_verdicts(run, spec, entry, progress)?;
        if let Some(why) = why.filter(|why| why.starts_with(UNJUDGED)) {
            progress.gate.ask_again(why);
        }
    }
    // However this run ends, the next run must know what this run knows about the draft.
    keep::mark(run, progress, number, ending);
    Ok(())
}

/// Turns a person's edits of a rejected or stuck draft into the next draft, which is reviewed
/// before another one is requested.
fn resume_edited(run: &Run<'_>, spec: &StageSpec, progress: &mut Progress) -> anyhow::Result<()> {
    progress.next = Next::Review;
    progress.refusals = 0;
    progress.newest.by_hand = true;
    let names = progress.newest.edit.as_ref().map(Edit::names).unwrap_or_default();
    let number = progress.used();
    run.note(format!("{}: your edits of {names} are draft {number}", spec.stage));
    progress.gate.note = Some(format!("draft {number} contains your edits of {names}"));
    keep::keep(run, spec, progress)
}

/// Restores the approvals of a person and the critic from before the run was stopped, if the
/// draft's content is the same.
fn resume_verdicts(
    run: &Run<'_>,
    spec: &StageSpec,
    entry: &Entry,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let bytes = approved_content::content_at(run, spec, &entry.commit)?;
    let approved = bytes.is_approved_in(&entry.trailers);
    if let Some(verdict) = entry.verdict().filter(|_| approved) {
        let by = entry.trailers.get(key::REVIEWED_BY);
        let by = by.or_else(|| entry.trailers.get(key::DECIDED_BY)).map(str::to_owned);
        progress.verdicts.person = Some(Approval { bytes: bytes.clone(), verdict, by });
    }
    let said = |key| entry.trailers.get(key).unwrap_or_default();
    if said(key::CHALLENGER).split_once(' ') == Some(("approved", bytes.render().as_str())) {
        progress.verdicts.challenger = Some((bytes.clone(), said(key::CHALLENGER_SAID).to_owned()));
    }
    let critic = said(key::CRITIC);
    match critic.split_once(' ') {
        Some(("approved", judged)) if judged == bytes.render() => {
            progress.verdicts.critic = Some((bytes, said(key::CRITIC_SAID).to_owned()));
        }
        Some((who @ ("asks" | "actor"), words)) => {
            progress.gate.critic_asks = who == "asks";
            progress.gate.asks = Some(words.to_owned());
        }
        _ => {}
    }
    Ok(())
}

/// True if the draft ended because the commit of a completed task was refused: the commit is tried
/// again, because the hook may have been fixed.
fn task_awaits_commit(
    run: &Run<'_>,
    spec: &StageSpec,
    number: u32,
    progress: &Progress,
) -> anyhow::Result<bool> {
    let pending = open_tasks::pending_tasks(run, spec)?;
    if pending.first().is_none_or(|task| task.status != TaskStatus::Completed)
        || refused_by_somebody(run, spec.stage, number)?
    {
        return Ok(false);
    }
    run.continues_transcript.set(true);
    let (tip, partial) = (&run.session.tip, DraftEnding::Partial);
    record::draft_refs::keep(&run.recorder(), tip, spec.stage, number, partial, &progress.notes())?;
    keep::mark(run, progress, number, partial);
    Ok(true)
}

/// The draft that a person passed, if `draft` contains a hook's changes to it.
fn passed_before(run: &Run<'_>, draft: &Entry) -> anyhow::Result<Option<Oid>> {
    let Some(before) = draft.parents.get(1).filter(|_| draft.verdict().is_none()) else {
        return Ok(None);
    };
    let passed = run.session.entry_at(run.env.git, before)?;
    let same = |entry: &Entry| {
        entry.trailers.get(key::APPROVED).is_some()
            && (entry.kind.clone(), entry.iterations()) == (draft.kind.clone(), draft.iterations())
            && entry.parents.first() == draft.parents.first()
    };
    Ok(passed.filter(same).map(|entry| entry.commit))
}

/// True if checks, a hook or a critic refused this draft, and no person did: a person's refusal
/// already requests another draft.
fn is_refused(run: &Run<'_>, stage: Stage, number: u32) -> anyhow::Result<bool> {
    let said = run.feedback_so_far()?;
    let mut said = said
        .iter()
        .filter(|entry| (entry.stage, entry.iteration) == (stage, number))
        .filter(|entry| !tells_edit(entry) && !entry.is_note());
    let first = said.next();
    Ok(first.is_some() && first.into_iter().chain(said).all(|e| e.from != Origin::Human))
}

/// True if a critic or a person refused this draft. After a restart, drafts that checks or hooks
/// refused are tried again: limits and hooks may have been fixed.
fn refused_by_somebody(run: &Run<'_>, stage: Stage, number: u32) -> anyhow::Result<bool> {
    let said = run.feedback_so_far()?;
    Ok(said.iter().any(|entry| {
        entry.stage == stage
            && entry.iteration == number
            && matches!(entry.from, Origin::Critic | Origin::Human | Origin::Challenger)
            && !tells_edit(entry)
            && !entry.is_note()
    }))
}
