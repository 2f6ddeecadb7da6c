//! Java, and what else is built and tested like it: Kotlin, Scala, Groovy.

use super::language::Shape::{Code, Type};
use super::language::{Imports, Language, PLAIN, RunnerOutput, Syntax, TestCode};

pub(super) static JAVA: Language = Language {
    name: "java",
    extensions: &["kt", "kts", "scala", "groovy"],
    syntaxes: &[Syntax {
        name: "java",
        extensions: &["java"],
        shapes: &[
            ("method_declaration", Code),
            ("class_declaration", Type),
            ("interface_declaration", Type),
            ("enum_declaration", Type),
            ("record_declaration", Type),
            ("annotation_type_declaration", Type),
        ],
        bodies_by_brace: false,
    }],
    manifests: &["pom.xml", "build.gradle.kts", "build.gradle"],
    imports: Imports { begins: &["import "], words: &["import", "static"], ..PLAIN.imports },
    is_private: |_, _, head| head.split_whitespace().any(|word| word == "private"),
    tests: Some(TestCode {
        head: r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:[\w<>\[\],.?]+\s+)*(?:void|fun|[\w<>\[\]]+)\s+(?<name>\w+|`[^`]+`)\s*\(",
        mark: r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b",
        decoration: "@",
        group: r"^\s*(?:[\w@]+\s+)*(?:class|object)\s+(?<name>\w+)",
        skip: r"@(?:\w+\.)*(?:Disabled|Ignore)|enabled\s*=\s*false|\bassume(?:True|False|That)\(",
        skip_all: "",
        assertion: r"\b\w*[aA]ssert\w*(?:!?\s*[({\[]|\.\w+)|\bverify\(|\bshould\w*\b|\bfail\(",
        comment: "//",
    }),
    runners: RunnerOutput {
        failed: &[
            // gradle
            r"^(?<name>\S+ > .+) FAILED$",
            // maven
            r"^\[ERROR\]\s+(?<name>[\w$]+(?:\.[\w$]+)+):\d+",
        ],
        ..PLAIN.runners
    },
    ..PLAIN
};
