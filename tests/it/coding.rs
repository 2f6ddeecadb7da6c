//! What a model may do to the working tree, and what of it is committed.

use serde_json::{Value, json};

use crate::support::todo::task_work;
use crate::support::{Reply, Sandbox, at};

/// The first task begins with these calls, one a turn, and then does its work.
fn first_task_calls(sandbox: &Sandbox, calls: &[(&str, Value)]) {
    let mut replies: Vec<_> =
        calls.iter().map(|(tool, arguments)| Reply::call(tool, arguments.clone())).collect();
    replies.push(task_work("TASK-001"));
    replies.push(Reply::text("The task is done."));
    sandbox.server.sequence(at("coding", "actor").task("TASK-001"), replies);
}

/// What the first task's calls were answered, in order.
fn answers(sandbox: &Sandbox) -> Vec<String> {
    let requests = sandbox.server.requests_of("coding", "actor");
    let first = requests.iter().filter(|r| r.task.as_deref() == Some("TASK-001") && r.turn > 1);
    first.map(|r| r.tool_results().join("\n")).collect()
}

fn command(text: &str) -> (&'static str, Value) {
    ("run_command", json!({"command": text}))
}

/// Paths the first task's commit changed.
fn first_task_paths(sandbox: &Sandbox) -> Vec<String> {
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-001 ");
    let paths = sandbox.git(&["diff", "--name-only", &format!("{commit}^"), &commit]);
    paths.lines().filter(|p| !p.starts_with(".cowork/")).map(str::to_owned).collect()
}

#[test]
fn file_tools_stay_inside_and_out_of_git() {
    let sandbox = Sandbox::new();
    let write = |path: &str| ("write_file", json!({"path": path, "content": "owned"}));
    let outside = [
        "ROOT/outside.txt",
        "../outside.txt",
        "lib/../../outside.txt",
        ".git/hooks/pre-commit",
        ".GIT/config",
        ".cowork/sessions/todo/prd.md",
        ".cowork/config.toml",
    ];
    for path in outside {
        let sandbox = sandbox.fork();
        let root = sandbox.root().display().to_string();
        first_task_calls(&sandbox, &[write(&path.replace("ROOT", &root))]);
        sandbox.auto(&["--stop-after", "coding"]).exits(0);
        assert!(!sandbox.exists("../outside.txt"), "{path}");
        assert!(!sandbox.exists(".git/hooks/pre-commit"), "{path}");
        assert!(!sandbox.artifact("prd.md").contains("owned"), "{path}");
        assert!(!sandbox.read(".git/config").contains("owned"), "{path}");
        assert!(!sandbox.exists(".cowork/config.toml"), "{path}");
        assert_eq!(first_task_paths(&sandbox), ["lib/store.sh"], "{path}");
        assert!(!answers(&sandbox)[0].is_empty(), "{path}");
    }
}

