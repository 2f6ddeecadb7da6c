//! Evidence: the project's own build, tests and lint, run by the program at a known tree, not told
//! by a model. And what of it is new: what failed before the session touched anything is nobody's
//! fault here.

mod failing;
mod gather;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::artifact::FeedbackType;
use crate::artifact::check::{Finding, Report};
use crate::git::Oid;
use crate::workspace::CommandResult;

/// Longest piece of output kept of what failed, in bytes from its end.
const TAIL: usize = 3_000;
/// Bytes of it that are shown of what passed.
const PASSED_TAIL: usize = 400;
/// Names of failing tests that are told.
const NAMED: usize = 20;

/// Which of the project's commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// Builds.
    Build,
    /// Runs the tests.
    Test,
    /// Lints.
    Lint,
}

/// One command that was run, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Which of the project's commands it is.
    pub which: Which,
    /// The command.
    pub command: String,
    /// Its exit code; none when it was killed or could not run.
    pub exit: Option<i32>,
    /// It did not end in time.
    pub timed_out: bool,
    /// Id of the blob that holds the command, its output and its end: its digest.
    pub log: Oid,
    /// The end of its output.
    pub tail: String,
    /// What it printed without the times in it; empty when it printed nothing, or too much to be
    /// kept.
    words: String,
    /// Names of the tests that failed, as far as its output tells them.
    failing: BTreeSet<String>,
    /// Something of the output is missing, so there may be more names.
    cut: bool,
}

/// How a run compares with one before the session's first change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It passed.
    Passed,
    /// It failed in a way it did not before: with the names of the tests that are new among those
    /// that fail, where its output tells them.
    Failed(Vec<String>),
    /// It failed as it did before, with the names of the tests.
    AsBefore(Vec<String>),
}

impl Run {
    fn of(which: Which, command: &str, result: &CommandResult, log: Oid) -> Self {
        let output = output_of(result);
        Self {
            which,
            command: command.to_owned(),
            exit: result.exit,
            timed_out: result.timed_out,
            log,
            tail: tail(&output, TAIL).to_owned(),
            words: if result.cut { String::new() } else { failing::without_times(&output) },
            failing: failing::names(&output),
            cut: result.cut,
        }
    }

    /// True when it ended well.
    pub fn passed(&self) -> bool {
        self.exit == Some(0) && !self.timed_out
    }

    /// What is new about it. Where names cannot tell, only the very same words as before excuse a
    /// failure: a build that breaks must never pass for tests that failed before.
    fn outcome(&self, before: Option<&Self>) -> Outcome {
        if self.passed() {
            return Outcome::Passed;
        }
        let all = || self.failing.iter().cloned().collect();
        let Some(before) = before.filter(|before| !before.passed()) else {
            return Outcome::Failed(all());
        };
        let new: Vec<String> = self.failing.difference(&before.failing).cloned().collect();
        let named = !self.failing.is_empty() && !self.cut && !before.cut;
        let ended = self.exit.is_some() && before.exit.is_some();
        let same_words = !self.words.is_empty() && self.words == before.words;
        let as_before = self.which == Which::Lint
            || (self.timed_out && before.timed_out)
            || (named && ended && new.is_empty())
            || (same_words && self.exit == before.exit);
        if as_before { Outcome::AsBefore(all()) } else { Outcome::Failed(new) }
    }

    /// `exit 1`, `timed out`, `killed`
    fn ending(&self) -> String {
        match self.exit {
            _ if self.timed_out => "timed out".to_owned(),
            Some(code) => format!("exit {code}"),
            None => "killed".to_owned(),
        }
    }

    /// `passed (cargo test)`, `failed (npm test, exit 1)`
    fn verdict(&self) -> String {
        if self.passed() {
            format!("passed ({})", self.command)
        } else {
            format!("failed ({}, {})", self.command, self.ending())
        }
    }
}

/// What was run on one tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The tree.
    pub tree: Oid,
    /// What was run, in this order.
    pub runs: Vec<Run>,
    /// What the project's commands said before the session's first change.
    pub before: Vec<Run>,
}

