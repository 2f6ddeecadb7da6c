//! Shell scripts. A whole script counts as one test if its path is that of a test.

use super::language::{Language, PLAIN, Programs, TestCode};

pub(super) static SHELL: Language = Language {
    name: "shell",
    extensions: &["sh", "bash", "zsh", "t"],
    tests: Some(TestCode {
        head: "",
        mark: "",
        decoration: "",
        group: "",
        skip: r"^\s*(?:skip\b|exit 0\b)",
        skip_all: "",
        assertion: r"\[\[? |\bassert\w*\b|\btest_expect\w*|\bgrep -\w*q|(?:^|\s)(?:diff|cmp|test) ",
        comment: "#",
    }),
    programs: Programs { need_no_packages: &["shellcheck"], ..PLAIN.programs },
    ..PLAIN
};
