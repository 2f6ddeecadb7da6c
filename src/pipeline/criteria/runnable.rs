//! A test that a criterion names, found in its file.

use std::collections::BTreeMap;

use crate::artifact::{Criterion, Requirement, Store};
use crate::git::{self, Object, Oid};
use crate::languages::{self, OneTest};
use crate::pipeline::run::Run;
use crate::pipeline::test_changes::{LARGEST, Test, tests_in};
use crate::session;

/// A test that exists.
pub(super) struct Runnable {
    pub(super) path: String,
    pub(super) parts: Parts,
    /// All tests in its file.
    in_file: Vec<Parts>,
    pub(super) one_test: &'static OneTest,
}

impl Runnable {
    pub(super) fn named(&self) -> languages::TestName<'_> {
        languages::TestName { path: &self.path, parts: &self.parts }
    }

    /// All tests in the files of these tests.
    pub(super) fn in_files<'r>(
        tests: impl IntoIterator<Item = &'r Self>,
    ) -> Vec<languages::TestName<'r>> {
        let files: BTreeMap<&str, &Self> =
            tests.into_iter().map(|test| (test.path.as_str(), test)).collect();
        let tests = |(path, one): (&'r str, &'r Self)| {
            one.in_file.iter().map(move |parts| languages::TestName { path, parts })
        };
        files.into_iter().flat_map(tests).collect()
    }
}

/// Finds the test in its file, or returns the reason why it was not found.
pub(super) fn runnable(
    run: &Run<'_>,
    tree: &Oid,
    one: &Wanted,
) -> anyhow::Result<Result<Runnable, String>> {
    let Some((path, name)) = one.test.split_once("::") else {
        return Ok(Err("a test must be named file::name".to_owned()));
    };
    let Some(text) = text_at(run, tree, path)? else {
        return Ok(Err(format!("{path} is not there")));
    };
    let (parts, in_file) = match parts_of(path, &text, name) {
        Ok(found) => found,
        Err(why) => return Ok(Err(why)),
    };
    let Some(one_test) = languages::of_file(path).and_then(|language| language.one_test.as_ref())
    else {
        return Ok(Err(format!("no known command runs one test of {path}")));
    };
    Ok(Ok(Runnable { path: path.to_owned(), parts, in_file, one_test }))
}

