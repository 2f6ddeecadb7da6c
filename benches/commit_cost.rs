//! What the program itself costs, next to what git costs for the same: a stage and its commit in a
//! small and a large repository, the size of the program and its start-up, `status` and `list`.
//! Model time is nil (a replay).
//! Ours and git's samples alternate, so that a busy machine slows both; medians are compared.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its numbers")]

#[path = "../tests/it/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the tests use more of it")]
mod support;

#[expect(dead_code, reason = "other benchmarks use more of it")]
mod measure;

use std::collections::BTreeMap;

use measure::{compared, cowork, files_of, git, least, line, ratio, recording, repository, time};
use support::Sandbox;

const SIZES: [usize; 2] = [1_000, 20_000];
const SESSIONS: usize = 50;
const SAMPLES: usize = 7;
const QUICK_SAMPLES: usize = 15;
const START_UPS: usize = 101;
/// What is wanted of the program's start-up, as a multiple of git's.
const START_UP: f64 = 2.0;
/// What is wanted of its size, in bytes.
const BINARY: u64 = 15_000_000;

fn main() {
    binary();
    start_up();
    for size in SIZES {
        stage_commit(size);
    }
    sessions();
}

/// The size of the program, stripped as it is in a release.
fn binary() {
    let size = std::fs::metadata(cowork(&Sandbox::new(), &[]).get_program()).unwrap().len();
    let held = if size <= BINARY { "" } else { "  MISSED" };
    println!("binary {size} bytes, target {BINARY}{held}");
}

fn start_up() {
    let sandbox = Sandbox::new();
    let [ours, by_git, theirs] = least(
        START_UPS,
        [
            &|| vec![cowork(&sandbox, &["--version"])],
            &|| vec![git(&sandbox, &["cowork", "--version"])],
            &|| vec![git(&sandbox, &["--version"])],
        ],
    );
    ratio("git-cowork --version", ours, "git --version", theirs, START_UP);
    line("git cowork --version", by_git, "git --version", theirs);
}

/// The PRD stage from the loading of the session to its tag, less the program's start-up.
fn stage_commit(files: usize) {
    let sandbox = repository(files);
    let replay = recording(&sandbox, |task| files_of(task, 1, 1));
    let auto = ["--review", "auto", "--replay", &replay, "--stop-after"];
    let new = [&["new", "-n", "todo", "a todo list"], &auto[..], &["idea"]].concat();
    time(vec![cowork(&sandbox, &new)]);
    let idea = sandbox.git(&["rev-parse", "HEAD"]);
    let resume = [&["resume"], &auto[..], &["prd"]].concat();
    // To the state before the stage.
    let back = || {
        sandbox.git(&["reset", "-q", "--hard", &idea]);
        for name in ["refs/tags/cowork/todo/prd", "refs/cowork/drafts/todo/prd"] {
            sandbox.git(&["update-ref", "-d", name]);
        }
        sandbox.git(&["status"]);
    };
    time(vec![cowork(&sandbox, &resume)]);
    let prd = sandbox.git(&["rev-parse", "HEAD"]);
    let changed = sandbox.git(&["diff", "--name-only", &idea, &prd]);
    let paths: Vec<&str> = changed.lines().collect();
    let with = |first: &[&str]| git(&sandbox, &[first, &["--"], &paths].concat());
    let [ours, start_up, theirs] = compared(
        SAMPLES,
        [
            &|| {
                back();
                vec![cowork(&sandbox, &resume)]
            },
            &|| vec![cowork(&sandbox, &["--version"])],
            &|| {
                back();
                sandbox.git(&[&["restore", "--source", &prd, "--"], &paths[..]].concat());
                vec![with(&["add"]), with(&["commit", "-q", "--only", "-m", "prd"])]
            },
        ],
    );
    line(
        &format!("a stage among {files} files"),
        ours - start_up,
        "git add && git commit --only",
        theirs,
    );
    back();
    children(&sandbox, &resume);
}

/// Which git children one run has: how many of each kind, and how long they took together.
fn children(sandbox: &Sandbox, args: &[&str]) {
    let trace = sandbox.root().join("trace");
    let mut command = cowork(sandbox, args);
    command.env("GIT_TRACE2_PERF", &trace).env("GIT_TRACE2_PERF_BRIEF", "1");
    time(vec![command]);
    let text = std::fs::read_to_string(trace).unwrap();
    let (mut kinds, mut running) = (BTreeMap::<String, (u32, f64)>::new(), String::new());
    let mut all = (0, 0.0);
    for line in text.lines().filter(|line| line.starts_with("d0 ")) {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        match fields.get(2) {
            Some(&"start") => running = verb(fields.last().unwrap_or(&"")),
            Some(&"exit") => {
                let seconds: f64 = fields[4].parse().unwrap();
                let kind = kinds.entry(running.clone()).or_default();
                *kind = (kind.0 + 1, kind.1 + seconds);
                all = (all.0 + 1, all.1 + seconds);
            }
            _ => {}
        }
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
    println!("  {} git children, {:.1} ms inside them; the dearest:", all.0, all.1 * 1000.0);
    for (kind, (count, seconds)) in kinds.iter().take(12) {
        println!("  {count:>5} × {kind:<30}{:>8.1} ms", seconds * 1000.0);
    }
}

/// The command of a line of arguments and its first option.
fn verb(arguments: &str) -> String {
    let mut words = arguments.split(' ').skip(1).peekable();
    while let Some(word) = words.peek().filter(|word| word.starts_with('-')) {
        let takes_value = matches!(*word, "-c" | "-C");
        words.next();
        if takes_value {
            words.next();
        }
    }
    words.take(2).collect::<Vec<_>>().join(" ")
}

/// `status` and `list` with one session and with many.
fn sessions() {
    let sandbox = Sandbox::new();
    let replay = recording(&sandbox, |task| files_of(task, 1, 1));
    let auto = ["--review", "auto", "--replay", &replay, "--stop-after", "idea", "-b", "main"];
    let mut there = 0;
    for sessions in [1, SESSIONS] {
        while there < sessions {
            there += 1;
            let name = format!("s{there}");
            time(vec![cowork(&sandbox, &[&["new", "-n", &name, "an idea"], &auto[..]].concat())]);
        }
        let [status, list, log, refs] = compared(
            QUICK_SAMPLES,
            [
                &|| vec![cowork(&sandbox, &["status"])],
                &|| vec![cowork(&sandbox, &["list"])],
                &|| vec![git(&sandbox, &["log", "main.."])],
                &|| vec![git(&sandbox, &["for-each-ref"])],
            ],
        );
        let of = if sessions == 1 { "session" } else { "sessions" };
        line(&format!("status, {sessions} {of}"), status, "git log", log);
        line(&format!("list, {sessions} {of}"), list, "git for-each-ref", refs);
    }
}
