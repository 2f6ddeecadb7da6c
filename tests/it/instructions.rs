//! How a project tells agents to work: which files are read, from the top to the nearest, how much
//! of them, and that they are named; and how files that cannot be read or searched are told of.

use serde_json::json;

use crate::support::received::Received;
use crate::support::todo::{lingers, plan, task_work};
use crate::support::{Reply, Sandbox, at};

const CODING: [&str; 2] = ["--stop-after", "coding"];

/// A repository with these files.
fn with(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    files.iter().for_each(|(path, text)| sandbox.write(path, text));
    sandbox.commit_all("how we work");
    sandbox
}

/// The first request for a task.
fn of_task(sandbox: &Sandbox, task: &str) -> Received {
    let requests = sandbox.server.requests_of("coding", "actor");
    requests.into_iter().find(|r| r.task.as_deref() == Some(task)).unwrap()
}

/// Where these texts are in a request; each is there once.
fn places(text: &str, parts: &[&str]) -> Vec<usize> {
    let place = |part: &&str| {
        assert_eq!(text.matches(*part).count(), 1, "{part} in {text}");
        text.find(*part).unwrap()
    };
    parts.iter().map(place).collect()
}

#[test]
fn a_task_is_told_how_to_work_in_its_folders() {
    let sandbox = with(&[
        ("AGENTS.md", "Top rule.\n"),
        ("lib/AGENTS.md", "Rule of the library.\n"),
        ("web/AGENTS.md", "Rule of the web.\n"),
        ("CONTRIBUTING.md", "Rule of people.\n"),
    ]);
    let outcome = sandbox.auto(&CODING).exits(0);
    outcome.says("instructions read: AGENTS.md, CONTRIBUTING.md\n").says("read: lib/AGENTS.md\n");
    let documents = sandbox.server.requests_of("prd", "actor")[0].text();
    assert!(documents.contains("Top rule.") && !documents.contains("Rule of the"), "{documents}");
    let first = of_task(&sandbox, "TASK-001").text();
    let found = places(&first, &["Top rule.", "Rule of people.", "Rule of the library."]);
    assert!(found.is_sorted(), "the nearest is the last: {first}");
    assert!(first.contains("## lib/AGENTS.md\n\nRule of the library.\n"), "{first}");
    assert!(!first.contains("Rule of the web."), "{first}");
    let at_top = of_task(&sandbox, "TASK-005").text();
    assert!(at_top.contains("Top rule.") && !at_top.contains("Rule of the"), "{at_top}");
}

#[test]
fn a_conversation_is_told_once_and_of_each_new_folder() {
    let sandbox = with(&[("lib/CLAUDE.md", "Library rule.\n"), ("web/AGENTS.md", "Web rule.\n")]);
    sandbox.git(&["config", "cowork.project.depth", "standard"]);
    let moved = plan().replace("`lib/add.sh`", "`web/add.sh`");
    let draft = Reply::call("save_plan_doc", json!({"content": moved}));
    sandbox.server.on(at("plan", "actor").turn(1), draft);
    let work = Reply::call("write_file", json!({"path": "web/add.sh", "content": "# add\n"}))
        .and("update_task_status", json!({"task_id": "TASK-002", "new_status": "completed"}));
    sandbox.server.on(at("coding", "actor").task("TASK-002"), work);
    sandbox.auto(&CODING).exits(0).says("instructions read: web/AGENTS.md");
    let all = sandbox.server.requests_of("coding", "actor");
    let last = all.last().unwrap().text();
    places(&last, &["Library rule.", "Web rule."]);
}

