//! The tests that criteria name.

use std::collections::BTreeMap;

use crate::artifact::{Criterion, Requirement, Store};
use crate::pipeline::run::Run;
use crate::session;

/// A test that criteria name.
pub(super) struct Wanted {
    /// `file::name`
    pub(super) test: String,
    /// The ids of the requirements that name it.
    pub(super) of: Vec<String>,
    /// Whether it must fail on the base.
    pub(super) fails_before: bool,
    /// Whether this session added or changed a criterion that names it.
    pub(super) is_new: bool,
}

/// The tests that criteria name, each once. A test that the parent of a change request
/// already named need not fail on the base: that was the parent's obligation.
pub(super) fn wanted(run: &Run<'_>) -> anyhow::Result<Vec<Wanted>> {
    let requirements = run.store().requirements()?.requirements;
    let known = match session::parents_files(run.env.git, &run.session) {
        Some(parents) => Store::new(&parents).requirements()?.requirements,
        None => Vec::new(),
    };
    let was_named = |test: &str| named(&known).any(|(_, one)| one.test.as_deref() == Some(test));
    let mut wanted: BTreeMap<&str, Wanted> = BTreeMap::new();
    for (of, criterion) in named(&requirements) {
        let Some(test) = criterion.test.as_deref() else { continue };
        let one = wanted.entry(test).or_insert_with(|| Wanted {
            test: test.to_owned(),
            of: Vec::new(),
            fails_before: false,
            is_new: false,
        });
        one.is_new |= !named(&known).any(|(_, before)| before == criterion);
        one.fails_before |= criterion.fails_before && !was_named(test);
        if !one.of.contains(&of.id) {
            one.of.push(of.id.clone());
        }
    }
    Ok(wanted.into_values().collect())
}

fn named(requirements: &[Requirement]) -> impl Iterator<Item = (&Requirement, &Criterion)> {
    requirements.iter().flat_map(|one| one.acceptance_criteria.iter().map(move |c| (one, c)))
}
