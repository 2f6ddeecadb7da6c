//! Python: pytest and unittest; pip, uv and poetry; ruff.

mod one_test;
mod requirements;

use std::fmt::Write as _;
use std::path::Path;

use crate::languages::commands::{ProjectCommands, files_in, text};
use crate::languages::language::NodeRole::{Code, Type};
use crate::languages::language::{
    Imports, Language, NO_PATTERNS, PLAIN, Programs, RunnerOutput, Syntax, TestCode,
};
use crate::languages::manager::{Manager, ManifestFiles, USUAL};
use crate::languages::one_test::OneTest;
use crate::shell_quote::quoted;

pub(super) static PYTHON: Language = Language {
    name: "python",
    syntaxes: &[Syntax {
        name: "python",
        extensions: &["py", "pyi"],
        shapes: &[("function_definition", Code), ("class_definition", Type)],
        bodies_by_brace: false,
    }],
    manifests: &["pyproject.toml", "setup.cfg", "setup.py", "requirements.txt"],
    imports: Imports {
        begins: &["import ", "from "],
        words: &["import", "from", "as"],
        folder_files: &["__init__"],
        package_is_folder: false,
    },
    is_private: |name, _, _| name.starts_with('_'),
    tests: Some(TestCode {
        head: r"^\s*(?:async\s+)?def\s+(?<name>test\w*)\s*\(",
        decoration: "@",
        group: r"^\s*class\s+(?<name>\w+)",
        skip: r"@[\w.]*(?:skip|xfail|expectedFailure)|\b(?:pytest\.(?:skip|xfail|importorskip)|self\.skipTest|raise\s+(?:unittest\.)?SkipTest)\b",
        skip_all: r"^pytestmark\s*=.*\b(?:skip|xfail)|^pytest\.skip\(",
        assertion: r"(?:^|:)\s*assert\b|\bself\.assert\w+\(|\bself\.fail\(|\b(?:pytest\.)?(?:raises|warns)\(|\.assert_\w+\(",
        comment: "#",
        ..NO_PATTERNS
    }),
    runners: RunnerOutput {
        failed: &[
            // pytest
            r"^(?:FAILED|ERROR) (?<name>\S+::.*?|\S+\.py)(?: - .*)?$",
            // unittest
            r"^(?:FAIL|ERROR): (?<name>\S+ \([\w.]+\).*)$",
        ],
        reports: &[
            // pytest
            r"^_{3,} (?:ERROR at (?:setup|teardown) of )?(?<name>\S.*?) _{3,}$",
            // unittest
            r"^(?:FAIL|ERROR): (?<name>\S+ \([\w.]+\).*)$",
        ],
        ends: &["^={5,}", "^Ran [0-9]+ tests?", "^Captured "],
        ..PLAIN.runners
    },
    one_test: Some(OneTest {
        passed: one_test::PASSED,
        names: one_test::names,
        command: one_test::command,
    }),
    commands,
    programs: Programs {
        test_frameworks: &["pytest", "unittest"],
        need_no_packages: &["ruff"],
        take_paths: &["python3 -m pytest", "pytest", "ruff", "mypy"],
        fix: &[("ruff check", "--fix"), ("python3 -m ruff check", "--fix")],
        not_installed: &[": No module named "],
        ..PLAIN.programs
    },
    managers: &[
        Manager {
            name: "uv",
            locks: &["uv.lock"],
            manifests: &["pyproject.toml"],
            complete: "uv sync -q --frozen --offline --no-install-project --no-build",
            unreadable: UNREADABLE,
            fetch: "uv sync --frozen --no-install-project --no-build",
            after: "uv sync --frozen --offline",
            leaves: ".venv",
            by_hand: |_, _| "uv sync".to_owned(),
            programs: PROGRAMS,
            ..USUAL
        },
        Manager {
            name: "poetry",
            locks: &["poetry.lock"],
            manifests: &["pyproject.toml"],
            not_beside: &["uv.lock"],
            complete: "command -v poetry >/dev/null || exit 127; poetry install --no-root \
                       --dry-run --no-interaction | \
                       grep -Eq '0 installs, 0 updates|No dependencies to install'",
            unreadable: UNREADABLE,
            fetch: "POETRY_INSTALLER_ONLY_BINARY=:all: poetry install --no-root --no-interaction",
            shared: true,
            by_hand: |_, _| "poetry install".to_owned(),
            programs: PROGRAMS,
            ..USUAL
        },
        Manager {
            name: "pip",
            locks: &["requirements.txt"],
            manifests: &["requirements-dev.txt", "requirements-test.txt", "dev-requirements.txt"],
            is_manifest: requirements::is_file,
            not_beside: &["uv.lock", "poetry.lock"],
            without_lock: true,
            asks: |place, files| !requirements::packages(place, files).is_empty(),
            complete: "python3 -m pip install -q --dry-run --no-index -r TARGET.txt",
            unreadable: UNREADABLE,
            // `-I` keeps python from importing modules of the tree, which may contain a `pip.py`.
            fetch: "python3 -Im pip install --only-binary :all: --target TARGET -r TARGET.txt",
            list: Some(requirements::packages),
            by_hand: pip_by_hand,
            programs: PROGRAMS,
            ..USUAL
        },
    ],
    foreign_folders: &["site-packages", "venv", ".venv", "__pycache__"],
    guidance: GUIDANCE,
    ..PLAIN
};

