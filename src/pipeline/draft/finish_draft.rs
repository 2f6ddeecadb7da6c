//! Completes a draft without a model: feature statuses, and the report sections that git-cowork
//! writes itself.

use std::fmt::Write as _;

use crate::artifact::check::{Report, derive_feature_status, has_code};
use crate::artifact::{Artifact, Criterion, FeatureStatus, Store, Task};
use crate::git;
use crate::pipeline::change::scope;
use crate::pipeline::checks::{not_covered, whole_session};
use crate::pipeline::draft_state::DraftState;
use crate::pipeline::evidence::named_tests::NamedTest;
use crate::pipeline::evidence::{Evidence, gather};
use crate::pipeline::files::project_files;
use crate::pipeline::report::{self, cell};
use crate::pipeline::run::Run;
use crate::pipeline::test_changes::{self, asked};
use crate::stages::{self, CheckInput, Known, StageSpec, WrittenHere};

/// Maximum characters of a line about a run or finding.
const LINE: usize = 1_000;

/// The heading of the section of `check_report.md` that git-cowork writes itself.
const MECHANICAL: &str = "## What the program checked itself";

/// Completes a draft: feature statuses, and git-cowork's section of the check report. `task` is the
/// task that is about to be committed, if any.
pub(crate) fn finish(
    run: &Run<'_>,
    spec: &StageSpec,
    draft: &DraftState,
    task: Option<&Task>,
) -> anyhow::Result<()> {
    put_back_others(run, spec)?;
    let store = run.store();
    if let (Some(finish), Some(document)) = (spec.finish, spec.document())
        && let Some(text) = store.text(document)?
    {
        let facts = KnownNow { run, store: &store, draft };
        store.save_text(document, &finish(&text, &facts)?)?;
    }
    finish_features(run, spec, draft, task)?;
    Ok(())
}

/// Writes the stage's document without asking a model, if the depth says so. Returns false if a
/// model must be asked.
pub(crate) fn write_here(
    run: &Run<'_>,
    spec: &StageSpec,
    draft: &DraftState,
) -> anyhow::Result<bool> {
    let store = run.store();
    let (Some(when), Some(rendered)) = (run.depth().written_here(spec.stage), spec.rendered) else {
        return Ok(false);
    };
    let facts = KnownNow { run, store: &store, draft };
    if when == WrittenHere::WhereItSuffices && !(rendered.suffices)(&facts)? {
        return Ok(false);
    }
    if let Some(document) = spec.document() {
        store.save_text(document, &(rendered.text)(&facts)?)?;
    }
    Ok(true)
}

/// Sets feature statuses from the tasks, their code and the check results. Returns true if that
/// changed the file.
pub(crate) fn finish_features(
    run: &Run<'_>,
    spec: &StageSpec,
    draft: &DraftState,
    task: Option<&Task>,
) -> anyhow::Result<bool> {
    if spec.is_before_code() {
        return Ok(false);
    }
    let store = run.store();
    let before = store.features()?;
    let mut features = before.clone();
    let (plan, code) = (store.plan()?, project_files::code_changes(run, task)?);
    let baseline = project_files::baseline_of_change(run)?;
    let has_code = has_code(&plan, &code, baseline.as_ref());
    // If the depth has no verifying stage, the coding stage does that stage's work.
    let verifying = stages::row(stages::verifying());
    let verifies_here = spec.writes_code() && !run.depth().has(verifying.stage);
    for feature in features.features.iter_mut().filter(|_| verifies_here) {
        // The status is that of the previous draft; this draft has not been checked yet.
        if feature.status == FeatureStatus::Verified {
            feature.status = FeatureStatus::Implemented;
        }
    }
    derive_feature_status(&mut features, &plan, &has_code);
    let verifies = gather::verifies(run, draft.evidence.as_ref());
    for feature in &mut features.features {
        feature.status = (spec.feature_status)(feature.status, verifies);
        if verifies_here && task.is_none() {
            feature.status = (verifying.feature_status)(feature.status, verifies);
        }
    }
    // An unchanged file keeps its bytes, whoever formatted it.
    if features != before {
        store.save(Artifact::Features, &features)?;
    }
    Ok(features != before)
}

