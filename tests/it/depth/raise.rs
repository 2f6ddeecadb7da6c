//! More process for a session that has begun with less.

use serde_json::json;

use super::{addition, depth, new, quick, with_code};
use crate::support::kill::{abort_at, points};
use crate::support::{Reply, Sandbox, todo};

const RAISE: [&str; 5] = ["resume", "--depth", "standard", "--review", "auto"];

/// A quick session whose plan waits for a person.
fn planned() -> Sandbox {
    let sandbox = with_code();
    new(&sandbox, &["--depth", "quick", "--review", "wait"]).exits(3);
    // From here on the model has a plan with components.
    sandbox.script("plan", todo::plan_draft());
    sandbox
}

fn raise<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&RAISE[..], more].concat()
}

#[test]
fn a_quick_plan_becomes_a_prd_that_nobody_approved() {
    let sandbox = planned();
    let waiting = sandbox.git(&["rev-parse", "cowork/todo"]);
    let told = sandbox.cowork(&raise(&["--stop-after", "prd"])).exits(0);
    assert!(told.stderr.contains("todo now has depth standard"), "{}", told.stderr);
    let subjects = sandbox.subjects("main..cowork/todo");
    assert_eq!(subjects[1], "session: depth quick -> standard", "{subjects:?}");
    assert_eq!(sandbox.stages("main..cowork/todo")[2..], ["idea", "prd"]);
    let raised = sandbox.commit_of("cowork/todo", "session: depth");
    let trailers = sandbox.trailers(&raised);
    assert_eq!(
        (&trailers["Cowork-Event"][..], depth(&sandbox, &raised).as_str()),
        (&["depth".to_owned()][..], "standard")
    );
    let file = |name: &str| sandbox.blob(&raised, &format!(".cowork/sessions/todo/{name}"));
    assert!(file("prd.md").contains("### REQ-002 List todos"), "{}", file("prd.md"));
    assert!(!file("prd.md").contains("TASK-001"), "{}", file("prd.md"));
    assert!(file("requirements.json").contains("REQ-002"));
    assert!(file("session.json").contains("\"depth\": \"standard\""));
    let kept = sandbox.git(&["rev-parse", "refs/cowork/attempts/todo/1^"]);
    assert_eq!(kept, waiting, "the plan is kept");
    let brief = sandbox.server.requests_of("prd", "actor")[0].text();
    assert!(brief.contains("### REQ-002 List todos"), "prd is drafted from it: {brief}");
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    assert_eq!(depth(&sandbox, &sandbox.stage_commit("delivery")), "standard");
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.cowork(&["log"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn a_raise_that_is_killed_has_happened_or_not() {
    let undisturbed = planned();
    let original = undisturbed.fork();
    original.server.inherit(&undisturbed.server);
    let mut counted = original.fork();
    counted.server.inherit(&original.server);
    let (outcome, all) = points(&mut counted, &raise(&["--stop-after", "idea"]));
    outcome.exits(0);
    let files = counted.tree("cowork/todo");
    let of_raise = |point: &&String| !point.starts_with("stage.") && !point.starts_with("tag");
    for point in all.iter().filter(of_raise) {
        let mut sandbox = original.fork();
        sandbox.server.inherit(&original.server);
        abort_at(&mut sandbox, &raise(&["--stop-after", "idea"]), point);
        sandbox.git(&["fsck", "--strict", "--no-dangling"]);
        sandbox.cowork(&raise(&["--stop-after", "idea"])).exits(0);
        let stages = sandbox.stages("main..cowork/todo");
        assert_eq!(stages.last().map(String::as_str), Some("idea"), "{point}: {stages:?}");
        assert_eq!(sandbox.tree("cowork/todo"), files, "after a kill at {point}");
        sandbox.cowork(&["verify"]).exits(0);
        sandbox.assert_sound();
    }
}

#[test]
fn a_standard_session_keeps_its_waiting_draft() {
    let sandbox = Sandbox::new();
    new(&sandbox, &["--depth", "standard", "--review", "wait"]).exits(3);
    let drafts = sandbox.server.requests_of("prd", "actor").len();
    sandbox.cowork(&["resume", "--depth", "thorough", "--review", "wait"]).exits(3);
    assert_eq!(sandbox.server.requests_of("prd", "actor").len(), drafts, "it was drafted again");
    assert_eq!(sandbox.cowork(&["status", "--json"]).exits(0).json()["state"], "waiting");
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    // The design has a gate of its own now.
    assert_eq!(sandbox.cowork(&["status", "--json"]).exits(0).json()["stage"], "design");
    assert_eq!(depth(&sandbox, &sandbox.stage_commit("prd")), "thorough");
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn each_gate_before_the_code_can_be_raised_from() {
    // Where it waits, from which depth, to which; and what waits then, a stage earlier or the same.
    for (stage, from, to) in [
        ("plan", "quick", "thorough"),
        ("prd", "standard", "thorough"),
        ("plan", "standard", "thorough"),
    ] {
        let sandbox = if from == "quick" { with_code() } else { Sandbox::new() };
        new(&sandbox, &["--depth", from, "--review", "wait"]).exits(3);
        while sandbox.cowork(&["status", "--json"]).exits(0).json()["stage"] != stage {
            sandbox.cowork(&["review", "--pass"]).exits(0);
            sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
        }
        sandbox.script("plan", todo::plan_draft());
        sandbox.cowork(&["resume", "--depth", to, "--review", "auto"]).exits(0);
        let delivery = sandbox.stage_commit("delivery");
        assert_eq!(depth(&sandbox, &delivery), to, "{from} at {stage}");
        for command in [&["verify"][..], &["log"], &["show", "plan"]] {
            sandbox.cowork(command).exits(0);
        }
        sandbox.assert_sound();
    }
}

/// The last words of a gate that waits for a key.
const ASKED: &str = "stop for now";

#[test]
fn a_person_raises_at_the_gate_with_one_key() {
    // The gate it is typed at, the depth that is offered, and the gate that comes next.
    for (from, at, offered, next) in
        [("quick", "plan", "standard", "prd"), ("standard", "prd", "thorough", "prd")]
    {
        let sandbox = if from == "quick" { with_code() } else { Sandbox::new() };
        let mut terminal = sandbox.terminal(&[&super::NEW[..], &["--depth", from]].concat());
        let shown = terminal.sees("p pass ");
        assert!(shown.contains(at), "{shown}");
        terminal.sees(ASKED);
        sandbox.script("plan", todo::plan_draft());
        terminal.types("+");
        terminal.sees(&format!("Continue as a {offered} session?"));
        terminal.types("y");
        let shown = terminal.sees("p pass ");
        assert!(shown.contains(next), "{shown}");
        terminal.sees(ASKED);
        terminal.types("q");
        terminal.ends();
        let raised = sandbox.commit_of("cowork/todo", "session: depth");
        assert_eq!(depth(&sandbox, &raised), offered);
        sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
        sandbox.cowork(&["verify"]).exits(0);
        sandbox.assert_sound();
    }
}

#[test]
fn nothing_lowers_a_depth_and_code_that_is_begun_keeps_its() {
    let sandbox = planned();
    let told = sandbox.cowork(&["resume", "--depth", "quick", "--review", "wait"]).exits(3);
    assert!(told.stderr.contains("todo already has depth quick"), "{}", told.stderr);
    sandbox.cowork(&raise(&["--stop-after", "idea"])).exits(0);
    let told = sandbox.cowork(&["resume", "--depth", "quick"]).exits(5);
    assert!(told.stderr.contains("a depth cannot be lowered"), "{}", told.stderr);

    let sandbox = quick();
    let told = sandbox.cowork(&raise(&[])).exits(5);
    assert!(
        told.stderr.contains("git cowork modify --session todo --depth standard"),
        "{}",
        told.stderr
    );
    sandbox.cowork(&["revert", "--to", "delivery", "--no-run"]).exits(0);
    let told = sandbox.cowork(&raise(&[])).exits(5);
    assert!(told.stderr.contains("git cowork revert todo --to plan --no-run"), "{}", told.stderr);
    sandbox.cowork(&["revert", "--to", "plan", "--no-run"]).exits(0);
    sandbox.cowork(&raise(&["--stop-after", "idea"])).exits(0);
    sandbox.assert_sound();
}

#[test]
fn a_change_raises_a_quick_parent_on_its_own_branch() {
    let sandbox = quick();
    addition(&sandbox);
    let task = "### TASK-004 Count todos\n\n`FEAT-003` `lib/count.sh`\n\nCount.\n\n- it counts\n";
    sandbox.script("plan", Reply::call("save_plan_doc", json!({"content": task})));
    let args = ["modify", "count todos", "-n", "count", "--review", "auto", "--depth", "standard"];
    sandbox.cowork(&args).exits(0);
    let stages = sandbox.stages("cowork/todo..cowork/todo--count");
    assert_eq!(stages.iter().filter(|stage| *stage == "prd").count(), 1, "{stages:?}");
    assert!(sandbox.artifact("prd.md").contains("REQ-003"));
    assert!(
        !sandbox.artifact("plan.md").contains("### REQ-001"),
        "{}",
        sandbox.artifact("plan.md")
    );
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn a_change_is_raised_where_its_triage_waits() {
    let sandbox = quick();
    sandbox.git(&["config", "cowork.project.depth", "auto"]);
    addition(&sandbox);
    let task = "### TASK-004 Count todos\n\n`FEAT-003` `lib/count.sh`\n\nCount.\n\n- it counts\n";
    sandbox.script("plan", Reply::call("save_plan_doc", json!({"content": task})));
    let modify = ["modify", "count todos", "-n", "count", "--review", "wait"];
    sandbox.cowork(&modify).exits(3);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--depth", "standard", "--review", "auto"]).exits(0);
    let delivery = sandbox.commit_of("cowork/todo--count", "delivery: ");
    assert_eq!(depth(&sandbox, &delivery), "standard");
    let stages = sandbox.stages("cowork/todo..cowork/todo--count");
    assert_eq!(stages.iter().filter(|stage| *stage == "prd").count(), 1, "{stages:?}");
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.cowork(&["log"]).exits(0);
    sandbox.assert_sound();
}
