//! The end of a stage: one commit, then its tag.

use crate::artifact::knowledge::take_proposals;
use crate::error::Error;
use crate::event::Event;
use crate::git::Oid;
use crate::pipeline::change::scope;
use crate::pipeline::draft::keep;
use crate::pipeline::evidence::{self, Evidence};
use crate::pipeline::files::approved_content;
use crate::pipeline::outcome::{HOOK_CHANGED, StageEnd};
use crate::pipeline::run::Run;
use crate::pipeline::step::{Step, StepResult, Stop};
use crate::pipeline::{commit_message, edits, knowledge, report};
use crate::record::{
    self, ApprovedContent, Credit, DraftEnding, DraftNotes, Recorded, StageRecord,
};
use crate::session::{Session, key};
use crate::stages::StageSpec;

/// How often a hook may change approved content before the run fails.
const MAX_HOOK_CHANGES: u32 = 3;

pub(crate) fn record_stage(step: &mut Step<'_, '_>) -> StepResult {
    let tip = step.run.session.tip.clone();
    let wider = scope::widened(step.run, step.spec)?;
    if let Some((_, words)) = &wider {
        step.run.note(words.clone());
    }
    let record = StageRecord {
        stage: step.spec.stage,
        depth: scope::depth(step.run)?,
        scope: wider.map(|(scope, _)| scope),
        summary: commit_message::summary_line(step)?,
        body: commit_message::stage_body(step)?,
        iterations: step.draft.used(),
        approval: step.draft.approvals.person.clone(),
        code: match &step.draft.approvals.person {
            Some(approval) => approved_content::code_digest(step.run, &approval.bytes)?,
            None => None,
        },
        self_review: step.draft.self_review.outcome(),
        credit: step.draft.credit.clone(),
        checks: step.spec.runs_checks.then(|| evidence::trailer(step.draft.evidence.as_ref())),
        evidence: step.draft.evidence.as_ref().map(Evidence::digests).unwrap_or_default(),
        knowledge: proposed(step)?,
        tests: step.draft.evidence.as_ref().map(Evidence::test_record).unwrap_or_default(),
    };
    edits::tell_of_edited_earlier(step.run, step.spec)?;
    match record::stage::commit(&step.run.recorder(), &tip, &record)? {
        Recorded::Refused(why) => step.refuse(keep::refusal_feedback(step, &why)?),
        Recorded::Done(commit) => stage_completed(step, &tip, &commit),
    }
}

/// The knowledge proposals of the stage's commit. For a coding stage, these are its actor's
/// proposals, unless the tasks' commits have them; for the last stage, those its document lists.
fn proposed(step: &Step<'_, '_>) -> anyhow::Result<Vec<String>> {
    let proposals = match step.spec.document().filter(|_| step.spec.is_last()) {
        Some(document) => {
            report::proposals_listed(&step.run.store().text(document)?.unwrap_or_default())
        }
        None if step.spec.writes_code() && scope::own_tasks(step.run)?.is_empty() => {
            take_proposals(&step.draft.said()).1
        }
        None => Vec::new(),
    };
    Ok(knowledge::trailers(&knowledge::acceptable(step.run, proposals)?))
}

fn stage_completed(step: &mut Step<'_, '_>, tip: &Oid, commit: &Oid) -> StepResult {
    let bytes = step.draft.approvals.person.as_ref().map(|approval| &approval.bytes);
    let has_changes =
        bytes.map(|bytes| hook_changed(step.run, step.spec, bytes, commit)).transpose()?;
    if has_changes == Some(true) {
        step.draft.hook_changes += 1;
        step.draft.readings.person = step.draft.commit.take();
        step.draft.approvals.person = None;
        let (number, notes) = (step.draft.iteration, step.draft.notes());
        let draft = record::stage::take_back(
            &step.run.recorder(),
            commit,
            tip,
            step.spec.stage,
            number,
            &notes,
        )?;
        record::stage::mark_compared(&step.run.recorder())?;
        step.draft.commit = Some(draft);
        step.draft.approvals.critic = None;
        keep::mark(step, step.draft.iteration, DraftEnding::Whole);
        if step.draft.hook_changes >= MAX_HOOK_CHANGES {
            return Err(Error::repository(
                "a commit hook changes the approved files at every commit",
            )
            .hint("make the hook leave formatted files unchanged, or exclude .cowork from it")
            .into());
        }
        step.draft.gate.note = Some(HOOK_CHANGED.to_owned());
        return Err(Stop::Again);
    }
    record::stage::mark_compared(&step.run.recorder())?;
    let spent = step.spent();
    step.run.advance(commit)?;
    step.run.current_draft.replace(None);
    let tag = record::tags::add_missing(&step.run.recorder(), &step.run.session)?;
    let subject =
        step.run.session.history.last().map(|entry| entry.subject.clone()).unwrap_or_default();
    step.run.env.sink.emit(Event::StageCompleted {
        stage: step.spec.stage,
        commit: commit.to_string(),
        tag,
        subject,
        spent,
    });
    Err(Stop::Ends(StageEnd::Completed(step.spec.stage)))
}

/// Completes the work of a run that died after a stage's commit and before comparing it with the
/// approval: if the content was not approved, the commit is undone and the stage's gate opens
/// again.
pub(crate) fn compare_last(run: &mut Run<'_>) -> anyhow::Result<()> {
    let Some(entry) = record::stage::uncompared(&run.recorder(), &run.session)?.cloned() else {
        return record::stage::mark_compared(&run.recorder());
    };
    let Some((stage, _)) = run.session.last_stage() else { return Ok(()) };
    let spec = run.session.row(stage);
    run.stage.set(stage);
    let unseen = match ApprovedContent::approved_in(run.env.git, &entry.trailers)? {
        Some(approved) if approved.0.is_empty() => false,
        Some(approved) => hook_changed(run, spec, &approved, &entry.commit)?,
        None => true,
    };
    if unseen && let Some(tip) = entry.parents.first() {
        let self_review = entry.trailers.get(key::SELF_REVIEW).unwrap_or_default().to_owned();
        let credit = Credit::in_entry(&entry);
        let notes = DraftNotes { credit, self_review, ..DraftNotes::default() };
        let number = run.earlier_drafts(stage);
        record::stage::take_back(&run.recorder(), &entry.commit, tip, stage, number, &notes)?;
        run.session = Session::load(run.env.git, &run.session.name, tip)?;
        run.warn(format!("{stage}: {HOOK_CHANGED}"));
    }
    record::stage::mark_compared(&run.recorder())
}

/// True if the committed content differs from the approved one in more than white space.
fn hook_changed(
    run: &Run<'_>,
    spec: &StageSpec,
    approved: &ApprovedContent,
    commit: &Oid,
) -> anyhow::Result<bool> {
    let now = approved_content::content_at(run, spec, commit)?;
    Ok(!approved.same_words(run.env.git, &run.session, &now)?)
}