pub(super) fn text_at(run: &Run<'_>, tree: &Oid, path: &str) -> anyhow::Result<Option<String>> {
    let blob = git::snapshot::blob_ids(run.env.git, tree, &[path])?.pop().flatten();
    let Some(blob) = blob else { return Ok(None) };
    let bytes = run.env.git.reader().blob(Object::Id(&blob))?.filter(|b| b.len() <= LARGEST);
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// A test that criteria name.
pub(super) struct Wanted {
    /// `file::name`
    pub(super) test: String,
    /// The ids of the requirements that name it.
    pub(super) of: Vec<String>,
    /// Whether it must fail on the base.
    pub(super) fails_before: bool,
    /// Whether this session added or changed a criterion that names it.
    pub(super) is_new: bool,
}

/// The tests that criteria name, each once. A test that the parent of a change request
/// already named need not fail on the base: that was the parent's obligation.
pub(super) fn wanted(run: &Run<'_>) -> anyhow::Result<Vec<Wanted>> {
    let requirements = run.store().requirements()?.requirements;
    let earlier = match session::parents_files(run.env.git, &run.session) {
        Some(parents) => Store::new(&parents).requirements()?.requirements,
        None => Vec::new(),
    };
    let was_named = |test: &str| named(&earlier).any(|(_, one)| one.test.as_deref() == Some(test));
    let mut by_test: BTreeMap<&str, Wanted> = BTreeMap::new();
    for (of, criterion) in named(&requirements) {
        let Some(test) = criterion.test.as_deref() else { continue };
        let one = by_test.entry(test).or_insert_with(|| Wanted {
            test: test.to_owned(),
            of: Vec::new(),
            fails_before: false,
            is_new: false,
        });
        one.is_new |= !named(&earlier).any(|(_, before)| before == criterion);
        one.fails_before |= criterion.fails_before && !was_named(test);
        if !one.of.contains(&of.id) {
            one.of.push(of.id.clone());
        }
    }
    Ok(by_test.into_values().collect())
}

fn named(requirements: &[Requirement]) -> impl Iterator<Item = (&Requirement, &Criterion)> {
    requirements.iter().flat_map(|one| one.acceptance_criteria.iter().map(move |c| (one, c)))
}

/// Separators of groups and names, as people write them and as languages and runners use them.
const JOINTS: [&str; 6] = ["::", " > ", " › ", ".", "#", " "];
/// Number of tests that an error lists if the named one is not found.
const NAMED: usize = 6;

/// The groups and the name of a test.
pub(super) type Parts = Vec<String>;

/// Returns the parts of the test, and those of all tests in the file, or an error message with the
/// reason.
pub(super) fn parts_of(path: &str, text: &str, name: &str) -> Result<(Parts, Vec<Parts>), String> {
    let Some(tests) = tests_in(path, text) else {
        return Err(format!("cannot recognize tests in {path}"));
    };
    let parts = |test: &Test| test.name.split(" › ").map(str::to_owned).collect();
    let all: Vec<Parts> = tests.iter().map(parts).collect();
    let means = |parts: &&Parts| is_named(parts, name);
    let mut meant: Vec<&Parts> = all.iter().filter(means).collect();
    // If several match, the test whose full name is given wins.
    if meant.len() > 1
        && let Some(whole) =
            meant.iter().find(|parts| JOINTS.iter().any(|by| parts.join(by) == name))
    {
        meant = vec![whole];
    }
    match meant.as_slice() {
        [one] => Ok(((*one).clone(), all)),
        [] if all.is_empty() => Err(format!("{path} contains no test")),
        [] => {
            let names: Vec<&str> =
                all.iter().filter_map(|parts| parts.last()).map(String::as_str).collect();
            let more = if names.len() > NAMED { ", …" } else { "" };
            let names = names[..names.len().min(NAMED)].join(", ");
            Err(format!("{path} contains no test of that name; it contains {names}{more}"))
        }
        several => Err(format!(
            "{path} contains {} tests of that name; the criterion must also name the group",
            several.len()
        )),
    }
}

/// True if `name` names this test: its own name, preceded by any number of its groups.
fn is_named(parts: &[String], name: &str) -> bool {
    // In Go, the name may be that of a subtest.
    let name = match parts.last() {
        Some(last) if name.starts_with(&format!("{last}/")) => last,
        _ => name,
    };
    (0..parts.len()).any(|from| JOINTS.iter().any(|by| parts[from..].join(by) == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_found_by_its_name_and_its_groups() {
        let rust = "#[test]\nfn adds() {}\n\nmod tests {\n    #[test]\n    fn carries() {}\n}\n";
        let python = "class TestSum:\n    def test_adds(self):\n        assert 1\n\nclass TestMore:\n    def test_adds(self):\n        assert 1\n\ndef test_top():\n    assert 1\n";
        let node = "describe('sums', () => {\n  it('adds a.b', () => {});\n});\n";
        for (path, text, name, found) in [
            ("tests/a.rs", rust, "adds", &["adds"][..]),
            ("tests/a.rs", rust, "carries", &["tests", "carries"]),
            ("tests/a.rs", rust, "tests::carries", &["tests", "carries"]),
            ("t/test_a.py", python, "TestMore::test_adds", &["TestMore", "test_adds"]),
            ("t/test_a.py", python, "TestSum.test_adds", &["TestSum", "test_adds"]),
            ("t/test_a.py", python, "test_top", &["test_top"]),
            ("a.test.js", node, "adds a.b", &["sums", "adds a.b"]),
            ("a.test.js", node, "sums > adds a.b", &["sums", "adds a.b"]),
            ("a_test.go", "func TestAdd(t *testing.T) {\n}\n", "TestAdd/one", &["TestAdd"]),
        ] {
            assert_eq!(parts_of(path, text, name).unwrap().0, found, "{path} {name}");
        }
        for (path, text, name, why) in [
            (
                "tests/a.rs",
                rust,
                "add",
                "tests/a.rs contains no test of that name; it contains adds, carries",
            ),
            (
                "t/test_a.py",
                python,
                "test_adds",
                "t/test_a.py contains 2 tests of that name; the criterion must also name the group",
            ),
            ("tests/a.rs", "fn adds() {}\n", "adds", "tests/a.rs contains no test"),
            ("a.txt", "adds", "adds", "cannot recognize tests in a.txt"),
        ] {
            assert_eq!(parts_of(path, text, name).unwrap_err(), why);
        }
    }
}
