//! Criteria that name a test: it is looked for, run on what is delivered and, where it must fail
//! there, on the base; and reports say what shows each criterion.

use serde_json::json;

use crate::support::skip::skipped;
use crate::support::todo::{PRD, approve, task_work};
use crate::support::{Reply, Sandbox, at};

/// A session whose PRD names these tests, in this order, one a requirement.
pub fn names(sandbox: &Sandbox, tests: &[&str]) {
    let mut prd = PRD.to_owned();
    let criteria = ["Add a todo works", "List todos works", "Tick a todo off works"];
    for (test, criterion) in tests.iter().zip(criteria) {
        let named = format!("{criterion} `{test}`");
        prd = prd.replacen(&format!("- {criterion}\n"), &format!("- {named}\n"), 1);
    }
    let draft = Reply::call("save_prd_doc", json!({"content": prd}));
    sandbox.server.on(at("prd", "actor").turn(1), draft);
}

/// Writes files.
fn write(files: &[(&str, &str)]) -> Reply {
    let call = |(path, content): &(&str, &str)| json!({"path": path, "content": content});
    let first = Reply::call("write_file", call(&files[0]));
    files[1..].iter().fold(first, |reply, file| reply.and("write_file", call(file)))
}

/// The first task writes these files, too.
pub fn first_task_writes(sandbox: &Sandbox, files: &[(&str, &str)]) {
    let replies = vec![write(files), task_work("TASK-001"), Reply::text("Done.")];
    sandbox.server.sequence(at("coding", "actor").task("TASK-001"), replies);
}

/// The second draft of coding writes these files; its critic agrees.
pub fn second_draft_writes(sandbox: &Sandbox, files: &[(&str, &str)]) {
    sandbox.server.on(at("coding", "actor").iteration(2).turn(1), write(files));
    sandbox.server.on(at("coding", "actor").iteration(2).turn(2), Reply::text("Fixed."));
    sandbox.server.on(at("coding", "critic").iteration(2), approve());
}

/// What the coding commit says of the tests.
pub fn became(sandbox: &Sandbox) -> Vec<String> {
    results_of(sandbox, &sandbox.stage_commit("coding"))
}

