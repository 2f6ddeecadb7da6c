//! Resumes from a draft that waits on the branch, with the answer to it if there is one.

use crate::artifact::Origin;
use crate::gate::Mode;
use crate::git::{self, Oid};
use crate::pipeline::draft_state::{Edit, Next, SelfReview};
use crate::pipeline::edits;
use crate::pipeline::files::approved_content;
use crate::pipeline::outcome::{Asked, UNJUDGED, WayBack};
use crate::pipeline::run::Run;
use crate::pipeline::step::Step;
use crate::record::{self, Approval, in_session};
use crate::session::{Entry, Kind, RefNames, Session, Verdict, Waiting, key};
use crate::stages::{Approves, StageSpec};

/// True if a run in this mode can only wait for an answer to the session's draft.
#[must_use]
pub fn only_waits(session: &Session, mode: Mode) -> bool {
    let Some(waiting) = session.unanswered() else { return false };
    let is_blocked = waiting.blocked().is_some();
    !lacks_verdict(&waiting) && (mode == Mode::Wait || mode == Mode::Auto && is_blocked)
}

/// True if the draft waits because a critic or challenger gave no verdict: it is asked again.
fn lacks_verdict(waiting: &Waiting) -> bool {
    waiting.blocked().is_some_and(|(kind, _)| kind.starts_with(UNJUDGED))
}

/// The way back that a person's answer to the waiting draft has chosen.
pub(crate) fn way_back(run: &Run<'_>) -> Option<WayBack> {
    let waiting = run.session.waiting()?;
    let to = waiting.goes_back()?;
    let reason = waiting.reason().unwrap_or_default();
    let request = Asked::parse(&reason, waiting.draft.iterations());
    Some(WayBack::decided(waiting.stage, to, "", request))
}

/// Resumes from a waiting draft on the branch.
pub(super) fn resume_waiting(step: &mut Step<'_, '_>, waiting: &Waiting) -> anyhow::Result<()> {
    step.draft.iteration = waiting.draft.iterations();
    step.draft.commit = Some(waiting.draft.commit.clone());
    step.draft.next = Next::Review;
    step.draft.read_notes(&waiting.draft);
    step.run
        .continues_transcript
        .set(record::draft_refs::has_files(&step.run.recorder(), &step.run.session.tip)?);
    let critic = waiting.draft.trailers.get(key::CRITIC);
    step.draft.edit = edit_noted(step.run, &waiting.draft);
    let has_changes = edits::note_edit_by_hand(step, &waiting.draft.commit)?;
    let Some(answer) = &waiting.answer else {
        let reason = waiting.draft.trailers.get(key::STUCK);
        if let Some(reason) = reason.filter(|_| lacks_verdict(waiting)) {
            step.draft.gate.ask_again(reason);
            return resume_pass(step, &waiting.draft.commit);
        }
        step.draft.gate.note = waiting.reason();
        step.draft.gate.waits.clone_from(&step.draft.gate.note);
        step.draft.gate.blocked = reason.map(str::to_owned);
        step.draft.gate.critic_asks = critic == Some("asks");
        return Ok(());
    };
    match answer.verdict() {
        Some(verdict @ (Verdict::Passed | Verdict::Edited | Verdict::Auto)) => {
            let bytes = approved_content::content_at(step.run, step.spec, &answer.commit)?;
            step.draft.commit = Some(answer.commit.clone());
            let is_pass = answer.verdict() == Some(Verdict::Passed);
            // A judge that approved before, or asked for this person's decision, is not asked
            // again.
            let approval_of = |judge| {
                let is_approved = is_pass && waiting.draft.trailers.get(judge).is_some();
                is_approved.then(|| (bytes.clone(), String::new()))
            };
            step.draft.approvals.critic = approval_of(key::CRITIC);
            step.draft.approvals.challenger = approval_of(key::CHALLENGER);
            // If a person approves the draft after their edit, it still counts as edited.
            let number = waiting.draft.iterations();
            let has_edit = step.run.session.since_last_stage().iter().any(|entry| {
                entry.kind == Kind::Review(step.spec.stage, Verdict::Edited)
                    && entry.iterations() == number
            });
            if let Some(edit) = &mut step.draft.edit {
                // The person was shown this draft together with its check results.
                edit.told |= !has_changes;
            }
            let verdict = match has_edit || step.draft.edit.is_some() {
                true => Verdict::Edited,
                false => verdict,
            };
            if bytes.is_approved_in(&answer.trailers) {
                let by = Some(answer.author.clone());
                step.draft.approvals.person = Some(Approval { bytes, verdict, by });
            } else {
                step.draft.gate.note =
                    Some("the committed draft is not the one you passed".to_owned());
            }
        }
        Some(Verdict::Feedback) => step.draft.next = Next::Draft,
        Some(Verdict::Aborted) | None => {
            step.draft.iteration = step.draft.offset;
            step.draft.next = Next::Draft;
            step.draft.commit = None;
            step.draft.readings.person = None;
            step.draft.edit = None;
            step.draft.self_review = SelfReview::default();
            if step.spec.approves == Approves::Tree {
                correct_the_whole(step.run, step.spec, step.draft.offset)?;
            } else if !step.run.continues_transcript.get() {
                restart_stage(step.run)?;
            }
        }
    }
    Ok(())
}

