//! Commands on sessions that are there, killed before a system call that writes, the program with all
//! its git children or the one process alone: the same command again, or `resume` where it runs a
//! session, comes to the end that was wanted.
//!
//! `COWORK_KILL_TRIALS` says how many kills (default 21, 42 in `.ci/run`), `COWORK_KILL_SEED` with
//! which seed they begin. By hand:
//! `COWORK_KILL_TRIALS=500 cargo test --locked --test it kill::commands -- --nocapture`

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::support::inject::{Fault, run};
use crate::support::trials::{failing, in_formats, number};
use crate::support::{Reply, Sandbox, at};

/// A command, where it begins, and the branch whose new tip says that it goes on with `resume`.
struct Case {
    args: &'static [&'static str],
    prepared: fn() -> Sandbox,
    resumes: Option<&'static str>,
}

const SESSION: Option<&str> = Some("cowork/todo");

const CASES: &[Case] = &[
    case(&["revert", "--to", "prd", "--no-run"], planned, None),
    case(&["revert", "--to", "plan", "--review", "auto"], planned, SESSION),
    case(
        &["resume", "--goto-stage", "design", "--review", "auto", "--stop-after", "design"],
        planned,
        SESSION,
    ),
    case(
        &["resume", "--depth", "thorough", "--review", "auto", "--stop-after", "design"],
        standard,
        SESSION,
    ),
    case(&["resume", "--review", "auto", "--stop-after", "design"], waiting, SESSION),
    case(&["restore", "todo", "1"], reverted, None),
    case(&["undo"], reverted, None),
    case(&["review", "--pass"], waiting, None),
    case(&["review", "--feedback", "say who the users are"], waiting, None),
    case(&["review", "--abort"], waiting, None),
    case(&["prune", "refs/cowork/attempts/todo/1"], reverted, None),
    case(&["merge"], delivered, None),
    case(&["merge", "--without-artifacts"], delivered, None),
    case(&["pr"], published, None),
    case(&["archive", "todo"], delivered, None),
    case(&["restore", "todo"], archived, None),
    case(&["delete", "todo", "--yes"], delivered, None),
    case(
        &["modify", "be quick", "-n", "quick", "--review", "auto"],
        delivered,
        Some("cowork/todo--quick"),
    ),
    case(&["feedback", "say none", "--review", "auto"], delivered, SESSION),
    case(&["verify", "--fix"], without_tags, None),
    case(&["init", "--hooks"], delivered, None),
];

const fn case(
    args: &'static [&'static str],
    prepared: fn() -> Sandbox,
    resumes: Option<&'static str>,
) -> Case {
    Case { args, prepared, resumes }
}

fn mine(sandbox: Sandbox) -> Sandbox {
    sandbox.write("notes.txt", "mine\n");
    sandbox
}

fn planned() -> Sandbox {
    mine(Sandbox::stopped_after("plan"))
}

fn standard() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.auto(&["--depth", "standard", "--stop-after", "prd"]).exits(0);
    mine(sandbox)
}

fn waiting() -> Sandbox {
    let sandbox = Sandbox::stopped_after("prd");
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    mine(sandbox)
}

fn reverted() -> Sandbox {
    let sandbox = planned();
    sandbox.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
    sandbox
}

fn delivered() -> Sandbox {
    mine(Sandbox::delivered())
}

fn published() -> Sandbox {
    let sandbox = delivered();
    let bare = sandbox.root().join("far.git").display().to_string();
    sandbox.git(&["init", "-q", "--bare", &bare]);
    sandbox.git(&["remote", "add", "origin", "../far.git"]);
    sandbox
}

fn archived() -> Sandbox {
    let sandbox = delivered();
    sandbox.cowork(&["archive"]).exits(0);
    sandbox
}

fn without_tags() -> Sandbox {
    let sandbox = planned();
    sandbox.git(&["tag", "-d", "cowork/todo/idea", "cowork/todo/plan"]);
    sandbox
}

/// What must be the same however it came about: refs with their subjects and files, where HEAD is, the
/// tree as git sees it, what the remote has. Times and new ids are in JSON, which is left out.
fn state(sandbox: &Sandbox) -> Vec<String> {
    let refs = sandbox.git(&[
        "for-each-ref",
        "--format=%(refname) %(objectname) %(objecttype) %(contents:subject)",
    ]);
    let mut state: Vec<String> = Vec::new();
    for line in refs.lines() {
        let [name, oid, kind, subject] = *line.splitn(4, ' ').collect::<Vec<_>>() else { continue };
        // Git's note of what it has pushed: a push with nothing left to send does not write it.
        if name.starts_with("refs/remotes/") {
            continue;
        }
        // A command that is given again keeps the same once more.
        let attempt = subject.strip_prefix("attempt ").and_then(|rest| rest.split_once(": "));
        let line = match attempt.filter(|_| name.starts_with("refs/cowork/attempts/")) {
            Some((_, reason)) => {
                format!("{reason} {}", sandbox.git(&["diff", "--stat", &format!("{oid}^"), oid]))
            }
            None => format!("{name} {subject}"),
        };
        if state.contains(&line) {
            continue;
        }
        state.push(line);
        if kind == "commit" {
            let tree = sandbox.tree(oid);
            state.extend(tree.lines().filter(|line| !line.ends_with(".json")).map(str::to_owned));
        }
    }
    state.push(sandbox.git(&["symbolic-ref", "HEAD"]));
    state.push(sandbox.git(&["status", "--porcelain", "--branch"]));
    state.push(sandbox.git(&["stash", "list"]));
    let far = sandbox.root().join("far.git");
    if far.exists() {
        let far = far.display().to_string();
        state.push(sandbox.git(&[
            "--git-dir",
            &far,
            "for-each-ref",
            "--format=%(refname) %(contents:subject)",
        ]));
    }
    state
}

