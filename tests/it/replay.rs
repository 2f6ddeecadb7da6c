//! `--record` and `--replay`, and the `demo` that is such a recording: no key, no network.

use std::path::{Path, PathBuf};

use crate::support::pty::Terminal;
use crate::support::todo::reject;
use crate::support::{Reply, Sandbox, at};

const NEW: [&str; 6] = ["new", "-n", "todo", "a todo list for the terminal", "--review", "auto"];

/// A recording of a whole session with one rejection, beside its sandbox.
fn recorded() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    sandbox.server.on(at("prd", "critic").iteration(1), reject("REQ-002 is vague"));
    let second = format!("{}\nFixed.\n", crate::support::todo::PRD);
    let second = Reply::call("save_prd_doc", serde_json::json!({"content": second}));
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), second);
    let file = sandbox.root().join("said.jsonl");
    let path = file.display().to_string();
    sandbox.auto(&["--record", &path]).exits(0);
    (sandbox, file)
}

/// Somewhere without a model, and a session there that is played back.
fn replay(file: &Path) -> (Sandbox, crate::support::sandbox::Outcome) {
    let mut elsewhere = Sandbox::new();
    for name in ["COWORK_LLM_BASE_URL", "COWORK_LLM_API_KEY", "COWORK_LLM_MODEL"] {
        elsewhere.set_env(name, "");
    }
    let path = file.display().to_string();
    let outcome = elsewhere.cowork(&[&NEW[..], &["--replay", &path]].concat());
    (elsewhere, outcome)
}

#[test]
fn a_recording_plays_back_to_the_same_history() {
    let (original, file) = recorded();
    let (copy, outcome) = replay(&file);
    outcome.exits(0);
    assert_eq!(copy.subjects("main..cowork/todo"), original.subjects("main..cowork/todo"));
    let files = |sandbox: &Sandbox| {
        let tree = sandbox.tree("cowork/todo");
        // These two hold times and ids.
        let volatile = ["session.json", "feedback_history.json"];
        let same = tree.lines().filter(|line| !volatile.iter().any(|v| line.ends_with(v)));
        same.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(files(&copy), files(&original));
    assert!(copy.server.requests().is_empty());
    copy.assert_sound();
}

#[test]
fn a_recording_holds_no_key() {
    let (_sandbox, file) = recorded();
    let said = std::fs::read_to_string(file).unwrap();
    assert!(!said.contains("test-key"));
    assert!(said.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
}

#[test]
fn a_replay_that_runs_dry_says_where() {
    let (_sandbox, file) = recorded();
    let said = std::fs::read_to_string(&file).unwrap();
    let design: Vec<_> = said.lines().filter(|line| !line.contains("\"design\"")).collect();
    std::fs::write(&file, design.join("\n") + "\n").unwrap();
    let (copy, outcome) = replay(&file);
    let outcome = outcome.exits(4);
    assert!(outcome.stderr.contains("design"), "{}", outcome.stderr);
    assert_eq!(copy.stages("main..cowork/todo"), ["start", "idea", "prd"]);
    copy.assert_sound();
}

#[test]
fn a_replay_that_is_none_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("../nonsense.jsonl", "this is no recording\n");
    let before = sandbox.all_refs();
    let args = [&NEW[..], &["--replay", "../nonsense.jsonl"]].concat();
    sandbox.cowork(&args).exits(4).says("nonsense.jsonl");
    assert_eq!(sandbox.all_refs(), before);
}

/// The first repository below a directory.
fn repository_below(dir: &Path) -> Option<PathBuf> {
    if dir.join(".git").exists() {
        return Some(dir.to_owned());
    }
    let entries = std::fs::read_dir(dir).ok()?;
    let folders = entries.filter_map(|e| e.ok().map(|e| e.path())).filter(|p| p.is_dir());
    folders.into_iter().find_map(|folder| repository_below(&folder))
}

#[test]
fn demo_runs_without_a_key_and_leaves_a_whole_story() {
    let mut sandbox = Sandbox::nowhere();
    for name in ["COWORK_LLM_BASE_URL", "COWORK_LLM_API_KEY", "COWORK_LLM_MODEL"] {
        sandbox.set_env(name, "");
    }
    let temp = sandbox.root().join("tmp");
    std::fs::create_dir(&temp).unwrap();
    sandbox.set_env("TMPDIR", &temp.display().to_string());
    // As after `cargo run -- demo`: the program is not on PATH.
    sandbox.set_env("PATH", &std::env::var("PATH").unwrap());
    let outcome = sandbox.cowork(&["demo", "--review", "auto"]).exits(0);
    let said = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(said.contains("log"), "no command to look at it: {said}");
    let repository = repository_below(&sandbox.root()).unwrap();
    sandbox.enter(&repository);
    let branch = sandbox.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/cowork"]);
    let stages = sandbox.stages(&branch);
    assert!(stages.ends_with(&crate::support::todo::STAGES.map(str::to_owned)), "{stages:?}");
    let tasks = sandbox.subjects(&branch);
    let tasks = tasks.iter().filter(|s| s.starts_with("coding: TASK-")).count();
    assert!(tasks >= 5, "{tasks} tasks");
    let prd = sandbox.commit_of(&branch, "prd: ");
    assert_eq!(sandbox.trailers(&prd)["Cowork-Iterations"], ["2"]);
    sandbox.assert_sound();
    no_usage_is_claimed(&sandbox, &prd, &said);
    let lines = outcome.stdout.lines().filter_map(|line| line.strip_prefix("  "));
    let shown: Vec<&str> = lines.map(|line| line.split("  # ").next().unwrap().trim()).collect();
    assert_eq!(shown.len(), 8, "{shown:?}");
    for line in shown.iter().filter(|line| !line.starts_with("cargo ")) {
        let typed = sandbox.command("sh").args(["-c", line]).output().unwrap();
        assert!(typed.status.success(), "{line}: {}", String::from_utf8_lossy(&typed.stderr));
    }
}

/// No server has counted anything: nothing says how many tokens it took, not even none.
fn no_usage_is_claimed(sandbox: &Sandbox, commit: &str, said: &str) {
    let recording = include_str!("../../demo/replay.jsonl");
    for line in recording.lines().skip(1) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(line["reply"].get("usage").is_none(), "{line}");
    }
    let trailers = sandbox.trailers(commit);
    assert_eq!(trailers["Cowork-Model"], ["demo"]);
    assert!(!trailers.contains_key("Cowork-Tokens"), "{trailers:?}");
    assert!(trailers["Cowork-Cost"][0].starts_with("requests="), "{trailers:?}");
    assert!(!said.contains(" tokens"), "{said}");
    let report = sandbox.blob("HEAD", ".cowork/sessions/todo/delivery_report.md");
    assert!(!report.contains("token"), "{report}");
    for (command, line) in [
        (&["status"][..], "Used     tokens not reported"),
        (&["log"], "todo · A todo list for the terminal  13 commits · tokens not reported"),
    ] {
        let shown = sandbox.cowork(command).exits(0).stdout;
        let tokens: Vec<&str> = shown.lines().filter(|line| line.contains("token")).collect();
        assert_eq!(tokens, [line], "{shown}");
    }
}

