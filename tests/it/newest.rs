//! Not every session is read to find the newest open one, and users see no difference: whatever git
//! and git-cowork did to the branches before, `git cowork` prints what git reads from the branches.
//!
//! `COWORK_NEWEST_TRIALS` is the number of random histories (default 2, 4 in `.ci/run`),
//! `COWORK_NEWEST_SEED` the first seed. A failure reports its seed and operations.

use std::collections::BTreeSet;
use std::fs;

use crate::support::Sandbox;
use crate::support::copied::Refs;
use crate::support::kill::abort_at;
use crate::support::sessions::Sessions;
use crate::support::trials::{in_formats, number};

/// More sessions than are read first.
const MANY: usize = 40;
const STEPS: u8 = 12;

/// Creates a repository with this number of sessions.
fn repository(sessions: usize, kept: Refs) -> Sandbox {
    let mut made = Sessions::new();
    made.grow(sessions, kept);
    made.sandbox
}

fn bare(sandbox: &Sandbox) -> String {
    sandbox.cowork(&[]).exits(0).stdout
}

#[test]
fn a_killed_start_is_named() {
    let mut sandbox = repository(MANY, Refs::Packed);
    let new = ["new", "-n", "killed", "a todo list", "--review", "auto"];
    let outcome = abort_at(&mut sandbox, &new, "start.after-branch:1");
    assert_ne!(outcome.code, 0, "{outcome:?}");
    sandbox.git(&["switch", "-q", "main"]);
    let says = |said: &str| {
        assert!(said.contains("41 sessions") && said.contains("start of killed"), "{said}");
    };
    says(&bare(&sandbox));
    sandbox.cowork(&["resume", "killed", "--stop-after", "idea"]).exits(3);
    sandbox.git(&["switch", "-q", "main"]);
    let said = bare(&sandbox);
    assert!(said.contains("git cowork review killed") && !said.contains("interrupted"), "{said}");
}

/// Finds the number of sessions and the newest that is not completed with git.
fn slow(sandbox: &Sandbox) -> (usize, Option<String>) {
    let (mut names, mut newest) = (BTreeSet::new(), None);
    for (pattern, folders) in [("refs/heads/cowork/", 3), ("refs/remotes/*/cowork/*", 4)] {
        let format = "--format=%(refname) %(committerdate:unix)";
        let told = sandbox.git(&["for-each-ref", format, pattern]);
        let tips = told.lines().map(|line| {
            let (name, time) = line.split_once(' ').unwrap();
            let time: i64 = time.parse().unwrap();
            (-time, name.split('/').nth(folders).unwrap().to_owned(), name.to_owned())
        });
        let mut tips: Vec<_> = tips.filter(|(_, name, _)| !names.contains(name)).collect();
        names.extend(tips.iter().map(|(_, name, _)| name.clone()));
        tips.sort();
        let log = "--format=%(trailers:key=Cowork-Stage,valueonly)";
        let mut open = tips.into_iter().filter(|(.., branch)| {
            !sandbox.git(&["log", log, branch]).lines().any(|stage| stage == "delivery")
        });
        newest = newest.or_else(|| open.next().map(|(_, name, _)| name));
    }
    (names.len(), newest)
}

/// Parses the number of sessions and the newest session from the output of `git cowork`.
fn said(sandbox: &Sandbox) -> (usize, Option<String>) {
    let text = bare(sandbox);
    let (first, next) = text.split_once('\n').unwrap();
    let number = first.split(' ').find_map(|word| word.parse().ok()).unwrap_or(0);
    let words: Vec<&str> = next.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(words[..3], ["Next", "git", "cowork"], "{text}");
    (number, (words[3] != "new").then(|| words[4].to_owned()))
}

const OPERATIONS: [&str; 12] = [
    "new",
    "commit",
    "commit",
    "rewind",
    "delete",
    "pack",
    "pack and keep",
    "fetch",
    "fetch",
    "archive",
    "no state",
    "main goes on",
];

fn apply(sandbox: &Sandbox, operation: &str, random: &mut fastrand::Rng) {
    let name = format!("session-{}", 1 + random.usize(..MANY - 1));
    let branch = format!("refs/heads/cowork/{name}");
    let git = |args: &[&str]| drop(sandbox.git_outcome(args));
    let with_a_commit = |of: &str, there: &str, branch: &str, seconds: i64| {
        let date = format!("{} +0000", 1_700_000_000 + seconds);
        let mut made = sandbox.command("git");
        made.env("GIT_COMMITTER_DATE", date);
        let made =
            made.args(["commit-tree", "-p", of, "-m", "a person's", &format!("{of}^{{tree}}")]);
        let commit = String::from_utf8(made.output().unwrap().stdout).unwrap();
        if !commit.is_empty() {
            sandbox.git(&["-C", there, "update-ref", branch, commit.trim()]);
        }
    };
    let seconds = i64::from(random.u32(..50_000_000));
    match operation {
        "new" => git(&["update-ref", &branch, &format!("refs/spare/{name}")]),
        "commit" => with_a_commit(&branch, ".", &branch, seconds),
        "rewind" => {
            let before = format!("{branch}~1");
            let file = format!("{before}:.cowork/sessions/{name}/session.json");
            if sandbox.git_outcome(&["cat-file", "-e", &file]).code == 0 {
                git(&["update-ref", &branch, &before]);
            }
        }
        "delete" => git(&["update-ref", "-d", &branch]),
        "pack" => git(&["pack-refs", "--all"]),
        "pack and keep" => git(&["pack-refs", "--all", "--no-prune"]),
        "fetch" => {
            // The two repositories share their objects.
            with_a_commit(&format!("refs/spare/{name}"), "../hub.git", &branch, seconds);
            git(&["fetch", "-q", "hub", "+refs/heads/cowork/*:refs/remotes/hub/cowork/*"]);
        }
        "archive" => drop(sandbox.cowork(&["archive", &name])),
        "no state" => {
            fs::remove_dir_all(sandbox.path(".git/cowork")).ok();
        }
        _ => sandbox.commit_file("main.txt", &format!("{seconds}\n"), "main goes on"),
    }
}

#[test]
fn whatever_was_done_to_branches_the_newest_is_what_a_slow_reading_finds() {
    let first = number("COWORK_NEWEST_SEED", 1);
    let seeds: Vec<u64> = (first..first + number("COWORK_NEWEST_TRIALS", 2)).collect();
    in_formats("branches of sessions", &seeds, search);
}

fn search(seeds: &[u64]) -> usize {
    let base = repository(MANY, Refs::Packed);
    for session in 0..MANY {
        let (of, to) =
            (format!("cowork/session-{session}"), format!("refs/spare/session-{session}"));
        base.git_outcome(&["update-ref", &to, &format!("refs/heads/{of}")]);
    }
    for seed in seeds {
        let (mut random, mut sandbox) = (fastrand::Rng::with_seed(*seed), base.fork());
        sandbox.git(&["clone", "-q", "--bare", "--shared", ".", "../hub.git"]);
        sandbox.git(&["remote", "add", "hub", "../hub.git"]);
        sandbox.git(&["worktree", "add", "-q", "--detach", "../linked"]);
        let mut told = Vec::new();
        for _ in 0..STEPS {
            let operation = *random.choice(&OPERATIONS).unwrap();
            told.push(operation);
            apply(&sandbox, operation, &mut random);
            let expected = slow(&sandbox);
            for place in ["../linked", ""] {
                sandbox.enter(place);
                assert_eq!(said(&sandbox), expected, "seed {seed}: {} {place}", told.join(", "));
            }
        }
    }
    seeds.len()
}
