//! Compares the tests of two states of the code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::runner::configures_runner;
use super::test_finder::{Test, is_test_path, tests_in};
use crate::languages::test_script;

/// Files larger than this, in bytes, are not read.
pub(crate) const LARGEST: usize = 1024 * 1024;

/// Maximum number of tests that are named when a file is deleted with its tests.
const NAMED: usize = 8;

/// A changed file, before and after; `None` if it does not exist.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changed {
    pub path: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// How a test was weakened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// It was deleted.
    Deleted,
    /// The whole file was deleted, with these tests.
    FileDeleted(Vec<String>),
    /// It is skipped now.
    Skipped,
    /// All tests of the file are skipped now.
    AllSkipped(usize),
    /// It has fewer assertions.
    Fewer(usize, usize),
    /// Another command runs the tests.
    Command(String, String),
    /// What the runner of the tests is told, or which one it is, changed.
    Runner,
}

/// A test that checks less than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Weakened {
    pub(crate) path: String,
    /// The name of the test; empty if the entry is about the whole file.
    pub(crate) test: String,
    pub(crate) how: How,
}

impl fmt::Display for Weakened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path)?;
        if !self.test.is_empty() {
            write!(f, "{}: ", self.test)?;
        }
        match &self.how {
            How::Deleted => write!(f, "deleted"),
            How::FileDeleted(tests) if tests.is_empty() => write!(f, "deleted"),
            How::FileDeleted(tests) => {
                let shown = tests.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>();
                let more = if tests.len() > NAMED { ", …" } else { "" };
                let s = if tests.len() == 1 { "" } else { "s" };
                write!(f, "deleted with {} test{s} ({}{more})", tests.len(), shown.join(", "))
            }
            How::Skipped => write!(f, "skipped"),
            How::AllSkipped(tests) => write!(f, "all {tests} tests skipped"),
            How::Fewer(before, after) => write!(f, "fewer assertions ({before} → {after})"),
            How::Command(before, after) => {
                write!(f, "the test command changed ({before} → {after})")
            }
            How::Runner => write!(f, "it decides how tests run, and changed"),
        }
    }
}

/// The changes to tests in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestChanges {
    /// Weakened tests, by path.
    pub weakened: Vec<Weakened>,
    /// Files that have tests and had none before.
    pub added: Vec<String>,
}

impl TestChanges {
    /// Adds the weakened tests of a comparison with another earlier state, unless they are listed
    /// already.
    pub(crate) fn add_weakened(&mut self, other: Self) {
        for weakened in other.weakened {
            let same =
                |known: &Weakened| (&known.path, &known.test) == (&weakened.path, &weakened.test);
            if !self.weakened.iter().any(same) {
                self.weakened.push(weakened);
            }
        }
        self.weakened.sort_by(|a, b| (&a.path, &a.test).cmp(&(&b.path, &b.test)));
    }
}

/// The tests of one state, by path.
type Tests = BTreeMap<String, Vec<Test>>;

/// Compares the tests of changed files.
pub(crate) fn compare(files: &[Changed]) -> TestChanges {
    let read = |which: fn(&Changed) -> &Option<String>| -> Tests {
        let one = |file: &Changed| {
            let tests = tests_in(&file.path, which(file).as_ref()?)?;
            Some((file.path.clone(), tests))
        };
        files.iter().filter_map(one).collect()
    };
    let before = read(|file| &file.before);
    let had: BTreeSet<String> = before
        .iter()
        .filter(|(_, tests)| !tests.is_empty())
        .map(|(path, _)| path.clone())
        .collect();
    let mut after = read(|file| &file.after);
    let mut changes = TestChanges::default();
    let mut left = Vec::new();
    // Compares each file by itself, then finds tests that moved between files.
    for (path, tests) in before {
        let there = after.entry(path.clone()).or_default();
        for test in tests {
            match there.iter().position(|now| now.name == test.name) {
                Some(at) => changes.weakened.extend(weaker(&path, &test, &there.remove(at))),
                None => left.push((path.clone(), test)),
            }
        }
    }
    for (path, test) in left {
        let moved = after.iter_mut().find_map(|(to, tests)| {
            let at =
                tests.iter().position(|now| !now.name.is_empty() && now.short() == test.short());
            at.map(|at| (to.clone(), tests.remove(at)))
        });
        match moved {
            Some((to, now)) => changes.weakened.extend(weaker(&to, &test, &now)),
            None => changes.weakened.push(Weakened { path, test: test.name, how: How::Deleted }),
        }
    }
    for file in files {
        changes.weakened.extend(command_changed(file).or_else(|| runner_changed(file)));
        let has_tests = after.get(&file.path).is_some_and(|tests| !tests.is_empty());
        if has_tests && !had.contains(&file.path) {
            changes.added.push(file.path.clone());
        }
    }
    by_file(&mut changes.weakened, files);
    changes.weakened.sort_by(|a, b| (&a.path, &a.test).cmp(&(&b.path, &b.test)));
    changes
}