/// A copy, whose actors know what to do about a change and about comments.
fn copied(case: &Case, base: &Sandbox) -> Sandbox {
    let copy = base.fork();
    copy.server.inherit(&base.server);
    match case.args[0] {
        "modify" => copy.script_small_change("lib/add.sh", "at once"),
        "feedback" => {
            let edit = json!({"path": "lib/list.sh", "old_text": "List", "new_text": "Show"});
            let comments = at("coding", "actor").task("TASK-006").turn(1);
            copy.server.on(comments, Reply::call("edit_file", edit));
        }
        _ => {}
    }
    copy
}

fn remove_locks(dir: &std::path::Path) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            remove_locks(&path);
        } else if path.extension().is_some_and(|end| end == "lock") {
            std::fs::remove_file(path).unwrap();
        }
    }
}

fn trial(case: &Case, base: &Sandbox, wanted: &[String], fault: Fault) {
    let sandbox = copied(case, base);
    let (outcome, told) = run(&sandbox, case.args, fault);
    let struck = told.struck.unwrap_or_default();
    let when =
        format!("{:?}, {fault:?}, {struck}: exit {}\n{}", case.args, outcome.code, outcome.stderr);
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(sandbox.read("notes.txt"), "mine\n", "{when}");
    if state(&sandbox) == wanted {
        return;
    }
    let tip = |sandbox: &Sandbox| {
        let branch = case.resumes?;
        Some(sandbox.git_outcome(&["rev-parse", "-q", "--verify", branch]).stdout)
    };
    let stop = case.args.windows(2).find(|pair| pair[0] == "--stop-after");
    let resume = [&["resume", "--review", "auto"], stop.unwrap_or_default()].concat();
    let args = if tip(&sandbox) == tip(base) { case.args } else { &resume };
    // Killed was git on the other side of a push: whoever keeps that repository removes its locks.
    if struck.contains("/far.git/") {
        remove_locks(&sandbox.root().join("far.git"));
    }
    let again = sandbox.cowork(args);
    let found = state(&sandbox);
    let of = |all: &[String], others: &[String]| -> Vec<String> {
        all.iter().filter(|line| !others.contains(line)).cloned().collect()
    };
    assert!(
        found == wanted,
        "{when}\nthen {}: {}\nonly here: {:#?}\nonly undisturbed: {:#?}",
        again.code,
        again.stderr,
        of(&found, wanted),
        of(wanted, &found),
    );
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn a_command_killed_anywhere_comes_to_its_end_when_it_is_given_again() {
    let first = number("COWORK_KILL_SEED", 1);
    let seeds: Vec<u64> = (first..first + number("COWORK_KILL_TRIALS", 21)).collect();
    in_formats("commands that are killed", &seeds, search);
}

fn search(seeds: &[u64]) -> usize {
    let case_of = |seed: &u64| usize::try_from(*seed).unwrap() % CASES.len();
    let cases: BTreeSet<usize> = seeds.iter().map(case_of).collect();
    let prepared: BTreeMap<usize, _> = cases
        .into_iter()
        .map(|at| {
            let case = &CASES[at];
            let base = (case.prepared)();
            let undisturbed = copied(case, &base);
            let (outcome, told) = run(&undisturbed, case.args, Fault::Nothing);
            assert_eq!(outcome.code, 0, "{:?}: {}", case.args, outcome.stderr);
            assert!(told.calls > 0, "{:?} writes nothing", case.args);
            (at, (case, base, state(&undisturbed), told.calls))
        })
        .collect();
    let failed = failing(seeds, |seed| {
        let mut random = fastrand::Rng::with_seed(*seed);
        let (case, base, wanted, calls) = &prepared[&case_of(seed)];
        // Half of them near the end, where references are moved.
        let last = if random.bool() { calls.saturating_sub(40) } else { 0 };
        let call = random.u64(last + 1..=*calls);
        let fault = if random.bool() { Fault::Last(call) } else { Fault::Alone(call) };
        trial(case, base, wanted, fault);
    });
    assert!(failed.is_empty(), "{} failed, seeds {failed:?}", failed.len());
    seeds.len()
}
