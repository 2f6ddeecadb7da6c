//! A line that a person types while a run works is feedback for the actor's next turn.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};

use crate::support::pty::{Screen, Terminal};
use crate::support::received::Received;
use crate::support::script::At;
use crate::support::todo::{PRD, approve, reject};
use crate::support::{Reply, Sandbox, at};

const NEW: [&str; 6] =
    ["new", "-n", "todo", "a todo list for the terminal", "--stop-after", "idea"];
const AUTO: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "idea"];
/// The last line of the gate's menu.
const ASKED: &str = "stop for now";
/// Before a line that was handed in.
const WAITS: &str = "for the actor's next turn (Up edits it): ";

/// Holds up the answers there, each until something is sent. Nothing more can be scripted meanwhile.
fn held_up(sandbox: &Sandbox, at: At) -> Sender<()> {
    let (go, wait): (Sender<()>, Receiver<()>) = channel();
    let wait = Mutex::new(wait);
    sandbox.server.on_with(at, move |_| {
        let _ = wait.lock().ok()?.recv();
        None
    });
    go
}

/// A run whose first request waits for its answer.
fn at_work(sandbox: &Sandbox, columns: u16, args: &[&str]) -> (Sender<()>, Screen) {
    let go = held_up(sandbox, at("idea", "actor").turn(1));
    let mut screen = sandbox.screen(columns, args);
    screen.shows(|text| text.contains("waiting for scripted"));
    (go, screen)
}

/// The run's last line.
fn last(text: &str) -> &str {
    text.trim_end().lines().last().unwrap_or_default()
}

fn hands_in(screen: &mut Screen, line: &str) {
    screen.types(line);
    screen.shows(|text| last(text) == format!("▸ {line}"));
    screen.types("\r");
    screen.shows(|text| last(text).ends_with(&format!("{WAITS}{line}")));
}

/// What people said, as (stage, draft, severity, words).
fn said(sandbox: &Sandbox) -> Vec<(String, u64, String, String)> {
    let history: Value = serde_json::from_str(&sandbox.artifact("feedback_history.json")).unwrap();
    let entries = history.as_array().unwrap().iter().filter(|entry| entry["from"] == "human");
    let word = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
    let all = entries.map(|entry| {
        let number = entry["iteration"].as_u64().unwrap();
        (word(entry, "stage"), number, word(entry, "severity"), word(entry, "details"))
    });
    all.collect()
}

fn minor(stage: &str, draft: u64, words: &str) -> (String, u64, String, String) {
    (stage.to_owned(), draft, "minor".to_owned(), words.to_owned())
}

/// How often each of the actor's requests in a stage holds these words.
fn told(sandbox: &Sandbox, stage: &str, words: &str) -> Vec<usize> {
    let requests = sandbox.server.requests_of(stage, "actor");
    requests.iter().map(|request| request.text().matches(words).count()).collect()
}

