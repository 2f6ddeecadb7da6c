//! Tests that criteria name run in one process where the runner can name them, once on the same
//! code, and in a change only where it touches them. The runner counts its processes.

use serde_json::json;

use crate::criteria::{became, first_task_writes, names, results_of, second_draft_writes};
use crate::support::change::triage;
use crate::support::todo::PRD;
use crate::support::{Reply, Sandbox, at, todo};

/// A runner with the command line and the output of pytest, which notes each of its processes. It
/// fails tests that `assert 0`, leaves out those that are `ignored`, and those that are `quiet`
/// unless they run alone; one that `ends` ends the process where there is no code. It counts all
/// tests unless it is called with `-s`.
const PYTEST: &str = r#"mkdir -p target && echo "$*" >>target/calls
code=0
for id in "$@"; do
  case $id in *::*) ;; *) continue ;; esac
  case $(grep -A1 "def ${id##*::}(" "${id%%::*}") in
    *'assert 0'*) echo "FAILED $id - assert 0"; code=1 ;;
    *ends*) [ -e code.py ] || exit 1; echo "$id PASSED" ;;
    *quiet*) [ $# -gt 2 ] || echo "$id PASSED" ;;
    *ignored*) echo "$id SKIPPED" ;;
    *) echo "$id PASSED" ;;
  esac
done
[ $# -gt 1 ] || echo "3 passed in 0.01s"
exit $code"#;

/// A runner with the command line and the output of bats. It leaves out tests that `skip`.
const BATS: &str = r#"mkdir -p target && echo "$*" >>target/calls
filter=$3
shift 3
for file in "$@"; do
  sed -n 's/^@test "\(.*\)" {$/\1/p' "$file" | grep -E "$filter" | while read -r name; do
    case $(grep -A1 "\"$name\"" "$file") in *skip*) mark=" # skip" ;; *) mark= ;; esac
    echo "ok 1 $name$mark"
  done
done"#;

fn project() -> Sandbox {
    project_with("tools/pytest -q")
}

/// A project with this command that runs its tests.
fn project_with(tests: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.executable(&sandbox.path("tools/pytest"), PYTEST);
    sandbox.executable(&sandbox.path("tools/bats"), BATS);
    sandbox.write(".gitignore", "/target/\n");
    sandbox.commit_all("a Python project");
    let commands = format!("build = \"true\"\ntest = \"{tests}\"\nlint = \"true\"");
    sandbox.user_config(&format!("[project]\n{commands}\n"));
    sandbox
}

/// A test file with these tests and their bodies.
fn tests(all: &[(&str, &str)]) -> String {
    all.iter().map(|(name, body)| format!("def {name}():\n    {body}\n\n\n")).collect()
}

/// The processes that ran named tests, and how many ran all tests.
fn calls(sandbox: &Sandbox) -> (Vec<String>, usize) {
    let calls = sandbox.read_of_checks("target/calls");
    let (named, all): (Vec<&str>, Vec<&str>) = calls.lines().partition(|call| call.contains("::"));
    (named.into_iter().map(str::to_owned).collect(), all.len())
}

