//! The mechanical checks of a draft, the secrets check of every draft, and all checks that a whole
//! session must still pass.

use std::collections::BTreeMap;

use crate::artifact::check::{self, Finding, Report};
use crate::artifact::{Files, Store};
use crate::pipeline::change::scope;
use crate::pipeline::draft_state::DraftState;
use crate::pipeline::evidence::Evidence;
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;
use crate::pipeline::test_changes;
use crate::record::{self, Leak};
use crate::stage::Stage;
use crate::stages::{CheckInput, StageSpec, lasting_checks};

/// The findings for what a draft contains although it must not be committed: secrets, without their
/// values, copies of a person's uncommitted work, and repositories that would run something.
pub(super) fn leaks_found(leaks: &[Leak]) -> Vec<Finding> {
    let places_of = |is: fn(&Leak) -> bool| {
        let places = leaks.iter().filter(|leak| is(leak)).map(ToString::to_string);
        Some(places.collect::<Vec<_>>().join("; ")).filter(|places| !places.is_empty())
    };
    let kinds = [
        (
            places_of(|leak| matches!(leak, Leak::Secret { .. })),
            "secrets are never committed",
            "take it out: read it from an environment variable when the program runs, or write a \
             placeholder that says EXAMPLE; a file that must contain a secret belongs in .gitignore",
        ),
        (
            places_of(|leak| matches!(leak, Leak::Copy { .. })),
            "uncommitted work of your user is never committed",
            "delete the copy, or write content of your own",
        ),
        (
            places_of(|leak| matches!(leak, Leak::Repository(_))),
            "whoever checks it out would run that",
            "delete it, or make it where it is needed, in a temporary folder",
        ),
    ];
    let finding = |(places, why, fix): (Option<String>, &str, &str)| {
        let details = format!("{}; {why}", places?);
        Some(Finding::wrong("secret", details).critical().fix(fix))
    };
    kinds.into_iter().filter_map(finding).collect()
}

/// Runs, for the check stage, those checks of `stages` that must still pass.
pub fn whole_session(stages: &[Stage], input: &CheckInput<'_>) -> Report {
    let mut report = Report::default();
    lasting_checks(stages, input).into_iter().for_each(|(_, part)| report.merge(part));
    report
}

/// The requirements that no completed task meets, by id, with the reason.
pub(super) fn not_covered(
    run: &Run<'_>,
    store: &Store<'_>,
) -> anyhow::Result<BTreeMap<String, String>> {
    let baseline = project_files::baseline_of_change(run)?;
    let (requirements, features) = (store.requirements()?, store.features()?);
    Ok(check::not_covered(&requirements, &features, &store.plan()?, baseline.as_ref()))
}

pub(crate) fn check_report(
    run: &Run<'_>,
    spec: &StageSpec,
    draft: &DraftState,
) -> anyhow::Result<Report> {
    report_on(run, spec, draft, &run.files)
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
        let gaps = not_covered(run, &run.store())?;
        remarks.extend(gaps.iter().map(|(id, why)| format!("{id} is not covered: {why}")));
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
