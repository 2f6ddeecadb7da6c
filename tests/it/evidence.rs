//! What the program runs itself: build, tests and lint, before the first change, at each task and
//! at the whole draft; what of it is new; and what becomes of tests.

use serde_json::json;

use crate::support::todo::{self, approve, task_work};
use crate::support::{Reply, Sandbox, at};

/// Writes a file.
fn write(path: &str, content: &str) -> Reply {
    Reply::call("write_file", json!({"path": path, "content": content}))
}

/// The second draft of coding begins with this; its critic agrees.
fn second_draft(sandbox: &Sandbox, work: Reply) {
    sandbox.server.on(at("coding", "actor").iteration(2).turn(1), work);
    sandbox.server.on(at("coding", "actor").iteration(2).turn(2), Reply::text("Fixed."));
    sandbox.server.on(at("coding", "critic").iteration(2), approve());
}

/// A test command that always fails with the test `old`, and with `new` once `lib/add.sh` is there
/// and `fix.txt` is not.
const SUITE: &str = "echo 'test old ... FAILED'
[ ! -e lib/add.sh ] || [ -e fix.txt ] || echo 'test new ... FAILED'
exit 1
";

#[test]
fn only_new_failures_go_back_and_before_the_critic_is_asked() {
    let sandbox = Sandbox::new();
    sandbox.commit_file("suite.sh", SUITE, "a suite that fails");
    sandbox.user_config("[project]\ntest = \"sh suite.sh\"\n");
    second_draft(&sandbox, write("fix.txt", "fixed\n"));
    let told = sandbox.auto(&[]).exits(0).stderr;
    assert!(told.contains("these already fail before the first change"), "{told}");
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let feedback = "failed (sh suite.sh, exit 1); newly failing: new; it printed:";
    assert!(flat(&told).contains(feedback), "{told}");
    let actor = sandbox.server.requests_of("coding", "actor");
    assert!(actor[0].text().contains("- `sh suite.sh`: exit 1: old"), "{}", actor[0].text());
    let critic = sandbox.server.requests_of("coding", "critic");
    assert!(critic.iter().all(|request| request.iteration == 2), "asked about what fails");
    assert!(critic[0].text().contains("as before the session changed anything: old"));
    let trailers = sandbox.trailers(&sandbox.stage_commit("coding"));
    assert_eq!(trailers["Cowork-Checks"], ["failed (sh suite.sh, exit 1, as before)"]);
    let report = sandbox.artifact("check_report.md");
    assert!(report.contains("it failed like this before the session: old"), "{report}");
    sandbox.assert_sound();
}

