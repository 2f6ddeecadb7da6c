//! What a command starts, and whom it speaks to.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{at_every_level, results, sandbox};
pub(super) use crate::support::children::is_running;
use crate::support::confinement::{Level, confinement};
use crate::support::skip::skipped;
use crate::support::todo::task_work;
use crate::support::{Reply, at};

#[test]
fn nothing_outlives_its_command() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        // No other test's, and no other level's.
        let id = format!("{}{}", std::process::id(), level as u32);
        let commands = [
            "a='&'; eval \"sleep WORD $a\"",
            "a='&'; eval \"sh -c 'sleep WORD' >/dev/null 2>&1 </dev/null $a\"",
            "s=setsid; $s -f sleep WORD",
            "s=setsid; $s -f $s -f sh -c 'trap \"\" HUP TERM INT; sleep WORD'",
            "n=nohup; s=setsid; a='&'; eval \"$s $n sleep WORD $a\"",
            "python3 -c 'import os,time\nfor _ in range(3):\n  if os.fork(): os._exit(0)\n  os.setsid()\nos.execvp(\"sleep\", [\"sleep\", \"WORD\"])'",
            "s=setsid; $s -f sleep WORD; sleep WORD",
            "trap '' TERM INT HUP; s=setsid; $s -f env -i sleep WORD; sleep WORD",
            "kill -STOP $$; sleep WORD",
        ];
        let word = |n: usize| format!("4{n}.{id}");
        let commands: Vec<_> =
            commands.iter().enumerate().map(|(n, c)| c.replace("WORD", &word(n))).collect();
        let commands: Vec<_> = commands.iter().map(String::as_str).collect();
        let told = results(&sandbox, &commands, 1);
        for (n, (command, result)) in commands.iter().zip(told).enumerate() {
            assert!(result.contains(" after "), "{command}: {result}");
            assert!(!is_running(&word(n)), "{command}");
        }
    });
}

#[test]
fn a_fork_bomb_ends_with_its_command() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        let word = format!("50.{}{}", std::process::id(), level as u32);
        // Its width is bounded by hand as well: the machine has other tests to run.
        let bomb = "n=0; while [ $n -lt 300 ]; do n=$((n+1)); s=setsid; $s -f sleep WORD; done; \
                    sleep WORD";
        let deep = "f() { [ $1 -gt 7 ] && exec sleep WORD; f $(($1+1)) | f $(($1+1)); }; f 0";
        let commands = [bomb.replace("WORD", &word), deep.replace("WORD", &word)];
        let commands = commands.each_ref().map(String::as_str);
        for result in results(&sandbox, &commands, 2) {
            assert!(result.contains("stopped at the time limit"), "{result}");
        }
        assert!(!is_running(&word));
    });
}

#[test]
fn nothing_is_written_to_the_terminal() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        let say = "for t in /dev/tty /dev/console /dev/pts/[0-9]* /proc/[0-9]*/fd/[0-2]; do \
                   case $t in /proc/$$/*|/proc/self/*) continue;; esac; \
                   test -t 0 <$t && printf 'OW%s' NED >$t; done; \
                   printf 'OW%s' NED >/dev/tty; true";
        let first = at("coding", "actor").task("TASK-001");
        let call = Reply::call("run_command", json!({"command": say}));
        sandbox.server.sequence(first, vec![call, task_work("TASK-001"), Reply::text("Done.")]);
        let new = ["new", "-n", "todo", "a todo list", "--review", "auto"];
        let terminal = sandbox.terminal(&[&new[..], &["--stop-after", "coding"]].concat());
        let (_, shown) = terminal.ends();
        assert!(!shown.contains("OWNED"), "{shown}");
    });
}

/// Landlock alone has nothing that would stop one which left its session.
#[test]
fn a_command_dies_with_the_program() {
    if confinement() != Level::Namespaces {
        skipped("the kernel gives no namespaces");
        return;
    }
    let sandbox = sandbox(Level::Namespaces);
    let word = format!("60.{}", std::process::id());
    let run = format!("s=setsid; $s -f sleep {word}; echo >lib/started; sleep {word}");
    let call = Reply::call("run_command", json!({"command": run}));
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(1), call);
    let started = sandbox.path("lib/started");
    let new = ["new", "-n", "todo", "a todo list", "--review", "auto"];
    std::thread::scope(|scope| {
        let (know, known) = std::sync::mpsc::channel();
        let sandbox = &sandbox;
        let running =
            scope.spawn(move || sandbox.cowork_watched(&new, |pid| know.send(pid).unwrap()));
        let program = Pid::from_raw(i32::try_from(known.recv().unwrap()).unwrap()).unwrap();
        // A process that is being replaced by `sleep` shows no words for a moment.
        while !(started.exists() && is_running(&word)) {
            assert!(!running.is_finished(), "the command was not started");
            std::thread::yield_now();
        }
        kill_process(program, Signal::KILL).unwrap();
        running.join().unwrap().was_killed();
    });
    while is_running(&word) {
        std::thread::yield_now();
    }
}
