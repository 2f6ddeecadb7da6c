//! A task for which nothing was changed: its actor is asked once, and gives a reason or is asked again
//! by a person's `resume`; no task passes for completed because its file was there before.

use serde_json::{Value, json};

use crate::deliver::{code_of, done, edit, needs_none, new, one_source_file, status, task};
use crate::support::{Reply, Sandbox, at};

const RESUME: [&str; 3] = ["resume", "--review", "auto"];
const NOTHING: &str = "nothing was changed, and the actor gave no reason";

/// Four tasks for two files that exist: the third depends on the second, the fourth on nothing.
fn planned() -> Sandbox {
    let mut third = task("Three", "More of it.", &["more.sh"], &[]);
    third["dependencies"] = json!(["TASK-002"]);
    let tasks = [
        task("One", "The sum.", &[], &["due.sh"]),
        task("Two", "How to use it.", &[], &["USAGE.md"]),
        third,
        task("Four", "By itself.", &["free.sh"], &[]),
    ];
    let sandbox = one_source_file(&tasks);
    sandbox.commit_file("USAGE.md", "# Usage\n", "usage");
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(1), edit());
    for (id, path) in [("TASK-003", "more.sh"), ("TASK-004", "free.sh")] {
        sandbox.server.on(at("coding", "actor").task(id).turn(1), writes(path, id));
    }
    sandbox
}

fn writes(path: &str, task: &str) -> Reply {
    let write = json!({"path": path, "content": format!("# {task}\n")});
    let done = json!({"task_id": task, "new_status": "completed"});
    Reply::call("write_file", write).and("update_task_status", done)
}

/// What the actor of a task was told in its turns.
fn told(sandbox: &Sandbox, task: &str) -> Vec<String> {
    let requests = sandbox.server.requests_of("coding", "actor");
    let own = requests.iter().filter(|request| request.task.as_deref() == Some(task));
    own.map(crate::support::server::Received::text).collect()
}

#[test]
fn a_task_whose_only_write_was_refused_is_blocked_and_asked_again() {
    for review in ["auto", "wait"] {
        let sandbox = planned();
        let second = || at("coding", "actor").task("TASK-002");
        let missing = json!({"path": "USAGE.md", "old_text": "nowhere", "new_text": "x"});
        let refused = Reply::call("edit_file", missing);
        let set = json!({"task_id": "TASK-002", "new_status": "completed"});
        sandbox.server.on(second(), Reply::text("It is done."));
        sandbox.server.on(second().turn(1), refused.and("update_task_status", set));
        sandbox.cowork(&new(&["--stop-after", "plan"])).exits(0);
        sandbox.user_config(&format!("[review]\ngates = []\n{}", crate::deliver::SMALL));
        let resume = ["resume", "--review", review];
        let outcome = sandbox.cowork(&resume).exits(1).says("TASK-002 is not completed");
        let outcome = outcome.says(NOTHING).says("TASK-003 waits").says("ask again");
        assert!(!outcome.stderr.contains("draft 2"), "{}", outcome.stderr);
        let asked = told(&sandbox, "TASK-002");
        assert_eq!(asked.len(), 3, "asked once why");
        assert!(asked[2].contains("Nothing was changed for TASK-002."), "{}", asked[2]);
        // What does not depend on it is done.
        assert!(told(&sandbox, "TASK-003").is_empty());
        sandbox.commit_of("cowork/todo", "coding: TASK-004 ");
        assert!(!sandbox.subjects("cowork/todo").iter().any(|s| s.contains("TASK-002")));
        let shown = sandbox.cowork(&["status", "--json"]).exits(0).json();
        assert_eq!(shown["state"], "stopped", "{shown}");
        assert!(shown["reason"].as_str().unwrap().contains(NOTHING), "{shown}");
        sandbox.assert_sound();
        // Asked again, in the same draft, it does its work.
        sandbox.server.forget();
        sandbox.server.on(second().turn(1), writes("USAGE.md", "TASK-002"));
        sandbox.cowork(&RESUME).exits(0);
        assert_eq!(told(&sandbox, "TASK-002").len(), 1);
        assert_eq!(told(&sandbox, "TASK-003").len(), 1);
        assert!(told(&sandbox, "TASK-001").is_empty() && told(&sandbox, "TASK-004").is_empty());
        let trailers = sandbox.trailers(&sandbox.stage_commit("coding"));
        assert_eq!(trailers["Cowork-Iterations"], ["1"]);
        sandbox.cowork(&["verify"]).exits(0);
        sandbox.assert_sound();
    }
}

