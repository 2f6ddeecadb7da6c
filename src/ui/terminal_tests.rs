//! The output of runs as the user sees it.

use super::*;
use crate::activity::Activity;
use crate::error::Error;
use crate::event::{Event, Sink as _, Usage};
use crate::spent::Spent;
use crate::stage::{Role, Stage};
use crate::ui::testing::{Broken, Captured};
use anyhow::Context as _;

const PLAIN: Look = Look {
    verbosity: Verbosity::Normal,
    stream: true,
    color: false,
    live: false,
    width: 80,
    knows: Knows { title: false, progress: false, message: None },
};

fn terminal(out: &Captured, look: Look) -> Terminal {
    let mut terminal = Terminal::new(Box::new(out.clone()), look);
    terminal.age = Box::new(|| Duration::from_secs(41));
    terminal.takes_keyboard = false;
    terminal
}

fn size(n: u16) -> std::num::NonZero<u16> {
    n.try_into().unwrap()
}

/// Returns the screen of a terminal that received this output.
fn screen(out: &Captured, width: u16) -> String {
    let mut terminal = vt100::Parser::new(size(40), size(width), 0);
    terminal.process(out.text().replace('\n', "\r\n").as_bytes());
    terminal.screen().contents().trim_end().to_owned()
}

fn told(look: Look) -> String {
    let out = Captured::default();
    let terminal = terminal(&out, look);
    let stage = Stage::Coding;
    let usage = Usage { input: 9_000, output: 249, cached: 8_000 };
    let spent = Spent { usage, millis: 41_000, ..Spent::default() };
    for event in [
        Event::SessionStarted {
            branch: "cowork/todo".into(),
            resumed: true,
            title: "a todo list".into(),
        },
        Event::StageStarted { stage, number: 5, of: 7, order: Vec::new() },
        Event::DraftStarted {
            stage,
            iteration: 2,
            limit: 5,
            task: Some("TASK-003 list todos".into()),
            tasks: (2, 5),
        },
        Event::Text { text: "\n I wri".into() },
        Event::Text { text: "te \x1b[3".into() },
        Event::Text { text: "1mit.".into() },
        Event::ModelRequest {
            stage,
            role: Role::Actor,
            iteration: 2,
            turn: 3,
            usage,
            millis: 2345,
        },
        Event::ToolCall {
            tool: "write_file".into(),
            brief: "src/main.rs".into(),
            ok: true,
            command_failed: false,
            answer: "12 lines\nmore".into(),
        },
        Event::ToolCall {
            tool: "run_command".into(),
            brief: "cargo\x1b]0;x\x07 test".into(),
            ok: false,
            command_failed: false,
            answer: "exit 1\nmore".into(),
        },
        Event::Feedback {
            stage,
            from: "critic".into(),
            severity: "major".into(),
            details: "one\ntwo\n".into(),
        },
        Event::ReviewRequested {
            stage,
            iteration: 2,
            commit: Some("0123456789".into()),
            reason: None,
        },
        Event::Warning { text: "a hook\nis slow".into() },
        Event::Note { text: "a note".into() },
        Event::TaskCompleted {
            task: "TASK-003".into(),
            commit: "0123456789".into(),
            subject: "coding: TASK-003 list todos".into(),
            checks: "none".into(),
            fails: false,
            files: String::new(),
            tests: String::new(),
            millis: 0,
        },
        Event::StageCompleted {
            stage,
            commit: "abcdef0123456789".into(),
            tag: Some("cowork/todo/coding".into()),
            subject: "coding: 1 of 1 task".into(),
            spent,
        },
        Event::SessionCompleted {
            commit: "fedcba9876".into(),
            spent,
            here: spent,
            delivered: None,
        },
    ] {
        terminal.emit(event);
    }
    drop(terminal);
    out.text()
}

