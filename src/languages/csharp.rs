//! C#, and other languages that dotnet tests.

use super::language::{Language, NO_PATTERNS, PLAIN, RunnerOutput, TestCode};
use super::one_test::{OneTest, each};
use crate::shell_quote::quoted;

pub(super) static CSHARP: Language = Language {
    name: "csharp",
    extensions: &["cs", "fs", "vb"],
    tests: Some(TestCode {
        head: r"^\s*(?:\[[^\]]*\]\s*)*(?:[\w<>\[\],.?]+\s+)+(?<name>\w+)\s*\(",
        mark: r"\[(?:\w+\.)*(?:Test|TestCase|TestMethod|Fact|Theory)\b",
        decoration: "[",
        group: r"^\s*(?:\w+\s+)*class\s+(?<name>\w+)",
        skip: r"\[(?:\w+\.)*Ignore\b|\bSkip\s*=|\bAssert\.(?:Ignore|Inconclusive|Skip)\(",
        assertion: r"\bAssert\.\w+|\.Should\w*\(|\bVerify\(",
        comment: "//",
        ..NO_PATTERNS
    }),
    runners: RunnerOutput { failed: &[r"^\s+Failed (?<name>\S+) \["], ..PLAIN.runners },
    one_test: Some(OneTest {
        // xunit prints class and method, nunit and mstest print only the method. If a test is
        // parameterized, its values follow the name.
        passed: &[
            r"^\s+Passed (?:\S+\.)?(?<name>\w+\.\w+)(?:\(.*\))? \[",
            r"^\s+Passed (?<name>\w+) ?(?:\(.*\))? ?\[",
        ],
        names: |test| vec![test.joined("."), test.name().to_owned()],
        command: |tests, _| {
            let filter = each(tests, |test| format!("FullyQualifiedName~{}", test.joined(".")));
            let filter = quoted(&filter.join("|"));
            Some(format!("dotnet test --filter {filter} --logger 'console;verbosity=detailed'"))
        },
    }),
    ..PLAIN
};