#[test]
fn a_person_may_write_what_the_actor_did_not() {
    let sandbox = planned();
    let second = || at("coding", "actor").task("TASK-002");
    sandbox.server.on(second(), Reply::text("It is done."));
    sandbox.server.on(second().turn(1), done("TASK-002"));
    sandbox.cowork(&new(&[])).exits(1).says("or write it yourself and commit it");
    sandbox.commit_file("USAGE.md", "# Usage\n\ndue N\n", "the usage");
    sandbox.server.forget();
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "coding"]].concat()).exits(0);
    let asked = told(&sandbox, "TASK-002");
    assert!(asked.iter().all(|told| !told.contains("Nothing was changed")), "{asked:?}");
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-002 ");
    let body = sandbox.git(&["log", "-1", "--format=%b", &commit]);
    assert!(body.contains("Its files are in other commits:\n- `USAGE.md`"), "{body}");
    sandbox.assert_sound();
}

#[test]
fn the_change_that_was_asked_for_completes_the_task() {
    let sandbox = planned();
    let second = || at("coding", "actor").task("TASK-002");
    sandbox.server.on(second().turn(1), done("TASK-002"));
    sandbox.server.on(second().turn(2), writes("USAGE.md", "TASK-002"));
    sandbox.cowork(&new(&[])).exits(0);
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-002 ");
    assert_eq!(code_of(&sandbox, &commit), ["USAGE.md"]);
    assert_eq!(sandbox.trailers(&commit).get("Cowork-Reason"), None);
    assert_eq!(told(&sandbox, "TASK-002").len(), 2);
}

#[test]
fn a_reason_completes_a_task_that_needs_no_change() {
    const WHY: &str = "USAGE.md says it already";
    let sandbox = planned();
    let second = || at("coding", "actor").task("TASK-002");
    sandbox.server.on(second().turn(1), done("TASK-002"));
    sandbox.server.on(second().turn(2), needs_none("TASK-002", WHY));
    // Beside a change, a reason says nothing.
    let work = json!({"path": "free.sh", "content": "# free\n"});
    let set = json!({"task_id": "TASK-004", "new_status": "completed", "reason": "all written"});
    let fourth = Reply::call("write_file", work).and("update_task_status", set);
    sandbox.server.on(at("coding", "actor").task("TASK-004").turn(1), fourth);
    sandbox.cowork(&new(&[])).exits(0);
    assert_eq!(told(&sandbox, "TASK-002").len(), 2);
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-002 ");
    assert!(code_of(&sandbox, &commit).is_empty());
    assert_eq!(sandbox.trailers(&commit)["Cowork-Reason"], [WHY]);
    let body = sandbox.git(&["log", "-1", "--format=%b", &commit]);
    assert!(body.contains(&format!("It needs no change: {WHY}")), "{body}");
    let fourth = sandbox.commit_of("cowork/todo", "coding: TASK-004 ");
    assert_eq!(sandbox.trailers(&fourth).get("Cowork-Reason"), None);
    // Its feature is as implemented as that of any other.
    assert_eq!(status(&sandbox, "coding"), "implemented");
    let history: Value = serde_json::from_str(&sandbox.artifact("feedback_history.json")).unwrap();
    let reasons: Vec<&Value> = history.as_array().unwrap().iter().collect();
    assert_eq!(reasons.len(), 1, "{history}");
    assert_eq!(reasons[0]["details"], format!("TASK-002 needs no change: {WHY}"));
    let report = sandbox.artifact("delivery_report.md");
    assert!(report.contains("- TASK-002 Two: (no change needed)\n"), "{report}");
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn a_run_killed_behind_the_reason_does_not_ask_for_it_again() {
    let mut killed = planned();
    let none = needs_none("TASK-002", "it says so already");
    killed.server.on(at("coding", "actor").task("TASK-002").turn(1), none);
    killed.cowork(&new(&["--stop-after", "plan"])).exits(0);
    crate::support::kill::abort_at(&mut killed, &RESUME, "task.before-commit:2").was_killed();
    killed.server.forget();
    killed.cowork(&[&RESUME[..], &["--stop-after", "coding"]].concat()).exits(0);
    assert!(told(&killed, "TASK-002").is_empty());
    let commit = killed.commit_of("cowork/todo", "coding: TASK-002 ");
    assert_eq!(killed.trailers(&commit)["Cowork-Reason"], ["it says so already"]);
    killed.assert_sound();
}