#[test]
fn a_run_without_colour() {
    let rule = "─".repeat(61);
    assert_eq!(
        told(PLAIN),
        format!(
            "on branch cowork/todo (resumed)\n\
             ── coding (5 of 7) {rule}\n\
             draft 2 of 5 · TASK-003 list todos\n\
             I write it.\n\
             \x20 · write_file src/main.rs\n\
             \x20 ✗ run_command cargo test: exit 1\n\
             \x20 critic (major): one\n\
             \x20   two\n\
             coding, draft 2: waiting for you · 0123456\n\
             warning: a hook is slow\n\
             a note\n\
             ✓ coding: TASK-003 list todos · 0123456\n\
             ✓ coding: 1 of 1 task · abcdef0 · cowork/todo/coding · 9.2k tokens · 41 s\n\
             ✓ session completed · fedcba9 · 9.2k tokens · 41 s\n"
        )
    );
}

#[test]
fn quiet_shows_warnings_and_completions_verbose_shows_requests() {
    assert_eq!(
        told(Look { verbosity: Verbosity::Quiet, ..PLAIN }),
        "warning: a hook is slow\n\
         ✓ coding: TASK-003 list todos · 0123456\n\
         ✓ coding: 1 of 1 task · abcdef0 · cowork/todo/coding · 9.2k tokens · 41 s\n\
         ✓ session completed · fedcba9 · 9.2k tokens · 41 s\n"
    );
    let verbose = told(Look { verbosity: Verbosity::Verbose, ..PLAIN });
    let request = "  actor, turn 3: 9.0k tokens in (8.0k cached), 249 out, 2.3 s\n";
    assert!(verbose.contains(request), "{verbose}");
    assert!(verbose.contains("  · write_file src/main.rs: 12 lines\n"), "{verbose}");
    let unstreamed = told(Look { stream: false, ..PLAIN });
    assert!(!unstreamed.contains("I write"), "{unstreamed}");
}

#[test]
fn colour_adds_nothing_but_colour() {
    assert_eq!(sanitize(&told(Look { color: true, ..PLAIN })), told(PLAIN));
}

#[test]
fn the_live_lines_are_removed() {
    let out = Captured::default();
    let terminal = terminal(&out, Look { live: true, ..PLAIN });
    terminal.emit(Event::StageStarted { stage: Stage::Prd, number: 2, of: 7, order: Vec::new() });
    let rule = format!("── prd (2 of 7) {}", "─".repeat(64));
    let live = "⠹ working · 0 s".to_owned()
        + &" ".repeat(61)
        + "0 s\n  prd, stage 2 of 7 · Ctrl-C stops safely";
    let turned = |shown: String| shown.replace(['⠋', '⠙', '⠸', '⠴', '⠦', '⠧', '⠇', '⠏'], "⠹");
    assert_eq!(turned(screen(&out, 80)), format!("{rule}\n{live}"));
    terminal.emit(Event::Text { text: "words".into() });
    assert_eq!(screen(&out, 80), format!("{rule}\nwords"));
    terminal.tick();
    assert_eq!(screen(&out, 80), format!("{rule}\nwords"));
    terminal.emit(Event::Note { text: "note".into() });
    assert_eq!(turned(screen(&out, 80)), format!("{rule}\nwords\nnote\n{live}"));
    terminal.emit(Event::ReviewRequested {
        stage: Stage::Prd,
        iteration: 1,
        commit: None,
        reason: None,
    });
    // The gate rings and shows what it waits for.
    assert_eq!(screen(&out, 80), format!("{rule}\nwords\nnote"));
    terminal.tick();
    assert_eq!(screen(&out, 80), format!("{rule}\nwords\nnote"));
    let commit = Some("0123456789".to_owned());
    terminal.emit(Event::ReviewRequested { stage: Stage::Prd, iteration: 1, commit, reason: None });
    assert!(out.text().ends_with("prd, draft 1: waiting for you · 0123456\n\x07"));
}

