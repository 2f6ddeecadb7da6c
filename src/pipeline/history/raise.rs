//! Raises the depth of a session, or the format of its `session.json`, before its next stage.
//!
//! Safe against kills: an attempt saves the dropped work, then the branch moves once.

use crate::artifact::{Artifact, Files as _, SCHEMA_VERSION, SessionFile, plan_parts, render_json};
use crate::error::Error;
use crate::git::Oid;
use crate::pipeline::brief::continued;
use crate::pipeline::run::Run;
use crate::pipeline::{change, history};
use crate::record::{self, Recorded};
use crate::session::{KeptDraft, Kind, Session, Verdict, artifact_path, kept_draft};
use crate::stage::{Depth, Stage};
use crate::stages::{self, code_stage};

/// Raises the depth of a session that has no code yet. Does nothing if the depth is the same.
///
/// # Errors
/// Exit 5: the depth would be lower, coding has begun, or the user's files would be overwritten.
pub(crate) fn raise(run: &mut Run<'_>, to: Depth) -> anyhow::Result<()> {
    let from = change::scope::depth(run)?;
    if to == from {
        run.note(format!("{} already has depth {to}", run.session.name));
        return Ok(());
    }
    require_raisable(run, from, to)?;
    run.stage.set(history::present_stage(run)?);
    let has = |depth| stages::depth(depth).stages;
    let newest = run.session.newest_records(run.env.git)?;
    let base = planned_on(&run.session).filter(|planned| *planned != newest);
    match base.filter(|_| has(from) != has(to)) {
        Some(target) => begin_again(run, &target, (from, to))?,
        None => go_on(run, (from, to))?,
    }
    run.note(format!("{} now has depth {to} (was {from})", run.session.name));
    Ok(())
}

fn require_raisable(run: &Run<'_>, from: Depth, to: Depth) -> anyhow::Result<()> {
    let session = &run.session;
    let name = &session.name;
    if to < from {
        return Err(Error::repository(format!(
            "'{name}' has depth {from}, and a depth cannot be lowered"
        ))
        .hint(format!("continue it: git cowork resume {name}"))
        .into());
    }
    if session.is_completed() {
        return Err(Error::repository(format!("'{name}' is delivered at depth {from}"))
            .hint(format!(
                "start a change request: git cowork modify --session {name} --depth {to} \"what is to change\""
            ))
            .into());
    }
    if session.file.is_adopted() {
        let message = format!("'{name}' is adopted: its plan is derived from its commits");
        return Err(Error::repository(message)
            .hint(format!("continue it: git cowork resume {name}"))
            .into());
    }
    if coding_has_begun(run)? {
        return Err(Error::repository(format!("'{name}' has started coding at depth {from}"))
            .hint(format!(
                "go back to its plan: git cowork revert {name} --to {} --no-run",
                last_before_code(session)
            ))
            .hint(format!("then: git cowork resume {name} --depth {to}"))
            .into());
    }
    Ok(())
}

/// The last stage before coding.
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
    let draft = kept_draft(run.env.git, &run.session, code)?;
    Ok(begun || matches!(draft, Some(KeptDraft::Live(_))))
}

/// The commit on which the plan of a quick session is based: the start commit, or in a change
/// request its triage commit. `None` if there is none yet.
fn planned_on(session: &Session) -> Option<Oid> {
    let first = session.history.first()?;
    if !session.is_patch() {
        return Some(first.commit.clone());
    }
    let triage = session.order().first().copied()?;
    session.stage_entry(triage).map(|entry| entry.commit.clone())
}

/// The path of `session.json`, and its text with the new depth.
fn session_file(session: &Session, depth: Depth) -> anyhow::Result<(String, String)> {
    let file = SessionFile { depth, ..session.file.clone() };
    Ok((artifact_path(&session.name, Artifact::Session), render_json(&file)?))
}

