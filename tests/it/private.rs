//! Private files: no model, tool or command sees them, and no commit changes them.

use serde_json::json;

use crate::support::confinement::{Level, confinement};
use crate::support::received::Received;
use crate::support::skip::skipped;
use crate::support::todo::task_work;
use crate::support::{Reply, Sandbox, at};

/// What nobody may get to see, in no form a scanner knows.
const SECRET: &str = "blue-heron-at-dawn";

/// A repository with tracked, untracked and ignored private files.
fn repository() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set_env("COWORK_TEST_SANDBOX", Level::Namespaces.word());
    sandbox.write(".gitignore", "*.local\n");
    sandbox.write("conf/prices.csv", &format!("{SECRET},1\n"));
    sandbox.write("closed/notes.md", &format!("# {SECRET}\n"));
    sandbox.write("lib/here.txt", "here\n");
    sandbox.commit_all("with private files");
    sandbox.write("keys.local", SECRET);
    std::os::unix::fs::symlink("../closed/notes.md", sandbox.path("lib/link")).unwrap();
    std::fs::hard_link(sandbox.path("closed/notes.md"), sandbox.path("lib/name.md")).unwrap();
    sandbox.git(&["worktree", "add", "-q", "-b", "topic", "lib/topic", "main"]);
    sandbox.user_config("[project]\nprivate = [\"*.local\", \"closed/\"]\n");
    sandbox.write(".cowork/config.toml", "[project]\nprivate = [\"conf/prices.csv\"]\n");
    sandbox.commit_all("configuration");
    sandbox
}

#[test]
fn neither_models_nor_tools_nor_commands_see_them_and_no_commit_changes_them() {
    if confinement() != Level::Namespaces {
        skipped("private files where commands run, without namespaces");
        return;
    }
    stay_private(&repository());
    repository().into_ordinary_user().iter().for_each(stay_private);
}

fn stay_private(sandbox: &Sandbox) {
    let calls = [
        ("read_file", json!({"path": "conf/prices.csv"})),
        ("read_file", json!({"path": "lib/link"})),
        ("read_file", json!({"path": "keys.local"})),
        ("read_file", json!({"path": "lib/name.md"})),
        ("read_file", json!({"path": "lib/topic/conf/prices.csv"})),
        ("search_files", json!({"pattern": "heron", "path": "."})),
        ("list_files", json!({"path": "."})),
        ("list_files", json!({"path": "closed"})),
        ("write_file", json!({"path": "conf/prices.csv", "content": "x"})),
        ("write_file", json!({"path": "closed/new.md", "content": "x"})),
        ("delete_file", json!({"path": "conf/prices.csv"})),
        ("run_command", json!({"command": "cat conf/prices.csv closed/* keys.local lib/link"})),
        ("run_command", json!({"command": "cat lib/topic/conf/* lib/topic/closed/* lib/name.md"})),
        (
            "run_command",
            json!({"command": "grep -r heron . ; git log -p --all; git show HEAD:conf/prices.csv"}),
        ),
        (
            "run_command",
            json!({"command": "echo evil >conf/prices.csv; rm -rf conf closed; echo new >made.local"}),
        ),
        ("run_command", json!({"command": "mv conf moved; mkdir -p out; cp -r . out/; true"})),
        ("run_command", json!({"command": "cat moved/prices.csv conf/prices.csv; rm -r out"})),
    ];
    let call = |reply: Reply, (name, arguments): &(&str, serde_json::Value)| {
        reply.and(name, arguments.clone())
    };
    let all = calls.iter().fold(Reply::empty(), call);
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, vec![all, task_work("TASK-001"), Reply::text("Done.")]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    for request in sandbox.server.requests() {
        let text = request.text();
        assert!(!text.contains(SECRET), "{text}");
    }
    let coding = sandbox.server.requests_of("coding", "actor");
    let second = coding.iter().find(|r| r.task.as_deref() == Some("TASK-001") && r.turn == 2);
    let results = second.unwrap().tool_results();
    assert!(results[0].contains("is private"), "{results:#?}");
    assert!(!results[6].contains("prices.csv") && !results[6].contains("closed"), "{results:#?}");
    // As they were.
    assert_eq!(sandbox.read("conf/prices.csv"), format!("{SECRET},1\n"));
    assert_eq!(sandbox.read("closed/notes.md"), format!("# {SECRET}\n"));
    assert_eq!(sandbox.read("keys.local"), SECRET);
    let changed = sandbox.git(&["diff", "--name-only", "main", "cowork/todo"]);
    for path in ["conf/", "closed/", ".local", "out/", "moved/"] {
        assert!(!changed.contains(path), "{changed}");
    }
}

/// A clone may add to what the user keeps private, and never take away.
#[test]
fn a_clone_adds_to_what_is_private_and_removes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[project]\nprivate = [\"*.mine\"]\n");
    for (text, code) in [
        ("private = []", 0),
        ("private = [\"theirs\"]", 0),
        ("private = [\"!*.mine\"]", 4),
        ("private = [\" \"]", 4),
    ] {
        sandbox.write(".cowork/config.toml", &format!("[project]\n{text}\n"));
        let outcome = sandbox.cowork(&["list"]);
        assert_eq!(outcome.code, code, "{text}: {outcome:#?}");
        if code == 4 {
            outcome.says("project.private");
        }
    }
}

/// Without mounts nothing can be kept from commands, so none is run.
#[test]
fn where_commands_would_see_them_nothing_is_run() {
    let told = |level: &str, extra: &str| {
        let mut sandbox = Sandbox::new();
        sandbox.set_env("COWORK_TEST_SANDBOX", level);
        sandbox.user_config(&format!("[project]\nprivate = [\"*.local\"]\n{extra}"));
        sandbox.auto(&[]).exits(4).says("project.private").says("hint:");
        assert_eq!(sandbox.server.requests_of("idea", "actor").len(), 0, "{level}");
    };
    told("landlock", "");
    told("none", "");
    told("namespaces", "[sandbox]\ncommand_prefix = [\"env\"]\n");
}

/// A hook runs unconfined: what it adds of them is seen in the commit.
#[test]
fn a_hook_that_changes_and_adds_a_private_file_is_named_and_its_commit_taken_back() {
    if confinement() != Level::Namespaces {
        skipped("private files where commands run, without namespaces");
        return;
    }
    let sandbox = repository();
    let before = sandbox.all_refs();
    sandbox.hook("pre-commit", "echo evil >>conf/prices.csv; git add conf/prices.csv");
    sandbox
        .auto(&["--stop-after", "idea"])
        .exits(5)
        .says("pre-commit hook")
        .says("conf/prices.csv");
    assert_eq!(sandbox.all_refs(), before, "nothing was begun");
}

/// What a person commits of them on the session's branch is in the difference that a critic reads.
#[test]
fn a_difference_that_is_shown_leaves_them_out() {
    if confinement() != Level::Namespaces {
        skipped("private files where commands run, without namespaces");
        return;
    }
    let sandbox = repository();
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    let before = sandbox.server.requests().len();
    sandbox.commit_file("conf/prices.csv", &format!("{SECRET},1\n{SECRET},2\n"), "dearer");
    sandbox.commit_file("lib/here.txt", "here and shown\n", "a person's change");
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let requests = sandbox.server.requests();
    let told: Vec<String> = requests[before..].iter().map(Received::text).collect();
    assert!(told.iter().any(|text| text.contains("+here and shown")), "the difference is shown");
    assert!(told.iter().all(|text| !text.contains(SECRET)));
}