#[test]
fn build_tests_and_lint_are_run_in_this_order_and_their_logs_are_named() {
    let sandbox = Sandbox::new();
    sandbox.commit_file(".gitignore", "out/\n", "ignore");
    sandbox.commit_file(
        "run.sh",
        "mkdir -p out && echo $1 >>out/runs\ncase $1 in
build) [ ! -e todo.sh ] || [ -e fix.txt ];;
test) echo 'all is well';;
lint) ! grep -rn FIXME lib;;
esac\n",
        "commands",
    );
    sandbox.user_config(
        "[project]\nbuild = \"sh run.sh build\"\ntest = \"sh run.sh test\"\nlint = \"sh run.sh lint\"\n",
    );
    // The build breaks with the last task; what fixes it is what the linter does not like.
    let both = write("fix.txt", "fixed\n")
        .and("write_file", json!({"path": "lib/more.sh", "content": "# FIXME\n"}));
    second_draft(&sandbox, both);
    sandbox.server.on(at("coding", "actor").iteration(3).turn(1), write("lib/more.sh", "# Fine\n"));
    sandbox.server.on(at("coding", "actor").iteration(3).turn(2), Reply::text("Fixed."));
    sandbox.server.on(at("coding", "critic").iteration(3), approve());
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let all = ["build", "test", "lint"];
    // Before the first change, four tasks, the fifth with a build that breaks, two corrections.
    let mut expected = all.repeat(5);
    expected.push("build");
    expected.extend(all.repeat(2));
    assert_eq!(sandbox.read_of_checks("out/runs").lines().collect::<Vec<_>>(), expected);
    let history = sandbox.artifact("feedback_history.json");
    let entries: serde_json::Value = serde_json::from_str(&history).unwrap();
    let said = |n: usize| {
        let entry = &entries[n];
        [&entry["feedback_type"], &entry["severity"]].map(|text| text.as_str().unwrap().to_owned())
    };
    assert_eq!(said(0), ["build_error", "critical"], "{history}");
    assert_eq!(said(1), ["quality_issue", "major"], "{history}");
    let task = sandbox.trailers(&sandbox.commit_of("cowork/todo", "coding: TASK-005 "));
    assert_eq!(task["Cowork-Checks"], ["failed (sh run.sh build, exit 1)"]);
    assert!(task["Cowork-Evidence"][0].starts_with("sh run.sh build: exit 1, log "), "{task:?}");
    let commit = sandbox.stage_commit("coding");
    let trailers = sandbox.trailers(&commit);
    let passed =
        "passed (sh run.sh build, sh run.sh lint); passed, tests not counted (sh run.sh test)";
    assert_eq!(trailers["Cowork-Checks"], [passed]);
    let evidence = &trailers["Cowork-Evidence"];
    assert_eq!(evidence.len(), 3, "{evidence:?}");
    let ids = evidence[1].strip_prefix("sh run.sh test: exit 0, log ").unwrap();
    let (log, tree) = ids.split_once(", tree ").unwrap();
    let code = ["diff", "--name-only", tree, &commit, "--", ":!.cowork"];
    assert_eq!(sandbox.git(&code), "", "it ran on something else");
    let log = sandbox.git(&["cat-file", "-p", log]);
    assert!(log.starts_with("$ sh run.sh test\ntree ") && log.contains("\nall is well\n"), "{log}");
    sandbox.assert_sound();
}

#[test]
fn tests_the_actor_had_run_are_not_run_again() {
    let sandbox = Sandbox::new();
    sandbox.commit_file(".gitignore", "out/\n", "ignore");
    sandbox.user_config("[project]\ntest = \"mkdir -p out && echo run >>out/runs\"\n");
    sandbox.server.sequence(
        at("coding", "actor").task("TASK-001"),
        vec![
            task_work("TASK-001"),
            Reply::call("check_tests", json!({})),
            Reply::text("It is done and tested."),
        ],
    );
    sandbox.auto(&[]).exits(0);
    // Before the first change, by the tool, and at four more tasks, the last of which is the draft.
    // The check stage has the same code.
    assert_eq!(sandbox.read_of_checks("out/runs").lines().count(), 1 + 1 + 4);
    for task in ["TASK-001", "TASK-002"] {
        let commit = sandbox.commit_of("cowork/todo", &format!("coding: {task} "));
        assert_eq!(
            sandbox.trailers(&commit)["Cowork-Checks"],
            ["passed, tests not counted (mkdir -p out && echo run >>out/runs)"]
        );
    }
    let evidence = ["coding", "check"]
        .map(|stage| sandbox.trailers(&sandbox.stage_commit(stage))["Cowork-Evidence"].clone());
    assert_eq!(evidence[0], evidence[1]);
}

/// Tests as a session finds them, and as its first task leaves them.
const TESTS: [&str; 2] = [
    "def test_a():\n    assert 1\n    assert 2\n\ndef test_b():\n    assert 3\n\ndef test_c():\n    assert 4\n",
    "import pytest\n\ndef test_a():\n    assert 1\n\n@pytest.mark.skip\ndef test_b():\n    assert 3\n",
];

/// What is said of that.
const WEAKER: [&str; 3] = [
    "tests/test_a.py: test_a: fewer assertions (2 → 1)",
    "tests/test_a.py: test_b: skipped",
    "tests/test_a.py: test_c: deleted",
];

