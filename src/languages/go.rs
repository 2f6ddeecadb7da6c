//! Go.

use std::collections::BTreeSet;

use super::commands::ProjectCommands;
use super::language::NodeRole::{Anonymous, Code, Type};
use super::language::{
    Imports, Language, NO_PATTERNS, PLAIN, Programs, RunnerOutput, Syntax, TestCode,
};
use super::manager::{Manager, USUAL};
use super::one_test::{
    OneTest, Project, TestName, any_of, below, each, folder_of_manifest, in_folder, same,
};
use crate::shell_quote::quoted;

pub(super) static GO: Language = Language {
    name: "go",
    also: &["golang"],
    syntaxes: &[Syntax {
        name: "go",
        extensions: &["go"],
        shapes: &[
            ("function_declaration", Code),
            ("method_declaration", Code),
            ("type_spec", Type),
            ("type_alias", Type),
            ("func_literal", Anonymous),
        ],
        bodies_by_brace: true,
    }],
    manifests: &["go.mod"],
    imports: Imports {
        begins: &["import "],
        words: &["import"],
        package_is_folder: true,
        ..PLAIN.imports
    },
    tests: Some(TestCode {
        head: r"^func\s+(?<name>(?:Test|Fuzz|Example)\w*)\s*\(",
        skip: r"\b\w+\.Skip(?:f|Now)?\(",
        skip_all: r"^//go:build\s+(?:ignore|never)\b",
        assertion: r"\b\w+\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:assert|require)\.\w+\(",
        comment: "//",
        ..NO_PATTERNS
    }),
    runners: RunnerOutput {
        // This pattern matches a package; `failed_tests` reads its tests.
        failed: &[r"^FAIL\t(?<name>\S+(?: \[[^\]]+\])?)"],
        failed_in: failed_tests,
        reports: &[r"^\s*--- FAIL: (?<name>\S+)"],
        ends: &[r"^FAIL\b", r"^ok\b", "^PASS$"],
        ..PLAIN.runners
    },
    one_test: Some(OneTest {
        passed: &[r"^\s*--- PASS: (?<name>\S+)"],
        names: |test| vec![test.name().to_owned(), format!(" {}", test.name())],
        command,
    }),
    commands: |root| {
        let is_project = root.join("go.mod").is_file();
        is_project.then(|| ProjectCommands::new("go test ./...", "go build ./...", "go vet ./..."))
    },
    programs: Programs {
        run_tests: &["go"],
        need_no_packages: &["gofmt"],
        fix: &[("golangci-lint run", "--fix")],
        ..PLAIN.programs
    },
    managers: &[Manager {
        name: "go",
        locks: &["go.sum"],
        manifests: &["go.mod"],
        without_lock: true,
        asks: |place, files| {
            let is_require = |text: &String| text.lines().any(|line| line.starts_with("require"));
            files.get(&place.join("go.mod")).is_some_and(is_require)
        },
        complete: "test -e vendor/modules.txt || GOPROXY=off go mod download",
        unreadable: &["errors parsing go.mod"],
        fetch: "go mod download",
        shared: true,
        by_hand: |_, _| "go mod download".to_owned(),
        programs: &["go"],
        stays_within: true,
        ..USUAL
    }],
    guidance: GUIDANCE,
    ..PLAIN
};

/// Guidance for new Go code.
const GUIDANCE: &str = "\
    Go:\n\n\
    - Layout: `go.mod` at the top; a small program is `main.go` and a few files of the same \
      package, a larger one `cmd/NAME/` and `internal/`. No `pkg/`, `utils` or `models`.\n\
    - Tests, where they are asked for: beside the code in `*_test.go`, tables of cases with \
      `t.Run`.\n\
    - Errors: return them, wrapped as `fmt.Errorf(\"reading %s: %w\", path, err)`; none is \
      dropped. Only `main` prints and calls `os.Exit`; no `panic` for what a user can cause.\n\
    - Dependencies: the standard library first (flag, encoding/json, net/http). A module is \
      named in the design; `go.mod` and `go.sum` are committed.\n\
    - Interfaces in the package that uses them, only if there are two \
      implementations; return structs; no goroutine without a known end; formatted with \
      `gofmt`, clean under `go vet`.\n";

fn command(tests: &[TestName<'_>], project: &Project<'_>) -> Option<String> {
    let module_of =
        |test: &TestName<'_>| folder_of_manifest(project.root, test.path, "go.mod").to_owned();
    let module = same(tests.iter().map(module_of))?;
    // A line about a passed test does not name its package.
    let package = match below(&module, same(tests.iter().map(|test| test.folder_and_file().0))?) {
        "" => ".".to_owned(),
        folder => quoted(&format!("./{folder}")),
    };
    let names = any_of(&each(tests, |test| test.name().to_owned()));
    let names = quoted(&format!("^{names}$"));
    Some(in_folder(&module, format!("go test -v -count=1 -run {names} {package}")))
}

/// Finds failed tests and puts the package before each name, because tests of several packages may
/// have the same name. In the output, the line with the package comes after the package's tests.
fn failed_tests(output: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    for line in output.lines() {
        if let Some(rest) = line.trim_start().strip_prefix("--- FAIL: ") {
            open.extend(rest.split_whitespace().next());
        } else if let Some(rest) = line.strip_prefix("FAIL\t").or_else(|| line.strip_prefix("ok "))
        {
            let package = rest.split_whitespace().next().unwrap_or_default();
            names.extend(open.drain(..).map(|test| format!("{package} {test}")));
        }
    }
    names.extend(open.into_iter().map(str::to_owned));
    names
}