/// Restores documents of other stages that changed while one of the actor's commands ran; the
/// actor's tools cannot write these documents. The changed version is saved as a blob, because a
/// person may have written it at that moment.
fn put_back_others(run: &Run<'_>, spec: &StageSpec) -> anyhow::Result<()> {
    let mut may_change = vec![Artifact::Feedback];
    may_change.extend(spec.artifacts);
    if !spec.is_before_code() {
        may_change.extend([Artifact::Features, Artifact::ImplementationPlan]);
    }
    let others = Artifact::ALL.into_iter().filter(|artifact| !may_change.contains(artifact));
    let mut others: Vec<String> = others.map(|artifact| run.path_of(artifact)).collect();
    let by_commands = run.env.workspace.command_effects().documents();
    others.retain(|path| by_commands.contains(path));
    if others.is_empty() {
        return Ok(());
    }
    let git = run.env.git;
    let paths: Vec<String> =
        git::status::of(git, &others)?.into_iter().map(|entry| entry.path).collect();
    let copies = git::blobs::hash_files(git, &paths, crate::git::Store::Write)?;
    git::put_back::restore_paths(git, &run.session.tip, &paths)?;
    for (path, copy) in paths.iter().zip(copies) {
        let copy = copy.map(|blob| format!("; the changed version: git cat-file -p {blob}"));
        run.warn(format!(
            "{path} changed while a command ran, but {} must not change it: restored{}",
            spec.stage,
            copy.unwrap_or_default()
        ));
    }
    Ok(())
}

/// The results of git-cowork's own checks, as a section of the check report.
pub(crate) fn mechanical_section(
    run: &Run<'_>,
    store: &Store<'_>,
    evidence: Option<&Evidence>,
) -> anyhow::Result<String> {
    let report = checked_again(run, store, evidence)?;
    let mut out = format!("{MECHANICAL}\n\n");
    let runs = evidence.map(Evidence::lines).unwrap_or_default();
    if runs.is_empty() {
        out += "- no build, test or lint command is known for this project: nothing was run\n";
    }
    for line in &runs {
        let _ = writeln!(out, "- {}", cell(line, LINE));
    }
    if !gather::has_tests(run) {
        out += "- no tests to run: no test command is configured, and none was found\n";
    }
    if !gather::verifies(run, evidence) {
        out += "- no feature is verified: the project's tests did not pass on this tree\n";
    }
    out += &criteria_items(run, store, evidence)?;
    for line in &report.passed {
        let _ = writeln!(out, "- {}", cell(line, LINE));
    }
    for finding in &report.findings {
        let _ = writeln!(out, "- not met: {}", finding.details);
    }
    for line in &report.warnings {
        let _ = writeln!(out, "- {}", cell(line, LINE));
    }
    out += &test_items(run)?;
    for path in scope::outside_scope(run, &project_files::code_since_start(run, &run.session.tip)?)?
    {
        let _ = writeln!(out, "- outside the scope of the change: {path}");
    }
    Ok(out)
}

/// The checks of all stages, run again.
fn checked_again(
    run: &Run<'_>,
    store: &Store<'_>,
    evidence: Option<&Evidence>,
) -> anyhow::Result<Report> {
    let baseline = project_files::baseline_of_change(run)?;
    let project = project_files::project_files(run)?;
    let input = CheckInput {
        store: *store,
        sizes: run.limits().sizes(),
        baseline: baseline.as_ref(),
        files: &project,
        evidence: evidence.map(Evidence::report),
        drafting: false,
    };
    Ok(whole_session(&run.session.order(), &input))
}

/// The check report's lines about acceptance criteria: for each criterion, the test or the review
/// that shows that it is met.
fn criteria_items(
    run: &Run<'_>,
    store: &Store<'_>,
    evidence: Option<&Evidence>,
) -> anyhow::Result<String> {
    let requirements = store.requirements()?.requirements;
    if requirements.iter().all(|one| one.acceptance_criteria.is_empty()) {
        return Ok(String::new());
    }
    let reviewer =
        report::judged(run).unwrap_or_else(|| "Nobody has approved the code.".to_owned());
    let mut out = format!("- criteria. {reviewer}\n");
    let tests = evidence.map(|evidence| evidence.tests.as_slice()).unwrap_or_default();
    let became = |test: &str| tests.iter().find(|one| one.test == test).map(NamedTest::words);
    let gaps = not_covered(run, store)?;
    let before = project_files::baseline_of_change(run)?.unwrap_or_default();
    for requirement in &requirements {
        for criterion in &requirement.acceptance_criteria {
            let is_new = !before.has_criterion(&requirement.id, criterion);
            let why = gaps.get(&requirement.id).filter(|_| is_new);
            let line = report::criterion_line(criterion, why, became);
            let _ = writeln!(out, "  - {}: {line}", cell(&requirement.id, LINE));
        }
    }
    Ok(out)
}

