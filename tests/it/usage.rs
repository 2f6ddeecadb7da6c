//! The command line itself: exit codes, help, and where output goes.

use crate::support::{Reply, Sandbox, anywhere};

#[test]
fn usage_errors_exit_with_2() {
    let sandbox = Sandbox::new();
    for args in [
        &["nonsense"][..],
        &["new", "--nonsense"],
        &["new", "x", "--review", "sometimes"],
        &["new", "x", "--stop-after", "lunch"],
        &["new", "x", "--depth", "bottomless"],
        &["resume", "--stop-after"],
        &["review", "--pass", "--feedback", "x"],
    ] {
        let outcome = sandbox.cowork(args).exits(2);
        assert_eq!(outcome.stdout, "", "{args:?}");
        assert!(!outcome.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn to_ask_somebody_a_terminal_is_needed() {
    let sandbox = Sandbox::new();
    let before = sandbox.all_refs();
    sandbox.cowork(&["new", "x", "--review", "ask"]).exits(2).says("terminal");
    assert_eq!(sandbox.all_refs(), before);
}

#[test]
fn without_a_terminal_the_default_is_to_wait() {
    let sandbox = Sandbox::new();
    sandbox.cowork(&["new", "-n", "todo", "x"]).exits(3);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Event"], ["draft"]);
}

#[test]
fn help_goes_to_standard_output() {
    let sandbox = Sandbox::nowhere();
    for args in [&["--help"][..], &["-h"], &["new", "--help"], &["review", "--help"]] {
        let outcome = sandbox.cowork(args).exits(0);
        assert!(outcome.stdout.contains("git cowork"), "{args:?}: {}", outcome.stdout);
    }
    let outcome = sandbox.cowork(&["--version"]).exits(0);
    assert!(outcome.stdout.contains(env!("CARGO_PKG_VERSION")), "{}", outcome.stdout);
    assert!(sandbox.git_cowork(&["-h"]).exits(0).stdout.contains("git cowork"));
}

#[test]
fn a_run_writes_progress_to_standard_error_only() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.auto(&["--stop-after", "idea"]).exits(0);
    assert!(outcome.stderr.contains("idea"), "{}", outcome.stderr);
    assert!(!outcome.stdout.contains("save_idea"), "{}", outcome.stdout);
    let quiet = ["new", "-n", "quiet", "x", "--review", "auto", "--stop-after", "idea", "-q"];
    let outcome = sandbox.cowork(&quiet).exits(0);
    assert!(outcome.stderr.lines().count() <= 1, "{}", outcome.stderr);
}

#[test]
fn colour_is_for_terminals() {
    let mut sandbox = Sandbox::new();
    let plain = sandbox.auto(&["--stop-after", "idea"]).exits(0);
    assert!(!plain.stderr.contains('\u{1b}') && !plain.stdout.contains('\u{1b}'));
    let colourful = sandbox.cowork(&["status", "--color", "always"]).exits(0);
    assert!(colourful.stdout.contains('\u{1b}'), "{}", colourful.stdout);
    sandbox.set_env("NO_COLOR", "1");
    let plain = sandbox.cowork(&["status"]).exits(0);
    assert!(!plain.stdout.contains('\u{1b}'));
    // The option outranks the variable (<https://no-color.org>).
    let asked = sandbox.cowork(&["status", "--color", "always"]).exits(0);
    assert_eq!(asked.stdout, colourful.stdout);
}

#[test]
fn errors_say_what_failed_and_what_to_do() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.cowork(&["resume", "nowhere"]).exits(5);
    assert_eq!(outcome.stdout, "");
    assert!(outcome.stderr.contains("nowhere"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("git cowork"), "no way on: {}", outcome.stderr);
    assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
}

#[test]
fn a_signal_stops_a_run_cleanly() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let sandbox = Sandbox::new();
        let victim = std::sync::Arc::new(std::sync::OnceLock::new());
        let known = std::sync::Arc::clone(&victim);
        let hold = Reply::empty().fault(crate::support::Fault::NeverAnswers);
        sandbox.server.on_with(crate::support::at("prd", "critic"), move |_| {
            let pid: u32 = *known.wait();
            let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            rustix::process::kill_process(pid, signal).unwrap();
            Some(hold.clone())
        });
        let args = ["new", "-n", "todo", "x", "--review", "auto"];
        sandbox.cowork_watched(&args, |pid| victim.set(pid).unwrap()).exits(130);
        // The draft is kept, the tree is clean, and it goes on from there.
        sandbox.assert_sound();
        let drafts = sandbox.refs("refs/cowork/drafts");
        assert!(drafts.contains(&"refs/cowork/drafts/todo/prd".to_owned()), "{drafts:?}");
        sandbox.server.on(crate::support::at("prd", "critic"), crate::support::todo::approve());
        sandbox.server.forget();
        sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
        assert!(sandbox.artifact("prd.md").contains("REQ-001"));
    }
}

#[test]
fn exit_codes_tell_what_happened() {
    // 0: done, and nothing to do.
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "idea"]).exits(0);
    // 5: nothing waits. 3: something does.
    sandbox.cowork(&["review", "--pass"]).exits(5);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    // 4: the model is gone. 1: the session failed.
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.server.times(1, anywhere(), Reply::status(401, "no"));
    sandbox.cowork(&["resume", "--review", "wait"]).exits(4);
    sandbox.server.on(anywhere(), Reply::text("Done."));
    sandbox.cowork(&["resume", "--review", "auto"]).exits(1);
}

#[test]
fn completions_are_for_shells_that_there_are() {
    Sandbox::nowhere().cowork(&["completions", "tcsh-of-old"]).exits(2).says("bash");
}
