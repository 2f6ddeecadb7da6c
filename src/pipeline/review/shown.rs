//! Collects what the gate shows of a draft: its documents and records, and the errors in documents
//! that a person saved (text that cannot be parsed, and findings of the checks).

use crate::artifact::check::Finding;
use crate::artifact::{Artifact, Criterion, Files, Priority, Store};
use crate::gate::{Actor, Broken, Decision, Document, Draft, Record, Records, Reply};
use crate::git::{DiffStyle, Oid};
use crate::pipeline::draft::self_review;
use crate::pipeline::draft_state::{DraftState, Edit};
use crate::pipeline::edits::{self, records};
use crate::pipeline::evidence::{Evidence, gather, recorded};
use crate::pipeline::files::approved_content;
use crate::pipeline::review::since_last_review;
use crate::pipeline::run::Run;
use crate::pipeline::step::Step;
use crate::pipeline::{change, checks, draft_count};
use crate::session::Asks;
use crate::stage::Role;
use crate::stages::{Approves, StageSpec};

/// Shows the draft and asks; if `shared`, as in a run, people at other terminals are asked as well.
/// `reply` is the message about the previous key.
pub(crate) fn ask_person(
    step: &Step<'_, '_>,
    shared: bool,
    reply: Option<Reply>,
) -> anyhow::Result<Decision> {
    let Some(gate) = &step.run.env.gate else { return Ok(Decision::Stop) };
    let store = step.run.store();
    let mut report = checks::check_report(step.run, step.spec, &step.draft)?;
    let evidence = step.draft.evidence.as_ref();
    let tried = tried(step.run, step.spec, &store, evidence, &mut report.passed)?;
    let can_pass = missing(step.run, step.spec)?.is_empty();
    let from = approved_content::shown_from(step.run, step.spec);
    let tree = step.run.tree()?;
    let full = |color| {
        approved_content::shown_diff_in(step.run, step.spec, &from, &tree, DiffStyle::Patch, color)
    };
    let diffstat = match step.spec.approves {
        Approves::Tree => {
            Some(approved_content::shown_diff(step.run, step.spec, &from, &tree, DiffStyle::Stat)?)
        }
        Approves::Artifacts => None,
    };
    let earlier = step.run.session.earlier(step.spec.stage);
    let edit = edit(step, shared)?;
    let look = since_last_review::since_last_review(step, &tree, edit.as_ref())?;
    if shared {
        let findings = report.findings.iter().map(|finding| finding.details.clone());
        let remarks =
            step.draft.gate.note.iter().cloned().chain(findings).chain(report.warnings.clone());
        let (iteration, remarks) = (step.draft.iteration, remarks.collect());
        let asks = if can_pass { Asks::Draft } else { Asks::Lacking };
        approved_content::open_gate(step.run, step.spec, &tree, iteration, (asks, remarks))?;
    }
    let order = step.run.session.order();
    let number = order.iter().position(|stage| *stage == step.spec.stage).map_or(0, |at| at + 1);
    let code = match step.spec.approves {
        Approves::Tree => approved_content::shown_paths(step.run, step.spec, &from, &tree)?,
        Approves::Artifacts => Vec::new(),
    };
    gate.ask(&Draft {
        stage: step.spec.stage,
        place: (number, order.len()),
        records: record_table(step.spec, &store, &look.added),
        code: code.iter().map(|path| step.run.env.git.top().join(path)).collect(),
        iteration: step.draft.iteration,
        limit: draft_count::allowed(step)?,
        spent: step.spent(),
        can_pass,
        documents: shown_documents(step.run, step.spec, &store)?,
        since: look.since,
        passed: report.passed,
        findings: report.findings.into_iter().map(|finding| finding.details).collect(),
        warnings: report.warnings,
        tried,
        said: look.said,
        unfixed: self_review::unfixed_about(step)?,
        actor_said: look.actor_said,
        critic_said: step.draft.approvals.critic.as_ref().map(|(_, words)| words.clone()),
        challenger_said: step.draft.approvals.challenger.as_ref().map(|(_, words)| words.clone()),
        critic_next: step.run.critic(step.spec).is_some()
            && step.draft.approvals.critic.is_none()
            && !step.draft.gate.critic_asks,
        diffstat,
        full_diff: &full,
        broken: &|with_checks| {
            broken(step.run, step.spec, &step.draft, step.draft.commit.as_ref(), with_checks)
        },
        edited: edit.as_ref().map(Edit::names),
        actor: if shared { actor(step.run, step.spec)? } else { Actor::Absent },
        other_models: shared && step.run.env.others.is_some(),
        next_by: next_by(step)?,
        reply,
        earlier: &earlier,
        more: change::scope::depth(step.run)?
            .next()
            .filter(|_| step.spec.is_before_code() && !step.run.session.file.is_adopted()),
        note: step.draft.gate.note.clone(),
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
    let store = run.store();
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
fn edit(step: &Step<'_, '_>, in_run: bool) -> anyhow::Result<Option<Edit>> {
    match step.run.session.waiting().filter(|_| !in_run) {
        Some(waiting) => edits::edit_since(step.run, step.spec, &waiting.draft.commit),
        None => Ok(step.draft.edit.clone()),
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
fn next_by(step: &Step<'_, '_>) -> anyhow::Result<Option<String>> {
    let Some(taken) = &step.draft.taken else { return Ok(None) };
    if step.run.taken.borrow().is_none() {
        // The model was not opened, because this mode asks nobody.
        return Ok(Some(taken.id.clone().unwrap_or_else(|| taken.name.clone())));
    }
    Ok(Some(step.run.player(step.spec.stage, Role::Actor)?.model.name().to_owned()))
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
            let path = run.path_of(*artifact);
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

/// The tasks of a plan, the components of a design, or the requirements. `None` if the stage writes
/// no records, or they cannot be read. `added` are the ids of new records.
pub(crate) fn record_table(
    spec: &StageSpec,
    store: &Store<'_>,
    added: &[String],
) -> Option<Records> {
    let has = |artifact| spec.artifacts.contains(&artifact);
    let (kind, heads, rows) = if has(Artifact::Plan) {
        ("task", vec!["feature", "after", "files"], tasks(store)?)
    } else if has(Artifact::Design) {
        ("component", vec!["type", "features"], components(store)?)
    } else if has(Artifact::Requirements) {
        ("requirement", vec!["priority"], requirements(store)?)
    } else {
        return None;
    };
    let plural = if rows.len() == 1 { "" } else { "s" };
    let record = |cells: Vec<String>| Record {
        is_new: cells.first().is_some_and(|id| added.contains(id)),
        cells,
    };
    let count = format!("{} {kind}{plural}", rows.len());
    Some(Records { count, heads, rows: rows.into_iter().map(record).collect() })
}

fn requirements(store: &Store<'_>) -> Option<Vec<Vec<String>>> {
    let all = store.requirements().ok()?.requirements.into_iter();
    let priority = |priority| match priority {
        Priority::High => "high",
        Priority::Medium => "medium",
        Priority::Low => "low",
    };
    Some(all.map(|r| vec![r.id, r.title, priority(r.priority).to_owned()]).collect())
}

fn components(store: &Store<'_>) -> Option<Vec<Vec<String>>> {
    let all = store.design().ok()?.components.into_iter();
    let row = |c: crate::artifact::Component| {
        vec![c.id, c.name, c.component_type, c.related_features.join(", ")]
    };
    Some(all.map(row).collect())
}

fn tasks(store: &Store<'_>) -> Option<Vec<Vec<String>>> {
    let plan = store.plan().ok()?;
    let features = store.features().ok()?.features;
    let row = |task: &crate::artifact::Task| {
        let feature = features.iter().find(|feature| feature.id == task.feature_id);
        let feature = feature.map_or(task.feature_id.clone(), |f| format!("{} {}", f.id, f.name));
        let short = |id: &String| id.strip_prefix("TASK-").unwrap_or(id).to_owned();
        let after: Vec<String> = task.dependencies.iter().map(short).collect();
        let after = if after.is_empty() { "–".to_owned() } else { after.join(", ") };
        let files: Vec<&str> = plan.files_of(&task.id).collect();
        vec![task.id.clone(), task.title.clone(), feature, after, files.join(", ")]
    };
    Some(plan.tasks.iter().filter(|task| task.is_top_level()).map(row).collect())
}

/// Returns the errors in the documents on disk, ignoring comments on the draft that was `shown`.
/// `with_checks` also checks the records that follow from them.
pub(crate) fn broken(
    run: &Run<'_>,
    spec: &StageSpec,
    draft: &DraftState,
    shown: Option<&Oid>,
    with_checks: bool,
) -> anyhow::Result<Broken> {
    let lines = records::unreadable(run, shown)?;
    if !lines.is_empty() {
        return Ok(Broken { lines, is_readable: false });
    }
    let runs_checks = with_checks && spec.approves == Approves::Artifacts;
    let lines = match runs_checks {
        true => records::as_settled(run, |files| refused_by_checks(run, spec, draft, files))?,
        false => Vec::new(),
    };
    Ok(Broken { lines, is_readable: true })
}

/// The findings of the checks, each with its file and line if known.
fn refused_by_checks(
    run: &Run<'_>,
    spec: &StageSpec,
    draft: &DraftState,
    files: &dyn Files,
) -> anyhow::Result<Vec<String>> {
    let report = checks::report_on(run, spec, draft, files)?;
    report.findings.iter().map(|finding| placed(spec, files, finding)).collect()
}

/// `prd.md:12: REQ-002 has no acceptance criterion`
fn placed(spec: &StageSpec, files: &dyn Files, finding: &Finding) -> anyhow::Result<String> {
    let Some(id) = &finding.about else { return Ok(finding.details.clone()) };
    for document in spec.artifacts.iter().filter(|artifact| !artifact.is_json()) {
        let text = files.read(*document)?.unwrap_or_default();
        let heads = |line: &str| {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '.');
            line.starts_with('#') && words.any(|word| word == id)
        };
        if let Some(at) = text.lines().position(heads) {
            return Ok(format!("{}:{}: {}", document.file_name(), at + 1, finding.details));
        }
    }
    Ok(finding.details.clone())
}
