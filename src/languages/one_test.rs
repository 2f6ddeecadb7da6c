//! One named test: its names in the output of test runners, and how to run it alone.

use std::path::Path;

use regex::Regex;

/// How to handle one named test in a language. The patterns apply to a runner's whole output, with
/// `^` and `$` at the start and end of lines.
#[derive(Debug)]
pub struct OneTest {
    /// Patterns for the names of passed tests, each with a group `name`.
    pub passed: &'static [&'static str],
    /// Returns the names under which runners print the test.
    pub names: fn(&Named<'_>) -> Vec<String>,
    /// Returns the command that runs only this test and prints its name; `None` if no suitable
    /// runner is known.
    pub alone: fn(&Named<'_>, &Project<'_>) -> Option<String>,
}

/// A test in a file.
#[derive(Clone, Debug)]
pub struct Named<'a> {
    /// The file, relative to the repository.
    pub path: &'a str,
    /// The groups that contain the test, the outermost first, then the test's own name.
    pub parts: &'a [&'a str],
}

/// The project of a test.
#[derive(Clone, Copy, Debug)]
pub struct Project<'a> {
    /// The working tree.
    pub root: &'a Path,
    /// The command that runs all tests; may be empty.
    pub tests: &'a str,
}

impl<'a> Named<'a> {
    /// Returns the test's own name.
    pub fn name(&self) -> &'a str {
        self.parts.last().copied().unwrap_or_default()
    }

    /// Returns the test's name with its groups before it.
    pub fn joined(&self, by: &str) -> String {
        self.parts.join(by)
    }

    /// Returns the folder and the file, without a slash between them.
    pub fn folder_and_file(&self) -> (&'a str, &'a str) {
        self.path.rsplit_once('/').unwrap_or(("", self.path))
    }
}

impl OneTest {
    /// Returns how often an output says that the test passed.
    pub fn times_passed(&self, test: &Named<'_>, output: &str) -> usize {
        let names = (self.names)(test);
        let is_it = |said: &str| names.iter().any(|name| is_case_of(name, said.trim()));
        let forms = self.passed.iter().filter_map(|form| Regex::new(&format!("(?m){form}")).ok());
        let times = |form: Regex| {
            let found = form.captures_iter(output).filter_map(|found| found.name("name"));
            found.filter(|name| is_it(name.as_str())).count()
        };
        forms.map(times).sum()
    }

    /// True if one of the names of failed tests in `failing` is a name of this test.
    pub fn is_among(&self, test: &Named<'_>, failing: impl IntoIterator<Item = String>) -> bool {
        let names = (self.names)(test);
        // Some runners put the package before the name, or the values of a case after it. A name
        // that starts with a dot matches in any group.
        let is_it = |said: &str, name: &String| {
            let before = said.strip_suffix(name.as_str());
            is_case_of(name, said)
                || before.is_some_and(|before| before.ends_with(' ') || name.starts_with('.'))
        };
        failing.into_iter().any(|said| names.iter().any(|name| is_it(&said, name)))
    }
}

/// True if the runner's name `said` is `name`, or the name of one of its cases: `adds[1-2]`,
/// `adds::case_1`.
fn is_case_of(name: &str, said: &str) -> bool {
    let rest = said.strip_prefix(name);
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(['[']) || rest.starts_with("::case")
    })
}

/// Returns the folder, relative to the repository, of the nearest manifest above a file; empty if
/// it is at the top or there is none.
pub(super) fn folder_of_manifest<'p>(root: &Path, path: &'p str, manifest: &str) -> &'p str {
    let mut folder = path;
    while let Some((above, _)) = folder.rsplit_once('/') {
        if root.join(above).join(manifest).is_file() {
            return above;
        }
        folder = above;
    }
    ""
}

/// Returns a path relative to a folder that [`folder_of_manifest`] returned.
pub(super) fn below<'p>(folder: &str, path: &'p str) -> &'p str {
    path.strip_prefix(folder).map_or(path, |rest| rest.trim_start_matches('/'))
}

/// Formats a command that runs in a folder.
pub(super) fn in_folder(folder: &str, command: String) -> String {
    match folder {
        "" => command,
        folder => format!("cd {} && {command}", crate::shell_quote::quoted(folder)),
    }
}

/// Returns the start of a command up to the word that names a runner: `uv run pytest` for `uv run
/// pytest -q tests`. `None` if the command does not contain the runner, or does more than run it.
pub(super) fn up_to<'c>(command: &'c str, runner: &str) -> Option<&'c str> {
    let plain = !command.contains([';', '|', '&', '<', '>', '`', '\n']) && !command.contains("$(");
    let is_it = |word: &str| word == runner || word.ends_with(&format!("/{runner}"));
    let mut end = 0;
    for word in command.split(' ').filter(|_| plain) {
        end += word.len();
        if is_it(word) {
            return Some(&command[..end]);
        }
        end += 1;
    }
    None
}
