//! Files that decide how tests run without being tests: settings of runners, and modules that Python
//! loads instead of its own.

/// Settings, by their whole names.
const SETTINGS: [&str; 14] = [
    ".cargo/config",
    ".cargo/config.toml",
    ".config/nextest.toml",
    ".npmrc",
    ".rspec",
    "bunfig.toml",
    "conftest.py",
    "nose2.cfg",
    "phpunit.xml",
    "pytest.ini",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.cfg",
    "tox.ini",
];
/// Settings, by the beginnings of their names.
const BEGINNINGS: [&str; 8] = [
    ".mocharc.",
    "ava.config.",
    "cypress.config.",
    "jest.config.",
    "karma.conf.",
    "phpunit.xml.",
    "playwright.config.",
    "vitest.config.",
];
/// Modules at the top of the tree.
const MODULES: [&str; 6] =
    ["_pytest", "nose2", "pytest", "sitecustomize", "unittest", "usercustomize"];

/// True if a file with this path decides how tests run.
pub(super) fn configures_runner(path: &str) -> bool {
    let is_named = |name: &&str| {
        path.strip_suffix(name).is_some_and(|above| above.is_empty() || above.ends_with('/'))
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    let top = path.split('/').next().unwrap_or(path);
    SETTINGS.iter().any(is_named)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || path.ends_with(".py") && MODULES.contains(&top.trim_end_matches(".py"))
}