#[test]
fn other_files_are_read_where_there_is_no_agents_file() {
    for (there, read) in [
        (&["CLAUDE.md", "GEMINI.md"][..], "CLAUDE.md"),
        (&["GEMINI.md", ".github/copilot-instructions.md"], "GEMINI.md"),
        (&[".github/copilot-instructions.md"], ".github/copilot-instructions.md"),
        (&["AGENTS.md", "CLAUDE.md"], "AGENTS.md"),
    ] {
        let rule = |path: &str| format!("Rule of {path}.\n");
        let sandbox = Sandbox::new();
        there.iter().for_each(|path| sandbox.write(path, &rule(path)));
        sandbox.commit_all("how we work");
        sandbox
            .auto(&["--stop-after", "idea"])
            .exits(0)
            .says(&format!("instructions read: {read}\n"));
        let told = sandbox.server.requests()[0].text();
        assert!(told.contains(&format!("## {read}\n\n{}", rule(read))), "{told}");
        assert_eq!(told.matches("Rule of ").count(), 1, "{told}");
    }
}

#[test]
fn instructions_have_a_limit_and_the_nearest_come_first_in_it() {
    let (top, near) = ("t".repeat(7_000), "n".repeat(3_000));
    let sandbox = with(&[("AGENTS.md", &top), ("lib/AGENTS.md", &near)]);
    sandbox.auto(&CODING).exits(0);
    let idea = sandbox.server.requests()[0].text();
    assert!(idea.contains(&top), "alone it is told whole");
    let task = of_task(&sandbox, "TASK-001").text();
    assert!(task.contains(&near) && task.contains(&"t".repeat(5_000)), "{task}");
    assert!(!task.contains(&"t".repeat(5_001)), "{task}");
    assert!(task.contains("[cut here: 5000 of 7000 bytes shown]"), "{task}");
}

/// What the tools say to these calls of the first task's actor.
fn told(sandbox: &Sandbox, calls: Reply) -> String {
    sandbox.server.manner(lingers);
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, vec![calls, task_work("TASK-001"), Reply::text("Done.")]);
    sandbox.auto(&CODING).exits(0);
    let requests = sandbox.server.requests_of("coding", "actor");
    let second = requests.iter().find(|r| r.task.as_deref() == Some("TASK-001") && r.turn == 2);
    second.unwrap().tool_results().concat()
}

#[test]
fn a_search_shows_the_text_around_a_hit_in_a_long_line() {
    let line = format!("{} needle {}\n", "a".repeat(5_000), "z".repeat(5_000));
    let sandbox = with(&[("long.js", &line)]);
    let told = told(&sandbox, Reply::call("search_files", json!({"pattern": "n[e]+dle"})));
    let shown = told.lines().find(|line| line.starts_with("long.js:1: ")).unwrap();
    assert!(shown.contains("aaa needle zzz") && shown.len() < 400, "{shown}");
    assert!(shown.starts_with("long.js:1: …a") && shown.contains("z…"), "{shown}");
}

#[test]
fn a_search_names_the_files_that_it_could_not_search() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("data.bin"), b"needle\0").unwrap();
    std::fs::write(sandbox.path("min.js"), "x".repeat(9 << 20)).unwrap();
    let big = std::fs::File::create(sandbox.path("big.log")).unwrap();
    big.set_len((64 << 20) + 1).unwrap();
    sandbox.write(".git/info/exclude", "");
    sandbox.git(&["add", "data.bin", "min.js"]);
    sandbox.git(&["commit", "-q", "-m", "files"]);
    let told = told(&sandbox, Reply::call("search_files", json!({"pattern": "needle"})));
    for part in
        ["big.log (larger than 64 MiB)", "data.bin (binary)", "min.js (a line is longer than"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn a_file_that_is_not_utf8_names_the_way_on() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("old.txt"), b"caf\xe9 one\n").unwrap();
    sandbox.commit_all("an old file");
    let read = Reply::call("read_file", json!({"path": "old.txt"}))
        .and("edit_file", json!({"path": "old.txt", "old_text": "one", "new_text": "two"}))
        .and("search_files", json!({"pattern": "one"}));
    let told = told(&sandbox, read);
    assert_eq!(told.matches("old.txt is not UTF-8 text").count(), 2, "{told}");
    assert_eq!(told.matches("iconv -f ISO-8859-1 -t UTF-8 old.txt").count(), 2, "{told}");
    assert!(told.contains("search_files"), "{told}");
    assert!(told.contains("old.txt:1: caf\u{fffd} one"), "{told}");
}
