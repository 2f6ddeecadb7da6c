//! Every system call that writes a file, of the program and of its git children, fails once, or finds
//! no room from then on, or is the last thing that happens: no byte is lost, git finds nothing wrong,
//! the exit code is one that docs/commands.md documents, and the next command takes the session to the end it
//! would have had.
//!
//! A short session has some 500 such calls, and more where a hook makes git write the commits.
//! `COWORK_INJECT_EVERY` says which are tried: 1 for all (default 120, 60 in `.ci/run`);
//! `COWORK_INJECT_FIRST` with which to begin. By hand:
//! `COWORK_INJECT_EVERY=1 cargo test --locked --test it injected:: -- --nocapture`

use super::begun;
use super::random::{at_work, story, trailers, users};
use crate::support::Sandbox;
use crate::support::inject::{Fault, Told, run};
use crate::support::trials::{failing, in_formats, number};

const NEW: [&str; 8] = [
    "new",
    "-n",
    "todo",
    "a todo list for the terminal",
    "--review",
    "auto",
    "--stop-after",
    "idea",
];
const RESUME: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "idea"];

/// Exit codes that docs/commands.md documents for a run that did not get what it needed.
const DOCUMENTED: [i32; 4] = [0, 1, 4, 5];

/// One run with its fault, and one that goes on from there.
fn trial(base: &Sandbox, undisturbed: &Sandbox, fault: Fault) {
    let sandbox = base.fork();
    let mine = users(&sandbox);
    let (outcome, told) = run(&sandbox, &NEW, fault);
    let Told { struck: Some(struck), .. } = told else { return };
    let when = format!("{fault:?}, {struck}: exit {}\n{}", outcome.code, outcome.stderr);
    let killed = matches!(fault, Fault::Last(_)) && outcome.code == 128 + 9;
    assert!(killed || DOCUMENTED.contains(&outcome.code), "{when}");
    assert!(!outcome.stderr.contains("panicked"), "{when}");
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(users(&sandbox)[..4], mine[..4], "the user's files, {when}");
    let go_on = || sandbox.cowork(if begun(&sandbox) { &RESUME[..] } else { &NEW[..] });
    let mut end = go_on();
    if let Some(lock) = end.stderr.lines().find_map(|line| line.strip_prefix("hint: rm ")) {
        // A lock that git could not take away is somebody's, for all we know: a person does as told.
        std::fs::remove_file(lock).unwrap();
        end = go_on();
    }
    assert_eq!(end.code, 0, "{when}\nthen: {}", end.stderr);
    let of = |sandbox: &Sandbox| (story(sandbox), trailers(sandbox));
    let (mut expected, mut found) = (of(undisturbed), of(&sandbox));
    if outcome.code == 0 && outcome.stderr.contains("draft 2 of 3") {
        // The model was told of the failure and wrote another draft, which is in the history.
        found.0.1.remove(".cowork/sessions/todo/feedback_history.json");
        for (_, trailers) in [&mut expected, &mut found] {
            trailers.retain(|trailer| !trailer.starts_with("Cowork-Iterations"));
        }
    }
    assert_eq!(found, expected, "{when}");
    assert_eq!(users(&sandbox), mine, "the user's files, {when}");
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "cowork/todo", "{when}");
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn whatever_call_fails_or_is_the_last_nothing_is_lost() {
    in_formats("calls that fail", &calls(), |calls| try_all(&at_work(), calls));
}

#[test]
fn nor_where_git_makes_the_commits_and_runs_a_hook() {
    in_formats("calls that fail with a hook", &calls(), |calls| {
        let base = at_work();
        base.hook("post-commit", "exit 0");
        try_all(&base, calls)
    });
}

/// The calls that fail: as many of these as there are.
fn calls() -> Vec<u64> {
    let every = number("COWORK_INJECT_EVERY", 120);
    let first = number("COWORK_INJECT_FIRST", every.div_ceil(3));
    (first..20_000).step_by(usize::try_from(every).unwrap()).collect()
}

fn try_all(base: &Sandbox, calls: &[u64]) -> usize {
    let undisturbed = base.fork();
    let (outcome, told) = run(&undisturbed, &NEW, Fault::Nothing);
    outcome.exits(0);
    assert_eq!(undisturbed.stages("main..").last().unwrap(), "idea");
    assert!(told.calls > 300, "{} calls that write", told.calls);
    let kinds = [Fault::Once, Fault::NoRoom, Fault::Last];
    let calls = calls.iter().filter(|at| **at <= told.calls);
    let faults: Vec<Fault> = calls.flat_map(|at| kinds.map(|kind| kind(*at))).collect();
    let failed = failing(&faults, |fault| trial(base, &undisturbed, *fault));
    assert!(failed.is_empty(), "{} of {} failed: {failed:?}", failed.len(), faults.len());
    faults.len()
}
