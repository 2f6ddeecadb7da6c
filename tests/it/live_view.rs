//! What stands in the last lines of a terminal while a session works.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::json;

use crate::support::script::{At, START};
use crate::support::todo::IDEA;
use crate::support::{Reply, Sandbox, at, at_once};

const NEW: [&str; 6] =
    ["new", "-n", "todo", "a todo list for the terminal", "--stop-after", "idea"];

/// Holds up the first answer of the idea until something is sent.
fn held_up(sandbox: &Sandbox) -> Sender<()> {
    held_up_at(sandbox, at("idea", "actor").turn(1))
}

/// Holds up the answers there until something is sent.
fn held_up_at(sandbox: &Sandbox, at: At) -> Sender<()> {
    let (go, wait): (Sender<()>, Receiver<()>) = channel();
    let wait = Mutex::new(wait);
    sandbox.server.on_with(at, move |_| {
        let _ = wait.lock().ok()?.recv();
        None
    });
    go
}

#[test]
fn the_last_lines_say_what_is_done_and_how_to_stop_at_every_width() {
    let places = [
        (40, "  idea 1/7 · scripted · Ctrl-C stops"),
        (
            100,
            "  idea, stage 1 of 7 · scripted · Ctrl-C stops safely · type a note for the actor and press Enter",
        ),
        (70, "  idea, stage 1 of 7 · scripted · Ctrl-C stops safely · type a note"),
    ];
    let options = [&["--no-stream"][..], &["--color", "never"]];
    let cases = places.iter().flat_map(|place| options.map(|args| (*place, args)));
    at_once(cases, |((width, place), args)| {
        let sandbox = Sandbox::new();
        let go = held_up(&sandbox);
        let mut screen = sandbox.screen(width, &[&NEW[..], args].concat());
        let counts = |text: &str, n| text.contains(&format!("waiting for scripted · {n} s"));
        let seen = screen.shows(|text| (1..60).any(|n| counts(text, n)));
        let last: Vec<&str> = seen.trim_end().lines().rev().take(2).collect();
        assert_eq!(last[0], place, "{width}: {seen}");
        assert!(last[1].starts_with(['⠋', '⠙', '⠸', '⠴', '⠦', '⠧', '⠇', '⠏']), "{seen}");
        assert!(width == 40 || last[1].ends_with("k tokens"), "{width}: {seen}");
        assert!(seen.contains(&"─".repeat(usize::from(width) - 20)), "{width}: {seen}");
        let is_narrow = |line: &str| line.chars().count() <= usize::from(width);
        assert!(seen.lines().all(is_narrow), "{width}: {seen}");
        go.send(()).unwrap();
        screen.shows(|text| text.contains("stop for now"));
        screen.types("p");
        let (code, seen) = screen.ends();
        assert_eq!(code, 0, "{seen}");
        assert!(!seen.contains("Ctrl-C stops"), "{seen}");
    });
}

#[test]
fn what_follows_a_gate_has_the_width_that_the_terminal_has_then() {
    let sandbox = Sandbox::new();
    let go = held_up_at(&sandbox, at("prd", "actor").turn(1));
    let new = ["new", "-n", "todo", "a todo list for the terminal", "--stop-after", "prd"];
    let mut screen = sandbox.screen(100, &new);
    screen.shows(|text| text.contains("stop for now"));
    screen.resizes(40);
    screen.types("p");
    let seen = screen.shows(|text| text.contains("prd 2/7") && text.contains(" · 2 s"));
    assert_eq!(seen.matches("Ctrl-C stops").count(), 1, "{seen}");
    assert!(seen.contains("── prd (2 of 7) ─"), "{seen}");
    assert!(!seen.contains(&"─".repeat(40)), "{seen}");
    go.send(()).unwrap();
    screen.shows(|text| text.contains("prd · draft") && text.contains("stop for now"));
    screen.types("q");
    assert_eq!(screen.ends().0, 3);
}

