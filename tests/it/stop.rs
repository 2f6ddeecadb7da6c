//! Signals: one puts the draft away and leaves a clean tree, two stop at once, and both times
//! `resume` goes on. The moment is never guessed: a hook, a command or the model's server says that
//! it has come.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::sync::mpsc::channel;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use crate::support::kill::signal_at_request;
use crate::support::pty::Terminal;
use crate::support::sandbox::Outcome;
use crate::support::todo::{self, IDEA, PRD, lingers};
use crate::support::{Fault, Reply, Sandbox, at};

const NEW: [&str; 6] = ["new", "-n", "todo", "a todo list", "--review", "auto"];
const RESUME: [&str; 3] = ["resume", "--review", "auto"];
const SIGNALS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

/// A place in a script that tells the test it was reached, and waits for leave to go on.
struct Moment {
    reached: PathBuf,
    leave: File,
    script: String,
}

impl Moment {
    fn new(sandbox: &Sandbox) -> Self {
        let [reached, leave] = ["reached", "leave"].map(|name| sandbox.root().join(name));
        let made = std::process::Command::new("mkfifo").args([&reached, &leave]).status().unwrap();
        assert!(made.success());
        // A call that was cut is made again by the next run.
        let script = format!(
            "mkdir '{}' 2>/dev/null || exit 0; echo $$ >'{}'; read -r x <'{}'",
            sandbox.root().join("once").display(),
            reached.display(),
            leave.display()
        );
        Self { leave: both_ends(&leave), reached, script }
    }

    fn leave(&self) {
        (&self.leave).write_all(b"\n").unwrap();
    }

    /// Runs the program, does something when the moment has come, and waits for the end.
    fn run(&self, sandbox: &Sandbox, args: &[&str], at: impl FnOnce(Pid, Pid)) -> Outcome {
        let (know, known) = channel();
        let reached = both_ends(&self.reached);
        std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                let outcome = sandbox.cowork_watched(args, |pid| know.send(pid).unwrap());
                // Whoever still waits for the moment waits in vain.
                (&reached).write_all(b"0\n").unwrap();
                outcome
            });
            let program = known.recv().unwrap();
            let mut line = String::new();
            BufReader::new(&reached).read_line(&mut line).unwrap();
            match pid(line.trim().parse().unwrap()) {
                Some(script) => at(pid(program).unwrap(), script),
                None => panic!("the moment never came"),
            }
            running.join().unwrap()
        })
    }
}

/// A pipe that neither blocks nor breaks because nobody is at the other end.
fn both_ends(path: &PathBuf) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

fn pid(number: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(number).unwrap())
}

/// Signals until there is nobody to hear it: the second one that counts ends the program.
fn insist(program: Pid, signal: Signal) {
    while test_kill_process(program).is_ok() {
        kill_process(program, signal).ok();
        std::thread::yield_now();
    }
}

/// It goes on to the end, and nothing is there twice.
#[track_caller]
fn resumes(sandbox: &Sandbox) {
    sandbox.cowork(&RESUME).exits(0);
    assert_eq!(sandbox.stages("main..cowork/todo")[1..], todo::STAGES);
    let tasks = sandbox.subjects("main..cowork/todo");
    let tasks = tasks.iter().filter(|subject| subject.starts_with("coding: TASK-")).count();
    assert_eq!(tasks, todo::TASKS.len());
    sandbox.assert_sound();
}

/// Waits until a process is dead, whether or not somebody has reaped it.
fn gone(process: Pid) {
    let stat = format!("/proc/{}/stat", process.as_raw_pid());
    let lives = || match std::fs::read_to_string(&stat) {
        Ok(stat) => !stat.contains(") Z "),
        Err(_) => {
            !std::path::Path::new("/proc/self").exists() && test_kill_process(process).is_ok()
        }
    };
    while lives() {
        std::thread::yield_now();
    }
}

