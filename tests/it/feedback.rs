//! `git cowork feedback`: what reviewers say about a delivered session becomes a task of its own, a
//! new check and a new report, on the same branch.

use serde_json::json;

use crate::support::{Reply, Sandbox, at, todo};

const COMMENTS: &str = "lib/list.sh prints nothing for an empty list.\nSay that it is empty.";

/// A delivered session whose actor knows what to do with the comments.
fn delivered() -> Sandbox {
    let sandbox = Sandbox::delivered();
    let edit = json!({"path": "lib/list.sh", "old_text": "List todos", "new_text": "List todos, or say none"});
    sandbox
        .server
        .on(at("coding", "actor").task("TASK-006").turn(1), Reply::call("edit_file", edit));
    sandbox
}

#[test]
fn comments_become_a_task_a_check_and_a_report() {
    let sandbox = delivered();
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.server.on(
        at("delivery", "actor").turn(1),
        Reply::call(
            "save_delivery_report",
            json!({"content": format!("{}\nEmpty lists say so.\n", todo::DELIVERY)}),
        ),
    );
    sandbox.cowork(&["feedback", COMMENTS, "--review", "auto"]).exits(0);
    let range = format!("{tip}..HEAD");
    assert_eq!(
        sandbox.subjects(&range),
        [
            "coding: review of draft 1: feedback",
            "coding: TASK-006 review: lib/list.sh prints nothing for an empty list",
            "coding: 6 of 6 tasks, 5 files",
            "check: 2 features covered, no tests to run",
            "delivery: Add a todo list for the terminal",
        ]
    );
    let review = sandbox.trailers(&sandbox.git(&["rev-parse", "HEAD~4"]));
    assert_eq!(review["Cowork-Review"], ["feedback"]);
    // The person's words, as the actor got them.
    let asked = sandbox.server.requests_of("coding", "actor");
    let asked = asked.iter().rev().find(|r| r.task.as_deref() == Some("TASK-006")).unwrap().text();
    assert!(asked.contains("Say that it is empty."), "{asked}");
    // It belongs to the feature whose file it speaks of.
    let task = sandbox.trailers("HEAD~3");
    assert_eq!(
        (&task["Cowork-Task"][0][..], &task["Cowork-Feature"][0][..]),
        ("TASK-006", "FEAT-002")
    );
    assert!(sandbox.blob("HEAD", "lib/list.sh").contains("say none"));
    assert!(sandbox.artifact("delivery_report.md").contains("Empty lists say so."));
    let said: serde_json::Value =
        serde_json::from_str(&sandbox.artifact("feedback_history.json")).unwrap();
    let last = said.as_array().unwrap().last().unwrap();
    assert_eq!((&last["from"], &last["severity"]), (&json!("human"), &json!("critical")));
    sandbox.cowork(&["verify"]).exits(0);
    assert_eq!(sandbox.cowork(&["status", "--json"]).exits(0).json()["state"], "completed");
    sandbox.assert_sound();
    // And again: nothing of the first time is in the way.
    let edit = json!({"path": "lib/add.sh", "old_text": "Add a todo", "new_text": "Add one todo"});
    sandbox
        .server
        .on(at("coding", "actor").task("TASK-007").turn(1), Reply::call("edit_file", edit));
    let piped = "author:\tana\nstatus:\tnone\n--\nlib/add.sh adds two\n--\n";
    sandbox.cowork_in(&["feedback", "--review", "auto"], piped).exits(0);
    assert_eq!(
        sandbox.git(&["log", "-1", "--format=%s", "HEAD~3"]),
        "coding: TASK-007 review: lib/add.sh adds two"
    );
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn a_gate_stands_before_what_comes_of_it() {
    let sandbox = delivered();
    sandbox.cowork(&["feedback", COMMENTS, "--review", "wait"]).exits(3);
    let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
    assert_eq!((&status["state"], &status["stage"]), (&json!("waiting"), &json!("coding")));
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(0);
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn killed_anywhere_it_continues() {
    for n in 1..=4 {
        let sandbox = delivered();
        let tip = sandbox.git(&["rev-parse", "HEAD"]);
        let args = ["feedback", COMMENTS, "--review", "auto"];
        crate::support::kill::kill_at_request(&sandbox, &args, n).was_killed();
        let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
        assert_eq!(status["state"], "in_progress", "{n}");
        sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
        assert_eq!(sandbox.subjects(&format!("{tip}..HEAD")).len(), 5, "{n}");
        sandbox.assert_sound();
    }
}

#[test]
fn what_cannot_take_comments_says_so() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.cowork(&["feedback", "nicer"]).exits(5).says("git cowork resume todo");
    let sandbox = delivered();
    sandbox.cowork_in(&["feedback"], "").exits(2);
    sandbox.hook("pre-commit", "echo no; exit 1");
    sandbox.cowork(&["feedback", "nicer"]).exits(5).says("pre-commit hook refused");
    sandbox.assert_clean();
    sandbox.hook("pre-commit", "exit 0");
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "Add it", "cowork/todo"]);
    sandbox.cowork(&["feedback", "nicer", "--session", "todo"]).exits(5).says("git cowork modify");
}

