//! Rust: cargo, nextest, clippy.

use std::ops::Range;
use std::path::Path;

use super::commands::ProjectCommands;
use super::language::NodeRole::{Code, Implementation, Import, Type};
use super::language::{Imports, Language, PLAIN, Programs, RunnerOutput, Syntax, TestCode};
use super::manager::{Manager, ManifestFiles, USUAL};
use super::one_test::{OneTest, Project, TestName, each, folder_of_manifest, in_folder, same};
use crate::shell_quote::quoted;

pub(super) static RUST: Language = Language {
    name: "rust",
    also: &["cargo"],
    syntaxes: &[Syntax {
        name: "rust",
        extensions: &["rs"],
        shapes: &[
            ("function_item", Code),
            ("function_signature_item", Code),
            ("macro_definition", Code),
            ("const_item", Code),
            ("static_item", Code),
            ("struct_item", Type),
            ("enum_item", Type),
            ("union_item", Type),
            ("trait_item", Type),
            ("type_item", Type),
            ("impl_item", Implementation),
            ("use_declaration", Import),
        ],
        bodies_by_brace: false,
    }],
    manifests: &["Cargo.toml"],
    imports: Imports {
        begins: &["use ", "pub use ", "mod ", "pub mod "],
        words: &["use", "pub", "mod", "as", "crate", "self", "super"],
        folder_files: &["mod", "lib", "main"],
        package_is_folder: false,
    },
    is_private: |_, _, head| !head.starts_with("pub") && !head.starts_with("macro_rules!"),
    tests: Some(TestCode {
        head: r#"^\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:(?:async|const|unsafe|extern\s+"C")\s+)*fn\s+(?<name>\w+)"#,
        by_path: false,
        mark: r"#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck|wasm_bindgen_test)\b",
        decoration: "#[",
        group: r"^\s*(?:pub\s+)?mod\s+(?<name>\w+)\s*\{",
        skip: r"#\[\s*(?:cfg_attr\(.*\b)?ignore\b|#\[cfg\((?:any\(\)|FALSE|false)\)\]",
        skip_all: r"^#!\[cfg\((?:any\(\)|FALSE|false)\)\]",
        assertion: r"\b\w*assert\w*!?\s*[({\[]|\.(?:expect_err|unwrap_err)\(|#\[should_panic",
        comment: "//",
    }),
    runners: RunnerOutput {
        failed: &[
            // cargo test
            r"^test (?<name>\S.*?)(?: - should panic)? \.\.\. FAILED$",
            // cargo nextest
            r"^\s+(?:FAIL|TIMEOUT|ABORT|SIG[A-Z]+) \[[^\]]*\](?: \([^)]*\))? +(?<name>\S.*)$",
        ],
        reports: &[r"^---- (?<name>\S.*?) stdout ----$"],
        ends: &[r"^failures:$", r"^test result: "],
        ..PLAIN.runners
    },
    one_test: Some(OneTest {
        passed: &[
            // cargo test
            r"^test (?<name>\S+)(?: - should panic)? \.\.\. ok$",
            // cargo nextest
            r"^\s+PASS \[[^\]]*\](?: \([^)]*\))? +\S+ (?<name>\S+)$",
        ],
        names: |test| vec![target_and_name(test).1],
        command,
    }),
    tests_beside_code,
    commands: |root| {
        let is_project = root.join("Cargo.toml").is_file();
        is_project.then(|| ProjectCommands::new("cargo test", "cargo build", "cargo clippy"))
    },
    programs: Programs {
        run_tests: &["cargo"],
        need_no_packages: &["rustfmt"],
        fix: &[("cargo clippy", "--fix --allow-dirty --allow-staged")],
        not_installed: &["error: no such command: `", "is not installed for the toolchain"],
        ..PLAIN.programs
    },
    managers: &[Manager {
        name: "cargo",
        locks: &["Cargo.lock"],
        manifests: &["Cargo.toml"],
        without_lock: true,
        is_apart,
        asks: |_, files| files.iter().any(|(path, text)| cargo_asks(path, text)),
        complete: "cargo fetch -q --offline --target \"$(rustc -vV | sed -n 's/^host: //p')\"",
        unreadable: &[
            "failed to parse manifest",
            "failed to parse lock file",
            "failed to load manifest",
        ],
        fetch: "(cd \"$TMPDIR\" && cargo fetch --manifest-path PLACE/Cargo.toml)",
        shared: true,
        by_hand: |_, _| "cargo fetch".to_owned(),
        programs: &["cargo"],
        stays_within: true,
        ..USUAL
    }],
    guidance: GUIDANCE,
    ..PLAIN
};

/// Guidance for new Rust code.
const GUIDANCE: &str = "\
    Rust:\n\n\
    - Layout: `src/main.rs` stays thin and calls `src/lib.rs`; one module per file. A library has \
      no `main.rs`. `.gitignore` has `/target`; `Cargo.lock` is committed.\n\
    - Tests, where they are asked for: unit tests at the end of their file in `#[cfg(test)] \
      mod tests`, integration tests in `tests/`.\n\
    - Errors: `Result` and `?`, with one error type or what the project uses; no `unwrap`, \
      `expect` or `panic!` outside tests. `main` prints the error and exits with a code that is \
      not 0.\n\
    - Dependencies: the standard library first. A crate is named in the design, and its version \
      in `Cargo.toml`; nothing is vendored.\n\
    - Borrow before you clone; `&str` and slices as parameters; enums rather than flags and \
      strings; no lifetimes, generics or macros where plain types do. It builds without \
      warnings.\n";