#[test]
fn a_change_is_counted_and_a_failing_test_is_red_at_once() {
    let out = Captured::default();
    let terminal = terminal(&out, Look { live: true, color: true, ..PLAIN });
    terminal.emit(Event::StageStarted { stage: Stage::Prd, number: 2, of: 7, order: Vec::new() });
    let path = "a.rs".to_owned();
    terminal.emit(Event::Now(Activity::Changed { path, added: 6, removed: 1 }));
    let path = ".cowork/sessions/todo/feature_list.json".to_owned();
    terminal.emit(Event::Now(Activity::Changed { path, added: 40, removed: 0 }));
    terminal.emit(tool("edit_file", "a.rs", "edited a.rs at line 2"));
    terminal.emit(tool("edit_file", "b.rs", "unchanged"));
    let command = "cargo test".to_owned();
    terminal.emit(Event::Now(Activity::Runs { command }));
    for line in ["test a ... FAILED", "test b ... ok", "a: FAILED"] {
        let failed = line.contains("FAILED").then(|| "a".to_owned());
        terminal.emit(Event::Now(Activity::Prints { line: line.to_owned(), failed }));
    }
    let shown = screen(&out, 80);
    assert!(shown.contains("edit_file a.rs +6 −1\n"), "{shown}");
    assert!(shown.contains("edit_file b.rs\n"), "{shown}");
    assert_eq!(shown.matches("✗ a failed").count(), 1, "{shown}");
    assert!(out.text().contains("\x1b[31m✗\x1b[0m a failed"), "{:?}", out.text());
    terminal.tick();
    assert!(screen(&out, 80).contains("  │ a: FAILED\n"), "{}", screen(&out, 80));
}

#[test]
fn the_window_title_shows_progress_and_is_restored() {
    let out = Captured::default();
    let knows = Knows { title: true, progress: true, message: None };
    let terminal = terminal(&out, Look { live: true, knows, ..PLAIN });
    let stage = Stage::Coding;
    terminal.emit(Event::StageStarted { stage, number: 5, of: 8, order: Vec::new() });
    let task = Some("TASK-003 list".to_owned());
    terminal.emit(Event::DraftStarted { stage, iteration: 1, limit: 3, task, tasks: (2, 4) });
    let set = |title: &str, percent: u8| format!("\x1b]0;{title}\x1b\\\x1b]9;4;1;{percent}\x1b\\");
    assert!(out.text().contains(&format!("\x1b[22;0t{}", set("coding 5/8 · git cowork", 50))));
    assert_eq!(out.text().matches(&set("coding 3/4 · git cowork", 56)).count(), 1);
    terminal.tick();
    assert_eq!(out.text().matches("\x1b]0;").count(), 2, "only changed titles");
    drop(terminal);
    assert!(out.text().ends_with("\x1b[23;0t\x1b]9;4;0\x1b\\"), "{:?}", out.text());
}

fn tool(tool: &str, brief: &str, answer: &str) -> Event {
    let (tool, brief, answer) = (tool.to_owned(), brief.to_owned(), answer.to_owned());
    Event::ToolCall { tool, brief, ok: true, command_failed: false, answer }
}

#[test]
fn an_error_says_why_and_what_next() {
    let out = Captured::default();
    let error = anyhow::Error::from(Error::repository("lock\x1b[1m held").hint("wait"));
    terminal(&out, PLAIN).error(&Err::<(), _>(error).context("resuming").unwrap_err());
    assert_eq!(out.text(), "error: resuming\n  caused by: lock held\nhint: wait\n");
}

#[test]
fn a_closed_output_is_remembered() {
    let terminal = Terminal::new(Box::new(Broken), PLAIN);
    terminal.emit(Event::Note { text: "x".into() });
    terminal.emit(Event::Note { text: "y".into() });
    assert!(terminal.broken());
}

#[test]
fn a_task_whose_tests_fail_is_red() {
    for (checks, fails, wanted) in [
        ("", false, "\x1b[32m✓\x1b[0m TASK-001 add · 0123456\n"),
        (
            "passed (cargo test)",
            false,
            "\x1b[32m✓\x1b[0m TASK-001 add · 0123456 · passed (cargo test)\n",
        ),
        (
            "failed (cargo test, exit 1)",
            true,
            "\x1b[31m✗\x1b[0m TASK-001 add · 0123456 · \x1b[31mfailed (cargo test, exit 1)\x1b[0m\n",
        ),
        (
            "failed (cargo test, exit 1, as before)",
            false,
            "\x1b[33m✓\x1b[0m TASK-001 add · 0123456 · \x1b[33mfailed (cargo test, exit 1, as before)\x1b[0m\n",
        ),
    ] {
        let out = Captured::default();
        terminal(&out, Look { color: true, ..PLAIN }).emit(Event::TaskCompleted {
            task: "TASK-001".into(),
            commit: "0123456789".into(),
            subject: "TASK-001 add".into(),
            checks: checks.into(),
            fails,
            files: String::new(),
            tests: String::new(),
            millis: 0,
        });
        assert_eq!(out.text(), wanted);
    }
}

