//! The mechanical checks of a draft.

use crate::artifact::check::Report;
use crate::artifact::{Files, Store};
use crate::pipeline::change::scope;
use crate::pipeline::checks::{leaks_found, not_covered};
use crate::pipeline::draft_state::DraftState;
use crate::pipeline::evidence::Evidence;
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;
use crate::pipeline::test_changes;
use crate::record;
use crate::stages::{CheckInput, StageSpec};

pub(crate) fn check_report(
    run: &Run<'_>,
    spec: &StageSpec,
    draft: &DraftState,
) -> anyhow::Result<Report> {
    report_on(run, spec, draft, run.files())
}

/// Like [`check_report`], with these files instead of those in the working tree.
pub(crate) fn report_on(
    run: &Run<'_>,
    spec: &StageSpec,
    draft: &DraftState,
    files: &dyn Files,
) -> anyhow::Result<Report> {
    let baseline = project_files::baseline_of_change(run)?;
    let project = project_files::project_files(run)?;
    let mut report = (spec.check)(&CheckInput {
        store: Store::new(files),
        sizes: run.limits().sizes(),
        baseline: baseline.as_ref(),
        files: &project,
        evidence: draft.evidence.as_ref().map(Evidence::report),
        drafting: true,
    });
    if spec.offers("save_idea") && run.session.is_patch() {
        report.merge(scope::report_on_idea(run)?);
    }
    report.warnings.extend(scope::widened(run, spec)?.map(|(_, words)| words));
    report.warnings.extend(remarks(run, spec, draft)?);
    of_every_draft(run, spec, &mut report)?;
    Ok(report)
}

/// What rejects no draft and is told in every mode.
pub(crate) fn remarks(
    run: &Run<'_>,
    spec: &StageSpec,
    draft: &DraftState,
) -> anyhow::Result<Vec<String>> {
    let mut remarks = Vec::from_iter(scope::unchanged_stage(run, spec, &draft.words)?);
    if spec.rechecks {
        let uncovered = not_covered(run, &run.store())?;
        remarks.extend(uncovered.iter().map(|(id, why)| format!("{id} is not covered: {why}")));
    }
    Ok(remarks)
}

/// The checks of a task before its commit; tasks that are still open are not reported.
pub(crate) fn task_report(
    run: &Run<'_>,
    spec: &StageSpec,
    draft: &DraftState,
) -> anyhow::Result<Report> {
    let mut report = draft.evidence.as_ref().map(Evidence::report).unwrap_or_default();
    of_every_draft(run, spec, &mut report)?;
    Ok(report)
}

fn of_every_draft(run: &Run<'_>, spec: &StageSpec, report: &mut Report) -> anyhow::Result<()> {
    test_changes::look_at_tests(run, spec, report)?;
    let leaks = record::leaks::find(&run.recorder(), &run.session.tip)?;
    report.findings.extend(leaks_found(&leaks));
    Ok(())
}