fn weaker(path: &str, before: &Test, after: &Test) -> Option<Weakened> {
    let how = if after.skips > before.skips {
        How::Skipped
    } else if after.assertions < before.assertions {
        How::Fewer(before.assertions, after.assertions)
    } else {
        return None;
    };
    Some(Weakened { path: path.to_owned(), test: after.name.clone(), how })
}

/// Combines entries if the same happened to all tests of a file.
fn by_file(weakened: &mut Vec<Weakened>, files: &[Changed]) {
    for file in files {
        let path = &file.path;
        let count =
            |how: &How| weakened.iter().filter(|w| w.path == *path && w.how == *how).count();
        let (deleted, skipped) = (count(&How::Deleted), count(&How::Skipped));
        if file.after.is_none() && (deleted > 0 || file.before.is_some() && is_script(path)) {
            let gone = |w: &&Weakened| w.path == *path && !w.test.is_empty();
            let names = weakened.iter().filter(gone).map(|w| w.test.clone()).collect();
            weakened.retain(|w| w.path != *path || w.how != How::Deleted);
            let (path, how) = (path.clone(), How::FileDeleted(names));
            weakened.push(Weakened { path, test: String::new(), how });
            continue;
        }
        let all = file.after.as_ref().and_then(|text| tests_in(path, text)).map_or(0, |t| t.len());
        if skipped > 1 && skipped == all {
            weakened.retain(|w| w.path != *path || w.how != How::Skipped);
            let (path, how) = (path.clone(), How::AllSkipped(all));
            weakened.push(Weakened { path, test: String::new(), how });
        }
    }
}

/// True for a test file whose tests cannot be distinguished.
fn is_script(path: &str) -> bool {
    let code = ["pl", "lua", "ex", "exs", "hs", "ml", "swift", "dart", "c", "cc", "cpp", "feature"];
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    is_test_path(path) && code.contains(&extension)
}

/// A changed test command may leave out all tests.
fn command_changed(file: &Changed) -> Option<Weakened> {
    let command = test_script(&file.path)?;
    let before = command(file.before.as_ref()?)?;
    let after = file.after.as_deref().and_then(command).unwrap_or_else(|| "none".to_owned());
    let how = How::Command(before.clone(), after.clone());
    (before != after).then(|| Weakened { path: file.path.clone(), test: String::new(), how })
}