#[test]
fn a_line_reaches_the_next_request_and_is_recorded_as_minor_feedback() {
    let sandbox = Sandbox::new();
    let answer = Reply::text("The file is ~/.todo.");
    sandbox.server.on(at("idea", "actor").turn(2), answer);
    let (go, mut screen) = at_work(&sandbox, 100, &NEW);
    let invites = "Ctrl-C stops safely · type a note for the actor and press Enter";
    screen.shows(|text| last(text).ends_with(invites));
    screen.types("name teh");
    screen.shows(|text| last(text) == "▸ name teh");
    screen.types("\x7f\x7fhe field");
    screen.types("\x17file");
    screen.shows(|text| last(text) == "▸ name the file" && !text.contains("type a note"));
    screen.types("\r");
    screen.shows(|text| last(text) == format!("  {WAITS}name the file"));
    // It is taken back, and replaced.
    screen.types("\x1b[A, please");
    screen.shows(|text| last(text) == "▸ name the file, please" && !text.contains(WAITS));
    screen.types("\r");
    screen.shows(|text| last(text).ends_with(", please") && text.contains(WAITS));
    go.send(()).unwrap();
    let seen = screen.shows(|text| text.contains(ASKED));
    assert!(seen.contains("  human (minor): name the file, please\n"), "{seen}");
    assert!(seen.contains("You said \"name the file, please\""), "{seen}");
    assert!(!seen.contains(WAITS) && !seen.contains("Typed  "), "{seen}");
    screen.types("p");
    let (code, seen) = screen.ends();
    assert_eq!(code, 0, "{seen}");
    assert_eq!(told(&sandbox, "idea", "name the file, please"), [0, 1]);
    assert_eq!(told(&sandbox, "idea", "A person looks on"), [0, 1]);
    assert_eq!(said(&sandbox), [minor("idea", 1, "name the file, please")]);
    let commit = sandbox.stage_commit("idea");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Iterations"], ["1"]);
    let log = sandbox.cowork(&["log", "todo"]).exits(0).stdout;
    assert!(log.contains("draft 1: Ana Example: name the file, please"), "{log}");
    let status = sandbox.cowork(&["status", "todo"]).exits(0).stdout;
    assert!(status.contains("1 draft"), "{status}");
    // Nothing of it is left for the next stage.
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    assert_eq!(told(&sandbox, "prd", "name the file, please").iter().sum::<usize>(), 0);
    sandbox.assert_sound();
}

#[test]
fn a_note_restarts_no_count_of_drafts() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.user_config("[limits]\niterations = { prd = 2 }\n");
    sandbox.server.on_with(at("prd", "actor").turn(1), |received| {
        let text = format!("{PRD}\nDraft {}, fixed.\n", received.iteration);
        Some(Reply::call("save_prd_doc", json!({"content": text})))
    });
    sandbox.server.on(at("prd", "actor").turn(2), Reply::text("It is named."));
    let refusals = vec![reject("no user is named"), reject("ticking off is unclear"), approve()];
    sandbox.server.sequence(at("prd", "critic"), refusals);
    let go = held_up(&sandbox, at("prd", "actor").iteration(2).turn(1));
    let mut screen = sandbox.screen(100, &["resume", "--review", "auto", "--stop-after", "prd"]);
    screen.shows(|text| text.contains("draft 2 of 2") && text.contains("waiting for scripted"));
    hands_in(&mut screen, "name Ana");
    go.send(()).unwrap();
    let seen = screen.shows(|text| text.contains("What now"));
    assert!(seen.contains("draft limit reached (2/2)"), "{seen}");
    // A note is no reason why the draft was refused.
    assert!(!seen.contains("[human]") && seen.contains("[critic] ticking off"), "{seen}");
    screen.types("1");
    let (code, seen) = screen.ends();
    assert_eq!(code, 0, "{seen}");
    let retry = ("prd".to_owned(), 2, "critical".to_owned(), "try again".to_owned());
    assert_eq!(said(&sandbox), [minor("prd", 2, "name Ana"), retry]);
    // The third draft goes on in the same conversation, and is shown it with what holds.
    assert_eq!(told(&sandbox, "prd", "name Ana"), [0, 0, 1, 2]);
}

/// Where lines are kept that the actor was not told.
const KEPT: &str = ".git/cowork/sessions/todo/typed.json";

#[test]
fn a_run_killed_after_enter_tells_it_when_it_is_resumed() {
    let sandbox = Sandbox::new();
    let (go, mut screen) = at_work(&sandbox, 100, &NEW);
    hands_in(&mut screen, "name the file");
    screen.kill();
    drop(go);
    sandbox.server.forget();
    sandbox.cowork(&AUTO).exits(0);
    assert_eq!(told(&sandbox, "idea", "name the file"), [1]);
    assert_eq!(said(&sandbox), [minor("idea", 1, "name the file")]);
    assert_eq!(sandbox.read(KEPT), "null");
}

