//! What the program reads fast is what a slow and obvious reading finds, whatever people, git and
//! the program itself did to the histories before: random histories, read again after every step.
//!
//! `COWORK_READING_TRIALS` says how many histories (default 3, 6 in `.ci/run`),
//! `COWORK_READING_SEED` where seeds begin. A failure names its seed and what was done. By hand:
//! `COWORK_READING_TRIALS=200 COWORK_READING_SEED=1000 cargo test --locked --test it readings::`

mod operations;
mod slow;

use serde_json::Value;

use self::operations::{ALL, SESSIONS, apply};
use self::slow::{Kind, Slow};
use crate::support::trials::{failing, in_formats, number};
use crate::support::{Reply, Sandbox, at, todo};

/// Operations in one history.
const STEPS: u8 = 4;

/// What the program keeps of the heads of sessions.
const KEPT_HEADS: &str = ".git/cowork/heads";

/// What it keeps of the files that the commits of a session changed.
fn kept_changes(session: &str) -> String {
    format!(".git/cowork/sessions/{session}/changes")
}

/// A repository with sessions of all sorts: one delivered, one with two of five tasks done, one
/// whose draft waits, one that has hardly begun. Nothing is left of their runs but history.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    let auto = |name: &str, more: &[&str], code| {
        let new = ["new", "-b", "main", "-n", name, "a todo list", "--review", "auto"];
        sandbox.cowork(&[&new, more].concat()).exits(code);
    };
    sandbox.server.times(1, at("prd", "critic").iteration(1), todo::reject("REQ-002 is vague"));
    auto("delivered", &[], 0);
    sandbox.server.on(at("coding", "actor").task("TASK-003"), Reply::status(401, "enough"));
    auto("coding", &[], 4);
    let wait = ["new", "-b", "main", "-n", "waiting", "a todo list", "--review", "wait"];
    sandbox.cowork(&wait).exits(3);
    auto("early", &["--stop-after", "prd"], 0);
    sandbox.git(&["switch", "-q", "main"]);
    std::fs::remove_dir_all(sandbox.path(".git/cowork")).unwrap();
    // Else heads are kept in repositories of many sessions only.
    sandbox.write(KEPT_HEADS, concat!("heads 2 git-cowork ", env!("CARGO_PKG_VERSION"), "\n"));
    let none = concat!("changes 1 git-cowork ", env!("CARGO_PKG_VERSION"), "\n");
    for session in SESSIONS {
        sandbox.write(&kept_changes(session), none);
    }
    sandbox
}

/// What the commands that read say.
fn read(sandbox: &Sandbox, sessions: &[&str]) -> Vec<(String, i32, String)> {
    let read = |args: &[&str]| {
        let outcome = sandbox.cowork(args);
        (args.join(" "), outcome.code, outcome.stdout)
    };
    let mut all = vec![read(&["list", "--json"])];
    for session in sessions {
        all.extend(["status", "log", "verify"].map(|command| read(&[command, session, "--json"])));
        all.push(read(&["log", session]));
    }
    all
}

/// The same, where libgit2 cannot open the repository and the binary serves every question.
fn read_by_the_binary(sandbox: &Sandbox, sessions: &[&str]) -> Vec<(String, i32, String)> {
    // Only git knows which object stands for which; here, one that nothing is asked of.
    let blob = |text: &str| sandbox.git_input(&["hash-object", "-w", "--stdin"], text);
    let (one, other) = (blob("one"), blob("other"));
    sandbox.git(&["replace", &one, &other]);
    let all = read(sandbox, sessions);
    sandbox.git(&["replace", "-d", &one]);
    all
}

