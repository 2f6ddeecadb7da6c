//! `git cowork watch`: a run seen from another terminal.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::support::todo::reject;
use crate::support::{Sandbox, at};

/// A program that watches, and what it has said so far.
struct Watcher {
    child: Child,
    lines: BufReader<ChildStdout>,
    said: String,
}

impl Watcher {
    /// Reads on until it has said this.
    fn says(&mut self, text: &str) {
        while !self.said.contains(text) {
            assert!(self.lines.read_line(&mut self.said).unwrap() > 0, "{}", self.said);
        }
    }
}

/// Begins to watch when the model is asked for the prd. It and the first task are answered when the
/// watcher has said where the run is.
fn watched(sandbox: &Sandbox, args: &[&str], at_prd: &'static str) -> Arc<Mutex<Option<Watcher>>> {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_git-cowork"));
    command.args(args).stdout(Stdio::piped()).stdin(Stdio::null());
    let command = Mutex::new(command);
    let watcher = Arc::<Mutex<Option<Watcher>>>::default();
    let begun = Arc::clone(&watcher);
    sandbox.server.on_with(at("prd", "actor").iteration(1).turn(1), move |_| {
        let mut begun = begun.lock().unwrap();
        if begun.is_none() {
            let mut child = command.lock().unwrap().spawn().unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap());
            begun.insert(Watcher { child, lines, said: String::new() }).says(at_prd);
        }
        None
    });
    let goes_on = Arc::clone(&watcher);
    sandbox.server.on_with(at("coding", "actor").turn(1), move |_| {
        goes_on.lock().unwrap().as_mut()?.says("at coding, draft 1, TASK-00");
        None
    });
    watcher
}

/// All that was seen, once the run has ended.
fn seen(watcher: &Mutex<Option<Watcher>>) -> String {
    let mut watcher = watcher.lock().unwrap().take().unwrap();
    watcher.lines.read_to_string(&mut watcher.said).unwrap();
    assert!(watcher.child.wait().unwrap().success());
    watcher.said
}

#[test]
fn a_run_is_followed_to_its_end() {
    let sandbox = Sandbox::new();
    sandbox.server.times(1, at("prd", "critic").iteration(1), reject("REQ-002 is vague"));
    let watcher = watched(&sandbox, &["watch", "todo"], "at prd");
    sandbox.auto(&[]).exits(0);
    let seen = seen(&watcher);
    // What was done before is told first, each step once.
    let order = [
        "idea       A todo list",
        "is running (process ",
        "draft 1: critic, major: REQ-002",
        "prd        3 requirements",
        "5 tasks",
        "TASK-005",
        "delivery   Add",
    ];
    let places: Vec<usize> = order.iter().map(|text| seen.find(text).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?} {seen}");
    assert_eq!(seen.matches("REQ-002 is vague").count(), 1, "{seen}");
    assert!(seen.contains("at coding, draft 1, TASK-00"), "{seen}");
    assert!(seen.ends_with("todo: the run has ended\nNext     git cowork merge todo\n"), "{seen}");
}

#[test]
fn a_program_gets_a_line_for_each_step_and_place() {
    let sandbox = Sandbox::new();
    let watcher = watched(&sandbox, &["watch", "todo", "--json"], "\"pid\"");
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let seen = seen(&watcher);
    let lines: Vec<Value> = seen.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |event: &str| lines.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
    let stages: Vec<&str> =
        of("stage_completed").iter().map(|line| line["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["idea", "prd"]);
    let run = of("run")[0];
    assert_eq!((&run["stage"], &run["at"]), (&"prd".into(), &"draft".into()), "{run}");
    assert!(run["pid"].is_u64() && run["session"] == "todo", "{run}");
    let last = lines.last().unwrap();
    assert_eq!((&last["event"], &last["state"]), (&"ended".into(), &"in_progress".into()));
}

#[test]
fn where_nothing_runs_that_is_said() {
    let sandbox = Sandbox::stopped_after("prd");
    let seen = sandbox.cowork(&["watch"]).exits(0).stdout;
    assert!(
        seen.contains("3 requirements") && seen.contains("todo: no run is active now\n"),
        "{seen}"
    );
    assert!(seen.contains("Next     git cowork resume todo"), "{seen}");
    sandbox.cowork(&["watch", "nobody"]).exits(5).says("nobody");
}

#[test]
fn a_terminal_that_can_shows_a_message_on_the_desktop() {
    for (name, value, message) in [
        ("TERM_PROGRAM", "WezTerm", "\x1b]9;git cowork: idea waits for you\x1b\\"),
        ("TERM_PROGRAM", "Apple_Terminal", ""),
    ] {
        let mut sandbox = Sandbox::new();
        sandbox.set_env(name, value);
        let new = ["new", "-n", "todo", "a todo list for the terminal", "--stop-after", "idea"];
        let mut screen = sandbox.screen(100, &new);
        screen.shows(|screen| screen.contains("stop for now"));
        screen.types("q");
        let raw = screen.raw.clone();
        screen.ends();
        assert!(raw.contains(message), "{raw:?}");
        assert_eq!(raw.contains("waits for you\x1b\\"), !message.is_empty(), "{raw:?}");
    }
}