/// Raises the depth if the stages stay the same: a draft in progress or waiting is not touched.
fn go_on(run: &mut Run<'_>, depths: (Depth, Depth)) -> anyhow::Result<()> {
    let tip = run.session.tip.clone();
    let files = [session_file(&run.session, depths.1)?];
    let commit = record::depth::commit(&run.recorder(), &tip, &files, depths)?;
    record::depth::take(&run.recorder(), &tip, &commit)?;
    run.session = Session::load(run.env.git, &run.session.name, &commit)?;
    Ok(())
}

/// Raises the depth if the stages change: saves the session so far as an attempt, then starts the
/// new stages from the requirements and features in the plan.
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
    // If the run dies before this, the remaining drafts belong to the plan or a later stage, so
    // they are not resumed.
    for stage in run.session.order() {
        record::draft_refs::end(&recorder, &commit, stage)?;
    }
    run.current_draft.replace(None);
    run.continues_transcript.set(false);
    continued::forget(run);
    run.note(format!(
        "the plan is saved as attempt {number}: git log refs/cowork/attempts/{name}/{number}"
    ));
    run.advance(&commit)
}

/// Adds the documents that a change request's depth has and its parent lacks, before the first
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

/// The requirements and features of the newest plan, as documents for a commit on top of
/// `target`; empty if `target` has them already, or there is no plan.
fn documents(run: &Run<'_>, target: &Oid) -> anyhow::Result<Vec<(String, String)>> {
    let (git, name) = (run.env.git, &run.session.name);
    let newest = run.files_at(&run.session.newest_records(git)?);
    let target_files = run.files_at(target);
    let plan = newest.read(Artifact::Plan)?;
    let Some(plan) =
        plan.filter(|_| target_files.read(Artifact::Prd).is_ok_and(|prd| prd.is_none()))
    else {
        return Ok(Vec::new());
    };
    let title = &run.session.file.title;
    let prd = format!("# {title}\n\n{}\n", plan_parts::requirement_sections(&plan));
    let mut files = vec![(artifact_path(name, Artifact::Prd), prd)];
    for artifact in [Artifact::Requirements, Artifact::Features] {
        // The requirements and features are in prd.md now.
        let field = |document| format!("\"generated\": \"edit {document}\"");
        let json = newest.read(artifact)?;
        let json = json.map(|text| text.replacen(&field("plan.md"), &field("prd.md"), 1));
        files.extend(json.map(|text| (artifact_path(name, artifact), text)));
    }
    // From here on, the plan that a change request inherits from its parent contains only tasks.
    let plan =
        target_files.read(Artifact::Plan)?.map(|plan| plan_parts::without_requirements(&plan));
    files.extend(plan.map(|plan| (artifact_path(name, Artifact::Plan), plan)));
    Ok(files)
}

/// Commits `session.json` in the present format if it has an older one. Waits while a draft is in
/// progress: drafts and reviews refer to the tip they are based on.
///
/// # Errors
/// HEAD is elsewhere, a hook refuses, git fails.
pub(crate) fn raise_format(run: &mut Run<'_>, stage: Stage) -> anyhow::Result<()> {
    let Some(from) = run.session.older.clone() else { return Ok(()) };
    let tip = run.session.tip.clone();
    let recorder = run.recorder();
    let draft = kept_draft(run.env.git, &run.session, stage)?;
    if run.session.waiting().is_some()
        || matches!(draft, Some(KeptDraft::Live(_)))
        || record::draft_refs::has_files(&recorder, &tip)?
    {
        return Ok(());
    }
    let path = run.path_of(Artifact::Session);
    let text = render_json(&run.session.file)?;
    let result = record::format::raise(&recorder, &tip, &path, &text, (&from, SCHEMA_VERSION))?;
    match result {
        Some(Recorded::Done(commit)) => {
            run.note(format!(
                "{path} is now in format {SCHEMA_VERSION} (was {from}): {}",
                commit.short()
            ));
            run.advance(&commit)
        }
        Some(Recorded::Refused(why)) => Err(Error::repository(format!(
            "cannot convert {path} to format {SCHEMA_VERSION}: {why}"
        ))
        .hint("fix the reported problem, then run the command again; nothing was changed")
        .into()),
        None => {
            run.warn(format!("{path} stays in format {from}: you have uncommitted changes there"));
            Ok(())
        }
    }
}