/// Returns the output of these events on a terminal that is not live.
fn shown(events: Vec<Event>) -> String {
    let out = Captured::default();
    let terminal = terminal(&out, PLAIN);
    events.into_iter().for_each(|event| terminal.emit(event));
    drop(terminal);
    out.text()
}

fn call(tool: &str, brief: &str, answer: &str) -> Event {
    let [tool, brief, answer] = [tool, brief, answer].map(str::to_owned);
    Event::ToolCall { tool, brief, ok: true, command_failed: false, answer }
}

/// A call that ran a command, which failed.
fn failed(tool: &str, brief: &str, answer: &str) -> Event {
    let [tool, brief, answer] = [tool, brief, answer].map(str::to_owned);
    Event::ToolCall { tool, brief, ok: true, command_failed: true, answer }
}

fn text(text: &str) -> Event {
    Event::Text { text: text.to_owned() }
}

#[test]
fn speakers_are_named_and_verdict_markers_removed() {
    let speaks = |role| Event::Speaker { stage: Stage::Prd, role };
    let feedback = |from: &str, details: &str| Event::Feedback {
        stage: Stage::Prd,
        from: from.into(),
        severity: "major".into(),
        details: details.into(),
    };
    let shown = shown(vec![
        speaks(Role::Actor),
        text("I draft."),
        speaks(Role::Critic),
        Event::Note { text: "-".into() },
        text("Good, "),
        text("small.\n<rev"),
        text("iew>PASS</review>"),
        call("provide_feedback", "split it", "noted"),
        feedback("critic", "split it\n<review>NEEDS_REVISION</review>"),
        feedback("human", "I know what I typed"),
        call("exit_loop", "small and whole", "approved"),
        call("exit_loop", "", "approved"),
    ]);
    assert_eq!(
        shown,
        "I draft.\n-\ncritic: Good, small.\n  critic (major): split it\n  \
         critic: approved · small and whole\n  critic: approved\n"
    );
}

#[test]
fn a_failed_command_is_shown() {
    let shown = shown(vec![
        failed("run_command", "cargo test", "exit 101 after 2.0 s"),
        call("run_command", "true", "exit 0 after 0.1 s"),
        failed("check_tests", "", "failed: `cargo test`, exit 1 after 3.0 s"),
        call("check_tests", "", "passed: `cargo test`, exit 0 after 3.0 s"),
        failed("ticket", "42", "exit 1 after 0.1 s"),
    ]);
    assert_eq!(
        shown,
        "  ✗ run_command cargo test: exit 101\n  · run_command true\n  \
         ✗ check_tests: failed: `cargo test`, exit 1\n  · check_tests\n  \
         ✗ ticket 42: exit 1\n"
    );
}

#[test]
fn a_paused_answer_makes_room_for_the_status() {
    let out = Captured::default();
    let mut terminal = terminal(&out, Look { live: true, ..PLAIN });
    let now = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let clock = std::sync::Arc::clone(&now);
    let seconds = move || clock.load(std::sync::atomic::Ordering::Relaxed);
    terminal.age = Box::new(move || Duration::from_secs(seconds()));
    terminal.emit(Event::StageStarted { stage: Stage::Prd, number: 2, of: 7, order: Vec::new() });
    terminal.emit(Event::Speaker { stage: Stage::Prd, role: Role::SelfReview });
    terminal.emit(text("words"));
    terminal.tick();
    assert!(out.text().ends_with("self-review: words"), "{:?}", out.text());
    now.store(2, std::sync::atomic::Ordering::Relaxed);
    terminal.tick();
    assert!(screen(&out, 80).contains("words\n⠦ working · 2 s"), "{:?}", out.text());
    now.store(3, std::sync::atomic::Ordering::Relaxed);
    terminal.tick();
    assert!(screen(&out, 80).contains("words\n⠇ working · 3 s"), "{:?}", out.text());
    terminal.emit(text(" more"));
    assert!(screen(&out, 80).ends_with("words\nmore"), "{:?}", out.text());
}