#[test]
fn nineteen_named_tests_are_one_process_until_the_code_changes() {
    let sandbox = project();
    let all: Vec<String> = (10..29).map(|n| format!("test_{n}")).collect();
    let mut prd = PRD.to_owned();
    for (criterion, part) in
        ["Add a todo works", "List todos works", "Tick a todo off works"].iter().zip(all.chunks(7))
    {
        let line = |test: &String| format!("- {criterion}: {test} `tests/test_a.py::{test}`\n");
        let lines: String = part.iter().map(line).collect();
        prd = prd.replacen(&format!("- {criterion}\n"), &lines, 1);
    }
    let draft = Reply::call("save_prd_doc", json!({"content": prd}));
    sandbox.server.on(at("prd", "actor").turn(1), draft);
    let bodies: Vec<(&str, &str)> = all.iter().map(|name| (name.as_str(), "assert 1")).collect();
    first_task_writes(&sandbox, &[("tests/test_a.py", &tests(&bodies))]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let ids: Vec<String> = all.iter().map(|name| format!("tests/test_a.py::{name}")).collect();
    let (named, suites) = calls(&sandbox);
    assert_eq!(named, [format!("-v {}", ids.join(" "))]);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    // check ran the project's tests, and points to coding's run of the named ones.
    assert_eq!(calls(&sandbox), (named, suites + 1));
    let told = |stage: &str| sandbox.trailers(&sandbox.stage_commit(stage))["Cowork-Tests"].clone();
    assert!(told("coding")[0].starts_with("19 passed, log "), "{:?}", told("coding"));
    assert_eq!(told("check"), told("coding"));
    assert!(sandbox.artifact("check_report.md").contains("`tests/test_a.py::test_28` passed)"));
    sandbox.assert_sound();
}

#[test]
fn a_test_whose_result_is_not_told_runs_by_itself() {
    let sandbox = project();
    names(&sandbox, &["t/test_a.py::test_a", "t/test_a.py::test_b", "t/test_c.py::test_c"]);
    let both = tests(&[("test_a", "assert 1"), ("test_b", "quiet = 1")]);
    let files =
        [("t/test_a.py", both.as_str()), ("t/test_c.py", &tests(&[("test_c", "assert 1")]))];
    first_task_writes(&sandbox, &files);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let all = "-v t/test_a.py::test_a t/test_a.py::test_b t/test_c.py::test_c";
    assert_eq!(calls(&sandbox).0, [all, "-v t/test_a.py::test_b"]);
    let passed = ["t/test_a.py::test_a", "t/test_a.py::test_b", "t/test_c.py::test_c"];
    assert_eq!(became(&sandbox), passed.map(|test| format!("{test}: passed")));
    sandbox.assert_sound();
}

#[test]
fn an_unnamed_test_of_the_same_name_does_not_answer_for_the_named_one() {
    let mut sandbox = project_with("true");
    let tools = sandbox.path("tools");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([tools].into_iter().chain(std::env::split_paths(&path)));
    sandbox.set_env("PATH", path.unwrap().to_str().unwrap());
    names(&sandbox, &["t/a.bats::adds", "t/b.bats::lists"]);
    let test = |name: &str, body: &str| format!("@test \"{name}\" {{\n  {body}\n}}\n");
    let other = format!("{}\n{}", test("lists", "[ 1 = 1 ]"), test("adds", "skip"));
    first_task_writes(&sandbox, &[("t/a.bats", &test("adds", "[ 1 = 1 ]")), ("t/b.bats", &other)]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let calls = sandbox.read_of_checks("target/calls");
    let calls: Vec<&str> = calls.lines().collect();
    let both = "--tap --filter ^(adds|lists)$ t/a.bats t/b.bats";
    assert_eq!(calls, [both, "--tap --filter ^adds$ t/a.bats"]);
    assert_eq!(became(&sandbox), ["t/a.bats::adds: passed", "t/b.bats::lists: passed"]);
    sandbox.assert_sound();
}

#[test]
fn a_test_that_ends_its_process_shows_no_failure_of_others() {
    let sandbox = project();
    names(&sandbox, &["!t/test_a.py::test_a", "!t/test_a.py::test_b"]);
    let file = |b: &str| tests(&[("test_a", "ends = 1"), ("test_b", b)]);
    first_task_writes(&sandbox, &[("code.py", "a = 1\n"), ("t/test_a.py", &file("assert 1"))]);
    second_draft_writes(&sandbox, &[("t/test_a.py", &file("ends = 1"))]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let asked = sandbox.server.requests_of("coding", "actor");
    let second = asked.iter().find(|request| request.iteration == 2).unwrap().text();
    let says = |test: &str| {
        let shows = "fails without this session's code, and it passes there, too";
        second.contains(&format!("says that t/test_a.py::{test} {shows}"))
    };
    assert_eq!(["test_a", "test_b"].map(says), [false, true], "{second}");
    let passed = ["t/test_a.py::test_a", "t/test_a.py::test_b"];
    let words = "passed, failed on the base (before it ran)";
    assert_eq!(became(&sandbox), passed.map(|test| format!("{test}: {words}")));
    sandbox.assert_sound();
}

#[test]
fn no_test_is_left_to_a_suite_that_counts_none() {
    let sandbox = project_with("tools/pytest -q -s");
    names(&sandbox, &["t/test_a.py::test_a"]);
    first_task_writes(&sandbox, &[("t/test_a.py", &tests(&[("test_a", "assert 1")]))]);
    sandbox.auto(&[]).exits(0);
    let before = calls(&sandbox).0.len();
    sandbox.script("triage", triage("Say hello", &["code"], &["code.py"]));
    let code = json!({"path": "code.py", "content": "a = 1\n"});
    sandbox.script("coding", Reply::call("write_file", code));
    sandbox.cowork(&["modify", "say hello", "--review", "auto", "-n", "hello"]).exits(0);
    assert_eq!(calls(&sandbox).0[before..], ["-v t/test_a.py::test_a"]);
    let coding = sandbox.commit_of("cowork/todo--hello", "coding: ");
    assert_eq!(results_of(&sandbox, &coding), ["t/test_a.py::test_a: passed"]);
}

#[test]
fn failures_of_one_process_are_told_with_one_output() {
    let sandbox = project();
    names(&sandbox, &["t/test_a.py::test_a", "t/test_a.py::test_b", "t/test_a.py::test_c"]);
    let file = |a: &str, b: &str, c: &str| tests(&[("test_a", a), ("test_b", b), ("test_c", c)]);
    let wrong = file("assert 0", "assert 0", "ignored = 1");
    first_task_writes(&sandbox, &[("t/test_a.py", &wrong)]);
    let right = file("assert 1", "assert 1", "assert 1");
    second_draft_writes(&sandbox, &[("t/test_a.py", &right)]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let asked = sandbox.server.requests_of("coding", "actor");
    let second = asked.iter().find(|request| request.iteration == 2).unwrap().text();
    let all = "tools/pytest -v t/test_a.py::test_a t/test_a.py::test_b t/test_a.py::test_c";
    for said in [
        &format!("REQ-001 names the test t/test_a.py::test_a, which fails; {all}: exit 1"),
        "REQ-002 names the test t/test_a.py::test_b, which fails; it ran together with \
         t/test_a.py::test_a",
        "REQ-003 names the test t/test_a.py::test_c, which was not found: tools/pytest -v \
         t/test_a.py::test_c did not run it",
    ] {
        assert_eq!(second.matches(said).count(), 1, "{said} in\n{second}");
    }
    assert_eq!(became(&sandbox)[2], "t/test_a.py::test_c: passed");
    sandbox.assert_sound();
}

#[test]
fn a_change_runs_the_named_tests_that_are_new_or_touched() {
    let sandbox = project();
    names(&sandbox, &["t/test_a.py::test_a", "t/test_a.py::test_b", "t/test_c.py::test_c"]);
    let both = tests(&[("test_a", "assert 1"), ("test_b", "assert 1")]);
    let other = tests(&[("test_c", "assert 1")]);
    first_task_writes(&sandbox, &[("t/test_a.py", &both), ("t/test_c.py", &other)]);
    sandbox.auto(&[]).exits(0);
    let before = calls(&sandbox);
    sandbox.script("triage", triage("Add at once", &["prd", "code"], &["t/test_c.py"]));
    let changed = todo::requirement_section("REQ-001", "Add a todo")
        .replace("Add a todo works", "Adding is quick `t/test_a.py::test_a`");
    sandbox.script("prd", Reply::call("save_prd_doc", json!({"content": changed.trim_start()})));
    let more = format!("{other}def test_d():\n    assert 1\n");
    let touch = json!({"path": "t/test_c.py", "content": more});
    sandbox.script("coding", Reply::call("write_file", touch));
    sandbox.cowork(&["modify", "add at once", "--review", "auto", "-n", "once"]).exits(0);
    let (named, suites) = calls(&sandbox);
    assert_eq!(named[before.0.len()..], ["-v t/test_a.py::test_a t/test_c.py::test_c"]);
    assert!(suites >= before.1 + 2, "coding and check run the project's tests");
    let coding = sandbox.commit_of("cowork/todo--once", "coding: ");
    assert_eq!(
        results_of(&sandbox, &coding),
        [
            "t/test_a.py::test_a: passed",
            "t/test_a.py::test_b: left to the suite (tools/pytest -q passed)",
            "t/test_c.py::test_c: passed",
        ]
    );
    let counted = &sandbox.trailers(&coding)["Cowork-Tests"][0];
    assert!(counted.starts_with("2 passed, 1 left to the suite, log "), "{counted}");
    let critic = sandbox.server.requests_of("coding", "critic").last().unwrap().text();
    let left = "1 unchanged test that criteria name: left to the suite (tools/pytest -q passed)";
    assert!(critic.contains(left), "{critic}");
}
