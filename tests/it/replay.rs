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

/// A folder with nothing but git, sh and the utilities of POSIX that they need.
fn posix(sandbox: &Sandbox) -> String {
    let folder = sandbox.root().join("posix");
    std::fs::create_dir(&folder).unwrap();
    for name in ["git", "sh", "cat", "mkdir", "mv", "rm", "sed"] {
        let found = sandbox.shell(&format!("command -v {name}")).exits(0).stdout;
        std::os::unix::fs::symlink(found.trim(), folder.join(name)).unwrap();
    }
    folder.display().to_string()
}

#[test]
fn demo_runs_without_a_key_or_a_toolchain_and_its_last_lines_work() {
    let mut sandbox = Sandbox::nowhere();
    for name in ["COWORK_LLM_BASE_URL", "COWORK_LLM_API_KEY", "COWORK_LLM_MODEL"] {
        sandbox.set_env(name, "");
    }
    let temp = sandbox.root().join("tmp");
    std::fs::create_dir(&temp).unwrap();
    sandbox.set_env("TMPDIR", &temp.display().to_string());
    // As after `cargo run -- demo`: the program is not on PATH.
    let path = posix(&sandbox);
    sandbox.set_env("PATH", &path);
    let outcome = sandbox.cowork(&["demo", "--review", "auto"]).exits(0);
    let said = format!("{}{}", outcome.stdout, outcome.stderr);
    let repository = repository_below(&temp).unwrap();
    sandbox.enter(&repository);
    let branch = sandbox.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/cowork"]);
    let stages = sandbox.stages(&branch);
    assert!(stages.ends_with(&crate::support::todo::STAGES.map(str::to_owned)), "{stages:?}");
    let tasks = sandbox.subjects(&branch);
    let tasks = tasks.iter().filter(|s| s.starts_with("coding: TASK-")).count();
    assert!(tasks >= 5, "{tasks} tasks");
    let prd = sandbox.commit_of(&branch, "prd: ");
    assert_eq!(sandbox.trailers(&prd)["Cowork-Iterations"], ["2"]);
    let check = sandbox.trailers(&sandbox.commit_of(&branch, "check: "));
    assert_eq!(check["Cowork-Checks"], ["passed (sh test.sh)"]);
    assert!(check["Cowork-Tests"][0].starts_with("12 passed, "), "{check:?}");
    sandbox.assert_sound();
    no_usage_is_claimed(&sandbox, &prd, &said);
    let lines = outcome.stdout.lines().filter_map(|line| line.strip_prefix("  "));
    let shown: Vec<&str> = lines.map(|line| line.split("  # ").next().unwrap().trim()).collect();
    assert_eq!(shown.len(), 9, "{shown:?}");
    for line in shown {
        // Nobody is there to decide at the gates of the change.
        let auto = if line.contains(" modify ") { " --review auto" } else { "" };
        let typed = sandbox.shell(&format!("{line}{auto}")).exits(0);
        if line.contains(" why ") {
            let test = "a save fails THEN the exit code is 1 and the old list is still there · \
                        test.sh::test_a_failed_save_leaves_the_list: passed";
            assert!(typed.stdout.contains(test), "{}", typed.stdout);
        }
    }
    // The change was played from its recording to the end.
    let change = "cowork/todo--search";
    assert_eq!(sandbox.stages(change).last().unwrap(), "delivery");
    let tests = sandbox.trailers(&sandbox.commit_of(change, "check: "));
    assert!(tests["Cowork-Tests"][0].starts_with("15 passed, "), "{tests:?}");
    assert!(sandbox.server.requests().is_empty());
    let found = sandbox.shell("sh todo.sh list milk").exits(0).stdout;
    assert_eq!(found, "1 [ ] buy milk\n");
    std::fs::remove_file(repository.join("todo.txt")).unwrap();
    sandbox.assert_sound();
}

/// No server has counted anything: nothing says how many tokens it took, not even none.
fn no_usage_is_claimed(sandbox: &Sandbox, commit: &str, said: &str) {
    let recordings =
        [include_str!("../../demo/replay.jsonl"), include_str!("../../demo/change.jsonl")];
    for line in recordings.into_iter().flat_map(|recording| recording.lines().skip(1)) {
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
    // What comes next is asked of a model of the user's.
    sandbox.cowork(&["status", "todo"]).exits(0);
    let mine = "add due dates";
    sandbox.cowork(&["modify", mine, "--session", "todo", "--review", "wait"]).exits(1);
    assert!(sandbox.server.requests().iter().any(|request| request.text().contains(mine)));
}

#[test]
fn the_change_that_the_demo_proposes_plays_at_its_gates() {
    let mut sandbox = Sandbox::nowhere();
    let folder = sandbox.root().join("demo");
    let path = folder.display().to_string();
    sandbox.cowork(&["demo", &path]).exits(0);
    sandbox.enter(&folder);
    // A change that does not start leaves the recording for another time.
    let words = ["modify", "search the list"];
    let merge = folder.join(".git/MERGE_HEAD");
    std::fs::write(&merge, sandbox.git(&["rev-parse", "HEAD"]) + "\n").unwrap();
    sandbox.cowork(&words).exits(5).says("a merge is in progress");
    std::fs::remove_file(&merge).unwrap();
    let mut change = sandbox.terminal(&words);
    change.sees("replaces the models");
    to_the_gate(&mut change, "triage");
    change.types("p");
    to_the_gate(&mut change, "prd");
    change.types("q");
    assert_eq!(change.ends().0, 3);
    let mut rest = sandbox.terminal(&["resume"]);
    for stage in ["prd", "plan", "coding"] {
        to_the_gate(&mut rest, stage);
        rest.types("p");
    }
    rest.sees("delivered");
    assert_eq!(rest.ends().0, 0);
    assert!(sandbox.server.requests().is_empty());
    sandbox.assert_sound();
    // Its recording is used up.
    sandbox.cowork(&["modify", "search the list", "--review", "wait", "--session", "todo"]);
    assert!(!sandbox.server.requests().is_empty());
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