#[test]
fn a_run_killed_after_it_was_told_does_not_tell_it_twice() {
    let sandbox = Sandbox::new();
    sandbox.server.on(at("idea", "actor").turn(2), Reply::text("It is named."));
    let second = held_up(&sandbox, at("idea", "actor").turn(2));
    let (go, mut screen) = at_work(&sandbox, 100, &NEW);
    hands_in(&mut screen, "name the file");
    let before = sandbox.read(KEPT);
    go.send(()).unwrap();
    screen.shows(|text| text.contains("human (minor): name the file"));
    screen.shows(|text| text.contains("waiting for scripted"));
    screen.kill();
    // As if it had been killed before it could forget the line.
    assert_eq!(sandbox.read(KEPT), "null");
    sandbox.write(KEPT, &before);
    drop(second);
    sandbox.server.forget();
    sandbox.cowork(&AUTO).exits(0);
    assert_eq!(told(&sandbox, "idea", "name the file"), [1]);
    assert_eq!(said(&sandbox), [minor("idea", 1, "name the file")]);
    assert_eq!(sandbox.read(KEPT), "null");
}

#[test]
fn a_draft_is_not_refused_by_a_note() {
    let sandbox = Sandbox::new();
    sandbox.server.on(at("idea", "actor").turn(2), Reply::text("It is named."));
    let (go, mut screen) = at_work(&sandbox, 100, &NEW);
    hands_in(&mut screen, "name the file");
    go.send(()).unwrap();
    screen.shows(|text| text.contains(ASKED));
    screen.kill();
    sandbox.server.forget();
    sandbox.cowork(&AUTO).exits(0);
    assert!(sandbox.server.requests_of("idea", "actor").is_empty(), "the draft is as it was");
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("idea"))["Cowork-Iterations"], ["1"]);
    assert_eq!(said(&sandbox), [minor("idea", 1, "name the file")]);
}

#[test]
fn a_line_that_is_not_finished_when_the_gate_opens_is_the_first_text_of_f() {
    let sandbox = Sandbox::new();
    let (go, mut screen) = at_work(&sandbox, 100, &NEW);
    screen.types("please name");
    screen.shows(|text| last(text) == "▸ please name");
    go.send(()).unwrap();
    drop(go);
    let seen = screen.shows(|text| text.contains(ASKED));
    assert!(seen.contains("Typed    \"please name\"; f continues the text"), "{seen}");
    assert_eq!(told(&sandbox, "idea", "please name"), [0]);
    screen.types("f");
    screen.shows(|text| last(text) == "▸ f  please name");
    screen.types(" the file\r");
    let seen = screen.shows(|text| text.matches(ASKED).count() == 2);
    assert_eq!(seen.matches("Typed  ").count(), 1, "{seen}");
    screen.types("p");
    let (code, seen) = screen.ends();
    assert_eq!(code, 0, "{seen}");
    let words = "please name the file";
    assert_eq!(told(&sandbox, "idea", words)[..2], [0, 1]);
    assert_eq!(said(&sandbox), [("idea".to_owned(), 1, "critical".to_owned(), words.to_owned())]);
}

#[test]
fn a_draft_may_pass_without_the_line_which_stays_to_be_typed_on() {
    let sandbox = Sandbox::new();
    let prd = held_up(&sandbox, at("prd", "actor").turn(1));
    sandbox.server.on(at("prd", "actor").turn(2), Reply::text("It is."));
    let (go, mut screen) = at_work(&sandbox, 100, &NEW[..4]);
    screen.types("use JSON");
    screen.shows(|text| last(text) == "▸ use JSON");
    go.send(()).unwrap();
    screen.shows(|text| text.contains(ASKED));
    screen.types("p");
    screen.shows(|text| text.contains("prd, stage 2") && last(text) == "▸ use JSON");
    screen.types(" for it\r");
    screen.shows(|text| last(text).ends_with("use JSON for it"));
    prd.send(()).unwrap();
    screen.shows(|text| {
        text.contains("prd · draft 1") && text.contains("You said \"use JSON for it")
    });
    screen.types("q");
    assert_eq!(screen.ends().0, 3);
    assert_eq!(told(&sandbox, "prd", "use JSON for it"), [0, 1]);
}

