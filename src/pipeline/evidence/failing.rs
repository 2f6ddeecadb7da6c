//! The names of failed tests, read from the output of common test runners.
//!
//! All patterns are tried on every line, because a command such as `make test` does not tell which
//! runner it starts. A name only has to be the same in two runs.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::languages::{self, RunnerOutput};

/// Maximum characters of a name; longer names are cut.
const LONGEST: usize = 200;

static KNOWN: LazyLock<Vec<Regex>> = LazyLock::new(|| ready(|runners| runners.failed));

/// The patterns of all languages, in their order.
pub(super) fn ready(of: fn(&RunnerOutput) -> &'static [&'static str]) -> Vec<Regex> {
    let forms = languages::ALL.iter().flat_map(|language| of(&language.runners));
    forms.filter_map(|form| Regex::new(form).ok()).collect()
}

/// A duration, a time of day, the line of a doc test: not a part of a name.
static TIMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const FORM: &str = r"(?x)
        \s?\(?\b\d+(?:[.,:]\d+)*\s?(?:ns|µs|us|ms|s|sec|secs|seconds?|m|min|minutes?)\b\)?
        | \b\d{1,4}[-/]\d{1,2}[-/]\d{1,4}\b
        | \b\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\b
        | \s\(line\s\d+\)";
    Regex::new(FORM).ok()
});

/// The output without times, for the comparison with another run.
pub(crate) fn without_times(output: &str) -> String {
    let output = match TIMES.as_ref() {
        Some(times) => times.replace_all(output, ""),
        None => Cow::Borrowed(output),
    };
    output.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The names of the tests that failed.
pub(crate) fn names(output: &str) -> BTreeSet<String> {
    let failed_in = languages::ALL.iter().map(|language| (language.runners.failed_in)(output));
    let mut names: BTreeSet<String> = failed_in.flatten().collect();
    for line in output.lines().map(str::trim_end) {
        let found = KNOWN.iter().find_map(|form| form.captures(line));
        let Some(name) = found.as_ref().and_then(|found| found.name("name")) else { continue };
        let name: String = without_times(name.as_str()).chars().take(LONGEST).collect();
        if !name.is_empty() && !is_none(&name) {
            names.insert(name);
        }
    }
    names
}

/// True if a matched name is not the name of a test.
fn is_none(name: &str) -> bool {
    languages::ALL.iter().any(|language| language.runners.not_tests.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_of_times_compiles() {
        assert!(TIMES.is_some());
    }

    #[test]
    fn failed_tests_of_each_runner_are_named() {
        for (runner, output, expected) in [
            (
                "cargo",
                "running 3 tests\ntest a::b ... ok\ntest a::c ... FAILED\ntest src/lib.rs - f (line 12) ... FAILED\ntest d - should panic ... FAILED\n\nfailures:\n    a::c\n\ntest result: FAILED. 1 passed; 3 failed; finished in 0.02s\nerror: test failed, to rerun pass `--lib`\n",
                &["a::c", "d", "src/lib.rs - f"][..],
            ),
            (
                "nextest",
                "        PASS [   0.004s] it a::b\n        FAIL [   0.007s] (2/9) it a::c\n     SIGSEGV [   1.2s] it d\n",
                &["it a::c", "it d"],
            ),
            (
                "pytest",
                "F.E [100%]\n=== short test summary info ===\nFAILED tests/test_a.py::test_x[a b] - assert 1 == 2\nERROR tests/test_b.py - ImportError: no\nERROR tests/test_c.py::test_y\n1 failed, 2 errors in 0.12s\n",
                &["tests/test_a.py::test_x[a b]", "tests/test_b.py", "tests/test_c.py::test_y"],
            ),
            (
                "unittest",
                "F.\n======\nFAIL: test_x (tests.test_a.TestA.test_x)\n------\nERROR: test_y (test_b.TestB) (i=1)\nAssertionError: 1 != 2\nFAILED (failures=1, errors=1)\n",
                &["test_x (tests.test_a.TestA.test_x)", "test_y (test_b.TestB) (i=1)"],
            ),
            (
                "go",
                "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/one (0.00s)\n        a_test.go:5: no\nFAIL\nFAIL\texample.com/a\t0.003s\nok  \texample.com/b\t0.1s\n# example.com/c\nFAIL\texample.com/c [build failed]\nFAIL\n",
                &[
                    "example.com/a",
                    "example.com/a TestA",
                    "example.com/a TestA/one",
                    "example.com/c [build failed]",
                ],
            ),
            (
                "jest",
                "FAIL src/a.test.js (5.1 s)\n  sums\n    ✓ adds (2 ms)\n    ✕ carries (3 ms)\n\n  ● sums › carries\n\n    expect(received).toBe(expected)\n\n  ● Console\n\nTests: 1 failed, 1 passed\n",
                &["carries", "src/a.test.js", "sums › carries"],
            ),
            (
                "vitest",
                " ❯ a.test.ts (2 tests | 1 failed) 5ms\n   × sums > carries 3ms\n FAIL  a.test.ts > sums > carries\nAssertionError: no\n",
                &["a.test.ts > sums > carries", "sums > carries"],
            ),
            (
                "node",
                "TAP version 13\nnot ok 1 - carries\n  ---\n  duration_ms: 1.2\nok 2 - adds\nnot ok 3 - later # TODO\n",
                &["carries"],
            ),
            ("node spec", "✖ carries (0.9ms)\n✔ adds (0.1ms)\nℹ fail 1\n", &["carries"]),
            ("mocha", "  sums\n    ✓ adds\n    1) carries\n\n  1 failing\n", &["carries"]),
            ("bats", "1..2\nok 1 adds\nnot ok 2 carries in 3ms\n", &["carries in"]),
            (
                "gradle",
                "SumTest > carries() FAILED\n    java.lang.Error\n",
                &["SumTest > carries()"],
            ),
            ("maven", "[ERROR]   SumTest.carries:12 expected\n", &["SumTest.carries"]),
            ("dotnet", "  Failed Sum.Carries [3 ms]\n", &["Sum.Carries"]),
            ("rspec", "rspec ./spec/sum_spec.rb:3 # Sum carries\n", &["Sum carries"]),
            (
                "minitest",
                "Run options: --seed 1\n\n  1) Failure:\nSumTest#test_carries [test/sum_test.rb:7]:\nExpected: 1\n  Actual: 2\n\n  2) Error:\nSum::adding#test_0001_adds two:\nRuntimeError: no\n\n2 runs, 1 assertions, 1 failures, 1 errors, 0 skips\n",
                &["Sum::adding#test_0001_adds two", "SumTest#test_carries"],
            ),
            (
                "test-unit",
                "Failure: test_carries(SumTest): <1> expected but was <2>.\n",
                &["test_carries(SumTest)"],
            ),
            ("phpunit", "1) SumTest::testCarries\nFailed asserting\n", &["SumTest::testCarries"]),
            ("a build", "error[E0425]: cannot find value `x`\n --> src/lib.rs:1:5\n", &[]),
            ("all well", "test a ... ok\n3 passed in 0.1s\n", &[]),
        ] {
            let found: Vec<String> = names(output).into_iter().collect();
            assert_eq!(found, expected, "{runner}");
        }
    }

    #[test]
    fn times_are_removed() {
        let said = |text: &str| without_times(text);
        assert_eq!(said("3 failed  in 0.12s (2 ms) at 12:01:59\n"), "3 failed in at");
        assert_eq!(said("a.py:12: no"), "a.py:12: no");
        assert_ne!(said("1 failed"), said("2 failed"));
    }
}
