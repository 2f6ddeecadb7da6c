//! One working tree, one run: a second one is refused before it switches the branch, with the way
//! to a tree of its own; a person who switches stops the first before its next write.

use std::io::Write as _;
use std::process::Command;
use std::sync::Mutex;

use serde_json::json;

use crate::support::pty::Terminal;
use crate::support::todo::{IDEA, task_work};
use crate::support::{Reply, Sandbox, at};

const RUNNING: &str = "session 'other' is running in this working tree: process ";

/// A repository with the session `todo`, which has an attempt and can be continued, and with a
/// branch `work`; the run of `other` waits at its first gate.
fn with_a_run() -> (Sandbox, Terminal) {
    let sandbox = Sandbox::delivered();
    sandbox.cowork(&["revert", "todo", "--to", "delivery", "--no-run"]).exits(0);
    sandbox.cowork(&["undo", "--session", "todo"]).exits(0);
    sandbox.git(&["switch", "-q", "-c", "work", "main"]);
    sandbox.commit_file("src/work.sh", "true\n", "begin the work");
    sandbox.git(&["switch", "-q", "main"]);
    let mut run = sandbox.terminal(&["new", "-n", "other", "a todo list"]);
    run.sees("pass");
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "cowork/other");
    (sandbox, run)
}

#[test]
fn a_second_run_in_the_same_tree_is_refused() {
    let (sandbox, mut run) = with_a_run();
    let refs = sandbox.all_refs();
    let asked = sandbox.server.asked();
    for (args, way_out) in [
        (&["new", "-n", "third", "an idea"][..], "git cowork new -w -n third 'an idea'"),
        (&["modify", "dates", "--session", "todo"], "git cowork modify -w dates --session todo"),
        (&["adopt", "work", "-b", "main"], "git cowork adopt -w work -b main"),
        (&["resume", "todo"], "git cowork resume -w todo"),
        (
            &["revert", "todo", "--to", "check"],
            "/repo.cowork/todo && git cowork revert todo --to check",
        ),
        (&["undo", "--session", "todo"], "wait for it to end, then: git cowork undo"),
        (&["archive", "todo"], "wait for it to end, then: git cowork archive todo"),
        (&["delete", "todo", "--yes"], "wait for it to end, then: git cowork delete todo --yes"),
        (&["merge", "todo"], "wait for it to end, then: git cowork merge todo"),
        (&["verify", "todo", "--fix"], "wait for it to end, then: git cowork verify todo --fix"),
    ] {
        sandbox.cowork(args).exits(5).says(RUNNING).says(way_out);
    }
    assert_eq!((sandbox.all_refs(), sandbox.server.asked()), (refs, asked));
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "cowork/other");
    // Commands that change no tree, and the run's own, work as always.
    sandbox.cowork(&["delete", "todo", "--dry-run"]).exits(0);
    sandbox.cowork(&["prune", "--dry-run"]).exits(0);
    let status = sandbox.cowork(&["status", "other"]).exits(0).stdout;
    assert!(status.contains("git cowork new is running"), "{status}");
    sandbox.cowork(&["resume", "other"]).exits(5).says("session 'other' is locked");
    run.types("q");
    assert_eq!(run.ends().0, 3);
    sandbox.cowork(&["merge", "todo"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn the_second_run_gets_a_tree_of_its_own() {
    let (sandbox, mut run) = with_a_run();
    let resume = ["resume", "-w", "todo", "--goto-stage", "check", "--review", "auto"];
    let stopped = [&resume[..], &["--stop-after", "check"]].concat();
    sandbox.cowork(&stopped).exits(0).says("working in ").says("repo.cowork/todo");
    assert!(sandbox.exists("../repo.cowork/todo/.cowork/sessions/todo/prd.md"));
    // It has a tree now.
    sandbox.cowork(&["resume", "-w", "todo", "--review", "auto"]).exits(0).says("repo.cowork/todo");
    let mut third = sandbox.terminal(&["new", "-n", "third", "an idea", "--review", "wait"]);
    third.sees(RUNNING);
    third.sees("work in a linked worktree; that run stays as it is");
    third.enters("");
    assert_eq!(third.ends().0, 3);
    assert!(sandbox.exists("../repo.cowork/third/.cowork/sessions/third/idea.md"));
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "cowork/other");
    run.types("q");
    assert_eq!(run.ends().0, 3);
    sandbox.assert_sound();
}

#[test]
fn a_folder_in_the_way_of_a_new_tree_leaves_no_branch() {
    let sandbox = Sandbox::new();
    sandbox.write("../there/mine.txt", "mine\n");
    let new = ["new", "-w=../there", "-n", "todo", "an idea", "--review", "wait"];
    sandbox.cowork(&new).exits(5).says("exists already, and is not an empty folder");
    assert!(sandbox.git_fails(&["rev-parse", "-q", "--verify", "cowork/todo"]));
    sandbox.cowork(&["new", "-w", "-n", "todo", "an idea", "--review", "wait"]).exits(3);
    assert_eq!(sandbox.read("../there/mine.txt"), "mine\n");
}

/// Makes `main` differ from the session in a file.
fn with_another_main(sandbox: &Sandbox) {
    let main = sandbox.git(&["rev-parse", "main"]);
    sandbox.git(&["switch", "-q", "-c", "new-main"]);
    sandbox.commit_file("README.md", "# Newer\n", "newer");
    sandbox.commit_file("src/new.sh", "true\n", "a new file");
    sandbox.git(&["branch", "-q", "-f", "newer"]);
    sandbox.git(&["switch", "-q", "main"]);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), main);
}

