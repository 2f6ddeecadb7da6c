//! Sessions that the release before made, when documents were prose and their records in JSON only:
//! in every state it left them in, this program reads them, goes on, and repeats nothing.

mod answers;
mod changed;
mod fixtures;
mod make;

use serde_json::Value;

use crate::support::{Sandbox, todo};
use fixtures::older;

const RESUME: [&str; 3] = ["resume", "--review", "auto"];
const DIR: &str = ".cowork/sessions/todo";

/// Stopped where nothing is in progress.
const STOPPED: [&str; 8] = [
    "after-idea",
    "after-prd",
    "after-design",
    "after-plan",
    "after-coding",
    "after-check",
    "after-delivery",
    "passed",
];

/// Waiting for a person.
const WAITING: [&str; 5] = ["gate-idea", "gate-prd", "gate-design", "gate-plan", "gate-coding"];

/// In the middle of a draft: interrupted, or killed.
const INTERRUPTED: [&str; 5] =
    ["begun-prd", "begun-design", "begun-plan", "killed-plan", "killed-coding"];

/// With a change request, or the comments of reviewers.
const CHANGED: [&str; 4] = ["change-open", "change-prd", "change-done", "feedback"];

fn all() -> impl Iterator<Item = &'static str> {
    STOPPED.into_iter().chain(WAITING).chain(INTERRUPTED).chain(CHANGED).chain(["headings"])
}

fn status(sandbox: &Sandbox) -> Value {
    sandbox.cowork(&["status", "--json"]).exits(0).json()
}

/// The stages that are complete.
fn done(sandbox: &Sandbox) -> Vec<String> {
    let done = status(sandbox)["done"].clone();
    done.as_array().unwrap().iter().map(|stage| stage.as_str().unwrap().to_owned()).collect()
}

/// Subjects of the commits that raised a format.
fn raised(sandbox: &Sandbox) -> Vec<String> {
    let subjects = sandbox.subjects("main..HEAD");
    subjects.into_iter().filter(|subject| subject.starts_with("session: format")).collect()
}

/// The documents and JSON of the session in a commit.
fn artifact_at(sandbox: &Sandbox, commit: &str, name: &str) -> String {
    sandbox.blob(commit, &format!("{DIR}/{name}"))
}

/// A JSON file with every status taken out.
fn without_status(text: &str) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("status");
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(text).unwrap();
    strip(&mut value);
    value
}

