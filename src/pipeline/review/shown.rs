//! Collects what the gate shows of a draft.

use crate::artifact::{Artifact, Criterion, Store};
use crate::gate::{Actor, Decision, Document, Draft, Reply};
use crate::git::DiffStyle;
use crate::pipeline::change;
use crate::pipeline::draft::{checks, self_review};
use crate::pipeline::edits;
use crate::pipeline::evidence::{Evidence, gather, recorded};
use crate::pipeline::files::{approved_content, open_gate};
use crate::pipeline::progress::edit::Edit;
use crate::pipeline::progress::{self, Progress};
use crate::pipeline::review::{broken_edit, record_table, since_last_review};
use crate::pipeline::run::Run;
use crate::pipeline::usage;
use crate::session::Asks;
use crate::stage::Role;
use crate::stages::{Approves, StageSpec};

/// Shows the draft and asks; if `shared`, as in a run, people at other terminals are asked as well.
/// `reply` is the message about the previous key.
pub(crate) fn ask_person(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
    shared: bool,
    reply: Option<Reply>,
) -> anyhow::Result<Decision> {
    let Some(gate) = &run.env.gate else { return Ok(Decision::Stop) };
    let files = run.files();
    let store = Store::new(&files);
    let mut report = checks::check_report(run, spec, progress)?;
    let evidence = progress.newest.evidence.as_ref();
    let tried = tried(run, spec, &store, evidence, &mut report.passed)?;
    let can_pass = missing(run, spec)?.is_empty();
    let from = approved_content::shown_from(run, spec);
    let tree = run.recorder().tree(&run.session.tip)?;
    let full =
        |color| approved_content::shown_diff_in(run, spec, &from, &tree, DiffStyle::Patch, color);
    let diffstat = match spec.approves {
        Approves::Tree => {
            Some(approved_content::shown_diff(run, spec, &from, &tree, DiffStyle::Stat)?)
        }
        Approves::Artifacts => None,
    };
    let earlier = run.session.earlier(spec.stage);
    let edit = edit(run, spec, progress, shared)?;
    let look = since_last_review::since_last_review(run, spec, progress, &tree, edit.as_ref())?;
    if shared {
        let findings = report.findings.iter().map(|finding| finding.details.clone());
        let remarks =
            progress.gate.note.iter().cloned().chain(findings).chain(report.warnings.clone());
        let (iteration, remarks) = (progress.iteration, remarks.collect());
        let asks = if can_pass { Asks::Draft } else { Asks::Lacking };
        open_gate::open(run, spec, &tree, iteration, (asks, remarks))?;
    }
    let order = run.session.order();
    let number = order.iter().position(|stage| *stage == spec.stage).map_or(0, |at| at + 1);
    let code = match spec.approves {
        Approves::Tree => approved_content::shown_paths(run, spec, &from, &tree)?,
        Approves::Artifacts => Vec::new(),
    };
    gate.ask(&Draft {
        stage: spec.stage,
        place: (number, order.len()),
        records: record_table::record_table(spec, &store, &look.added),
        code: code.iter().map(|path| run.env.git.top().join(path)).collect(),
        iteration: progress.iteration,
        limit: progress::allowed(run, spec, progress)?,
        spent: usage::stage_so_far(run, progress),
        can_pass,
        documents: shown_documents(run, spec, &store)?,
        since: look.since,
        passed: report.passed,
        findings: report.findings.into_iter().map(|finding| finding.details).collect(),
        warnings: report.warnings,
        tried,
        said: look.said,
        unfixed: self_review::unfixed_about(run, spec, progress)?,
        actor_said: look.actor_said,
        critic_said: progress.verdicts.critic.as_ref().map(|(_, words)| words.clone()),
        challenger_said: progress.verdicts.challenger.as_ref().map(|(_, words)| words.clone()),
        critic_next: run.critic(spec).is_some()
            && progress.verdicts.critic.is_none()
            && !progress.gate.critic_asks,
        diffstat,
        full_diff: &full,
        broken: &|with_checks| {
            broken_edit::broken(run, spec, progress, progress.newest.commit.as_ref(), with_checks)
        },
        edited: edit.as_ref().map(Edit::names),
        actor: if shared { actor(run, spec)? } else { Actor::Absent },
        other_models: shared && run.env.others.is_some(),
        next_by: next_by(run, spec, progress)?,
        reply,
        earlier: &earlier,
        more: change::depth::depth(run)?
            .next()
            .filter(|_| spec.is_before_code() && !run.session.file.is_adopted()),
        note: progress.gate.note.clone(),
    })
}