#[test]
fn a_link_leads_nowhere_else() {
    let sandbox = Sandbox::new();
    sandbox.write("../outside.txt", "theirs\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink("../outside.txt", sandbox.path("link.txt")).unwrap();
    sandbox.commit_all("a link");
    let owned = json!({"path": "link.txt", "content": "owned"});
    first_task_calls(
        &sandbox,
        &[("write_file", owned), ("read_file", json!({"path": "link.txt"}))],
    );
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    assert_eq!(sandbox.read("../outside.txt"), "theirs\n");
    assert!(!answers(&sandbox)[1].contains("theirs"));
}

#[test]
fn commands_see_no_key() {
    let sandbox = Sandbox::new();
    first_task_calls(&sandbox, &[command("env; echo the end")]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let told = &answers(&sandbox)[0];
    assert!(told.contains("the end"), "{told}");
    assert!(!told.contains("test-key") && !told.contains("COWORK_LLM"), "{told}");
}

#[test]
fn a_command_tells_its_exit_code_and_both_outputs() {
    let sandbox = Sandbox::new();
    first_task_calls(&sandbox, &[command("echo out; echo err >&2; exit 7")]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let told = &answers(&sandbox)[0];
    for part in ["out", "err", "7"] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn a_command_that_takes_too_long_is_stopped_with_its_children() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[limits]\ncommand_timeout_s = 1\n");
    let slow = command("echo begun; sh -c 'sleep 300; echo late >late.txt'; echo more");
    first_task_calls(&sandbox, &[slow]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let told = &answers(&sandbox)[0];
    assert!(told.contains("begun") && told.contains("1 s"), "{told}");
    assert!(!sandbox.exists("late.txt"));
}

#[test]
fn long_output_keeps_its_head_and_tail() {
    let sandbox = Sandbox::new();
    first_task_calls(&sandbox, &[command("echo the head; seq 1 100000; echo the tail")]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let told = &answers(&sandbox)[0];
    assert!(told.contains("the head") && told.contains("the tail"));
    assert!(told.len() < 30_000, "{} bytes", told.len());
}

#[test]
fn what_commands_make_is_committed_and_what_git_ignores_is_not() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.o\n");
    sandbox.commit_all("ignore");
    sandbox.write("notes.txt", "mine\n");
    let make = command("echo made >made.txt; echo x >made.o; echo changed >>README.md");
    first_task_calls(&sandbox, &[make]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    assert_eq!(first_task_paths(&sandbox), ["README.md", "lib/store.sh", "made.txt"]);
    assert!(sandbox.exists("made.o"));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? notes.txt");
}

#[test]
fn bulk_is_left_out_and_the_actor_is_told() {
    let sandbox = Sandbox::new();
    let bulk =
        command("mkdir node_modules; for i in $(seq 1 250); do echo x >node_modules/$i; done");
    first_task_calls(&sandbox, &[bulk]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let files = sandbox.git(&["ls-tree", "-r", "--name-only", "cowork/todo"]);
    assert!(!files.contains("node_modules"), "bulk was committed");
    let told = sandbox
        .server
        .requests()
        .iter()
        .any(|r| r.stage == "coding" && r.role == "actor" && r.text().contains(".gitignore"));
    assert!(told, "nobody told the actor");
}

#[test]
fn edits_and_deletions_are_committed() {
    let sandbox = Sandbox::new();
    sandbox.write("old.txt", "one\ntwo\n");
    sandbox.write("gone.txt", "bye\n");
    sandbox.commit_all("old files");
    let edit = json!({"path": "old.txt", "old_text": "two", "new_text": "three"});
    first_task_calls(
        &sandbox,
        &[("edit_file", edit), ("delete_file", json!({"path": "gone.txt"}))],
    );
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    assert_eq!(first_task_paths(&sandbox), ["gone.txt", "lib/store.sh", "old.txt"]);
    assert_eq!(sandbox.blob("cowork/todo", "old.txt"), "one\nthree\n");
    assert!(!sandbox.exists("gone.txt"));
    sandbox.assert_sound();
}

#[test]
fn a_tasks_commit_says_what_was_to_be_done() {
    let sandbox = Sandbox::stopped_after("coding");
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-002 ");
    let body = sandbox.git(&["log", "-1", "--format=%b", &commit]);
    for part in ["Add a todo, in lib/add.sh.", "- lib/add.sh exists", "The task is done."] {
        assert!(body.contains(part), "no '{part}' in {body}");
    }
}

#[test]
fn a_blocked_task_does_not_pass_for_done() {
    let sandbox = Sandbox::new();
    let blocked = json!({"task_id": "TASK-003", "new_status": "blocked"});
    sandbox.server.on_with(at("coding", "actor"), move |received| {
        if received.iteration > 1 {
            return Some(Reply::text("It still cannot be done."));
        }
        (received.task.as_deref() == Some("TASK-003") && received.turn == 1)
            .then(|| Reply::call("update_task_status", blocked.clone()))
    });
    let outcome = sandbox.auto(&[]);
    assert!([1, 3].contains(&outcome.code), "{outcome:?}");
    assert!(outcome.stderr.contains("TASK-003"), "{}", outcome.stderr);
    assert!(sandbox.refs("refs/tags/cowork/todo/coding").is_empty());
    // The tasks before it are done and stay so.
    sandbox.commit_of("cowork/todo", "coding: TASK-002 ");
}

#[test]
fn a_task_that_ends_without_its_status_is_what_is_told() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[limits]\niterations = { coding = 1 }\n");
    let third = at("coding", "actor").task("TASK-003");
    sandbox.server.sequence(third, vec![Reply::text("I think it is done.")]);
    let told = sandbox.auto(&[]).exits(1).stderr;
    let open = "TASK-003 is not completed: the actor stopped without setting its status; \
                the tasks after it wait";
    assert!(told.contains(open), "{told}");
    let finding = "is not completed (its status: pending); TASK-004, TASK-005 come after it and \
                   were not begun";
    let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(finding), "{told}");
    // Nothing is said of the others by themselves.
    assert!(!told.contains("TASK-004 '") && !told.contains("TASK-005 '"), "{told}");
    let shown = sandbox.cowork(&["status"]).exits(0).stdout;
    let coding = shown.lines().find(|line| line.contains("● coding ")).unwrap();
    assert!(coding.contains(" 2 of 5 tasks  draft 1 "), "{shown}");
    assert!(coding.ends_with("  TASK-003 was worked on and is not completed"), "{shown}");
    let shown = sandbox.cowork(&["log"]).exits(0).stdout;
    assert!(shown.contains("draft 1: validator, "), "{shown}");
    assert_eq!(shown.matches(": TASK-003 '").count(), 1, "{shown}");
    // The next draft takes it up where it stands, and nothing is done twice.
    sandbox.git(&["config", "cowork.limits.iterations.coding", "3"]);
    sandbox.server.forget();
    let again = at("coding", "actor").task("TASK-003").iteration(2);
    sandbox.server.sequence(again, vec![task_work("TASK-003"), Reply::text("Done.")]);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let again = sandbox.server.requests_of("coding", "actor");
    assert!(again.iter().all(|r| r.task.as_deref() > Some("TASK-002")), "a task was done twice");
    let log = sandbox.git(&["log", "--format=%s", "cowork/todo"]);
    assert_eq!(log.matches("coding: TASK-003 ").count(), 1, "{log}");
}

#[test]
fn the_gate_on_coding_waits_once_with_the_whole_diff() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Stage"], ["coding"]);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Event"], ["draft"]);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(0);
    let trailers = sandbox.trailers(&sandbox.stage_commit("coding"));
    assert_eq!(trailers["Cowork-Review"], ["passed"]);
    assert!(trailers["Cowork-Approved"][0].starts_with("tree@"));
    sandbox.assert_sound();
}
