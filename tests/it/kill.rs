//! Killed with SIGKILL at any moment and resumed: no completed stage or task repeated, the same
//! final history, `git fsck` clean, and nothing of the user's lost.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod commands;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod injected;
#[cfg(unix)]
mod inside;
mod random;
#[cfg(unix)]
mod together;

use crate::support::kill::{abort_at, kill_at_request, points};
use crate::support::{Reply, Sandbox, at};

const NEW: [&str; 6] = ["new", "-n", "todo", "a todo list for the terminal", "--review", "auto"];
const RESUME: [&str; 3] = ["resume", "--review", "auto"];

/// A sandbox in which everything up to this stage is completed, and something is the user's.
fn up_to(stage: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.auto(&["--stop-after", stage]).exits(0);
    sandbox.write("notes.txt", "mine\n");
    sandbox
}

/// Whether the session's branch exists.
fn begun(sandbox: &Sandbox) -> bool {
    !sandbox.refs("refs/heads/cowork/todo").is_empty()
}

fn stop_after(stage: &str) -> Vec<&str> {
    [&RESUME[..], &["--stop-after", stage]].concat()
}

/// What must be the same however often the run was killed.
fn outcome_of(sandbox: &Sandbox) -> (Vec<String>, String, Vec<String>) {
    (sandbox.subjects("main..cowork/todo"), sandbox.tree("cowork/todo"), sandbox.tags())
}

/// After a kill: resume, then compare with the undisturbed run.
#[track_caller]
fn recovers(sandbox: &Sandbox, stage: &str, undisturbed: &Sandbox, when: &str) {
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    let done = sandbox.subjects("main..cowork/todo");
    sandbox.server.forget();
    sandbox.cowork(&stop_after(stage)).exits(0);
    let expected = outcome_of(undisturbed);
    let found = outcome_of(sandbox);
    assert_eq!(found.0, expected.0, "subjects after a kill at {when}");
    assert_eq!(found.1, expected.1, "files after a kill at {when}");
    assert_eq!(found.2, expected.2, "tags after a kill at {when}");
    assert!(found.0.starts_with(&done), "history was rewritten after a kill at {when}");
    for request in sandbox.server.requests() {
        assert_eq!(request.stage, stage, "a completed stage ran again after a kill at {when}");
        if let Some(task) = request.task.filter(|_| request.role == "actor") {
            let again = done.iter().any(|s| s.starts_with(&format!("coding: {task} ")));
            assert!(!again, "{task} was repeated after a kill at {when}");
        }
    }
    assert_eq!(sandbox.read("notes.txt"), "mine\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? notes.txt", "after {when}");
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn a_run_killed_while_it_puts_its_draft_away_brings_it_back() {
    let mut sandbox = up_to("idea");
    sandbox.server.times(1, at("prd", "critic"), Reply::status(401, "no"));
    abort_at(&mut sandbox, &stop_after("prd"), "put-back.after-files:1");
    assert!(!sandbox.exists(".cowork/sessions/todo/prd.md"));
    sandbox.server.forget();
    sandbox.cowork(&stop_after("prd")).exits(0);
    let drafts = sandbox.server.requests_of("prd", "actor").len();
    assert_eq!(drafts, 0, "the draft was made again");
}

/// Kills the run of one stage at each of its model requests.
#[track_caller]
fn killed_at_every_request_of(stage: &str, before: &str) {
    let base = up_to(before);
    let undisturbed = base.fork();
    undisturbed.cowork(&stop_after(stage)).exits(0);
    let requests = undisturbed.server.requests().len();
    assert!(requests >= 1);
    for n in 1..=requests {
        let sandbox = base.fork();
        kill_at_request(&sandbox, &stop_after(stage), n).was_killed();
        recovers(&sandbox, stage, &undisturbed, &format!("request {n} of {stage}"));
    }
}

/// Kills the run of one stage at each point it passes.
#[track_caller]
fn killed_at_every_point_of(stage: &str, before: &str) {
    let base = up_to(before);
    let mut undisturbed = base.fork();
    let (outcome, points) = points(&mut undisturbed, &stop_after(stage));
    outcome.exits(0);
    assert!(points.len() >= 3, "too few points to kill at: {points:?}");
    for point in points {
        let mut sandbox = base.fork();
        abort_at(&mut sandbox, &stop_after(stage), &point).was_killed();
        recovers(&sandbox, stage, &undisturbed, &format!("point {point} of {stage}"));
    }
}

macro_rules! every_stage {
    ($($stage:ident after $before:literal),*) => {
        mod at_every_request_of { $(#[test] fn $stage() {
            super::killed_at_every_request_of(stringify!($stage), $before);
        })* }
        mod at_every_point_of { $(#[test] fn $stage() {
            super::killed_at_every_point_of(stringify!($stage), $before);
        })* }
    };
}

every_stage!(
    prd after "idea", design after "prd", plan after "design", coding after "plan",
    check after "coding", delivery after "check"
);

