//! Finds the test in its file from the name that a criterion gives.

use crate::pipeline::test_changes::{Test, tests_in};

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
