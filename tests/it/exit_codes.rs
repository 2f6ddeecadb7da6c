//! The table of exit codes, end to end: every cause, its code, and that a
//! failure says on standard error what to do.

use serde_json::json;

use crate::support::kill::signal_at_request;
use crate::support::todo::reject;
use crate::support::{Reply, Sandbox, anywhere, at};

/// A cause: what is prepared on top of a session whose idea is done, what is run, the code.
type Row = (&'static str, fn(&mut Sandbox), &'static [&'static str], i32);

const AUTO: &[&str] = &["resume", "--review", "auto", "--stop-after", "prd"];
const WAIT: &[&str] = &["resume", "--review", "wait", "--stop-after", "prd"];

fn nothing(_: &mut Sandbox) {}

fn waiting(sandbox: &mut Sandbox) {
    sandbox.cowork(WAIT).exits(3);
}

/// Another process holds the session.
fn locked(sandbox: &mut Sandbox) {
    let path = sandbox.path(".git/cowork/sessions/todo/lock");
    let file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    file.try_lock().unwrap();
    // It goes with the test's process.
    std::mem::forget(file);
}

const ROWS: &[Row] = &[
    // 0: done, nothing to do, past --stop-after.
    ("done", nothing, AUTO, 0),
    ("nothing to do", nothing, &["resume", "--review", "auto", "--stop-after", "idea"], 0),
    ("an answer", waiting, &["review", "--pass"], 0),
    ("an abort as an answer", waiting, &["review", "--abort"], 0),
    ("nothing is wrong", nothing, &["verify"], 0),
    ("help", nothing, &["--help"], 0),
    ("help as git has it", nothing, &["help", "new"], 0),
    // 1: the session failed, verify has findings.
    (
        "drafts run out",
        |sandbox| {
            sandbox.user_config("[limits]\niterations = { prd = 1 }\n");
            sandbox.server.on(at("prd", "critic"), reject("no user is named"));
        },
        AUTO,
        1,
    ),
    (
        "checks still fail",
        |sandbox| {
            let empty = Reply::call("save_prd_doc", json!({"content": "# PRD\n"}));
            sandbox.server.on(at("prd", "actor").turn(1), empty);
        },
        AUTO,
        1,
    ),
    (
        "findings",
        |sandbox| {
            sandbox.write(".cowork/sessions/todo/idea.md", "# Another idea\n");
            sandbox.git(&["commit", "-qam", "by hand"]);
        },
        &["verify"],
        1,
    ),
    // 2: usage.
    ("a stage it does not have", nothing, &["new", "--stop-after", "triage", "an idea"], 2),
    ("an unknown option", nothing, &["resume", "--nonsense"], 2),
    ("an unknown stage", nothing, &["revert", "--to", "lunch"], 2),
    ("a gate without a terminal", nothing, &["resume", "--review", "ask"], 2),
    ("no idea", nothing, &["new"], 2),
    ("an invalid name", nothing, &["new", "-n", "A B", "x", "--review", "auto"], 2),
    ("empty feedback", waiting, &["review", "--feedback", " "], 2),
    ("a review without an answer", waiting, &["review"], 2),
    // 3: a person is waited for.
    ("a draft waits", nothing, WAIT, 3),
    ("it waits on", waiting, WAIT, 3),
    (
        "a question",
        |sandbox| {
            let ask = Reply::call("ask_user", json!({"question": "for whom?", "options": []}));
            sandbox.server.on(at("prd", "actor").turn(1), ask);
        },
        AUTO,
        3,
    ),
    // 4: model, credentials, configuration, budget.
    (
        "nobody at the address",
        |sandbox| sandbox.set_env("COWORK_LLM_BASE_URL", "http://127.0.0.1:1/v1"),
        AUTO,
        4,
    ),
    ("a refused key", |s| s.server.on(anywhere(), Reply::status(401, "bad key")), AUTO, 4),
    ("no quota", |s| s.server.on(anywhere(), Reply::status(402, "pay first")), AUTO, 4),
    ("a failing server", |s| s.server.on(anywhere(), Reply::status(503, "away")), AUTO, 4),
    ("a budget", |s| s.user_config("[budget]\nrequests = 2\n"), AUTO, 4),
    ("an unknown key", |s| s.user_config("[limits]\nlunch = 1\n"), AUTO, 4),
    ("a broken file", |s| s.user_config("[limits\n"), AUTO, 4),
    ("no recording", nothing, &["resume", "--review", "auto", "--replay", "no/such/file"], 4),
    // 5: the repository.
    ("an unknown session", nothing, &["resume", "nowhere"], 5),
    ("nothing waits", nothing, &["review", "--pass"], 5),
    ("a taken name", nothing, &["new", "-n", "todo", "x", "--review", "auto"], 5),
    ("a lock that is held", locked, AUTO, 5),
    ("no repository", |sandbox| sandbox.enter("../home"), AUTO, 5),
    (
        "a merge in progress",
        |sandbox| {
            sandbox.git(&["switch", "-q", "-c", "side", "HEAD~1"]);
            sandbox.write("README.md", "# Aside\n");
            sandbox.git(&["commit", "-qam", "aside"]);
            sandbox.git(&["switch", "-q", "cowork/todo"]);
            sandbox.write("README.md", "# Here\n");
            sandbox.git(&["commit", "-qam", "here"]);
            assert!(sandbox.git_fails(&["merge", "-q", "side"]));
        },
        AUTO,
        5,
    ),
    (
        "checked out elsewhere",
        |sandbox| {
            sandbox.git(&["switch", "-q", "main"]);
            sandbox.git(&["worktree", "add", "-q", "../elsewhere", "cowork/todo"]);
        },
        &["resume", "todo", "--review", "auto"],
        5,
    ),
];

#[test]
fn every_cause_has_its_code() {
    let before = Sandbox::stopped_after("idea");
    for (what, prepare, args, code) in ROWS {
        let mut sandbox = before.fork();
        prepare(&mut sandbox);
        let outcome = sandbox.cowork(args);
        assert_eq!(outcome.code, *code, "{what}: {}\n{}", outcome.stdout, outcome.stderr);
        assert!(!outcome.stderr.contains("panicked"), "{what}: {}", outcome.stderr);
        // `verify` tells what it finds as data.
        if ![0, 3].contains(code) && *args != ["verify"] {
            assert!(outcome.stderr.contains("error: "), "{what}: {}", outcome.stderr);
        }
        let hinted = ["hint: ", "Usage: ", "--help", "git cowork"];
        if ![0, 3].contains(code) && *args != ["verify"] {
            let way_on = hinted.iter().any(|hint| outcome.stderr.contains(hint));
            assert!(way_on, "{what}, no way on: {}", outcome.stderr);
        }
    }
}

/// With a terminal: what a person decides at the gate.
#[test]
fn what_a_person_decides_has_its_code() {
    let before = Sandbox::stopped_after("idea");
    for (key, code) in [("p", 0), ("a", 1), ("q", 3)] {
        let sandbox = before.fork();
        let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
        terminal.sees("stop for now");
        terminal.types(key);
        if key == "a" {
            terminal.sees("[y/n]");
            terminal.types("y");
        }
        let (found, rest) = terminal.ends();
        assert_eq!(found, code, "{key}: {rest}");
        sandbox.assert_sound();
    }
}

/// 130: interrupted, whichever way.
#[test]
fn every_signal_that_ends_a_run_is_an_interruption() {
    use rustix::process::Signal;
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let sandbox = Sandbox::stopped_after("idea");
        sandbox.server.forget();
        let outcome = signal_at_request(&sandbox, AUTO, 2, signal).exits(130);
        assert!(outcome.stderr.contains("git cowork resume"), "{}", outcome.stderr);
        sandbox.assert_sound();
    }
}