/// A `new` that was killed leaves either nothing or a session that can be resumed.
#[track_caller]
fn resumes_or_starts_again(sandbox: &Sandbox, when: &str) {
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    let begun = !sandbox.refs("refs/heads/cowork/todo").is_empty();
    let args = if begun { &RESUME[..] } else { &NEW[..] };
    let stop = ["--stop-after", "idea"];
    sandbox.cowork(&[args, &stop].concat()).exits(0);
    let subjects = sandbox.subjects("main..cowork/todo");
    assert_eq!(subjects.len(), 2, "after a kill at {when}: {subjects:?}");
    assert_eq!(sandbox.tags(), ["cowork/todo/idea"], "after a kill at {when}");
    assert_eq!(sandbox.artifact("idea.md"), crate::support::todo::IDEA, "after {when}");
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "cowork/todo", "after {when}");
    assert_eq!(sandbox.read("notes.txt"), "mine\n", "after a kill at {when}");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? notes.txt", "after {when}");
}

#[test]
fn killed_while_starting_it_resumes_or_starts_again() {
    let base = Sandbox::new();
    base.write("notes.txt", "mine\n");
    let new = [&NEW[..], &["--stop-after", "idea"]].concat();
    for n in 1..=2 {
        let sandbox = base.fork();
        sandbox.server.manner(crate::support::todo::lingers);
        kill_at_request(&sandbox, &new, n).was_killed();
        resumes_or_starts_again(&sandbox, &format!("request {n} of idea"));
    }
    let mut undisturbed = base.fork();
    let (outcome, points) = points(&mut undisturbed, &new);
    outcome.exits(0);
    assert!(points.len() >= 3, "too few points to kill at: {points:?}");
    for point in points {
        let mut sandbox = base.fork();
        abort_at(&mut sandbox, &new, &point).was_killed();
        resumes_or_starts_again(&sandbox, &point);
    }
}

#[test]
fn killed_while_a_review_is_answered_or_taken_up_it_counts_once() {
    let base = Sandbox::new();
    base.wait(&[]).exits(3);
    let pass = ["review", "--pass"];
    let resume = ["resume", "--review", "wait", "--stop-after", "idea"];
    let mut undisturbed = base.fork();
    let (outcome, review_points) = points(&mut undisturbed, &pass);
    outcome.exits(0);
    let (outcome, resume_points) = points(&mut undisturbed, &resume);
    outcome.exits(0);
    let expected = undisturbed.subjects("main..cowork/todo");
    for point in review_points {
        let mut sandbox = base.fork();
        abort_at(&mut sandbox, &pass, &point).was_killed();
        // Either it counted already, or it can be said again.
        let again = sandbox.cowork(&pass).code;
        assert!([0, 5].contains(&again), "review after a kill at {point}: exit {again}");
        sandbox.cowork(&resume).exits(0);
        assert_eq!(sandbox.subjects("main..cowork/todo"), expected, "after a kill at {point}");
        sandbox.assert_sound();
    }
    base.cowork(&pass).exits(0);
    for point in resume_points {
        let mut sandbox = base.fork();
        abort_at(&mut sandbox, &resume, &point).was_killed();
        sandbox.cowork(&resume).exits(0);
        assert_eq!(sandbox.subjects("main..cowork/todo"), expected, "after a kill at {point}");
        sandbox.assert_sound();
    }
}

#[test]
fn a_users_edit_made_after_a_crash_is_not_lost() {
    let sandbox = up_to("idea");
    sandbox.server.manner(crate::support::todo::lingers);
    kill_at_request(&sandbox, &stop_after("prd"), 2).was_killed();
    // The draft lies in the working tree; the user goes on with it.
    let mine = sandbox.artifact("prd.md") + "\nA line of mine.\n";
    sandbox.write(".cowork/sessions/todo/prd.md", &mine);
    let outcome = sandbox.cowork(&["resume", "--review", "wait"]);
    let outcome = outcome.exits(3);
    assert!(!outcome.stderr.is_empty());
    let everywhere = sandbox.git(&["log", "--all", "-p", "--format=", "--", ".cowork"]);
    assert!(everywhere.contains("A line of mine."), "the edit is nowhere");
}

#[test]
fn two_runs_of_one_session_do_not_mix() {
    let sandbox = up_to("idea");
    let (started, begun) = std::sync::mpsc::channel::<()>();
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let gates = std::sync::Mutex::new((started, gone));
    sandbox.server.on_with(crate::support::at("prd", "critic"), move |_| {
        let gates = gates.lock().unwrap();
        gates.0.send(()).ok();
        gates.1.recv_timeout(std::time::Duration::from_secs(60)).ok();
        Some(crate::support::todo::approve())
    });
    std::thread::scope(|scope| {
        let first = scope.spawn(|| sandbox.cowork(&stop_after("prd")));
        begun.recv_timeout(std::time::Duration::from_secs(120)).unwrap();
        let second = sandbox.cowork(&stop_after("prd"));
        go.send(()).unwrap();
        first.join().unwrap().exits(0);
        let second = second.exits(5);
        assert!(second.stderr.contains("process"), "{}", second.stderr);
    });
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea", "prd"]);
}