/// The result of each test, from the log that a commit names.
pub fn results_of(sandbox: &Sandbox, commit: &str) -> Vec<String> {
    let log = sandbox.test_log(commit);
    log.lines().take_while(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn assert_no_other_working_tree(sandbox: &Sandbox) {
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
}

const CALC: &str = "def add(a, b):\n    return a + b\n";
const TEST_CALC: &str = "import unittest\n\nclass Sums(unittest.TestCase):\n    def test_adds(self):\n        from calc import add\n        self.assertEqual(add(1, 2), 3)\n\n    def test_is_there(self):\n        self.assertTrue(True)\n";

#[test]
fn each_criterion_says_which_test_shows_it_or_whose_review() {
    let sandbox = Sandbox::new();
    sandbox.write("tests/test_old.py", "import unittest\n");
    sandbox.commit_all("a Python project");
    let tests = ["!tests/test_calc.py::Sums::test_adds", "tests/test_calc.py::Sums.test_is_there"];
    names(&sandbox, &tests);
    first_task_writes(&sandbox, &[("calc.py", CALC), ("tests/test_calc.py", TEST_CALC)]);
    let told = sandbox.auto(&[]).exits(0).stderr;
    assert!(!told.contains("new tests in"), "a test that a criterion names is asked for: {told}");
    assert_eq!(
        became(&sandbox),
        [
            "tests/test_calc.py::Sums.test_is_there: passed",
            "tests/test_calc.py::Sums::test_adds: passed, failed on the base",
        ]
    );
    assert_eq!(sandbox.read("calc.py"), CALC, "the base was looked at");
    let coding = sandbox.stage_commit("coding");
    let runs = sandbox.test_log(&coding);
    let run =
        "PYTHONPATH=tests${PYTHONPATH:+:$PYTHONPATH} python3 -m unittest -v -b test_calc.Sums.";
    let ran: Vec<_> = runs.lines().filter_map(|line| line.strip_prefix(run)).collect();
    assert!(ran[0].starts_with("test_is_there test_calc.Sums.test_adds: exit 0, tree "), "{runs}");
    assert!(ran[1].starts_with("test_adds: exit 1, tree "), "{runs}");
    // The base is what the session found, with the tests as they are now.
    let on_base = ran[1].rsplit(", tree ").next().unwrap();
    let names = sandbox.git(&["ls-tree", "-r", "--name-only", on_base]);
    assert!(names.contains("tests/test_calc.py"), "{names}");
    assert!(!names.lines().any(|name| name == "calc.py"), "{names}");
    assert_no_other_working_tree(&sandbox);
    let check = sandbox.artifact("check_report.md");
    let delivered = sandbox.artifact("delivery_report.md");
    for (report, criterion) in [(&check, "  - REQ-001: "), (&delivered, "  - ")] {
        let line = format!(
            "{criterion}Add a todo works (`tests/test_calc.py::Sums::test_adds` passed, failed on the base)"
        );
        let flat = report.replace("\n    ", " ");
        assert!(flat.contains(&line), "{report}");
        assert!(report.contains("Tick a todo off works (by review)\n"), "{report}");
        assert!(report.contains("Judged in review by the critic"), "{report}");
    }
    let critic = sandbox.server.requests_of("coding", "critic")[0].text();
    assert!(critic.contains("- REQ-002: tests/test_calc.py::Sums.test_is_there: passed\n"));
    sandbox.assert_sound();
}

#[test]
fn what_only_the_working_tree_has_is_not_missing_on_the_base() {
    let sandbox = Sandbox::new();
    sandbox.write("tests/test_old.py", "import unittest\n");
    sandbox.write(".gitignore", "/made.txt\n__pycache__\n");
    sandbox.commit_all("a Python project");
    sandbox.write("made.txt", "by hand\n");
    names(&sandbox, &["!tests/test_calc.py::test_adds", "!tests/test_calc.py::test_made"]);
    let made = "class Sums(unittest.TestCase):\n    def test_made(self):\n        open('made.txt').close()\n\n";
    let both = TEST_CALC.replace("class Sums(unittest.TestCase):\n", made);
    let with_code = both.replace("close()", "close()\n        import calc");
    first_task_writes(&sandbox, &[("calc.py", CALC), ("tests/test_calc.py", &both)]);
    second_draft_writes(&sandbox, &[("tests/test_calc.py", &with_code)]);
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let shows_nothing = "tests/test_calc.py::test_made fails without this session's code, and it \
                         passes there, too";
    assert!(flat.contains(shows_nothing), "{told}");
    assert_eq!(
        became(&sandbox),
        [
            "tests/test_calc.py::test_adds: passed, failed on the base",
            "tests/test_calc.py::test_made: passed, failed on the base",
        ]
    );
    assert_eq!(sandbox.read("calc.py"), CALC);
    assert_no_other_working_tree(&sandbox);
    sandbox.assert_sound();
}

#[test]
fn a_killed_look_at_the_base_is_done_again() {
    let sandbox = Sandbox::new();
    sandbox.write("tests/test_old.py", "import unittest\n");
    sandbox.commit_all("a Python project");
    names(&sandbox, &["!tests/test_calc.py::test_adds"]);
    first_task_writes(&sandbox, &[("calc.py", CALC), ("tests/test_calc.py", TEST_CALC)]);
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_git-cowork"));
    command.env("COWORK_TEST_ABORT_AT", "checks.laid-out:3");
    let ended = command.args(["resume", "--review", "auto"]).output().unwrap();
    assert!(!ended.status.success(), "{ended:?}");
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
    let calc = "tests/test_calc.py::test_adds: passed, failed on the base";
    assert_eq!(became(&sandbox), [calc]);
    assert_no_other_working_tree(&sandbox);
    sandbox.assert_sound();
}

#[test]
fn a_test_that_is_missing_or_shows_nothing_goes_back_to_coding() {
    let sandbox = Sandbox::new();
    sandbox.write("tests/test_old.py", "import unittest\n");
    sandbox.commit_all("a Python project");
    let tests = ["!tests/test_calc.py::test_adds", "!tests/test_calc.py::test_is_there"];
    names(&sandbox, &tests);
    let none = TEST_CALC.replace("test_adds", "test_sums");
    first_task_writes(&sandbox, &[("calc.py", CALC), ("tests/test_calc.py", &none)]);
    let both = TEST_CALC.replace("self.assertTrue(True)", "__import__('calc').add(1, 2)");
    second_draft_writes(&sandbox, &[("tests/test_calc.py", &both)]);
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "REQ-001 names the test tests/test_calc.py::test_adds, which was not found: \
         tests/test_calc.py contains no test of that name; it contains test_sums, test_is_there",
        "REQ-002 says that tests/test_calc.py::test_is_there fails without this session's code, \
         and it passes there, too",
    ] {
        assert!(flat.contains(said), "{said} in\n{told}");
    }
    let critics = sandbox.server.requests_of("coding", "critic");
    assert!(critics.iter().all(|request| request.iteration == 2), "asked before");
    assert_eq!(
        became(&sandbox),
        [
            "tests/test_calc.py::test_adds: passed, failed on the base",
            "tests/test_calc.py::test_is_there: passed, failed on the base",
        ]
    );
    sandbox.assert_sound();
}

#[test]
fn what_cargo_names_is_not_run_again() {
    let mut sandbox = Sandbox::new();
    // The toolchain itself: what chooses one looks into the home.
    let bin = std::path::Path::new(env!("CARGO")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&path)));
    sandbox.set_env("PATH", path.unwrap().to_str().unwrap());
    sandbox.write(
        "Cargo.toml",
        "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    sandbox.write("src/lib.rs", "");
    sandbox.write(".gitignore", "/target\nCargo.lock\n");
    sandbox.commit_all("a crate");
    sandbox.user_config(
        "[project]\nbuild = \"true\"\ntest = \"cargo test --offline\"\nlint = \"true\"\n",
    );
    let tests = ["!tests/adds.rs::adds", "!src/lib.rs::zero", "tests/more.rs::carries"];
    names(&sandbox, &tests);
    let lib = "pub fn add(a: u8, b: u8) -> u8 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn zero() {\n        assert_eq!(super::add(0, 0), 0);\n    }\n}\n";
    let adds = "#[test]\nfn adds() {\n    assert_eq!(sums::add(1, 2), 3);\n}\n\n#[test]\nfn carries() {}\n";
    let more = "#[test]\nfn carries() {}\n";
    first_task_writes(
        &sandbox,
        &[("src/lib.rs", lib), ("tests/adds.rs", adds), ("tests/more.rs", more)],
    );
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    assert_eq!(
        became(&sandbox),
        [
            "src/lib.rs::zero: passed, failed on the base (before it ran)",
            "tests/adds.rs::adds: passed, failed on the base (before it ran)",
            "tests/more.rs::carries: passed",
        ]
    );
    let coding = sandbox.stage_commit("coding");
    let all = &sandbox.trailers(&coding)["Cowork-Evidence"];
    let single = sandbox.test_log(&coding);
    let single = single.lines().filter(|line| line.contains(", tree "));
    let cargo: Vec<&str> = all
        .iter()
        .map(String::as_str)
        .chain(single)
        .filter(|run| run.starts_with("cargo"))
        .map(|run| run.split(", ").next().unwrap())
        .collect();
    // Two tests are called `carries`: that one passed is no evidence for the other.
    let expected = [
        "cargo test --offline: exit 0",
        "cargo test --test more -- --exact carries: exit 0",
        "cargo test --lib --bins -- --exact tests::zero: exit 101",
        "cargo test --test adds -- --exact adds: exit 101",
    ];
    assert_eq!(cargo, expected, "{all:?}");
    sandbox.assert_sound();
}

