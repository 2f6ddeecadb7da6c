//! Approvals after random rebases, amends, squashes and cherry-picks of stage commits, compared with
//! what a slow and obvious reading of the history says is still approved.
//!
//! `COWORK_APPROVAL_TRIALS` says how many histories (default 4, 8 in `.ci/run`),
//! `COWORK_APPROVAL_SEED` where seeds begin. A failure names its seed and what was done.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::Sandbox;
use crate::support::trials::{in_formats, number};

/// Gated in these trials, with the documents each of them approves; coding approves code.
const GATED: [(&str, &[&str]); 4] = [
    ("prd", &["prd.md", "requirements.json", "feature_list.json"]),
    ("design", &["design.md", "design_spec.json"]),
    ("plan", &["plan.md", "implementation_plan.json"]),
    ("coding", &[]),
];
const FOLDER: &str = ".cowork/sessions/todo";
const STEPS: u8 = 3;

/// What was approved: the words of each path, by stage.
type Approved = BTreeMap<&'static str, BTreeMap<String, String>>;

fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.user_config("[review]\ngates = [\"prd\", \"design\", \"plan\", \"coding\"]\n");
    sandbox.auto(&[]).exits(0);
    sandbox.git(&["init", "-q", "--bare", "../hub.git"]);
    sandbox.git(&["remote", "add", "origin", "../hub.git"]);
    sandbox
}

fn trailers(sandbox: &Sandbox, commit: &str) -> Vec<(String, String)> {
    let text = sandbox.git(&["log", "-1", "--format=%(trailers:only,unfold)", commit]);
    let pair = |line: &str| line.split_once(": ").map(|(k, v)| (k.to_owned(), v.to_owned()));
    text.lines().filter_map(pair).collect()
}

fn has(trailers: &[(String, String)], key: &str, value: &str) -> bool {
    trailers.iter().any(|(k, v)| k == key && (value.is_empty() || v == value))
}

/// The session's commits, the oldest first.
fn history(sandbox: &Sandbox) -> Vec<String> {
    let log = ["log", "--reverse", "--topo-order", "--format=%H", "main..cowork/todo"];
    sandbox.git(&log).lines().map(str::to_owned).collect()
}

/// A file at a commit without its white space; JSON without what changes by itself.
fn words(sandbox: &Sandbox, commit: &str, path: &str) -> Option<String> {
    let shown = sandbox.git_outcome(&["show", &format!("{commit}:{path}")]);
    let text = (shown.code == 0).then_some(shown.stdout)?;
    if !path.ends_with(".json") {
        return Some(text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let mut value: Value = serde_json::from_str(&text).unwrap();
    without_status(&mut value);
    Some(value.to_string())
}

fn without_status(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("status");
            fields.values_mut().for_each(without_status);
        }
        Value::Array(all) => all.iter_mut().for_each(without_status),
        _ => {}
    }
}

/// What a stage's commit holds of what is approved with the stage.
fn held(sandbox: &Sandbox, stage: &str, commit: &str) -> BTreeMap<String, String> {
    let documents = GATED.iter().find(|(name, _)| *name == stage).unwrap().1;
    let paths: Vec<String> = if documents.is_empty() {
        let start = history(sandbox).first().unwrap().clone();
        let names = sandbox.git(&["diff", "--name-only", &format!("{start}^"), commit]);
        names.lines().filter(|path| !path.starts_with(".cowork/")).map(str::to_owned).collect()
    } else {
        documents.iter().map(|name| format!("{FOLDER}/{name}")).collect()
    };
    let word = |path: String| Some((path.clone(), words(sandbox, commit, &path)?));
    paths.into_iter().filter_map(word).collect()
}

/// The newest commit that completes a stage.
fn stage_commit(sandbox: &Sandbox, stage: &str) -> Option<String> {
    history(sandbox).into_iter().rev().find(|commit| {
        let trailers = trailers(sandbox, commit);
        has(&trailers, "Cowork-Stage", stage)
            && !has(&trailers, "Cowork-Event", "")
            && !has(&trailers, "Cowork-Task", "")
    })
}

