//! Killing `git-cowork` at a chosen moment.
//!
//! The program takes part: with `COWORK_TEST_POINTS=FILE` it appends the name of each point it
//! passes to the file, a line each; with `COWORK_TEST_ABORT_AT=NAME:N` it aborts, without
//! unwinding, when it passes that point for the `N`th time (from 1).

use std::collections::BTreeMap;
use std::fs;

use super::sandbox::{Outcome, Sandbox};
use super::server::Received;

/// Runs `git-cowork` and kills it when its `n`th chat request of this run arrives.
pub fn kill_at_request(sandbox: &Sandbox, args: &[&str], n: usize) -> Outcome {
    signal_at_request(sandbox, args, n, rustix::process::Signal::KILL)
}

/// Runs `git-cowork` and sends it a signal when its `n`th chat request of this run arrives.
pub fn signal_at_request(
    sandbox: &Sandbox,
    args: &[&str],
    n: usize,
    signal: rustix::process::Signal,
) -> Outcome {
    sandbox.server.forget();
    sandbox.server.signal_at(n, signal);
    let outcome = sandbox.cowork_watched(args, |pid| sandbox.server.set_victim(pid));
    sandbox.server.spare_everyone();
    outcome
}

/// The points a run passes, as values for `COWORK_TEST_ABORT_AT`, in order.
pub fn points(sandbox: &mut Sandbox, args: &[&str]) -> (Outcome, Vec<String>) {
    let file = sandbox.root().join("points");
    fs::write(&file, "").unwrap();
    sandbox.set_env("COWORK_TEST_POINTS", &file.display().to_string());
    let outcome = sandbox.cowork(args);
    sandbox.set_env("COWORK_TEST_POINTS", "");
    let mut passed = BTreeMap::<String, u32>::new();
    let number = |name: &str| {
        let count = passed.entry(name.to_owned()).or_default();
        *count += 1;
        format!("{name}:{count}")
    };
    let names = fs::read_to_string(file).unwrap_or_default();
    (outcome, names.lines().map(number).collect())
}

/// Runs `git-cowork` and lets it kill itself at this point.
pub fn abort_at(sandbox: &mut Sandbox, args: &[&str], point: &str) -> Outcome {
    sandbox.set_env("COWORK_TEST_ABORT_AT", point);
    let outcome = sandbox.cowork(args);
    sandbox.set_env("COWORK_TEST_ABORT_AT", "");
    outcome
}

/// Kills a run in the middle of the PRD's conversation and resumes it with this model; returns the
/// first request after that, which asks for the same turn.
pub fn resumed_with(mut sandbox: Sandbox, model: &str) -> (Sandbox, Received) {
    let new = ["new", "-n", "todo", "a todo list", "--review", "auto", "--stop-after", "prd"];
    kill_at_request(&sandbox, &new, 4).was_killed();
    let cut = sandbox.server.requests().last().unwrap().clone();
    assert_eq!(cut.position(), "prd actor iteration 1 turn 2");
    sandbox.set_env("COWORK_LLM_MODEL", model);
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    let next = sandbox.server.requests()[0].clone();
    assert_eq!(next.position(), cut.position());
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea", "prd"]);
    (sandbox, next)
}
