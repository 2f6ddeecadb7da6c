//! Java, and the languages that use the same build and test tools: Kotlin, Scala, Groovy.

use super::language::NodeRole::{Code, Type};
use super::language::{Imports, Language, NO_PATTERNS, PLAIN, RunnerOutput, Syntax, TestCode};
use super::one_test::{OneTest, Project, TestName, each, in_folder, same, up_to};
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
        assertion: r"\b\w*[aA]ssert\w*(?:!?\s*[({\[]|\.\w+)|\bverify\(|\bshould\w*\b|\bfail\(",
        comment: "//",
        ..NO_PATTERNS
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
        passed: &[
            // Maven in its plain format.
            r"^(?:\[INFO\] )?(?:[\w$]+\.)*(?<name>[\w$]+\.\w+)(?:\(.*\))?(?:\[.*\])? (?:--)? ?Time elapsed: [0-9.,]+ s(?:ec)?$",
            // Else Maven prints only classes; match those in which every test passed and none was
            // skipped.
            r"^(?:\[INFO\] )?Tests run: [1-9]\d*, Failures: 0, Errors: 0, Skipped: 0, .* --? in (?:[\w$]+\.)*(?<name>[\w$]+)$",
            r"^Running (?:[\w$]+\.)*(?<name>[\w$]+)\nTests run: [1-9]\d*, Failures: 0, Errors: 0, Skipped: 0, [^-\n]*$",
            // gradle
            r"^(?<name>\S+ > .+?)(?:\(.*\))?(?:\[.*\])? PASSED$",
        ],
        names,
        command,
    }),
    ..PLAIN
};

/// Returns the name of the class in the compiler's form (nested classes joined with `$`), and the
/// method.
fn class_and_method(test: &TestName<'_>) -> (String, String) {
    let (groups, name) = test.parts.split_at(test.parts.len().saturating_sub(1));
    let class = match groups {
        [] => test.folder_and_file().1.split('.').next().unwrap_or_default().to_owned(),
        groups => groups.join("$"),
    };
    (class, name.concat().trim_matches('`').to_owned())
}

fn names(test: &TestName<'_>) -> Vec<String> {
    let (class, method) = class_and_method(test);
    let gradle = format!("{} > {method}", class.replace('$', " > "));
    vec![format!("{class}.{method}"), format!("{gradle}()"), gradle, class]
}

/// Lets gradle print the result of every test.
const NAMED_BY_GRADLE: &str = r#"printf 'allprojects { tasks.withType(Test).configureEach { testLogging { events "passed", "skipped", "failed" } } }' >"$TMPDIR/named.gradle""#;

fn command(tests: &[TestName<'_>], project: &Project<'_>) -> Option<String> {
    let has = |folder: &str, names: &[&str]| {
        names.iter().any(|name| project.root.join(folder).join(name).is_file())
    };
    let gradles = ["build.gradle.kts", "build.gradle"];
    let folder_of = |test: &TestName<'_>| {
        let folders = test.path.match_indices('/').rev().map(|(at, _)| &test.path[..at]);
        let mut folders = folders.chain([""]);
        let module = folders.find(|folder| has(folder, &["pom.xml"]) || has(folder, &gradles));
        module.map(str::to_owned)
    };
    let folder = same(tests.iter().map(folder_of))??;
    let runs = |runner| up_to(project.tests, runner);
    if has(&folder, &["pom.xml"]) {
        let maven = runs("mvn").or_else(|| runs("mvnw")).unwrap_or("mvn");
        let methods_of = |class: &String| {
            let of_class = tests.iter().map(class_and_method).filter(|(name, _)| name == class);
            of_class.map(|(_, method)| method).collect::<Vec<_>>().join("+")
        };
        let classes = each(tests, |test| class_and_method(test).0).into_iter();
        let only = classes.map(|class| format!("{class}#{}", methods_of(&class)));
        let only = quoted(&only.collect::<Vec<_>>().join(","));
        let report = if tests.len() > 1 { " -Dsurefire.reportFormat=plain" } else { "" };
        let test = format!("{report} -Dtest={only} test");
        // Run only this module, since other modules do not have the tests. `-am` also builds the
        // modules that it needs.
        if !folder.is_empty() && has("", &["pom.xml"]) {
            let module = quoted(&folder);
            let only = "-am -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false";
            return Some(format!("{maven} -B -pl {module} {only}{test}"));
        }
        return Some(in_folder(&folder, format!("{maven} -B{test}")));
    }
    let gradle = runs("gradle").or_else(|| runs("gradlew")).unwrap_or("gradle");
    let whole = has("", &["settings.gradle.kts", "settings.gradle"]) && !folder.is_empty();
    let module = if whole { format!(":{}:", folder.replace('/', ":")) } else { String::new() };
    let only = each(tests, |test| {
        let (class, method) = class_and_method(test);
        format!(" --tests {}", quoted(&format!("*{class}.{method}")))
    });
    let run = format!(
        r#"{gradle} -I "$TMPDIR/named.gradle" {module}cleanTest {module}test{}"#,
        only.concat()
    );
    let run = format!("{NAMED_BY_GRADLE} && {run}");
    Some(if whole { run } else { in_folder(&folder, run) })
}
