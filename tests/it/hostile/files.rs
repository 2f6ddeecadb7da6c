//! File tools that mean harm: every path that could lead out of the tree, to a repository's own
//! files, or to another session's. None succeeds, each is answered and noted, and nothing of what
//! they were after leaves the machine.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use serde_json::{Value, json};

use super::contents;
use crate::support::pty::Terminal;
use crate::support::todo::{self, task_work};
use crate::support::{Reply, Sandbox, at};

/// What nobody may get to see.
const SECRET: &str = "hunter2-and-more";

/// A project with everything around it that could be reached by mistake or by intent.
fn surroundings() -> (Sandbox, UnixListener) {
    let sandbox = Sandbox::new();
    let root = sandbox.root();
    for dir in ["outside", "library"] {
        std::fs::create_dir(root.join(dir)).unwrap();
        std::fs::write(root.join(dir).join("secret"), SECRET).unwrap();
    }
    std::fs::write(root.join("home/.netrc"), SECRET).unwrap();
    let library = root.join("library").display().to_string();
    sandbox.git(&["-C", &library, "init", "-q"]);
    sandbox.git(&["-C", &library, "config", "a.b", SECRET]);
    std::fs::write(root.join("library/lib.txt"), "a line of the library\n").unwrap();
    sandbox.git(&["-C", &library, "add", "lib.txt"]);
    sandbox.git(&["-C", &library, "commit", "-q", "-m", "library"]);
    sandbox.git(&["submodule", "--quiet", "add", "../library", "vendor/library"]);
    sandbox.write("lib/here.txt", "here\n");
    sandbox.write(".cowork/sessions/other/prd.md", SECRET);
    sandbox.write(".cowork/notes.txt", SECRET);
    for (link, to) in [
        ("lib/out", "../../outside"),
        ("lib/out.txt", "../../outside/secret"),
        ("lib/abs", &root.join("outside").display().to_string()),
        ("lib/proc", "/proc/self/root"),
        ("lib/door", "../.git"),
        ("lib/config", "../.git/config"),
        ("lib/others", "../.cowork/sessions/other"),
        ("lib/up", "../.."),
        ("lib/loop", "loop"),
        ("lib/nowhere", "../../outside/new"),
    ] {
        symlink(to, sandbox.path(link)).unwrap();
    }
    sandbox.commit_all("surroundings");
    sandbox.git(&["config", "c.d", SECRET]);
    sandbox.git(&["-C", "vendor/library", "config", "e.f", SECRET]);
    // What no commit can hold.
    std::fs::write(sandbox.path(".git/info/exclude"), "nested/\n").unwrap();
    sandbox.git(&["init", "-q", "nested"]);
    sandbox.git(&["-C", "nested", "config", "g.h", SECRET]);
    let made = std::process::Command::new("mkfifo").arg(sandbox.path("lib/pipe")).status();
    assert!(made.unwrap().success());
    let socket = UnixListener::bind(sandbox.path("lib/socket")).unwrap();
    (sandbox, socket)
}

/// Paths at which every tool is to be refused.
const NOWHERE: [&str; 38] = [
    "ROOT/outside/secret",
    "ROOT/repo-2/x",
    "/etc/passwd",
    "//etc/passwd",
    "~/.netrc",
    "C:\\secret",
    "\\\\host\\share",
    "../outside/secret",
    "lib/../../outside/secret",
    "lib/../.git/config",
    "./../outside/secret",
    "lib/out/secret",
    "lib/out.txt",
    "lib/abs/secret",
    "lib/proc/etc/passwd",
    "lib/up/outside/secret",
    ".git/config",
    "./.git/config",
    ".GIT/config",
    ".Git/hooks/pre-commit",
    ".git./config",
    ".git /config",
    ".git::$INDEX_ALLOCATION/config",
    "git~1/config",
    ".g\u{200c}it/config",
    "lib\\..\\.git\\config",
    "lib/door/config",
    "lib/door/hooks/pre-commit",
    "lib/config",
    "lib/up/repo/.git/config",
    "nested/.git/config",
    "vendor/library/.git",
    ".cowork/sessions/other/prd.md",
    ".COWORK/sessions/other/prd.md",
    "COWORK~1/notes.txt",
    ".cowork/notes.txt",
    "lib/others/prd.md",
    "lib/here.txt\n../../outside/secret",
];

/// Paths that may be read, or are nothing that could be, and must not be written.
const NOT_WRITTEN: [&str; 12] = [
    "vendor/library/lib.txt",
    "vendor/library/new.txt",
    "nested/new.txt",
    ".cowork/sessions/todo/prd.md",
    ".cowork/sessions/todo/session.json",
    ".cowork/config.toml",
    "lib/nowhere",
    "lib/loop",
    "lib/pipe",
    "lib/socket",
    ".gitattributes",
    ".gitmodules",
];

