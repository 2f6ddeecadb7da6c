//! The five screens by which the terminal is measured, as the real program draws them: at 40, 80,
//! 100 and 200 columns, with and without colour. They are kept in `screens/`, to be looked at.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use console::measure_text_width;

use crate::support::pty::Screen;
use crate::support::snapshot::{compare, plain, styled};
use crate::support::todo::{PRD, reject};
use crate::support::{Reply, Sandbox, at};

const WIDTHS: [u16; 4] = [40, 80, 100, 200];
const COLORS: [&str; 2] = ["never", "always"];

/// A session with a price, and a test command that says how many tests there are.
const CONFIG: &str = "[project]\ntest = \"sh test.sh\"\n[budget]\nusd = 2.0\n\
    prices = { scripted = { in = 20.0, out = 100.0, cached = 5.0 } }\n";

/// Its `todo` has a rejected draft of the prd and an attempt at the design that was left behind; it
/// stopped here.
fn session(stage: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.commit_file("test.sh", "echo '12 passed'\n", "a test");
    sandbox.user_config(CONFIG);
    let vague = "REQ-002 is vague: say in which order todos are listed, and which of them";
    sandbox.server.times(1, at("prd", "critic").iteration(1), reject(vague));
    let second = serde_json::json!({"content": format!("{PRD}\nClearer.\n")});
    let second = Reply::call("save_prd_doc", second);
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), second);
    sandbox.auto(&["--stop-after", "design"]).exits(0);
    if stage != "design" {
        sandbox.cowork(&["revert", "--to", "design", "--no-run"]).exits(0);
        let resume = ["resume", "--review", "auto", "--stop-after", stage];
        sandbox.cowork(&resume).exits(0);
    }
    sandbox
}

/// A screen at the moment it is to be seen.
struct Drawn {
    plain: String,
    styled: String,
}

impl Drawn {
    fn of(screen: &Screen) -> Self {
        Self { plain: plain(screen.seen()), styled: styled(screen.seen()) }
    }
}

/// Draws one of the screens at every width, with and without colour, and compares it with what is kept.
fn drawn(name: &str, draw: impl Fn(u16, &str) -> Drawn) {
    let mut wrong = Vec::new();
    for width in WIDTHS {
        for color in COLORS {
            let Drawn { plain, styled } = draw(width, color);
            let widest = plain.lines().map(measure_text_width).max().unwrap();
            assert!(widest <= usize::from(width), "{name} is {widest} columns wide\n{plain}");
            if color == "never" {
                assert_eq!(plain, styled);
                wrong.extend(compare(&format!("{name}-{width}"), &plain));
            } else {
                assert_ne!(plain, styled);
                wrong.extend(compare(&format!("{name}-{width}-colour"), &styled));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

/// Holds up the answer to this task until something is sent.
fn held_up(sandbox: &Sandbox, task: &str) -> Sender<()> {
    let (go, wait): (Sender<()>, Receiver<()>) = channel();
    let wait = Mutex::new(wait);
    sandbox.server.on_with(at("coding", "actor").task(task).turn(1), move |_| {
        let _ = wait.lock().ok()?.recv();
        None
    });
    go
}

#[test]
fn a_run_looks_as_kept() {
    let original = session("plan");
    drawn("live", |width, color| {
        let sandbox = original.fork();
        let go = held_up(&sandbox, "TASK-003");
        let args = ["resume", "--review", "auto", "--stop-after", "coding", "--color", color];
        let mut screen = sandbox.screen(width, &args);
        // Two tasks are told, and the third has been waited for long enough to be counted.
        screen.shows(|now| now.contains("waiting for scripted · 1 s"));
        let seen = Drawn::of(&screen);
        go.send(()).unwrap();
        assert_eq!(screen.runs_out(), 0);
        seen
    });
}

#[test]
fn a_gate_looks_as_kept() {
    let original = session("design");
    drawn("gate", |width, color| {
        let sandbox = original.fork();
        let mut screen = sandbox.screen(width, &["resume", "--color", color]);
        screen.shows(|now| now.trim_end().ends_with('▸'));
        let seen = Drawn::of(&screen);
        screen.types("q");
        assert_eq!(screen.runs_out(), 3);
        seen
    });
}

#[test]
fn a_status_looks_as_kept() {
    let sandbox = session("plan");
    let gone = Reply::status(401, "enough");
    sandbox.server.on(at("coding", "actor").task("TASK-003").turn(1), gone);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(4);
    drawn("status", |width, color| {
        let mut screen = sandbox.screen(width, &["status", "--color", color]);
        assert_eq!(screen.runs_out(), 0);
        Drawn::of(&screen)
    });
}

#[test]
fn a_log_looks_as_kept() {
    let sandbox = session("delivery");
    drawn("log", |width, color| {
        let mut screen = sandbox.screen(width, &["log", "--color", color]);
        assert_eq!(screen.runs_out(), 0);
        Drawn::of(&screen)
    });
}

#[test]
fn the_end_of_a_run_looks_as_kept() {
    let original = session("check");
    drawn("end", |width, color| {
        let sandbox = original.fork();
        sandbox.git(&["remote", "add", "origin", "../nowhere"]);
        let args = ["resume", "--review", "auto", "--color", color];
        let mut screen = sandbox.screen(width, &args);
        assert_eq!(screen.runs_out(), 0);
        Drawn::of(&screen)
    });
}
