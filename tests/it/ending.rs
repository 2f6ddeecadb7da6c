//! A conversation ends with its closing act: nobody is asked for a sentence, what is missing is told in
//! the same conversation, and a run that was killed behind the act goes on without a request.

use serde_json::json;

use crate::modify::delivered;
use crate::support::change::triage;
use crate::support::kill::{abort_at, points};
use crate::support::server::Received;
use crate::support::todo::{
    DESIGN, PRD, approve, feature, lingers, prd_draft, reject, requirement, task_work,
};
use crate::support::{Reply, Sandbox, at};

const RESUME: [&str; 3] = ["resume", "--review", "auto"];

fn write(path: &str) -> Reply {
    Reply::call("write_file", json!({"path": path, "content": format!("# {path}\n")}))
}

/// What the actor of a stage was asked in its drafts, as draft and turn.
fn asked(sandbox: &Sandbox, stage: &str) -> Vec<(u32, u32)> {
    let requests = sandbox.server.requests_of(stage, "actor");
    requests.iter().map(|request| (request.iteration, request.turn)).collect()
}

#[test]
fn a_session_that_goes_well_asks_for_no_closing_words() {
    let sandbox = Sandbox::new();
    sandbox.auto(&[]).exits(0);
    let requests = sandbox.server.requests();
    let second: Vec<_> = requests.iter().filter(|r| r.turn > 1).map(Received::position).collect();
    assert_eq!(second, [""; 0]);
    // Seven stages of five tasks, four critics, one self-review.
    assert_eq!(requests.len(), 6 + 5 + 4 + 1);
    // Text beside the calls is the closing words.
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-001 ");
    assert!(sandbox.git(&["log", "-1", "--format=%b", &commit]).contains("The task is done."));
    sandbox.assert_sound();
}

#[test]
fn what_the_checks_find_is_told_in_the_same_conversation() {
    let sandbox = Sandbox::stopped_after("idea");
    let thin = Reply::call("save_prd_doc", json!({"content": "# PRD\n\nWhat it must do.\n"}))
        .and("create_requirement", requirement("Add a todo"));
    let rest = Reply::call("create_requirement", requirement("List todos"))
        .and("create_requirement", requirement("Tick a todo off"))
        .and("add_feature", feature("Adding", &["REQ-001"]))
        .and("add_feature", feature("Reading", &["REQ-002", "REQ-003"]));
    sandbox.server.on(at("prd", "actor").turn(1), thin);
    sandbox.server.on(at("prd", "actor").turn(2), rest);
    sandbox.server.forget();
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "prd"]].concat()).exits(0);
    assert_eq!(asked(&sandbox, "prd"), [(1, 1), (1, 2)]);
    let told = sandbox.server.requests_of("prd", "actor")[1].text();
    assert!(told.contains("no feature; at least one is needed"), "{told}");
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Iterations"], ["1"]);
    assert!(!sandbox.exists(".cowork/sessions/todo/feedback_history.json"));
    sandbox.assert_sound();
}

#[test]
fn reading_and_failing_end_nothing() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.manner(lingers);
    sandbox.server.on(at("prd", "actor").turn(2), Reply::call("load_prd_doc", json!({})));
    sandbox.server.on(at("prd", "actor").turn(3), Reply::text("That is all."));
    sandbox.server.forget();
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "prd"]].concat()).exits(0);
    assert_eq!(asked(&sandbox, "prd"), [(1, 1), (1, 2), (1, 3)]);
}

#[test]
fn a_rejected_draft_is_not_taken_again() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.on(at("prd", "critic").iteration(1), reject("no user is named"));
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), {
        let title = json!({"id": "REQ-001", "title": "Add a todo"});
        prd_draft().and("update_requirement", title)
    });
    let named = json!({"content": format!("{PRD}\nA gardener uses it.\n")});
    sandbox.server.on(at("prd", "actor").iteration(2).turn(2), Reply::call("save_prd_doc", named));
    sandbox.server.forget();
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "prd"]].concat()).exits(0);
    assert_eq!(asked(&sandbox, "prd"), [(1, 1), (2, 1), (2, 2)]);
    let told = sandbox.server.requests_of("prd", "actor")[2].text();
    assert!(told.contains("differs from the rejected one"), "{told}");
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Iterations"], ["2"]);
}

#[test]
fn in_a_correcting_draft_any_change_of_what_the_gate_shows_is_the_end() {
    let sandbox = Sandbox::stopped_after("prd");
    sandbox.server.on(at("design", "critic").iteration(1), reject("COMP-001 is not named well"));
    let name = json!({"id": "COMP-001", "name": "List of todos"});
    let update = Reply::call("update_design_component", name);
    sandbox.server.on(at("design", "actor").iteration(2).turn(1), update);
    sandbox.server.forget();
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "design"]].concat()).exits(0);
    assert_eq!(asked(&sandbox, "design"), [(1, 1), (2, 1)]);
    assert_ne!(sandbox.artifact("design.md"), DESIGN);
}

