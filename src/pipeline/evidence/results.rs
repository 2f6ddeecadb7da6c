//! The results of the project's own build, tests and lint on one tree, compared with those before
//! the session: failures from before its first change do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::check_run::{CheckRun, EXCERPT, UNCOUNTED, Which};
use super::failed_before::Outcome;
use super::named_tests::{self, Became, NamedTest};
use crate::artifact::FeedbackType;
use crate::artifact::check::{Finding, Report};
use crate::excerpt;
use crate::git::Oid;
use crate::record::logs::TestRecord;
use crate::session::TestResults;

/// Maximum bytes of the output of a successful command that are shown.
const PASSED_EXCERPT: usize = 400;
/// Maximum number of failing tests that are named.
const NAMED: usize = 20;

/// The check results on one tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The tree they ran on.
    pub tree: Oid,
    /// The commands that were run, in this order.
    pub runs: Vec<CheckRun>,
    /// The runs of the project's commands before the session's first change.
    pub before: Vec<CheckRun>,
    /// Tests that criteria name.
    pub tests: Vec<NamedTest>,
    /// The runs of these tests, each with its tree.
    pub test_runs: Vec<(Oid, CheckRun)>,
    /// The results of such tests that an earlier commit records for the same code.
    pub earlier: Option<TestResults>,
}

impl Evidence {
    /// Evidence without any runs.
    pub fn without_runs(tree: Oid) -> Self {
        let (runs, before, tests) = (Vec::new(), Vec::new(), Vec::new());
        Self { tree, runs, before, tests, test_runs: Vec::new(), earlier: None }
    }

    /// The result of one run, compared with the same command before the session.
    pub fn outcome(&self, run: &CheckRun) -> Outcome {
        let same =
            |before: &&CheckRun| (before.which, &before.command) == (run.which, &run.command);
        run.outcome(self.before.iter().find(same))
    }

    /// True if all of the project's commands of this kind were run and passed.
    pub fn passed(&self, which: Which) -> bool {
        let mut runs = self.runs.iter().filter(|run| run.which == which).peekable();
        runs.peek().is_some() && runs.all(|run| self.outcome(run) == Outcome::Passed)
    }

    /// True if something fails that did not fail before the session.
    pub fn fails(&self) -> bool {
        self.runs.iter().any(|run| matches!(self.outcome(run), Outcome::Failed(_)))
    }

    /// A short result: that of the tests or, if they were not run, that of the first command.
    pub fn summary(&self) -> String {
        let tests = self.runs.iter().find(|run| run.which == Which::Test);
        let Some(run) = tests.or(self.runs.first()) else { return "no tests to run".to_owned() };
        let outcome = self.outcome(run);
        let how = outcome.without_result().unwrap_or_else(|| match outcome {
            Outcome::AsBefore(_) => "failed as before".to_owned(),
            Outcome::Failed(_) => "failed".to_owned(),
            _ => run.passed_words().to_owned(),
        });
        format!("{} {how}", run.command)
    }

    /// True if all commands were run, with all their dependencies.
    pub(crate) fn ran(&self) -> bool {
        let mut runs = self.runs.iter();
        runs.all(|run| self.outcome(run).without_result().is_none() && !run.lacked_dependencies())
    }

    /// True if a command failed, or could not be run, while dependencies were missing.
    pub fn lacks_dependencies(&self) -> bool {
        self.runs.iter().any(|run| !run.passed() && run.lacked_dependencies())
    }

    /// The value of `Cowork-Checks`: `passed (cargo build, cargo test)`,
    /// `failed (npm test, exit 1)`, `not run (dependencies missing)`. If results differ, failures
    /// come first, then passed commands, then those whose tests cannot be counted, then each reason
    /// for not running with its commands, then runners without tests.
    pub fn trailer(&self) -> String {
        let mut parts = Vec::new();
        let mut passed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut not_run: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        let mut no_tests = BTreeSet::new();
        for run in &self.runs {
            let (command, ending) = (run.command.as_str(), run.ending());
            let outcome = self.outcome(run);
            match &outcome {
                Outcome::Passed => passed.entry(run.passed_words()).or_default().push(command),
                Outcome::Failed(_) => parts.push(format!("failed ({command}, {ending})")),
                Outcome::AsBefore(_) => {
                    parts.push(format!("failed ({command}, {ending}, as before)"));
                }
                Outcome::NotRun(why) => not_run.entry(why.clone()).or_default().push(command),
                Outcome::NoTests(_) => no_tests.extend(outcome.without_result()),
            }
        }
        parts.extend(passed.into_iter().map(|(how, of)| format!("{how} ({})", of.join(", "))));
        let alone = parts.is_empty() && not_run.len() == 1 && no_tests.is_empty();
        parts.extend(not_run.into_iter().map(|(why, of)| match alone {
            true => format!("not run ({why})"),
            false => format!("not run ({why}: {})", of.join(", ")),
        }));
        parts.extend(no_tests);
        if parts.is_empty() { "none".to_owned() } else { parts.join("; ") }
    }

