//! Whole runs stopped at moments a seeded generator picks: as a model request arrives, at the
//! program's own points, before, beside or after any of its git children, and inside of them; with
//! SIGKILL, SIGINT, SIGTERM, or SIGINT again and again; the program alone, git alone, or both.
//! However often, the end is the same.
//!
//! `COWORK_KILL_TRIALS` says how many runs (default 12, 42 in `.ci/run`), `COWORK_KILL_SEED` where
//! seeds begin, so that long runs can be shared out. A failure names its seed. By hand:
//! `COWORK_KILL_TRIALS=300 COWORK_KILL_SEED=1000 cargo test --locked --test it random:: -- --nocapture`

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::{NEW, RESUME, begun};
use crate::support::kill::{abort_at, points, signal_at_request};
use crate::support::sandbox::Outcome;
use crate::support::strike::{Spot, VICTIMS, Victim, spare, strike};
use crate::support::trials::{failing, in_formats, number};
use crate::support::wrapper::{How, Side, children_killed_at, children_of, orphan_ends};
use crate::support::{Reply, Sandbox, at, todo};

/// Never more kills than this in one run.
const KILLS: u64 = 4;

/// Where a run is killed.
#[derive(Clone, Debug)]
enum Moment {
    /// When this chat request arrives, counted in one run of the program.
    Request(usize, How),
    /// At a point of the program (`name:passing`).
    Point(String),
    /// At this git child, counted in one run of the program.
    Child(u64, Side, How),
    /// In the middle of git's work, counted in one run of the program.
    Inside(Spot, u64, Victim),
}

/// What there is to be killed at in an undisturbed run.
struct Moments {
    requests: usize,
    points: Vec<String>,
    children: u64,
    transactions: u64,
}

impl Moments {
    fn pick(&self, random: &mut fastrand::Rng) -> Moment {
        let how = [How::Kill, How::Interrupt, How::Terminate, How::Insist];
        let how = how[random.usize(0..how.len())];
        let child = |random: &mut fastrand::Rng, side, how| {
            Moment::Child(random.u64(1..=self.children), side, how)
        };
        match random.u8(0..14) {
            0 | 1 => Moment::Request(random.usize(1..=self.requests), how),
            2 | 3 => Moment::Point(random.choice(&self.points).unwrap().clone()),
            4 | 5 => child(random, Side::Before, how),
            6 => child(random, Side::Beside, how),
            7 => child(random, Side::After, how),
            8 => child(random, Side::Locked, How::Kill),
            9 => child(random, Side::Locked, How::Interrupt),
            10 | 11 => {
                let how = [How::GroupInterrupt, How::GroupTerminate][random.usize(0..2)];
                let side = [Side::Before, Side::After][random.usize(0..2)];
                child(random, side, how)
            }
            12 => {
                let nth = random.u64(1..=self.transactions);
                Moment::Inside(Spot::Transaction, nth, VICTIMS[random.usize(0..2)])
            }
            // Only a run that goes on from a draft writes files with git.
            _ => Moment::Inside(Spot::Smudge, random.u64(1..=4), VICTIMS[random.usize(0..2)]),
        }
    }
}

/// Runs `git-cowork` until this moment, or to its end if it does not come.
fn run_until(sandbox: &mut Sandbox, args: &[&str], moment: &Moment) -> Outcome {
    match moment {
        Moment::Request(n, how) => signal_at_request(sandbox, args, *n, how.signal()),
        Moment::Point(point) => abort_at(sandbox, args, point),
        Moment::Child(n, side, how) => {
            children_killed_at(sandbox, *n, *side, *how);
            let outcome = sandbox.cowork(args);
            children_of(sandbox);
            outcome
        }
        Moment::Inside(spot, n, victim) => {
            strike(sandbox, *spot, *n, *victim);
            let outcome = sandbox.cowork(args);
            spare(sandbox);
            outcome
        }
    }
}

/// A repository whose user is in the middle of something.
pub(super) fn at_work() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("src/mine.txt", "one\n");
    sandbox.commit_all("second");
    sandbox.write("src/mine.txt", "one\ntwo\n");
    sandbox.write("notes.txt", "mine\n");
    sandbox.write("staged.txt", "staged\n");
    sandbox.git(&["add", "staged.txt"]);
    sandbox
}