/// Returns cargo's option for the target that contains a test, and the test's name in that target.
fn target_and_name(test: &TestName<'_>) -> (String, String) {
    let path = test.path.strip_suffix(".rs").unwrap_or(test.path);
    let below = |folder: &str| {
        let inner = format!("/{folder}/");
        let begins = path.strip_prefix(&inner[1..]);
        begins.or_else(|| path.rsplit_once(&inner).map(|(_, rest)| rest))
    };
    let modules = |rest: &str| -> Vec<String> {
        let plain = |name: &&str| !["mod", "main", "lib"].contains(name);
        rest.split('/').filter(plain).map(str::to_owned).collect()
    };
    let (target, mut names) = if let Some(rest) = below("tests") {
        let mut names = modules(rest);
        let target = if names.is_empty() { String::new() } else { names.remove(0) };
        (format!(" --test {}", quoted(&target)), names)
    } else if let Some(rest) = below("src/bin") {
        let mut names = modules(rest);
        let target = if names.is_empty() { String::new() } else { names.remove(0) };
        (format!(" --bin {}", quoted(&target)), names)
    } else {
        (String::new(), modules(below("src").unwrap_or(path)))
    };
    names.extend_from_slice(test.parts);
    (target, names.join("::"))
}

fn command(tests: &[TestName<'_>], project: &Project<'_>) -> Option<String> {
    let folder_of =
        |test: &TestName<'_>| folder_of_manifest(project.root, test.path, "Cargo.toml").to_owned();
    let folder = same(tests.iter().map(folder_of))?;
    // Skip targets with other tests, which may not compile where these tests run.
    let src = project.root.join(&folder).join("src");
    let beside_code = if src.join("lib.rs").is_file() {
        " --lib --bins"
    } else if src.join("main.rs").is_file() {
        " --bins"
    } else {
        ""
    };
    let mut targets = each(tests, |test| match target_and_name(test).0 {
        target if target.is_empty() => beside_code.to_owned(),
        target => target,
    });
    if targets.iter().any(String::is_empty) {
        targets.clear();
    }
    // One failing target must not keep cargo from the others.
    let all = if tests.len() > 1 { " --no-fail-fast" } else { "" };
    let names = each(tests, |test| quoted(&target_and_name(test).1)).join(" ");
    let command = format!("cargo test{all}{} -- --exact {names}", targets.concat());
    Some(in_folder(&folder, command))
}

/// Returns the items that are built only for tests, with the attributes and comments before them.
/// Relies on rustfmt's style, in which an item starts and ends at the left margin; `None` for other
/// styles.
fn tests_beside_code(text: &str) -> Option<Vec<Range<usize>>> {
    let (mut ranges, mut begin, mut is_test, mut inside, mut at) =
        (Vec::new(), None, false, false, 0);
    for line in text.split_inclusive('\n') {
        let (end, bare) = (at + line.len(), line.trim_end());
        let first = bare.chars().next();
        if inside {
            inside = !matches!(first, Some('}' | ')' | ']'));
        } else if first.is_none() {
            at = end;
            continue;
        } else if bare.starts_with("#[") || bare.starts_with("//") || bare.starts_with("#!") {
            begin.get_or_insert(at);
            is_test |=
                ["#[cfg(test)]", "#[cfg(all(test,"].iter().any(|mark| bare.starts_with(mark));
            let whole = bare.starts_with("//") || bare.ends_with(']');
            if !whole || bare.starts_with("#![cfg(test") {
                return None;
            }
            at = end;
            continue;
        } else if first.is_some_and(char::is_alphabetic) {
            begin.get_or_insert(at);
            inside = !bare.ends_with([';', '}']);
        } else {
            return None;
        }
        at = end;
        if !inside {
            let begin = begin.take().unwrap_or(at);
            ranges.extend(std::mem::take(&mut is_test).then_some(begin..at));
        }
    }
    (!inside).then_some(ranges)
}

/// True if a manifest starts a workspace.
fn is_apart(place: &Path, files: &ManifestFiles) -> bool {
    let begins = |line: &str| line.trim_start().starts_with("[workspace");
    files.get(&place.join("Cargo.toml")).is_some_and(|text| text.lines().any(begins))
}

/// True if a manifest or lock file of cargo needs packages from outside. A manifest that cannot
/// be parsed, because a model has only partly written it, counts as needing none.
fn cargo_asks(path: &Path, text: &str) -> bool {
    if path.ends_with("Cargo.lock") {
        return text.contains("\nsource = \"");
    }
    let Ok(manifest) = text.parse::<toml::Table>() else { return false };
    fn outside(table: &toml::Table) -> bool {
        table.iter().any(|(key, value)| {
            let Some(inner) = value.as_table() else { return false };
            if !key.ends_with("dependencies") {
                // `[target.….dependencies]`, `[workspace.dependencies]`.
                return outside(inner);
            }
            inner.values().any(|dependency| {
                let has = |key: &str| dependency.get(key).is_some();
                !has("path") && !has("workspace")
            })
        })
    }
    outside(&manifest)
}
