//! The end of a stage: one commit, then its tag.

use crate::artifact::knowledge::take_proposals;
use crate::error::Error;
use crate::event::Event;
use crate::git::Oid;
use crate::pipeline::change::{depth, scope};
use crate::pipeline::draft::{commit_message, keep};
use crate::pipeline::evidence::{self, Evidence};
use crate::pipeline::files::approved_content;
use crate::pipeline::outcome::{HOOK_CHANGED, StageEnd, StepOutcome};
use crate::pipeline::progress::{Next, Progress};
use crate::pipeline::run::Run;
use crate::pipeline::{edits, knowledge, report, usage};
use crate::record::{
    self, ApprovedContent, Credit, DraftEnding, DraftNotes, Recorded, StageRecord,
};
use crate::session::{Session, key};
use crate::stages::StageSpec;

/// How often a hook may change approved content before the run fails.
const MAX_HOOK_CHANGES: u32 = 3;

pub(crate) fn record_stage(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
) -> anyhow::Result<StepOutcome> {
    let tip = run.session.tip.clone();
    let wider = scope::widened(run, spec)?;
    if let Some((_, words)) = &wider {
        run.note(words.clone());
    }
    let record = StageRecord {
        stage: spec.stage,
        depth: depth::depth(run)?,
        scope: wider.map(|(scope, _)| scope),
        summary: commit_message::summary_line(run, spec, progress)?,
        body: commit_message::body(run, spec, progress)?,
        iterations: progress.used(),
        approval: progress.verdicts.person.clone(),
        code: match &progress.verdicts.person {
            Some(approval) => approved_content::code_digest(run, &approval.bytes)?,
            None => None,
        },
        self_review: progress.newest.self_review.outcome(),
        credit: progress.newest.credit.clone(),
        checks: spec.runs_checks.then(|| evidence::trailer(progress.newest.evidence.as_ref())),
        evidence: progress.newest.evidence.as_ref().map(Evidence::digests).unwrap_or_default(),
        knowledge: proposed(run, spec, progress)?,
        tests: progress.newest.evidence.as_ref().map(Evidence::test_record).unwrap_or_default(),
    };
    edits::tell_of_edited_earlier(run, spec)?;
    match record::stage::commit(&run.recorder(), &tip, &record)? {
        Recorded::Refused(why) => {
            keep::refusal_feedback(run, spec, progress.iteration, &why)?;
            progress.next = Next::Draft;
            Ok(StepOutcome::Again)
        }
        Recorded::Done(commit) => stage_completed(run, spec, progress, &tip, &commit),
    }
}

/// The knowledge proposals of the stage's commit. For a coding stage, these are its actor's
/// proposals, unless the tasks' commits have them; for the last stage, those its document lists.
fn proposed(run: &Run<'_>, spec: &StageSpec, progress: &Progress) -> anyhow::Result<Vec<String>> {
    let proposals = match spec.document().filter(|_| spec.is_last()) {
        Some(document) => {
            report::proposals_listed(&run.store().text(document)?.unwrap_or_default())
        }
        None if spec.writes_code() && scope::own_tasks(run)?.is_empty() => {
            take_proposals(&progress.said()).1
        }
        None => Vec::new(),
    };
    Ok(knowledge::trailers(&knowledge::acceptable(run, proposals)?))
}

fn stage_completed(
    run: &mut Run<'_>,
    spec: &StageSpec,
    progress: &mut Progress,
    tip: &Oid,
    commit: &Oid,
) -> anyhow::Result<StepOutcome> {
    let approved = progress.verdicts.person.as_ref().map(|approval| &approval.bytes);
    let changed = approved.map(|approved| hook_changed(run, spec, approved, commit)).transpose()?;
    if changed == Some(true) {
        progress.hook_changes += 1;
        progress.readings.person = progress.newest.commit.take();
        progress.verdicts.person = None;
        let (number, notes) = (progress.iteration, progress.notes());
        let draft =
            record::stage::take_back(&run.recorder(), commit, tip, spec.stage, number, &notes)?;
        record::stage::mark_compared(&run.recorder())?;
        progress.newest.commit = Some(draft);
        progress.verdicts.critic = None;
        keep::mark(run, progress, progress.iteration, DraftEnding::Whole);
        if progress.hook_changes >= MAX_HOOK_CHANGES {
            return Err(Error::repository(
                "a commit hook changes the approved files at every commit",
            )
            .hint("make the hook leave formatted files unchanged, or exclude .cowork from it")
            .into());
        }
        progress.gate.note = Some(HOOK_CHANGED.to_owned());
        return Ok(StepOutcome::Again);
    }
    record::stage::mark_compared(&run.recorder())?;
    let spent = usage::stage_so_far(run, progress);
    run.advance(commit)?;
    run.current_draft.replace(None);
    let tag = record::tags::add_missing(&run.recorder(), &run.session)?;
    let subject = run.session.history.last().map(|entry| entry.subject.clone()).unwrap_or_default();
    run.env.sink.emit(Event::StageCompleted {
        stage: spec.stage,
        commit: commit.to_string(),
        tag,
        subject,
        spent,
    });
    Ok(StepOutcome::Ends(StageEnd::Completed(spec.stage)))
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
        let credit = Credit::of(&entry);
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
