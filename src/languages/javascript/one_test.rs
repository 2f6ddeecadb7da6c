//! Runs tests of a JavaScript project with node, jest, vitest or mocha.

use super::{package, script};
use crate::languages::bats;
use crate::languages::commands::text;
use crate::languages::one_test::{
    Project, TestName, any_of, below, each, folder_of_manifest, in_folder, same,
};
use crate::shell_quote::quoted;

/// Output of jest, mocha, vitest and node. The time after a name does not belong to it.
pub(super) const PASSED: &[&str] =
    &[r"^\s*[✓✔√] (?<name>\S.*?)(?:\s+\(?[0-9.]+ ?m?s\)?)?$", bats::OK];

/// Returns the names under which runners print a test. Most runners show groups by indentation;
/// vitest and failure reports put the groups and the test on one line.
pub(super) fn names(test: &TestName<'_>) -> Vec<String> {
    let mut names = vec![test.name().to_owned()];
    if test.parts.len() > 1 {
        names.extend([" ", " > ", " › "].map(|by| test.joined(by)));
    }
    names.push(format!("{} > {}", test.path, test.joined(" > ")));
    names.dedup();
    names
}

pub(super) fn command(tests: &[TestName<'_>], project: &Project<'_>) -> Option<String> {
    let folder_of = |test: &TestName<'_>| {
        folder_of_manifest(project.root, test.path, "package.json").to_owned()
    };
    let folder = same(tests.iter().map(folder_of))?;
    let files = each(tests, |test| quoted(below(&folder, test.path))).join(" ");
    let manifest = text(project.root, format!("{folder}/package.json").trim_start_matches('/'));
    let script_text =
        manifest.and_then(|text| script(&package(&text)?, "test")).unwrap_or_default();
    let uses = |runner: &str| script_text.contains(runner) || project.tests.contains(runner);
    let whole = any_of(&each(tests, |test| regex::escape(&test.joined(" "))));
    let command = if uses("vitest") {
        format!("npx vitest run {files} -t {} --reporter=verbose", quoted(&format!("{whole}$")))
    } else if uses("jest") {
        let name = quoted(&format!("^{whole}$"));
        format!("npx jest --runTestsByPath {files} -t {name} --verbose")
    } else if uses("mocha") {
        format!("npx mocha {files} -g {}", quoted(&format!("{whole}$")))
    } else {
        // Older versions of node match the pattern against the test's own name, newer ones against
        // the name preceded by its groups.
        let names = each(tests, |test| {
            let name = format!("{}$", regex::escape(test.name()));
            format!(" --test-name-pattern={}", quoted(&name))
        });
        format!("node --test --test-reporter=spec{} {files}", names.concat())
    };
    Some(in_folder(&folder, command))
}