/// Adds a line to the idea, once.
const ADDS_A_LINE: &str = "f=.cowork/sessions/todo/idea.md\ngrep -q unseen $f && exit 0\n\
                           echo 'A line unseen.' >> $f && git add $f";

#[test]
fn what_a_hook_changed_is_not_complete_although_we_died_before_we_looked() {
    let base = Sandbox::new();
    base.wait(&[]).exits(3);
    base.cowork(&["review", "--pass"]).exits(0);
    base.hook("pre-commit", ADDS_A_LINE);
    let resume = ["resume", "--review", "wait", "--stop-after", "idea"];
    for point in ["stage.after-commit", "take-back.before-ref", "take-back.after-ref"] {
        let mut sandbox = base.fork();
        abort_at(&mut sandbox, &resume, point).was_killed();
        sandbox.cowork(&resume).exits(3);
        assert_eq!(sandbox.cowork(&["status", "--json"]).json()["state"], "waiting", "{point}");
        assert!(sandbox.tags().is_empty(), "{point}: {:?}", sandbox.tags());
        assert!(sandbox.artifact("idea.md").contains("unseen"), "{point}");
        sandbox.assert_clean();
        sandbox.cowork(&["review", "--pass"]).exits(0);
        sandbox.cowork(&resume).exits(0);
        let commit = sandbox.stage_commit("idea");
        let blob = sandbox.git(&["rev-parse", &format!("{commit}:.cowork/sessions/todo/idea.md")]);
        let approved = &sandbox.trailers(&commit)["Cowork-Approved"].join(" ");
        assert_eq!(approved, &format!("idea.md@{}", &blob[..12]), "{point}");
        assert_eq!(sandbox.tags(), ["cowork/todo/idea"], "{point}");
        sandbox.assert_sound();
    }
}

#[cfg(unix)]
#[test]
fn what_a_hook_changed_is_shown_as_a_difference_after_a_crash() {
    let mut sandbox = up_to("idea");
    sandbox.hook(
        "pre-commit",
        "f=.cowork/sessions/todo/prd.md\ntest -f $f || exit 0\n\
         grep -q unseen $f || echo 'A line unseen.' >> $f && git add $f",
    );
    sandbox.set_env("COWORK_TEST_ABORT_AT", "stage.after-commit");
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    terminal.sees("stop for now");
    terminal.types("p");
    assert!(terminal.ends().0 > 128);
    sandbox.set_env("COWORK_TEST_ABORT_AT", "");
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    let shown = terminal.sees("stop for now");
    assert!(shown.contains("hook changed") && shown.contains("+A line unseen."), "{shown}");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea", "prd"]);
}

#[cfg(unix)]
#[test]
fn a_git_child_that_outlived_us_is_waited_for() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    let sandbox = up_to("idea");
    let (gate, victim) = (sandbox.root().join("gate"), sandbox.root().join("victim"));
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    sandbox.hook(
        "pre-commit",
        &format!("kill -9 $(cat '{}'); cat '{}'", victim.display(), gate.display()),
    );
    let args = stop_after("prd");
    let started = |pid: u32| std::fs::write(&victim, pid.to_string()).unwrap();
    sandbox.cowork_watched(&args, started).was_killed();
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea"]);

    sandbox.server.forget();
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_git-cowork"));
    command.args(&args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut resumed = command.spawn().unwrap();
    let mut said = BufReader::new(resumed.stderr.take().unwrap()).lines();
    let waits = said.any(|line| line.is_ok_and(|line| line.contains("waiting for git commit")));
    assert!(waits, "it did not wait");
    assert!(sandbox.exists(".git/index.lock"), "the lock of a living child was removed");
    std::fs::write(&gate, "").unwrap();
    said.for_each(drop);
    assert!(resumed.wait().unwrap().success());
    // The child did its work, and nothing was done twice.
    assert_eq!(sandbox.subjects("main..cowork/todo").len(), 3);
    assert_eq!(sandbox.server.requests().len(), 0);
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? notes.txt");
}

#[test]
fn a_start_that_died_with_its_files_staged_is_finished_whole() {
    let mut sandbox = Sandbox::new();
    abort_at(&mut sandbox, &NEW, "start.before-commit:1").was_killed();
    // As far as a git child came that died, too.
    sandbox.git(&["add", ".cowork"]);
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "idea"]].concat()).exits(0);
    let start = sandbox.git(&["rev-parse", "cowork/todo~1"]);
    let held = sandbox.git(&["ls-tree", "-r", "--name-only", &start]);
    assert!(held.contains(".cowork/.gitattributes"), "{held}");
    sandbox.assert_sound();
}
