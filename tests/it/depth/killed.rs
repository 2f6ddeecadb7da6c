//! Sessions of the lesser depths, killed and resumed: the same history as one that nobody killed.

use crate::support::Sandbox;
use crate::support::kill::{abort_at, kill_at_request, points};

const RESUME: [&str; 3] = ["resume", "--review", "auto"];

/// A session of this depth with its first stage completed.
fn begun(depth: &str) -> Sandbox {
    let sandbox = if depth == "quick" { super::with_code() } else { Sandbox::new() };
    let first = if depth == "quick" { "plan" } else { "idea" };
    let more = ["--depth", depth, "--review", "auto", "--stop-after", first];
    super::new(&sandbox, &more).exits(0);
    sandbox
}

/// What must be the same however often the run was killed.
fn outcome_of(sandbox: &Sandbox) -> (Vec<String>, String, Vec<String>) {
    (sandbox.subjects("main..cowork/todo"), sandbox.tree("cowork/todo"), sandbox.tags())
}

#[track_caller]
fn recovers(sandbox: &Sandbox, undisturbed: &Sandbox, when: &str) {
    sandbox.server.forget();
    sandbox.cowork(&RESUME).exits(0);
    assert_eq!(outcome_of(sandbox), outcome_of(undisturbed), "after a kill at {when}");
    sandbox.assert_sound();
}

/// Kills the rest of a session at each of its requests.
#[track_caller]
fn at_each_request(depth: &str) {
    let base = begun(depth);
    let undisturbed = base.fork();
    undisturbed.cowork(&RESUME).exits(0);
    let requests = undisturbed.server.requests().len();
    assert!(requests > 3);
    for n in 1..=requests {
        let sandbox = base.fork();
        kill_at_request(&sandbox, &RESUME, n).was_killed();
        let cut = sandbox.server.requests().remove(n - 1);
        recovers(&sandbox, &undisturbed, &format!("request {n}"));
        // What was asked is asked again, behind the same conversation.
        let again = sandbox.server.requests().remove(0);
        assert_eq!(again.position(), cut.position(), "{depth}: request {n}");
        assert_eq!(again.messages(), cut.messages(), "{depth}: request {n}, {}", cut.position());
    }
}

#[test]
fn a_quick_session_is_killed_at_each_request() {
    at_each_request("quick");
}

#[test]
fn a_standard_session_is_killed_at_each_request() {
    at_each_request("standard");
}

/// Kills the rest of a session at each point where it may be cut, or at every `step`-th.
#[track_caller]
fn at_points(depth: &str, step: usize) {
    let base = begun(depth);
    let mut undisturbed = base.fork();
    let (outcome, all) = points(&mut undisturbed, &RESUME);
    outcome.exits(0);
    for point in all.into_iter().step_by(step) {
        let mut sandbox = base.fork();
        abort_at(&mut sandbox, &RESUME, &point).was_killed();
        recovers(&sandbox, &undisturbed, &point);
    }
}

#[test]
fn a_quick_session_is_killed_at_each_point() {
    at_points("quick", 1);
}

#[test]
fn a_standard_session_is_killed_at_points_all_over() {
    // Each of them takes minutes; those it shares with a quick one are seen there.
    at_points("standard", 5);
}
