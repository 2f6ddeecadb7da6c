//! The numbers of passed and failed tests, and whether any test ran, read from the summary lines of
//! common test runners.

use std::sync::LazyLock;

use regex::Regex;

/// `31 passed`, `31 passing`, `2 failed`, `2 failing`.
static COUNTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(?P<count>\d{1,9}) (?:tests? )?(?P<what>passed|passing|failed|failing)\b").ok()
});

/// The groups of [`TOTALS`].
const GROUPS: [&str; 5] = ["all", "passed", "failed", "errors", "skipped"];

/// Summaries with the number of all tests or of those that passed, and sometimes that of failed
/// ones: Python's unittest, node, rspec, minitest, PHPUnit, ctest, Maven's last line.
static TOTALS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let forms = [
        r"(?ms)^Ran {all} tests? in .*?^(?:OK|FAILED)(?: \((?:failures={failed})?(?:, )?(?:errors={errors})?(?:, )?(?:skipped={skipped})?)?",
        r"(?ms)^(?:#|ℹ) pass {passed}$.*?^(?:#|ℹ) fail {failed}$",
        r"(?m)^{all} examples?, {failed} failures?(?:, {skipped} pending)?",
        r"(?m)^{all} runs, \d+ assertions, {failed} failures, {errors} errors, {skipped} skips",
        r"(?m)^OK \({passed} tests?, ",
        r"{failed} tests failed out of {all}",
        r"(?m)Tests run: {all}, Failures: {failed}, Errors: {errors}, Skipped: {skipped}$",
    ];
    let group = |form: String, name: &&str| {
        form.replace(&format!("{{{name}}}"), &format!(r"(?P<{name}>\d{{1,9}})"))
    };
    let form = |form: &str| GROUPS.iter().fold(form.to_owned(), group);
    forms.into_iter().filter_map(|text| Regex::new(&form(text)).ok()).collect()
});

/// Lines of JavaScript runners that count files or groups of tests.
const NOT_TESTS: [&str; 3] = ["Test Suites:", "Test Files", "Snapshots:"];

/// The number of tests that passed, and of tests that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

/// The counts in an output, summed over all runs in it; `None` if there are none.
pub(crate) fn counts(output: &str) -> Option<Counts> {
    let form = COUNTS.as_ref()?;
    let mut counts = Counts::default();
    let mut found = false;
    for said in TOTALS.iter().flat_map(|form| form.captures_iter(output)) {
        let number = |name| said.name(name).and_then(|n| n.as_str().parse().ok()).unwrap_or(0);
        let [all, passed, failed, errors, skipped]: [usize; 5] = GROUPS.map(number);
        let failed = failed + errors;
        counts.passed += passed + all.saturating_sub(failed + skipped);
        counts.failed += failed;
        found = true;
    }
    // Beside a runner without tests, another one may have counted some.
    if counts.passed + counts.failed > 0 {
        return Some(counts);
    }
    if let Some(told) = line_by_line(output) {
        return Some(told);
    }
    let is_told = |line: &&str| !NOT_TESTS.iter().any(|other| line.trim_start().starts_with(other));
    for said in output.lines().filter(is_told).flat_map(|line| form.captures_iter(line)) {
        let count: usize = said["count"].parse().unwrap_or(0);
        found = true;
        match &said["what"] {
            "passed" | "passing" => counts.passed = counts.passed.saturating_add(count),
            _ => counts.failed = counts.failed.saturating_add(count),
        }
    }
    found.then_some(counts)
}

/// The counts of runners that print a line for each test and no sum: TAP with its plan (bats, prove
/// and others) and `go test -v`. Without `-v`, Go prints only the tests that failed.
fn line_by_line(output: &str) -> Option<Counts> {
    let has = |is_it: fn(&str) -> bool| output.lines().any(is_it);
    let is_tap = has(|line| {
        line.strip_prefix("1..").is_some_and(|last| last.trim_end().parse::<usize>().is_ok())
    });
    let is_go = has(|line| line.starts_with("=== RUN "));
    let mut counts = Counts::default();
    for line in output.lines() {
        let (is_failure, rest) = match line.strip_prefix("not ") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let is_test =
            rest.strip_prefix("ok ").is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
        let directive = rest.rsplit_once("# ").map_or("", |(_, directive)| directive);
        let directive = directive.get(..4).unwrap_or_default().to_ascii_lowercase();
        if is_tap && is_test && directive != "skip" && directive != "todo" {
            counts.passed += usize::from(!is_failure);
            counts.failed += usize::from(is_failure);
        }
        counts.passed += usize::from(is_go && line.starts_with("--- PASS: "));
        counts.failed += usize::from(is_go && line.starts_with("--- FAIL: "));
    }
    (is_tap || is_go).then_some(counts)
}

/// What runners print if they found no test, and the exit codes they end with then.
const NO_TESTS: [(&str, &str, &[i32]); 7] = [
    ("pytest", "no tests ran", &[0, 5]),
    ("pytest", "collected 0 items", &[0, 5]),
    ("unittest", "Ran 0 tests in", &[0, 5]),
    ("jest", "No tests found", &[0, 1]),
    ("vitest", "No test files found", &[0, 1]),
    ("node", "# tests 0", &[0]),
    ("node", "ℹ tests 0", &[0]),
];