/// Programs that need the project's packages.
const PROGRAMS: &[&str] = &["python", "python3", "pytest", "uv", "poetry", "tox", "nox", "mypy"];
/// Messages of package managers about invalid requirements.
const UNREADABLE: &[&str] = &["Invalid requirement"];

/// Guidance for new Python code.
const GUIDANCE: &str = "\
    Python:\n\n\
    - Layout: one module for a small program, else a package (`name/__init__.py`, \
      `name/__main__.py`), with `pyproject.toml` if the program is installed. `.gitignore` has \
      `__pycache__/` and `.venv/`.\n\
    - Tests, where they are asked for: in `tests/test_*.py`, with the runner the project has; a \
      new project uses `unittest`, which needs no package.\n\
    - Errors: raise and catch specific exceptions, never a bare `except`. A user's mistake ends \
      in a message on stderr and an exit code that is not 0, not in a traceback.\n\
    - Dependencies: the standard library first (argparse, json, pathlib, sqlite3). Packages \
      that the design names go into `pyproject.toml` or `requirements.txt`.\n\
    - Functions and dataclasses before classes with behaviour; type hints on public functions; \
      `with` and explicit UTF-8 for files; `if __name__ == \"__main__\":` calls `main()`.\n";

fn commands(root: &Path) -> Option<ProjectCommands> {
    let has_pytest = root.join("pytest.ini").is_file()
        || root.join("conftest.py").is_file()
        || root.join("tests/conftest.py").is_file()
        || ["pyproject.toml", "setup.cfg", "tox.ini", "requirements.txt", "requirements-dev.txt"]
            .iter()
            .any(|file| text(root, file).is_some_and(|text| text.contains("pytest")))
        || imports_pytest(root);
    let ruff = root.join("ruff.toml").is_file()
        || text(root, "pyproject.toml").is_some_and(|text| text.contains("[tool.ruff"));
    let lint = if ruff { "ruff check" } else { "" };
    if has_pytest {
        return Some(ProjectCommands::new("python3 -m pytest -q", "", lint));
    }
    if test_files(root, "tests").next().is_some() {
        // Without a package, unittest finds tests only in a named directory.
        let package = root.join("tests/__init__.py").is_file();
        let top = if package { " -t ." } else { "" };
        let test = format!("python3 -m unittest discover -s tests{top}");
        return Some(ProjectCommands::new(&test, "", lint));
    }
    if test_files(root, "").next().is_some() {
        return Some(ProjectCommands::new("python3 -m unittest", "", lint));
    }
    let project = ["pyproject.toml", "setup.cfg", "setup.py"];
    project.iter().any(|file| root.join(file).is_file()).then(|| ProjectCommands::new("", "", lint))
}

fn imports_pytest(root: &Path) -> bool {
    let imports = |text: String| text.lines().any(|line| line.trim() == "import pytest");
    ["", "tests"].iter().any(|dir| {
        test_files(root, dir).any(|file| {
            text(root, format!("{dir}/{file}").trim_start_matches('/')).is_some_and(imports)
        })
    })
}

/// Returns the names of test files directly in a directory.
fn test_files(root: &Path, dir: &str) -> impl Iterator<Item = String> {
    files_in(root, dir).filter(|name| name.starts_with("test") && name.ends_with(".py"))
}

/// Returns the pip command that installs from all requirement files in a directory.
fn pip_by_hand(place: &Path, files: &ManifestFiles) -> String {
    let mut command = "python3 -m pip install".to_owned();
    for file in requirements::files(place, files) {
        let _ = write!(command, " -r {}", quoted(file));
    }
    command
}