fn attempts(sandbox: &Sandbox) -> Vec<(&'static str, Value)> {
    let root = sandbox.root().display().to_string();
    let mut calls = Vec::new();
    for path in NOWHERE {
        let path = path.replace("ROOT", &root);
        calls.push(("read_file", json!({"path": path})));
        calls.push(("search_files", json!({"pattern": "hunter", "path": path})));
        calls.push(("list_files", json!({"path": path})));
        calls.push(("write_file", json!({"path": path, "content": "owned\n"})));
        calls.push(("edit_file", json!({"path": path, "old_text": "hunter2", "new_text": "x"})));
        // A link itself is the project's.
        if !["lib/out.txt", "lib/config"].contains(&path.as_str()) {
            calls.push(("delete_file", json!({"path": path})));
        }
    }
    for path in NOT_WRITTEN {
        calls.push(("write_file", json!({"path": path, "content": "owned\n"})));
        let edits = json!([{"old_text": "a", "new_text": "b", "replace_all": true}]);
        calls.push(("edit_file", json!({"path": path, "edits": edits})));
    }
    for path in ["lib/pipe", "lib/socket", "lib/loop", "lib/nowhere"] {
        calls.push(("read_file", json!({"path": path})));
    }
    for path in ["vendor/library/lib.txt", ".gitmodules", "lib/pipe", "lib/socket"] {
        calls.push(("delete_file", json!({"path": path})));
    }
    calls
}

/// The answers to the calls of the first task: how each came out, and its words.
fn answers(sandbox: &Sandbox) -> Vec<(String, String)> {
    let path = ".git/cowork/sessions/todo/transcripts/coding.1.actor.TASK-001.jsonl";
    let lines = sandbox.read(path);
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter(|line| line["message"]["role"] == "tool")
        .map(|line| {
            let how = line["how"].as_str().unwrap_or("done").to_owned();
            (how, line["message"]["content"].as_str().unwrap().to_owned())
        })
        .collect()
}

fn in_first_task(sandbox: &Sandbox, calls: &[(&str, Value)], then: Vec<Reply>) {
    let call = |reply: Reply, (name, arguments): &(&str, Value)| reply.and(name, arguments.clone());
    let calls = calls.iter().fold(Reply::empty(), call);
    let replies = [vec![calls], then].concat();
    sandbox.server.sequence(at("coding", "actor").task("TASK-001"), replies);
}

#[track_caller]
fn nothing_was_told(sandbox: &Sandbox) {
    for request in sandbox.server.requests() {
        assert!(!request.body.to_string().contains(SECRET), "{}", request.position());
    }
}

#[test]
fn no_path_leads_anywhere_it_should_not() {
    let (sandbox, _socket) = surroundings();
    let root = sandbox.root();
    let world = |dir: &str| contents(&root.join(dir));
    let of_git = || {
        let config = std::fs::read(sandbox.path(".git/config")).unwrap();
        let pointer = std::fs::read(sandbox.path("vendor/library/.git")).unwrap();
        (contents(&sandbox.path(".git/hooks")), config, pointer, sandbox.read(".gitmodules"))
    };
    let before = (world("outside"), world("library"), contents(&sandbox.path("nested")), of_git());
    let attempts = attempts(&sandbox);
    in_first_task(&sandbox, &attempts, Vec::new());
    sandbox.auto(&["--stop-after", "coding"]).exits(1).says("refused by a guard");
    let answers = answers(&sandbox);
    assert_eq!(answers.len(), attempts.len());
    let mut failed = String::new();
    for ((name, arguments), (how, answer)) in attempts.iter().zip(&answers) {
        let is_refused = how == "guarded" || how == "failed";
        if !is_refused || answer.contains(SECRET) || answer.contains("root:") {
            failed += &format!("{name} {arguments}: {how}: {answer}\n");
        }
    }
    assert_eq!(failed, "");
    // Those that mean harm are counted as such; the rest are mistakes.
    let guarded = answers.iter().filter(|(how, _)| how == "guarded").count();
    assert!(guarded >= NOWHERE.len() * 6 - 10, "{guarded} of {}", answers.len());
    let after = (world("outside"), world("library"), contents(&sandbox.path("nested")), of_git());
    assert!(before == after, "something outside has changed");
    assert_eq!(sandbox.read(".cowork/sessions/other/prd.md"), SECRET);
    assert!(!sandbox.artifact("prd.md").contains("owned"));
    assert_eq!(sandbox.read("lib/here.txt"), "here\n");
    nothing_was_told(&sandbox);
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}