/// A copy whose model has a PRD and a design rejected, so that there are drafts to go on from.
fn copy_of(base: &Sandbox) -> Sandbox {
    let sandbox = base.fork();
    for (stage, words) in [("prd", "REQ-002 is vague"), ("design", "COMP-002 does too much")] {
        sandbox.server.on(at(stage, "critic").iteration(1), todo::reject(words));
    }
    for (stage, draft, document) in
        [("prd", "save_prd_doc", todo::PRD), ("design", "save_design_doc", todo::DESIGN)]
    {
        let again = Reply::call(draft, json!({"content": format!("{document}\nSecond draft.\n")}));
        sandbox.server.on(at(stage, "actor").iteration(2).turn(1), again);
    }
    sandbox
}

/// Commits and references are git's, one child each, where a hook may have a say in them.
fn git_commits(sandbox: &Sandbox) {
    sandbox.hook("reference-transaction", "exit 0");
}

/// Status, content of the user's files, and where the user's branch is.
pub(super) fn users(sandbox: &Sandbox) -> Vec<String> {
    let files = ["src/mine.txt", "notes.txt", "staged.txt"].map(|path| sandbox.read(path));
    let staged = sandbox.git(&["show", ":staged.txt"]);
    let status = sandbox.git(&["status", "--porcelain"]);
    let main = sandbox.git(&["rev-parse", "refs/heads/main"]);
    [&files[..], &[staged, status, main]].concat()
}

/// The trailers of the session's commits, oldest first, less ids, counters, the approved tree, which
/// holds `session.json`, and who was asked: a cut conversation may end without asking again.
pub(super) fn trailers(sandbox: &Sandbox) -> Vec<String> {
    let format = "--format=%(trailers:only,unfold)";
    let log = sandbox.git(&["log", "--reverse", "--topo-order", format, "main..cowork/todo"]);
    let volatile = [
        "Cowork-Session-Id: ",
        "Cowork-Tokens: ",
        "Cowork-Cost: ",
        "Cowork-Approved: tree@",
        "Cowork-Model: ",
        "Assisted-by: ",
    ];
    log.lines()
        .filter(|line| !volatile.iter().any(|key| line.starts_with(key)))
        .map(str::to_owned)
        .collect()
}

/// What must not depend on kills: subjects, files with their blobs, tags. `session.json` holds a
/// new id and the time of its beginning, so only its being there is compared; of feedback all but
/// its time.
pub(super) fn story(sandbox: &Sandbox) -> (Vec<String>, BTreeMap<String, String>, Vec<String>) {
    let tree = sandbox.tree("cowork/todo");
    let files = tree.lines().map(|line| {
        let (blob, path) = line.split_once('\t').unwrap();
        let content = match path.rsplit('/').next().unwrap() {
            "session.json" => String::new(),
            "feedback_history.json" => without_times(&sandbox.blob("cowork/todo", path)),
            _ => blob.to_owned(),
        };
        (path.to_owned(), content)
    });
    (sandbox.subjects("main..cowork/todo"), files.collect(), sandbox.tags())
}

fn without_times(feedback: &str) -> String {
    let mut entries: Vec<Value> = serde_json::from_str(feedback).unwrap();
    for entry in &mut entries {
        entry.as_object_mut().unwrap().remove("at");
    }
    json!(entries).to_string()
}