#[test]
fn a_note_for_one_task_is_told_to_the_next_ones_apart_from_feedback() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox
        .server
        .on(at("coding", "actor").task("TASK-001").turn(2), Reply::text("There is none."));
    let go = held_up(&sandbox, at("coding", "actor").task("TASK-001").turn(1));
    let args = ["resume", "--review", "auto", "--stop-after", "coding"];
    let mut screen = sandbox.screen(100, &args);
    screen.shows(|text| text.contains("TASK-001 (1 of 5)") && text.contains("waiting for"));
    hands_in(&mut screen, "no bashisms");
    go.send(()).unwrap();
    let (code, seen) = screen.ends();
    assert_eq!(code, 0, "{seen}");
    let requests = sandbox.server.requests_of("coding", "actor");
    let of = |task: &str| {
        let requests = requests.iter().filter(|request| request.task.as_deref() == Some(task));
        requests.map(Received::text).collect::<Vec<_>>()
    };
    let first = of("TASK-001");
    assert!(!first[0].contains("no bashisms") && first[1].contains("no bashisms"));
    let again = "## What a person said while this draft was made\n\n- no bashisms\n";
    for task in ["TASK-002", "TASK-005"] {
        let next = &of(task)[0];
        assert_eq!(next.matches("no bashisms").count(), 1, "{next}");
        assert!(next.contains(again) && !next.contains("Feedback to answer"), "{next}");
    }
    assert_eq!(said(&sandbox), [minor("coding", 1, "no bashisms")]);
    // What it said with the status is the message of the commit, and not its answer to the note.
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-001");
    let message = sandbox.git(&["log", "-1", "--format=%B", &commit]);
    assert!(!message.contains("There is none."), "{message}");
    let trailers = sandbox.trailers(&sandbox.stage_commit("coding"));
    assert_eq!(trailers["Cowork-Iterations"], ["1"]);
}

#[test]
fn what_is_typed_while_the_critic_reads_waits_for_the_actor() {
    let sandbox = Sandbox::stopped_after("idea");
    let go = held_up(&sandbox, at("prd", "critic"));
    let args = ["resume", "--review", "auto", "--stop-after", "design"];
    let mut screen = sandbox.screen(100, &args);
    screen.shows(|text| {
        text.contains("prd, stage 2")
            && !sandbox.server.requests_of("prd", "critic").is_empty()
            && text.contains("waiting for")
    });
    hands_in(&mut screen, "no cache");
    drop(go);
    let (code, seen) = screen.ends();
    assert_eq!(code, 0, "{seen}");
    assert_eq!(told(&sandbox, "design", "no cache"), [1]);
    assert_eq!(said(&sandbox), [minor("design", 1, "no cache")]);
}

#[test]
fn ctrl_c_stops_as_before_and_keeps_what_was_typed_for_the_next_run() {
    let sandbox = Sandbox::new();
    sandbox.server.on(at("idea", "actor").turn(2), Reply::text("It is."));
    let go = held_up(&sandbox, at("idea", "actor").turn(1));
    let mut screen = sandbox.screen_of_a_shell(100, &NEW);
    screen.shows(|text| text.contains("waiting for scripted"));
    hands_in(&mut screen, "name Ana");
    screen.types("in ital");
    screen.shows(|text| last(text) == "▸ in ital");
    screen.types("\x03");
    let (_, seen) = screen.ends();
    assert!(seen.contains("ended 130"), "{seen}");
    assert!(
        seen.contains("the actor has not seen \"name Ana in ital\": it is kept for the next run"),
        "{seen}"
    );
    let modes: Vec<&str> = seen.split_whitespace().collect();
    assert!(modes.contains(&"echo") && modes.contains(&"icanon"), "{seen}");
    assert!(seen.contains("susp = ^Z"), "{seen}");
    drop(go);
    sandbox.server.forget();
    let go = held_up(&sandbox, at("idea", "actor").turn(1));
    let mut screen = sandbox.screen(100, &["resume", "--stop-after", "idea"]);
    screen.shows(|text| text.contains("human (minor): name Ana") && last(text) == "▸ in ital");
    screen.types("ics\r");
    screen.shows(|text| last(text).ends_with("in italics"));
    go.send(()).unwrap();
    screen.shows(|text| text.contains(ASKED));
    screen.types("p");
    assert_eq!(screen.ends().0, 0);
    assert_eq!(told(&sandbox, "idea", "name Ana"), [1, 1]);
    assert_eq!(told(&sandbox, "idea", "in italics"), [0, 1]);
}

