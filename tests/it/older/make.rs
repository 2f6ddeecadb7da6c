//! Makes the bundle of [`super::fixtures`] by the release that it is about:
//!
//! ```text
//! git worktree add --detach ../old-release 8fd0c19
//! (cd ../old-release && cargo build --locked)
//! OLDER_RELEASE=$PWD/../old-release/target/debug/git-cowork \
//!     cargo test --locked --test it older::make::
//! ```

use std::path::Path;

use rustix::process::Signal;

use super::{answers, fixtures};
use crate::support::kill::signal_at_request;
use crate::support::{Sandbox, at, todo};

const AUTO: [&str; 3] = ["resume", "--review", "auto"];
const WAIT: [&str; 3] = ["resume", "--review", "wait"];

/// Where states are collected.
struct Collected {
    repository: Sandbox,
}

impl Collected {
    /// Keeps a copy of the state a sandbox is in.
    fn keep(&self, sandbox: &Sandbox, name: &str) {
        fixtures::keep(&sandbox.fork(), &self.repository.repo(), name);
    }
}

/// A copy that gives the same answers.
fn copy(sandbox: &Sandbox) -> Sandbox {
    let copy = sandbox.fork();
    answers::give_lists(&copy);
    copy
}

#[test]
fn make_the_bundle() {
    // Made once; see above.
    let Some(release) = std::env::var_os("OLDER_RELEASE") else { return };
    let release = Path::new(&release);
    let collected = Collected { repository: Sandbox::unborn(&["--bare"]) };
    let begin = || {
        let mut sandbox = Sandbox::new();
        sandbox.use_release(release);
        answers::give_lists(&sandbox);
        sandbox
    };
    stages(begin(), &collected);
    gates(begin(), &collected);
    let headings = begin();
    answers::give(&headings, answers::PRD_OF_HEADINGS);
    headings.auto(&["--stop-after", "design"]).exits(0);
    collected.keep(&headings, "headings");
    fixtures::write(&collected.repository.repo());
}

/// One session stopped after each stage, and interrupted in each.
fn stages(sandbox: Sandbox, collected: &Collected) {
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    collected.keep(&sandbox, "after-idea");
    for stage in &todo::STAGES[1..] {
        if ["prd", "design", "plan"].contains(stage) {
            let begun = copy(&sandbox);
            answers::give_beginnings(&begun);
            signal_at_request(&begun, &AUTO, 2, Signal::TERM).exits(130);
            collected.keep(&begun, &format!("begun-{stage}"));
        }
        if ["plan", "coding"].contains(stage) {
            let killed = copy(&sandbox);
            let request = if *stage == "coding" { 3 } else { 2 };
            signal_at_request(&killed, &AUTO, request, Signal::KILL).was_killed();
            collected.keep(&killed, &format!("killed-{stage}"));
        }
        sandbox.cowork(&[&AUTO[..], &["--stop-after", stage]].concat()).exits(0);
        collected.keep(&sandbox, &format!("after-{stage}"));
    }
    reviewed(copy(&sandbox), collected);
    answers::give_addition(&sandbox);
    let modify = ["modify", "add due dates", "-n", "due"];
    let open = copy(&sandbox);
    answers::give_addition(&open);
    open.cowork(&[&modify[..], &["--review", "auto", "--stop-after", "triage"]].concat()).exits(0);
    collected.keep(&open, "change-open");
    open.cowork(&[&AUTO[..], &["--stop-after", "prd"]].concat()).exits(0);
    collected.keep(&open, "change-prd");
    sandbox.cowork(&[&modify[..], &["--review", "auto"]].concat()).exits(0);
    collected.keep(&sandbox, "change-done");
}

/// A delivered session with the feedback of reviewers.
fn reviewed(sandbox: Sandbox, collected: &Collected) {
    let edit = serde_json::json!({"path": "lib/list.sh", "old_text": "List todos", "new_text": "List all todos"});
    let draft = crate::support::Reply::call("edit_file", edit);
    sandbox.server.on(at("coding", "actor").task("TASK-006").turn(1), draft);
    sandbox.cowork(&["feedback", "lib/list.sh lists some", "--review", "auto"]).exits(0);
    collected.keep(&sandbox, "feedback");
}

/// One session that waits at every gate, passed by a person each time.
fn gates(sandbox: Sandbox, collected: &Collected) {
    let mut outcome = sandbox.wait(&[]);
    while outcome.code == 3 {
        let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
        collected.keep(&sandbox, &format!("gate-{}", status["stage"].as_str().unwrap()));
        sandbox.cowork(&["review", "--pass"]).exits(0);
        outcome = sandbox.cowork(&WAIT);
    }
    outcome.exits(0);
    collected.keep(&sandbox, "passed");
}
