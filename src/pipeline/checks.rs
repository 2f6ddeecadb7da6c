//! The mechanical checks of a row: what must hold of a draft before anybody is asked about it.

use crate::artifact::check::{self, Baseline, Finding, Report};
use crate::artifact::{FeedbackType, Store};
use crate::config::Limits;

use std::cell::RefCell;

use super::evidence::Evidence;
use crate::git::{Git, Oid};
use crate::record::Leak;
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
    /// Every task done, and the project's tests pass.
    Coding,
    /// The check report, and all of the above still holds.
    Report,
    /// Real files, and a report.
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
    /// Whether a path is in the session's history.
    pub exists: &'a dyn Fn(&str) -> bool,
    /// What was run on this tree.
    pub evidence: Option<&'a Evidence>,
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

/// Which files a commit holds. A git that could not be asked (somebody stops the run) is no file
/// that is missing: nothing may be concluded from a report before [`Recorded::heard`] said so.
pub(super) struct Recorded<'a> {
    git: &'a Git,
    commit: &'a Oid,
    failed: RefCell<Option<anyhow::Error>>,
}

impl<'a> Recorded<'a> {
    pub(super) fn at(git: &'a Git, commit: &'a Oid) -> Self {
        Self { git, commit, failed: RefCell::default() }
    }

    /// Whether the file is there; true where git could not be asked.
    pub(super) fn has(&self, path: &str) -> bool {
        match self.git.blob_id(self.commit, path) {
            Ok(blob) => blob.is_some(),
            Err(error) => {
                self.failed.replace(Some(error));
                true
            }
        }
    }

    /// # Errors
    /// Git could not be asked about some file.
    pub(super) fn heard(self) -> anyhow::Result<()> {
        self.failed.into_inner().map_or(Ok(()), Err)
    }
}

impl Check {
    /// Runs them.
    pub fn run(self, input: &CheckInput<'_>) -> Report {
        let CheckInput { store, limits, baseline, exists, evidence } = input;
        match self {
            Self::Triage => check::triage(store),
            Self::Idea => check::idea(store),
            Self::Prd => check::prd(store, limits, *baseline),
            Self::Design => check::design(store, limits, *baseline),
            Self::Plan => check::plan(store, limits, *baseline),
            Self::Coding => {
                let mut report = check::coding(store, *exists, *baseline);
                report.merge(tests_pass(*evidence));
                report
            }
            Self::Report => check::check_report(store),
            Self::Delivery => check::delivery(store, *exists, *baseline),
        }
    }
}

/// Everything that was checked in these stages before and must still hold, for the check stage.
pub fn whole_session(stages: &[Stage], input: &CheckInput<'_>) -> Report {
    let mut report = Report::default();
    let parts = [
        (Stage::Prd, Check::Prd),
        (Stage::Design, Check::Design),
        (Stage::Plan, Check::Plan),
        (Stage::Coding, Check::Coding),
    ];
    for (_, part) in parts.into_iter().filter(|(stage, _)| stages.contains(stage)) {
        report.merge(part.run(input));
    }
    report
}

fn tests_pass(evidence: Option<&Evidence>) -> Report {
    let mut report = Report::default();
    match evidence {
        None => {}
        Some(evidence) if evidence.passed() => report.passed.push(evidence.trailer()),
        Some(evidence) => {
            let said = match evidence.tail.trim() {
                "" => "it printed nothing; run it to see why".to_owned(),
                tail => format!("its output ends:\n{tail}"),
            };
            let details = format!("{}; {said}", evidence.trailer());
            let mut finding = Finding::wrong("tests-fail", details).critical();
            finding.feedback_type = FeedbackType::BuildError;
            report.findings.push(finding);
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_tests_say_something_even_when_they_print_nothing() {
        let said = |tail: &str| {
            let tree = "1234567890123456789012345678901234567890".parse().unwrap();
            let evidence = Evidence {
                command: "make test".to_owned(),
                exit: Some(2),
                timed_out: false,
                tree,
                tail: tail.to_owned(),
            };
            tests_pass(Some(&evidence)).findings.remove(0).details
        };
        assert_eq!(said("a\nb"), "failed (make test, exit 2); its output ends:\na\nb");
        assert!(said(" \n").ends_with("exit 2); it printed nothing; run it to see why"));
    }
}