impl Evidence {
    fn outcome(&self, run: &Run) -> Outcome {
        let same = |before: &&Run| (before.which, &before.command) == (run.which, &run.command);
        run.outcome(self.before.iter().find(same))
    }

    /// Whether all of the project's commands of this kind were run and passed.
    pub fn passed(&self, which: Which) -> bool {
        let mut runs = self.runs.iter().filter(|run| run.which == which).peekable();
        runs.peek().is_some() && runs.all(|run| self.outcome(run) == Outcome::Passed)
    }

    /// In a few words: how the tests ended, or what came before them.
    pub fn summary(&self) -> String {
        let tests = self.runs.iter().find(|run| run.which == Which::Test);
        let Some(run) = tests.or(self.runs.first()) else { return "no tests to run".to_owned() };
        let how = match self.outcome(run) {
            Outcome::Passed => "passed",
            Outcome::Failed(_) => "failed",
            Outcome::AsBefore(_) => "failed as before",
        };
        format!("{} {how}", run.command)
    }

    /// The value of `Cowork-Checks`: `passed (cargo build, cargo test)`, `failed (npm test, exit 1)`;
    /// where both happened, what failed comes first.
    pub fn trailer(&self) -> String {
        let passed = self.runs.iter().filter(|run| run.passed());
        let passed: Vec<&str> = passed.map(|run| run.command.as_str()).collect();
        let mut parts = Vec::new();
        for run in self.runs.iter().filter(|run| !run.passed()) {
            parts.push(match self.outcome(run) {
                Outcome::AsBefore(_) => {
                    format!("failed ({}, {}, as before)", run.command, run.ending())
                }
                _ => run.verdict(),
            });
        }
        if !passed.is_empty() {
            parts.push(format!("passed ({})", passed.join(", ")));
        }
        if parts.is_empty() { "none".to_owned() } else { parts.join("; ") }
    }

    /// The values of `Cowork-Evidence`, one a command: how it ended, the blob that holds its log,
    /// the tree it ran on.
    pub fn digests(&self) -> Vec<String> {
        let digest = |run: &Run| {
            let (log, tree) = (run.log.abbreviated(), self.tree.abbreviated());
            format!("{}: {}, log {log}, tree {tree}", run.command, run.ending())
        };
        self.runs.iter().map(digest).collect()
    }

    /// A line for each command, for documents and messages.
    pub fn lines(&self) -> Vec<String> {
        let line = |run: &Run| {
            let (log, tree) = (run.log.abbreviated(), self.tree.abbreviated());
            let mut line = format!("`{}` on tree `{tree}`: {}", run.command, run.ending());
            match self.outcome(run) {
                Outcome::Passed => {}
                Outcome::Failed(new) => line += &list("; newly failing: ", &new),
                Outcome::AsBefore(all) => {
                    line += "; it failed like this before the session";
                    line += &list(": ", &all);
                }
            }
            line + &format!(" (log `{log}`)")
        };
        self.runs.iter().map(line).collect()
    }

    /// For prompts: what was run, how it ended and the end of its output.
    pub fn describe(&self) -> String {
        let mut out = String::new();
        for run in &self.runs {
            let most = if run.passed() { PASSED_TAIL } else { TAIL };
            let said = match tail(&run.tail, most).trim() {
                "" => "(it printed nothing)",
                said => said,
            };
            let new = match self.outcome(run) {
                Outcome::Passed => String::new(),
                Outcome::Failed(new) => list(". Newly failing: ", &new),
                Outcome::AsBefore(all) => {
                    format!(
                        ", as before the session changed anything{}. That is no fault of this code",
                        list(": ", &all)
                    )
                }
            };
            let verdict = run.verdict();
            let _ = write!(
                out,
                "The program ran `{}` itself: {verdict}{new}.\n\n{said}\n\n",
                run.command
            );
        }
        out.trim_end().to_owned()
    }

