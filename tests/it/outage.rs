//! A model server that fails or goes away, at every kind of request of a session: what passes is
//! survived, what lasts stops the run with exit 4, a clean tree and a way on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::support::todo::STAGES;
use crate::support::{Fault, Reply, Sandbox, anywhere};

const RESUME: [&str; 3] = ["resume", "--review", "auto"];

/// Every kind of request: stage, role, and the task in coding.
const KINDS: [(&str, &str, Option<&str>); 11] = [
    ("idea", "actor", None),
    ("prd", "actor", None),
    ("prd", "critic", None),
    ("design", "actor", None),
    ("plan", "actor", None),
    ("plan", "self-review", None),
    ("plan", "critic", None),
    ("coding", "actor", Some("TASK-003")),
    ("coding", "critic", None),
    ("check", "actor", None),
    ("delivery", "actor", None),
];

fn refused(code: u16, kind: &str) -> Reply {
    let error = json!({"error": {"message": format!("no: {kind}"), "type": kind, "code": kind}});
    Reply::empty().fault(Fault::Status { code, headers: Vec::new(), body: error.to_string() })
}

/// What lasts: how the server fails, how often it is asked, what the message says.
fn lasting() -> Vec<(Reply, usize, &'static str)> {
    vec![
        (Reply::status(500, "the disk is full"), 4, "check that the server runs"),
        (Reply::status(429, "slow down"), 4, "slow down"),
        (Reply::text("Half an ans").fault(Fault::CutAfter(2)), 4, "broke off"),
        (refused(429, "insufficient_quota"), 1, "check the account's quota"),
        (Reply::status(401, "bad key test-key"), 1, "check the key"),
        (Reply::status(404, "no such model"), 1, "no such model"),
    ]
}

/// What passes.
fn passing() -> Vec<Reply> {
    vec![
        Reply::status(500, "oops"),
        Reply::too_many_requests("0"),
        Reply::text("Half an ans").fault(Fault::CutAfter(2)),
    ]
}

#[test]
fn every_kind_of_request_survives_every_fault() {
    let sandbox = Sandbox::new();
    let asked: Arc<Mutex<BTreeMap<usize, usize>>> = Arc::default();
    // At the first turn of each kind: every lasting fault for one whole run, then each passing one.
    let counts = Arc::clone(&asked);
    sandbox.server.on_with(anywhere(), move |received| {
        let kind = KINDS.iter().position(|(stage, role, task)| {
            received.stage == *stage
                && received.role == *role
                && (task.is_none() || received.task.as_deref() == *task)
        })?;
        if received.turn != 1 {
            return None;
        }
        let mut counts = counts.lock().unwrap();
        let count = counts.entry(kind).or_default();
        *count += 1;
        let script = lasting().into_iter().flat_map(|(reply, n, _)| vec![reply; n]);
        script.chain(passing()).nth(*count - 1)
    });
    let mut outcome = sandbox.auto(&[]);
    for (stage, role, _) in KINDS {
        for (_, _, says) in lasting() {
            let what = format!("{stage} {role}: {says}");
            assert_eq!(outcome.code, 4, "{what}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(says), "{what}: {}", outcome.stderr);
            assert!(outcome.stderr.contains("git cowork resume"), "{what}: {}", outcome.stderr);
            assert!(!outcome.stderr.contains("test-key"), "{what}: {}", outcome.stderr);
            sandbox.assert_clean();
            outcome = sandbox.cowork(&RESUME);
        }
    }
    outcome.exits(0);
    assert_eq!(sandbox.stages("main..")[1..], STAGES);
    sandbox.assert_sound();
    let each = 3 + lasting().iter().map(|(_, n, _)| n).sum::<usize>();
    let asked = asked.lock().unwrap();
    for (kind, (stage, role, task)) in KINDS.iter().enumerate() {
        // The task's kind also takes the turn that goes well.
        assert!(asked[&kind] > each, "{stage} {role} {task:?}: {} of {each}", asked[&kind]);
    }
}

#[test]
fn the_log_in_j_has_its_levels_and_no_key() {
    let sandbox = Sandbox::new();
    sandbox.server.times(4, anywhere(), Reply::status(500, "no test-key here"));
    sandbox.auto(&[]).exits(4);
    let log = sandbox.read(".git/cowork/sessions/todo/log");
    let lines = |level: &str, word: &str| {
        log.lines().filter(|line| line.contains(level) && line.contains(word)).count()
    };
    assert!(lines(" INFO ", "StageStarted") > 0, "{log}");
    assert_eq!(lines("DEBUG ", "request: idea actor, draft 1, turn 1: model scripted"), 4, "{log}");
    assert!(lines(" WARN ", "trying again") >= 3, "{log}");
    assert_eq!(lines("ERROR ", "given up after 4 tries"), 1, "{log}");
    assert!(!log.contains("test-key"), "{log}");
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "idea"]].concat()).exits(0);
    let log = sandbox.read(".git/cowork/sessions/todo/log");
    assert!(log.contains("DEBUG") && log.contains("ToolCall"), "{log}");
}

#[test]
fn nobody_at_the_address_is_said_before_anything_is_made() {
    let mut sandbox = Sandbox::new();
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    sandbox.set_env("COWORK_LLM_BASE_URL", "http://127.0.0.1:1/v1");
    let outcome = sandbox.cowork(&RESUME).exits(4).says("did not answer");
    assert!(outcome.stderr.contains("http://127.0.0.1:1/v1"), "{}", outcome.stderr);
    sandbox.assert_sound();
}