    /// `exit 1`, or the reason why there is no result: `not run (dependencies missing)`.
    fn ending(&self, run: &CheckRun) -> String {
        self.outcome(run).without_result().unwrap_or_else(|| run.ending())
    }

    /// The values of `Cowork-Evidence`, one per command: its exit status, the blob with its log,
    /// and the tree it ran on.
    pub fn digests(&self) -> Vec<String> {
        self.runs.iter().map(|run| self.digest(&self.tree, run)).collect()
    }

    /// The tests that criteria name, for the log of the stage's commit.
    pub fn test_record(&self) -> TestRecord {
        let earlier = self.earlier.clone().unwrap_or_default();
        TestRecord {
            tree: earlier.tree.unwrap_or_else(|| self.tree.to_string()),
            results: self.test_lines(),
            earlier: earlier.runs,
            runs: self.test_runs.iter().map(|(tree, run)| self.digest(tree, run)).collect(),
        }
    }

    fn digest(&self, tree: &Oid, run: &CheckRun) -> String {
        let tree = tree.abbreviated();
        let log = run.log.as_ref().map(|log| format!("log {}, ", log.abbreviated()));
        let log = log.unwrap_or_default();
        format!("{}: {}, {log}tree {tree}", run.command, self.ending(run))
    }

    /// The result of each test that a criterion names: `tests/add.rs::appends: passed, failed on
    /// the base`.
    fn test_lines(&self) -> Vec<String> {
        self.tests.iter().map(|test| format!("{}: {}", test.test, test.words())).collect()
    }

    /// One line for each command, for documents and messages.
    pub fn lines(&self) -> Vec<String> {
        let line = |run: &CheckRun| {
            let tree = self.tree.abbreviated();
            let mut line = format!("`{}` on tree `{tree}`: {}", run.command, self.ending(run));
            match self.outcome(run) {
                Outcome::Passed if run.passed_words() == UNCOUNTED => line += ", tests not counted",
                Outcome::Passed | Outcome::NotRun(_) | Outcome::NoTests(_) => {}
                Outcome::Failed(new) => line += &list("; newly failing: ", &new),
                Outcome::AsBefore(all) => {
                    line += "; it failed like this before the session";
                    line += &list(": ", &all);
                }
            }
            match &run.log {
                Some(log) => line + &format!(" (log `{}`)", log.abbreviated()),
                None => line,
            }
        };
        self.runs.iter().map(line).collect()
    }

    /// For prompts: the commands, their results and their output.
    pub fn describe(&self) -> String {
        let mut out = String::new();
        for run in &self.runs {
            let (command, ending) = (&run.command, run.ending());
            let said = |most| match excerpt::failures(&run.excerpt, most).trim() {
                "" => "(it printed nothing)".to_owned(),
                said => said.to_owned(),
            };
            let outcome = self.outcome(run);
            if let Some(how) = outcome.without_result() {
                let nothing = "This says nothing for or against this code";
                let said = if run.log.is_some() { said(EXCERPT) } else { String::new() };
                let _ = write!(out, "`{command}`: {how}. {nothing}.\n\n{said}\n\n");
                continue;
            }
            let (verdict, said) = match outcome {
                Outcome::Failed(new) => {
                    let new = list(". Newly failing: ", &new);
                    (format!("failed ({ending}){new}"), said(EXCERPT))
                }
                Outcome::AsBefore(all) => {
                    let all = list(": ", &all);
                    let before = format!("as before the session changed anything{all}");
                    let fault = "This code did not cause it";
                    (format!("failed ({ending}), {before}. {fault}"), said(EXCERPT))
                }
                _ if run.excerpt.trim().is_empty() => {
                    let how = run.passed_words();
                    let _ = writeln!(out, "git-cowork ran `{command}` itself: {how}.");
                    continue;
                }
                _ => (run.passed_words().to_owned(), said(PASSED_EXCERPT)),
            };
            let _ = write!(out, "git-cowork ran `{command}` itself: {verdict}.\n\n{said}\n\n");
        }
        if !self.tests.is_empty() {
            out += "Tests that criteria name:\n";
        }
        let apart = |test: &&NamedTest| !matches!(test.now, Became::LeftToSuite(_));
        for test in self.tests.iter().filter(apart) {
            let _ = writeln!(out, "- {}: {}: {}", test.of.join(", "), test.test, test.words());
        }
        if let Some(left) = named_tests::left_to_suite(&self.tests) {
            let _ = writeln!(out, "- {left}");
        }
        out.trim_end().to_owned()
    }

