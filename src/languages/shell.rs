//! Shell scripts. A whole script counts as one test if its path is that of a test.

use super::language::{Language, NO_PATTERNS, PLAIN, Programs, TestCode};

pub(super) static SHELL: Language = Language {
    name: "shell",
    extensions: &["sh", "bash", "zsh", "t"],
    tests: Some(TestCode {
        skip: r"^\s*(?:skip\b|exit 0\b)",
        assertion: r"\[\[? |\bassert\w*\b|\btest_expect\w*|\bgrep -\w*q|(?:^|\s)(?:diff|cmp|test) ",
        comment: "#",
        ..NO_PATTERNS
    }),
    programs: Programs { need_no_packages: &["shellcheck"], ..PLAIN.programs },
    ..PLAIN
};
