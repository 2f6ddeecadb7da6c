//! The secrets check of every draft, and all checks that a whole session must still pass.

use std::collections::BTreeMap;

use crate::artifact::Store;
use crate::artifact::check::{self, Finding, Report};
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;
use crate::record::Leak;
use crate::stage::Stage;
use crate::stages::{CheckInput, lasting_checks};

/// The findings for what a draft contains although it must not be committed: secrets, without their
/// values, copies of a person's uncommitted work, and repositories that would run something.
pub(super) fn leaks_found(leaks: &[Leak]) -> Vec<Finding> {
    let of = |is: fn(&Leak) -> bool| {
        let places = leaks.iter().filter(|leak| is(leak)).map(ToString::to_string);
        Some(places.collect::<Vec<_>>().join("; ")).filter(|places| !places.is_empty())
    };
    let kinds = [
        (
            of(|leak| matches!(leak, Leak::Secret { .. })),
            "secrets are never committed",
            "take it out: read it from an environment variable when the program runs, or write a \
             placeholder that says EXAMPLE; a file that must contain a secret belongs in .gitignore",
        ),
        (
            of(|leak| matches!(leak, Leak::Copy { .. })),
            "uncommitted work of your user is never committed",
            "delete the copy, or write content of your own",
        ),
        (
            of(|leak| matches!(leak, Leak::Repository(_))),
            "whoever checks it out would run that",
            "delete it, or make it where it is needed, in a temporary folder",
        ),
    ];
    let found = |(places, why, fix): (Option<String>, &str, &str)| {
        let details = format!("{}; {why}", places?);
        Some(Finding::wrong("secret", details).critical().fix(fix))
    };
    kinds.into_iter().filter_map(found).collect()
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