/// Takes up a person's earlier pass of the bytes that now wait for a judge's verdict.
fn resume_pass(step: &mut Step<'_, '_>, draft: &Oid) -> anyhow::Result<()> {
    let bytes = approved_content::content_at(step.run, step.spec, draft)?;
    let mut recent = step.run.session.since_last_stage().iter().rev();
    let pass = recent.find_map(|entry| match entry.kind {
        Kind::Review(stage, verdict) if stage == step.spec.stage => {
            bytes.is_approved_in(&entry.trailers).then(|| (verdict, entry.author.clone()))
        }
        _ => None,
    });
    let approval = pass.map(|(verdict, by)| Approval { bytes, verdict, by: Some(by) });
    step.draft.approvals.person = approval;
    Ok(())
}

/// After an abort in coding, the tasks remain committed: the next draft corrects the whole code.
pub(super) fn correct_the_whole(
    run: &Run<'_>,
    spec: &StageSpec,
    offset: u32,
) -> anyhow::Result<()> {
    if spec.approves != Approves::Tree {
        return Ok(());
    }
    let words = "a person aborted this draft: do it differently";
    run.give_feedback(vec![run.feedback(spec.stage, offset, Origin::Human, words)])
}

/// Resets the session's documents to the newest completed stage. Their aborted versions remain in
/// history, in the waiting draft.
fn restart_stage(run: &Run<'_>) -> anyhow::Result<()> {
    let base = approved_content::before_stage(run);
    let dirs = [run.session.name.artifact_dir(), run.session.name.record_dir()];
    let mut documents = git::paths::changed(run.env.git, &base, &run.session.tip)?;
    documents.retain(|path| in_session(path, &dirs));
    if run.recorder().differs_from(&run.session.tip)? {
        let stage = run.stage.get();
        let reason = format!("before {stage} was started again");
        let number =
            record::attempt::keep(&run.recorder(), &run.session.tip, &reason, Verdict::Passed)?;
        run.note(format!(
            "{stage} starts again; your edits since then are saved as attempt {number}: git show {}",
            RefNames::attempt(&run.session.name, number)
        ));
    }
    git::put_back::restore_worktree(run.env.git, &base, &documents)?;
    run.env.workspace.written().adopt(&documents)
}

pub(super) fn is_there(run: &Run<'_>, commit: &Oid) -> bool {
    git::snapshot::tree_of(run.env.git, commit.as_str()).is_ok_and(|tree| tree.is_some())
}

/// The person's edit recorded in a draft, if the commit it was compared with still exists.
pub(super) fn edit_noted(run: &Run<'_>, draft: &Entry) -> Option<Edit> {
    let edit = draft.trailers.get(key::EDITED).and_then(Edit::parse)?;
    is_there(run, &edit.since).then_some(edit)
}
