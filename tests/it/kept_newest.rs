//! With many sessions, the newest session is cached, and users see no difference: whatever git and
//! git-cowork did to the branches before, `git cowork` prints what git reads from the branches.
//!
//! `COWORK_NEWEST_TRIALS` is the number of random histories (default 2, 4 in `.ci/run`),
//! `COWORK_NEWEST_SEED` the first seed. A failure reports its seed and operations.

use std::collections::BTreeSet;
use std::fs;

use crate::support::Sandbox;
use crate::support::copied::Refs;
use crate::support::kill::abort_at;
use crate::support::sessions::Sessions;
use crate::support::trials::number;

/// Path in the repository.
const NEWEST: &str = ".git/cowork/newest";
const HEADER: &str = concat!("newest 1 git-cowork ", env!("CARGO_PKG_VERSION"), "\n");

/// More sessions than are read first: only then is a cache created.
const MANY: usize = 40;
const FEW: usize = 14;
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

/// Runs `git cowork` until it writes the cache, which it does not do soon after a change. Returns
/// its output and the cache.
fn kept(sandbox: &Sandbox) -> (String, String) {
    fs::remove_file(sandbox.path(NEWEST)).ok();
    for _ in 0..500 {
        let said = bare(sandbox);
        if let Ok(now) = fs::read_to_string(sandbox.path(NEWEST)) {
            return (said, now);
        }
    }
    panic!("nothing is kept");
}

#[test]
fn with_few_sessions_nothing_is_kept() {
    let sandbox = repository(20, Refs::Packed);
    for _ in 0..10 {
        bare(&sandbox);
    }
    assert!(!sandbox.path(NEWEST).exists());
}

#[test]
fn what_is_kept_is_what_would_be_read_and_a_broken_file_is_made_again() {
    for refs in [Refs::Loose, Refs::Packed] {
        let sandbox = repository(MANY, refs);
        let first = bare(&sandbox);
        assert!(first.contains("there are 40 sessions"), "{first}");
        let (said, file) = kept(&sandbox);
        assert_eq!((said, bare(&sandbox)), (first.clone(), first.clone()));

        let open = file.split("\"open\":[\"").nth(1).unwrap().split('"').next().unwrap();
        let other = format!("{open}0\"");
        let forged = file.replace(&format!("{open}\""), &other).replace(":40", ":41");
        let older = forged.replacen("newest 1", "newest 0", 1);
        let long = format!("{file}{}", " ".repeat(70_000));
        for broken in [&file[..file.len() / 2], &older, &long, "", "nonsense\n", HEADER] {
            sandbox.write(NEWEST, broken);
            assert_eq!(bare(&sandbox), first, "{broken:.80}");
        }
        assert_eq!(sandbox.read(NEWEST), file, "it was made again");

        // A cached tip that is not the branch's tip is not used.
        sandbox.write(NEWEST, &forged);
        assert_eq!(bare(&sandbox), first, "another session's tip");
        sandbox.write(NEWEST, &file.replace(":40", ":41"));
        assert!(bare(&sandbox).contains("41 sessions"), "the file is not used");
        let told = sandbox.cowork(&["verify", "session-5", "session-6"]).exits(1).stdout;
        assert_eq!(told.matches("kept-newest-differs").count(), 1, "{told}");
        assert!(told.contains("rm "), "{told}");

        let commit = sandbox.git(&["rev-parse", "cowork/session-7~1"]);
        sandbox.git(&["replace", "--graft", &commit]);
        assert_eq!(bare(&sandbox), first, "used with replaced commits");
        sandbox.git(&["replace", "-d", &commit]);
        fs::remove_file(sandbox.path(NEWEST)).unwrap();
        assert_eq!(bare(&sandbox), first);
        sandbox.cowork(&["verify", "session-5"]).exits(0);
    }
}

#[test]
fn a_branch_that_stands_for_another_one_is_looked_at_each_time() {
    let sandbox = repository(MANY, Refs::Loose);
    let (.., file) = kept(&sandbox);
    sandbox.git(&["symbolic-ref", "refs/heads/cowork/alias", "refs/heads/main"]);
    for _ in 0..10 {
        assert!(bare(&sandbox).contains("41 sessions"));
    }
    assert_eq!(sandbox.read(NEWEST), file);
}