/// What tests have shown of the code: the project's own, and those that criteria name. Their checks
/// in `passed` are left out.
fn tried(
    run: &Run<'_>,
    spec: &StageSpec,
    store: &Store<'_>,
    evidence: Option<&Evidence>,
    passed: &mut Vec<String>,
) -> anyhow::Result<Vec<(&'static str, String)>> {
    if !spec.writes_code() {
        return Ok(Vec::new());
    }
    let mut tried = Vec::new();
    for line in
        evidence.map_or_else(|| Ok(Vec::new()), |evidence| recorded::tests(run, evidence))?
    {
        tried.push(("Tests", line));
    }
    if !gather::has_tests(run) {
        let how = "none has run, because no test command is known; set one: git config \
                   cowork.project.test \"COMMAND\"";
        tried.push(("Tests", how.to_owned()));
    }
    let named = evidence.map(|evidence| evidence.tests.as_slice()).unwrap_or_default();
    passed.retain(|line| !named.iter().any(|test| test.passed_line() == *line));
    let requirements = store.requirements()?.requirements;
    let criteria: Vec<&Criterion> =
        requirements.iter().flat_map(|one| &one.acceptance_criteria).collect();
    let is_shown = |criterion: &&&Criterion| {
        let test = criterion.test.as_ref();
        test.is_some_and(|test| named.iter().any(|one| one.test == *test && one.is_shown()))
    };
    let (all, shown) = (criteria.len(), criteria.iter().filter(is_shown).count());
    if all > 0 {
        let by_review = match all - shown {
            0 => String::new(),
            left => format!(", {left} only by your review"),
        };
        tried.push(("Criteria", format!("{shown} of {all} shown by a test{by_review}")));
    }
    Ok(tried)
}

/// The stage's files that are not there or empty: a draft without them cannot pass.
pub(crate) fn missing(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<Vec<&'static str>> {
    let files = run.files();
    let store = Store::new(&files);
    let mut missing = Vec::new();
    for artifact in spec.artifacts {
        if store.text(*artifact)?.unwrap_or_default().trim().is_empty() {
            missing.push(artifact.file_name());
        }
    }
    Ok(missing)
}

/// The edit that can be reverted. In a run, this is the recorded edit; when a waiting draft is
/// answered, whatever differs from that draft.
fn edit(
    run: &Run<'_>,
    spec: &StageSpec,
    progress: &Progress,
    in_run: bool,
) -> anyhow::Result<Option<Edit>> {
    match run.session.waiting().filter(|_| !in_run) {
        Some(waiting) => edits::edit_since(run, spec, &waiting.draft.commit),
        None => Ok(progress.newest.edit.clone()),
    }
}

/// Whether the actor of the stage can answer questions.
fn actor(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<Actor> {
    let model = run.player(spec.stage, Role::Actor)?.model;
    Ok(match model.agent() {
        Some(_) => Actor::Agent(model.name().to_owned()),
        None => Actor::Answers,
    })
}

/// The model that makes the next draft, if a person has chosen another one.
fn next_by(run: &Run<'_>, spec: &StageSpec, progress: &Progress) -> anyhow::Result<Option<String>> {
    let Some(taken) = &progress.taken else { return Ok(None) };
    if run.taken.borrow().is_none() {
        // The model was not opened, because this mode asks nobody.
        return Ok(Some(taken.id.clone().unwrap_or_else(|| taken.name.clone())));
    }
    Ok(Some(run.player(spec.stage, Role::Actor)?.model.name().to_owned()))
}

/// The files a person reads and edits; empty in coding, where the diff is shown.
pub(crate) fn shown_documents(
    run: &Run<'_>,
    spec: &StageSpec,
    store: &Store<'_>,
) -> anyhow::Result<Vec<Document>> {
    if spec.approves == Approves::Tree {
        return Ok(Vec::new());
    }
    let mut documents = Vec::new();
    for artifact in spec.artifacts {
        if let Some(text) = store.text(*artifact)? {
            let path = crate::session::artifact_path(&run.session.name, *artifact);
            documents.push(Document {
                name: artifact.file_name().to_owned(),
                path: run.env.git.top().join(path),
                readable: match artifact {
                    Artifact::ChangeRequest => store.change_request()?.map(|change| change.prose()),
                    _ => None,
                },
                text,
            });
        }
    }
    Ok(documents)
}