#[test]
fn tests_of_node_are_found_in_their_groups() {
    if std::process::Command::new("node").arg("--version").output().is_err() {
        return skipped("no node here: the tests of node that criteria name");
    }
    let sandbox = Sandbox::new();
    sandbox.write("package.json", "{\"scripts\": {\"test\": \"node --test\"}}\n");
    sandbox.commit_all("a package");
    names(&sandbox, &["!sums.test.js::sums > adds", "sums.test.js::outer", "sums.test.js::later"]);
    let sums = "exports.add = (a, b) => a + b;\n";
    let tests = |later: &str| {
        format!(
            "const {{ describe, it, test }} = require('node:test');\nconst assert = require('node:assert');\n\ndescribe('sums', () => {{\n  it('adds', () => assert.equal(require('./sums').add(1, 2), 3));\n}});\n\ntest('outer', () => {{}});\n\n{later}('later', () => {{}});\n"
        )
    };
    first_task_writes(&sandbox, &[("sums.js", sums), ("sums.test.js", &tests("test.skip"))]);
    second_draft_writes(&sandbox, &[("sums.test.js", &tests("test"))]);
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let skipped = "REQ-003 names the test sums.test.js::later, which was not found: node --test \
                   --test-reporter=spec --test-name-pattern='later$' sums.test.js did not run it";
    assert!(flat.contains(skipped), "{told}");
    assert_eq!(
        became(&sandbox),
        [
            "sums.test.js::later: passed",
            "sums.test.js::outer: passed",
            "sums.test.js::sums > adds: passed, failed on the base",
        ]
    );
    sandbox.assert_sound();
}

#[test]
fn a_change_request_need_not_fail_what_its_parent_showed() {
    let sandbox = Sandbox::new();
    sandbox.write("tests/test_old.py", "import unittest\n");
    sandbox.commit_all("a Python project");
    names(&sandbox, &["!tests/test_calc.py::test_adds"]);
    first_task_writes(&sandbox, &[("calc.py", CALC), ("tests/test_calc.py", TEST_CALC)]);
    sandbox.auto(&[]).exits(0);
    let change = json!({
        "summary": "Say hello", "risk": "low",
        "scope": {"prd": false, "design": false, "plan": false, "code": true},
        "affected_components": [], "affected_files": ["hello.txt"], "constraints": [],
        "acceptance_criteria": ["hello.txt says hello"],
    });
    sandbox.server.on(at("triage", "actor").turn(1), Reply::call("save_change_request", change));
    sandbox.server.on(at("coding", "actor").turn(1), write(&[("hello.txt", "hello\n")]));
    sandbox.cowork(&["modify", "say hello", "--review", "auto", "-n", "hello"]).exits(0);
    let coding = sandbox.commit_of("cowork/todo--hello", "coding: 1 file");
    let left = "left to the suite (python3 -m unittest discover -s tests passed)";
    let calc = format!("tests/test_calc.py::test_adds: {left}");
    assert_eq!(results_of(&sandbox, &coding), [calc]);
}
