//! Files that are too large, and names that other systems cannot check out.

use serde_json::json;

use crate::support::todo::task_work;
use crate::support::{Reply, Sandbox, at};

#[test]
fn a_large_file_of_a_command_is_recorded_nowhere_and_named() {
    let sandbox = Sandbox::new();
    sandbox.write("lib/here.txt", "here\n");
    sandbox.commit_all("a folder");
    let make = "head -c 10600000 /dev/zero >lib/large.bin && echo x >lib/small.txt";
    let calls = Reply::call("run_command", json!({"command": make}));
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, vec![calls, task_work("TASK-001"), Reply::text("Done.")]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0).says("lib/large.bin is too big");
    let changed = sandbox.git(&["diff", "--name-only", "main", "cowork/todo"]);
    assert!(!changed.contains("large.bin") && changed.contains("lib/small.txt"), "{changed}");
    let requests = sandbox.server.requests_of("coding", "actor");
    let second = requests.iter().find(|r| r.task.as_deref() == Some("TASK-001") && r.turn == 2);
    let told = second.unwrap().tool_results().concat();
    assert!(told.contains("lib/large.bin is larger than 10 MiB"), "{told}");
}

#[test]
fn names_that_other_systems_cannot_check_out_are_refused_to_the_model() {
    let sandbox = Sandbox::new();
    let names = ["lib/aux.c", "lib/what?.md", "lib/dot.", "lib/a\u{202e}cod.sh"];
    let write =
        |reply: Reply, name: &&str| reply.and("write_file", json!({"path": name, "content": "x"}));
    let calls = names.iter().fold(Reply::empty(), write);
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, vec![calls, task_work("TASK-001"), Reply::text("Done.")]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let requests = sandbox.server.requests_of("coding", "actor");
    let second = requests.iter().find(|r| r.task.as_deref() == Some("TASK-001") && r.turn == 2);
    for told in second.unwrap().tool_results() {
        assert!(told.contains("choose another one"), "{told}");
    }
    assert!(names.iter().all(|name| !sandbox.exists(name)));
}
