//! The numbers of passed and failed tests, read from the summary lines of common test runners.

use std::sync::LazyLock;

use regex::Regex;

/// `31 passed`, `31 passing`, `2 failed`, `2 failing`. TAP and Go's `ok` are left out because they
/// print no counts.
static COUNTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(?P<count>\d{1,9}) (?:tests? )?(?P<what>passed|passing|failed|failing)\b").ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_runner_counts_its_tests() {
        for (runner, output, expected) in [
            (
                "cargo",
                "test result: ok. 30 passed; 0 failed; 1 ignored\n\ntest result: ok. 1 passed; 0 failed;\n",
                Some((31, 0)),
            ),
            ("pytest", "==== 2 failed, 31 passed, 1 skipped in 0.12s ====\n", Some((31, 2))),
            ("unittest", "Ran 3 tests in 0.001s\n\nOK\n", None),
            (
                "jest",
                "Test Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 3 passed, 4 total\n",
                Some((3, 1)),
            ),
            ("mocha", "  12 passing (20ms)\n  1 failing\n", Some((12, 1))),
            ("vitest", " Test Files  1 passed (1)\n      Tests  4 passed (4)\n", Some((4, 0))),
            ("bats", "ok 1 adds\n", None),
            ("nothing", "", None),
        ] {
            let found = counts(output).map(|counts| (counts.passed, counts.failed));
            assert_eq!(found, expected, "{runner}");
        }
    }
}