/// The name of the runner, if its own count says that it ran no test: that is neither a pass nor a
/// failure. pytest and Python's unittest (3.12 and newer) end with exit code 5 then.
pub(crate) fn runner_without_tests(
    command: &str,
    output: &str,
    exit: Option<i32>,
) -> Option<String> {
    let exit = exit?;
    let counts = counts(output);
    if counts.is_some_and(|counts| counts.passed + counts.failed > 0) {
        return None;
    }
    let says = |(_, words, exits): &&(&str, &str, &[i32])| {
        exits.contains(&exit) && output.lines().any(|line| line.contains(words))
    };
    if let Some((runner, ..)) = NO_TESTS.iter().find(says) {
        return Some((*runner).to_owned());
    }
    let has = |word: &str| output.lines().any(|line| line.trim_start().starts_with(word));
    let in_go = exit == 0 && output.contains("[no test files]") && !has("ok") && !has("FAIL");
    if in_go {
        return Some("go test".to_owned());
    }
    // `test result: ok. 0 passed; 0 failed`, `0 passing`
    let runner: Vec<&str> = command.split_whitespace().take(2).collect();
    (exit == 0 && counts.is_some()).then(|| runner.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_that_ran_no_test_is_named() {
        for (command, output, exit, expected) in [
            ("pytest", "==== no tests ran in 0.01s ====\n", 5, Some("pytest")),
            ("python -m unittest", "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", 5, Some("unittest")),
            ("python -m unittest", "Ran 0 tests in 0.000s\n\nOK\n", 0, Some("unittest")),
            (
                "cargo test",
                "test result: ok. 0 passed; 0 failed; 0 ignored;\n",
                0,
                Some("cargo test"),
            ),
            ("npx vitest run", "No test files found, exiting with code 1\n", 1, Some("vitest")),
            ("go test ./...", "?   \texample.com/a\t[no test files]\n", 0, Some("go test")),
            ("go test ./...", "ok  \ta\t0.1s\n?   \tb\t[no test files]\n", 0, None),
            (
                "cargo test",
                "test result: ok. 0 passed; 0 failed;\n\ntest result: ok. 2 passed; 0 failed;\n",
                0,
                None,
            ),
            ("make test", "# tests 0\n# pass 0\n# fail 0\n==== 12 passed in 0.1s ====\n", 0, None),
            ("node --test", "# tests 0\n# pass 0\n# fail 0\n", 0, Some("node")),
            ("bats tests", "1..0\n", 0, Some("bats tests")),
            ("pytest", "==== no tests ran in 0.01s ====\nERROR: file not found\n", 4, None),
            ("./suite.sh", "all is well\n", 0, None),
        ] {
            let runner = runner_without_tests(command, output, Some(exit));
            assert_eq!(runner.as_deref(), expected, "{command}: {output}");
        }
    }

    #[test]
    fn each_runner_counts_its_tests() {
        for (runner, output, expected) in [
            (
                "cargo",
                "test result: ok. 30 passed; 0 failed; 1 ignored\n\ntest result: ok. 1 passed; 0 failed;\n",
                Some((31, 0)),
            ),
            ("pytest", "==== 2 failed, 31 passed, 1 skipped in 0.12s ====\n", Some((31, 2))),
            ("unittest", "Ran 3 tests in 0.001s\n\nOK\n", Some((3, 0))),
            ("unittest", "Ran 3 tests in 0.1s\n\nFAILED (errors=1)\n", Some((2, 1))),
            ("node", "# tests 4\n# suites 0\n# pass 3\n# fail 1\n", Some((3, 1))),
            ("rspec", "3 examples, 1 failure\n", Some((2, 1))),
            ("phpunit", "OK (3 tests, 5 assertions)\n", Some((3, 0))),
            ("ctest", "100% tests passed, 0 tests failed out of 3\n", Some((3, 0))),
            ("minitest", "3 runs, 5 assertions, 1 failures, 1 errors, 0 skips\n", Some((1, 2))),
            ("unittest", "Ran 3 tests in 0.1s\n\nOK (skipped=1)\n", Some((2, 0))),
            (
                "maven",
                "Tests run: 1, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s\n\
                 Tests run: 1, Failures: 0, Errors: 0, Skipped: 0\n",
                Some((1, 0)),
            ),
            (
                "jest",
                "Test Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 3 passed, 4 total\n",
                Some((3, 1)),
            ),
            ("mocha", "  12 passing (20ms)\n  1 failing\n", Some((12, 1))),
            ("vitest", " Test Files  1 passed (1)\n      Tests  4 passed (4)\n", Some((4, 0))),
            (
                "node without tests, and pytest",
                "# tests 0\n# pass 0\n# fail 0\n==== 1 failed, 12 passed in 0.1s ====\n",
                Some((12, 1)),
            ),
            ("node without tests", "# tests 0\n# pass 0\n# fail 0\n", Some((0, 0))),
            (
                "node, and what a test prints",
                "2 failed\n# tests 4\n# pass 4\n# fail 0\n",
                Some((4, 0)),
            ),
            ("bats", "1..3\nok 1 adds\nnot ok 2 lists\nok 3 sorts # skip later\n", Some((1, 1))),
            ("tap", "TAP version 13\nok 1 - adds\nnot ok 2 - lists # TODO\n1..2\n", Some((1, 0))),
            ("tap without a plan", "ok 1 adds\n", None),
            (
                "go test -v",
                "=== RUN   TestA\n--- PASS: TestA (0.0s)\n=== RUN   TestB\n    --- FAIL: TestB/x (0.0s)\n\
                 --- FAIL: TestB (0.0s)\nFAIL\n",
                Some((1, 1)),
            ),
            ("go test", "--- FAIL: TestA (0.0s)\nFAIL\n", None),
            ("go test", "ok  \texample.com/a\t0.1s\n", None),
            ("nothing", "", None),
        ] {
            let found = counts(output).map(|counts| (counts.passed, counts.failed));
            assert_eq!(found, expected, "{runner}");
        }
    }
}
