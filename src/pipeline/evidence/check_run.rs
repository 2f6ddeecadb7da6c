//! One command that was run or could not be run, with its result.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::counted::{counts, runner_without_tests};
use super::failing;
use super::refused::{Refused, refused};
use crate::excerpt;
use crate::git::Oid;
use crate::workspace::{CommandResult, Dependencies, Level};

/// Maximum bytes of a failure's output that are shown.
pub(crate) const EXCERPT: usize = 3_000;

/// Maximum bytes of a command in a message: it may name many tests.
const SHOWN: usize = 200;

/// Why a check was not run: dependencies that it needs are missing.
pub(crate) const DEPENDENCIES: &str = "dependencies missing";
/// Why a check was not run: its program is missing.
pub(crate) const NOT_INSTALLED: &str = "not installed";
/// Why a check was not run: the user did not allow its command.
pub(crate) const NOT_ALLOWED: &str = "not allowed";

/// How tests passed whose number the output of their runner does not tell.
pub(super) const UNCOUNTED: &str = "passed, tests not counted";

/// Which of the project's commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// Builds.
    Build,
    /// Runs the tests.
    Test,
    /// Lints.
    Lint,
}

/// One command, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRun {
    /// Which of the project's commands it is.
    pub which: Which,
    /// The command.
    pub command: String,
    /// The reason why it was not run; all following fields are empty then.
    #[serde(default)]
    pub(super) not_run: Option<String>,
    /// Its exit code; `None` if it was killed or could not run.
    pub exit: Option<i32>,
    /// Whether it exceeded its time limit.
    pub timed_out: bool,
    /// The id of the blob with the command, its output and its exit status.
    pub log: Option<Oid>,
    /// The failures in its output, and the end of it.
    #[serde(alias = "tail")]
    pub excerpt: String,
    /// Its output without times; empty if it printed nothing, or too much to be saved.
    pub(super) words: String,
    /// Names of the failed tests, if its output lists them.
    pub(crate) failing: BTreeSet<String>,
    /// Whether part of the output is missing, so that there may be more names.
    pub(super) cut: bool,
    /// Whether something it may need was missing.
    #[serde(default)]
    pub(super) lacking: bool,
    /// What the sandbox denied it.
    #[serde(default)]
    pub(super) refused: Option<Refused>,
    /// The runner of the tests, if it ran none.
    #[serde(default)]
    pub(super) without_tests: Option<String>,
    /// Whether it ran tests whose number its output does not tell.
    #[serde(default)]
    uncounted: bool,
}

impl CheckRun {
    /// The result of a command with these dependencies, at this level of the sandbox.
    pub(crate) fn of(
        which: Which,
        command: &str,
        result: &CommandResult,
        log: Oid,
        (dependencies, level): (Dependencies, Option<Level>),
    ) -> Self {
        let output = output_of(result);
        let failing = failing::names(&output);
        let refused = match result.succeeded() {
            true => None,
            false => refused(&output, &failing, level),
        };
        Self {
            exit: result.exit,
            timed_out: result.timed_out,
            log: Some(log),
            excerpt: excerpt::failures(&output, EXCERPT),
            words: if result.cut { String::new() } else { failing::without_times(&output) },
            failing,
            cut: result.cut,
            lacking: dependencies != Dependencies::Present,
            refused,
            without_tests: match which {
                Which::Test => runner_without_tests(command, &output, result.exit),
                Which::Build | Which::Lint => None,
            },
            uncounted: which == Which::Test && counts(&output).is_none(),
            ..Self::without(which, command)
        }
    }

    /// True if the sandbox denied it something.
    pub(crate) fn was_denied(&self) -> bool {
        self.refused.is_some()
    }

    /// A command that was not run.
    pub(crate) fn not_run(which: Which, command: &str, why: &str) -> Self {
        Self { not_run: Some(why.to_owned()), ..Self::without(which, command) }
    }

    fn without(which: Which, command: &str) -> Self {
        Self {
            which,
            command: command.to_owned(),
            not_run: None,
            exit: None,
            timed_out: false,
            log: None,
            excerpt: String::new(),
            words: String::new(),
            failing: BTreeSet::new(),
            cut: false,
            lacking: false,
            refused: None,
            without_tests: None,
            uncounted: false,
        }
    }

    /// True if it ran and succeeded.
    pub fn passed(&self) -> bool {
        self.not_run.is_none()
            && self.without_tests.is_none()
            && self.exit == Some(0)
            && !self.timed_out
    }

