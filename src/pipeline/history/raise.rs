//! A session gets more process than it was begun with.
//!
//! Kill-safe: an attempt keeps what is left behind, then the branch moves once.

use crate::artifact::{Artifact, Files as _, SessionFile, plan_parts, render_json};
use crate::error::Error;
use crate::git::Oid;
use crate::pipeline::brief::continued;
use crate::pipeline::change;
use crate::pipeline::history::present_stage;
use crate::pipeline::run::Run;
use crate::record;
use crate::session::{
    CommittedFiles, KeptDraft, Kind, Session, Verdict, artifact_path, kept_draft,
};
use crate::stage::Depth;
use crate::stages::{self, code_stage};

/// Raises the depth of a session whose code is not begun. The same depth is nothing to do.
///
/// # Errors
/// Exit 5: the depth is less, coding has begun, something of the user's is in the way.
pub(crate) fn raise(run: &mut Run<'_>, to: Depth) -> anyhow::Result<()> {
    let from = change::depth::depth(run)?;
    if to == from {
        run.note(format!("{} is {to} already", run.session.name));
        return Ok(());
    }
    require_raisable(run, from, to)?;
    run.stage.set(present_stage::present_stage(run)?);
    let has = |depth| stages::depth(depth).stages;
    let newest = run.session.newest_records(run.env.git)?;
    let planned = planned_on(&run.session).filter(|planned| *planned != newest);
    match planned.filter(|_| has(from) != has(to)) {
        Some(target) => begin_again(run, &target, (from, to))?,
        None => go_on(run, (from, to))?,
    }
    run.note(format!("{} is {to} from here on, it was {from}", run.session.name));
    Ok(())
}

fn require_raisable(run: &Run<'_>, from: Depth, to: Depth) -> anyhow::Result<()> {
    let session = &run.session;
    let name = &session.name;
    if to < from {
        return Err(Error::repository(format!("'{name}' is {from}, and nothing lowers a depth"))
            .hint(format!("go on with it: git cowork resume {name}"))
            .into());
    }
    if session.is_completed() {
        return Err(Error::repository(format!("'{name}' is delivered at depth {from}"))
            .hint(format!(
                "change it with more process: git cowork modify --session {name} --depth {to} \"what is to change\""
            ))
            .into());
    }
    if session.file.is_adopted() {
        let message = format!("'{name}' is adopted: its plan is made of its commits");
        return Err(Error::repository(message)
            .hint(format!("go on with it: git cowork resume {name}"))
            .into());
    }
    if coding_has_begun(run)? {
        return Err(Error::repository(format!("'{name}' has begun its code at depth {from}"))
            .hint(format!(
                "go back to its plan: git cowork revert {name} --to {} --no-run",
                last_before_code(session)
            ))
            .hint(format!("then: git cowork resume {name} --depth {to}"))
            .into());
    }
    Ok(())
}

/// The stage before the code.
fn last_before_code(session: &Session) -> String {
    let mut order = session.order().into_iter();
    let last = order.rfind(|stage| stages::row(*stage).is_before_code());
    last.map_or_else(String::new, |stage| stage.to_string())
}

fn coding_has_begun(run: &Run<'_>) -> anyhow::Result<bool> {
    let code = code_stage();
    if run.session.done().contains(&code) || run.session.reopened().is_some() {
        return Ok(true);
    }
    let recent = run.session.since_last_stage().iter();
    let begun = recent.into_iter().any(|entry| match &entry.kind {
        Kind::Task(_) => true,
        Kind::Draft(stage) => *stage == code,
        _ => false,
    });
    let kept = kept_draft(run.env.git, &run.session, code)?;
    Ok(begun || matches!(kept, Some(KeptDraft::Live(_))))
}

/// The commit that the plan of a quick session stands on: the start, in a change request its triage;
/// `None` where it has not come so far.
fn planned_on(session: &Session) -> Option<Oid> {
    let first = session.history.first()?;
    if !session.is_patch() {
        return Some(first.commit.clone());
    }
    let triage = session.order().first().copied()?;
    session.stage_entry(triage).map(|entry| entry.commit.clone())
}