    /// The report: passed checks, findings to fix, failures from before the session and checks that
    /// were not run.
    pub fn report(&self) -> Report {
        let mut report = named_tests::report(&self.tests);
        for run in &self.runs {
            let (command, ending) = (&run.command, run.ending());
            match self.outcome(run) {
                Outcome::Passed => report.passed.push(match run.passed_words() {
                    UNCOUNTED => format!("{command} passes, tests not counted"),
                    _ => format!("{command} passes"),
                }),
                Outcome::AsBefore(all) => report.warnings.push(format!(
                    "{command} fails ({ending}) as it did before the session{}",
                    list(": ", &all)
                )),
                Outcome::NotRun(why) => {
                    report.warnings.push(format!("{command} was not run ({why})"));
                }
                Outcome::NoTests(_) => report.warnings.push(format!("{command} ran no test")),
                Outcome::Failed(new) => report.findings.push(finding(run, &new)),
            }
        }
        report
    }
}

fn finding(run: &CheckRun, new: &[String]) -> Finding {
    let said = match run.excerpt.trim() {
        "" => "it printed nothing; run it to see why".to_owned(),
        said => format!("it printed:\n{said}"),
    };
    let new = list("; newly failing: ", new);
    let details = format!("failed ({}, {}){new}; {said}", run.command, run.ending());
    let code = match run.which {
        Which::Build => "build-fails",
        Which::Test => "tests-fail",
        // A linter's complaint is not a build error, but the complaint is new, so it must be fixed.
        Which::Lint => return Finding::wrong("lint-fails", details),
    };
    let mut finding = Finding::wrong(code, details).critical();
    finding.feedback_type = FeedbackType::BuildError;
    finding
}

/// The failures from before the first change and the commands that could not be run, for the actor;
/// empty if everything passes.
pub fn failing_before(before: &[CheckRun]) -> String {
    let mut out = String::new();
    for run in before {
        let command = &run.command;
        let outcome = run.outcome_before();
        let _ = match (&outcome, outcome.without_result()) {
            (_, Some(how)) => writeln!(out, "- `{command}`: {how}"),
            (Outcome::Failed(all) | Outcome::AsBefore(all), _) => {
                writeln!(out, "- `{command}`: {}{}", run.ending(), list(": ", all))
            }
            _ => Ok(()),
        };
    }
    out.trim_end().to_owned()
}

/// The value of `Cowork-Checks`; `none` if nothing was run.
pub fn trailer(evidence: Option<&Evidence>) -> String {
    evidence.map_or_else(|| "none".to_owned(), Evidence::trailer)
}

