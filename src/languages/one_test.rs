//! One test that somebody names: what runners call it, and how it is run alone.

use std::path::Path;

use regex::Regex;

/// What a language knows of a test that is named. The patterns are for a runner's whole output,
/// with `^` and `$` at the ends of lines.
#[derive(Debug)]
pub struct OneTest {
    /// Places in the output that name a test which passed, each with a group `name`.
    pub passed: &'static [&'static str],
    /// What its runners call a test.
    pub names: fn(&Named<'_>) -> Vec<String>,
    /// The command that runs it alone and names it; none where no runner is known that can.
    pub alone: fn(&Named<'_>, &Project<'_>) -> Option<String>,
}

/// A test in a file.
#[derive(Clone, Debug)]
pub struct Named<'a> {
    /// The file, relative to the repository.
    pub path: &'a str,
    /// The groups it is in, the outermost first, and its own name at the end.
    pub parts: &'a [&'a str],
}

/// The project a test is run in.
#[derive(Clone, Copy, Debug)]
pub struct Project<'a> {
    /// The working tree.
    pub root: &'a Path,
    /// The command that runs all tests; possibly empty.
    pub tests: &'a str,
}

impl<'a> Named<'a> {
    /// Its own name.
    pub fn name(&self) -> &'a str {
        self.parts.last().copied().unwrap_or_default()
    }

    /// The name behind its groups.
    pub fn joined(&self, by: &str) -> String {
        self.parts.join(by)
    }

    /// The folder and the file, without a slash between them.
    pub fn folder_and_file(&self) -> (&'a str, &'a str) {
        self.path.rsplit_once('/').unwrap_or(("", self.path))
    }
}

impl OneTest {
    /// How often an output says that the test passed.
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

    /// Whether one of the names of tests that failed, as `failing` reads them, is this one's.
    pub fn is_among(&self, test: &Named<'_>, failing: impl IntoIterator<Item = String>) -> bool {
        let names = (self.names)(test);
        // Some runners say before it in which package, and behind it with which values. A name that
        // begins with a dot is one in any group.
        let is_it = |said: &str, name: &String| {
            let before = said.strip_suffix(name.as_str());
            is_case_of(name, said)
                || before.is_some_and(|before| before.ends_with(' ') || name.starts_with('.'))
        };
        failing.into_iter().any(|said| names.iter().any(|name| is_it(&said, name)))
    }
}

/// Whether a runner's name is this one, or that of one of its cases: `adds[1-2]`, `adds::case_1`.
fn is_case_of(name: &str, said: &str) -> bool {
    let rest = said.strip_prefix(name);
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(['[']) || rest.starts_with("::case")
    })
}

/// The folder, relative to the repository, of the nearest manifest above a file; empty at the top,
/// also where there is none.
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

/// A path as it is below a folder of [`folder_of_manifest`].
pub(super) fn below<'p>(folder: &str, path: &'p str) -> &'p str {
    path.strip_prefix(folder).map_or(path, |rest| rest.trim_start_matches('/'))
}

/// A command in a folder.
pub(super) fn in_folder(folder: &str, command: String) -> String {
    match folder {
        "" => command,
        folder => format!("cd {} && {command}", crate::shell_quote::quoted(folder)),
    }
}

/// The beginning of a command up to the word that names a runner: `uv run pytest` of `uv run pytest
/// -q tests`. None where it names none, or does more than that.
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
