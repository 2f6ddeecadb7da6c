//! Long texts at a gate go through the person's own pager, as git would choose it.

use std::sync::mpsc::channel;

use serde_json::json;

use crate::support::pty::Terminal;
use crate::support::skip::skipped;
use crate::support::todo::{IDEA, code_of, file_of, lingers};
use crate::support::{Reply, Sandbox, at};

const NEW: [&str; 6] =
    ["new", "-n", "todo", "a todo list for the terminal", "--stop-after", "idea"];

/// The last line of the menu: from here on keys are read.
const ASKED: &str = "stop for now";

/// A repository where the idea is longer than any screen, and where nothing says which pager.
fn long_idea() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set_env("GIT_PAGER", "");
    let lines: String = (1..=300).map(|n| format!("- line {n:03}\n")).collect();
    let idea = format!("{IDEA}\n{lines}");
    sandbox
        .server
        .on(at("idea", "actor").turn(1), Reply::call("save_idea", json!({"content": idea})));
    sandbox
}

fn at_the_gate(sandbox: &Sandbox) -> Terminal {
    let mut terminal = sandbox.terminal(&NEW);
    terminal.sees("p pass ");
    terminal.sees(ASKED);
    terminal
}

/// Whether there is a `less` to test with.
#[expect(clippy::print_stdout, reason = "whoever reads the run must know what it did not show")]
fn has_less(sandbox: &Sandbox) -> bool {
    let has = sandbox.command("less").arg("--version").output().is_ok_and(|o| o.status.success());
    if !has {
        println!("SKIPPED: there is no less here");
    }
    has
}

/// Ends what stands at a gate.
fn leaves(mut terminal: Terminal) {
    terminal.sees(ASKED);
    terminal.types("q");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 3, "{rest}");
}

#[test]
fn less_is_opened_and_its_q_ends_only_itself() {
    let sandbox = long_idea();
    if !has_less(&sandbox) {
        return;
    }
    let mut terminal = at_the_gate(&sandbox);
    for key in ["v", "d"] {
        terminal.types(key);
        terminal.sees("Technical");
        let top = terminal.sees(":");
        assert!(!top.contains("line 100"), "{key}: not paged: {top}");
        // It has the keyboard: end of the text, an interrupt that is its own, and its way out.
        terminal.types("G");
        terminal.sees("line 300");
        terminal.sees("(END)");
        terminal.control('c');
        terminal.sees("(END)");
        terminal.types("q");
        terminal.sees("p pass ");
        terminal.sees(ASKED);
    }
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("idea"))["Cowork-Review"], ["passed"]);
    sandbox.assert_sound();
}

#[test]
fn the_pager_and_its_arguments_are_what_git_would_take() {
    let mut sandbox = long_idea();
    if !has_less(&sandbox) {
        return;
    }
    sandbox.set_env("PAGER", "cat");
    sandbox.git(&["config", "core.pager", "less -S +G"]);
    let mut terminal = at_the_gate(&sandbox);
    terminal.types("v");
    let shown = terminal.sees("line 300");
    assert!(!shown.contains("line 100"), "not the pager of core.pager: {shown}");
    terminal.types("q");
    terminal.sees("p pass ");
    leaves(terminal);
}

#[test]
fn no_pager_is_none() {
    // An empty GIT_PAGER needs a shell: an empty value removes a variable here.
    let empty = long_idea();
    let program = env!("CARGO_BIN_EXE_git-cowork");
    empty.executable(
        &empty.root().join("bin/git-cowork"),
        &format!("GIT_PAGER= exec '{program}' \"$@\""),
    );
    empty.git(&["config", "core.pager", "touch was-paged"]);
    let mut cat = long_idea();
    cat.set_env("PAGER", "cat");
    let asked = long_idea();
    asked.git(&["config", "core.pager", "touch was-paged"]);
    asked.git(&["config", "pager.diff", "false"]);
    for (sandbox, key) in [(empty, "v"), (cat, "V"), (asked, "d")] {
        let mut terminal = sandbox.git_terminal(&NEW);
        terminal.sees(ASKED);
        terminal.types(key);
        terminal.sees("line 300");
        terminal.sees("p pass ");
        terminal.types("q");
        let (code, rest) = terminal.ends();
        assert_eq!(code, 3, "{rest}");
        assert!(!sandbox.exists("was-paged"));
    }
}