    /// What passed, what has to be mended, and what failed before already.
    pub fn report(&self) -> Report {
        let mut report = Report::default();
        for run in &self.runs {
            match self.outcome(run) {
                Outcome::Passed => report.passed.push(format!("{} passes", run.command)),
                Outcome::AsBefore(all) => report.warnings.push(format!(
                    "{} fails ({}) as it did before the session{}",
                    run.command,
                    run.ending(),
                    list(": ", &all)
                )),
                Outcome::Failed(new) => report.findings.push(finding(run, &new)),
            }
        }
        report
    }
}

fn finding(run: &Run, new: &[String]) -> Finding {
    let said = match run.tail.trim() {
        "" => "it printed nothing; run it to see why".to_owned(),
        tail => format!("its output ends:\n{tail}"),
    };
    let details = format!("{}{}; {said}", run.verdict(), list("; newly failing: ", new));
    let code = match run.which {
        Which::Build => "build-fails",
        Which::Test => "tests-fail",
        // What a linter says is no error of the build, but it was silent before.
        Which::Lint => return Finding::wrong("lint-fails", details),
    };
    let mut finding = Finding::wrong(code, details).critical();
    finding.feedback_type = FeedbackType::BuildError;
    finding
}

/// What fails before anything is changed, for whoever is to change it; empty when nothing does.
pub fn failing_before(before: &[Run]) -> String {
    let mut out = String::new();
    for run in before.iter().filter(|run| !run.passed()) {
        let names: Vec<String> = run.failing.iter().cloned().collect();
        let _ = writeln!(out, "- `{}`: {}{}", run.command, run.ending(), list(": ", &names));
    }
    out.trim_end().to_owned()
}

/// `none` where nothing was run.
pub fn trailer(evidence: Option<&Evidence>) -> String {
    evidence.map_or_else(|| "none".to_owned(), Evidence::trailer)
}

/// The names after their introduction; nothing where there is none.
fn list(introduction: &str, names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{introduction}{}{more}", shown.join(", "))
}

/// What a command printed and complained, one after the other.
fn output_of(result: &CommandResult) -> String {
    // Where it worked all the same, nobody needs to know.
    let missing = if result.succeeded() { String::new() } else { result.missing.join("\n") };
    let both = format!("{}\n{}\n{missing}", result.stdout.trim_end(), result.stderr.trim_end());
    both.trim().to_owned()
}