/// The stages that hold what nobody approved, read slowly.
fn refused(sandbox: &Sandbox, approved: &Approved) -> BTreeSet<String> {
    let is_refused = |stage: &str| {
        let Some(commit) = stage_commit(sandbox, stage) else { return true };
        let trailers = trailers(sandbox, &commit);
        !has(&trailers, "Cowork-Review", "auto")
            || !has(&trailers, "Cowork-Approved", "")
            || held(sandbox, stage, &commit) != approved[stage]
    };
    GATED.iter().map(|(stage, _)| (*stage).to_owned()).filter(|stage| is_refused(stage)).collect()
}

/// The stages that the program refuses to let out.
fn refused_by_program(sandbox: &Sandbox, when: &str) -> BTreeSet<String> {
    let outcome = sandbox.cowork(&["pr", "todo", "--dry-run"]);
    assert!([0, 5].contains(&outcome.code), "{when}: {outcome:#?}");
    let said = outcome.stderr.lines().filter_map(|line| {
        let (_, rest) = line.split_once("git cowork review todo --stage ")?;
        rest.strip_suffix(" --pass").map(str::to_owned)
    });
    let said: BTreeSet<String> = said.collect();
    assert_eq!(outcome.code == 5, !said.is_empty(), "{when}: {outcome:#?}");
    said
}

/// Writes a commit again by `change`, and puts what came later on top of it.
fn rewrite(sandbox: &Sandbox, commit: &str, change: impl FnOnce(&Sandbox)) -> bool {
    sandbox.git(&["checkout", "-q", "--detach", commit]);
    change(sandbox);
    let new = sandbox.git(&["rev-parse", "HEAD"]);
    let onto = ["rebase", "-q", "--empty=keep", "--onto", &new, commit, "cowork/todo"];
    let done = !sandbox.git_fails(&onto);
    if !done {
        sandbox.git_outcome(&["rebase", "--abort"]);
    }
    done
}

fn amend_message(sandbox: &Sandbox, change: impl Fn(&str) -> String) {
    let message = change(&sandbox.git(&["log", "-1", "--format=%B"]));
    sandbox.git(&["commit", "-q", "--amend", "--allow-empty", "--no-verify", "-m", &message]);
}

fn without_line(key: &'static str) -> impl Fn(&str) -> String {
    move |message| {
        let kept = message.lines().filter(|line| !line.starts_with(key));
        kept.collect::<Vec<_>>().join("\n")
    }
}