/// Lists and searches of all there is show nothing either, and a model gets to read why.
#[test]
fn what_a_model_is_told_holds_no_secret() {
    let (sandbox, _socket) = surroundings();
    let calls = [
        ("list_files", json!({})),
        ("list_files", json!({"path": "lib"})),
        ("list_files", json!({"pattern": "**/*config*"})),
        ("search_files", json!({"pattern": "hunter"})),
        ("search_files", json!({"pattern": ".", "glob": "*config*"})),
        ("read_file", json!({"path": "vendor/library/lib.txt"})),
        ("read_file", json!({"path": "lib/door/config"})),
        ("write_file", json!({"path": "vendor/library/lib.txt", "content": "owned\n"})),
    ];
    let then = vec![task_work("TASK-001"), Reply::text("Done.")];
    in_first_task(&sandbox, &calls, then);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    nothing_was_told(&sandbox);
    let requests = sandbox.server.requests_of("coding", "actor");
    let told = requests.iter().find(|r| r.task.as_deref() == Some("TASK-001") && r.turn == 2);
    let told = told.unwrap().tool_results();
    assert!(told[0].contains("lib/here.txt") && !told[0].contains("secret"), "{}", told[0]);
    assert!(told[5].contains("a line of the library"), "{}", told[5]);
    assert!(told[6].contains("Security: ") && told[6].contains(".git is not allowed"));
    assert!(told[7].contains("a separate repository"), "{}", told[7]);
}

/// A hook in the tree, which the next commit would run outside of every wall.
fn with_a_hook(sandbox: Sandbox) -> Sandbox {
    sandbox.write(".githooks/post-commit", "#!/bin/sh\n");
    sandbox.git(&["config", "core.hooksPath", ".githooks"]);
    sandbox.commit_all("a hook");
    let evil = "#!/bin/sh\ntouch ../owned\n";
    let command = "printf '#!/bin/sh\\ntouch ../owned\\n' >.githooks/pre-commit; \
        chmod +x .githooks/pre-commit; echo '* -diff' >lib/.gitattributes";
    let calls = [
        ("write_file", json!({"path": ".githooks/post-commit", "content": evil})),
        ("write_file", json!({"path": ".gitattributes", "content": "*.sh text eol=lf\n"})),
        ("run_command", json!({"command": format!("mkdir -p lib; {command}")})),
    ];
    in_first_task(&sandbox, &calls, vec![task_work("TASK-001"), Reply::text("Done.")]);
    sandbox
}

#[test]
fn what_git_acts_on_is_left_to_a_person() {
    Sandbox::of_everybody().map(with_a_hook).for_each(|sandbox| is_left_to_a_person(&sandbox));
}

fn is_left_to_a_person(sandbox: &Sandbox) {
    let outcome = sandbox.auto(&[]).exits(0);
    let outcome = outcome.says(".gitattributes was left as it is: git itself acts on it");
    let outcome =
        outcome.says(".githooks/post-commit was left").says(".githooks/pre-commit was left");
    outcome.says("lib/.gitattributes was left as it is");
    assert!(!sandbox.exists("../owned"), "a hook ran");
    assert_eq!(sandbox.read(".githooks/post-commit"), "#!/bin/sh\n");
    for gone in [".githooks/pre-commit", ".gitattributes", "lib/.gitattributes"] {
        assert!(!sandbox.exists(gone), "{gone}");
    }
    let changed = sandbox.git(&["diff", "--name-only", "main", "cowork/todo"]);
    let only_ours = |path: &str| path.starts_with(".cowork/") || !path.contains(".git");
    assert!(changed.lines().all(only_ours), "{changed}");
    let requests = sandbox.server.requests_of("coding", "actor");
    let told = requests.iter().find(|r| r.task.as_deref() == Some("TASK-001") && r.turn == 2);
    let told = told.unwrap().tool_results();
    assert!(told[0].contains("so a person decides about it"), "{}", told[0]);
    assert!(told[2].contains(".githooks/pre-commit") && told[2].contains("was restored"));
    let report = sandbox.artifact("delivery_report.md");
    assert!(report.contains("## Left to a person"), "{report}");
    assert!(report.contains("a change to `.gitattributes`"), "{report}");
    sandbox.assert_sound();
}