/// `session.json` with the depth, and where it lies.
fn session_file(session: &Session, depth: Depth) -> anyhow::Result<(String, String)> {
    let file = SessionFile { depth, ..session.file.clone() };
    Ok((artifact_path(&session.name, Artifact::Session), render_json(&file)?))
}

/// More of the same stages: a draft that is in progress or waits stays as it is.
fn go_on(run: &mut Run<'_>, depths: (Depth, Depth)) -> anyhow::Result<()> {
    let tip = run.session.tip.clone();
    let files = [session_file(&run.session, depths.1)?];
    let commit = record::depth::commit(&run.recorder(), &tip, &files, depths)?;
    record::depth::take(&run.recorder(), &tip, &commit)?;
    run.session = Session::load(run.env.git, &run.session.name, &commit)?;
    Ok(())
}

/// Other stages: what the plan holds of requirements and features is where they begin; the rest is
/// kept as an attempt.
fn begin_again(run: &mut Run<'_>, target: &Oid, depths: (Depth, Depth)) -> anyhow::Result<()> {
    let name = run.session.name.clone();
    let recorder = run.recorder();
    let tip = run.session.tip.clone();
    record::attempt::check_rewind(&recorder, &tip, target)?;
    let mut files = vec![session_file(&run.session, depths.1)?];
    files.extend(documents(run, target)?);
    let commit = record::depth::commit(&recorder, target, &files, depths)?;
    let reason = format!("depth {} -> {}", depths.0, depths.1);
    let number = record::attempt::keep(&recorder, &tip, &reason, Verdict::Aborted)?;
    record::attempt::rewind(&recorder, &tip, &commit)?;
    // A run that dies before this finds drafts that no stage before the plan takes up.
    for stage in run.session.order() {
        record::draft_refs::end(&recorder, &commit, stage)?;
    }
    run.current_draft.replace(None);
    run.continues_transcript.set(false);
    continued::forget(run);
    run.note(format!(
        "the plan is kept as attempt {number}: git log refs/cowork/attempts/{name}/{number}"
    ));
    run.advance(&commit)
}

/// Gives a change request the documents that its depth has and its parent had not, before its first
/// stage after triage.
///
/// # Errors
/// HEAD is elsewhere, git fails.
pub(crate) fn give_documents(run: &mut Run<'_>) -> anyhow::Result<()> {
    let (session, depth) = (&run.session, run.session.depth());
    let tip = session.tip.clone();
    if depth == Depth::Quick || !session.lacks_prd() || planned_on(session).as_ref() != Some(&tip) {
        return Ok(());
    }
    let files = documents(run, &tip)?;
    if files.is_empty() {
        return Ok(());
    }
    let commit = record::depth::commit(&run.recorder(), &tip, &files, (Depth::Quick, depth))?;
    record::depth::take(&run.recorder(), &tip, &commit)?;
    run.advance(&commit)
}

/// What the newest plan holds of requirements and features, as documents on top of `target`; nothing
/// where that has them already, or there is no plan.
fn documents(run: &Run<'_>, target: &Oid) -> anyhow::Result<Vec<(String, String)>> {
    let (git, name) = (run.env.git, &run.session.name);
    let newest = CommittedFiles::new(git, name, &run.session.newest_records(git)?);
    let there = CommittedFiles::new(git, name, target);
    let plan = newest.read(Artifact::Plan)?;
    let Some(plan) = plan.filter(|_| there.read(Artifact::Prd).is_ok_and(|prd| prd.is_none()))
    else {
        return Ok(Vec::new());
    };
    let title = &run.session.file.title;
    let prd = format!("# {title}\n\n{}\n", plan_parts::requirement_sections(&plan));
    let mut files = vec![(artifact_path(name, Artifact::Prd), prd)];
    for artifact in [Artifact::Requirements, Artifact::Features] {
        files.extend(newest.read(artifact)?.map(|text| (artifact_path(name, artifact), text)));
    }
    // Its parent's plan holds tasks only from here on.
    let plan = there.read(Artifact::Plan)?.map(|plan| plan_parts::without_requirements(&plan));
    files.extend(plan.map(|plan| (artifact_path(name, Artifact::Plan), plan)));
    Ok(files)
}