fn switch(sandbox: &Sandbox) -> Command {
    let mut switch = sandbox.command("git");
    switch.args(["switch", "-q", "newer"]);
    switch
}

fn assert_stopped_and_goes_on(sandbox: &Sandbox, told: &str) {
    let back = "git switch cowork/todo && git cowork resume todo";
    assert!(told.contains("HEAD is no longer on cowork/todo") && told.contains(back), "{told}");
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "newer");
    assert_eq!(sandbox.git(&["status", "--porcelain", "--", "lib", "README.md", "src"]), "");
    let tip = sandbox.git(&["rev-parse", "newer"]);
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    assert_eq!(sandbox.git(&["rev-parse", "newer"]), tip);
    assert_eq!(sandbox.blob("HEAD", "README.md"), "# Somewhere\n");
    let names = sandbox.git(&["log", "--format=", "--name-only", "main..HEAD"]);
    assert!(!names.contains("README") && !names.contains("src/"), "{names}");
    sandbox.assert_sound();
}

/// In git's two formats of references, because HEAD is read in both.
#[test]
fn a_switch_in_mid_run_stops_tools_before_the_next_write() {
    for format in ["files", "reftable"] {
        let Some(sandbox) = Sandbox::in_format(&[&format!("--ref-format={format}")]) else {
            continue;
        };
        with_another_main(&sandbox);
        let switch = Mutex::new(Some(switch(&sandbox)));
        sandbox.server.on_with(at("coding", "actor").task("TASK-002").turn(1), move |_| {
            if let Some(mut switch) = switch.lock().unwrap().take() {
                assert!(switch.status().unwrap().success());
            }
            Some(task_work("TASK-002"))
        });
        let told = sandbox.auto(&[]).exits(5);
        assert_stopped_and_goes_on(&sandbox, &told.stderr);
    }
}

#[test]
fn a_switch_while_a_command_runs_attributes_nothing_to_the_command() {
    let sandbox = Sandbox::new();
    with_another_main(&sandbox);
    // The command runs until the person has switched.
    let clock = sandbox.path(".git/clock");
    assert!(sandbox.command("mkfifo").arg(&clock).status().unwrap().success());
    let run = Reply::call("run_command", json!({"command": "cat .git/clock; echo made >made.txt"}));
    let rest = [run, task_work("TASK-002"), Reply::text("The task is done.")];
    sandbox.server.sequence(at("coding", "actor").task("TASK-002"), rest.to_vec());
    let mut switch = switch(&sandbox);
    let person = std::thread::spawn(move || {
        // Opened when the command reads.
        let mut clock = std::fs::File::options().write(true).open(clock).unwrap();
        assert!(switch.status().unwrap().success());
        clock.write_all(b"now").unwrap();
    });
    let told = sandbox.auto(&[]).exits(5);
    person.join().unwrap();
    std::fs::remove_file(sandbox.path(".git/clock")).unwrap();
    assert_stopped_and_goes_on(&sandbox, &told.stderr);
}

#[test]
fn what_is_typed_at_a_gate_outlives_a_switch() {
    let sandbox = Sandbox::new();
    let mut run = sandbox.terminal(&["new", "-n", "todo", IDEA.lines().next().unwrap()]);
    run.sees("pass");
    run.types("f");
    run.sees("feedback");
    sandbox.git(&["stash", "-q", "-u"]);
    sandbox.git(&["switch", "-q", "main"]);
    run.enters("name the users in the first line");
    let (exit, told) = run.ends();
    assert_eq!(exit, 5, "{told}");
    assert!(told.contains("HEAD is no longer on cowork/todo"), "{told}");
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.git(&["stash", "pop", "-q"]);
    let mut again = sandbox.terminal(&["resume"]);
    again.sees("name the users in the first line");
    again.sees("stop for now");
    again.types("q");
    again.ends();
}
