//! PHP: phpunit and pest.

use super::language::{Language, NO_PATTERNS, PLAIN, RunnerOutput, TestCode};
use super::one_test::{OneTest, Project, TestName, any_of, each, same, up_to};
use crate::shell_quote::quoted;

pub(super) static PHP: Language = Language {
    name: "php",
    extensions: &["php"],
    manifests: &["composer.json"],
    tests: Some(TestCode {
        head: r#"^\s*(?:(?:final|public|protected|static)\s+)*function\s+(?<name>test\w*)\s*\(|^\s*(?:it|test)\(\s*(?:'(?<single>[^']*)'|"(?<double>[^"]*)")"#,
        group: r"^\s*(?:(?:final|abstract)\s+)*class\s+(?<name>\w+)",
        skip: r"\bmarkTest(?:Skipped|Incomplete)\(|->(?:skip|todo)\(",
        skip_all: r"->only\(",
        assertion: r"(?:->|::)(?:assert|expect)\w*\(|\bexpect\(",
        comment: "//",
        ..NO_PATTERNS
    }),
    one_test: Some(OneTest {
        passed: &[r"^##teamcity\[testFinished name='(?<name>\w+)(?: with data set [^\n]*)?' "],
        names: |test| vec![test.name().to_owned()],
        command,
    }),
    runners: RunnerOutput { failed: &[r"^\d+\) (?<name>[\w\\]+::\w+)"], ..PLAIN.runners },
    ..PLAIN
};

/// Runs tests of one file with phpunit, which takes one path. Not possible with pest, where a test's
/// name is a sentence.
fn command(tests: &[TestName<'_>], project: &Project<'_>) -> Option<String> {
    let path_in_project = "vendor/bin/phpunit";
    let in_project = || project.root.join(path_in_project).is_file().then_some(path_in_project);
    let runner = up_to(project.tests, "phpunit").or_else(in_project)?;
    let is_method =
        |test: &TestName<'_>| test.name().chars().all(|c| c.is_alphanumeric() || c == '_');
    let path = quoted(same(tests.iter().map(|test| test.path))?);
    let names = any_of(&each(tests, |test| test.name().to_owned()));
    let filter = quoted(&format!("/::{names}( with data set .*)?$/"));
    let are_methods = tests.iter().all(is_method);
    are_methods.then(|| format!("{runner} --teamcity --filter {filter} {path}"))
}
