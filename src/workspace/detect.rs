//! Finding the commands of a project from the files that are there.

use std::path::Path;

/// The project's own commands, configured or detected; empty when there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectCommands {
    /// Runs the tests.
    pub test: String,
    /// Builds.
    pub build: String,
    /// Lints.
    pub lint: String,
}

impl ProjectCommands {
    fn new(test: &str, build: &str, lint: &str) -> Self {
        Self { test: test.to_owned(), build: build.to_owned(), lint: lint.to_owned() }
    }
}

/// The commands of the project at `root`. `template` ("rust", "python", "node", "go") decides
/// where files of several kinds are found; what is not found is empty.
pub fn detect_commands(root: &Path, template: &str) -> ProjectCommands {
    let kinds: [(&str, Detector); 4] =
        [("rust", rust), ("node", node), ("go", go), ("python", python)];
    // The template's first, by a stable sort.
    let mut kinds = kinds.to_vec();
    kinds.sort_by_key(|(name, _)| *name != template);
    let mut found = kinds.iter().find_map(|(_, detect)| detect(root)).unwrap_or_default();
    for (command, target) in
        [(&mut found.test, "test"), (&mut found.build, "build"), (&mut found.lint, "lint")]
    {
        if command.is_empty() && has_target(root, target) {
            *command = format!("make {target}");
        }
    }
    found
}

type Detector = fn(&Path) -> Option<ProjectCommands>;

fn rust(root: &Path) -> Option<ProjectCommands> {
    let there = root.join("Cargo.toml").is_file();
    there.then(|| ProjectCommands::new("cargo test", "cargo build", "cargo clippy"))
}

fn node(root: &Path) -> Option<ProjectCommands> {
    let package: serde_json::Value = serde_json::from_str(&text(root, "package.json")?).ok()?;
    let script = |name: &str| package["scripts"][name].as_str();
    let run = |name: &str| script(name).map(|_| format!("npm run {name}")).unwrap_or_default();
    // What `npm init` writes is there to fail.
    let test = script("test").filter(|test| !test.contains("no test specified"));
    Some(ProjectCommands::new(test.map_or("", |_| "npm test"), &run("build"), &run("lint")))
}

fn go(root: &Path) -> Option<ProjectCommands> {
    let there = root.join("go.mod").is_file();
    there.then(|| ProjectCommands::new("go test ./...", "go build ./...", "go vet ./..."))
}

fn python(root: &Path) -> Option<ProjectCommands> {
    let configured = root.join("pytest.ini").is_file()
        || root.join("conftest.py").is_file()
        || root.join("tests/conftest.py").is_file()
        || ["pyproject.toml", "setup.cfg", "tox.ini", "requirements.txt", "requirements-dev.txt"]
            .iter()
            .any(|file| text(root, file).is_some_and(|text| text.contains("pytest")))
        || imports_pytest(root);
    let ruff = root.join("ruff.toml").is_file()
        || text(root, "pyproject.toml").is_some_and(|text| text.contains("[tool.ruff"));
    let lint = if ruff { "ruff check" } else { "" };
    if configured {
        return Some(ProjectCommands::new("python3 -m pytest -q", "", lint));
    }
    if test_files(root, "tests").next().is_some() {
        // Tests without a package are only found when named.
        return Some(ProjectCommands::new("python3 -m unittest discover -s tests -t .", "", lint))
            .filter(|_| root.join("tests/__init__.py").is_file())
            .or_else(|| {
                Some(ProjectCommands::new("python3 -m unittest discover -s tests", "", lint))
            });
    }
    if test_files(root, "").next().is_some() {
        return Some(ProjectCommands::new("python3 -m unittest", "", lint));
    }
    let project = ["pyproject.toml", "setup.cfg", "setup.py"];
    project.iter().any(|file| root.join(file).is_file()).then(|| ProjectCommands::new("", "", lint))
}

fn imports_pytest(root: &Path) -> bool {
    let imports = |text: String| text.lines().any(|line| line.trim() == "import pytest");
    ["", "tests"].iter().any(|dir| {
        test_files(root, dir).any(|file| {
            text(root, format!("{dir}/{file}").trim_start_matches('/')).is_some_and(imports)
        })
    })
}

/// Names of the Python tests right in a directory.
fn test_files(root: &Path, dir: &str) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(root.join(dir)).ok();
    let names = entries.into_iter().flatten().flatten();
    names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with("test") && name.ends_with(".py"))
}

fn has_target(root: &Path, target: &str) -> bool {
    ["Makefile", "makefile", "GNUmakefile"].iter().filter_map(|file| text(root, file)).any(|text| {
        text.lines().any(|line| {
            line.strip_prefix(target)
                .map(str::trim_start)
                .is_some_and(|rest| rest.starts_with(':') && !rest.starts_with(":="))
        })
    })
}

/// A file of the project, unless it is missing, huge, a device or no text.
fn text(root: &Path, file: &str) -> Option<String> {
    let path = root.join(file);
    let metadata = std::fs::metadata(&path).ok()?;
    let readable = metadata.is_file() && metadata.len() < crate::workspace::WHOLE_FILE_MAX;
    readable.then(|| std::fs::read_to_string(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::testing::Tree;

    fn detected(files: &[(&str, &str)], template: &str) -> [String; 3] {
        let tree = Tree::new();
        for (path, text) in files {
            tree.put(path, text);
        }
        let ProjectCommands { test, build, lint } = detect_commands(tree.root(), template);
        [test, build, lint]
    }

    #[test]
    fn each_kind_of_project_is_found() {
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
            (&[("README.md", "")], ["", "", ""]),
        ] {
            assert_eq!(detected(files, ""), commands, "{files:?}");
        }
    }

    #[test]
    fn the_template_decides_between_several() {
        let files = [("Cargo.toml", ""), ("go.mod", "")];
        assert_eq!(detected(&files, "")[0], "cargo test");
        assert_eq!(detected(&files, "go")[0], "go test ./...");
    }
}
