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
        "- Sort todos\n- low risk; prd, plan and code\n- Components: COMP-001\n\
         - Files: 1 that triage named not changed\n\
         - Stays as it is: todos stay in one file\n\
         - Files changed outside this scope (named by neither triage nor a task):\n  - `lib/other.sh`"
    );
    let records = section("Records before and after");
    let items: Vec<&str> = records.lines().collect();
    assert_eq!(
        items,
        [
            "- REQ-002 List todos \\| sorted, title: List todos → List todos \\| sorted",
            "- REQ-002 List todos \\| sorted, acceptance_criteria: added: the oldest comes first",
            "- REQ-004 Due dates: added",
            "- FEAT-002 Reading and ticking, requirement_ids: added: REQ-004",
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

/// A delivered session whose requirements have many criteria.
fn with_many_criteria() -> Sandbox {
    let sandbox = Sandbox::new();
    let wide = |title: &str| {
        let mut record = todo::requirement(title);
        record["acceptance_criteria"] = (0..9).map(|n| old_criterion(title, n)).collect();
        record
    };
    let prd = Reply::call("save_prd_doc", json!({"content": "# PRD\n\nWhat it must do.\n"}))
        .and("create_requirement", wide("Add a todo"))
        .and("create_requirement", wide("List todos"))
        .and("create_requirement", wide("Tick a todo off"))
        .and("add_feature", todo::feature("Adding", &["REQ-001"]))
        .and("add_feature", todo::feature("Reading and ticking", &["REQ-002", "REQ-003"]));
    sandbox.script("prd", prd);
    sandbox.auto(&[]).exits(0);
    sandbox
}

fn old_criterion(title: &str, n: usize) -> String {
    format!("{title}: rule {n} holds")
}

#[test]
fn what_a_change_asks_for_stays_whole_and_what_is_as_before_is_counted() {
    let sandbox = with_many_criteria();
    let constraint = "what was written before is read as it was written, in every case; ".repeat(6);
    let asked = triage("Sort todos", &["prd", "plan", "code"], &["lib/list.sh", "lib/sort.sh"]);
    let mut asked: serde_json::Value = serde_json::from_str(&asked.calls[0].arguments).unwrap();
    asked["constraints"] = json!([constraint, "one file"]);
    sandbox.script("triage", Reply::call("save_change_request", asked));
    let list = |title: &str| (0..9).map(|n| old_criterion(title, n)).collect::<Vec<_>>();
    let reworded =
        |end: &str| format!("{} {end}", "WHEN todos are shown THEN they are in order, ".repeat(6));
    let mut sorted = list("List todos");
    sorted[4] = reworded("the oldest first");
    let fewer: Vec<String> = list("Add a todo").into_iter().skip(1).collect();
    sandbox.script(
        "prd",
        Reply::call("update_requirement", json!({"id": "REQ-001", "acceptance_criteria": fewer}))
            .and("update_requirement", json!({"id": "REQ-002", "acceptance_criteria": sorted})),
    );
    sandbox.script(
        "plan",
        Reply::call("create_task", task("Sort", "lib/sort.sh", "FEAT-002"))
            .and("create_task", task("Sort all", "lib/all.sh", "FEAT-002")),
    );
    let done = |id: &str| json!({"task_id": id, "new_status": "completed"});
    let first = Reply::call("write_file", json!({"path": "lib/sort.sh", "content": "# sort\n"}))
        .and("write_file", json!({"path": "lib/draft.sh", "content": "# draft\n"}))
        .and("update_task_status", done("TASK-006"));
    sandbox.server.on(at("coding", "actor").task("TASK-006").turn(1), first);
    let second = Reply::call("write_file", json!({"path": "lib/all.sh", "content": "# all\n"}))
        .and("delete_file", json!({"path": "lib/draft.sh"}))
        .and("update_task_status", done("TASK-007"));
    sandbox.server.on(at("coding", "actor").task("TASK-007").turn(1), second);
    sandbox.cowork(&["modify", "sort todos", "-n", "sort", "--review", "auto"]).exits(0);
    let report = sandbox.artifact("changes/sort/delivery_report.md");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let section = |heading: &str| {
        let rest = report.split(&format!("\n## {heading}\n\n")).nth(1);
        let part = rest.unwrap_or_else(|| panic!("{report}")).split("\n\n## ").next().unwrap();
        part.to_owned()
    };
    // What is new comes first, and is whole.
    let headings: Vec<&str> = report.lines().filter(|line| line.starts_with("## ")).collect();
    let at = |heading: &str| headings.iter().position(|one| *one == heading);
    assert!(at("## Acceptance criteria") < at("## Scope of the change"), "{report}");
    assert!(at("## Scope of the change") < at("## Changes"), "{report}");
    let criteria = words(&section("Acceptance criteria"));
    let new = format!("- {} (by review)", words(&reworded("the oldest first")));
    assert!(criteria.contains(&new), "{report}");
    assert!(criteria.contains("- **REQ-002 List todos** (changed): FEAT-002"), "{report}");
    assert!(!criteria.contains("rule 5"), "{report}");
    let rest = "- Unchanged: 1 requirement, 25 criteria: `git cowork show todo--sort prd`";
    assert!(criteria.ends_with(rest), "{report}");
    let scope = words(&section("Scope of the change"));
    assert!(scope.contains(&words(&constraint)) && scope.contains("; one file"), "{report}");
    // The files are those of the difference.
    assert!(scope.contains("- Files: lib/sort.sh; 1 that triage named not changed"), "{report}");
    let changed = sandbox.git(&["diff", "--name-only", "cowork/todo", "HEAD", "--", ":!.cowork"]);
    assert_eq!(changed, "lib/all.sh\nlib/sort.sh");
    for file in ["draft.sh", "list.sh"] {
        assert!(!report.contains(file), "{file} in\n{report}");
    }
    // Both texts of what was reworded, and what was removed.
    let records = words(&section("Records before and after"));
    let both = format!(
        "- REQ-002 List todos, acceptance_criteria: List todos: rule 4 holds → {}",
        words(&reworded("the oldest first"))
    );
    assert!(records.contains(&both), "{report}");
    let removed = "- REQ-001 Add a todo, acceptance_criteria: removed: Add a todo: rule 0 holds";
    assert!(records.contains(removed), "{report}");
}

#[test]
fn code_stays_whole_in_the_report_and_its_merge_and_requirements_left_out_are_counted() {
    let sandbox = Sandbox::delivered();
    sandbox.script("triage", triage("Sort todos", &["prd", "plan", "code"], &["lib/sort.sh"]));
    let command = format!("`sh list.sh{}`", " --sorted --by-age --for everyone".repeat(4));
    let criterion = format!("WHEN I run {command} THEN {}", "all of it is in order, ".repeat(6));
    let criterion = criterion.trim_end_matches(", ");
    let rewritten = json!({"id": "REQ-001", "acceptance_criteria": [criterion, "it is quick"]});
    sandbox.script("prd", Reply::call("update_requirement", rewritten));
    sandbox.script("plan", Reply::call("create_task", task("Sort", "lib/sort.sh", "FEAT-001")));
    let work = Reply::call("write_file", json!({"path": "lib/sort.sh", "content": "# sort\n"}))
        .and("update_task_status", json!({"task_id": "TASK-006", "new_status": "completed"}));
    sandbox.server.on(at("coding", "actor").task("TASK-006").turn(1), work);
    sandbox.cowork(&["modify", "sort todos", "-n", "sort", "--review", "auto"]).exits(0);
    let report = sandbox.artifact("changes/sort/delivery_report.md");
    sandbox.cowork(&["merge", "todo--sort"]).exits(0);
    let message = sandbox.git(&["log", "-1", "--format=%B", "cowork/todo"]);
    for text in [&report, &message] {
        // Once as a criterion, and once among the records.
        assert_eq!(text.lines().filter(|line| line.contains(&command)).count(), 2, "{text}");
        let left_out = "\n- 2 other requirements unchanged: `git cowork show todo--sort prd`\n";
        assert!(text.contains(left_out), "{text}");
        assert!(text.contains(", acceptance_criteria: removed: Add a todo works\n"), "{text}");
    }
    // The message's lines are as long as they may be: what the report breaks is joined first.
    let at = message.find("  - WHEN I run").unwrap();
    let lines: Vec<&str> = message[at..].lines().take(8).collect();
    assert_eq!(lines[..2], ["  - WHEN I run", &command], "{message}");
    let end = lines.iter().position(|line| line.ends_with("(by review)")).unwrap();
    for (line, next) in lines[2..end].iter().zip(&lines[3..]) {
        let word = next.split(' ').next().unwrap();
        assert!(!next.starts_with(' ') && line.len() + 1 + word.len() > 72, "{message}");
    }
}

/// A delivered session, and a change with a new requirement for a feature that no task works on.
fn without_task() -> Sandbox {
    let sandbox = Sandbox::delivered();
    sandbox.script("triage", triage("Due dates", &["prd", "plan", "code"], &["lib/due.sh"]));
    let feature = json!({"id": "FEAT-002", "requirement_ids": ["REQ-002", "REQ-003", "REQ-004"]});
    sandbox.script(
        "prd",
        Reply::call("create_requirement", todo::requirement("Due dates"))
            .and("update_feature", feature),
    );
    sandbox.script("plan", Reply::call("create_task", task("Due", "lib/due.sh", "FEAT-001")));
    let work = Reply::call("write_file", json!({"path": "lib/due.sh", "content": "# due\n"}))
        .and("update_task_status", json!({"task_id": "TASK-006", "new_status": "completed"}));
    sandbox.server.on(at("coding", "actor").task("TASK-006").turn(1), work);
    sandbox
}

const MODIFY: [&str; 4] = ["modify", "due dates", "-n", "due"];

#[test]
fn a_requirement_that_no_task_meets_is_not_covered() {
    for depth in ["standard", "thorough"] {
        let sandbox = without_task();
        let modify = [&MODIFY[..], &["--depth", depth, "--review", "auto"]].concat();
        let told = sandbox.cowork(&modify).exits(0).stderr;
        let why = "no completed task works on FEAT-002";
        assert_eq!(told.matches(&format!("REQ-004 is not covered: {why}")).count(), 1, "{told}");
        // What the change did not add was built before.
        assert!(!told.contains("REQ-001 is not covered"), "{told}");
        for document in ["check_report.md", "delivery_report.md"] {
            let report = sandbox.artifact(&format!("changes/due/{document}"));
            assert!(report.contains(&format!("Due dates works (not covered: {why})")), "{report}");
            assert!(!report.contains("Due dates works (by review)"), "{report}");
        }
    }
}

#[test]
fn a_new_criterion_that_no_task_of_the_change_meets_is_not_covered() {
    let why = "no completed task of this change works on it";
    for (feature, line) in [
        ("FEAT-001", format!("A todo has a date (not covered: {why})")),
        ("FEAT-002", "A todo has a date (by review)".to_owned()),
    ] {
        let sandbox = Sandbox::delivered();
        sandbox.script("triage", triage("Due dates", &["prd", "plan", "code"], &["lib/due.sh"]));
        let before = sandbox.artifact("requirements.json");
        let before: serde_json::Value = serde_json::from_str(&before).unwrap();
        let mut criteria = before["requirements"][1]["acceptance_criteria"].clone();
        criteria.as_array_mut().unwrap().push(json!("A todo has a date"));
        let more = json!({"id": "REQ-002", "acceptance_criteria": criteria});
        sandbox.script("prd", Reply::call("update_requirement", more));
        sandbox.script("plan", Reply::call("create_task", task("Due", "lib/due.sh", feature)));
        let work = Reply::call("write_file", json!({"path": "lib/due.sh", "content": "# due\n"}))
            .and("update_task_status", json!({"task_id": "TASK-006", "new_status": "completed"}));
        sandbox.server.on(at("coding", "actor").task("TASK-006").turn(1), work);
        let modify = [&MODIFY[..], &["--depth", "thorough", "--review", "auto"]].concat();
        let told = sandbox.cowork(&modify).exits(0).stderr;
        let is_told = told.contains(&format!("REQ-002 is not covered: {why}"));
        assert_eq!(is_told, feature == "FEAT-001", "{told}");
        for document in ["check_report.md", "delivery_report.md"] {
            let report = sandbox.artifact(&format!("changes/due/{document}"));
            assert!(report.contains(&line), "{report}");
            assert_eq!(report.matches("(not covered").count(), usize::from(is_told), "{report}");
        }
    }
}

#[cfg(unix)]
#[test]
fn the_gate_of_the_check_shows_what_no_task_meets() {
    let sandbox = without_task();
    sandbox.user_config("[review]\ngates = [\"check\"]\n");
    let mut terminal = sandbox.terminal(&[&MODIFY[..], &["--depth", "thorough"]].concat());
    terminal.sees("REQ-004 is not covered");
    terminal.sees("p pass ");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
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
    let with_files = "\n- TASK-001 Keep todos in a file: lib/store.sh";
    let titles =
        "left out of plan.md above (read_file shows them)\n\nTASK-001 Keep todos in a file; ";
    for (stage, role, told) in [
        ("triage", "actor", with_files),
        ("plan", "actor", with_files),
        ("coding", "actor", titles),
        ("coding", "critic", titles),
    ] {
        let request = sandbox.server.requests_of(stage, role).last().unwrap().clone();
        let asked = request.text();
        assert!(asked.contains(told), "{stage} {role}: {asked}");
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
fn who_judges_or_codes_a_change_gets_of_unchanged_records_the_titles() {
    let sandbox = Sandbox::delivered();
    sandbox.script_addition("Due dates", ["REQ-004", "FEAT-003", "TASK-006"], "lib/due.sh");
    let modify = ["modify", "due dates", "-n", "due", "--depth", "standard", "--review", "auto"];
    sandbox.cowork(&modify).exits(0);
    let asked = |stage, role| sandbox.server.requests_of(stage, role).last().unwrap().text();
    let whole = "### REQ-001 Add";
    for (stage, role) in [("prd", "actor"), ("prd", "critic"), ("plan", "actor")] {
        assert!(asked(stage, role).contains(whole), "{stage} {role}");
    }
    for (stage, role) in [("plan", "critic"), ("coding", "actor"), ("coding", "critic")] {
        let asked = asked(stage, role);
        assert!(!asked.contains(whole), "{stage} {role}: {asked}");
        let titles = "## As before, left out of prd.md above (read_file shows them)\n\nREQ-001 Add";
        assert!(asked.contains(titles), "{stage} {role}: {asked}");
        for own in ["### REQ-004 Due dates", "### FEAT-003 Due dates", "### TASK-006 Due dates"] {
            assert!(asked.contains(own), "{stage} {role} lacks {own}: {asked}");
        }
    }
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