/// Settings of a runner, or a module that is loaded instead of it, may have all tests pass.
fn runner_changed(file: &Changed) -> Option<Weakened> {
    let is_changed = configures_runner(&file.path) && file.before != file.after;
    let (path, test) = (file.path.clone(), String::new());
    is_changed.then_some(Weakened { path, test, how: How::Runner })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weakened(files: &[(&str, Option<&str>, Option<&str>)]) -> Vec<String> {
        changes(files).weakened.iter().map(ToString::to_string).collect()
    }

    fn changes(files: &[(&str, Option<&str>, Option<&str>)]) -> TestChanges {
        let own = |text: &Option<&str>| text.map(str::to_owned);
        let changed = |(path, before, after): &(&str, Option<&str>, Option<&str>)| Changed {
            path: (*path).to_owned(),
            before: own(before),
            after: own(after),
        };
        compare(&files.iter().map(changed).collect::<Vec<_>>())
    }

    const TWO: &str = "def test_a():\n    assert 1\n    assert 2\n\ndef test_b():\n    assert 3\n";
    const A: &str = "def test_a():\n    assert 1\n    assert 2\n";
    const B: &str = "def test_b():\n    assert 3\n";

    #[test]
    fn weakened_tests_are_named() {
        let skipped = TWO.replace("def test_b", "@pytest.mark.skip\ndef test_b");
        let all = format!("pytestmark = pytest.mark.skip\n{TWO}");
        let fewer = TWO.replace("    assert 2\n", "");
        let commented = TWO.replace("def test_b", "# def test_b");
        for (after, told) in [
            (Some(TWO), &[][..]),
            (Some(&*format!("{TWO}\ndef test_c():\n    pass\n")), &[]),
            (Some(A), &["t.py: test_b: deleted"]),
            (Some(&*commented), &["t.py: test_b: deleted"]),
            (Some(&*skipped), &["t.py: test_b: skipped"]),
            (Some(&*all), &["t.py: all 2 tests skipped"]),
            (Some(&*fewer), &["t.py: test_a: fewer assertions (2 → 1)"]),
            (Some(""), &["t.py: test_a: deleted", "t.py: test_b: deleted"]),
            (None, &["t.py: deleted with 2 tests (test_a, test_b)"]),
        ] {
            assert_eq!(weakened(&[("t.py", Some(TWO), after)]), told, "{after:?}");
        }
        assert_eq!(weakened(&[("t.py", None, Some(TWO))]), [""; 0]);
    }

    #[test]
    fn a_test_that_moved_is_not_gone_but_may_be_weaker() {
        let moved = [("t.py", Some(TWO), Some(A)), ("u.py", None, Some(B))];
        assert_eq!(changes(&moved), TestChanges::default());
        let renamed = [("t.py", Some(TWO), None), ("u.py", None, Some(TWO))];
        assert_eq!(weakened(&renamed), [""; 0]);
        let emptied = [("t.py", Some(B), None), ("u.py", None, Some("def test_b():\n    pass\n"))];
        assert_eq!(weakened(&emptied), ["u.py: test_b: fewer assertions (1 → 0)"]);
    }

    #[test]
    fn scripts_are_compared_as_a_whole() {
        let (two, one) = ("test -f a\ntest -f b\n", "test -f a\n");
        let shell = |after| weakened(&[("tests/run.sh", Some(two), after)]);
        assert_eq!(shell(Some(one)), ["tests/run.sh: fewer assertions (2 → 1)"]);
        assert_eq!(shell(None), ["tests/run.sh: deleted"]);
        assert_eq!(weakened(&[("tests/a.c", Some("x"), None)]), ["tests/a.c: deleted"]);
        assert_eq!(weakened(&[("tests/data.json", Some("x"), None)]), [""; 0]);
        assert_eq!(weakened(&[("src/a.c", Some("x"), None)]), [""; 0]);
    }

    #[test]
    fn a_changed_test_command_is_reported() {
        let package = |test: &str| format!("{{\"scripts\": {{\"test\": \"{test}\"}}}}");
        let (jest, none) = (package("jest"), package("true"));
        let told = weakened(&[("package.json", Some(&jest), Some(&none))]);
        assert_eq!(told, ["package.json: the test command changed (jest → true)"]);
        let init = package("echo no test specified && exit 1");
        assert_eq!(weakened(&[("package.json", Some(&init), Some(&jest))]), [""; 0]);
        let make = |recipe: &str| format!("all: x\n\ntest: all\n\t{recipe}\n\nx:\n\ttouch x\n");
        let (sh, none) = (make("sh run.sh"), make("@true"));
        let told = weakened(&[("Makefile", Some(&sh), Some(&none))]);
        assert_eq!(told, ["Makefile: the test command changed (sh run.sh → @true)"]);
        assert_eq!(weakened(&[("Makefile", Some(&sh), Some(&format!("{sh}\ny:\n")))]), [""; 0]);
    }

    #[test]
    fn changed_settings_of_a_runner_are_reported() {
        for path in [".cargo/config.toml", "pytest.ini", "unittest/__init__.py", "web/.mocharc.yml"]
        {
            let told = [format!("{path}: it decides how tests run, and changed")];
            assert_eq!(weakened(&[(path, None, Some("x\n"))]), told);
        }
        assert_eq!(weakened(&[("src/unittest/mod.rs", None, Some("x\n"))]), [""; 0]);
    }

    #[test]
    fn files_with_their_first_tests_are_listed() {
        let added = changes(&[
            ("tests/test_b.py", None, Some(B)),
            ("lib.py", None, Some("def f():\n    assert 1\n")),
            ("old.py", Some(B), Some(TWO)),
            ("had_none.py", Some("def f():\n    pass\n"), Some(A)),
            ("tests/run.sh", None, Some("true\n")),
            ("tests/notes.md", None, Some("test\n")),
        ]);
        assert_eq!(added.added, ["tests/test_b.py", "had_none.py", "tests/run.sh"]);
    }
}