/// At most so many bytes from the end of a text.
fn tail(text: &str, most: usize) -> &str {
    let mut from = text.len().saturating_sub(most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(which: Which, exit: i32, output: &str) -> Run {
        let result = CommandResult {
            exit: Some(exit),
            stdout: output.to_owned(),
            ..CommandResult::default()
        };
        let log = "1234567890123456789012345678901234567890".parse().unwrap();
        Run::of(which, "make test", &result, log)
    }

    fn evidence(now: Run, before: Option<Run>) -> Evidence {
        let tree = "abcdef7890123456789012345678901234567890".parse().unwrap();
        Evidence { tree, runs: vec![now], before: before.into_iter().collect() }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn only_what_is_new_is_the_actors_fault() {
        let cargo = |names: &[&str]| {
            let lines: Vec<String> = names.iter().map(|n| format!("test {n} ... FAILED")).collect();
            lines.join("\n")
        };
        let failed = |names: &[&str]| run(Which::Test, 101, &cargo(names));
        let words = |words: &str| run(Which::Test, 2, words);
        for (now, before, outcome) in [
            (run(Which::Test, 0, ""), Some(failed(&["a"])), Outcome::Passed),
            (failed(&["a"]), None, Outcome::Failed(names(&["a"]))),
            (failed(&["a"]), Some(run(Which::Test, 0, "")), Outcome::Failed(names(&["a"]))),
            (failed(&["a"]), Some(failed(&["a", "b"])), Outcome::AsBefore(names(&["a"]))),
            (failed(&["a", "c"]), Some(failed(&["a", "b"])), Outcome::Failed(names(&["c"]))),
            // The build breaks where tests failed before.
            (
                run(Which::Test, 101, "error: cannot find x"),
                Some(failed(&["a"])),
                Outcome::Failed(vec![]),
            ),
            // A number is not a name.
            (
                words("1 failed in 2.1s"),
                Some(words("1 failed in 3.77s")),
                Outcome::AsBefore(vec![]),
            ),
            (words("2 failed in 2.1s"), Some(words("1 failed in 2.1s")), Outcome::Failed(vec![])),
            (words("no"), Some(run(Which::Test, 3, "no")), Outcome::Failed(vec![])),
            // Silence says nothing.
            (words(""), Some(words("")), Outcome::Failed(vec![])),
            (
                run(Which::Lint, 1, "a new line"),
                Some(run(Which::Lint, 1, "an old line")),
                Outcome::AsBefore(vec![]),
            ),
            (run(Which::Lint, 1, "a line"), Some(run(Which::Lint, 0, "")), Outcome::Failed(vec![])),
            (
                run(Which::Build, 1, "new error"),
                Some(run(Which::Build, 1, "old error")),
                Outcome::Failed(vec![]),
            ),
        ] {
            let evidence = evidence(now, before);
            assert_eq!(evidence.outcome(&evidence.runs[0]), outcome, "{evidence:?}");
        }
    }

    #[test]
    fn output_that_was_cut_excuses_nothing() {
        let mut now = run(Which::Test, 1, "test a ... FAILED");
        let before = now.clone();
        assert_eq!(now.outcome(Some(&before)), Outcome::AsBefore(names(&["a"])));
        now.cut = true;
        now.words.clear();
        assert_eq!(now.outcome(Some(&before)), Outcome::Failed(vec![]));
    }

    #[test]
    fn failing_tests_say_something_even_when_they_print_nothing() {
        let said = |output: &str| {
            let mut report = evidence(run(Which::Test, 2, output), None).report();
            report.findings.remove(0).details
        };
        assert_eq!(said("a\nb"), "failed (make test, exit 2); its output ends:\na\nb");
        assert!(said(" \n").ends_with("exit 2); it printed nothing; run it to see why"));
        assert_eq!(
            said("test a ... FAILED"),
            "failed (make test, exit 2); newly failing: a; its output ends:\ntest a ... FAILED"
        );
    }

    #[test]
    fn each_form_says_how_it_ended() {
        let mut both = evidence(run(Which::Test, 0, "fine"), None);
        assert_eq!(both.trailer(), "passed (make test)");
        assert_eq!(both.digests(), ["make test: exit 0, log 123456789012, tree abcdef789012"]);
        assert_eq!(
            both.lines(),
            ["`make test` on tree `abcdef789012`: exit 0 (log `123456789012`)"]
        );
        assert_eq!(both.report().passed, ["make test passes"]);
        assert_eq!(both.summary(), "make test passed");
        assert!(both.passed(Which::Test) && !both.passed(Which::Build));
        let failed = run(Which::Test, 1, "no");
        assert_eq!(evidence(failed.clone(), None).summary(), "make test failed");
        assert!(!evidence(failed.clone(), Some(failed.clone())).passed(Which::Test));
        let mut one_of_two = both.clone();
        one_of_two.runs.push(failed.clone());
        assert!(!one_of_two.passed(Which::Test));
        assert_eq!(evidence(failed.clone(), Some(failed)).summary(), "make test failed as before");
        let lint = Run { command: "lint".into(), ..run(Which::Lint, 1, "x") };
        both.runs.push(lint.clone());
        assert_eq!(both.trailer(), "failed (lint, exit 1); passed (make test)");
        assert_eq!(both.report().findings[0].code, "lint-fails");
        both.before.push(lint);
        assert_eq!(both.trailer(), "failed (lint, exit 1, as before); passed (make test)");
        assert_eq!(both.report().warnings, ["lint fails (exit 1) as it did before the session"]);
        assert!(both.report().is_ok());
        both.runs.clear();
        assert_eq!(both.trailer(), "none");
    }
}