#[test]
fn a_pager_that_is_not_there_hides_nothing() {
    let sandbox = long_idea();
    sandbox.git(&["config", "core.pager", "no-such-pager --x"]);
    let mut terminal = at_the_gate(&sandbox);
    terminal.types("v");
    terminal.sees("the pager 'no-such-pager --x' cannot be run");
    terminal.sees("line 300");
    terminal.sees("p pass ");
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
}

#[test]
fn a_difference_has_the_users_colours_and_pager_and_no_colour_of_a_model() {
    let mut sandbox = Sandbox::stopped_after("plan");
    sandbox.set_env("GIT_PAGER", "");
    sandbox.git(&["config", "color.diff.new", "yellow"]);
    sandbox.git(&["config", "core.pager", "touch was-paged"]);
    sandbox.git(&["config", "pager.diff", "cat >../diff"]);
    let code = format!("{}echo \u{1b}[8mhidden\u{1b}[2J\n", code_of("TASK-001"));
    let write = json!({"path": file_of("TASK-001"), "content": code});
    let done = json!({"task_id": "TASK-001", "new_status": "completed"});
    let work = Reply::call("write_file", write).and("update_task_status", done);
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(1), work);
    let mut terminal = sandbox.terminal(&["resume", "--color", "always"]);
    terminal.sees(ASKED);
    terminal.types("d");
    terminal.sees(ASKED);
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    let diff = std::fs::read_to_string(sandbox.root().join("diff")).unwrap();
    assert!(diff.contains("\u{1b}[33m+"), "{diff:?}");
    assert!(diff.contains("echo hidden\u{1b}[m"), "{diff:?}");
    assert!(!diff.contains("\u{1b}[8m") && !diff.contains("\u{1b}[2J"), "{diff:?}");
    assert!(!sandbox.exists("was-paged"));
}

#[test]
fn what_is_typed_before_the_gate_is_there_does_not_answer_it() {
    let sandbox = Sandbox::new();
    sandbox.server.manner(lingers);
    let (asks, asked) = channel::<()>();
    let (typed, has_typed) = channel::<()>();
    let (asks, has_typed) = (std::sync::Mutex::new(asks), std::sync::Mutex::new(has_typed));
    sandbox.server.on_with(at("idea", "actor").turn(2), move |_| {
        asks.lock().ok()?.send(()).ok()?;
        has_typed.lock().ok()?.recv().ok()?;
        None
    });
    let mut terminal = sandbox.terminal(&NEW);
    asked.recv().unwrap();
    terminal.types("p");
    terminal.types("p\r");
    typed.send(()).unwrap();
    leaves(terminal);
    assert!(sandbox.tags().is_empty());
}

/// A program that pages by writing what it gets to a file.
const TO_FILE: &str = "cat >../paged";

fn paged(sandbox: &Sandbox) -> Option<String> {
    let file = sandbox.root().join("paged");
    let text = std::fs::read_to_string(&file).ok();
    let _ = std::fs::remove_file(file);
    text
}

/// What a command says at a terminal, which it leaves with 0.
fn at_terminal(terminal: Terminal) -> String {
    let (code, text) = terminal.ends();
    assert_eq!(code, 0, "{text}");
    text
}

#[test]
fn what_may_be_long_is_paged_as_git_does_it() {
    let mut sandbox = Sandbox::stopped_after("prd");
    sandbox.set_env("GIT_PAGER", "");
    sandbox.git(&["config", "core.pager", TO_FILE]);
    for args in [&["log"][..], &["list"], &["show", "prd"], &["show", "requirements"]] {
        let shown = at_terminal(sandbox.terminal(args));
        assert_eq!(shown.trim(), "", "{args:?}");
        assert!(paged(&sandbox).is_some_and(|text| !text.is_empty()), "{args:?} was not paged");
        // To a pipe, to a program, and where git is told not to.
        sandbox.cowork(args).exits(0);
        at_terminal(sandbox.terminal(&[args, &["--json"]].concat()));
        let shown = at_terminal(
            sandbox.in_terminal(sandbox.command("git"), &[&["-P", "cowork"], args].concat()),
        );
        assert!(!shown.trim().is_empty(), "{args:?}");
        assert_eq!(paged(&sandbox), None, "{args:?}");
    }
    at_terminal(sandbox.terminal(&["status"]));
    assert_eq!(paged(&sandbox), None);
}

