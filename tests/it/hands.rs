//! The file tools as a model uses them: files keep their line ends, marks and modes, several edits
//! are one, and what has changed since the model saw it is read again, also across a kill.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::kill::kill_at_request;
use crate::support::todo::task_work;
use crate::support::{Reply, Sandbox, at};

/// The first task has these turns before it does its work.
fn first_task(sandbox: &Sandbox, turns: Vec<Reply>) {
    let rest = vec![task_work("TASK-001"), Reply::text("Done.")];
    let turns = [turns, rest].concat();
    for (turn, reply) in (1..).zip(turns) {
        sandbox.server.on(at("coding", "actor").task("TASK-001").turn(turn), reply);
    }
}

fn turn(calls: &[(&str, Value)]) -> Reply {
    calls.iter().fold(Reply::empty(), |reply, (name, args)| reply.and(name, args.clone()))
}

fn edit(old: &str, new: &str) -> Value {
    json!({"old_text": old, "new_text": new})
}

/// What the first task's model was told in this turn.
fn told(sandbox: &Sandbox, turn: u32) -> Vec<String> {
    let requests = sandbox.server.requests_of("coding", "actor");
    let of_turn = |r: &&crate::support::server::Received| {
        r.task.as_deref() == Some("TASK-001") && r.turn == turn + 1
    };
    requests.iter().rev().find(of_turn).unwrap().tool_results()
}

/// File, its bytes, the edits, its bytes in the task's commit.
type Case = (&'static str, &'static str, fn() -> Value, &'static str);

const CASES: [Case; 7] = [
    ("crlf.txt", "a\r\nb\r\nc\r\n", || json!([edit("b\n", "x\ny\n")]), "a\r\nx\r\ny\r\nc\r\n"),
    ("open.txt", "a\nb", || json!([edit("b\n", "c\n")]), "a\nc"),
    ("bom.txt", "\u{feff}a\nb\n", || json!([edit("a\n", "x\n")]), "\u{feff}x\nb\n"),
    (
        "tabs.mk",
        "all:\n\tif x; then \\\n\t\ty; \\\n\tfi\n",
        || json!([edit("    if x; then \\\n        y; \\", "    if x; then \\\n        z; \\")]),
        "all:\n\tif x; then \\\n\t\tz; \\\n\tfi\n",
    ),
    (
        "words.md",
        "It’s “one”…\ntwo\n",
        || json!([edit("\"one\"...\ntwo", "\"one\"...\n2")]),
        "It’s “one”…\n2\n",
    ),
    (
        "many.txt",
        "one\ntwo\nthree\n",
        || json!([edit("one", "1"), edit("two", "2"), edit("three", "3")]),
        "1\n2\n3\n",
    ),
    ("run.sh", "#!/bin/sh\necho a\n", || json!([edit("echo a", "echo b")]), "#!/bin/sh\necho b\n"),
];

#[test]
fn edits_change_what_they_mean_and_nothing_else() {
    let sandbox = Sandbox::new();
    for (path, bytes, ..) in CASES {
        sandbox.write(path, bytes);
    }
    sandbox.write("twice.txt", "{\n}\n{\n}\n");
    let script = sandbox.path("run.sh");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.commit_all("files");
    let mut calls: Vec<_> =
        CASES.iter().map(|c| ("edit_file", json!({"path": c.0, "edits": c.2()}))).collect();
    let half = json!([edit("{\n}\n", ""), edit("one", "x")]);
    calls.push(("edit_file", json!({"path": "twice.txt", "edits": half})));
    let whole = json!({"path": "run.sh", "content": "#!/bin/sh\necho c"});
    first_task(&sandbox, vec![turn(&calls), turn(&[("write_file", whole)])]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let told = told(&sandbox, 1);
    for ((path, _, _, after), answer) in CASES.iter().zip(&told) {
        assert!(answer.starts_with(&format!("edited {path}")), "{answer}");
        let expected = if *path == "run.sh" { "#!/bin/sh\necho c\n" } else { after };
        let raw = sandbox.git_outcome(&["cat-file", "-p", &format!("cowork/todo:{path}")]);
        assert_eq!(raw.exits(0).stdout, expected, "{path}");
    }
    let refused = told.last().unwrap();
    assert!(refused.starts_with("nothing was written to twice.txt: 2 of 2 edits"), "{refused}");
    assert!(refused.contains("2 times in twice.txt, at lines 1, 3"), "{refused}");
    let modes = sandbox.git(&["ls-tree", "cowork/todo", "run.sh", "many.txt"]);
    assert!(modes.contains("100755 blob") && modes.contains("100644 blob"), "{modes}");
    assert_eq!(sandbox.read("twice.txt"), "{\n}\n{\n}\n");
    sandbox.assert_sound();
}

#[test]
fn what_a_command_has_changed_is_read_again_first() {
    let sandbox = Sandbox::new();
    let path = "lib/store.sh";
    let write = |text: &str| ("write_file", json!({"path": path, "content": text}));
    let format = ("run_command", json!({"command": format!("echo formatted >>{path}")}));
    let change = json!({"path": path, "old_text": "one", "new_text": "two"});
    let turns = vec![
        turn(&[write("one\n"), format]),
        turn(&[("edit_file", change.clone())]),
        turn(&[("read_file", json!({"path": path})), ("edit_file", change)]),
    ];
    first_task(&sandbox, turns);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let refused = told(&sandbox, 2);
    assert!(refused[0].contains("has changed since you last read or wrote it"), "{refused:?}");
    let fixed = told(&sandbox, 3);
    assert!(fixed[0].contains("formatted") && fixed[1].starts_with("edited"), "{fixed:?}");
}

/// A conversation that goes on in the next process knows what it has read in the one before.
#[test]
fn what_was_read_is_known_after_a_kill() {
    let sandbox = Sandbox::new();
    let lines: String = (1..=400).map(|n| format!("{n}\n")).collect();
    sandbox.write("long.txt", &lines);
    sandbox.commit_all("a long file");
    let again = json!({"path": "long.txt", "content": "short\n"});
    let turns =
        vec![turn(&[("read_file", json!({"path": "long.txt"}))]), turn(&[("write_file", again)])];
    first_task(&sandbox, turns);
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    let resume = ["resume", "--review", "auto", "--stop-after", "coding"];
    kill_at_request(&sandbox, &resume, 2).was_killed();
    sandbox.cowork(&resume).exits(0);
    let answer = told(&sandbox, 2);
    assert!(answer[0].starts_with("wrote long.txt (1 lines, 400 before)"), "{answer:?}");
    assert_eq!(sandbox.blob("cowork/todo", "long.txt"), "short\n");
}
