//! Resumes from a draft that waits on the branch, with the answer to it if there is one.

use crate::artifact::Origin;
use crate::gate::Mode;
use crate::git::{self, Oid};
use crate::pipeline::edits;
use crate::pipeline::files::approved_content;
use crate::pipeline::other_models::Taken;
use crate::pipeline::outcome::{Asked, UNJUDGED, WayBack};
use crate::pipeline::progress::code_words::CodeWords;
use crate::pipeline::progress::edit::Edit;
use crate::pipeline::progress::self_review::SelfReview;
use crate::pipeline::progress::{Next, Progress};
use crate::pipeline::run::Run;
use crate::record::{self, Approval, Credit, in_session};
use crate::session::{Entry, Kind, RefNames, Session, Verdict, Waiting, key};
use crate::stages::{Approves, StageSpec};

/// True if a run in this mode can only wait for an answer to the session's draft.
#[must_use]
pub fn only_waits(session: &Session, mode: Mode) -> bool {
    let Some(waiting) = session.unanswered() else { return false };
    let blocked = waiting.blocked().is_some();
    !lacks_verdict(&waiting) && (mode == Mode::Wait || mode == Mode::Auto && blocked)
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
    let asked = Asked::parse(&reason, waiting.draft.iterations());
    Some(WayBack::decided(waiting.stage, to, "", asked))
}

/// Resumes from a waiting draft on the branch.
pub(super) fn resume_waiting(
    run: &Run<'_>,
    spec: &StageSpec,
    waiting: &Waiting,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    progress.iteration = waiting.draft.iterations();
    progress.newest.commit = Some(waiting.draft.commit.clone());
    progress.next = Next::Review;
    progress.newest.credit = Credit::of(&waiting.draft);
    progress.newest.words =
        waiting.draft.trailers.get(key::ACTOR_SAID).unwrap_or_default().to_owned();
    progress.newest.code_words = CodeWords::of(&waiting.draft.trailers);
    let own = waiting.draft.trailers.get(key::SELF_REVIEW).unwrap_or_default();
    progress.newest.self_review = SelfReview::parse(own);
    progress.taken = waiting.draft.trailers.get(key::ACTOR_MODEL).and_then(Taken::parse);
    run.continues_transcript.set(record::draft_refs::has_files(&run.recorder(), &run.session.tip)?);
    let critic = waiting.draft.trailers.get(key::CRITIC);
    progress.newest.edit = edit_noted(run, &waiting.draft);
    let changed = edits::note_edit_by_hand(run, spec, progress, &waiting.draft.commit)?;
    let Some(answer) = &waiting.answer else {
        let blocked = waiting.draft.trailers.get(key::STUCK);
        if let Some(blocked) = blocked.filter(|_| lacks_verdict(waiting)) {
            progress.gate.ask_again(blocked);
            return resume_pass(run, spec, &waiting.draft.commit, progress);
        }
        progress.gate.note = waiting.reason();
        progress.gate.waits.clone_from(&progress.gate.note);
        progress.gate.blocked = blocked.map(str::to_owned);
        progress.gate.critic_asks = critic == Some("asks");
        return Ok(());
    };
    match answer.verdict() {
        Some(verdict @ (Verdict::Passed | Verdict::Edited | Verdict::Auto)) => {
            let bytes = approved_content::content_at(run, spec, &answer.commit)?;
            progress.newest.commit = Some(answer.commit.clone());
            let passed = answer.verdict() == Some(Verdict::Passed);
            // A judge that approved before, or asked for this person's decision, is not asked
            // again.
            let settled = |judge| {
                let judged = passed && waiting.draft.trailers.get(judge).is_some();
                judged.then(|| (bytes.clone(), String::new()))
            };
            progress.verdicts.critic = settled(key::CRITIC);
            progress.verdicts.challenger = settled(key::CHALLENGER);
            // If a person approves the draft after their edit, it still counts as edited.
            let number = waiting.draft.iterations();
            let edited = run.session.since_last_stage().iter().any(|entry| {
                entry.kind == Kind::Review(spec.stage, Verdict::Edited)
                    && entry.iterations() == number
            });
            if let Some(edit) = &mut progress.newest.edit {
                // The person was shown this draft together with its check results.
                edit.told |= !changed;
            }
            let verdict = match edited || progress.newest.edit.is_some() {
                true => Verdict::Edited,
                false => verdict,
            };
            if bytes.is_approved_in(&answer.trailers) {
                let by = Some(answer.author.clone());
                progress.verdicts.person = Some(Approval { bytes, verdict, by });
            } else {
                progress.gate.note =
                    Some("the committed draft is not the one you passed".to_owned());
            }
        }
        Some(Verdict::Feedback) => progress.next = Next::Draft,
        Some(Verdict::Aborted) | None => {
            progress.iteration = progress.offset;
            progress.next = Next::Draft;
            progress.newest.commit = None;
            progress.readings.person = None;
            progress.newest.edit = None;
            progress.newest.self_review = SelfReview::default();
            if spec.approves == Approves::Tree {
                correct_the_whole(run, spec, progress.offset)?;
            } else if !run.continues_transcript.get() {
                restart_stage(run)?;
            }
        }
    }
    Ok(())
}

/// Takes up a person's earlier pass of the bytes that now wait for a judge's verdict.
fn resume_pass(
    run: &Run<'_>,
    spec: &StageSpec,
    draft: &Oid,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let bytes = approved_content::content_at(run, spec, draft)?;
    let mut recent = run.session.since_last_stage().iter().rev();
    let pass = recent.find_map(|entry| match entry.kind {
        Kind::Review(stage, verdict) if stage == spec.stage => {
            bytes.is_approved_in(&entry.trailers).then(|| (verdict, entry.author.clone()))
        }
        _ => None,
    });
    let approval = pass.map(|(verdict, by)| Approval { bytes, verdict, by: Some(by) });
    progress.verdicts.person = approval;
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