/// Reads what is said of a gate, and goes to it.
fn to_the_gate(terminal: &mut Terminal, stage: &str) -> String {
    terminal.sees(&format!("the gate of {stage}, explained"));
    let told = terminal.sees("Enter shows the gate");
    assert!(told.lines().count() <= 12, "{told}");
    terminal.types("x");
    terminal.sees("Enter shows the gate");
    terminal.types("\r");
    terminal.sees("stop for now");
    terminal.sees("? help");
    told
}

#[test]
fn demo_ask_explains_each_gate_and_continues_where_it_stopped() {
    let mut sandbox = Sandbox::nowhere();
    // Nothing of the user's counts there.
    sandbox.user_config("[project]\nbranch_prefix = \"mine\"\n[review]\ngates = [\"check\"]\n");
    let folder = sandbox.root().join("de mo");
    let mut demo = sandbox.terminal(&["demo", "--ask", &folder.display().to_string()]);
    let told = to_the_gate(&mut demo, "idea");
    for text in ["e opens it in your editor", "Reviewed-by", "feedback_history.json"] {
        assert!(told.contains(text), "{text}: {told}");
    }
    demo.types("f");
    demo.enters("who uses it?");
    demo.sees("The recording has no answer to that: the same draft comes again.");
    let told = to_the_gate(&mut demo, "idea");
    assert!(!told.contains("e opens it in"), "told twice: {told}");
    demo.types("q");
    demo.sees(&format!("cd '{}'", folder.display()));
    demo.sees("git cowork resume");
    assert_eq!(demo.ends().0, 3);

    sandbox.enter(&folder);
    let mut resumed = sandbox.terminal(&["resume"]);
    to_the_gate(&mut resumed, "idea");
    resumed.types("p");
    let told = to_the_gate(&mut resumed, "prd");
    assert!(told.contains("a second model, the critic, reads the draft"), "{told}");
    resumed.types("p");
    resumed.sees("synchronising");
    let told = to_the_gate(&mut resumed, "prd");
    assert!(told.contains("what changed since you last looked"), "{told}");
    resumed.control('c');
    assert_eq!(resumed.ends().0, 130);
    let commit = sandbox.commit_of("cowork/todo", "idea: ");
    let trailers = sandbox.trailers(&commit);
    assert_eq!(trailers["Cowork-Review"], ["passed"]);
    assert_eq!(trailers["Cowork-Iterations"], ["2"]);
    let said = sandbox.blob(&commit, ".cowork/sessions/todo/feedback_history.json");
    assert!(said.contains("who uses it?"), "{said}");

    let mut rest = sandbox.terminal(&["resume", "todo"]);
    for stage in ["prd", "design", "plan", "coding"] {
        to_the_gate(&mut rest, stage);
        rest.types("p");
    }
    rest.sees("take it     git cowork merge");
    assert_eq!(rest.ends().0, 0);
    assert_eq!(sandbox.server.requests().len(), 0);
    sandbox.assert_sound();
    // What comes next is asked of a model of the user's, with the user's configuration.
    sandbox.cowork(&["status", "todo"]).exits(5);
    let mine = "add due dates";
    sandbox.git(&["branch", "-m", "cowork/todo", "mine/todo"]);
    sandbox.cowork(&["modify", mine, "--session", "todo", "--review", "wait"]).exits(1);
    assert!(sandbox.server.requests().iter().any(|request| request.text().contains(mine)));
}

#[test]
fn demo_ask_without_a_terminal_makes_nothing() {
    let sandbox = Sandbox::nowhere();
    let folder = sandbox.root().join("demo");
    let path = folder.display().to_string();
    let outcome = sandbox.cowork(&["demo", "--ask", &path]).exits(2);
    outcome.says("demo --ask needs a terminal").says("hint: without one: git cowork demo\n");
    sandbox.cowork(&["demo", "--review", "ask", &path]).exits(2).says("needs a terminal");
    sandbox.cowork(&["demo", "--ask", "--review", "auto", &path]).exits(2).says("--review");
    assert!(!folder.exists());
}