/// Fast against slow for one session.
fn compare(sandbox: &Sandbox, session: &str, listed: &[Value], when: &str) {
    let status = sandbox.cowork(&["status", session, "--json"]);
    let line = listed.iter().find(|line| line["session"] == session);
    let Some(slow) = Slow::read(sandbox, session) else {
        assert!(status.code == 5 && line.is_none(), "{session} is no session; {when}\n{line:?}");
        return;
    };
    let mut found = status.exits(0).json();
    let expected = slow.status(sandbox);
    for listed in std::iter::once(&mut found).chain(&mut line.cloned()) {
        if listed["state"] == "stopped" {
            assert!(listed["reason"].is_string(), "{listed}; {when}");
            listed["state"] = "in_progress".into();
        }
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(listed[field], *value, "{field} of {session}; {when}\n{}", slow.told());
        }
    }
    assert!(line.is_some(), "{session} is not listed; {when}");
    if let Some(tasks) = slow.tasks(sandbox) {
        let shown = sandbox.cowork(&["status", session]).exits(0).stdout;
        assert!(shown.contains(&tasks), "{tasks}; {when}\n{shown}");
    }
    let steps = sandbox.cowork(&["log", session, "--json"]).exits(0).json_lines();
    let told = |event: &str| {
        let of =
            steps.iter().filter(|step| step["event"] == event && step.get("attempt").is_none());
        of.map(|step| step["commit"].as_str().unwrap()).collect::<Vec<_>>()
    };
    let commits = |is: &dyn Fn(&Kind) -> bool| {
        let of = slow.history.iter().filter(|entry| is(&entry.kind));
        of.map(|entry| entry.commit.as_str()).collect::<Vec<_>>()
    };
    let stages = commits(&|kind| matches!(kind, Kind::Stage(_)));
    assert_eq!(told("stage_completed"), stages, "stages in the log of {session}; {when}");
    let tasks = commits(&|kind| matches!(kind, Kind::Task(_)));
    assert_eq!(told("task_completed"), tasks, "tasks in the log of {session}; {when}");
    let said: Vec<&Value> = steps.iter().filter(|step| step["event"] == "feedback").collect();
    for details in slow.feedback(sandbox) {
        let is_told = said.iter().any(|step| step["reason"] == details.as_str());
        assert!(is_told, "feedback '{details}' is not in the log of {session}; {when}");
    }
}

/// Everything once more: twice, by the binary, and while other processes read the same.
fn agree(sandbox: &Sandbox, sessions: &[&str], when: &str) {
    let first = read(sandbox, sessions);
    let (beside, again) = std::thread::scope(|scope| {
        let beside = scope.spawn(|| read(sandbox, sessions));
        let again = read(sandbox, sessions);
        (beside.join().unwrap(), again)
    });
    let by_binary = read_by_the_binary(sandbox, sessions);
    for (how, other) in [("again", again), ("beside it", beside), ("by the binary", by_binary)] {
        for (one, other) in first.iter().zip(&other) {
            assert_eq!(one, other, "{} read {how}; {when}", one.0);
        }
    }
    // Where J was lost, nothing is kept of so few sessions.
    let _ = std::fs::remove_file(sandbox.path(KEPT_HEADS));
    for session in SESSIONS {
        let _ = std::fs::remove_file(sandbox.path(&kept_changes(session)));
    }
    assert_eq!(first, read(sandbox, sessions), "read without what was kept; {when}");
}

fn trial(base: &Sandbox, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut sandbox = base.fork();
    let mut told = Vec::new();
    for _ in 0..random.u8(2..=STEPS) {
        let (operation, session) =
            (*random.choice(ALL).unwrap(), *random.choice(&SESSIONS).unwrap());
        told.push(format!("{operation:?} {session}"));
        let when = format!("seed {seed}: {}", told.join(", "));
        let place = apply(&mut sandbox, operation, session, &mut random);
        if let Some(place) = place {
            sandbox.enter(format!("../{place}"));
        }
        let listed = sandbox.cowork(&["list", "--json"]).exits(0).json_lines();
        compare(&sandbox, session, &listed, &when);
        if random.bool() {
            let other = random.choice(&SESSIONS).unwrap();
            compare(&sandbox, other, &listed, &when);
        }
        sandbox.enter("");
    }
    let sessions = [*random.choice(&SESSIONS).unwrap()];
    agree(&sandbox, &sessions, &format!("seed {seed}: {}", told.join(", ")));
    sandbox.git(&["fsck", "--no-dangling"]);
}

#[test]
fn what_is_read_fast_is_what_a_slow_reading_finds() {
    let first = number("COWORK_READING_SEED", 1);
    let seeds: Vec<u64> = (first..first + number("COWORK_READING_TRIALS", 3)).collect();
    in_formats("histories that are read", &seeds, search);
}

fn search(seeds: &[u64]) -> usize {
    let base = repository();
    for session in SESSIONS {
        let listed = base.cowork(&["list", "--json"]).exits(0).json_lines();
        compare(&base, session, &listed, "at the beginning");
        base.cowork(&["log", session]).exits(0);
    }
    assert_eq!(base.read(KEPT_HEADS).lines().count(), 1 + SESSIONS.len(), "heads are kept");
    let changes = base.read(&kept_changes("delivered"));
    assert!(changes.lines().count() > 10, "changed files are not kept: {changes}");
    let failed = failing(seeds, |seed| trial(&base, *seed));
    assert!(failed.is_empty(), "{} of {} failed: {failed:?}", failed.len(), seeds.len());
    seeds.len()
}
