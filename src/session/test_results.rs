//! The results of the tests that criteria name. The commit counts them and names a log: the result of
//! each, the tree they ran on, and the output of the runs. Logs of older versions have no tree, and
//! commits of the oldest have one trailer per test.

use std::fmt::Write as _;

use super::{Trailers, key};
use crate::git::{Git, Object, refs};

/// Results of tests that criteria name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestResults {
    /// `tests/add.rs::appends: passed, failed on the base`, one per test.
    pub lines: Vec<String>,
    /// The tree of these results, if the log names it.
    pub tree: Option<String>,
    /// The rest of the log: runs of named tests, each with its output.
    pub runs: String,
    /// What the commit counts, where the log is not in this clone.
    counted: Option<String>,
}

impl TestResults {
    /// The results that a commit with these trailers records.
    ///
    /// # Errors
    /// Git fails.
    pub fn read(git: &Git, trailers: &Trailers) -> anyhow::Result<Self> {
        let mut results = Self::default();
        for value in trailers.all(key::TESTS) {
            let Some((counted, log)) = counted(value) else {
                results.lines.push(value.to_owned());
                continue;
            };
            let blob = match refs::object_id(git, log)? {
                Some(id) => git.reader().blob(Object::Id(&id))?,
                None => None,
            };
            match blob {
                Some(bytes) => {
                    let text = String::from_utf8_lossy(&bytes);
                    let (lines, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
                    results.lines.extend(lines.lines().map(str::to_owned));
                    let tree = rest.strip_prefix("tree ").map(|rest| rest.split_once('\n'));
                    if let Some((tree, runs)) = tree.flatten() {
                        (results.tree, results.runs) = (Some(tree.to_owned()), runs.to_owned());
                    }
                }
                None => results.counted = Some(counted.to_owned()),
            }
        }
        Ok(results)
    }

    /// The result of one test; `None` if nothing is known about it.
    pub fn became(&self, test: &str) -> Option<String> {
        let test = test.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut lines = self.lines.iter();
        let line = lines.find_map(|line| line.strip_prefix(&test)?.strip_prefix(": "));
        line.map(str::to_owned).or_else(|| {
            let counted = self.counted.as_deref()?;
            let all_passed = counted.ends_with(" passed") && !counted.contains(',');
            Some(if all_passed { "passed".to_owned() } else { format!("one of {counted}") })
        })
    }
}

/// What a commit says about these results: `3 passed, 1 failed`.
pub fn count_results(lines: &[String]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for line in lines {
        let words = line.rsplit_once("::").map_or(line.as_str(), |(_, words)| words);
        let words = words.split_once(": ").map_or(words, |(_, words)| words);
        let word = words.split([',', '(']).next().unwrap_or_default().trim();
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let mut out = String::new();
    for (word, count) in counts {
        let comma = if out.is_empty() { "" } else { ", " };
        let _ = write!(out, "{comma}{count} {word}");
    }
    out
}

/// The parts of `3 passed, log 7398d44582c4`. Anybody may have written the commit, and a text that
/// is not an id must not become an argument.
fn counted(value: &str) -> Option<(&str, &str)> {
    let (counted, log) = value.rsplit_once(", log ")?;
    let hex = log.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let counts = counted.starts_with(|c: char| c.is_ascii_digit()) && !counted.contains("::");
    (hex && counts && (12..=64).contains(&log.len())).then_some((counted, log))
}

/// The log that a value of `Cowork-Tests` names, abbreviated.
pub(crate) fn log_of_tests(value: &str) -> Option<&str> {
    counted(value).map(|(_, log)| log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted_by_how_they_ended() {
        let lines = [
            "t/a.rs::adds: passed, failed on the base",
            "t/a.rs::lists: passed",
            "t/a.rs::m::more: not run (no, runner)",
        ]
        .map(str::to_owned);
        assert_eq!(count_results(&lines), "2 passed, 1 not run");
        assert_eq!(log_of_tests("2 passed, 1 not run, log 7398d44582c4"), Some("7398d44582c4"));
        for other in ["t/a.rs::x: passed, log 7398d44582c4", "2 passed", "2 passed, log --output=x"]
        {
            assert_eq!(log_of_tests(other), None, "{other}");
        }
    }

    #[test]
    fn without_its_log_a_commit_tells_what_it_counted() {
        let of =
            |counted: &str| TestResults { counted: Some(counted.into()), ..TestResults::default() };
        assert_eq!(of("2 passed").became("t.rs::a").as_deref(), Some("passed"));
        let some = of("2 passed, 1 failed").became("t.rs::a");
        assert_eq!(some.as_deref(), Some("one of 2 passed, 1 failed"));
        assert_eq!(TestResults::default().became("t.rs::a"), None);
    }
}
