//! Shell scripts. A test is a function `test_…`, or a `test_expect_success` of git and sharness; a
//! script without any counts as one test if its path is that of a test.

use std::path::Path;

use super::bats::OK;
use super::commands::{ProjectCommands, text};
use super::language::{Language, NO_PATTERNS, PLAIN, Programs, TestCode};
use super::one_test::{OneTest, in_folder, same};
use crate::shell_quote::quoted;

pub(super) static SHELL: Language = Language {
    name: "shell",
    extensions: &["sh", "bash", "zsh", "t"],
    tests: Some(TestCode {
        head: r#"^\s*(?:(?:function\s+)?(?<name>test\w+)\s*\(\s*\)|test_expect_(?:success|failure)\s+(?:[A-Z_0-9,!]+\s+)?(?:'(?<single>[^']*)'|"(?<double>[^"]*)"))"#,
        by_path: true,
        skip: r"^\s*(?:skip\b|exit 0\b)",
        assertion: r"\[\[? |\bassert\w*\b|\btest_expect\w*|\bgrep -\w*q|(?:^|\s)(?:diff|cmp|test) ",
        comment: "#",
        ..NO_PATTERNS
    }),
    one_test: Some(OneTest {
        passed: &[OK],
        names: |test| vec![test.name().to_owned()],
        // A script has no common option that selects tests: it runs all of them.
        command: |tests, project| {
            let path = same(tests.iter().map(|test| test.path))?;
            let script = text(project.root, path)?;
            let shell = interpreter(&script)?;
            Some(match path.rsplit_once('/') {
                // These scripts read their library from the current folder.
                Some((folder, file)) if script.contains("test_expect_") => {
                    in_folder(folder, format!("{shell} {}", quoted(&format!("./{file}"))))
                }
                _ => format!("{shell} {}", quoted(path)),
            })
        },
    }),
    programs: Programs { need_no_packages: &["shellcheck"], ..PLAIN.programs },
    ..PLAIN
};

/// Scripts that run all tests of a project.
const RUNNERS: [&str; 5] = ["test.sh", "tests.sh", "run-tests.sh", "test/run.sh", "tests/run.sh"];

/// Fills in a missing test command, if there is a script that runs all tests.
pub(super) fn complete(mut commands: ProjectCommands, root: &Path) -> ProjectCommands {
    if commands.test.is_empty() {
        let runner = RUNNERS.iter().find_map(|path| Some((interpreter(&text(root, path)?)?, path)));
        commands.test = runner.map_or_else(String::new, |(shell, path)| format!("{shell} {path}"));
    }
    commands
}

/// The shell that a script's first line names, or `sh` without one; `None` if the script is for
/// another program.
fn interpreter(script: &str) -> Option<&'static str> {
    let Some(line) = script.lines().next().and_then(|line| line.strip_prefix("#!")) else {
        return Some("sh");
    };
    let mut names = line.split_whitespace().filter_map(|word| word.rsplit('/').next());
    let program = names.find(|name| *name != "env")?;
    ["sh", "bash", "dash", "ksh", "zsh"].into_iter().find(|shell| *shell == program)
}
