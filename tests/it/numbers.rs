//! Numbers of records: given in the order of the calls, so that what a later call of the same answer
//! names is what the model counted, and never given twice in a draft, over a kill as well.

use serde_json::{Value, json};

use crate::support::kill::kill_at_request;
use crate::support::todo::{self, component, feature, requirement, task};
use crate::support::{Reply, Sandbox, at};

const RESUME: [&str; 3] = ["resume", "--review", "auto"];

/// The answers to the calls of an actor's turn in the first draft.
#[track_caller]
fn answers(sandbox: &Sandbox, stage: &str, turn: u32) -> Vec<String> {
    let requests = sandbox.server.requests_of(stage, "actor");
    let next = requests.iter().find(|one| (one.iteration, one.turn) == (1, turn + 1));
    next.unwrap().tool_results()
}

/// A task that depends on others.
fn after(index: usize, dependencies: &[&str]) -> Value {
    let mut task = task(index);
    task["dependencies"] = json!(dependencies);
    task
}

/// A plan whose second task is refused, and what else is then missing in the next turn.
fn planned(sandbox: &Sandbox) {
    let mut broken = after(1, &["TASK-001"]);
    broken["acceptance_criteria"].take();
    let first = Reply::call("save_plan_doc", json!({"content": "# Plan\n\nSmall steps.\n"}))
        .and("create_task", task(0))
        .and("create_task", broken)
        .and("create_task", after(2, &["TASK-001"]))
        .and("create_task", after(3, &["TASK-003"]))
        .and("create_task", after(4, &["TASK-002", "TASK-003"]));
    let again = Reply::call("create_task", after(1, &["TASK-001"]))
        .and("create_task", after(4, &["TASK-006", "TASK-003"]))
        .and("read_file", json!({"path": "nowhere.txt"}));
    sandbox.server.on(at("plan", "actor").turn(1), first);
    sandbox.server.on(at("plan", "actor").turn(2), again);
    sandbox.server.on(at("plan", "actor").turn(3), Reply::text("The plan is complete."));
}

#[track_caller]
fn is_planned_as_counted(sandbox: &Sandbox) {
    let first = answers(sandbox, "plan", 1);
    assert!(first[1].starts_with("Created TASK-001 "), "{first:?}");
    let used = "This call used up TASK-002; the next task is TASK-003.";
    assert!(first[2].contains("missing: acceptance_criteria"), "{first:?}");
    assert!(first[2].contains(used), "{first:?}");
    assert!(first[3].starts_with("Created TASK-003 "), "{first:?}");
    assert!(first[4].starts_with("Created TASK-004 "), "{first:?}");
    assert!(first[5].starts_with("TASK-002 was refused: "), "{first:?}");
    assert!(first[5].contains("the next task is TASK-006."), "{first:?}");
    let second = answers(sandbox, "plan", 2);
    assert!(second[0].starts_with("Created TASK-006 'Add a todo'"), "{second:?}");
    assert!(second[1].starts_with("Created TASK-007 "), "{second:?}");
    let plan: Value = serde_json::from_str(&sandbox.artifact("implementation_plan.json")).unwrap();
    let tasks: Vec<_> = plan["tasks"].as_array().unwrap().iter().collect();
    let ids: Vec<_> = tasks.iter().map(|task| task["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["TASK-001", "TASK-003", "TASK-004", "TASK-006", "TASK-007"]);
    assert_eq!(tasks[1]["title"], "List todos");
    assert_eq!(tasks[2]["dependencies"], json!(["TASK-003"]));
    assert_eq!(tasks[4]["dependencies"], json!(["TASK-006", "TASK-003"]));
}

#[test]
fn a_refused_call_uses_its_number_up_and_no_reference_means_another_record() {
    let sandbox = Sandbox::stopped_after("design");
    planned(&sandbox);
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "plan"]].concat()).exits(0);
    is_planned_as_counted(&sandbox);
}

#[test]
fn a_killed_run_gives_no_number_again() {
    let sandbox = Sandbox::stopped_after("design");
    planned(&sandbox);
    let stop = [&RESUME[..], &["--stop-after", "plan"]].concat();
    kill_at_request(&sandbox, &stop, 2).was_killed();
    sandbox.cowork(&stop).exits(0);
    is_planned_as_counted(&sandbox);
}

