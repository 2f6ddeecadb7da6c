//! Java, and the languages that use the same build and test tools: Kotlin, Scala, Groovy.

use super::language::Shape::{Code, Type};
use super::language::{Imports, Language, PLAIN, RunnerOutput, Syntax, TestCode};
use super::one_test::{Named, OneTest, Project, in_folder, up_to};
use crate::shell_quote::quoted;

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
    one_test: Some(OneTest {
        // Maven prints only classes; match those in which every test passed and none was skipped.
        passed: &[
            r"^(?:\[INFO\] )?Tests run: [1-9]\d*, Failures: 0, Errors: 0, Skipped: 0, .* --? in (?:[\w$]+\.)*(?<name>[\w$]+)$",
            r"^Running (?:[\w$]+\.)*(?<name>[\w$]+)\nTests run: [1-9]\d*, Failures: 0, Errors: 0, Skipped: 0, [^-\n]*$",
            // gradle
            r"^(?<name>\S+ > .+?)(?:\(.*\))?(?:\[.*\])? PASSED$",
        ],
        names,
        alone,
    }),
    ..PLAIN
};

/// Returns the name of the class in the compiler's form (nested classes joined with `$`), and the
/// method.
fn class_and_method(test: &Named<'_>) -> (String, String) {
    let (groups, name) = test.parts.split_at(test.parts.len().saturating_sub(1));
    let class = match groups {
        [] => test.folder_and_file().1.split('.').next().unwrap_or_default().to_owned(),
        groups => groups.join("$"),
    };
    (class, name.concat().trim_matches('`').to_owned())
}

fn names(test: &Named<'_>) -> Vec<String> {
    let (class, method) = class_and_method(test);
    let gradle = format!("{} > {method}", class.replace('$', " > "));
    vec![format!("{class}.{method}"), format!("{gradle}()"), gradle, class]
}

/// Lets gradle print the result of every test.
const NAMED_BY_GRADLE: &str = r#"printf 'allprojects { tasks.withType(Test).configureEach { testLogging { events "passed", "skipped", "failed" } } }' >"$TMPDIR/named.gradle""#;

fn alone(test: &Named<'_>, project: &Project<'_>) -> Option<String> {
    let (class, method) = class_and_method(test);
    let has = |folder: &str, names: &[&str]| {
        names.iter().any(|name| project.root.join(folder).join(name).is_file())
    };
    let folders = test.path.match_indices('/').rev().map(|(at, _)| &test.path[..at]).chain([""]);
    let gradles = ["build.gradle.kts", "build.gradle"];
    let folder =
        folders.clone().find(|folder| has(folder, &["pom.xml"]) || has(folder, &gradles))?;
    let runs = |runner| up_to(project.tests, runner);
    if has(folder, &["pom.xml"]) {
        let maven = runs("mvn").or_else(|| runs("mvnw")).unwrap_or("mvn");
        let test = quoted(&format!("{class}#{method}"));
        // Run only this module, since other modules do not have the test. `-am` also builds the
        // modules that it needs.
        if !folder.is_empty() && has("", &["pom.xml"]) {
            let module = quoted(folder);
            let only = "-am -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false";
            return Some(format!("{maven} -B -pl {module} {only} -Dtest={test} test"));
        }
        return Some(in_folder(folder, format!("{maven} -B -Dtest={test} test")));
    }
    let gradle = runs("gradle").or_else(|| runs("gradlew")).unwrap_or("gradle");
    let whole = has("", &["settings.gradle.kts", "settings.gradle"]) && !folder.is_empty();
    let module = if whole { format!(":{}:", folder.replace('/', ":")) } else { String::new() };
    let test = quoted(&format!("*{class}.{method}"));
    let run = format!(
        r#"{gradle} -I "$TMPDIR/named.gradle" {module}cleanTest {module}test --tests {test}"#
    );
    let run = format!("{NAMED_BY_GRADLE} && {run}");
    Some(if whole { run } else { in_folder(folder, run) })
}
