//! Named tests: their names in the output of test runners, and how to run only these.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

/// How to handle named tests in a language. The patterns apply to a runner's whole output, with
/// `^` and `$` at the start and end of lines.
#[derive(Debug)]
pub struct OneTest {
    /// Patterns for the names of passed tests, each with a group `name`.
    pub passed: &'static [&'static str],
    /// Returns the names under which runners print the test. One without the test's own name is
    /// that of a group in which all tests passed.
    pub names: fn(&TestName<'_>) -> Vec<String>,
    /// Returns the command that runs only these tests, in one process, and prints the name of each;
    /// `None` if no suitable runner is known, or if it cannot run all of them at once.
    pub command: fn(&[TestName<'_>], &Project<'_>) -> Option<String>,
}

/// The tests whose names an output may contain besides that of the test searched for.
#[derive(Clone, Copy, Debug)]
pub enum Among<'a> {
    /// Only the test was run.
    Alone,
    /// Several tests were run. These are all tests in their files: a runner that chooses by name
    /// may have run any of them.
    Several(&'a [TestName<'a>]),
    /// The whole project's tests were run, and these are some of them.
    All(&'a [TestName<'a>]),
}

impl<'a> Among<'a> {
    const fn tests(self) -> &'a [TestName<'a>] {
        match self {
            Self::Alone => &[],
            Self::Several(tests) | Self::All(tests) => tests,
        }
    }
}

/// A test in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestName<'a> {
    /// The file, relative to the repository.
    pub path: &'a str,
    /// The groups that contain the test, the outermost first, then the test's own name.
    pub parts: &'a [String],
}

/// The project of a test.
#[derive(Clone, Copy, Debug)]
pub struct Project<'a> {
    /// The working tree.
    pub root: &'a Path,
    /// The command that runs all tests; may be empty.
    pub tests: &'a str,
}

impl<'a> TestName<'a> {
    /// Returns the test's own name.
    pub fn name(&self) -> &'a str {
        self.parts.last().map(String::as_str).unwrap_or_default()
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
    /// Returns whether an output says that the test passed (`true`) or failed; `None` if it does not
    /// name the test, or if the name may be that of another test.
    pub fn verdict(
        &self,
        test: &TestName<'_>,
        among: Among<'_>,
        output: &str,
        failing: &BTreeSet<String>,
    ) -> Option<bool> {
        let names = self.names_among(test, among);
        let is_failing = |is_it: fn(&str, &str) -> bool| {
            failing.iter().any(|failure| names.iter().any(|name| is_it(name, failure)))
        };
        let results = self.passed_as(&names, output);
        let mut in_output = results.iter().filter(|cases| !cases.is_empty()).peekable();
        let is_named = in_output.peek().is_some();
        if let Among::Several(_) = among
            && is_failing(may_be)
        {
            // A wrong "failed" would prove that a test fails on the base.
            return (is_failing(is_whole) && !is_named).then_some(false);
        }
        if is_failing(is_in_any_group) || is_failing(may_be) && !is_named {
            return Some(false);
        }
        // What else ran may have the same name. If nothing else ran, repeated names are cases.
        let alone = matches!(among, Among::Alone);
        let once = |cases: &&Vec<_>| cases.iter().collect::<BTreeSet<_>>().len() == cases.len();
        in_output.next().filter(|cases| alone || once(cases)).map(|_| true)
    }

    /// The names of the test, without those that other tests have, too.
    fn names_among(&self, test: &TestName<'_>, among: Among<'_>) -> Vec<String> {
        let others = among.tests().iter().filter(|other| *other != test);
        let others: BTreeSet<String> = others.flat_map(self.names).collect();
        let is_group = |name: &String| !name.contains(test.name().trim_matches('`'));
        let is_own = |name: &String| {
            !others.contains(name) || matches!(among, Among::All(_)) && is_group(name)
        };
        (self.names)(test).into_iter().filter(is_own).collect()
    }

    /// For each name, what the output says passed under it, with the number of the pattern.
    fn passed_as(&self, names: &[String], output: &str) -> Vec<Vec<(usize, String)>> {
        let mut results = vec![Vec::new(); names.len()];
        for (number, form) in self.passed.iter().enumerate() {
            let Ok(form) = Regex::new(&format!("(?m){form}")) else { continue };
            for capture in form.captures_iter(output).filter_map(|capture| capture.name("name")) {
                let result = capture.as_str().trim();
                if let Some(at) = names.iter().position(|name| is_case_of(name, result)) {
                    results[at].push((number, result.to_owned()));
                }
            }
        }
        results
    }
}

/// True if the failed test `said` may be `name`: some runners put the package or the groups before
/// it. So `never adds` may be `adds`, or another test.
fn may_be(name: &str, printed: &str) -> bool {
    let before = printed.strip_suffix(name);
    is_in_any_group(name, printed) || before.is_some_and(|before| before.ends_with(' '))
}

/// Like [`is_whole`]; a name that starts with a dot matches in any group, too.
fn is_in_any_group(name: &str, printed: &str) -> bool {
    is_whole(name, printed) || name.starts_with('.') && printed.ends_with(name)
}

/// True if the failed test `said` is `name` or one of its cases. A name that starts with a space
/// matches in any package.
fn is_whole(name: &str, printed: &str) -> bool {
    is_case_of(name, printed) || name.starts_with(' ') && printed.ends_with(name)
}

/// True if the runner's name `said` is `name`, or the name of one of its cases: `adds[1-2]`,
/// `adds::case_1`.
fn is_case_of(name: &str, printed: &str) -> bool {
    let rest = printed.strip_prefix(name);
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(['[']) || rest.starts_with("::case")
    })
}

/// Returns the first of these if all are the same: what the tests of one command share.
pub(super) fn same<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Option<T> {
    let mut all = all.into_iter();
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// Returns what `of` says of each test, each once, in the order of the tests.
pub(super) fn each<'n>(
    tests: &[TestName<'n>],
    text_of: impl Fn(&TestName<'n>) -> String,
) -> Vec<String> {
    let mut all = Vec::new();
    for one in tests.iter().map(text_of) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

/// Formats a regular expression for one of these expressions: `a`, `(a|b)`.
pub(super) fn any_of(all: &[String]) -> String {
    match all {
        [one] => one.clone(),
        all => format!("({})", all.join("|")),
    }
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
