//! Tests that criteria name: their results on the session's tree and, if they must fail on the
//! base, on the base.

use std::collections::BTreeMap;

use super::check_run::{CheckRun, shown};
use super::failed_before::Outcome;
use crate::artifact::check::{Finding, Report};

/// The result of a test on one tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Became {
    /// It ran, and passed.
    Passed,
    /// It ran and failed. Contains the output.
    Failed(String),
    /// The run failed before the test ran: it could not be built or loaded. Contains the output.
    NotBuilt(String),
    /// It was not run by itself, because the change leaves it and its criterion as they were; the
    /// project's tests passed. Contains their command.
    LeftToSuite(String),
    /// There is no such test, or its runner did not run it. Contains the reason.
    Missing(String),
    /// The result is unknown. Contains the reason.
    Unknown(String),
}

/// Whether an output lists a test as passed, as failed or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Passed,
    Failed,
    Not,
}

/// A test, and its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTest {
    /// Its name in the criteria: `file::name`.
    pub test: String,
    /// The ids of the requirements whose criteria name it.
    pub of: Vec<String>,
    /// Its result on the session's tree.
    pub now: Became,
    /// Its result on the base, if it must fail there.
    pub base: Option<Became>,
}

impl Became {
    /// The result from a run of this test. The line about the test counts more than the exit
    /// code: a runner that found nothing to run succeeds, and one that ran more tests fails if
    /// another one failed.
    pub(crate) fn of(ran: &CheckRun, named: Named) -> Self {
        match ran.outcome_before() {
            Outcome::NotRun(why) => Self::Unknown(why),
            _ if named == Named::Passed => Self::Passed,
            Outcome::Passed | Outcome::NoTests(_) => Self::Missing(format!(
                "{} did not run it: it is skipped, or the command does not include it",
                shown(&ran.command)
            )),
            Outcome::Failed(_) | Outcome::AsBefore(_) => {
                let said =
                    format!("{}: {}\n{}", shown(&ran.command), ran.ending(), ran.excerpt.trim());
                if named == Named::Failed { Self::Failed(said) } else { Self::NotBuilt(said) }
            }
        }
    }

    /// True if the test does not pass, for any reason.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::NotBuilt(_) | Self::Missing(_))
    }
}

impl NamedTest {
    /// Takes the result from the words of an earlier commit on the same code, if the test passed.
    pub(crate) fn is_recorded_as(&mut self, words: &str) -> bool {
        let before = || "it did before".to_owned();
        let base =
            [Became::Failed(before()), Became::NotBuilt(before()), Became::Missing(before())];
        let as_recorded = [None].into_iter().chain(base.map(Some)).find_map(|base| {
            let one = Self { now: Became::Passed, base, ..self.clone() };
            (one.words() == words).then_some(one)
        });
        as_recorded.map(|one| *self = one).is_some()
    }

    /// `passed, failed on the base`
    pub fn words(&self) -> String {
        let mut words = match &self.now {
            Became::Passed => "passed".to_owned(),
            Became::LeftToSuite(command) => format!("left to the suite ({command} passed)"),
            Became::Failed(_) | Became::NotBuilt(_) => "failed".to_owned(),
            Became::Missing(_) => "not there".to_owned(),
            Became::Unknown(why) => format!("not run ({why})"),
        };
        match &self.base {
            None | Some(Became::LeftToSuite(_)) => {}
            Some(Became::Failed(_)) => words += FAILED_ON_BASE,
            Some(Became::NotBuilt(_)) => {
                words += FAILED_ON_BASE;
                words += " (before it ran)";
            }
            Some(Became::Missing(_)) => {
                words += FAILED_ON_BASE;
                words += " (it is not there)";
            }
            Some(Became::Passed) => words += ", passed on the base, too",
            Some(Became::Unknown(why)) => words += &format!(", not run on the base ({why})"),
        }
        words
    }

    /// True if the test shows its criterion: it passed and, if it must, failed on the base.
    pub fn is_shown(&self) -> bool {
        matches!(self.now, Became::Passed | Became::LeftToSuite(_))
            && self.base.as_ref().is_none_or(Became::is_failure)
    }

    /// The line about it among the checks that passed.
    pub(crate) fn passed_line(&self) -> String {
        format!("{}: {} {}", self.of.join(", "), self.test, self.words())
    }

    fn report(&self, report: &mut Report, told: &mut BTreeMap<String, String>) {
        let (test, of) = (&self.test, self.of.join(", "));
        match &self.now {
            Became::Passed => {}
            Became::LeftToSuite(_) => return,
            Became::Failed(said) | Became::NotBuilt(said) => {
                // The output of a run of several tests is told once.
                let said = match told.get(said) {
                    Some(first) => format!("it ran together with {first}"),
                    None => {
                        told.insert(said.clone(), test.clone());
                        said.clone()
                    }
                };
                let details = format!("{of} names the test {test}, which fails; {said}");
                return report.find(Finding::wrong("named-test", details));
            }
            Became::Missing(why) => {
                let details = format!("{of} names the test {test}, which was not found: {why}");
                let fix =
                    "write it where the criterion says, or ask a person to change the criterion";
                return report.find(Finding::missing("named-test", details).fix(fix));
            }
            Became::Unknown(why) => {
                let words = format!("{of}: the test {test} was not run ({why})");
                return report.warnings.push(words);
            }
        }
        match &self.base {
            Some(Became::Passed) => {
                let details = format!(
                    "{of} says that {test} fails without this session's code, and it passes there, too: it does not test the new code"
                );
                let fix =
                    "test the new behaviour, or ask a person to remove the ! from the criterion";
                report.find(Finding::wrong("named-test", details).fix(fix));
            }
            Some(Became::Unknown(why)) => {
                let words = format!(
                    "{of}: the test {test} was not run on the base ({why}): a review must show whether it fails without this session's code"
                );
                report.warnings.push(words);
            }
            _ => report.passed.push(self.passed_line()),
        }
    }
}

