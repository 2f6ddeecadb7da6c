//! C#, and what else dotnet tests.

use super::language::{Language, PLAIN, RunnerOutput, TestCode};

pub(super) static CSHARP: Language = Language {
    name: "csharp",
    extensions: &["cs", "fs", "vb"],
    tests: Some(TestCode {
        head: r"^\s*(?:\[[^\]]*\]\s*)*(?:[\w<>\[\],.?]+\s+)+(?<name>\w+)\s*\(",
        mark: r"\[(?:\w+\.)*(?:Test|TestCase|TestMethod|Fact|Theory)\b",
        decoration: "[",
        group: r"^\s*(?:\w+\s+)*class\s+(?<name>\w+)",
        skip: r"\[(?:\w+\.)*Ignore\b|\bSkip\s*=|\bAssert\.(?:Ignore|Inconclusive|Skip)\(",
        skip_all: "",
        assertion: r"\bAssert\.\w+|\.Should\w*\(|\bVerify\(",
        comment: "//",
    }),
    runners: RunnerOutput { failed: &[r"^\s+Failed (?<name>\S+) \["], ..PLAIN.runners },
    ..PLAIN
};
