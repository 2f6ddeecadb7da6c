//! C and C++.

use super::language::NodeRole::{Code, Prototype, Type, TypeWithBody};
use super::language::{Imports, Language, NO_PATTERNS, PLAIN, RunnerOutput, Syntax, TestCode};
use super::one_test::{OneTest, Project, TestName, each};
use crate::shell_quote::quoted;

pub(super) static C: Language = Language {
    name: "c",
    also: &["c++"],
    syntaxes: &[
        Syntax {
            name: "c",
            extensions: &["c", "h"],
            shapes: &[
                ("function_definition", Code),
                ("preproc_function_def", Code),
                ("declaration", Prototype),
                ("type_definition", Type),
                ("struct_specifier", TypeWithBody),
                ("union_specifier", TypeWithBody),
                ("enum_specifier", TypeWithBody),
            ],
            bodies_by_brace: false,
        },
        Syntax {
            name: "cpp",
            extensions: &["cc", "cpp", "cxx", "hh", "hpp", "hxx"],
            shapes: &[
                ("function_definition", Code),
                ("preproc_function_def", Code),
                ("declaration", Prototype),
                ("field_declaration", Prototype),
                ("type_definition", Type),
                ("alias_declaration", Type),
                ("struct_specifier", TypeWithBody),
                ("union_specifier", TypeWithBody),
                ("enum_specifier", TypeWithBody),
                ("class_specifier", TypeWithBody),
            ],
            bodies_by_brace: false,
        },
    ],
    manifests: &["CMakeLists.txt", "meson.build"],
    imports: Imports { begins: &["#include"], words: &["include"], ..PLAIN.imports },
    is_private: |_, owner, head| {
        owner.is_empty() && head.split_whitespace().any(|word| word == "static")
    },
    tests: Some(TestCode {
        // GoogleTest and criterion; check; catch2 and doctest; unity and cmocka.
        head: r#"^\s*(?:(?:TYPED_)?TEST(?:_F|_P)?|Test)\s*\(\s*\w+\s*,\s*(?<name>\w+)|^\s*START_TEST\s*\(\s*(?<check>\w+)|^\s*(?:TEST_CASE|SCENARIO)\s*\(\s*"(?<said>[^"]*)"|^(?:static\s+)?void\s+(?<unity>test_\w+)\s*\((?:void(?:\s*\*\*\s*\w+)?)?\)"#,
        skip: r"\b(?:GTEST_SKIP|TEST_IGNORE\w*|SKIP)\b|\bskip\(\)|TEST(?:_F|_P)?\s*\(\s*\w+\s*,\s*DISABLED_",
        assertion: r"\b(?:\w*[aA]ssert\w*|\w*ASSERT\w*|EXPECT_\w+|REQUIRE\w*|CHECK\w*|ck_\w+|cr_\w+)\s*\(",
        comment: "//",
        ..NO_PATTERNS
    }),
    runners: RunnerOutput {
        failed: &[
            // GoogleTest, unity, cmocka, ctest. When ctest shows a test's output, it puts a number
            // before each line.
            r"^(?:\d+: )?\[  FAILED  \] (?<name>[\w/]+\.[\w/]+)(?:, where .*|,? \(\d+ ms\))?$",
            r"^(?:\d+: )?\S+\.\w+:\d+:(?<name>\w+):FAIL",
            r"^(?:\d+: )?\[  FAILED  \] (?<name>test_\w+)$",
            r"^\s*\d+/\d+ Test\s+#\d+: (?<name>\S+) \.*\*\*\*",
        ],
        ..PLAIN.runners
    },
    one_test: Some(OneTest {
        passed: &[
            r"^(?:\d+: )?\[       OK \] (?:[\w/]+\.)?(?<name>\w+)(?:/\d+)?(?: \(\d+ ms\))?$",
            r"^(?:\d+: )?\S+\.\w+:\d+:(?<name>\w+):PASS$",
            r"^\s*\d+/\d+ Test\s+#\d+: (?:\S*[.:/])?(?<name>\w+) \.+ +Passed ",
        ],
        names: |test| vec![test.name().to_owned(), format!(".{}", test.name())],
        command,
    }),
    ..PLAIN
};

/// Runs tests with ctest: ctest runs those that the project registered under the tests' names or
/// under the names of their files, and the output names the tests. For any other command, there is
/// no known way to run one test.
fn command(tests: &[TestName<'_>], project: &Project<'_>) -> Option<String> {
    let last = project.tests.rsplit(['&', ';']).next().unwrap_or_default().trim_start();
    if last.split(' ').next() != Some("ctest") || last.contains(['|', '>', '<']) {
        return None;
    }
    let only = each(tests, |test| {
        let file = test.folder_and_file().1;
        let stem = regex::escape(file.rsplit_once('.').map_or(file, |(stem, _)| stem));
        format!("(^|[./:]){}$|^{stem}$", regex::escape(test.name()))
    });
    Some(format!("{} -V -R {}", project.tests, quoted(&only.join("|"))))
}
