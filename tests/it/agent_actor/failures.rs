//! A program that is missing, not signed in, hangs, floods, dies or is stopped: what is said, and what is
//! kept.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use super::{CODING, ENDS, coding_by, has_left_nothing, install, noted, place, settle};
use crate::support::children::is_running;
use crate::support::confinement::{Level, confinement};
use crate::support::sandbox::Outcome;
use crate::support::skip::skipped;
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
    sandbox.auto(&[]).exits(4).says("sets neither agent nor command");
    settle(&sandbox, "agent = \"codex\"", "[project]\nprivate = [\"secret\"]\n");
    refused(&sandbox).says("nothing here hides private files from it");
    settle(&sandbox, "command = [\"scribe\"]", "[budget]\ntokens = 1000\n");
    refused(&sandbox).says("'worker' does not report how many tokens it uses");
    settle(&sandbox, "agent = \"codex\"", "[budget]\nusd = 1.0\n");
    refused(&sandbox).says("'worker' does not report what it costs");
}

/// Kills the run at once, with SIGKILL, when the program has written to `notes/written`.
fn killed_at_work(sandbox: &Sandbox, args: &[&str]) {
    let written = sandbox.root().join("notes/written");
    let made = std::process::Command::new("mkfifo").arg(&written).status().unwrap();
    assert!(made.success());
    sandbox.cowork_watched(args, |pid| {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        std::thread::spawn(move || fs::read(written).map(|_| kill_process(pid, Signal::KILL)));
    });
    assert!(place(sandbox).join("tree/.git").exists());
}

/// A program that is killed in its first turn, when it has done `half`; in later ones it says whether
/// `file` is there.
fn dies_once(half: &str, file: &str) -> String {
    format!(
        "if [ $N = 1 ]; then {half}; echo >\"$NOTES/written\"; sleep 300.5; fi
         cat {file} >\"$NOTES/found.$N\" 2>/dev/null"
    )
}

#[test]
fn what_it_had_written_when_the_run_was_killed_is_taken_over_by_the_next() {
    if confinement() != Level::Namespaces {
        return skipped("namespaces, without which a program outlives a run that is killed");
    }
    let dies = dies_once("task_file; echo half >lib/more.sh", "lib/store.sh lib/more.sh");
    let sandbox = coding_by(&format!("{dies}\n[ $N = 2 ] || task_file\n{ENDS}"));
    killed_at_work(&sandbox, &CODING);
    let outcome = sandbox.cowork(&CODING).exits(0);
    let said = outcome.stderr.replace("\n  ", " ");
    let told = "the run was killed while Codex was working; its changes are recovered: \
                lib/more.sh, lib/store.sh";
    assert!(said.contains(told), "{said}");
    assert_eq!(noted(&sandbox, "found.2"), format!("{}half\n", todo::code_of("TASK-001")));
    let task = sandbox.commit_of("cowork/todo", "coding: TASK-001");
    assert_eq!(sandbox.blob(&task, "lib/more.sh"), "half\n");
    has_left_nothing(&sandbox);
    sandbox.assert_sound();
}

#[test]
fn a_document_it_had_written_when_the_run_was_killed_is_taken_over() {
    if confinement() != Level::Namespaces {
        return skipped("namespaces, without which a program outlives a run that is killed");
    }
    let sandbox = Sandbox::stopped_after("idea");
    settle(&sandbox, "agent = \"codex\"", "");
    let found = ".cowork/sessions/todo/prd.md";
    install(&sandbox, "codex", &format!("{}\n{ENDS}", dies_once("document prd.md", found)));
    let args = ["resume", "--review", "auto", "--stop-after", "prd"];
    killed_at_work(&sandbox, &args);
    let outcome = sandbox.cowork(&args).exits(0);
    let said = outcome.stderr.replace("\n  ", " ");
    assert!(said.contains("its changes are recovered: .cowork/sessions/todo/"), "{said}");
    assert_eq!(noted(&sandbox, "found.2"), todo::PRD);
    assert_eq!(sandbox.blob("cowork/todo", found), todo::PRD);
    has_left_nothing(&sandbox);
}

#[test]
fn what_it_had_written_is_left_where_the_session_has_changed_since() {
    if confinement() != Level::Namespaces {
        return skipped("namespaces, without which a program outlives a run that is killed");
    }
    let dies = dies_once("task_file", "lib/store.sh");
    let sandbox = coding_by(&format!("{dies}\ntask_file\n{ENDS}"));
    killed_at_work(&sandbox, &CODING);
    sandbox.commit_file("other.txt", "mine\n", "mine");
    let outcome = sandbox.cowork(&CODING).exits(0);
    let said = outcome.stderr.replace("\n  ", " ");
    let told = "its changes (lib/store.sh) are discarded, because the session has changed since";
    assert!(said.contains(told), "{said}");
    assert_eq!(noted(&sandbox, "found.2"), "");
    has_left_nothing(&sandbox);
}