#[test]
fn deleted_and_weakened_tests_are_named_to_everybody() {
    let sandbox = Sandbox::new();
    sandbox.commit_file("tests/test_a.py", TESTS[0], "tests");
    // Nothing can be run here; what became of the tests is told all the same.
    sandbox.user_config("[project]\ntest = \"no-such-program-here\"\n");
    sandbox.server.sequence(
        at("coding", "actor").task("TASK-001"),
        vec![write("tests/test_a.py", TESTS[1]), task_work("TASK-001"), Reply::text("Done.")],
    );
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    let mut terminal = sandbox.terminal(&["resume", "--review", "ask"]);
    let shown = terminal.sees("p pass ");
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let report = sandbox.artifact("check_report.md");
    let mechanical = report.split("## What the program checked itself").nth(1).unwrap();
    let critic = sandbox.server.requests_of("coding", "critic")[0].text();
    let check = sandbox.server.requests_of("check", "actor")[0].text();
    for line in WEAKER {
        // What a terminal is sent comes back byte by byte.
        let ascii = line.split(" (").next().unwrap();
        assert!(flat.contains(&format!("! test: {ascii}")), "{shown}");
        assert!(mechanical.contains(&format!("  - {line}\n")), "{report}");
        assert!(critic.contains(&format!("- test: {line}\n")), "{critic}");
        assert!(check.contains(&format!("- test: {line}\n")), "{check}");
        let delivered = sandbox.artifact("delivery_report.md");
        let weakened = delivered.split("## Weakened tests\n").nth(1).unwrap();
        assert!(weakened.contains(&format!("\n- {line}\n")), "{delivered}");
        assert!(delivered.contains("\nJudged in review by the critic, and by "), "{delivered}");
    }
    sandbox.assert_sound();
}

#[test]
fn a_ruby_project_is_tested_by_its_own_command_and_its_tests_are_compared() {
    let sandbox = Sandbox::new();
    let fails = "[ ! -e lib/add.sh ] || [ -e fix.txt ] || { printf '  1) Failure:\\n'; \
                 echo 'SumTest#test_adds [test/sum_test.rb:3]:'; exit 1; }";
    sandbox.executable(&sandbox.path("bin/rails"), fails);
    let test = |name: &str| format!("  def test_{name}\n    assert_equal 2, 1 + 1\n  end\n");
    let class = |tests: &str| format!("class SumTest < Minitest::Test\n{tests}end\n");
    let both = class(&format!("{}\n{}", test("adds"), test("carries")));
    let one = class(&test("adds").replace("    assert", "    skip\n    assert"));
    sandbox.write("test/sum_test.rb", &both);
    sandbox.write("Gemfile", "gem 'rails'\n");
    sandbox.commit_all("a Ruby project");
    let replies =
        vec![write("test/sum_test.rb", &one), task_work("TASK-001"), Reply::text("Done.")];
    sandbox.server.sequence(at("coding", "actor").task("TASK-001"), replies);
    second_draft(&sandbox, write("fix.txt", "fixed\n"));
    let told = sandbox.auto(&["--stop-after", "check"]).exits(0).stderr;
    let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let new = "failed (bin/rails test, exit 1); newly failing: SumTest#test_adds; it printed:";
    assert!(flat.contains(new), "{told}");
    let actor = sandbox.server.requests_of("coding", "actor")[0].text();
    assert!(actor.contains("\nRuby:\n\n- Layout: "), "{actor}");
    let report = sandbox.artifact("check_report.md");
    for line in ["SumTest › test_adds: skipped", "SumTest › test_carries: deleted"] {
        assert!(report.contains(&format!("  - test/sum_test.rb: {line}\n")), "{report}");
    }
    sandbox.assert_sound();
}