/// One run with its kills; how many there were.
fn trial(
    (base, mine): (&Sandbox, &[String]),
    moments: &Moments,
    undisturbed: &Sandbox,
    seed: u64,
) -> u64 {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut sandbox = copy_of(base);
    if seed.is_multiple_of(2) {
        git_commits(&sandbox);
    }
    let mut told = Vec::new();
    let mut killed = 0;
    for _ in 0..random.u64(1..=KILLS) {
        let begun = begun(&sandbox);
        let args = if begun { &RESUME[..] } else { &NEW[..] };
        let moment = moments.pick(&mut random);
        let before = if begun { sandbox.subjects("main..cowork/todo") } else { Vec::new() };
        let there = users(&sandbox);
        let Outcome { code, stderr, .. } = run_until(&mut sandbox, args, &moment);
        told.push(format!("{} until {moment:?}: exit {code}", args[0]));
        // Some moments do not come any more; nothing else may have gone wrong.
        let when = format!("seed {seed}: {told:#?}");
        let alone = match moment {
            // A commit is not made again when hooks may have run.
            Moment::Inside(Spot::Transaction, _, Victim::Git) => code == 5,
            _ => false,
        };
        assert!(alone || [0, 130, 128 + 9, 128 + 6].contains(&code), "{when}\n{stderr}");
        killed += u64::from(code != 0);
        if begun && matches!(moment, Moment::Child(_, Side::Beside, _)) {
            // The next run meets the child of this one.
            continue;
        }
        orphan_ends(&sandbox);
        sandbox.git(&["fsck", "--strict", "--no-dangling"]);
        assert_eq!(users(&sandbox)[..4], mine[..4], "the user's files, {when}");
        let orderly = match moment {
            Moment::Request(..) | Moment::Inside(_, _, Victim::Git) => true,
            Moment::Child(_, _, how) => {
                matches!(how, How::GroupInterrupt | How::GroupTerminate | How::Terminate)
            }
            _ => false,
        };
        // What a killed run left is there as it was, when this one was told to stop before it came
        // to the session.
        if orderly && begun && [5, 130].contains(&code) && users(&sandbox) != there {
            assert_eq!(users(&sandbox), mine, "a stop leaves a clean tree, {when}");
        }
        if begun {
            let after = sandbox.subjects("main..cowork/todo");
            assert!(after.starts_with(&before), "history was rewritten, {when}\n{after:#?}");
        }
    }
    let end = sandbox.cowork(if begun(&sandbox) { &RESUME } else { &NEW });
    let when = format!("seed {seed}: {told:#?}");
    assert_eq!(end.code, 0, "{when}\n{}", end.stderr);
    let (expected, found) = (story(undisturbed), story(&sandbox));
    assert_eq!(found.0, expected.0, "subjects, {when}");
    assert_eq!(found.1, expected.1, "files, {when}");
    assert_eq!(found.2, expected.2, "tags, {when}");
    assert_eq!(trailers(&sandbox), trailers(undisturbed), "trailers, {when}");
    assert_eq!(users(&sandbox), mine, "the user's files, {when}");
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "cowork/todo", "{when}");
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    killed
}

#[test]
fn a_run_stopped_at_random_moments_ends_like_one_that_was_not() {
    let first = number("COWORK_KILL_SEED", 1);
    let seeds: Vec<u64> = (first..first + number("COWORK_KILL_TRIALS", 12)).collect();
    in_formats("runs that are stopped", &seeds, search);
}

fn search(seeds: &[u64]) -> usize {
    let base = at_work();
    let mut undisturbed = copy_of(&base);
    git_commits(&undisturbed);
    children_killed_at(&undisturbed, 0, Side::Before, How::Kill);
    let (outcome, points) = points(&mut undisturbed, &NEW);
    outcome.exits(0);
    let children = children_of(&undisturbed);
    let counted = copy_of(&base);
    strike(&counted, Spot::Transaction, 0, Victim::Git);
    counted.cowork(&NEW).exits(0);
    let transactions = spare(&counted);
    let requests = undisturbed.server.requests().len();
    // Once: git may write the index anew meanwhile, which no copy must see half done.
    let mine = users(&base);
    assert_eq!(users(&undisturbed), mine, "an undisturbed run touched the user's files");
    let feedback = undisturbed.artifact("feedback_history.json");
    assert!(feedback.contains("REQ-002 is vague") && feedback.contains("COMP-002"), "{feedback}");
    let moments = Moments { requests, points, children, transactions };
    assert!(requests > 12 && moments.points.len() > 12 && children > 50, "what is there to kill?");

    let killed = AtomicU64::new(0);
    let failed = failing(seeds, |seed| {
        killed.fetch_add(trial((&base, &mine), &moments, &undisturbed, *seed), Ordering::Relaxed);
    });
    let number = seeds.len();
    assert!(failed.is_empty(), "{} of {number} trials failed: seeds {failed:?}", failed.len());
    let killed = usize::try_from(killed.into_inner()).unwrap();
    assert!(killed > number / 2, "only {killed} kills in {number} trials");
    seeds.len()
}
