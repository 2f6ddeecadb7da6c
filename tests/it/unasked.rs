//! Tests nobody asked for are named to everybody who judges the code, whatever the mode; and what counts
//! as asking for them.

use std::sync::OnceLock;

use serde_json::json;

use crate::support::todo::{TASKS, task, task_work};
use crate::support::{Reply, Sandbox, at};

const TEST: &str = "def test_a():\n    assert 1\n";

/// A session that is planned.
fn planned() -> Sandbox {
    static PLANNED: OnceLock<Sandbox> = OnceLock::new();
    let original = PLANNED.get_or_init(|| {
        let sandbox = Sandbox::new();
        sandbox.cowork(&new("a todo list", "plan")).exits(0);
        sandbox
    });
    original.fork()
}

/// From here on the first task writes a test nobody asked for.
fn writes_tests(sandbox: Sandbox) -> Sandbox {
    let test = Reply::call("write_file", json!({"path": "test_todo.py", "content": TEST}));
    let replies = vec![test, task_work("TASK-001"), Reply::text("Done.")];
    sandbox.server.sequence(at("coding", "actor").task("TASK-001"), replies);
    sandbox
}

/// The same, and the plan names its file.
fn plans_tests() -> Sandbox {
    let sandbox = writes_tests(Sandbox::new());
    let mut draft = Reply::call("save_plan_doc", json!({"content": "# Plan\n\nIn order.\n"}));
    for index in 0..TASKS.len() {
        let mut task = task(index);
        if index == 0 {
            task["files_to_create"].as_array_mut().unwrap().push("test_todo.py".into());
        }
        draft = draft.and("create_task", task);
    }
    sandbox.script("plan", draft);
    sandbox
}

fn new<'a>(idea: &'a str, last: &'a str) -> [&'a str; 8] {
    ["new", "-n", "todo", idea, "--review", "auto", "--stop-after", last]
}

const RESUME: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "check"];

/// Whether critic, check and check report name the test, with these words.
#[track_caller]
fn named(sandbox: &Sandbox, words: &str) {
    let line = format!("new tests in test_todo.py{words}");
    let critic = sandbox.server.requests_of("coding", "critic")[0].text();
    let check = sandbox.server.requests_of("check", "actor")[0].text();
    let report = sandbox.artifact("check_report.md");
    let mechanical = report.split("## What the program checked itself").nth(1).unwrap();
    for (who, text) in [("critic", &critic[..]), ("check", &check), ("report", mechanical)] {
        assert!(text.contains(&format!("- {line}")), "{who} is not told {line}: {text}");
    }
}

const NOBODY: &str = ": the idea, the PRD and the conventions do not ask for them";

#[test]
fn they_are_named_where_nobody_is_at_the_gate() {
    let (beside, in_plan) = (writes_tests(planned()), plans_tests());
    for (sandbox, args, how) in
        [(beside, &RESUME[..], ""), (in_plan, &new("a todo list", "check"), " (named in the plan)")]
    {
        let told = sandbox.cowork(args).exits(0).stderr;
        let words = format!("{how}{NOBODY}");
        assert_eq!(told.matches(&format!("new tests in test_todo.py{words}")).count(), 1, "{told}");
        named(&sandbox, &words);
    }
}

#[test]
fn they_are_named_with_a_gate_that_waits_and_without_one() {
    let sandbox = writes_tests(planned());
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3).says("new tests in test_todo.py");
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&RESUME).exits(0);
    named(&sandbox, NOBODY);
    let sandbox = writes_tests(planned());
    // That there is a command for tests asks for none.
    sandbox.user_config("[review]\ngates = []\n[project]\ntest = \"no-such-program-here\"\n");
    let wait = ["resume", "--review", "wait", "--stop-after", "check"];
    sandbox.cowork(&wait).exits(0).says("new tests in test_todo.py");
    named(&sandbox, NOBODY);
}

#[test]
fn where_none_are_wanted_those_of_the_plan_are_named() {
    let sandbox = plans_tests();
    sandbox.user_config("[project]\ntests = \"never\"\n");
    sandbox.cowork(&new("a todo list with tests", "check")).exits(0);
    let asked = sandbox.server.requests_of("plan", "actor")[0].text();
    assert!(asked.contains("Do not write tests."), "{asked}");
    named(&sandbox, " (named in the plan): this project wants none (project.tests is \"never\")");
}

#[test]
fn to_want_no_tests_is_not_to_ask_for_them() {
    let sandbox = writes_tests(Sandbox::new());
    // A repository that has tests does not outweigh what was said.
    sandbox.commit_file("tests/test_b.py", TEST, "tests");
    let idea = "a todo list, no tests please";
    sandbox.cowork(&new(idea, "check")).exits(0);
    named(&sandbox, &format!(": not wanted by the idea: \"{idea}\""));
}

#[test]
fn those_that_were_asked_for_are_not_named() {
    let always = planned();
    always.user_config("[project]\ntests = \"always\"\n");
    let told_to = planned();
    told_to.write("AGENTS.md", "Write tests for what you add.\n");
    told_to.commit_all("how we work");
    let has_some = Sandbox::new();
    has_some.commit_file("lib.py", &format!("def f():\n    pass\n\n{TEST}"), "tests inside");
    has_some.cowork(&new("a todo list", "plan")).exits(0);
    for sandbox in [always, told_to, has_some].map(writes_tests) {
        let told = sandbox.cowork(&RESUME).exits(0).stderr;
        assert!(!told.contains("new tests in"), "{told}");
        let report = sandbox.artifact("check_report.md");
        assert!(!report.contains("new tests in"), "{report}");
    }
}