#[test]
fn tests_of_its_own_that_a_correction_weakens_are_named_too() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[project]\ntest = \"no-such-program-here\"\n");
    let replies =
        vec![write("tests/test_a.py", TESTS[0]), task_work("TASK-001"), Reply::text("Done.")];
    sandbox.server.sequence(at("coding", "actor").task("TASK-001"), replies);
    sandbox.server.times(1, at("coding", "critic").iteration(1), todo::reject("test_a fails"));
    let delete = Reply::call("delete_file", json!({"path": "tests/test_a.py"}));
    second_draft(&sandbox, delete);
    sandbox.auto(&["--stop-after", "check"]).exits(0);
    let report = sandbox.artifact("check_report.md");
    let gone = "  - tests/test_a.py: deleted with 3 tests (test_a, test_b, test_c)\n";
    assert!(report.contains(gone), "{report}");
}

#[test]
fn a_session_that_leaves_tests_alone_says_so() {
    let sandbox = Sandbox::new();
    sandbox.commit_file("tests/test_a.py", TESTS[0], "tests");
    let told = sandbox.auto(&["--stop-after", "check"]).exits(0).stderr;
    assert!(!told.contains("test_a"), "{told}");
    let report = sandbox.artifact("check_report.md");
    assert!(report.contains("no test was deleted, skipped or weakened"), "{report}");
}

#[test]
fn tests_nobody_wants_are_refused_or_pointed_out() {
    let unasked = || {
        let sandbox = Sandbox::new();
        let both = write("test_todo.py", TESTS[0]);
        let replies = vec![both, task_work("TASK-001"), Reply::text("Done.")];
        sandbox.server.sequence(at("coding", "actor").task("TASK-001"), replies);
        sandbox
    };
    let never = unasked();
    never.user_config("[project]\ntests = \"never\"\n");
    second_draft(&never, Reply::call("delete_file", json!({"path": "test_todo.py"})));
    let told = never.auto(&["--stop-after", "coding"]).exits(0).stderr;
    assert!(told.contains("new tests in test_todo.py"), "{told}");
    assert!(!never.exists("test_todo.py"));
    let asked = unasked();
    asked.auto(&["--stop-after", "plan"]).exits(0);
    let mut terminal = asked.terminal(&["resume", "--stop-after", "coding"]);
    terminal.sees("! new tests in test_todo.py");
    terminal.sees("p pass ");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    let coding = asked.stage_commit("coding");
    assert_eq!(asked.trailers(&coding)["Cowork-Iterations"], ["1"]);
    // Where python runs these tests, it leaves nothing beside them.
    assert!(!asked.tree(&coding).contains(".pyc"), "bytecode was recorded");
    assert!(todo::TASKS.iter().all(|task| asked.exists(task.2)));
}