#[test]
fn a_killed_start_is_named_whatever_was_kept() {
    let mut sandbox = repository(MANY, Refs::Packed);
    kept(&sandbox);
    let new = ["new", "-n", "killed", "a todo list", "--review", "auto"];
    let outcome = abort_at(&mut sandbox, &new, "start.after-branch:1");
    assert_ne!(outcome.code, 0, "{outcome:?}");
    sandbox.git(&["switch", "-q", "main"]);
    let says = |said: &str| {
        assert!(said.contains("41 sessions") && said.contains("start of killed"), "{said}");
    };
    says(&bare(&sandbox));
    says(&kept(&sandbox).0);
    says(&bare(&sandbox));
    sandbox.cowork(&["resume", "killed", "--stop-after", "idea"]).exits(3);
    sandbox.git(&["switch", "-q", "main"]);
    let said = bare(&sandbox);
    assert!(said.contains("git cowork review killed") && !said.contains("interrupted"), "{said}");
}

/// Finds the number of sessions and the newest that is not completed with git, without the cache.
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

const OPERATIONS: [&str; 14] = [
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
    "an older file",
    "half a file",
    "no state",
    "main goes on",
];

fn apply(sandbox: &Sandbox, operation: &str, random: &mut fastrand::Rng) {
    let name = format!("session-{}", 1 + random.usize(..FEW - 1));
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
        "an older file" => {
            let text = fs::read_to_string(sandbox.path(NEWEST)).unwrap_or_default();
            let version = concat!("git-cowork ", env!("CARGO_PKG_VERSION"));
            let text = text.replacen(version, "git-cowork 0.0.9", 1);
            sandbox.write(NEWEST, &text.replace("\"sessions\":", "\"sessions\":7"));
        }
        "half a file" => {
            let text = fs::read_to_string(sandbox.path(NEWEST)).unwrap_or_default();
            sandbox.write(NEWEST, &text[..text.len() / 2]);
        }
        "no state" => {
            fs::remove_dir_all(sandbox.path(".git/cowork")).ok();
        }
        _ => sandbox.commit_file("main.txt", &format!("{seconds}\n"), "main goes on"),
    }
    // With few sessions, the cache is only used if the file exists: create it.
    let text = fs::read_to_string(sandbox.path(NEWEST)).unwrap_or_default();
    if !text.starts_with(HEADER) && operation != "half a file" {
        assert_eq!(said(sandbox), slow(sandbox), "{operation}");
        sandbox.write(NEWEST, HEADER);
    }
}

#[test]
fn whatever_was_done_to_branches_the_newest_is_what_a_slow_reading_finds() {
    let seed = number("COWORK_NEWEST_SEED", 1);
    let base = repository(FEW, Refs::Packed);
    for session in 0..FEW {
        let (of, to) =
            (format!("cowork/session-{session}"), format!("refs/spare/session-{session}"));
        base.git_outcome(&["update-ref", &to, &format!("refs/heads/{of}")]);
    }
    let mut files = BTreeSet::new();
    for seed in seed..seed + number("COWORK_NEWEST_TRIALS", 2) {
        let (mut random, mut sandbox) = (fastrand::Rng::with_seed(seed), base.fork());
        sandbox.git(&["clone", "-q", "--bare", "--shared", ".", "../hub.git"]);
        sandbox.git(&["remote", "add", "hub", "../hub.git"]);
        sandbox.git(&["worktree", "add", "-q", "--detach", "../linked"]);
        sandbox.write(NEWEST, HEADER);
        let mut told = Vec::new();
        for _ in 0..STEPS {
            let operation = *random.choice(&OPERATIONS).unwrap();
            told.push(operation);
            apply(&sandbox, operation, &mut random);
            let expected = slow(&sandbox);
            for place in ["", "../linked", "", ""] {
                sandbox.enter(place);
                assert_eq!(said(&sandbox), expected, "seed {seed}: {} {place}", told.join(", "));
            }
            files.insert(sandbox.read(NEWEST));
        }
        fs::remove_file(sandbox.path(NEWEST)).unwrap();
        assert_eq!(said(&sandbox), slow(&sandbox), "seed {seed}: {}", told.join(", "));
    }
    assert!(files.len() > 4, "hardly anything was kept: {files:?}");
}