#[test]
fn while_a_command_of_the_model_runs_it_is_killed_and_the_draft_kept() {
    for signal in SIGNALS {
        let mut sandbox = Sandbox::new();
        // A confined one cannot tell who it is, nor write to our pipe (see `hostile`).
        sandbox.set_env("COWORK_TEST_SANDBOX", "none");
        let moment = Moment::new(&sandbox);
        let work = todo::task_work("TASK-002")
            .and("run_command", json!({"command": moment.script, "timeout_s": 60}));
        sandbox.server.times(1, at("coding", "actor").task("TASK-002").turn(1), work);
        let outcome = moment.run(&sandbox, &NEW, |program, script| {
            kill_process(program, signal).unwrap();
            gone(script);
        });
        let outcome = outcome.exits(130);
        assert!(outcome.stderr.contains("draft 1 of coding is saved"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("git cowork resume todo"), "{}", outcome.stderr);
        sandbox.assert_sound();
        let kept = sandbox.tree("refs/cowork/drafts/todo/coding");
        assert!(kept.contains(todo::file_of("TASK-002")), "{kept}");
        resumes(&sandbox);
    }
}

#[test]
fn while_the_projects_tests_run_they_are_killed_and_run_again_by_the_next() {
    let mut sandbox = Sandbox::new();
    sandbox.set_env("COWORK_TEST_SANDBOX", "none");
    let moment = Moment::new(&sandbox);
    sandbox.git(&["config", "cowork.project.test", &moment.script]);
    let outcome = moment.run(&sandbox, &NEW, |program, script| {
        kill_process(program, Signal::INT).unwrap();
        gone(script);
    });
    outcome.exits(130);
    assert_eq!(sandbox.stages("main..cowork/todo").last().unwrap(), "plan");
    sandbox.assert_sound();
    resumes(&sandbox);
}

#[test]
fn a_slow_hook_is_waited_for_once_and_not_twice() {
    for twice in [false, true] {
        let sandbox = Sandbox::new();
        let moment = Moment::new(&sandbox);
        let script = &moment.script;
        sandbox.hook(
            "pre-commit",
            &format!("git diff --cached --name-only | grep -q prd.md || exit 0\n{script}"),
        );
        let outcome = moment.run(&sandbox, &NEW, |program, _| {
            if twice {
                insist(program, Signal::INT);
                moment.leave();
            } else {
                kill_process(program, Signal::INT).unwrap();
                moment.leave();
            }
        });
        let outcome = outcome.exits(130);
        assert!(outcome.stderr.contains("git cowork resume"), "{}", outcome.stderr);
        if !twice {
            // The write in hand was finished.
            assert_eq!(sandbox.stages("main..cowork/todo").last().unwrap(), "prd");
            sandbox.assert_sound();
        }
        resumes(&sandbox);
    }
}

#[test]
fn stopped_again_and_again_while_a_command_runs_nothing_of_it_is_left() {
    let mut sandbox = Sandbox::new();
    // A confined one cannot tell who it is, nor write to our pipe (see `hostile`).
    sandbox.set_env("COWORK_TEST_SANDBOX", "none");
    let moment = Moment::new(&sandbox);
    let reply = Reply::call("run_command", json!({"command": moment.script, "timeout_s": 60}));
    sandbox.server.times(1, at("coding", "actor").task("TASK-001").turn(1), reply);
    let outcome = moment.run(&sandbox, &NEW, |program, script| {
        insist(program, Signal::INT);
        gone(script);
    });
    outcome.exits(130);
    resumes(&sandbox);
}

#[test]
fn while_the_network_is_silent() {
    for signal in SIGNALS {
        let sandbox = Sandbox::new();
        sandbox.server.manner(lingers);
        let moment = Moment::new(&sandbox);
        let reached = both_ends(&moment.reached);
        sandbox.server.on_with(at("design", "actor").turn(2), move |_| {
            (&reached).write_all(b"1\n").unwrap();
            Some(Reply::empty().fault(Fault::NeverAnswers))
        });
        let outcome = moment.run(&sandbox, &NEW, |program, _| {
            kill_process(program, signal).unwrap();
        });
        let outcome = outcome.exits(130);
        assert!(outcome.stderr.contains("draft 1 of design is saved"), "{}", outcome.stderr);
        sandbox.assert_sound();
        sandbox.server.on(at("design", "actor").turn(2), Reply::text("Done."));
        sandbox.server.forget();
        resumes(&sandbox);
        // What was drafted was not drafted again.
        let first = sandbox.server.requests_of("design", "actor");
        assert_eq!(first.len(), 1);
    }
}

#[test]
fn at_the_menu_a_signal_is_an_interruption() {
    for signal in SIGNALS {
        let sandbox = Sandbox::new();
        let args = ["new", "-n", "todo", "a todo list", "--stop-after", "idea"];
        let mut terminal = sandbox.terminal(&args);
        terminal.sees("stop for now");
        terminal.signal(signal);
        let (code, rest) = terminal.ends();
        assert_eq!(code, 130, "{rest}");
        assert!(rest.contains("draft 1 of idea is saved"), "{rest}");
        sandbox.assert_sound();
        let kept =
            sandbox.git(&["show", "refs/cowork/drafts/todo/idea:.cowork/sessions/todo/idea.md"]);
        assert_eq!(kept, IDEA.trim_end());
    }
}

#[test]
fn in_the_editor_what_was_saved_is_kept() {
    for signal in [Signal::TERM, Signal::HUP] {
        let mut sandbox = Sandbox::new();
        let moment = Moment::new(&sandbox);
        sandbox.editor(&format!("echo 'A line of mine.' >>\"$f\"; {}", moment.script));
        let args = ["new", "-n", "todo", "a todo list", "--stop-after", "idea"];
        let mut terminal = sandbox.terminal(&args);
        terminal.sees("stop for now");
        terminal.types("e");
        let reached = both_ends(&moment.reached);
        let mut line = String::new();
        BufReader::new(&reached).read_line(&mut line).unwrap();
        // A Ctrl-C in the editor is the editor's.
        terminal.signal(Signal::INT);
        terminal.signal(signal);
        let (code, rest) = terminal.ends();
        assert_eq!(code, 130, "{rest}");
        sandbox.assert_sound();
        let kept =
            sandbox.git(&["show", "refs/cowork/drafts/todo/idea:.cowork/sessions/todo/idea.md"]);
        assert!(kept.ends_with("A line of mine."), "{kept}");
    }
}

#[test]
fn ctrl_c_through_git_is_one_interruption() {
    let sandbox = Sandbox::new();
    let moment = Moment::new(&sandbox);
    let reached = both_ends(&moment.reached);
    sandbox.server.on_with(at("prd", "critic"), move |_| {
        (&reached).write_all(b"1\n").unwrap();
        Some(Reply::empty().fault(Fault::NeverAnswers))
    });
    let mut terminal = sandbox.git_terminal(&NEW);
    let reached = both_ends(&moment.reached);
    let mut line = String::new();
    BufReader::new(&reached).read_line(&mut line).unwrap();
    terminal.control('c');
    let (code, rest) = terminal.ends();
    assert!(rest.contains("draft 1 of prd is saved"), "exit {code}: {rest}");
    sandbox.assert_sound();
    let kept = sandbox.git(&["show", "refs/cowork/drafts/todo/prd:.cowork/sessions/todo/prd.md"]);
    assert_eq!(kept, PRD.trim_end());
}

/// The session is locked anew, under the name that the model gave it.
#[test]
fn a_signal_after_the_model_named_the_session_puts_the_draft_away() {
    for signal in SIGNALS {
        let sandbox = Sandbox::new();
        sandbox.server.manner(lingers);
        let named = json!({"language": "English", "title": "Things to do", "name": "things-to-do",
            "depth": "standard", "reason": "New."});
        sandbox.server.on(at("start", "actor"), Reply::call("name_work", named));
        let new = ["new", "a todo list for the terminal", "--review", "auto"];
        let outcome = signal_at_request(&sandbox, &new, 4, signal);
        assert_eq!(outcome.code, 130, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("git cowork resume"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("cowork/things-to-do"), "{}", outcome.stderr);
        sandbox.assert_clean();
    }
}

/// The program as a background job of a shell on a terminal, which then does `then`.
fn in_background(sandbox: &Sandbox, then: &str) -> Terminal {
    let script = format!("set -m; \"$0\" \"$@\" & job=$!; {then}");
    let mut command = sandbox.command("bash");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_git-cowork")]);
    sandbox.in_terminal(command, &["new", "-n", "todo", "a todo list", "--stop-after", "idea"])
}

#[test]
fn a_background_job_waits_for_the_foreground_and_a_signal_ends_it() {
    let sandbox = Sandbox::new();
    // The shell would report a job that is stopped, and wait no longer for it.
    let mut terminal = in_background(&sandbox, "echo job $job.; wait $job; echo ended $?.");
    terminal.sees("job ");
    let job: u32 = terminal.sees(".").trim().parse().unwrap();
    terminal.sees("stop for now");
    terminal.sees("waits in the background");
    kill_process(pid(job).unwrap(), Signal::TERM).unwrap();
    let told = terminal.sees("ended 130.");
    assert!(told.contains("draft 1 of idea is saved"), "{told}");
    terminal.ends();
    sandbox.assert_sound();
}

#[test]
fn a_background_job_that_is_brought_to_the_foreground_takes_the_answer() {
    let sandbox = Sandbox::new();
    let mut terminal = in_background(&sandbox, "read -r enter; fg %1");
    terminal.sees("waits in the background");
    terminal.enters("");
    // The shell names the job.
    terminal.sees("\"$@\"");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    sandbox.stage_commit("idea");
}