/// Nothing is wrong, and nothing was changed after somebody approved it.
#[track_caller]
fn assert_verified(sandbox: &Sandbox, when: &str) {
    let outcome = sandbox.cowork(&["verify"]);
    let told = format!("{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.code, 0, "{when}: {told}");
    assert!(!told.contains("changed after approval"), "{when}: {told}");
}

#[test]
fn every_state_is_shown_and_nothing_is_changed() {
    for name in all() {
        let sandbox = older(name);
        let before = (sandbox.all_refs(), sandbox.git(&["status", "--porcelain"]));
        let stages = done(&sandbox);
        let mut shown = vec![
            vec!["status"],
            vec!["log"],
            vec!["log", "--json"],
            vec!["list"],
            vec!["list", "--json"],
            vec!["verify"],
            vec!["verify", "--json"],
        ];
        let documents = stages.iter().filter(|stage| *stage != "coding");
        shown.extend(documents.map(|stage| vec!["show", stage]));
        for args in shown {
            let outcome = sandbox.cowork(&args);
            let told = &outcome.stderr;
            assert_eq!(outcome.code, 0, "{name}: {args:?}: {}{told}", outcome.stdout);
            assert!(!told.contains("REQ-") && !told.contains(".md:"), "{name}: {args:?}: {told}");
        }
        let after = (sandbox.all_refs(), sandbox.git(&["status", "--porcelain"]));
        assert_eq!(after, before, "{name}");
        assert!(sandbox.server.requests().is_empty(), "{name}");
        sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    }
}

#[test]
fn a_session_continues_from_every_state_and_repeats_no_stage() {
    for name in STOPPED.into_iter().chain(WAITING).chain(INTERRUPTED).chain(["headings"]) {
        let sandbox = older(name);
        let (finished, tip) = (done(&sandbox), sandbox.git(&["rev-parse", "HEAD"]));
        let outcome = sandbox.cowork(&RESUME);
        assert_eq!(outcome.code, 0, "{name}: {}", outcome.stderr);
        assert_eq!(done(&sandbox), todo::STAGES, "{name}");
        for request in sandbox.server.requests() {
            assert!(!finished.contains(&request.stage), "{name}: {}", request.position());
        }
        // What was complete is as it was, to the last byte, with the records it had.
        let files = [
            ("prd", ["prd.md", "requirements.json", "feature_list.json"].as_slice()),
            ("design", &["design.md", "design_spec.json"]),
            ("plan", &["plan.md", "implementation_plan.json"]),
        ];
        for (stage, names) in files {
            if !finished.iter().any(|done| done == stage) {
                continue;
            }
            for file in names {
                let (then, now) =
                    (artifact_at(&sandbox, &tip, file), artifact_at(&sandbox, "HEAD", file));
                if file.ends_with(".md") {
                    assert_eq!(now, then, "{name}: {file}");
                } else {
                    assert_eq!(without_status(&now), without_status(&then), "{name}: {file}");
                }
            }
        }
        assert!(raised(&sandbox).len() <= 1, "{name}: {:?}", raised(&sandbox));
        assert_verified(&sandbox, name);
        sandbox.assert_sound();
        sandbox.server.forget();
        sandbox.cowork(&RESUME).exits(0);
        assert!(sandbox.server.requests().is_empty(), "{name}: a second run has nothing to do");
        let merged = sandbox.cowork(&["merge"]);
        assert_eq!(merged.code, 0, "{name}: {}", merged.stderr);
        sandbox.assert_sound();
    }
}

#[test]
fn a_change_request_and_a_review_go_on_and_are_merged() {
    for name in CHANGED {
        let sandbox = older(name);
        answers::give_addition(&sandbox);
        let finished = done(&sandbox);
        let outcome = sandbox.cowork(&RESUME);
        assert_eq!(outcome.code, 0, "{name}: {}", outcome.stderr);
        for request in sandbox.server.requests() {
            assert!(!finished.contains(&request.stage), "{name}: {}", request.position());
        }
        assert_verified(&sandbox, name);
        sandbox.assert_sound();
        let merged = sandbox.cowork(&["merge"]);
        assert_eq!(merged.code, 0, "{name}: {}", merged.stderr);
        sandbox.assert_sound();
    }
}

#[test]
fn a_gate_opens_once_for_what_waits_there_and_never_for_what_was_passed() {
    for name in WAITING {
        let sandbox = older(name);
        let stage = name.strip_prefix("gate-").unwrap();
        let waiting = status(&sandbox);
        assert_eq!((&waiting["state"], &waiting["stage"]), (&"waiting".into(), &stage.into()));
        let draft = sandbox.git(&["rev-parse", "HEAD"]);
        sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
        assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), draft, "{name}: nothing was answered");
        assert!(sandbox.server.requests().is_empty(), "{name}: nobody was asked");
        sandbox.cowork(&["review", "--pass"]).exits(0);
        let next = sandbox.cowork(&["resume", "--review", "wait"]);
        let code = if stage == "coding" { 0 } else { 3 };
        assert_eq!(next.code, code, "{name}: {}", next.stderr);
        assert!(done(&sandbox).iter().any(|done| done == stage), "{name}");
        let passed = sandbox.trailers(&sandbox.stage_commit(stage));
        assert_eq!(passed["Reviewed-by"], ["Ana Example <ana@example.org>"], "{name}");
        assert!(sandbox.server.requests_of(stage, "actor").is_empty(), "{name}: drafted again");
        sandbox.cowork(&RESUME).exits(0);
        assert_verified(&sandbox, name);
        sandbox.cowork(&["merge"]).exits(0);
    }
}

#[test]
fn the_format_is_raised_in_one_commit_that_changes_nothing_else() {
    let sandbox = older("after-design");
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "plan"]].concat()).exits(0);
    assert_eq!(raised(&sandbox), ["session: format 1.0 -> 1.1"]);
    let commit = sandbox.commit_of("cowork/todo", "session: format");
    let files = sandbox.git(&["show", "--format=", "--name-only", &commit]);
    assert_eq!(files, format!("{DIR}/session.json"));
    let file: Value = serde_json::from_str(&sandbox.artifact("session.json")).unwrap();
    // Every session had all stages and gates then, whatever its `depth` said.
    assert_eq!((&file["schema_version"], &file["depth"]), (&"1.1".into(), &"thorough".into()));
    sandbox.cowork(&RESUME).exits(0);
    assert_eq!(raised(&sandbox).len(), 1);
}
