//! The package managers: what they read, how to see that nothing is missing, how they fetch.
//!
//! What is run with the network runs no code of the tree and none of what it fetches: install
//! scripts are left to a second step without it, packages that would have to be built are refused,
//! and cargo is called from elsewhere, because a project's `.cargo/config.toml` names programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::python;

/// One of them.
#[derive(Debug)]
pub(super) struct Manager {
    /// How people call it.
    pub(super) name: &'static str,
    /// Its lock files.
    pub(super) locks: &'static [&'static str],
    /// Where dependencies are written down by hand. A `*` stands for anything.
    pub(super) manifests: &'static [&'static str],
    /// Another manager's lock files: beside these it has no say.
    pub(super) not_beside: &'static [&'static str],
    /// Whether a manifest without a lock file is enough.
    pub(super) without_lock: bool,
    /// Whether the files name anything from outside for this place.
    pub(super) asks: fn(&Path, &BTreeMap<PathBuf, String>) -> bool,
    /// Run in a place without the network: succeeds when nothing is missing, and answers with 127
    /// when the manager is not installed.
    pub(super) complete: &'static str,
    /// Run in a place with the network. `PLACE` stands for its absolute path, `TARGET` for a
    /// directory of our own, which is for all places: then it is run once.
    pub(super) fetch: &'static str,
    /// Run in a place afterwards, without the network: what could not be done with it.
    pub(super) after: &'static str,
    /// What it leaves in a place; where that is gone, it has to be fetched again.
    pub(super) leaves: &'static str,
    /// Where it keeps packages is one directory for all its projects: commands are given the home's
    /// or the fetched one.
    pub(super) shared: bool,
    /// Run by a person in a place, with their own logins.
    pub(super) by_hand: &'static str,
    /// Programs that need what it fetches for the project they are run in.
    pub(super) programs: &'static [&'static str],
}

/// Programs that need the packages of a JavaScript project.
const JAVASCRIPT: &[&str] =
    &["npm", "npx", "pnpm", "yarn", "node", "tsc", "eslint", "jest", "vitest", "mocha", "vite"];
/// Programs that need the packages of a Python project.
const PYTHON: &[&str] = &["python", "python3", "pytest", "uv", "poetry", "tox", "nox", "mypy"];

impl Manager {
    /// Whether a file of this name says what is needed.
    pub(super) fn reads(&self, name: &str) -> bool {
        [self.locks, self.manifests, self.not_beside].concat().contains(&name)
            || self.name == "pip" && python::is_requirements(name)
    }
}