/// The check report's lines about tests: deleted, skipped or weakened ones, and new ones that
/// nobody asked for.
fn test_items(run: &Run<'_>) -> anyhow::Result<String> {
    let changes = test_changes::changes_of_tests(run, &run.session.tip)?;
    let mut out = String::new();
    if changes.weakened.is_empty() {
        out += "- no test was deleted, skipped or weakened\n";
    } else {
        out += "- tests that were deleted, skipped or weakened:\n";
    }
    for weakened in &changes.weakened {
        let _ = writeln!(out, "  - {}", cell(&weakened.to_string(), LINE));
    }
    if let Some(unasked) = asked::unasked_tests(run, &changes)? {
        let _ = writeln!(out, "- {}", cell(&unasked.words(&unasked.files), LINE));
    }
    Ok(out)
}

/// Supplies the text that a stage's row in the stage table may add to the stage's document.
struct KnownNow<'a> {
    run: &'a Run<'a>,
    store: &'a Store<'a>,
    draft: &'a DraftState,
}

impl Known for KnownNow<'_> {
    fn with_checked(&self, report: &str) -> anyhow::Result<String> {
        let section = mechanical_section(self.run, self.store, self.draft.evidence.as_ref())?;
        Ok(with_section(report, MECHANICAL, &section))
    }

    fn all_is_shown(&self) -> anyhow::Result<bool> {
        let (run, evidence) = (self.run, self.draft.evidence.as_ref());
        let tests = evidence.map(|evidence| evidence.tests.as_slice()).unwrap_or_default();
        let is_shown = |criterion: &Criterion| match &criterion.test {
            Some(test) => tests.iter().any(|one| one.test == *test && one.is_shown()),
            None => report::judged(run).is_some(),
        };
        let requirements = self.store.requirements()?.requirements;
        let mut criteria = requirements.iter().flat_map(|one| &one.acceptance_criteria);
        Ok(gather::verifies(run, evidence)
            && criteria.all(is_shown)
            && not_covered(run, self.store)?.is_empty()
            && checked_again(run, self.store, evidence)?.findings.is_empty()
            && test_changes::changes_of_tests(run, &run.session.tip)?.weakened.is_empty())
    }

    fn has_summary(&self) -> anyhow::Result<bool> {
        Ok(!report::said_of_the_code(self.run, self.store)?.is_empty())
    }

    fn summary(&self) -> anyhow::Result<String> {
        report::summary_of(self.run, self.store)
    }

    fn with_story(&self, report: &str) -> anyhow::Result<String> {
        report::delivery_report(self.run, self.store, report)
    }
}

/// `report` with git-cowork's section at its end; an earlier section with that heading is removed.
fn with_section(report: &str, heading: &str, section: &str) -> String {
    let mut is_own = false;
    let mut text = String::new();
    for line in report.lines() {
        is_own = line.trim_end() == heading
            || (is_own && !line.starts_with("# ") && !line.starts_with("## "));
        if !is_own {
            text += line;
            text.push('\n');
        }
    }
    format!("{}\n\n{section}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_own_section_is_written_once() {
        let with = |report: &str, item: &str| {
            with_section(report, MECHANICAL, &format!("{MECHANICAL}\n\n- {item}\n"))
        };
        let once = with("# Report\n\nAll well.\n", "a");
        let twice = with(&format!("{once}\n## By the model\n\nMore.\n"), "b");
        assert_eq!(
            twice,
            format!("# Report\n\nAll well.\n\n## By the model\n\nMore.\n\n{MECHANICAL}\n\n- b\n")
        );
    }
}
