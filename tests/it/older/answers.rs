//! What models said to the release before records were sections of the documents: prose, and every
//! record once more by a call.

use serde_json::json;

use crate::support::change::task as change_task;
use crate::support::change::triage;
use crate::support::{Reply, Sandbox, at, todo};

/// Ids in lists, as many models wrote them.
const PRD: &str = "# Product requirements

## Requirements
- REQ-001 Add a todo
- REQ-002 List todos
- REQ-003 Tick a todo off

## Features
- FEAT-001 Adding (REQ-001)
- FEAT-002 Reading and ticking (REQ-002, REQ-003)
";

const DESIGN: &str = "# Design

One script and a few functions; todos live in one text file.

## Components
- COMP-001 Todo core: keeps the list (FEAT-001, FEAT-002)
- COMP-002 Command line: reads the arguments (FEAT-001)
";

/// Headings that begin with an id, as others did: they look like records and say less, or other
/// things.
pub const PRD_OF_HEADINGS: &str = "# Product requirements

For people in a hurry.

## Requirements

### REQ-001 Add a todo

**Priority:** high

People add a todo with one command.

- it is in the list at once
- it is there after a restart

### REQ-002: List todos

Priority: must have

### REQ-003 Tick a todo off

`urgent`

## Features

### FEAT-001 Adding

Covers REQ-001.

### FEAT-002 Reading and ticking

Covers REQ-002 and REQ-003.

## Later

Nothing is put off.
";

fn plan() -> String {
    let line = |(id, title, file, feature, component, _): &todo::PlannedTask| {
        format!("- {id} {title} ({feature}, {component}): `{file}`\n")
    };
    let lines: String = todo::TASKS.iter().map(line).collect();
    format!("# Plan\n\n## Tasks\n{lines}")
}

fn prd_draft(document: &str) -> Reply {
    Reply::call("save_prd_doc", json!({"content": document}))
        .and("create_requirement", todo::requirement("Add a todo"))
        .and("create_requirement", todo::requirement("List todos"))
        .and("create_requirement", todo::requirement("Tick a todo off"))
        .and("add_feature", todo::feature("Adding", &["REQ-001"]))
        .and("add_feature", todo::feature("Reading and ticking", &["REQ-002", "REQ-003"]))
}

/// The drafts of all stages, with this `prd.md`.
pub fn give(sandbox: &Sandbox, prd: &str) {
    sandbox.script("prd", prd_draft(prd));
    let components = ["Todo core", "Command line"];
    let design = Reply::call("save_design_doc", json!({"content": DESIGN}))
        .and("create_design_component", todo::component(components[0], &["FEAT-001", "FEAT-002"]))
        .and("create_design_component", todo::component(components[1], &["FEAT-001"]));
    sandbox.script("design", design);
    let draft = Reply::call("save_plan_doc", json!({"content": plan()}));
    let draft =
        (0..todo::TASKS.len()).fold(draft, |draft, i| draft.and("create_task", todo::task(i)));
    sandbox.script("plan", draft);
}

/// The same with ids in lists.
pub fn give_lists(sandbox: &Sandbox) {
    give(sandbox, PRD);
}

/// Drafts that have only begun: the document and its first record, and more to come.
pub fn give_beginnings(sandbox: &Sandbox) {
    let begin = |stage: &str, tool: &str, text: &str, create: &str, record: serde_json::Value| {
        let draft = Reply::call(tool, json!({"content": text})).and(create, record);
        sandbox.script(stage, draft);
    };
    begin("prd", "save_prd_doc", PRD, "create_requirement", todo::requirement("Add a todo"));
    let core = todo::component("Todo core", &["FEAT-001", "FEAT-002"]);
    begin("design", "save_design_doc", DESIGN, "create_design_component", core);
    begin("plan", "save_plan_doc", &plan(), "create_task", todo::task(0));
}

/// A change that adds a requirement, a feature and a task with one file.
pub fn give_addition(sandbox: &Sandbox) {
    sandbox.script("triage", triage("Due dates", &["prd", "plan", "code"], &["lib/due.sh"]));
    let prd = format!("{PRD}- REQ-004 Due dates\n- FEAT-003 Due dates (REQ-004)\n");
    let draft = Reply::call("save_prd_doc", json!({"content": prd}))
        .and("create_requirement", todo::requirement("Due dates"))
        .and("add_feature", todo::feature("Due dates", &["REQ-004"]));
    sandbox.script("prd", draft);
    let plan = format!("{}- TASK-006 Due dates (FEAT-003, COMP-001): `lib/due.sh`\n", plan());
    let draft = Reply::call("save_plan_doc", json!({"content": plan}))
        .and("create_task", change_task("Due dates", "lib/due.sh", "FEAT-003"));
    sandbox.script("plan", draft);
    work_on_due_dates(sandbox);
}

/// The work on the task of that change.
pub fn work_on_due_dates(sandbox: &Sandbox) {
    let work = Reply::call("write_file", json!({"path": "lib/due.sh", "content": "# new\n"}))
        .and("update_task_status", json!({"task_id": "TASK-006", "new_status": "completed"}));
    sandbox.server.on(at("coding", "actor").task("TASK-006").turn(1), work);
}
