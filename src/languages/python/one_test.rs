//! Runs tests of a Python project with pytest or unittest.

use super::commands;
use crate::languages::one_test::{Project, TestName, below, each, same, up_to};
use crate::shell_quote::quoted;

pub(super) const PASSED: &[&str] = &[
    // pytest -v and -rA
    r"^(?<name>\S+::.+?) PASSED\b",
    r"^PASSED (?<name>\S+::.*)$",
    // unittest -v, which may print the first line of the test's docstring in between
    r"^(?<name>\w+ \([\w.]+\))(?:\n[^\n]*?)? \.\.\. ok$",
];

pub(super) fn names(test: &TestName<'_>) -> Vec<String> {
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

pub(super) fn command(tests: &[TestName<'_>], project: &Project<'_>) -> Option<String> {
    let detected = commands(project.root).map(|commands| commands.test).unwrap_or_default();
    let pytest = up_to(project.tests, "pytest");
    let pytest = pytest.or_else(|| {
        let other = project.tests.contains("unittest");
        if other { None } else { up_to(&detected, "pytest") }
    });
    let all = |ids: Vec<String>| ids.iter().map(|id| quoted(id)).collect::<Vec<_>>();
    if let Some(pytest) = pytest {
        let ids = each(tests, |test| format!("{}::{}", test.path, test.joined("::")));
        return Some(format!("{pytest} -v {}", all(ids).join(" ")));
    }
    if tests.iter().any(|test| test.parts.len() < 2) {
        // unittest can run only methods by name.
        return None;
    }
    // A folder that is no package is where its modules are imported from.
    let top_of = |test: &TestName<'_>| {
        let folder = test.folder_and_file().0;
        let package = project.root.join(folder).join("__init__.py").is_file();
        (if package { "" } else { folder }).to_owned()
    };
    let top = same(tests.iter().map(top_of))?;
    let ids = each(tests, |test| {
        let module = below(&top, test.path).trim_end_matches(".py").replace('/', ".");
        format!("{module}.{}", test.joined("."))
    });
    let path = match top.as_str() {
        "" => String::new(),
        top => format!("PYTHONPATH={}${{PYTHONPATH:+:$PYTHONPATH}} ", quoted(top)),
    };
    Some(format!("{path}python3 -m unittest -v -b {}", all(ids).join(" ")))
}