/// Returns `introduction` followed by the names; empty if there are no names.
pub(crate) fn list(introduction: &str, names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{introduction}{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::check_run::{self, tests::run};
    use super::*;

    fn evidence(now: CheckRun, before: Option<CheckRun>) -> Evidence {
        let tree = "abcdef7890123456789012345678901234567890".parse().unwrap();
        let before = before.into_iter().collect();
        Evidence { runs: vec![now], before, ..Evidence::without_runs(tree) }
    }

    #[test]
    fn failing_tests_say_something_even_when_they_print_nothing() {
        let said = |output: &str| {
            let mut report = evidence(run(Which::Test, 2, output), None).report();
            report.findings.remove(0).details
        };
        assert_eq!(said("a\nb"), "failed (make test, exit 2); it printed:\na\nb");
        assert!(said(" \n").ends_with("exit 2); it printed nothing; run it to see why"));
        assert_eq!(
            said("test a ... FAILED"),
            "failed (make test, exit 2); newly failing: a; it printed:\ntest a ... FAILED"
        );
    }

    #[test]
    fn each_format_contains_the_result() {
        let mut both = evidence(run(Which::Test, 0, "3 passed"), None);
        assert_eq!(both.trailer(), "passed (make test)");
        assert_eq!(both.digests(), ["make test: exit 0, log 123456789012, tree abcdef789012"]);
        assert_eq!(
            both.lines(),
            ["`make test` on tree `abcdef789012`: exit 0 (log `123456789012`)"]
        );
        assert_eq!(both.report().passed, ["make test passes"]);
        assert_eq!(both.summary(), "make test passed");
        assert!(both.passed(Which::Test) && !both.passed(Which::Build));
        let failed = run(Which::Test, 1, "no");
        assert_eq!(evidence(failed.clone(), None).summary(), "make test failed");
        assert!(!evidence(failed.clone(), Some(failed.clone())).passed(Which::Test));
        let mut one_of_two = both.clone();
        one_of_two.runs.push(failed.clone());
        assert!(!one_of_two.passed(Which::Test));
        assert_eq!(evidence(failed.clone(), Some(failed)).summary(), "make test failed as before");
        let mut lint = run(Which::Lint, 1, "x");
        lint.command = "lint".into();
        both.runs.push(lint.clone());
        assert_eq!(both.trailer(), "failed (lint, exit 1); passed (make test)");
        assert_eq!(both.report().findings[0].code, "lint-fails");
        both.before.push(lint);
        assert_eq!(both.trailer(), "failed (lint, exit 1, as before); passed (make test)");
        assert_eq!(both.report().warnings, ["lint fails (exit 1) as it did before the session"]);
        assert!(both.report().is_ok());
        both.runs.clear();
        assert_eq!(both.trailer(), "none");
    }

    #[test]
    fn tests_that_cannot_be_counted_are_said_to_be_so_everywhere() {
        let mut passed = evidence(run(Which::Build, 0, ""), None);
        passed.runs.push(run(Which::Test, 0, "fine"));
        passed.runs[0].command = "make".into();
        let trailer = "passed (make); passed, tests not counted (make test)";
        assert_eq!(passed.trailer(), trailer);
        let line =
            "`make test` on tree `abcdef789012`: exit 0, tests not counted (log `123456789012`)";
        assert_eq!(passed.lines()[1], line);
        assert_eq!(passed.report().passed, ["make passes", "make test passes, tests not counted"]);
        assert_eq!(passed.summary(), "make test passed, tests not counted");
        assert!(passed.describe().contains("`make test` itself: passed, tests not counted.\n"));
        assert!(passed.passed(Which::Test));
        let empty = evidence(run(Which::Test, 0, "Ran 0 tests in 0.1s\n\nOK"), None);
        assert_eq!(empty.trailer(), "no tests (unittest)");
        assert_eq!(empty.outcome(&empty.runs[0]), Outcome::NoTests("unittest".to_owned()));
        assert!(!empty.passed(Which::Test) && failing_before(&empty.runs).contains("no tests"));
    }

    #[test]
    fn checks_that_were_not_run_are_reported_everywhere() {
        let build = CheckRun::not_run(Which::Build, "make", check_run::DEPENDENCIES);
        let test = CheckRun::not_run(Which::Test, "make test", check_run::DEPENDENCIES);
        let mut none = evidence(build.clone(), None);
        none.runs.push(test.clone());
        assert_eq!(none.trailer(), "not run (dependencies missing)");
        assert_eq!(
            none.digests()[1],
            "make test: not run (dependencies missing), tree abcdef789012"
        );
        assert_eq!(
            none.lines()[1],
            "`make test` on tree `abcdef789012`: not run (dependencies missing)"
        );
        assert_eq!(none.summary(), "make test not run (dependencies missing)");
        assert!(
            none.describe()
                .contains("`make test`: not run (dependencies missing). This says nothing")
        );
        let report = none.report();
        assert!(report.is_ok() && report.passed.is_empty(), "{report:?}");
        assert_eq!(report.warnings[1], "make test was not run (dependencies missing)");
        assert!(none.lacks_dependencies());
        assert_eq!(
            failing_before(&none.runs),
            "- `make`: not run (dependencies missing)\n- `make test`: not run (dependencies missing)"
        );
        none.runs.push(run(Which::Lint, 0, ""));
        none.runs[0] = CheckRun::not_run(Which::Build, "make", check_run::NOT_INSTALLED);
        assert_eq!(
            none.trailer(),
            "passed (make test); not run (dependencies missing: make test); not run (not installed: make)"
        );
    }
}
