//! Earlier check results, read from the session's commits: they survive a killed run, and a clone
//! has them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::check_run::{CheckRun, UNCOUNTED, Which};
use super::counted::{self, Counts};
use super::failing;
use super::results::{Evidence, failing_before, list};
use crate::excerpt;
use crate::git::{self, Oid};
use crate::pipeline::evidence::{base_note, gather};
use crate::pipeline::run::Run;
use crate::session::{Entry, Kind, TestResults, key};

/// Maximum bytes of output of a check that an earlier task broke.
const TOLD: usize = 1_500;

/// The result of one command on the tree of one commit.
struct Recorded<'a> {
    entry: &'a Entry,
    /// `exit 1`
    ending: &'a str,
    /// The abbreviated id of the blob with its output.
    log: Option<&'a str>,
    /// The abbreviated id of the tree it ran on.
    tree: &'a str,
    /// Whether it failed in a way it did not before the session.
    is_new: bool,
    /// Whether it passed without a count of its tests.
    uncounted: bool,
}

impl<'a> Recorded<'a> {
    /// Reads the result from the trailers of a commit; `None` if the command was not run on it.
    fn of(entry: &'a Entry, command: &str) -> Option<Self> {
        let named = format!("{command}: ");
        let run = entry.trailers.all(key::EVIDENCE).find_map(|run| run.strip_prefix(&named))?;
        let (run, tree) = run.rsplit_once(", tree ")?;
        let (ending, log) = match run.rsplit_once(", log ") {
            Some((ending, log)) => (ending, Some(log)),
            None => (run, None),
        };
        if ending.starts_with("not run") {
            return None;
        }
        let checks = entry.trailers.get(key::CHECKS).unwrap_or_default();
        let is_new = checks.contains(&format!("failed ({command}, {ending})"));
        let mut parts = checks.split("; ").filter_map(|part| part.strip_prefix(UNCOUNTED));
        let uncounted = parts.any(|of| of.contains(command));
        Some(Self { entry, ending, log, tree, is_new, uncounted })
    }

    fn passed(&self) -> bool {
        self.ending == "exit 0"
    }

    /// The name of the commit's task or stage: `TASK-002 Add a todo`.
    fn whose(&self) -> String {
        let Entry { kind, subject, .. } = self.entry;
        match kind {
            Kind::Task(id) => subject.find(id.as_str()).map_or(id.as_str(), |at| &subject[at..]),
            Kind::Stage(stage) => stage.name(),
            _ => subject,
        }
        .to_owned()
    }
}

/// The runs of a command on the session's commits, newest first.
fn recorded_runs<'a>(run: &'a Run<'_>, command: &str) -> impl Iterator<Item = Recorded<'a>> {
    // In a trailer, single spaces replace all other white space of the command.
    let command = command.split_whitespace().collect::<Vec<_>>().join(" ");
    let entries = run.session.history.iter().rev();
    entries.filter_map(move |entry| Recorded::of(entry, &command))
}

/// The output of a run; empty if its log is missing, as in a clone without `refs/notes/cowork`.
fn output_of_run(run: &Run<'_>, ran: &Recorded<'_>) -> anyhow::Result<String> {
    let Some(log) = ran.log else { return Ok(String::new()) };
    match git::refs::object_id(run.env.git, log)? {
        Some(blob) => output_in_log(run, &blob),
        None => Ok(String::new()),
    }
}

/// The output of a command, read from the blob with its log.
pub(crate) fn output_in_log(run: &Run<'_>, log: &Oid) -> anyhow::Result<String> {
    let bytes = git::files::contents(run.env.git, std::slice::from_ref(log))?.pop().flatten();
    let bytes = bytes.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    // The format that `keep_log` writes: command and tree, output, exit status.
    let said = text.split_once("\n\n").map_or("", |(_, said)| said);
    Ok(said.rsplit_once("\n\n").map_or("", |(said, _)| said).to_owned())
}

