//! What the program itself tells of a change request: in its delivery report, to its actors and to
//! its critics.

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

#[test]
fn critics_of_a_change_read_its_difference_first() {
    let sandbox = Sandbox::delivered();
    sandbox.script_addition("Due dates", ["REQ-004", "FEAT-003", "TASK-006"], "lib/due.sh");
    sandbox.cowork(&["modify", "due dates", "-n", "due", "--review", "auto"]).exits(0);
    for (stage, added, whole) in [
        ("prd", "+### REQ-004 Due dates", "\n### REQ-001 Add a todo"),
        ("plan", "+### TASK-006 Due dates", "\n- TASK-001 Keep todos in a file: "),
    ] {
        let asked = sandbox.server.requests_of(stage, "critic").last().unwrap().text();
        let difference = asked.find(added).unwrap_or_else(|| panic!("{asked}"));
        let request = asked.find("change_request.json\n").unwrap();
        let document = asked.rfind(whole).unwrap();
        assert!(request < difference && difference < document, "{stage}: {asked}");
        let idea = asked.find("## .cowork/sessions/todo/idea.md");
        assert_eq!(idea.is_some_and(|idea| difference < idea), stage == "prd", "{asked}");
    }
}

#[test]
fn requests_of_a_change_have_one_line_for_each_task_completed_before() {
    let sandbox = Sandbox::delivered();
    sandbox.script_addition("Due dates", ["REQ-004", "FEAT-003", "TASK-006"], "lib/due.sh");
    sandbox.cowork(&["modify", "due dates", "-n", "due", "--review", "auto"]).exits(0);
    for (stage, role) in
        [("triage", "actor"), ("plan", "actor"), ("coding", "actor"), ("coding", "critic")]
    {
        let request = sandbox.server.requests_of(stage, role).last().unwrap().clone();
        let asked = request.text();
        assert!(
            asked.contains("\n- TASK-001 Keep todos in a file: lib/store.sh"),
            "{stage} {role}: {asked}"
        );
        assert!(!asked.contains("### TASK-001 Keep"), "{stage} {role}: {asked}");
        // What the program checks itself, and what loads the documents that are there, is answered,
        // but not declared.
        for tool in ["load_plan_doc", "get_plan", "check_task_dependencies", "check_tests"] {
            assert!(!request.tools().contains(&tool.to_owned()), "{stage} {role}: {tool}");
        }
    }
    let plan = sandbox.artifact("plan.md");
    assert!(plan.contains("### TASK-001 Keep todos"), "{plan}");
}

#[test]
fn a_design_that_a_change_touches_is_judged() {
    let sandbox = Sandbox::delivered();
    sandbox.script_addition("Due dates", ["REQ-004", "FEAT-003", "TASK-006"], "lib/due.sh");
    sandbox.script("triage", triage("Due dates", &["prd", "design", "plan", "code"], &[]));
    let line = "`module` `POSIX sh` `FEAT-001` `FEAT-002`";
    let design = todo::DESIGN.replace(line, &format!("{line} `FEAT-003`"));
    sandbox.script("design", Reply::call("save_design_doc", json!({"content": design})));
    let modify = ["modify", "due dates", "-n", "due", "--depth", "standard", "--review", "auto"];
    sandbox.cowork(&modify).exits(0);
    let asked = sandbox.server.requests_of("plan", "critic").last().unwrap().text();
    assert!(asked.contains("+`module` `POSIX sh` `FEAT-001` `FEAT-002` `FEAT-003`"), "{asked}");
    assert!(asked.contains("`design.md` is judged with it"), "{asked}");
}

#[test]
fn a_stage_in_the_scope_that_changes_nothing_says_why() {
    let sandbox = Sandbox::delivered();
    sandbox.script_small_change("lib/add.sh", "at once");
    sandbox.script("triage", triage("Say more", &["prd", "code"], &["lib/add.sh"]));
    let reason = "REQ-001 covers it as it stands.";
    sandbox.server.on(at("prd", "actor"), Reply::text(reason));
    let before = sandbox.server.requests_of("prd", "actor").len();
    let outcome =
        sandbox.cowork(&["modify", "say more", "-n", "more", "--review", "auto"]).exits(0);
    let told = "names prd, but nothing in its documents changed; its actor says: REQ-001 covers it";
    assert!(outcome.stderr.contains(told), "{}", outcome.stderr);
    // One question in the same conversation, and no other draft.
    let asked = &sandbox.server.requests_of("prd", "actor")[before..];
    assert_eq!(asked.len(), 2);
    assert!(asked[1].text().contains("say in one sentence why nothing has to change"));
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Iterations"], ["1"]);
}