/// One thing that people do. Says what it was; what git refuses is not done.
fn apply(sandbox: &Sandbox, random: &mut fastrand::Rng) -> String {
    let number = random.u32(0..1_000_000);
    let (stage, documents) = *random.choice(&GATED).unwrap();
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    let all = history(sandbox);
    let commit = stage_commit(sandbox, stage);
    let done = match (random.u8(0..9), commit) {
        (0, _) => {
            sandbox.git(&["switch", "-q", "main"]);
            sandbox.commit_file(&format!("elsewhere-{number}.txt"), "new\n", "something else");
            let rebased = ["rebase", "-q", "--empty=keep", "main", "cowork/todo"];
            format!("rebase: {}", !sandbox.git_fails(&rebased))
        }
        (1, Some(commit)) => {
            let done = rewrite(sandbox, &commit, |sandbox| {
                amend_message(sandbox, |message| {
                    message.replacen("\n\n", "\n\nMore words.\n\n", 1)
                });
            });
            format!("reword {stage}: {done}")
        }
        (2 | 3, Some(commit)) => {
            let path =
                documents.first().map_or("lib/add.sh".to_owned(), |d| format!("{FOLDER}/{d}"));
            let done = rewrite(sandbox, &commit, |sandbox| {
                let text = format!("{}\nWords of {number}.\n", sandbox.read(&path));
                sandbox.write(&path, &text);
                sandbox.git(&["commit", "-q", "-a", "--amend", "--no-edit", "--no-verify"]);
            });
            format!("amend {path} in {stage}: {done}")
        }
        (4, Some(commit)) => {
            let done = rewrite(sandbox, &commit, |sandbox| {
                amend_message(sandbox, without_line("Cowork-Approved"));
            });
            format!("drop the approved bytes of {stage}: {done}")
        }
        (5, Some(commit)) => {
            let done = rewrite(sandbox, &commit, |sandbox| {
                amend_message(sandbox, without_line("Cowork-Review"));
            });
            format!("drop the review of {stage}: {done}")
        }
        (6, _) if all.len() > 3 => {
            let first = random.usize(1..all.len() - 1);
            let last = random.usize(first + 1..all.len());
            let done = rewrite(sandbox, &all[last], |sandbox| {
                let message = sandbox.git(&["log", "-1", "--format=%B"]);
                sandbox.git(&["reset", "-q", "--soft", &format!("{}^", all[first])]);
                let commit = ["commit", "-q", "--allow-empty", "--no-verify", "-m", &message];
                sandbox.git(&commit);
            });
            format!("squash {first} to {last} of {}: {done}", all.len())
        }
        (7, _) => {
            sandbox.git(&["switch", "-q", "main"]);
            sandbox.commit_file(&format!("beside-{number}.txt"), "new\n", "something else");
            sandbox.git(&["switch", "-q", "--detach"]);
            let pick = ["cherry-pick", "--allow-empty", "--keep-redundant-commits"];
            let commits: Vec<&str> = all.iter().map(String::as_str).collect();
            let picked = !sandbox.git_fails(&[&pick[..], &commits].concat());
            match picked {
                true => drop(sandbox.git(&["branch", "-q", "-f", "cowork/todo", "HEAD"])),
                false => drop(sandbox.git_outcome(&["cherry-pick", "--abort"])),
            }
            format!("cherry-pick: {picked}")
        }
        _ => {
            sandbox.commit_file(&format!("notes-{number}.txt"), "a person's\n", "by hand");
            "a person's commit".to_owned()
        }
    };
    sandbox.git(&["switch", "-q", "-f", "cowork/todo"]);
    done
}

#[test]
fn what_still_holds_is_what_a_slow_reading_finds() {
    let first = number("COWORK_APPROVAL_SEED", 1);
    let seeds: Vec<u64> = (first..first + number("COWORK_APPROVAL_TRIALS", 4)).collect();
    let (kept, lost) = (Cell::new(0), Cell::new(0));
    in_formats("approvals", &seeds, |seeds| search(seeds, &kept, &lost));
    let (kept, lost) = (kept.get(), lost.get());
    assert!(kept > 0 && lost > 0, "{kept} held, {lost} did not");
}

fn search(seeds: &[u64], kept: &Cell<u32>, lost: &Cell<u32>) -> usize {
    let base = repository();
    let approved: Approved = GATED
        .iter()
        .map(|(stage, _)| (*stage, held(&base, stage, &stage_commit(&base, stage).unwrap())))
        .collect();
    assert!(approved.values().all(|paths| !paths.is_empty()), "{approved:?}");
    assert_eq!(refused_by_program(&base, "nothing was done"), BTreeSet::new());
    for seed in seeds {
        let mut random = fastrand::Rng::with_seed(*seed);
        let sandbox = base.fork();
        let mut done = Vec::new();
        for _ in 0..random.u8(1..=STEPS) {
            done.push(apply(&sandbox, &mut random));
            let when = format!("seed {seed}: {}", done.join(", "));
            // Into a person's commit, say: then there is nothing to let out.
            if stage_commit(&sandbox, "delivery").is_none() {
                let outcome = sandbox.cowork(&["pr", "todo", "--dry-run"]).exits(5);
                outcome.says("is not delivered yet");
                break;
            }
            let expected = refused(&sandbox, &approved);
            assert_eq!(refused_by_program(&sandbox, &when), expected, "{when}");
            let seen = if expected.is_empty() { kept } else { lost };
            seen.set(seen.get() + 1);
        }
    }
    seeds.len()
}
