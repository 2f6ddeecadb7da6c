//! Runs one test of a Python project with pytest or unittest.

use super::commands;
use crate::languages::one_test::{Named, Project, up_to};
use crate::shell_quote::quoted;

pub(super) const PASSED: &[&str] = &[
    // pytest -v and -rA
    r"^(?<name>\S+::.+?) PASSED\b",
    r"^PASSED (?<name>\S+::.*)$",
    // unittest -v, which may print the first line of the test's docstring in between
    r"^(?<name>\w+ \([\w.]+\))(?:\n[^\n]*?)? \.\.\. ok$",
];

pub(super) fn names(test: &Named<'_>) -> Vec<String> {
    let mut names = vec![format!("{}::{}", test.path, test.joined("::"))];
    let (name, groups) = (test.name(), test.parts.len().saturating_sub(1));
    let groups = test.parts[..groups].join(".");
    let mut module = test.path.trim_end_matches(".py").replace('/', ".");
    loop {
        // Since Python 3.11, the test's name follows the name of its class.
        names.push(format!("{name} ({module}.{groups}.{name})"));
        names.push(format!("{name} ({module}.{groups})"));
        match module.split_once('.') {
            Some((_, rest)) => module = rest.to_owned(),
            None => return names,
        }
    }
}

pub(super) fn alone(test: &Named<'_>, project: &Project<'_>) -> Option<String> {
    let detected = commands(project.root).map(|own| own.test).unwrap_or_default();
    let pytest = up_to(project.tests, "pytest");
    let pytest = pytest.or_else(|| {
        let other = project.tests.contains("unittest");
        if other { None } else { up_to(&detected, "pytest") }
    });
    if let Some(pytest) = pytest {
        let id = quoted(&format!("{}::{}", test.path, test.joined("::")));
        return Some(format!("{pytest} -v {id}"));
    }
    if test.parts.len() < 2 {
        // unittest can run only methods by name.
        return None;
    }
    let (folder, file) = test.folder_and_file();
    if folder.is_empty() {
        let id = format!("{}.{}", file.trim_end_matches(".py"), test.joined("."));
        return Some(format!("python3 -m unittest -v -b {}", quoted(&id)));
    }
    let package = project.root.join(folder).join("__init__.py").is_file();
    let top = if package { " -t ." } else { "" };
    let (folder, file, name) = (quoted(folder), quoted(file), quoted(&test.joined(".")));
    Some(format!("python3 -m unittest discover -v -b -s {folder}{top} -p {file} -k {name}"))
}
