//! What is shown of the output of commands: plain text in whole lines, what failed first; and what
//! models are told of commands before they write one.

use serde_json::{Value, json};

use crate::support::todo::task_work;
use crate::support::{Reply, Sandbox, at};

/// Fails once a task is done: the failure is in colour and far from both ends of much output.
const SUITE: &str = r"noise() {
    i=0
    while [ $i -lt 1500 ]; do
        i=$((i + 1))
        printf 'test passes::number_%d ... \033[32mok\033[0m\n' $i
    done
}
printf '\033]0;a title\007compiling 1%%\rcompiling 100%%\n'
noise
[ -e fix.txt ] || [ ! -e lib/add.sh ] || {
    printf 'test \033[1;31mbroken\033[0m ... \033[31mFAILED\033[0m\n'
    printf '\033]8;;file:///x\033\\assertion failed: 1 == 2\033]8;;\033\\\n'
    noise
    echo 'test result: FAILED. 3000 passed; 1 failed'
    exit 1
}
";

/// Every line of the output, as a person reads it.
fn is_whole(line: &str) -> bool {
    let number = line.strip_prefix("test passes::number_").and_then(|l| l.strip_suffix(" ... ok"));
    match number {
        Some(number) => number.parse().is_ok_and(|n: u32| (1..=1500).contains(&n)),
        None => {
            let mark = line.starts_with("[… ") && line.ends_with(" left out …]");
            let others = [
                "",
                "compiling 100%",
                "test broken ... FAILED",
                "assertion failed: 1 == 2",
                "test result: FAILED. 3000 passed; 1 failed",
            ];
            mark || others.contains(&line)
        }
    }
}

fn assert_excerpt(text: &str, what: &str) {
    assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{what}: {text:?}");
    assert!(text.contains("test broken ... FAILED\nassertion failed: 1 == 2\n"), "{what}: {text}");
    assert!(text.contains("test result: FAILED. 3000 passed; 1 failed"), "{what}: {text}");
    assert!(text.lines().all(is_whole), "{what}: {text}");
    assert!(text.len() < 12_000, "{what}: {} bytes", text.len());
}

#[test]
fn excerpts_are_whole_plain_lines_and_what_failed_comes_first() {
    let sandbox = Sandbox::new();
    sandbox.commit_file("suite.sh", SUITE, "a suite");
    sandbox.user_config("[project]\ntest = \"sh suite.sh\"\n");
    let looks = Reply::call("run_command", json!({"command": "sh suite.sh"}))
        .and("check_tests", json!({}))
        .and("run_command", json!({"command": "cat suite.sh"}));
    let fix = Reply::call("write_file", json!({"path": "fix.txt", "content": "fixed\n"}));
    sandbox.server.sequence(
        at("coding", "actor").iteration(2),
        vec![looks, fix, Reply::text("It is fixed.")],
    );
    sandbox.server.on(at("coding", "critic").iteration(2), crate::support::todo::approve());
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    // Feedback, which the next draft is sent, too.
    let history: Vec<Value> =
        serde_json::from_str(&sandbox.artifact("feedback_history.json")).unwrap();
    let details = history[0]["details"].as_str().unwrap();
    let (head, output) = details.split_once('\n').unwrap();
    assert_eq!(head, "failed (sh suite.sh, exit 1); newly failing: broken; it printed:");
    assert_excerpt(output, "feedback");
    assert!(!output.contains("... ok"), "{output}");
    assert!(output.len() < 3_200, "{}", output.len());
    let requests = sandbox.server.requests_of("coding", "actor");
    let second: Vec<_> = requests.iter().filter(|request| request.iteration == 2).collect();
    assert!(second[0].text().contains("test broken ... FAILED"), "{}", second[0].text());
    // Tools.
    let results = second[1].tool_results();
    for (result, what) in results.iter().zip(["run_command", "check_tests"]) {
        let (_, output) = result.split_once("\nstdout:\n").unwrap();
        assert_excerpt(output, what);
    }
    assert!(results[2].contains(r"printf 'test \033[1;31mbroken"), "{}", results[2]);
    // The log, where a person looks.
    let task = sandbox.trailers(&sandbox.commit_of("cowork/todo", "coding: TASK-002 "));
    let evidence = task["Cowork-Evidence"][0].split_once(", log ").unwrap().1;
    let log = sandbox.git(&["cat-file", "-p", evidence.split(',').next().unwrap()]);
    assert!(log.contains("\ncompiling 100%\n") && log.contains("\ntest broken ... FAILED\n"));
    assert!(!log.contains('\u{1b}') && log.lines().count() > 3_000);
    sandbox.assert_sound();
}

#[test]
fn tools_that_run_commands_say_what_these_may_reach() {
    let before = Sandbox::stopped_after("plan");
    before.write("../shared/x", "");
    let shared = before.path("../shared").canonicalize().unwrap();
    let shared = shared.to_str().unwrap();
    for (config, network) in [("", false), ("network = true\n", true)] {
        let sandbox = before.fork();
        sandbox.user_config(&format!("[sandbox]\nwritable = [\"{shared}\"]\n{config}"));
        let only = json!({"reason": "that is all that is looked at"});
        let work = task_work("TASK-001").and("request_human_review", only);
        sandbox.server.on(at("coding", "actor").task("TASK-001").turn(1), work);
        sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(3);
        let asked = sandbox.server.requests_of("coding", "actor");
        let tools = asked[0].body["tools"].as_array().unwrap();
        let of = |name: &str| {
            let tool = tools.iter().find(|tool| tool["function"]["name"] == name).unwrap();
            tool["function"]["description"].as_str().unwrap().to_owned()
        };
        let told = of("run_command");
        assert_eq!(told.contains("There is no network."), !network, "{told}");
        let writable = format!(
            "Writable besides the project: $HOME (private, for caches), $TMPDIR, {shared}."
        );
        assert!(told.ends_with(&writable), "{told}");
        assert!(!of("edit_file").contains("Writable"));
    }
}
