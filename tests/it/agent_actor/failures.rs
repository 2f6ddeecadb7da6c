//! A program that is missing, not signed in, hangs, floods, dies or is stopped: what is said, and what is
//! kept.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use super::{CODING, ENDS, coding_by, has_left_nothing, install, noted, place, settle};
use crate::support::children::is_running;
use crate::support::sandbox::Outcome;
use crate::support::{Sandbox, todo};

/// The program fails so; the draft is kept, and another run goes on with it.
#[track_caller]
fn fails(does: &str, settings: &str, told: &str) -> Outcome {
    let sandbox = coding_by(does);
    settle(&sandbox, settings, "");
    if does.is_empty() {
        fs::remove_file(sandbox.root().join("bin/codex")).unwrap();
    }
    let outcome = sandbox.cowork(&CODING).exits(4);
    assert!(outcome.stderr.contains(told), "{does}: {}", outcome.stderr);
    has_left_nothing(&sandbox);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    install(&sandbox, "codex", &format!("ls lib >\"$NOTES/found.$N\" 2>&1; task_file\n{ENDS}"));
    settle(&sandbox, "agent = \"codex\"", "");
    let first = fs::read_to_string(sandbox.root().join("notes/runs")).unwrap_or_default();
    sandbox.cowork(&CODING).exits(0);
    has_left_nothing(&sandbox);
    if does.contains("task_file") {
        let next = first.trim().parse::<u32>().unwrap() + 1;
        let found = noted(&sandbox, &format!("found.{next}"));
        assert!(found.contains("store.sh"), "half a draft is kept: {found}");
    }
    outcome
}

#[test]
fn whatever_goes_wrong_the_draft_is_kept_and_the_next_run_goes_on() {
    let half = r#"say '{"type":"thread.started","thread_id":"t-1"}'
say '{"type":"item.completed","item":{"type":"agent_message","text":"So far"}}'"#;
    let out = r#"say '{"type":"turn.failed","error":{"message":"Missing environment variable: `K`."}}'; exit 1"#;
    let codex = "agent = \"codex\"";
    let cases = [
        ("", codex, "there is no program 'codex' on PATH"),
        (out, codex, "Codex is not signed in (exit 1)"),
        (&format!("task_file; {half}; exit 3"), codex, "in the middle of its answer (exit 3)"),
        ("task_file; cat /dev/zero", codex, "Codex printed more than 64 MiB and was stopped"),
        (
            "task_file; sleep 300.5",
            "agent = \"codex\"\nanswer_s = 2",
            "Codex did not end within 2 s and was stopped",
        ),
    ];
    for (does, settings, told) in cases {
        let outcome = fails(does, settings, told);
        // A program that is not there ends the run before anything is begun.
        assert_eq!(outcome.stderr.contains("git cowork resume"), !does.is_empty(), "{does}");
    }
}

#[test]
fn a_conversation_it_no_longer_knows_begins_again() {
    let lost = "echo 'Error: no rollout found for thread id t-1' >&2; exit 1";
    let does = format!("case \"$*\" in *resume*) {lost};; esac\ntask_file\n{ENDS}");
    let sandbox = coding_by(&does);
    let outcome = sandbox.cowork(&CODING).exits(0);
    outcome.says("Session not found: Codex no longer knows t-1");
    let again = noted(&sandbox, "input.3");
    assert!(again.contains("# Rules") && again.contains("# The next task"), "{again}");
}

#[test]
fn where_nothing_confines_it_a_person_is_needed() {
    let mut sandbox = coding_by(ENDS);
    sandbox.set_env("COWORK_TEST_SANDBOX", "none");
    sandbox.git(&["config", "--global", "--unset", "cowork.sandbox.unconfined"]);
    let outcome = sandbox.cowork(&CODING).exits(4);
    outcome.says("Codex is not run: nothing confines it on this machine").says("git cowork doctor");
    assert!(!sandbox.root().join("notes/runs").exists());
    has_left_nothing(&sandbox);
    // Who has said that nothing has to confine commands is told that nothing does.
    sandbox.git(&["config", "--global", "cowork.sandbox.unconfined", "true"]);
    install(&sandbox, "codex", &format!("task_file; git commit -qam mine\n{ENDS}"));
    let outcome = sandbox.cowork(&CODING).exits(0);
    outcome.says("it works in a copy of the tree; it runs as you, nothing confines it");
    assert!(!sandbox.git(&["log", "--format=%s", "--branches"]).lines().any(|line| line == "mine"));
    has_left_nothing(&sandbox);
}

#[test]
fn what_a_killed_run_leaves_the_next_one_removes() {
    let sandbox = coding_by(&format!("task_file\n{ENDS}"));
    let mut command = sandbox.cowork_command(&CODING);
    command.env("COWORK_TEST_ABORT_AT", "agent.worktree-made");
    let status = command.output().unwrap().status;
    assert!(!status.success());
    assert!(place(&sandbox).join("tree/.git").exists());
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 2);
    // Also where a model writes by now.
    sandbox.user_config("");
    sandbox.cowork(&CODING).exits(0);
    has_left_nothing(&sandbox);
}

#[test]
fn a_signal_ends_it_and_keeps_what_it_has_written() {
    let sandbox = coding_by("task_file; echo >\"$NOTES/written\"; sleep 300.75");
    let written = sandbox.root().join("notes/written");
    let made = std::process::Command::new("mkfifo").arg(&written).status().unwrap();
    assert!(made.success());
    let outcome = sandbox.cowork_watched(&CODING, |pid| {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        // Ends when the program has begun to write to it.
        std::thread::spawn(move || fs::read(written).map(|_| kill_process(pid, Signal::INT)));
    });
    outcome.exits(130);
    let kept = sandbox.git(&["show", "refs/cowork/drafts/todo/coding:lib/store.sh"]);
    assert_eq!(format!("{}\n", kept.trim_end()), todo::code_of("TASK-001"));
    assert!(!sandbox.exists("lib/store.sh"));
    has_left_nothing(&sandbox);
    assert!(!is_running("300.75"));
}

#[test]
fn what_a_program_cannot_do_is_said_before_anything_begins() {
    let refused = |sandbox: &Sandbox| {
        let outcome = sandbox.auto(&["--depth", "quick"]).exits(4);
        assert!(sandbox.refs("refs/heads/cowork").is_empty());
        assert!(!sandbox.root().join("notes/runs").exists());
        outcome
    };
    let sandbox = Sandbox::new();
    install(&sandbox, "codex", ENDS);
    install(&sandbox, "scribe", "echo so");
    sandbox.user_config("[models.x]\nprovider = \"agent\"\n");
    sandbox.auto(&[]).exits(4).says("names neither of agent and command");
    settle(&sandbox, "agent = \"codex\"", "[project]\nprivate = [\"secret\"]\n");
    refused(&sandbox).says("nothing here keeps these files from it");
    settle(&sandbox, "command = [\"scribe\"]", "[budget]\ntokens = 1000\n");
    refused(&sandbox).says("'worker' does not say how many tokens it uses");
    settle(&sandbox, "agent = \"codex\"", "[budget]\nusd = 1.0\n");
    refused(&sandbox).says("'worker' does not say what it costs");
}