#[test]
fn a_runner_that_ran_no_test_is_neither_a_pass_nor_a_failure() {
    let sandbox = Sandbox::new();
    sandbox.commit_file(
        "suite.sh",
        "echo '==== no tests ran in 0.01s ===='\nexit 5\n",
        "a suite without tests",
    );
    sandbox.user_config("[project]\ntest = \"sh suite.sh\"\n");
    let told = sandbox.auto(&[]).exits(0).stderr;
    assert!(told.contains("no tests (pytest)"), "{told}");
    for stage in ["coding", "check"] {
        let trailers = sandbox.trailers(&sandbox.stage_commit(stage));
        assert_eq!(trailers["Cowork-Checks"], ["no tests (pytest)"], "{stage}");
    }
    let report = sandbox.artifact("delivery_report.md");
    assert!(report.contains("no tests (pytest)"), "{report}");
    assert!(!report.contains("sh suite.sh` passed"), "{report}");
    assert!(sandbox.artifact("check_report.md").contains("no tests (pytest)"));
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn tests_that_passed_uncounted_are_said_to_be_so() {
    for (output, how) in [
        ("all is well", "passed, tests not counted (sh suite.sh)"),
        ("==== 3 passed in 0.01s ====", "passed (sh suite.sh)"),
        ("Ran 3 tests in 0.01s\n\nOK", "passed (sh suite.sh)"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.commit_file("suite.sh", &format!("echo '{output}'\n"), "a suite");
        sandbox.user_config("[project]\ntest = \"sh suite.sh\"\n");
        sandbox.auto(&["--stop-after", "check"]).exits(0);
        let is_counted = how.starts_with("passed (");
        let status = sandbox.cowork(&["status"]).exits(0).stdout;
        let (code, told) = sandbox.terminal(&["resume", "--review", "auto"]).ends();
        assert_eq!(code, 0, "{told}");
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        for stage in ["coding", "check"] {
            let trailers = sandbox.trailers(&sandbox.stage_commit(stage));
            assert_eq!(trailers["Cowork-Checks"], [how], "{stage}");
        }
        let report = sandbox.artifact("delivery_report.md");
        assert!(report.contains(&format!("## Checks\n\n{how}, run by git-cowork")), "{report}");
        for text in [sandbox.artifact("check_report.md"), status, told] {
            assert_eq!(text.contains("tests not counted"), !is_counted, "{text}");
        }
        // They passed all the same.
        assert!(report.contains("verified by the check"), "{report}");
    }
}

/// A project whose tests need a file that no commit holds, and whose runner is in `node_modules`.
const RUNNER: &str = "[ -e lib/made/up ] || [ -e mine.txt ] || [ -d lib/unittest ] || [ -e lib/target/passes ] || \
    { grep -q mine lib/data.txt || { echo 'test old ... FAILED'; exit 1; }; }\n";

/// At every level of confinement that the machine has, as root and as an ordinary user.
fn everywhere(check: impl Fn(Sandbox, &str)) {
    for level in ["namespaces", "landlock", "none"] {
        Sandbox::of_everybody().for_each(|mut sandbox| {
            sandbox.set_env("COWORK_TEST_SANDBOX", level);
            sandbox.write(".gitignore", "node_modules/\nunittest/\ntarget/\nmade/\n");
            sandbox.write("lib/data.txt", "ours\n");
            sandbox.commit_all("a project");
            sandbox.executable(&sandbox.path("node_modules/.bin/runner"), RUNNER);
            sandbox.user_config("[project]\ntest = \"node_modules/.bin/runner\"\n");
            check(sandbox, level);
        });
    }
}

/// What the commit of the first task says of the tests.
fn first_checks(sandbox: &Sandbox) -> String {
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-001 ");
    sandbox.trailers(&commit)["Cowork-Checks"].join("; ")
}

const AS_BEFORE: &str = "failed (node_modules/.bin/runner, exit 1, as before)";

#[test]
fn what_a_command_leaves_beside_the_code_decides_no_check() {
    everywhere(|sandbox, level| {
        let plant = "echo 'exit 0' >node_modules/.bin/runner; cd lib && mkdir -p unittest target made && \
                     touch unittest/__init__.py target/passes made/up";
        let plant = Reply::call("run_command", json!({"command": plant}));
        let calls = vec![plant, task_work("TASK-001"), Reply::text("Done.")];
        sandbox.server.sequence(at("coding", "actor").task("TASK-001"), calls);
        sandbox.auto(&["--stop-after", "coding"]).exits(0);
        assert!(sandbox.exists("lib/made/up"), "{level}: the command did not run");
        assert_eq!(first_checks(&sandbox), AS_BEFORE, "{level}");
    });
}

#[test]
fn tests_do_not_pass_by_a_persons_uncommitted_files() {
    everywhere(|sandbox, level| {
        sandbox.write("mine.txt", "mine\n");
        sandbox.write("lib/data.txt", "mine\n");
        sandbox.auto(&["--stop-after", "coding"]).exits(0);
        assert_eq!(first_checks(&sandbox), AS_BEFORE, "{level}");
        assert_eq!(sandbox.read("lib/data.txt"), "mine\n", "{level}");
    });
}

#[test]
fn changed_settings_of_a_runner_are_named() {
    let sandbox = Sandbox::new();
    let calls =
        vec![write("pytest.ini", "[pytest]\n"), task_work("TASK-001"), Reply::text("Done.")];
    sandbox.server.sequence(at("coding", "actor").task("TASK-001"), calls);
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    assert!(told.contains("pytest.ini: it decides how tests run, and changed"), "{told}");
}
