//! The mechanical checks of a row: what must hold of a draft before anybody is asked about it.

use super::evidence::Evidence;
use crate::artifact::Store;
use crate::artifact::check::{self, Baseline, Finding, Report};
use crate::config::Limits;
use crate::record::Leak;
use crate::session::ProjectFiles;
use crate::stage::Stage;

/// Which checks a stage has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// `change_request.json`
    Triage,
    /// `idea.md`
    Idea,
    /// Requirements and features.
    Prd,
    /// Components.
    Design,
    /// Tasks.
    Plan,
    /// Every task done with a change, and no command of the project's fails newly.
    Coding,
    /// The check report, and all of the above still holds.
    Report,
    /// A change outside `.cowork`, and a report.
    Delivery,
}

/// What checks look at.
pub struct CheckInput<'a> {
    /// The draft.
    pub store: Store<'a>,
    /// How much there may be.
    pub limits: &'a Limits,
    /// What a change request began with.
    pub baseline: Option<&'a Baseline>,
    /// The project's files with the draft.
    pub files: &'a ProjectFiles,
    /// What was run on this tree.
    pub evidence: Option<&'a Evidence>,
    /// It is the stage's draft, which its author can still change.
    pub drafting: bool,
}

/// Secrets in a draft, for whoever takes them out; no value is named.
pub(super) fn secrets_found(leaks: &[Leak]) -> Finding {
    let places: Vec<String> = leaks.iter().map(Leak::to_string).collect();
    let details = format!("{}; secrets are never committed", places.join("; "));
    Finding::wrong("secret", details).critical().fix(
        "take it out: read it from an environment variable when the program runs, or write a \
         placeholder that says EXAMPLE; a file that must hold one belongs into .gitignore",
    )
}

impl Check {
    /// Runs them.
    pub fn run(self, input: &CheckInput<'_>) -> Report {
        let CheckInput { store, limits, baseline, files, evidence, drafting } = input;
        let baseline = *baseline;
        match self {
            Self::Triage => check::triage(store),
            Self::Idea => check::idea(store, *drafting),
            Self::Prd => check::prd(store, limits, baseline),
            Self::Design => check::design(store, limits, baseline),
            Self::Plan => {
                let mut report = check::plan(store, limits, baseline);
                if *drafting {
                    let known = |path: &str| files.known(path);
                    report.merge(check::planned_files(store, &known, baseline));
                }
                report
            }
            Self::Coding => {
                let mut report =
                    check::coding(store, &|path| files.exist(path), &files.code, baseline);
                report.merge(evidence.map(Evidence::report).unwrap_or_default());
                report
            }
            Self::Report => check::check_report(store),
            Self::Delivery => check::delivery(store, &files.code),
        }
    }
}

/// Everything that was checked in these stages before and must still hold, for the check stage.
pub fn whole_session(stages: &[Stage], input: &CheckInput<'_>) -> Report {
    let mut report = Report::default();
    by_stage(stages, input).into_iter().for_each(|(_, part)| report.merge(part));
    report
}

/// The same, with the stage each part belongs to.
pub fn by_stage(stages: &[Stage], input: &CheckInput<'_>) -> Vec<(Stage, Report)> {
    let parts = [
        (Stage::Prd, Check::Prd),
        (Stage::Design, Check::Design),
        (Stage::Plan, Check::Plan),
        (Stage::Coding, Check::Coding),
    ];
    let parts = parts.into_iter().filter(|(stage, _)| stages.contains(stage));
    parts.map(|(stage, part)| (stage, part.run(input))).collect()
}
