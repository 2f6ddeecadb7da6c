//! What the program itself tells of a change request: in its delivery report, and to its actors.

use serde_json::json;

use crate::support::change::{task, triage};
use crate::support::{Reply, Sandbox, at, todo};

#[test]
fn the_report_of_a_change_tells_its_scope_and_its_records_before_and_after() {
    let sandbox = Sandbox::delivered();
    sandbox.script("triage", triage("Sort todos", &["prd", "plan", "code"], &["lib/list.sh"]));
    let update = json!({
        "id": "REQ-002",
        "title": "List todos | sorted",
        "acceptance_criteria": ["List todos works", "the oldest comes first"],
    });
    sandbox.script(
        "prd",
        Reply::call("update_requirement", update)
            .and("create_requirement", todo::requirement("Due dates"))
            .and(
                "update_feature",
                json!({"id": "FEAT-002", "requirement_ids": ["REQ-002", "REQ-003", "REQ-004"]}),
            ),
    );
    sandbox.script("plan", Reply::call("create_task", task("Sort", "lib/sort.sh", "FEAT-002")));
    let work = Reply::call("write_file", json!({"path": "lib/sort.sh", "content": "# sort\n"}))
        .and("write_file", json!({"path": "lib/other.sh", "content": "# other\n"}))
        .and("update_task_status", json!({"task_id": "TASK-006", "new_status": "completed"}));
    sandbox.server.on(at("coding", "actor").task("TASK-006").turn(1), work);
    // What the model says of it does not stay.
    let own = "\n## Records before and after\n\nNothing changed.\n";
    let report = json!({"content": format!("{}{own}", todo::DELIVERY)});
    sandbox.script("delivery", Reply::call("save_delivery_report", report));
    sandbox.cowork(&["modify", "sort todos", "--review", "auto"]).exits(0);
    let report = sandbox.artifact("changes/sort-todos/delivery_report.md");
    let section = |heading: &str| {
        let rest = report.split(&format!("\n## {heading}\n")).nth(1);
        rest.unwrap_or_else(|| panic!("{report}")).split("\n## ").next().unwrap().trim().to_owned()
    };
    let scope = section("Scope of the change");
    assert_eq!(
        scope,
        "- low risk; prd, plan and code\n- Components: COMP-001\n- Files: lib/list.sh\n\
         - Stays as it is: todos stay in one file\n\
         - Files changed outside this scope (named by neither triage nor a task):\n  - `lib/other.sh`"
    );
    let records = section("Records before and after");
    let items: Vec<&str> = records.lines().collect();
    assert_eq!(
        items,
        [
            "- REQ-002 List todos \\| sorted, title: List todos → List todos \\| sorted",
            "- REQ-002 List todos \\| sorted, acceptance_criteria: (nothing) → the oldest comes first",
            "- REQ-004 Due dates: added",
            "- FEAT-002 Reading and ticking, requirement_ids: (nothing) → REQ-004",
            "- TASK-006 Sort: added",
        ]
    );
    // Only upper limits were told, and for what it adds.
    for (stage, limits) in
        [("prd", "at most 6 requirements, at most 4 features."), ("plan", "at most 12 tasks.")]
    {
        let asked = sandbox.server.requests_of(stage, "actor").last().unwrap().text();
        let line = format!("\nLimits for what this change request adds: {limits}");
        assert!(asked.contains(&line), "{asked}");
    }
    // A session of its own has no such sections.
    assert!(!sandbox.artifact("delivery_report.md").contains("## Scope of the change"));
    let asked = sandbox.server.requests_of("delivery", "actor").last().unwrap().text();
    assert!(asked.contains("`## Records before and after`: do not write these"), "{asked}");
}
