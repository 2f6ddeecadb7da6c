//! The commit of a completed stage, and undoing it if a hook changed what was approved.

use anyhow::Result;

use super::{
    Approval, Credit, DraftEnding, DraftNotes, Recorded, Recorder, commit, draft_refs, logs, point,
};
use crate::artifact::Scope;
use crate::git::{self, Oid, RefTransaction};
use crate::session::{Entry, Message, Session, Verdict, key};
use crate::stage::{Depth, Stage};

/// File in the state directory that marks a stage commit not yet compared with the approved content.
/// It contains the parent of that commit.
const UNCOMPARED: &str = "uncompared.json";

/// The content of a stage commit.
#[derive(Clone, Debug)]
pub struct StageRecord {
    /// Stage.
    pub stage: Stage,
    /// How much process the session gets.
    pub depth: Depth,
    /// The wider scope of a change request from here on, if the stage needs one.
    pub scope: Option<Scope>,
    /// The result of the stage.
    pub summary: String,
    /// A few lines.
    pub body: String,
    /// Actor drafts used.
    pub iterations: u32,
    /// The approval of a gated stage.
    pub approval: Option<Approval>,
    /// A digest of the session's code in the approved tree, if the stage is coding.
    pub code: Option<String>,
    /// The result of the actor's self-review; empty if there was none.
    pub self_review: &'static str,
    /// The models that generated it, and their usage.
    pub credit: Credit,
    /// The result of the checks that git-cowork ran on the stage's tree.
    pub checks: Option<String>,
    /// Each command of the checks with its result, its log and its tree.
    pub evidence: Vec<String>,
    /// The tests that criteria name.
    pub tests: logs::TestRecord,
    /// The facts about the project that it proposes, in the form recorded in history.
    pub knowledge: Vec<String>,
}

/// Records a completed stage.
pub fn commit(recorder: &Recorder<'_>, tip: &Oid, record: &StageRecord) -> Result<Recorded> {
    let mut trailers = recorder.base_trailers();
    trailers.push(key::STAGE, record.stage.name());
    trailers.push(key::DEPTH, record.depth.name());
    trailers.push(key::SCOPE, record.scope.map(Scope::describe).unwrap_or_default());
    trailers.push(key::ITERATIONS, record.iterations.to_string());
    let verdict = record.approval.as_ref().map_or(Verdict::Auto, |approval| approval.verdict);
    trailers.push(key::REVIEW, verdict.name());
    if let Some(approval) = &record.approval {
        approval.bytes.push(&mut trailers);
    }
    trailers.push(key::CODE, record.code.as_deref().unwrap_or_default());
    trailers.push(key::SELF_REVIEW, record.self_review);
    record.credit.push(&mut trailers, recorder.project.attribution);
    if let Some(checks) = &record.checks {
        trailers.push(key::CHECKS, checks);
    }
    record.evidence.iter().for_each(|run| trailers.push(key::EVIDENCE, run));
    trailers.push(key::TESTS, logs::keep_tests(recorder, &record.tests)?);
    record.knowledge.iter().for_each(|fact| trailers.push(key::KNOWLEDGE, fact));
    if let Some((decided, by)) = record.approval.as_ref().and_then(Approval::decided_by) {
        trailers.push(decided, by);
    }
    let subject = recorder.project.subject_for(record.stage.name(), &record.summary);
    let message = Message { subject, body: record.body.clone(), trailers };
    logs::keep(recorder, &record.evidence)?;
    // The note is removed once the commit has been compared with what was approved.
    recorder.state.set_note(UNCOMPARED, Some(&tip.to_string()))?;
    point("stage.before-commit");
    let recorded = commit::commit(recorder, tip, &recorder.changes()?, &message)?;
    point("stage.after-commit");
    Ok(recorded)
}

/// The stage commit at the tip that was not compared with what was approved, because the run that
/// made it died.
pub fn uncompared<'s>(recorder: &Recorder<'_>, session: &'s Session) -> Result<Option<&'s Entry>> {
    let Some(tip) = recorder.state.note::<String>(UNCOMPARED)? else { return Ok(None) };
    let on = |entry: &&Entry| entry.parents.first().is_some_and(|on| on.as_str() == tip);
    let newest = session.last_stage().map(|(_, entry)| entry);
    Ok(newest.filter(|entry| entry.commit == session.tip).filter(on))
}

/// Records that the newest stage commit was compared.
pub fn mark_compared(recorder: &Recorder<'_>) -> Result<()> {
    recorder.state.set_note::<String>(UNCOMPARED, None)
}

/// Undoes a commit of git-cowork that a hook changed beyond what was approved. The draft ref saves
/// its tree first, as a draft that nobody has approved; files stay as the hook left them.
pub fn take_back(
    recorder: &Recorder<'_>,
    commit: &Oid,
    tip: &Oid,
    stage: Stage,
    iteration: u32,
    notes: &DraftNotes,
) -> Result<Oid> {
    let tree =
        git::snapshot::tree_of(recorder.git, commit.as_str())?.unwrap_or_else(|| commit.clone());
    let draft =
        draft_refs::keep_tree(recorder, tip, &tree, stage, iteration, DraftEnding::Whole, notes)?;
    // From now on these files count as the draft, even for a run that finds them here after a
    // crash.
    recorder.workspace.written().adopt(&git::paths::changed(recorder.git, tip, commit)?)?;
    point("take-back.before-ref");
    RefTransaction::new("cowork: a hook changed approved bytes")
        .update(&recorder.refs.branch(recorder.name), tip, commit)
        .commit(recorder.git)?;
    point("take-back.after-ref");
    Ok(draft)
}