#[test]
fn a_run_that_dies_before_the_comments_are_recorded_leaves_nothing() {
    for command in
        [&["resume", "--review", "auto"][..], &["feedback", COMMENTS, "--review", "auto"]]
    {
        let mut sandbox = delivered();
        let tip = sandbox.git(&["rev-parse", "HEAD"]);
        let args = ["feedback", COMMENTS, "--review", "auto"];
        crate::support::kill::abort_at(&mut sandbox, &args, "review.before-commit:1").was_killed();
        assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
        sandbox.cowork(command).exits(0);
        sandbox.assert_sound();
        let tasks = sandbox.artifact("implementation_plan.json").matches("\"TASK-006\"").count();
        assert_eq!(tasks, usize::from(command[0] == "feedback"));
        sandbox.cowork(&["verify"]).exits(0);
    }
}

#[test]
fn a_persons_edits_of_the_plan_are_not_taken_for_comments() {
    let sandbox = delivered();
    let mine = format!("{}mine\n", sandbox.artifact("plan.md"));
    sandbox.write(".cowork/sessions/todo/plan.md", &mine);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.cowork(&["feedback", COMMENTS]).exits(5).says("plan.md has your uncommitted changes");
    assert_eq!(sandbox.artifact("plan.md"), mine);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
}

#[test]
fn comments_that_changed_nothing_are_not_answered() {
    let sandbox = delivered();
    sandbox.server.on(at("coding", "actor"), Reply::text("It is fine as it is."));
    let outcome = sandbox.cowork(&["feedback", COMMENTS, "--review", "auto"]).exits(1);
    assert!(outcome.stderr.contains("TASK-006"), "{}", outcome.stderr);
    let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
    assert_eq!(status["state"], "stopped");
}

#[test]
fn going_back_stays_in_the_round_of_the_comments() {
    let sandbox = delivered();
    sandbox.cowork(&["feedback", COMMENTS, "--review", "auto"]).exits(0);
    let at_subject = |subject: &str| sandbox.commit_of("HEAD", subject);
    let (comments, coded) = (
        at_subject("coding: review of draft 1: feedback"),
        at_subject("coding: 6 of 6 tasks, 5 files"),
    );
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    for (stage, target) in [("check", coded), ("coding", comments)] {
        sandbox.cowork(&["revert", "--to", stage, "--no-run"]).exits(0);
        assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), target, "{stage}");
        sandbox.cowork(&["undo"]).exits(0);
        assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
    }
    sandbox.cowork(&["revert", "--to", "coding", "--no-run"]).exits(0);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    assert_eq!(
        sandbox.subjects("HEAD~4..HEAD")[0],
        "coding: TASK-006 review: lib/list.sh prints nothing for an empty list"
    );
}

#[test]
fn the_delivered_session_is_found_and_nothing_is_switched_in_vain() {
    let sandbox = delivered();
    sandbox.git(&["switch", "-q", "main"]);
    sandbox
        .cowork(&["new", "-n", "other", "another idea", "--review", "auto", "--stop-after", "idea"])
        .exits(0);
    sandbox.cowork(&["feedback", "nicer"]).exits(5).says("'other' is not delivered");
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.cowork(&["feedback", "nicer", "--session", "other"]).exits(5);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    sandbox.cowork(&["feedback", COMMENTS, "--review", "auto"]).exits(0);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "cowork/todo");
}
