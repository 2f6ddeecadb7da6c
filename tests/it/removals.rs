//! Changes that take something away: what refers to it is history where it is done, and otherwise
//! goes, too, with the code.

use serde_json::json;

use crate::support::change::triage;
use crate::support::{Reply, Sandbox, at, todo};

const DIR: &str = ".cowork/sessions/todo";

fn modify(words: &str) -> Vec<&str> {
    vec!["modify", words, "-n", "less", "--review", "auto"]
}

const WIDER: &str = "the scope of this change is now prd, design, plan and code";

/// A delivered session.
fn delivered() -> Sandbox {
    let sandbox = Sandbox::delivered();
    sandbox.server.forget();
    sandbox
}

fn by_tools() -> Reply {
    Reply::call("delete_feature", json!({"id": "FEAT-002"}))
        .and("delete_requirement", json!({"id": "REQ-002"}))
        .and("delete_requirement", json!({"id": "REQ-003"}))
}

/// The task that takes the code out, and its work.
fn takes_code_out(sandbox: &Sandbox) {
    let task = todo::task_section("TASK-006", "Take listing out", "FEAT-001", "lib/list.sh");
    let plan = task.replace("exists", "is gone");
    sandbox.script("plan", Reply::call("save_plan_doc", json!({"content": plan.trim_start()})));
    let done = json!({"task_id": "TASK-006", "new_status": "completed"});
    let work = Reply::call("delete_file", json!({"path": "lib/list.sh"}));
    let work = work.and("update_task_status", done);
    sandbox.server.on(at("coding", "actor").task("TASK-006").turn(1), work);
}