#[test]
fn our_own_pager_wins_over_gits_and_false_is_none() {
    let mut sandbox = Sandbox::stopped_after("idea");
    sandbox.set_env("GIT_PAGER", "");
    sandbox.git(&["config", "core.pager", "touch ../was-gits"]);
    for key in ["cowork.pager", "pager.cowork"] {
        sandbox.git(&["config", key, TO_FILE]);
        at_terminal(sandbox.terminal(&["log"]));
        assert!(paged(&sandbox).is_some(), "{key}");
        sandbox.git(&["config", key, "false"]);
        let shown = at_terminal(sandbox.terminal(&["log"]));
        assert!(shown.contains("idea") && !shown.contains("warning"), "{key}: {shown}");
        sandbox.git(&["config", "--unset", key]);
    }
    assert!(!sandbox.root().join("was-gits").exists());
    sandbox.git(&["config", "cowork.pager", "no-such-pager"]);
    let shown = at_terminal(sandbox.terminal(&["log"]));
    assert!(shown.contains("'no-such-pager' cannot be run") && shown.contains("idea"), "{shown}");
}

#[test]
fn a_document_is_laid_out_for_the_width_of_the_terminal() {
    let sandbox = Sandbox::stopped_after("idea");
    let raw = sandbox.cowork(&["show", "idea"]).exits(0).stdout;
    assert!(raw.starts_with("# "), "{raw}");
    let program = env!("CARGO_BIN_EXE_git-cowork");
    for width in [40, 100, 200] {
        let line = format!("unset COLUMNS; stty cols {width}; exec '{program}' show idea");
        let shown = at_terminal(sandbox.in_terminal(sandbox.command("sh"), &["-c", &line]));
        // The terminal is read byte by byte.
        let bytes: Vec<u8> = shown.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        let shown = String::from_utf8(bytes).unwrap();
        let lines: Vec<&str> = shown.lines().map(|line| line.trim_end_matches('\r')).collect();
        assert_eq!(lines[0], raw.lines().next().unwrap().trim_start_matches("# "), "{shown}");
        assert!(lines[1].starts_with('━'), "{shown}");
        let widest = lines.iter().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width.min(100), "{width}: {shown}");
        let words =
            |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).collect() };
        assert_eq!(words(&shown), words(&raw), "{width}: a word is missing");
    }
}

#[test]
fn diff_is_the_session_against_its_base() {
    let mut sandbox = Sandbox::stopped_after("coding");
    let begun = sandbox.git(&["merge-base", "main", "cowork/todo"]);
    let all = sandbox.git(&["diff", &begun, "cowork/todo"]);
    assert_eq!(sandbox.cowork(&["diff"]).exits(0).stdout.trim_end(), all);
    let code = sandbox.cowork(&["diff", "todo", "--without-artifacts"]).exits(0).stdout;
    assert!(code.contains(file_of("TASK-001")) && !code.contains(".cowork/sessions"), "{code}");
    let stat = sandbox.cowork(&["diff", "--stat"]).exits(0).stdout;
    assert!(stat.contains("files changed"), "{stat}");
    // What the base got since is not the session's, also where the session has taken it.
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.commit_file("elsewhere.txt", "of the base\n", "on the base");
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    assert_eq!(sandbox.cowork(&["diff"]).exits(0).stdout.trim_end(), all);
    sandbox.git(&["merge", "-q", "--no-edit", "main"]);
    let merged = sandbox.cowork(&["diff"]).exits(0).stdout;
    assert!(!merged.contains("elsewhere.txt"), "{merged}");
    sandbox.set_env("GIT_PAGER", "");
    sandbox.git(&["config", "pager.diff", TO_FILE]);
    at_terminal(sandbox.terminal(&["diff"]));
    assert!(paged(&sandbox).is_some_and(|text| text.contains(file_of("TASK-001"))));
}

#[test]
fn delta_shows_a_session_as_it_shows_gits_own_difference() {
    let delta = "delta --no-gitconfig --dark --paging=never --width=100";
    let mut sandbox = Sandbox::stopped_after("coding");
    if sandbox.command("delta").arg("--version").output().is_err() {
        return skipped("no delta here: differences through it as pager");
    }
    sandbox.set_env("GIT_PAGER", "");
    sandbox.git(&["config", "pager.diff", &format!("{delta} >../paged")]);
    at_terminal(sandbox.terminal(&["diff"]));
    let shown = paged(&sandbox).unwrap();
    let begun = sandbox.git(&["merge-base", "main", "cowork/todo"]);
    let line = format!("git diff --color=always {begun} cowork/todo | {delta}");
    let gits = sandbox.command("sh").args(["-c", &line]).output().unwrap();
    assert_eq!(shown, String::from_utf8(gits.stdout).unwrap());
    assert!(shown.contains(file_of("TASK-001")) && !shown.contains("diff --git"), "{shown}");
}
