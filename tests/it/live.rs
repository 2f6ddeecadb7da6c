//! Who works on a session now: `status` and `verify` tell the run, since when and where it is, and
//! what a dead one has left; never a dead one as alive.

use std::sync::{Arc, Mutex};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::kill::{kill_at_request, signal_at_request};
use crate::support::{Sandbox, at};

/// What `args` answer while a model is asked `at`.
fn while_asked(
    sandbox: &Sandbox,
    when: crate::support::script::At,
    args: &[&str],
) -> Arc<Mutex<Vec<u8>>> {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_git-cowork"));
    command.args(args);
    let (command, answer) = (Mutex::new(command), Arc::<Mutex<Vec<u8>>>::default());
    let heard = Arc::clone(&answer);
    sandbox.server.on_with(when, move |_| {
        *heard.lock().unwrap() = command.lock().unwrap().output().unwrap().stdout;
        None
    });
    answer
}

fn text(answer: &Mutex<Vec<u8>>) -> String {
    String::from_utf8(answer.lock().unwrap().clone()).unwrap()
}

fn json(answer: &Mutex<Vec<u8>>) -> Value {
    serde_json::from_str(text(answer).lines().next().unwrap()).unwrap()
}

fn left_alone(sandbox: &Sandbox) {
    let status = sandbox.cowork(&["status", "todo", "--json"]).exits(0).json();
    assert_eq!(status["run"], Value::Null);
}

#[test]
fn a_run_is_told_with_its_process_and_where_it_is() {
    let sandbox = Sandbox::new();
    let drafting = while_asked(&sandbox, at("prd", "actor").turn(1), &["status", "todo", "--json"]);
    let judging = while_asked(&sandbox, at("prd", "critic").turn(1), &["status", "todo"]);
    let task = while_asked(
        &sandbox,
        at("coding", "actor").task("TASK-002").turn(1),
        &["verify", "todo", "--json"],
    );
    let mut pid = 0;
    let new = [
        "new",
        "-n",
        "todo",
        "a todo list for the terminal",
        "--review",
        "auto",
        "--stop-after",
        "coding",
    ];
    sandbox.cowork_watched(&new, |started| pid = started).exits(0);
    let run = &json(&drafting)["run"];
    assert_eq!((&run["pid"], &run["command"]), (&pid.into(), &"git cowork new".into()), "{run}");
    assert_eq!(
        (&run["stage"], &run["iteration"], &run["at"]),
        (&"prd".into(), &1.into(), &"draft".into())
    );
    assert!(run["since"].as_str().unwrap().ends_with('Z'), "{run}");
    let said = text(&judging);
    assert!(
        said.contains(&format!("Running  git cowork new is running (process {pid}, since ")),
        "{said}"
    );
    assert!(said.contains("at prd, draft 1, in review by a model"), "{said}");
    let note = json(&task);
    assert_eq!((&note["code"], &note["severity"]), (&"live-run".into(), &"note".into()), "{note}");
    assert!(note["details"].as_str().unwrap().contains("at coding, draft 1, TASK-002"), "{note}");
    left_alone(&sandbox);
}

#[cfg(unix)]
#[test]
fn a_run_at_its_gate_is_told_so() {
    let sandbox = Sandbox::stopped_after("idea");
    let mut terminal = sandbox.terminal(&["resume", "--no-stream"]);
    terminal.sees("stop for now");
    let run = sandbox.cowork(&["status", "--json"]).exits(0).json()["run"].clone();
    assert_eq!((&run["stage"], &run["at"]), (&"prd".into(), &"gate".into()), "{run}");
    assert_eq!(run["command"], "git cowork resume");
    let said = sandbox.cowork(&["verify"]).exits(0).stdout;
    assert!(said.contains("at the gate of prd, draft 1"), "{said}");
    terminal.types("q");
    terminal.ends();
    left_alone(&sandbox);
}

#[test]
fn a_killed_run_is_no_run_and_its_draft_is_named() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.manner(crate::support::todo::lingers);
    // The first answer is the draft, its files lie there when the second is asked for.
    kill_at_request(&sandbox, &["resume", "--review", "auto"], 2).was_killed();
    left_alone(&sandbox);
    let found = sandbox.cowork(&["verify", "--json"]).exits(0).json_lines();
    let draft = found.iter().find(|one| one["code"] == "unfinished-draft").unwrap();
    assert_eq!((&draft["severity"], &draft["fixable"]), (&"note".into(), &false.into()));
    assert_eq!(draft["suggested_fix"], "git cowork resume todo");
    assert!(draft["details"].as_str().unwrap().contains("an unfinished draft of prd"), "{draft}");
    let shown = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(shown.contains("Left     an unfinished draft of prd is in"), "{shown}");
    // Stopped in an orderly way it is in its side ref, and the tree is clean.
    sandbox.git(&["clean", "-q", "-fd"]);
    let stopped = signal_at_request(&sandbox, &["resume", "--review", "auto"], 2, Signal::TERM);
    stopped.exits(130);
    let found = sandbox.cowork(&["verify", "--json"]).exits(0).json_lines();
    let draft = found.iter().find(|one| one["code"] == "unfinished-draft").unwrap();
    assert_eq!(draft["about"], "refs/cowork/drafts/todo/prd");
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    assert!(sandbox.cowork(&["verify", "--json"]).exits(0).json_lines().is_empty());
}

#[test]
fn a_stale_lock_is_named_with_the_command_that_removes_it() {
    let sandbox = Sandbox::stopped_after("idea");
    let locks = [".git/index.lock", ".git/refs/heads/cowork/todo.lock"];
    for lock in locks {
        sandbox.write(lock, "");
        let found = sandbox.cowork(&["verify", "--json"]).exits(1).json_lines();
        assert_eq!((found.len(), &found[0]["code"]), (1, &"stale-lock".into()), "{found:?}");
        let remove = found[0]["suggested_fix"].as_str().unwrap();
        let shown = sandbox.cowork(&["status"]).exits(0).stdout;
        assert!(shown.contains("Lock     ") && shown.contains(lock), "{shown}");
        assert!(sandbox.exists(lock), "it only looks");
        let remove = &remove[remove.find("rm ").unwrap()..];
        assert!(sandbox.command("sh").args(["-c", remove]).status().unwrap().success());
        assert!(sandbox.cowork(&["verify", "--json"]).exits(0).json_lines().is_empty());
    }
}