#[test]
fn what_git_acts_on_is_shown_before_it_is_recorded() {
    let sandbox = with_a_hook(Sandbox::new());
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "coding"]);
    let answer = |terminal: &mut Terminal, path: &str, shown: &str, key: &str| {
        terminal.sees(&format!("{path}, on which git itself acts"));
        terminal.sees(shown);
        terminal.sees("record it in this session?");
        assert!(sandbox.git_fails(&["cat-file", "-e", &format!("cowork/todo:{path}")]));
        terminal.types(key);
    };
    // What the model wrote itself, then what its command did, the last path first; what only git
    // knows comes after the files that it follows in any case.
    terminal.sees(".githooks/post-commit, on which git itself acts");
    terminal.sees("+touch ../owned");
    terminal.sees("record it in this session?");
    terminal.types("n");
    answer(&mut terminal, ".gitattributes", "+*.sh text eol=lf", "y");
    answer(&mut terminal, ".githooks/pre-commit", "+touch ../owned", "n");
    answer(&mut terminal, "lib/.gitattributes", "+* -diff", "n");
    terminal.sees("stop for now");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert!(!sandbox.exists("../owned"), "a hook ran");
    assert_eq!(sandbox.blob("cowork/todo", ".gitattributes"), "*.sh text eol=lf\n");
    assert_eq!(sandbox.read(".githooks/post-commit"), "#!/bin/sh\n");
    assert!(!sandbox.exists("lib/.gitattributes") && !sandbox.exists(".githooks/pre-commit"));
    sandbox.assert_sound();
}

/// Files for agents that a model overwrites and adds, by a tool and by a command.
fn for_agents(sandbox: Sandbox) -> Sandbox {
    sandbox.write("AGENTS.md", "Theirs.\n");
    sandbox.commit_all("how to work here");
    let command = "mkdir -p .claude .github; echo '{}' >.claude/settings.json; \
        echo Mine. >.github/copilot-instructions.md; echo Mine. >>AGENTS.md";
    let calls = [
        ("write_file", json!({"path": "CLAUDE.md", "content": "Mine.\n"})),
        ("run_command", json!({"command": command})),
        ("write_file", json!({"path": ".cursorrules", "content": "Mine.\n"})),
    ];
    in_first_task(&sandbox, &calls, vec![task_work("TASK-001"), Reply::text("Done.")]);
    sandbox
}

#[test]
fn files_that_instruct_agents_are_left_to_a_person() {
    let sandbox = for_agents(Sandbox::new());
    let outcome = sandbox.auto(&[]).exits(0);
    let paths = ["AGENTS.md", "CLAUDE.md", ".cursorrules", ".claude/settings.json"];
    let paths = paths.into_iter().chain([".github/copilot-instructions.md"]);
    let outcome = paths.fold(outcome, |outcome, path| {
        outcome.says(&format!("{path} was left as it is: it instructs agents and no task"))
    });
    drop(outcome);
    assert_eq!(sandbox.read("AGENTS.md"), "Theirs.\n");
    let changed = sandbox.git(&["diff", "--name-only", "main", "cowork/todo"]);
    let fits = |path: &str| [".cowork/", "lib/", "todo.sh"].iter().any(|ok| path.starts_with(ok));
    assert!(changed.lines().all(fits), "{changed}");
    let requests = sandbox.server.requests_of("coding", "actor");
    let told = requests.iter().find(|r| r.task.as_deref() == Some("TASK-001") && r.turn == 2);
    let told = told.unwrap().tool_results();
    assert!(told[0].contains("CLAUDE.md is protected: it instructs agents"), "{}", told[0]);
    assert!(told[1].contains("AGENTS.md") && told[1].contains("was restored"), "{}", told[1]);
    let report = sandbox.artifact("delivery_report.md");
    assert!(report.contains("These files instruct agents, so no model changes them"), "{report}");
    sandbox.assert_sound();
}

#[test]
fn a_task_of_the_plan_that_names_a_file_for_agents_may_write_it() {
    let sandbox = for_agents(Sandbox::new());
    let mut draft = Reply::call("save_plan_doc", json!({"content": "# Plan\n\nIn order.\n"}));
    for index in 0..todo::TASKS.len() {
        let mut task = todo::task(index);
        if index == 0 {
            task["files_to_create"].as_array_mut().unwrap().push("CLAUDE.md".into());
        }
        draft = draft.and("create_task", task);
    }
    sandbox.script("plan", draft);
    sandbox.auto(&["--stop-after", "coding"]).exits(0).says("AGENTS.md was left as it is");
    assert_eq!(sandbox.blob("cowork/todo", "CLAUDE.md"), "Mine.\n");
    assert!(sandbox.git_fails(&["cat-file", "-e", "cowork/todo:.cursorrules"]));
}
