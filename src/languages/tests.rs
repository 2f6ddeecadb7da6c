//! Tests of the table: what all rows together find in a project.

use regex::Regex;

use super::*;

fn detected(files: &[(&str, &str)], template: &str) -> [String; 3] {
    let tree = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = tree.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let ProjectCommands { test, build, lint } = detect_commands(tree.path(), template);
    [test, build, lint]
}

#[test]
fn commands_of_each_kind_of_project_are_found() {
    let no_test = r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
    for (files, commands) in [
        (&[("Cargo.toml", "")][..], ["cargo test", "cargo build", "cargo clippy"]),
        (
            &[("package.json", r#"{"scripts":{"test":"jest","lint":"eslint"}}"#)],
            ["npm test", "", "npm run lint"],
        ),
        (&[("package.json", no_test), ("Makefile", "test: x\n")], ["make test", "", ""]),
        (&[("package.json", "{")], ["", "", ""]),
        (&[("go.mod", "")], ["go test ./...", "go build ./...", "go vet ./..."]),
        (
            &[("pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]")],
            ["python3 -m pytest -q", "", "ruff check"],
        ),
        (&[("tests/test_a.py", "import pytest\n")], ["python3 -m pytest -q", "", ""]),
        (
            &[("tests/test_a.py", "import unittest\n")],
            ["python3 -m unittest discover -s tests", "", ""],
        ),
        (&[("test_todo.py", "import unittest\n")], ["python3 -m unittest", "", ""]),
        (&[("pyproject.toml", "[project]")], ["", "", ""]),
        (&[("Makefile", "test := 1\nbuild : x\n")], ["", "make build", ""]),
        (&[("test.sh", "echo 1..0\n")], ["sh test.sh", "", ""]),
        (&[("tests/run.sh", "#!/usr/bin/env bash\n")], ["bash tests/run.sh", "", ""]),
        (&[("test.sh", "#!/usr/bin/python3\n")], ["", "", ""]),
        (&[("test.sh", ""), ("Makefile", "test: x\n")], ["make test", "", ""]),
        (&[("README.md", "")], ["", "", ""]),
    ] {
        assert_eq!(detected(files, ""), commands, "{files:?}");
    }
}

#[test]
fn the_template_decides_between_several() {
    let rails = [("package.json", r#"{"scripts":{"test":"jest"}}"#), (".rspec", "")];
    assert_eq!(detected(&rails, "")[0], "rspec");
    assert_eq!(detected(&rails, "typescript")[0], "npm test");
    let files = [("Cargo.toml", ""), ("go.mod", "")];
    assert_eq!(detected(&files, "")[0], "cargo test");
    assert_eq!(detected(&files, "go")[0], "go test ./...");
}

#[test]
fn languages_are_found_in_technology_texts() {
    for (words, named) in [
        ("Python 3, standard library (csv)", &["python"][..]),
        ("python3.11 / SQLite", &["python"]),
        ("TypeScript on Node.js", &["node"]),
        ("Go 1.22", &["go"]),
        ("Ruby 3.3, Rails", &["ruby"]),
        ("C++20, a Rust core", &["c", "rust"]),
        ("POSIX sh, category theory, Golf", &[]),
        ("C#", &[]),
        ("a shell script that calls PHP", &[]),
    ] {
        assert_eq!(named_in(words), named, "{words}");
    }
}

#[test]
fn extensions_are_unique_and_patterns_are_valid() {
    let mut extensions: Vec<&str> =
        syntaxes().flat_map(|syntax| syntax.extensions).copied().collect();
    extensions.extend(ALL.iter().flat_map(|language| language.extensions));
    let count = extensions.len();
    extensions.sort_unstable();
    extensions.dedup();
    assert_eq!(extensions.len(), count, "an extension is used twice");
    for language in ALL {
        let runners = &language.runners;
        for form in runners.failed.iter().chain(runners.reports) {
            let form = Regex::new(form).unwrap();
            assert!(form.capture_names().flatten().any(|name| name == "name"), "{form}");
        }
        runners.ends.iter().for_each(|form| drop(Regex::new(form).unwrap()));
        let Some(tests) = &language.tests else { continue };
        for form in
            [tests.head, tests.mark, tests.group, tests.skip, tests.skip_all, tests.assertion]
        {
            Regex::new(form).unwrap();
        }
    }
}

#[test]
fn one_manager_is_used_for_each_lock_file() {
    for lock in ["package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock"] {
        let say =
            managers().filter(|m| m.locks.contains(&lock) && m.manifests.contains(&"package.json"));
        assert_eq!(say.count(), 1, "{lock}");
    }
}

#[test]
fn fetched_code_does_not_run_with_the_network() {
    for manager in managers() {
        let safe = match manager.name {
            "npm" | "pnpm" | "yarn" => "--ignore-scripts",
            "uv" => "--no-build",
            "pip" => "--only-binary :all:",
            "poetry" => "ONLY_BINARY=:all:",
            // These run no code.
            "cargo" | "go" => "",
            other => panic!("{other}"),
        };
        assert!(manager.fetch.contains(safe), "{}", manager.name);
    }
}
