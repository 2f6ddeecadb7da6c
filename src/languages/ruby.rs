//! Ruby.

use super::language::{Language, PLAIN, Programs, RunnerOutput, TestCode};

pub(super) static RUBY: Language = Language {
    name: "ruby",
    extensions: &["rb"],
    manifests: &["Gemfile"],
    tests: Some(TestCode {
        head: r#"^\s*(?:[xf]?(?:it|specify|example|scenario|test)\s*\(?\s*(?:'(?<name>[^']*)'|"(?<double>[^"]*)")|def\s+(?<function>test_\w+))"#,
        mark: "",
        decoration: "",
        group: r#"^\s*(?:RSpec\.)?(?:x?describe|x?context|feature|class|module)\s+['"]?(?<name>[^'"\s]+)"#,
        skip: r"^\s*x(?:it|specify|example|describe|context)\b|^\s*(?:skip|pending)\b|,\s*:?(?:skip|pending)\b",
        skip_all: r",\s*:?focus\b|^\s*f(?:it|describe|context)\b",
        assertion: r"\bexpect\b|\b(?:assert|refute)\w*|\.(?:should|must_|wont_)",
        comment: "#",
    }),
    runners: RunnerOutput { failed: &[r"^rspec \S+ # (?<name>.+)$"], ..PLAIN.runners },
    programs: Programs {
        test_frameworks: &["rspec"],
        fix: &[("rubocop", "--autocorrect")],
        ..PLAIN.programs
    },
    ..PLAIN
};