#[test]
fn a_failing_test_is_told_while_the_command_still_runs() {
    let sandbox = Sandbox::stopped_after("plan");
    let fifo = sandbox.root().join("fifo");
    assert!(sandbox.command("mkfifo").arg(&fifo).status().unwrap().success());
    let command = format!("echo 'test adds ... FAILED'; read go <'{}'", fifo.display());
    let work = Reply::call("run_command", json!({"command": command}));
    sandbox.server.times(1, at("coding", "actor").turn(1), work);
    sandbox.user_config("[sandbox]\ncommand_prefix = [\"env\"]\n");
    let mut screen = sandbox.screen(100, &["resume", "--review", "auto", "--stop-after", "coding"]);
    let seen = screen.shows(|text| text.contains("✗ adds failed") && text.contains("running echo"));
    assert!(seen.contains("(1 of 5) · "), "{seen}");
    assert!(seen.contains("  │ test adds ... FAILED"), "{seen}");
    assert!(screen.raw.contains("[31m"), "it is red");
    std::fs::write(&fifo, "go\n").unwrap();
    let (code, seen) = screen.ends();
    assert_eq!(code, 0, "{seen}");
}

#[test]
fn a_document_is_counted_in_lines_as_it_is_changed() {
    let sandbox = Sandbox::new();
    let told = sandbox.auto(&["--stop-after", "idea"]).exits(0).stderr;
    let lines = sandbox.artifact("idea.md").lines().count();
    assert!(told.contains(&format!(" +{lines} −0\n")), "{told}");
}

/// What is drawn is ASCII; what the model wrote is left as it is, and so is all where no terminal is.
#[test]
fn where_the_locale_is_not_utf_8_our_own_signs_are_ascii() {
    let mut sandbox = Sandbox::new();
    sandbox.set_env("LC_ALL", "");
    sandbox.set_env("LANG", "POSIX");
    let idea = IDEA.replace("Notes get lost", "Notes → a café get lost");
    let save = Reply::call("save_idea", json!({"content": idea}));
    sandbox.server.on(at("idea", "actor").turn(1), save);
    let mut screen = sandbox.screen(100, &NEW);
    let seen = screen.shows(|text| text.contains("stop for now"));
    assert!(seen.contains("== idea - draft 1 "), "{seen}");
    assert!(seen.contains("Notes > a café get lost"), "{seen}");
    screen.types("p");
    let (code, seen) = screen.ends();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains(" + idea"), "{seen}");
    assert!(!seen.contains(['─', '·', '✓', '…', '→']), "{seen}");
    let piped = sandbox.cowork(&["status", "todo"]).exits(0).stdout;
    assert!(piped.contains("Session  todo · ") && piped.contains('✓'), "{piped}");
    sandbox.set_env("LC_CTYPE", "de_DE.utf8");
    let (code, seen) = sandbox.screen(100, &["status", "todo"]).ends();
    assert!(code == 0 && seen.contains("Session  todo · ") && seen.contains('✓'), "{seen}");
}

/// The first request is made before there is a session.
#[test]
fn the_first_request_shows_how_long_it_takes_and_ctrl_c_stops_it() {
    let delivered = Sandbox::delivered();
    let cases = [(Sandbox::new(), &NEW[..]), (delivered, &["modify", "be quick"])];
    for (sandbox, args) in cases {
        let branches = sandbox.refs("refs/heads");
        let _go = held_up_at(&sandbox, at(START, "actor"));
        let mut screen = sandbox.screen(100, args);
        let counts = |text: &str, n| text.contains(&format!("waiting for scripted · {n} s"));
        let seen = screen.shows(|text| (1..60).any(|n| counts(text, n)));
        let last: Vec<&str> = seen.trim_end().lines().rev().take(2).collect();
        assert_eq!(last[0], "  scripted · Ctrl-C stops safely", "{seen}");
        assert!(last[1].starts_with(['⠋', '⠙', '⠸', '⠴', '⠦', '⠧', '⠇', '⠏']), "{seen}");
        screen.types("\x03");
        let (code, seen) = screen.ends();
        assert_eq!(code, 130, "{seen}");
        assert!(!seen.contains("waiting for"), "{seen}");
        assert_eq!(sandbox.refs("refs/heads"), branches);
        sandbox.assert_clean();
    }
}
