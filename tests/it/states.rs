//! The state of a session as `status --json`, `list` and `list --json` say it: running, waiting and
//! stopped beside what history tells.

use std::process::Stdio;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::support::todo::{approve, reject};
use crate::support::{Reply, Sandbox, at};

const RESUME: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "prd"];

/// The state that `status --json` and `list --json` agree on, and the reason.
#[track_caller]
fn state(sandbox: &Sandbox) -> (String, Option<String>) {
    let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
    let listed = sandbox.cowork(&["list", "--json"]).exits(0).json_lines();
    let both = [status, listed[0].clone()].map(|json| {
        let text = |key: &str| json.get(key).and_then(Value::as_str).map(str::to_owned);
        (text("state").unwrap(), text("reason"))
    });
    assert_eq!(both[0], both[1]);
    both[0].clone()
}

#[track_caller]
fn is_stopped(sandbox: &Sandbox, why: &str) {
    assert_eq!(state(sandbox), ("stopped".to_owned(), Some(why.to_owned())));
    let shown = sandbox.cowork(&["list"]).exits(0).stdout;
    assert!(shown.contains(" stopped ") && shown.contains(&format!("({why})")), "{shown}");
    let shown = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(shown.contains(&format!("Stopped  {why}\n")), "{shown}");
}

#[track_caller]
fn is(sandbox: &Sandbox, wanted: &str) {
    assert_eq!(state(sandbox), (wanted.to_owned(), None));
    let shown = sandbox.cowork(&["list"]).exits(0).stdout;
    assert!(shown.contains(&format!(" {} ", wanted.replace('_', " "))), "{shown}");
}

fn with_idea() -> Sandbox {
    Sandbox::stopped_after("idea")
}

#[test]
fn a_session_is_running_while_a_process_works_on_it() {
    let sandbox = with_idea();
    let look = ["status", "list"].map(|command| {
        let mut look = sandbox.command(env!("CARGO_BIN_EXE_git-cowork"));
        look.args([command, "--json"]).stdin(Stdio::null());
        look
    });
    let (look, (tell, told)) = (Arc::new(Mutex::new(look)), channel());
    sandbox.server.on_with(at("prd", "critic"), move |_| {
        for look in look.lock().unwrap().iter_mut() {
            tell.send(look.output().unwrap()).unwrap();
        }
        None
    });
    sandbox.cowork(&RESUME).exits(0);
    let shown: Vec<_> = told.try_iter().collect();
    assert_eq!(shown.len(), 2);
    for shown in shown {
        let json: Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!(json["state"], "running", "{json}");
        assert_eq!(json["stage"], "prd");
    }
    is(&sandbox, "in_progress");
}

#[test]
fn what_a_run_left_says_whether_it_waits_is_stopped_or_continues() {
    let before = with_idea();
    // The server is there again one day.
    let sandbox = before.fork();
    sandbox.server.on(at("prd", "actor"), Reply::status(401, "no"));
    sandbox.cowork(&RESUME).exits(4);
    is(&sandbox, "in_progress");

    let sandbox = before.fork();
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    is(&sandbox, "waiting");
    sandbox.cowork(&["review", "--pass"]).exits(0);
    is(&sandbox, "in_progress");

    let sandbox = before.fork();
    sandbox.user_config("[limits]\niterations = { prd = 1 }\n");
    sandbox.server.times(1, at("prd", "critic"), reject("no user is named"));
    sandbox.cowork(&RESUME).exits(1);
    is_stopped(&sandbox, "prd: the only draft was refused");
    sandbox.user_config("");
    is(&sandbox, "in_progress");

    let sandbox = before.fork();
    sandbox.user_config("[budget]\nrequests = 1\n");
    sandbox.cowork(&RESUME).exits(4);
    let (stopped, why) = state(&sandbox);
    assert_eq!(stopped, "stopped");
    assert!(why.as_deref().unwrap().starts_with("the session's budget of requests"), "{why:?}");
    sandbox.user_config("");
    is(&sandbox, "in_progress");
}

#[test]
fn a_failure_that_no_draft_tells_of_is_told_until_something_happens() {
    let sandbox = Sandbox::new();
    let test = "test ! -e .git/refs/tags/cowork/todo/coding || test -f fixed.txt";
    sandbox.user_config(&format!("[project]\ntest = \"{test}\"\n[limits]\nmax_replans = 0\n"));
    // Another run runs the tests again.
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(1);
    is_stopped(&sandbox, "checks still fail, and max_replans = 0 allows no further correction");
    // A person's commit is what it waits for.
    sandbox.commit_file("fixed.txt", "fixed\n", "fix it myself");
    is(&sandbox, "in_progress");
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    is(&sandbox, "completed");
}

#[test]
fn an_aborted_draft_stops_the_session_and_the_log_says_so() {
    let sandbox = with_idea();
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    terminal.sees("stop for now");
    terminal.types("a");
    terminal.sees("Everything is kept");
    terminal.types("y");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 1, "{rest}");
    is_stopped(&sandbox, "aborted at prd");
    let log = sandbox.read(".git/cowork/sessions/todo/log");
    let error = log.lines().find(|line| line.contains("ERROR") && line.contains("prd was aborted"));
    assert!(error.is_some(), "{log}");
    assert!(log.contains("resume starts the stage again: git cowork resume"), "{log}");
    sandbox.assert_sound();
    // Undone it is as it was; without that the next run begins.
    let other = sandbox.fork();
    other.cowork(&["undo"]).exits(0);
    assert_ne!(state(&other).0, "stopped");
    sandbox.cowork(&RESUME).exits(0);
    is(&sandbox, "in_progress");
}

#[test]
fn an_abort_as_an_answer_stops_the_session() {
    let sandbox = Sandbox::new();
    sandbox.wait(&[]).exits(3);
    sandbox.cowork(&["review", "--abort"]).exits(0);
    is_stopped(&sandbox, "aborted at idea");
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    is(&sandbox, "waiting");
}

#[test]
fn status_counts_the_changes_own_tasks_while_it_is_coded() {
    let sandbox = Sandbox::delivered();
    sandbox.script_addition("Due dates", ["REQ-004", "FEAT-003", "TASK-006"], "lib/due.sh");
    let modify = ["modify", "add due dates", "--review", "auto", "--stop-after", "plan"];
    sandbox.cowork(&modify).exits(0);
    let status = |line: &str| {
        let shown = sandbox.cowork(&["status"]).exits(0).stdout;
        assert!(shown.contains(line), "{line} is not in\n{shown}");
    };
    status(" 0 of 1 task ");
    status("  TASK-006 is next\n");
    let brief = sandbox.cowork(&[]).exits(0).stdout;
    assert!(brief.contains("coding, 0 of 1 task"), "{brief}");
    sandbox.server.on(at("coding", "critic"), Reply::status(401, "no"));
    sandbox.cowork(&["resume", "--review", "auto"]).exits(4);
    status("█ 1 of 1 task");
    sandbox.server.on(at("coding", "critic"), approve());
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    assert!(sandbox.subjects("HEAD~3..").contains(&"coding: 1 of 1 task, 1 file".to_owned()));
    let report = sandbox.artifact("changes/add-due-dates/delivery_report.md");
    assert!(report.contains("TASK-006") && !report.contains("TASK-005"), "{report}");
}
