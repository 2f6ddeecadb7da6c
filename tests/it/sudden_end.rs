//! Ends at which nothing is dropped: a panic, and a second signal. The terminal is given back.

use std::process::Command;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::support::Sandbox;
use crate::support::pty::Terminal;

const NEW: [&str; 6] = ["new", "-n", "todo", "a todo list", "--review", "auto"];

/// The program in a terminal that echoes, which is asked afterwards how it was left. The program's
/// process id is in `pid`.
fn asked_afterwards(sandbox: &Sandbox) -> Terminal {
    let mut shell: Command = sandbox.command("sh");
    let script = "stty echo; pid=$1; shift; \
                  (sh -c 'echo $PPID' >\"$pid\"; exec \"$@\"); echo ended $?; stty -a";
    let pid = sandbox.root().join("pid");
    shell.args(["-c", script, "sh"]).arg(pid).arg(env!("CARGO_BIN_EXE_git-cowork"));
    sandbox.in_terminal(shell, &NEW)
}

#[track_caller]
fn echoes(stty: &str) {
    let words: Vec<&str> = stty.split_whitespace().collect();
    assert!(words.contains(&"echo") && words.contains(&"icanon"), "{stty}");
}

#[test]
fn a_panic_gives_the_terminal_back_and_says_that_nothing_is_lost() {
    let mut sandbox = Sandbox::new();
    sandbox.set_env("COWORK_TEST_PANIC_AT", "stage.before-commit:2");
    let mut terminal = asked_afterwards(&sandbox);
    terminal.sees("panicked at");
    terminal.sees("the test point stage.before-commit");
    terminal.sees("nothing recorded is lost; continue: git cowork resume");
    terminal.sees("ended 134");
    echoes(&terminal.ends().1);
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea"]);
    sandbox.set_env("COWORK_TEST_PANIC_AT", "");
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea", "prd"]);
    sandbox.assert_sound();
}

#[test]
fn a_panic_of_another_command_says_the_same() {
    let mut sandbox = Sandbox::new();
    sandbox.cowork(&[&NEW[..], &["--stop-after", "idea"]].concat()).exits(0);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.set_env("COWORK_TEST_PANIC_AT", "archive.before-refs");
    let outcome = sandbox.cowork(&["archive", "todo"]);
    assert!(outcome.stderr.contains("nothing recorded is lost"), "{}", outcome.stderr);
}

#[test]
fn a_second_signal_gives_the_terminal_back() {
    let sandbox = Sandbox::new();
    let leave = sandbox.root().join("leave");
    assert!(Command::new("mkfifo").arg(&leave).status().unwrap().success());
    let both_ends = std::fs::OpenOptions::new().read(true).write(true).open(&leave).unwrap();
    let wait = format!(
        "git diff --cached --name-only | grep -q prd.md || exit 0\n\
         echo the hook waits >/dev/tty; read -r x <'{}'",
        leave.display()
    );
    sandbox.hook("pre-commit", &wait);
    let mut terminal = asked_afterwards(&sandbox);
    terminal.sees("the hook waits");
    let pid = std::fs::read_to_string(sandbox.root().join("pid")).unwrap();
    let program = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    while test_kill_process(program).is_ok() {
        kill_process(program, Signal::INT).ok();
        std::thread::yield_now();
    }
    terminal.sees("stopped immediately");
    terminal.sees("ended 130");
    drop(both_ends);
    echoes(&terminal.ends().1);
}