/// Contained in [`NamedTest::words`] if a test failed on the base as it must.
pub(crate) const FAILED_ON_BASE: &str = ", failed on the base";

/// The report on all named tests.
pub(super) fn report(tests: &[NamedTest]) -> Report {
    let (mut report, mut told) = (Report::default(), BTreeMap::new());
    tests.iter().for_each(|test| test.report(&mut report, &mut told));
    report.passed.extend(left_to_suite(tests));
    report
}

/// One line for all tests that a change leaves as they were: `18 tests that criteria name: left to
/// the suite (make test passed)`.
pub(super) fn left_to_suite(tests: &[NamedTest]) -> Option<String> {
    let is_left = |test: &&NamedTest| matches!(test.now, Became::LeftToSuite(_));
    let words = tests.iter().find(is_left)?.words();
    let count = tests.iter().filter(is_left).count();
    let plural = if count == 1 { "test" } else { "tests" };
    Some(format!("{count} unchanged {plural} that criteria name: {words}"))
}

#[cfg(test)]
mod tests {
    use super::super::check_run::{Which, tests::run};
    use super::*;

    fn test(now: Became, base: Option<Became>) -> NamedTest {
        let test = "tests/a.rs::adds".to_owned();
        NamedTest { test, of: vec!["REQ-001".to_owned()], now, base }
    }

    #[test]
    fn only_a_named_pass_counts() {
        let of = |exit, named| Became::of(&run(Which::Test, exit, "no"), named);
        assert_eq!(of(0, Named::Passed), Became::Passed);
        let Became::Missing(why) = of(0, Named::Not) else { panic!() };
        assert!(why.starts_with("make test did not run it"), "{why}");
        let said = "make test: exit 1\nno".to_owned();
        assert_eq!(of(1, Named::Failed), Became::Failed(said.clone()));
        assert_eq!(of(1, Named::Not), Became::NotBuilt(said));
        assert_eq!(of(1, Named::Passed), Became::Passed);
        let not_run = CheckRun::not_run(Which::Test, "make test", "not installed");
        assert_eq!(Became::of(&not_run, Named::Not), Became::Unknown("not installed".to_owned()));
    }

    #[test]
    fn a_command_with_many_tests_is_cut() {
        for (exit, named) in [(1, Named::Failed), (1, Named::Not), (0, Named::Not)] {
            let mut ran = run(Which::Test, exit, "no");
            ran.command = format!("pytest -v {}", "t/test_a.py::test_x ".repeat(1_000));
            let (Became::Failed(said) | Became::NotBuilt(said) | Became::Missing(said)) =
                Became::of(&ran, named)
            else {
                panic!()
            };
            assert!(said.starts_with("pytest -v t/test_a.py::test_x "), "{said}");
            assert!(said.contains(" …") && said.len() < 300, "{said}");
        }
    }

    #[test]
    fn the_output_of_tests_that_ran_together_is_told_once() {
        let failed = |test: &str| {
            let (test, of) = (test.to_owned(), vec!["REQ-001".to_owned()]);
            NamedTest { test, of, now: Became::Failed("make: exit 1\nno".to_owned()), base: None }
        };
        let found = report(&[failed("a::x"), failed("a::y"), failed("a::z")]).findings;
        let details: Vec<&str> = found.iter().map(|one| one.details.as_str()).collect();
        assert_eq!(
            details,
            [
                "REQ-001 names the test a::x, which fails; make: exit 1\nno",
                "REQ-001 names the test a::y, which fails; it ran together with a::x",
                "REQ-001 names the test a::z, which fails; it ran together with a::x",
            ]
        );
    }

    #[test]
    fn each_result_has_its_words_and_its_place_in_the_report() {
        let (failed, unknown) =
            (|| Became::Failed("x".to_owned()), || Became::Unknown("not installed".to_owned()));
        let left = || Became::LeftToSuite("make test".to_owned());
        for (now, base, words, counts) in [
            (Became::Passed, None, "passed", [1, 0, 0]),
            (Became::Passed, Some(failed()), "passed, failed on the base", [1, 0, 0]),
            (
                Became::Passed,
                Some(Became::NotBuilt("x".to_owned())),
                "passed, failed on the base (before it ran)",
                [1, 0, 0],
            ),
            (
                Became::Passed,
                Some(Became::Missing("m".to_owned())),
                "passed, failed on the base (it is not there)",
                [1, 0, 0],
            ),
            (Became::Passed, Some(Became::Passed), "passed, passed on the base, too", [0, 1, 0]),
            (
                Became::Passed,
                Some(unknown()),
                "passed, not run on the base (not installed)",
                [0, 0, 1],
            ),
            (failed(), None, "failed", [0, 1, 0]),
            (Became::Missing("m".to_owned()), None, "not there", [0, 1, 0]),
            (unknown(), None, "not run (not installed)", [0, 0, 1]),
            (left(), None, "left to the suite (make test passed)", [1, 0, 0]),
        ] {
            let test = test(now, base);
            assert_eq!(test.words(), words);
            let mut again = super::tests::test(unknown(), None);
            assert_eq!(again.is_recorded_as(words), words.starts_with("passed") && test.is_shown());
            assert!(again.words() == words || again.now == unknown(), "{words}");
            let found = report(std::slice::from_ref(&test));
            let found = [found.passed.len(), found.findings.len(), found.warnings.len()];
            assert_eq!(found, counts, "{words}");
        }
    }
}