#[test]
fn a_test_that_a_task_breaks_is_fixed_before_its_commit() {
    let sandbox = Sandbox::new();
    let test = "test ! -e lib/add.sh || test -e fix.txt";
    sandbox.user_config(&format!("[project]\ntest = \"{test}\"\n"));
    let second = || at("coding", "actor").task("TASK-002");
    sandbox.server.on(second().turn(2), write("fix.txt").saying("It passes now."));
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let requests = sandbox.server.requests_of("coding", "actor");
    let told = requests.iter().find(|request| request.turn == 2).unwrap();
    assert_eq!(told.task.as_deref(), Some("TASK-002"));
    assert!(told.text().contains(&format!("failed ({test}, exit 1)")), "{}", told.text());
    assert_eq!(requests.len(), 6);
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-002 ");
    assert_eq!(
        sandbox.trailers(&commit)["Cowork-Checks"],
        [format!("passed, tests not counted ({test})")]
    );
    assert_eq!(sandbox.blob(&commit, "fix.txt"), "# fix.txt\n");
    let body = sandbox.git(&["log", "-1", "--format=%b", &commit]);
    assert!(body.contains("It passes now."), "{body}");
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("coding"))["Cowork-Iterations"], ["1"]);
    sandbox.assert_sound();
}

#[test]
fn after_three_times_it_is_committed_as_failed() {
    let sandbox = Sandbox::new();
    let test = "test ! -e lib/add.sh";
    sandbox.user_config(&format!(
        "[project]\ntest = \"{test}\"\n[limits]\niterations = {{ coding = 1 }}\n"
    ));
    sandbox.server.on_with(at("coding", "actor").task("TASK-002"), |received| {
        (received.turn > 1).then(|| write(&format!("try-{}.txt", received.turn)))
    });
    sandbox.auto(&["--stop-after", "coding"]).exits(1).says(&format!("failed ({test}, exit 1)"));
    let requests = sandbox.server.requests_of("coding", "actor");
    let second = requests.iter().filter(|r| r.task.as_deref() == Some("TASK-002"));
    assert_eq!(second.count(), 1 + 3);
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-002 ");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Checks"], [format!("failed ({test}, exit 1)")]);
}

#[test]
fn a_correction_of_the_code_ends_when_the_last_task_is_set_again() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.server.times(1, at("coding", "critic"), reject("say more"));
    sandbox.server.on(at("coding", "critic").iteration(2), approve());
    let fix = write("more.sh")
        .and("update_task_status", json!({"task_id": "TASK-005", "new_status": "completed"}));
    sandbox.server.on(at("coding", "actor").iteration(2).turn(1), fix);
    sandbox.server.forget();
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "coding"]].concat()).exits(0);
    assert_eq!(asked(&sandbox, "coding").last(), Some(&(2, 1)));
    assert_eq!(sandbox.blob("HEAD", "more.sh"), "# more.sh\n");
}

#[test]
fn a_change_without_a_plan_ends_with_its_last_write() {
    let sandbox = delivered();
    sandbox
        .server
        .on(at("triage", "actor").turn(1), triage("Be quick", &["code"], &["lib/add.sh"]));
    let work = Reply::call("write_file", json!({"path": "lib/add.sh", "content": "# quick\n"}))
        .and("update_task_status", json!({"task_id": "TASK-005", "new_status": "completed"}))
        .saying("Adding is quick now.");
    sandbox.server.on(at("coding", "actor").turn(1), work);
    sandbox.server.forget();
    let wait = ["modify", "be quick", "--review", "wait", "--depth", "standard"];
    sandbox.cowork(&wait).exits(3);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(0);
    let asked = sandbox.server.requests_of("coding", "actor");
    assert_eq!(asked.len(), 1);
    assert!(sandbox.server.requests_of("delivery", "actor").is_empty());
    let told = asked[0].text();
    assert!(told.contains(r#"{"task_id": "TASK-005", "new_status": "completed"}"#), "{told}");
    let report = sandbox.artifact("changes/be-quick/delivery_report.md");
    assert!(report.contains("Adding is quick now."), "{report}");
}

#[test]
fn a_run_killed_behind_the_closing_act_asks_nobody_again() {
    let base = Sandbox::stopped_after("design");
    let resume = [&RESUME[..], &["--stop-after", "plan"]].concat();
    let mut undisturbed = base.fork();
    let (outcome, points) = points(&mut undisturbed, &resume);
    outcome.exits(0);
    let mut killed = 0;
    for point in points {
        let mut sandbox = base.fork();
        sandbox.server.forget();
        abort_at(&mut sandbox, &resume, &point).was_killed();
        if asked(&sandbox, "plan").is_empty() {
            continue;
        }
        killed += 1;
        sandbox.cowork(&resume).exits(0);
        assert_eq!(asked(&sandbox, "plan"), [(1, 1)], "killed at {point}");
        sandbox.assert_sound();
    }
    assert!(killed > 1, "it was never killed behind the act");
    // In the middle of a task that is done.
    let base = Sandbox::stopped_after("plan");
    let mut sandbox = base.fork();
    let work = task_work("TASK-001");
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(1), work);
    sandbox.server.forget();
    abort_at(&mut sandbox, &RESUME, "task.before-commit:1");
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "coding"]].concat()).exits(0);
    assert_eq!(asked(&sandbox, "coding"), [(1, 1); 5]);
}