#[test]
fn every_kind_counts_and_a_deleted_number_is_not_given_again() {
    let sandbox = Sandbox::stopped_after("idea");
    let bare = |mut record: Value, field: &str| {
        record[field].take();
        record
    };
    let prd = Reply::call("save_prd_doc", json!({"content": "# PRD\n\nWhat it must do.\n"}))
        .and("create_requirement", requirement("Add a todo"))
        .and("create_requirement", bare(requirement("Share todos"), "description"))
        .and("create_requirement", requirement("List todos"))
        .and("create_requirement", requirement("Export todos"))
        .and("add_feature", bare(feature("Sharing", &["REQ-002"]), "description"))
        .and("add_feature", feature("Adding", &["REQ-001", "REQ-003"]))
        .and("delete_requirement", json!({"id": "REQ-004"}));
    let more = "### REQ-004 Colours\n\n`low` `functional`\n\nIn colour.\n\n- it is\n";
    let taken = Reply::call("save_prd_doc", json!({"content": more}))
        .and("save_prd_doc", json!({"content": more.replace("REQ-004", "REQ-?")}))
        .and("add_feature", feature("Colour", &["REQ-005"]));
    sandbox.server.on(at("prd", "actor").turn(1), prd);
    sandbox.server.on(at("prd", "actor").turn(2), taken);
    sandbox.server.on(at("prd", "actor").turn(3), Reply::text("Complete."));
    let design = Reply::call("save_design_doc", json!({"content": "# Design\n\nOne file.\n"}))
        .and("create_design_component", bare(component("Net", &["FEAT-002"]), "technology"))
        .and("create_design_component", component("Core", &["FEAT-002", "FEAT-003"]))
        .and("create_design_component", component("Line", &["FEAT-002"]));
    sandbox.server.on(at("design", "actor").turn(1), design);
    sandbox.server.on(at("design", "actor").turn(2), Reply::text("Complete."));
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "design"]].concat()).exits(0);
    let said = answers(&sandbox, "prd", 2);
    let words = "REQ-004 was \"Export todos\" and was deleted; write REQ-? for a new number";
    assert!(said[0].contains(words), "{said:?}");
    assert!(said[1].contains("New: REQ-005."), "{said:?}");
    let prd = sandbox.artifact("prd.md");
    let heads = |text: &str| -> Vec<String> {
        let ids = text.lines().filter_map(|line| line.strip_prefix("### ")).map(|line| &line[..8]);
        ids.map(|id| id.trim().to_owned()).collect()
    };
    assert_eq!(heads(&prd), ["REQ-001", "REQ-003", "REQ-005", "FEAT-002", "FEAT-003"]);
    assert_eq!(heads(&sandbox.artifact("design.md")), ["COMP-002", "COMP-003"]);
}

#[test]
fn a_refused_document_keeps_its_numbers_until_the_answer_ends() {
    let sandbox = Sandbox::stopped_after("idea");
    // The category is misspelt, so nothing of it is saved; the call after it comes behind it.
    let broken = todo::PRD.replace("`high` `functional`", "`high` `useful`");
    let first = Reply::call("save_prd_doc", json!({"content": broken}))
        .and("create_requirement", requirement("Share todos"));
    let whole = Reply::call("save_prd_doc", json!({"content": todo::PRD, "whole": false}))
        .and("read_file", json!({"path": "nowhere.txt"}));
    sandbox.server.on(at("prd", "actor").turn(1), first);
    sandbox.server.on(at("prd", "actor").turn(2), whole);
    sandbox.server.on(at("prd", "actor").turn(3), Reply::text("Complete."));
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "prd"]].concat()).exits(0);
    let prd = sandbox.artifact("prd.md");
    for (id, title) in [("REQ-001", "Add a todo"), ("REQ-004", "Share todos")] {
        assert!(prd.contains(&format!("### {id} {title}")), "{prd}");
    }
}

#[test]
fn criteria_are_texts_or_objects_that_name_their_test() {
    let sandbox = Sandbox::stopped_after("idea");
    let test = json!({"text": "adds it", "test": "tests/add.sh::adds", "fails_before": true});
    let with = |title: &str, criteria: Value| {
        let mut one = requirement(title);
        one["acceptance_criteria"] = criteria;
        one
    };
    let draft = Reply::call("save_prd_doc", json!({"content": "# PRD\n\nWhat it must do.\n"}))
        .and("create_requirement", with("Add", json!([test, {"text": "is fast"}, "is short"])))
        .and("create_requirement", with("List", json!(["lists `tests/list.sh::lists`"])))
        .and("create_requirement", with("Tick", json!([{"test": "tests/list.sh::lists"}])))
        .and("add_feature", feature("All", &["REQ-001", "REQ-002"]));
    sandbox.server.on(at("prd", "actor").turn(1), draft);
    sandbox.server.on(at("prd", "actor").turn(2), Reply::text("Complete."));
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "prd"]].concat()).exits(0);
    let json: Value = serde_json::from_str(&sandbox.artifact("requirements.json")).unwrap();
    let criteria = |at: usize| &json["requirements"][at]["acceptance_criteria"];
    assert_eq!(*criteria(0), json!([test, "is fast", "is short"]));
    assert_eq!(*criteria(1), json!([{"text": "lists", "test": "tests/list.sh::lists"}]));
    assert_eq!(json["requirements"].as_array().unwrap().len(), 2);
    let prd = sandbox.artifact("prd.md");
    assert!(prd.contains("- adds it `!tests/add.sh::adds`\n- is fast\n- is short\n"), "{prd}");
    let said = answers(&sandbox, "prd", 1).join("\n");
    assert!(said.contains("acceptance_criteria[0] must be a string"), "{said}");
    sandbox.cowork(&["verify"]).exits(0);
}