#[test]
fn long_lines_break_at_words() {
    let out = Captured::default();
    let terminal = terminal(&out, Look { live: true, width: 30, ..PLAIN });
    terminal.emit(Event::StageStarted { stage: Stage::Prd, number: 2, of: 7, order: Vec::new() });
    terminal.clear();
    let details = "REQ-002 cannot be tested by anybody".into();
    let (from, severity) = ("critic".into(), "major".into());
    terminal.emit(Event::Feedback { stage: Stage::Prd, from, severity, details });
    terminal.clear();
    let error = Error::repository("the lock is held by someone").hint("wait until they are done");
    terminal.error(&error.into());
    let text = screen(&out, 30) + "\n";
    assert_eq!(
        text,
        format!(
            "── prd (2 of 7) {}\n  critic (major): REQ-002\n    cannot be tested by\n    anybody\n\
             error: the lock is held by\n  someone\nhint: wait until they are\n  done\n",
            "─".repeat(14)
        )
    );
}

fn alerted(look: Look) -> String {
    let out = Captured::default();
    let terminal = terminal(&out, look);
    let title = "prd: stuck in a loop".to_owned();
    let text = "three rejections in a row say\x1b[2J the same\n漢字".to_owned();
    terminal.emit(Event::Alert { title, text });
    drop(terminal);
    out.text()
}

#[test]
fn an_alert_has_a_box_even_when_quiet() {
    assert_eq!(
        alerted(Look { verbosity: Verbosity::Quiet, ..PLAIN }),
        "┌────────────────────────────────────────┐\n\
         │ ⚠ prd: stuck in a loop                 │\n\
         │ three rejections in a row say the same │\n\
         │ 漢字                                   │\n\
         └────────────────────────────────────────┘\n"
    );
}

#[test]
fn a_box_is_no_wider_than_the_terminal() {
    let narrow = alerted(Look { width: 24, ..PLAIN });
    assert!(narrow.contains("│ three rejections in │\n│ a row say the same  │\n"), "{narrow}");
    assert!(narrow.lines().all(|line| console::measure_text_width(line) == 23), "{narrow}");
}

#[test]
fn the_end_counts_the_whole_session_without_time_spent_waiting() {
    let out = Captured::default();
    let mut terminal = terminal(&out, PLAIN);
    let clock = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let shown = std::sync::Arc::clone(&clock);
    let seconds = move || shown.load(std::sync::atomic::Ordering::Relaxed);
    terminal.age = Box::new(move || Duration::from_secs(seconds()));
    let at = |second, event| {
        clock.store(second, std::sync::atomic::Ordering::Relaxed);
        terminal.emit(event);
    };
    let stage = Stage::Prd;
    let usage = Usage { input: 900, output: 50, cached: 0 };
    let (role, commit) = (Role::Actor, "fedcba9876".to_owned());
    at(1, Event::StageStarted { stage, number: 5, of: 7, order: Vec::new() });
    at(4, Event::ModelRequest { stage, role, iteration: 1, turn: 1, usage, millis: 1 });
    at(5, Event::ReviewRequested { stage, iteration: 1, commit: None, reason: None });
    let subject = "prd: 3 requirements".to_owned();
    let here = Spent { usage, millis: 4_000, ..Spent::default() };
    at(
        600,
        Event::StageCompleted { stage, commit: commit.clone(), tag: None, subject, spent: here },
    );
    let usage = Usage { input: 9_000, output: 249, cached: 0 };
    let spent = Spent { usage, millis: 7_000, ..Spent::default() };
    at(602, Event::SessionCompleted { commit, spent, here, delivered: None });
    let shown = out.text();
    assert!(shown.contains("✓ prd: 3 requirements · fedcba9 · 950 tokens · 4 s\n"), "{shown}");
    let end = "✓ session completed · fedcba9 · 9.2k tokens (950 in this run) · 7 s\n";
    assert!(shown.contains(end), "{shown}");
}