/// The results of the project's tests in these runs: `cargo test: 31 passed, 0 failed`.
pub(crate) fn tests(run: &Run<'_>, evidence: &Evidence) -> anyhow::Result<Vec<String>> {
    let mut told = Vec::new();
    for ran in evidence.runs.iter().filter(|ran| ran.which == Which::Test) {
        let counts = match &ran.log {
            Some(log) => counted::counts(&output_in_log(run, log)?),
            None => None,
        };
        let how = match (evidence.outcome(ran).without_result(), counts) {
            (Some(how), _) => how,
            (None, Some(Counts { passed, failed })) => format!("{passed} passed, {failed} failed"),
            (None, None) if ran.passed() => UNCOUNTED.to_owned(),
            (None, None) => ran.ending(),
        };
        told.push(format!("{}: {how}", ran.command));
    }
    Ok(told)
}

/// The newest result of each of the project's commands: `cargo test: 31 passed, 0 failed (tree
/// cb18d6e, exit 0)`.
pub(crate) fn newest_runs(run: &Run<'_>) -> anyhow::Result<Vec<String>> {
    let mut told = Vec::new();
    for (which, command) in gather::commands_to_run(run) {
        let Some(newest) = recorded_runs(run, &command).next() else { continue };
        let counts = match which {
            Which::Test => counted::counts(&output_of_run(run, &newest)?),
            _ => None,
        };
        let Recorded { ending, tree, uncounted, .. } = newest;
        told.push(match counts {
            _ if uncounted && which == Which::Test => {
                format!("{command}: {UNCOUNTED} (tree {tree}, {ending})")
            }
            Some(Counts { passed, failed }) => {
                format!("{command}: {passed} passed, {failed} failed (tree {tree}, {ending})")
            }
            None => format!("{command}: {ending} (tree {tree})"),
        });
    }
    Ok(told)
}

/// The results of a commit's tests if they passed: `cargo test: 12 passed`, or `make test passed,
/// tests not counted`. Empty if there are no tests or some did not pass: then the details are shown
/// elsewhere.
pub(crate) fn passed_in_short(run: &Run<'_>, evidence: &Evidence) -> String {
    let tests = evidence.runs.iter().filter(|ran| ran.which == Which::Test);
    let mut told = Vec::new();
    for ran in tests {
        if !ran.passed() {
            return String::new();
        }
        let output = ran.log.as_ref().and_then(|log| output_in_log(run, log).ok());
        let command = &ran.command;
        told.push(match output.as_deref().and_then(counted::counts) {
            Some(Counts { passed, .. }) => format!("{command}: {passed} passed"),
            None => format!("{command} {UNCOUNTED}"),
        });
    }
    told.join(", ")
}

/// The newest results that the session's commits record of tests that criteria name.
fn newest_tests(run: &Run<'_>) -> Option<TestResults> {
    let of = |entry: &&Entry| entry.trailers.get(key::TESTS).is_some();
    let entry = run.session.history.iter().rev().find(of)?;
    TestResults::read(run.env.git, &entry.trailers).ok()
}

/// The result of one of these tests: `passed, failed on the base`.
pub(crate) fn became(run: &Run<'_>, test: &str) -> Option<String> {
    newest_tests(run)?.became(test)
}

/// These results, if the tests ran on the same code as in this tree. The commit may hold other
/// code: that of a hook.
pub(crate) fn tests_on(run: &Run<'_>, tree: &Oid) -> anyhow::Result<Option<TestResults>> {
    let Some(results) = newest_tests(run) else { return Ok(None) };
    // Anybody may have written the log: a text that is not an id must not become an argument.
    let is_id = |text: &&str| text.bytes().all(|b| b.is_ascii_hexdigit());
    let Some(tested) = results.tree.as_deref().filter(is_id) else { return Ok(None) };
    let Some(tested) = git::refs::object_id(run.env.git, tested)? else { return Ok(None) };
    Ok(gather::same_code(run, &tested, tree)?.then_some(results))
}