/// All.
pub(super) static MANAGERS: [Manager; 8] = [
    Manager {
        name: "cargo",
        locks: &["Cargo.lock"],
        manifests: &["Cargo.toml"],
        not_beside: &[],
        without_lock: true,
        asks: |_, files| files.iter().any(|(path, text)| cargo_asks(path, text)),
        complete: "cargo fetch -q --offline --target \"$(rustc -vV | sed -n 's/^host: //p')\"",
        fetch: "(cd \"$TMPDIR\" && cargo fetch --manifest-path PLACE/Cargo.toml)",
        after: "",
        leaves: "",
        shared: true,
        by_hand: "cargo fetch",
        programs: &["cargo"],
    },
    Manager {
        name: "npm",
        locks: &["package-lock.json", "npm-shrinkwrap.json"],
        manifests: &["package.json"],
        not_beside: &["pnpm-lock.yaml", "yarn.lock"],
        without_lock: true,
        asks: js_asks,
        complete: "npm ls --all >/dev/null",
        // A lock file that a model's edit of the manifest made stale is brought up to date.
        fetch: "{ npm ci --ignore-scripts --no-audit --no-fund || \
                npm install --ignore-scripts --no-audit --no-fund; }",
        after: "npm rebuild",
        leaves: "node_modules",
        shared: false,
        by_hand: "npm ci",
        programs: JAVASCRIPT,
    },
    Manager {
        name: "pnpm",
        locks: &["pnpm-lock.yaml"],
        manifests: &["package.json"],
        not_beside: &[],
        without_lock: false,
        asks: js_asks,
        complete: "command -v pnpm >/dev/null || exit 127; \
                   cmp -s pnpm-lock.yaml node_modules/.pnpm/lock.yaml",
        fetch: "pnpm install --ignore-scripts --ignore-pnpmfile --prefer-frozen-lockfile",
        after: "pnpm rebuild",
        leaves: "node_modules",
        shared: false,
        by_hand: "pnpm install",
        programs: JAVASCRIPT,
    },
    Manager {
        name: "yarn",
        locks: &["yarn.lock"],
        manifests: &["package.json"],
        not_beside: &["pnpm-lock.yaml"],
        without_lock: false,
        // The second yarn runs plugins of the project's own while it fetches.
        asks: |place, files| {
            js_asks(place, files)
                && !files.get(&place.join("yarn.lock")).is_some_and(|t| t.contains("__metadata:"))
        },
        complete: "command -v yarn >/dev/null || exit 127; test -e node_modules/.yarn-integrity",
        fetch: "YARN_IGNORE_PATH=1 yarn install --ignore-scripts --non-interactive",
        after: "",
        leaves: "node_modules",
        shared: false,
        by_hand: "yarn install",
        programs: JAVASCRIPT,
    },
    Manager {
        name: "go",
        locks: &["go.sum"],
        manifests: &["go.mod"],
        not_beside: &[],
        without_lock: true,
        asks: |place, files| {
            let required = |text: &String| text.lines().any(|line| line.starts_with("require"));
            files.get(&place.join("go.mod")).is_some_and(required)
        },
        complete: "test -e vendor/modules.txt || GOPROXY=off go mod download",
        fetch: "go mod download",
        after: "",
        leaves: "",
        shared: true,
        by_hand: "go mod download",
        programs: &["go"],
    },
    Manager {
        name: "uv",
        locks: &["uv.lock"],
        manifests: &["pyproject.toml"],
        not_beside: &[],
        without_lock: false,
        asks: |_, _| true,
        complete: "uv sync -q --frozen --offline --no-install-project --no-build",
        fetch: "uv sync --frozen --no-install-project --no-build",
        after: "uv sync --frozen --offline",
        leaves: ".venv",
        shared: false,
        by_hand: "uv sync",
        programs: PYTHON,
    },
    Manager {
        name: "poetry",
        locks: &["poetry.lock"],
        manifests: &["pyproject.toml"],
        not_beside: &["uv.lock"],
        without_lock: false,
        asks: |_, _| true,
        complete: "command -v poetry >/dev/null || exit 127; poetry install --no-root --dry-run \
                   --no-interaction | grep -Eq '0 installs, 0 updates|No dependencies to install'",
        fetch: "POETRY_INSTALLER_ONLY_BINARY=:all: poetry install --no-root --no-interaction",
        after: "",
        leaves: "",
        shared: true,
        by_hand: "poetry install",
        programs: PYTHON,
    },
    Manager {
        name: "pip",
        locks: &["requirements.txt"],
        manifests: &["requirements-dev.txt", "requirements-test.txt", "dev-requirements.txt"],
        not_beside: &["uv.lock", "poetry.lock"],
        without_lock: true,
        asks: |place, files| !python::requirements(place, files).is_empty(),
        complete: "python3 -m pip install -q --dry-run --no-index -r TARGET.txt",
        // `-I`: apart from the tree, where a `pip.py` may lie.
        fetch: "python3 -Im pip install --only-binary :all: --target TARGET -r TARGET.txt",
        after: "",
        leaves: "",
        shared: false,
        by_hand: "python3 -m pip install",
        programs: PYTHON,
    },
];

/// Whether a manifest or lock file of cargo's names anything from outside. A manifest that a model
/// is in the middle of asks for nothing.
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
                let of = |key: &str| dependency.get(key).is_some();
                !of("path") && !of("workspace")
            })
        })
    }
    outside(&manifest)
}

fn js_asks(place: &Path, files: &BTreeMap<PathBuf, String>) -> bool {
    files.iter().any(|(path, text)| {
        let Ok(manifest) = serde_json::from_str::<serde_json::Value>(text) else { return false };
        let names = |key: &str| manifest[key].as_object().is_some_and(|named| !named.is_empty());
        path.starts_with(place)
            && path.ends_with("package.json")
            && ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"]
                .into_iter()
                .any(names)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_manager_has_the_say_beside_each_lock_file() {
        for lock in ["package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock"] {
            let say = MANAGERS
                .iter()
                .filter(|m| m.locks.contains(&lock) && m.manifests.contains(&"package.json"));
            assert_eq!(say.count(), 1, "{lock}");
        }
    }

    #[test]
    fn nothing_fetched_is_run_with_the_network() {
        for manager in &MANAGERS {
            let safe = match manager.name {
                "npm" | "pnpm" | "yarn" => "--ignore-scripts",
                "uv" => "--no-build",
                "pip" => "--only-binary :all:",
                "poetry" => "ONLY_BINARY=:all:",
                // These run nothing.
                "cargo" | "go" => "",
                other => panic!("{other}"),
            };
            assert!(manager.fetch.contains(safe), "{}", manager.name);
        }
    }
}
