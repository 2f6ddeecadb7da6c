//! Bats, which tests shell scripts, and the Test Anything Protocol, which node and prove also use.

use super::language::{Language, NO_PATTERNS, PLAIN, RunnerOutput, TestCode};
use super::one_test::{OneTest, any_of, each};
use crate::shell_quote::quoted;

/// A passed test in the Test Anything Protocol, but not a skipped one.
pub(super) const OK: &str =
    r"^\s*ok \d+(?: -)? (?<name>[^#\n]*?)\s*(?:# (?:time|duration)[^\n]*)?$";

pub(super) static BATS: Language = Language {
    name: "bats",
    extensions: &["bats"],
    tests: Some(TestCode {
        head: r#"^\s*@test\s+(?:'(?<name>[^']*)'|"(?<double>[^"]*)")"#,
        skip: r"^\s*skip\b",
        assertion: r"\[\[? |\bassert\w*\b|\brefute\w*\b|\bgrep -\w*q|(?:^|\s)(?:diff|cmp|test) ",
        comment: "#",
        ..NO_PATTERNS
    }),
    runners: RunnerOutput {
        failed: &[r"^\s*not ok \d+(?: -)? (?<name>[^#]*?)\s*(?:# (?:time|duration).*)?$"],
        reports: &[r"^\s*not ok \d+(?: -)? (?<name>[^#]*?)\s*$"],
        ends: &[r"^\s*ok \d+", r"^\s+\.\.\.$"],
        ..PLAIN.runners
    },
    one_test: Some(OneTest {
        passed: &[OK],
        names: |test| vec![test.name().to_owned()],
        command: |tests, _| {
            let names = any_of(&each(tests, |test| regex::escape(test.name())));
            let files = each(tests, |test| quoted(test.path)).join(" ");
            Some(format!("bats --tap --filter {} {files}", quoted(&format!("^{names}$"))))
        },
    }),
    ..PLAIN
};