#[test]
fn a_paste_is_one_note_and_wide_characters_are_folded_to_the_end_of_the_line() {
    let sandbox = Sandbox::new();
    let (go, mut screen) = at_work(&sandbox, 40, &NEW);
    screen.types("one\rtwo — 日本\r");
    screen.shows(|text| text.contains("next turn"));
    screen.types(&"日本語".repeat(9));
    let seen = screen.shows(|text| last(text).ends_with('語'));
    assert_eq!(last(&seen), format!("▸ …本語{}", "日本語".repeat(5)));
    screen.types("\x15");
    screen.shows(|text| !last(text).starts_with('▸'));
    go.send(()).unwrap();
    screen.shows(|text| text.contains(ASKED));
    screen.types("p");
    assert_eq!(screen.ends().0, 0);
    assert_eq!(told(&sandbox, "idea", "one\ntwo — 日本"), [0, 1]);
    assert_eq!(said(&sandbox), [minor("idea", 1, "one\ntwo — 日本")]);
}

#[test]
fn a_hook_that_asks_at_the_terminal_gets_its_answer() {
    let sandbox = Sandbox::new();
    sandbox.hook(
        "pre-commit",
        "git diff --cached --name-only | grep -q idea.md || exit 0\n\
         echo who commits >/dev/tty; read -r who </dev/tty; echo \"$who\" >../who",
    );
    let mut terminal: Terminal = sandbox.terminal(&[&NEW[..], &["--review", "auto"]].concat());
    terminal.sees("who commits");
    terminal.enters("Ana");
    let (code, seen) = terminal.ends();
    assert_eq!(code, 0, "{seen}");
    assert_eq!(std::fs::read_to_string(sandbox.root().join("who")).unwrap(), "Ana\n");
    assert!(!seen.contains("not told"), "{seen}");
}

#[test]
fn nothing_is_read_where_nobody_is_to_be_asked_or_answers_were_recorded() {
    let sandbox = Sandbox::new();
    let args =
        [&NEW[..], &["--no-interactive", "--review", "auto", "--record", "../tape"]].concat();
    let (go, mut screen) = at_work(&sandbox, 100, &args);
    screen.types("name the file\r");
    drop(go);
    screen.shows(|text| text.contains("✓ idea"));
    let raw = screen.raw.clone();
    assert_eq!(screen.ends().0, 0);
    assert!(raw.contains("Ctrl-C stops safely") && !raw.contains("type a note"), "{raw}");
    assert!(!raw.contains('▸') && !raw.contains("name the file"), "{raw}");
    assert_eq!(told(&sandbox, "idea", "name the file"), [0]);
    sandbox.git(&["switch", "-q", "main"]);
    let args = ["new", "-n", "again", "a todo list", "--review", "auto", "--stop-after", "idea"];
    let mut screen = sandbox.screen(100, &[&args[..], &["--replay", "../tape"]].concat());
    screen.shows(|text| text.contains("✓ idea"));
    assert!(!screen.raw.contains("type a note"), "{}", screen.raw);
    assert_eq!(screen.ends().0, 0);
}