    /// How it passed: what a runner counts is evidence, and its exit code alone is less.
    pub(super) const fn passed_words(&self) -> &'static str {
        if self.uncounted { UNCOUNTED } else { "passed" }
    }

    /// True if a runner counted its tests.
    pub(crate) fn is_counted(&self) -> bool {
        self.passed_words() != UNCOUNTED
    }

    /// True if the command or a dependency was missing: once it is installed, the result
    /// may differ.
    pub(crate) fn lacked_dependencies(&self) -> bool {
        self.lacking || self.not_run.as_deref() == Some(DEPENDENCIES)
    }

    /// True if the output lists the names of all failed tests.
    pub(super) fn names_all(&self) -> bool {
        !self.failing.is_empty() && !self.cut && self.exit.is_some()
    }

    /// `exit 1`, `timed out`, `killed`
    pub(crate) fn ending(&self) -> String {
        match self.exit {
            _ if self.timed_out => "timed out".to_owned(),
            Some(code) => format!("exit {code}"),
            None => "killed".to_owned(),
        }
    }
}

/// A command as messages show it.
pub(super) fn shown(command: &str) -> String {
    let more = if command.len() > SHOWN { " …" } else { "" };
    format!("{}{more}", excerpt::beginning(command, SHOWN))
}

/// The standard output of a command, followed by its standard error.
pub(crate) fn output_of(result: &CommandResult) -> String {
    // If the command succeeded, a missing dependency does not matter.
    let missing = if result.succeeded() { String::new() } else { result.missing.join("\n") };
    let both = format!("{}\n{}\n{missing}", result.stdout.trim_end(), result.stderr.trim_end());
    both.trim().to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::failed_before::Outcome;
    use super::*;

    fn run_with(
        which: Which,
        exit: i32,
        output: &str,
        setting: (Dependencies, Option<Level>),
    ) -> CheckRun {
        let (exit, stdout) = (Some(exit), output.to_owned());
        let result = CommandResult { exit, stdout, ..CommandResult::default() };
        let log = "1234567890123456789012345678901234567890".parse().unwrap();
        CheckRun::of(which, "make test", &result, log, setting)
    }

    pub(crate) fn run(which: Which, exit: i32, output: &str) -> CheckRun {
        run_with(which, exit, output, (Dependencies::Present, Some(Level::Namespaces)))
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn cargo(names: &[&str]) -> String {
        let lines: Vec<String> = names.iter().map(|n| format!("test {n} ... FAILED")).collect();
        lines.join("\n")
    }

    #[test]
    fn only_new_failures_are_the_actors_fault() {
        let failed = |names: &[&str]| run(Which::Test, 101, &cargo(names));
        let words = |words: &str| run(Which::Test, 2, words);
        for (now, before, outcome) in [
            (run(Which::Test, 0, ""), Some(failed(&["a"])), Outcome::Passed),
            (failed(&["a"]), None, Outcome::Failed(names(&["a"]))),
            (failed(&["a"]), Some(run(Which::Test, 0, "")), Outcome::Failed(names(&["a"]))),
            (failed(&["a"]), Some(failed(&["a", "b"])), Outcome::AsBefore(names(&["a"]))),
            (failed(&["a", "c"]), Some(failed(&["a", "b"])), Outcome::Failed(names(&["c"]))),
            // The build breaks now, while tests failed before.
            (
                run(Which::Test, 101, "error: cannot find x"),
                Some(failed(&["a"])),
                Outcome::Failed(vec![]),
            ),
            // Only the number of failures is known, not their names.
            (
                words("1 failed in 2.1s"),
                Some(words("1 failed in 3.77s")),
                Outcome::AsBefore(vec![]),
            ),
            (words("2 failed in 2.1s"), Some(words("1 failed in 2.1s")), Outcome::Failed(vec![])),
            (words("no"), Some(run(Which::Test, 3, "no")), Outcome::Failed(vec![])),
            // Empty output proves nothing.
            (words(""), Some(words("")), Outcome::Failed(vec![])),
            (
                run(Which::Lint, 1, "a new line"),
                Some(run(Which::Lint, 1, "an old line")),
                Outcome::AsBefore(vec![]),
            ),
            (run(Which::Lint, 1, "a line"), Some(run(Which::Lint, 0, "")), Outcome::Failed(vec![])),
            (
                run(Which::Build, 1, "new error"),
                Some(run(Which::Build, 1, "old error")),
                Outcome::Failed(vec![]),
            ),
        ] {
            assert_eq!(now.outcome(before.as_ref()), outcome, "{now:?}");
        }
    }

    #[test]
    fn output_that_was_cut_excuses_nothing() {
        let mut now = run(Which::Test, 1, "test a ... FAILED");
        let before = now.clone();
        assert_eq!(now.outcome(Some(&before)), Outcome::AsBefore(names(&["a"])));
        now.cut = true;
        now.words.clear();
        assert_eq!(now.outcome(Some(&before)), Outcome::Failed(vec![]));
    }

    #[test]
    fn a_command_that_did_not_run_before_excuses_nothing() {
        let before = CheckRun::not_run(Which::Test, "make test", DEPENDENCIES);
        assert_eq!(before.outcome_before(), Outcome::NotRun(DEPENDENCIES.to_owned()));
        let now = run(Which::Test, 1, &cargo(&["a"]));
        assert_eq!(now.outcome(Some(&before)), Outcome::Failed(names(&["a"])));
        let lint = run(Which::Lint, 1, "a line");
        let before = CheckRun::not_run(Which::Lint, "make test", NOT_INSTALLED);
        assert_eq!(lint.outcome(Some(&before)), Outcome::Failed(vec![]));
    }

    #[test]
    fn with_dependencies_missing_only_named_tests_fail_newly() {
        let partly =
            |output: &str| run_with(Which::Test, 1, output, (Dependencies::PartlyMissing, None));
        let missing = || Outcome::NotRun(DEPENDENCIES.to_owned());
        let before = partly(&cargo(&["a"]));
        assert_eq!(before.outcome_before(), missing());
        assert_eq!(partly(&cargo(&["a"])).outcome(Some(&before)), missing(), "never as before");
        assert_eq!(partly("make: *** [test] Error 1").outcome(Some(&before)), missing());
        let new = partly(&cargo(&["a", "b"])).outcome(Some(&before));
        assert_eq!(new, Outcome::Failed(names(&["b"])));
        let passed = run_with(Which::Test, 0, "", (Dependencies::PartlyMissing, None));
        assert_eq!(passed.outcome(Some(&before)), Outcome::Passed);
    }

    /// Failing tests, each with its report.
    fn reports(tests: &[(&str, &str)]) -> String {
        let listed = cargo(&tests.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let report = |(name, text): &(&str, &str)| format!("---- {name} stdout ----\n{text}\n\n");
        let reports: String = tests.iter().map(report).collect();
        format!("{listed}\n\nfailures:\n\n{reports}failures:\n")
    }

    #[test]
    fn sandbox_refusals_count_as_not_run_and_hide_no_failure() {
        let (denied, wrong) = ("bind: Permission denied (os error 13)", "assertion failed");
        let at = |tests: &[(&str, &str)]| {
            let setting = (Dependencies::Present, Some(Level::Landlock));
            run_with(Which::Test, 101, &reports(tests), setting)
        };
        let passes = run(Which::Test, 0, "");
        let not_run = || Outcome::NotRun("sandbox: listening was refused".to_owned());
        let met = at(&[("a", denied)]);
        assert_eq!(met.outcome_before(), not_run());
        assert_eq!(met.outcome(Some(&met)), not_run(), "never as before");
        assert_eq!(met.outcome(Some(&passes)), not_run(), "a new test that serves");
        // A failure besides the denied one counts, and so does another failure of the same test.
        let both = at(&[("a", denied), ("b", wrong)]);
        assert_eq!(both.outcome(Some(&met)), Outcome::Failed(names(&["b"])));
        let now = at(&[("a", wrong)]);
        assert_eq!(now.outcome(Some(&met)), Outcome::Failed(names(&["a"])));
        let old = at(&[("a", denied), ("b", wrong)]);
        assert_eq!(at(&[("b", wrong)]).outcome(Some(&old)), Outcome::AsBefore(names(&["b"])));
        assert_eq!(at(&[("a", denied), ("b", wrong)]).outcome(Some(&old)), not_run());
    }

    #[test]
    fn output_alone_proves_no_refusal_unless_the_base_printed_it_too() {
        let printed = format!("connect EACCES 127.0.0.1:80\n{}", cargo(&["a"]));
        let run = |output: &str| run(Which::Test, 1, output);
        assert_eq!(run(&printed).outcome(None), Outcome::Failed(names(&["a"])));
        let passes = super::tests::run(Which::Test, 0, "");
        assert_eq!(run(&printed).outcome(Some(&passes)), Outcome::Failed(names(&["a"])));
        let refused = "socket: Address family not supported by protocol";
        let printed = format!("{refused}\n{}", cargo(&["a"]));
        assert_eq!(run(&printed).outcome(Some(&passes)), Outcome::Failed(names(&["a"])));
        let met = run(&printed).outcome(Some(&run(&printed)));
        assert_eq!(met, Outcome::NotRun("sandbox: address family not supported".to_owned()));
        let more = format!("{refused}\n{}", cargo(&["a", "b"]));
        let Outcome::Failed(new) = run(&more).outcome(Some(&run(&printed))) else { panic!() };
        assert!(new.contains(&"b".to_owned()));
        // Without names of tests, only identical output counts as the same refusal.
        let without = |more: &str| run(&format!("{refused}{more}"));
        assert!(matches!(without("").outcome(Some(&without(""))), Outcome::NotRun(_)));
        let more = without("\nassertion failed").outcome(Some(&without("")));
        assert_eq!(more, Outcome::Failed(vec![]));
    }
}
