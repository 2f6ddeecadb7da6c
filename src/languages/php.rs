//! PHP: phpunit and pest.

use super::language::{Language, PLAIN, RunnerOutput, TestCode};

pub(super) static PHP: Language = Language {
    name: "php",
    extensions: &["php"],
    manifests: &["composer.json"],
    tests: Some(TestCode {
        head: r#"^\s*(?:(?:final|public|protected|static)\s+)*function\s+(?<name>test\w*)\s*\(|^\s*(?:it|test)\(\s*(?:'(?<single>[^']*)'|"(?<double>[^"]*)")"#,
        mark: "",
        decoration: "",
        group: r"^\s*(?:(?:final|abstract)\s+)*class\s+(?<name>\w+)",
        skip: r"\bmarkTest(?:Skipped|Incomplete)\(|->(?:skip|todo)\(",
        skip_all: r"->only\(",
        assertion: r"(?:->|::)(?:assert|expect)\w*\(|\bexpect\(",
        comment: "//",
    }),
    runners: RunnerOutput { failed: &[r"^\d+\) (?<name>[\w\\]+::\w+)"], ..PLAIN.runners },
    ..PLAIN
};