/// The change is sound, and its parent has neither the feature nor its code after the merge.
fn is_merged_without_listing(sandbox: &Sandbox) {
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.cowork(&["merge", "todo--less", "--into", "cowork/todo"]).exits(0);
    let documents = ["prd.md", "plan.md"].map(|name| format!("{DIR}/{name}"));
    for path in documents.iter().filter(|path| sandbox.exists(path)) {
        assert!(!sandbox.read(path).contains("### FEAT-002"), "{path}");
    }
    assert!(!sandbox.exists("lib/list.sh"));
    sandbox.cowork(&["verify", "todo"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn a_change_that_removes_a_feature_takes_its_code_out_and_is_merged() {
    for depth in ["standard", "thorough"] {
        let sandbox = delivered();
        sandbox.script("triage", triage("No more listing", &["prd", "code"], &["lib/list.sh"]));
        sandbox.script("prd", by_tools());
        takes_code_out(&sandbox);
        let words = [&modify("Remove listing and ticking")[..], &["--depth", depth]].concat();
        let told = sandbox.cowork(&words).exits(0).stderr;
        assert!(told.contains(WIDER), "{depth}: {told}");
        assert_eq!(
            sandbox.stages("cowork/todo..cowork/todo--less"),
            ["start", "triage", "prd", "design", "plan", "coding", "check", "delivery"]
        );
        // The tasks that built it are history, and say so.
        let shown = sandbox.cowork(&["status", "-v"]).exits(0).stdout;
        let (_, removed) =
            shown.split_once("FEAT-002 removed").unwrap_or_else(|| panic!("{shown}"));
        assert!(removed.contains("TASK-003 List todos"), "{shown}");
        let traced = sandbox.cowork(&["trace"]).exits(0).stdout;
        assert!(traced.contains("FEAT-002 (removed)"), "{traced}");
        // The report names it beside what is new, and among the records.
        let report = sandbox.artifact("changes/less/delivery_report.md");
        for line in [
            "- **REQ-003 Tick a todo off** (removed)\n",
            "- FEAT-002 Reading and ticking: removed\n",
        ] {
            assert!(report.contains(line), "{line} in\n{report}");
        }
        is_merged_without_listing(&sandbox);
    }
}

#[test]
fn a_plan_is_refused_while_its_tasks_leave_the_code_of_what_was_removed() {
    let sandbox = delivered();
    sandbox.script("triage", triage("No more listing", &["prd", "code"], &["lib/list.sh"]));
    sandbox.script("prd", by_tools());
    takes_code_out(&sandbox);
    let other = todo::task_section("TASK-006", "Take listing out", "FEAT-001", "lib/more.sh");
    let other = Reply::call("save_plan_doc", json!({"content": other.trim_start()}));
    sandbox.server.times(1, at("plan", "actor").turn(1), other);
    let told = sandbox.cowork(&modify("Remove listing")).exits(0).stderr;
    let stays = "FEAT-002 was removed, but no task of this change takes out its code: lib/done.sh";
    assert!(told.contains(stays), "{told}");
    is_merged_without_listing(&sandbox);
}

#[test]
fn a_person_removes_a_feature_and_the_scope_follows() {
    let mut sandbox = delivered();
    sandbox.script("triage", triage("No more listing", &["prd", "code"], &["lib/list.sh"]));
    sandbox.script("prd", Reply::text("It is as it was."));
    let design = todo::DESIGN.replace(" `FEAT-002`", "");
    sandbox.script("design", Reply::call("save_design_doc", json!({"content": design})));
    takes_code_out(&sandbox);
    let wait = ["modify", "Remove listing", "-n", "less", "--review", "wait"];
    sandbox.cowork(&wait).exits(3);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    let cut = "sed -i -e '/^### REQ-002/,/^## Features/{/^## Features/!d}' \
               -e '/^### FEAT-002/,/^## Later/{/^## Later/!d}'";
    sandbox.editor(&format!("case \"$f\" in *prd.md) {cut} \"$f\";; esac"));
    sandbox.cowork(&["review", "--edit"]).exits(0);
    let told = sandbox.cowork(&["resume", "--review", "auto"]).exits(0).stderr;
    assert!(told.contains(WIDER), "{told}");
    is_merged_without_listing(&sandbox);
}

#[test]
fn a_quick_session_loses_a_feature_in_its_plan() {
    let sandbox = crate::depth::quick();
    sandbox.server.forget();
    let request = json!({
        "summary": "No more listing",
        "scope": {"prd": true, "design": false, "plan": false, "code": true},
        "risk": "low",
        "affected_files": ["lib/list.sh"],
        "acceptance_criteria": ["there is no listing"],
    });
    sandbox.script("triage", Reply::call("save_change_request", request));
    let removes = Reply::call("delete_feature", json!({"id": "FEAT-002"}))
        .and("delete_requirement", json!({"id": "REQ-002"}));
    sandbox.script("plan", removes);
    let gone = Reply::call("delete_file", json!({"path": "lib/list.sh"}));
    sandbox.script("coding", gone);
    sandbox.cowork(&[&modify("Remove listing")[..], &["--depth", "quick"]].concat()).exits(0);
    is_merged_without_listing(&sandbox);
}

#[test]
fn a_change_removes_a_component_that_completed_tasks_name() {
    let sandbox = delivered();
    sandbox.script("triage", triage("No command line", &["design", "code"], &["todo.sh"]));
    let design = Reply::call("delete_design_component", json!({"id": "COMP-002"}));
    sandbox.script("design", design);
    let task = todo::task_section("TASK-006", "Take the command line out", "FEAT-001", "todo.sh");
    let plan = task.replace("exists", "is gone");
    sandbox.script("plan", Reply::call("save_plan_doc", json!({"content": plan.trim_start()})));
    let done = json!({"task_id": "TASK-006", "new_status": "completed"});
    let work = Reply::call("delete_file", json!({"path": "todo.sh"}));
    let work = work.and("update_task_status", done);
    sandbox.server.on(at("coding", "actor").task("TASK-006").turn(1), work);
    let told = sandbox.cowork(&modify("Use it as a library")).exits(0).stderr;
    assert!(told.contains("the scope of this change is now design, plan and code"), "{told}");
    sandbox.cowork(&["verify"]).exits(0);
    assert!(!sandbox.exists("todo.sh"));
}