/// Failures that earlier tasks of the session caused and that no later run fixed, for the actor of
/// the next task: the command, the task or stage since which it fails, the tests, the end of
/// the output.
pub(crate) fn failing_now(run: &Run<'_>) -> anyhow::Result<String> {
    let mut out = String::new();
    let before = base_note::before_note(run).map(|before| before.runs).unwrap_or_default();
    for (which, command) in gather::commands_to_run(run) {
        let mut runs = recorded_runs(run, &command).take_while(|ran| ran.is_new);
        let Some(newest) = runs.next() else { continue };
        let _ = write!(out, "- `{command}`: {}", newest.ending);
        match runs.last() {
            Some(first) => {
                let (first, newest) = (first.whose(), newest.whose());
                let _ = write!(out, " since {first}; last run after {newest}");
            }
            None => out += &format!(" since {}", newest.whose()),
        }
        let said = output_of_run(run, &newest)?;
        let mut names = failing::names(&said);
        let known = before.iter().find(|ran| (ran.which, &ran.command) == (which, &command));
        names.retain(|name| known.is_none_or(|ran| !ran.failing.contains(name)));
        out += &list(". Failing tests: ", &names.into_iter().collect::<Vec<_>>());
        if !gather::same_code(run, &newest.entry.commit, &run.session.tip)? {
            out += ". The code has changed since";
        }
        // Logs of earlier versions contain terminal escape sequences.
        match excerpt::failures(&excerpt::plain(&said), TOLD).trim() {
            "" => out += "\n",
            said => out += &format!("\n\n```text\n{said}\n```\n"),
        }
    }
    Ok(out.trim_end().to_owned())
}

/// The failures from before the session's first change that may remain; empty if there are none.
/// Left out are commands that the project no longer uses, and failures that have since passed on a
/// commit of the session.
pub(crate) fn failed_before(run: &Run<'_>) -> anyhow::Result<String> {
    let Some(before) = base_note::before_note(run) else { return Ok(String::new()) };
    let commands = gather::commands_to_run(run);
    let mut still = Vec::new();
    for ran in before.runs {
        let known = |(which, command)| (which, command) == (ran.which, ran.command.clone());
        if commands.iter().cloned().any(known) {
            still.extend(still_failing(run, ran)?);
        }
    }
    Ok(failing_before(&still))
}

/// A run before the session's first change, reduced to the failures that have not passed since.
fn still_failing(run: &Run<'_>, mut ran: CheckRun) -> anyhow::Result<Option<CheckRun>> {
    let Some(newest) = recorded_runs(run, &ran.command).next() else { return Ok(Some(ran)) };
    if newest.passed() || ran.outcome_before().without_result().is_some() {
        return Ok(None);
    }
    let names: BTreeSet<String> = failing::names(&output_of_run(run, &newest)?);
    if names.is_empty() || ran.failing.is_empty() {
        return Ok(Some(ran));
    }
    ran.failing.retain(|name| names.contains(name));
    Ok((!ran.failing.is_empty()).then_some(ran))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Trailers;

    fn entry(evidence: &str, checks: &str) -> Entry {
        let mut trailers = Trailers::default();
        trailers.push(key::CHECKS, checks);
        trailers.push(key::EVIDENCE, evidence);
        let commit: Oid = "abcdef7890123456789012345678901234567890".parse().unwrap();
        let tree = commit.clone();
        let kind = Kind::Task("TASK-002".into());
        let subject = "coding: TASK-002 Add a todo".to_owned();
        let (parents, body) = (Vec::new(), String::new());
        let (author, committer) = (String::new(), String::new());
        let (time, committed) = (0, 0);
        Entry {
            commit,
            tree,
            parents,
            author,
            time,
            committer,
            committed,
            subject,
            body,
            kind,
            trailers,
        }
    }

    #[test]
    fn the_result_of_a_command_is_read_from_a_commit() {
        let failed = entry("a, b: exit 2, log 12ab, tree 34cd", "failed (a, b, exit 2)");
        let run = Recorded::of(&failed, "a, b").unwrap();
        assert_eq!((run.ending, run.log, run.is_new), ("exit 2", Some("12ab"), true));
        assert_eq!(run.whose(), "TASK-002 Add a todo");
        assert!(!run.passed() && Recorded::of(&failed, "b").is_none());
        let before = entry("t: exit 1, log 12ab, tree 34cd", "failed (t, exit 1, as before)");
        assert!(!Recorded::of(&before, "t").unwrap().is_new);
        let passed = entry("t: exit 0, tree 34cd", "passed (t)");
        let passed = Recorded::of(&passed, "t").unwrap();
        assert!(passed.passed() && !passed.uncounted);
        let checks = "passed (b); passed, tests not counted (t)";
        assert!(Recorded::of(&entry("t: exit 0, tree 34cd", checks), "t").unwrap().uncounted);
        let not_run = entry("t: not run (not installed), tree 34cd", "not run (not installed)");
        assert!(Recorded::of(&not_run, "t").is_none());
    }
}
