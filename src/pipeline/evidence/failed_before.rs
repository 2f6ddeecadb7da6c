//! Failures that do not count because the same command failed before the session: the comparison of a
//! run with the run on the code as the session found it.

use std::collections::BTreeSet;

use super::check_run::{CheckRun, DEPENDENCIES, Which};

/// The result of a run, compared with the one before the session's first change. Only
/// [`Outcome::Passed`] is a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ran, and passed.
    Passed,
    /// It failed in a way it did not before. Contains the names of newly failing tests, if its
    /// output lists them.
    Failed(Vec<String>),
    /// It failed as it did before. Contains the names of the tests.
    AsBefore(Vec<String>),
    /// It could not be run, with the reason: `dependencies missing`. This is no evidence for or
    /// against the code.
    NotRun(String),
    /// It ran, and its own count says that there was no test. Contains the name of the runner. This
    /// is no evidence, either.
    NoTests(String),
}

impl Outcome {
    /// Why there is no result: `not run (dependencies missing)`, `no tests (pytest)`.
    pub(super) fn without_result(&self) -> Option<String> {
        match self {
            Self::NotRun(why) => Some(format!("not run ({why})")),
            Self::NoTests(runner) => Some(format!("no tests ({runner})")),
            Self::Passed | Self::Failed(_) | Self::AsBefore(_) => None,
        }
    }
}

impl CheckRun {
    /// Compares this run with the run before the session. Without names of tests, only identical
    /// output excuses a failure: a broken build must never count as tests that failed before. A
    /// command that did not run before excuses nothing.
    pub(crate) fn outcome(&self, before: Option<&Self>) -> Outcome {
        if let Some(why) = &self.not_run {
            return Outcome::NotRun(why.clone());
        }
        if let Some(runner) = self.without_tests.as_ref().filter(|_| !self.timed_out) {
            return Outcome::NoTests(runner.clone());
        }
        if self.passed() {
            return Outcome::Passed;
        }
        // If the earlier run passed although dependencies were missing, they are not the reason
        // why this run fails.
        let passed_lacking = before.is_some_and(|before| before.passed() && before.lacking);
        let before = before.filter(|before| before.not_run.is_none() && !before.passed());
        if let Some(what) = self.sandboxed(before) {
            return Outcome::NotRun(format!("sandbox: {what}"));
        }
        match self.compared(before) {
            Outcome::Failed(new) if !new.is_empty() => Outcome::Failed(new),
            _ if self.lacking && !passed_lacking => Outcome::NotRun(DEPENDENCIES.to_owned()),
            other => other,
        }
    }

    /// Its result before anything was changed, when there is nothing to compare it with.
    pub(crate) fn outcome_before(&self) -> Outcome {
        self.outcome(Some(self))
    }

    fn compared(&self, before: Option<&Self>) -> Outcome {
        let all = || self.failing.iter().cloned().collect();
        let Some(before) = before else { return Outcome::Failed(all()) };
        let excused = before.excuses();
        let met = |name: &&String| self.refused.as_ref().is_some_and(|r| r.tests.contains(*name));
        let new = self.failing.difference(&excused).filter(|name| !met(name));
        let new: Vec<String> = new.cloned().collect();
        let same_words = !self.words.is_empty() && self.words == before.words;
        let as_before = before.refused.is_none() && self.which == Which::Lint
            || (self.timed_out && before.timed_out)
            || (self.names_all() && before.names_all() && new.is_empty())
            || (same_words && self.exit == before.exit);
        if as_before { Outcome::AsBefore(all()) } else { Outcome::Failed(new) }
    }

    /// What the sandbox denied, if that explains all failures or all except those from before. The
    /// module `refused` explains what counts as proof.
    fn sandboxed(&self, before: Option<&Self>) -> Option<&str> {
        let refused = self.refused.as_ref()?;
        let excused = before.map(Self::excuses).unwrap_or_default();
        let accounted = |name| refused.tests.contains(name) || excused.contains(name);
        let shown =
            self.names_all() && !refused.tests.is_empty() && self.failing.iter().all(accounted);
        let met = before.filter(|before| {
            let same_words = !self.words.is_empty() && self.words == before.words;
            let named = self.names_all() && before.names_all();
            before.refused.as_ref().is_some_and(|before| before.what == refused.what)
                && self.exit == before.exit
                && (same_words || named && self.failing.is_subset(&before.failing))
        });
        (shown || met.is_some()).then_some(refused.what.as_str())
    }

    /// The tests that failed for other reasons than the sandbox, for the comparison with later
    /// runs. Empty if it is unknown which tests failed because of the sandbox.
    fn excuses(&self) -> BTreeSet<String> {
        match &self.refused {
            None => self.failing.clone(),
            Some(refused) if refused.tests.is_empty() => BTreeSet::new(),
            Some(refused) => self.failing.difference(&refused.tests).cloned().collect(),
        }
    }
}
