//! The happy path of a small project: a todo list of five shell files, through all seven stages.

use serde_json::{Value, json};

use super::reply::Reply;
use super::script::{Script, at};
use super::server::Received;

/// Id, title, file, feature, component, dependencies.
pub type PlannedTask =
    (&'static str, &'static str, &'static str, &'static str, &'static str, &'static [&'static str]);

pub const TASKS: [PlannedTask; 5] = [
    ("TASK-001", "Keep todos in a file", "lib/store.sh", "FEAT-001", "COMP-001", &[]),
    ("TASK-002", "Add a todo", "lib/add.sh", "FEAT-001", "COMP-001", &["TASK-001"]),
    ("TASK-003", "List todos", "lib/list.sh", "FEAT-002", "COMP-001", &["TASK-001"]),
    ("TASK-004", "Tick a todo off", "lib/done.sh", "FEAT-002", "COMP-001", &["TASK-001"]),
    (
        "TASK-005",
        "Read the command line",
        "todo.sh",
        "FEAT-001",
        "COMP-002",
        &["TASK-002", "TASK-003", "TASK-004"],
    ),
];

pub const STAGES: [&str; 7] = ["idea", "prd", "design", "plan", "coding", "check", "delivery"];

pub const IDEA: &str = "# A todo list for the terminal

## Problem
Notes get lost — naïve paper slips do not follow you.

## Users
People who live in a terminal.

## Goals
Add, list and tick off todos.

## Thoughts
One file, no server.

## Technical
POSIX shell.

## Next
Write the requirements.
";

pub const PRD: &str = "# Product requirements

## Requirements

### REQ-001 Add a todo

`high` `functional`

A user can: Add a todo.

- Add a todo works

### REQ-002 List todos

`high` `functional`

A user can: List todos.

- List todos works

### REQ-003 Tick a todo off

`high` `functional`

A user can: Tick a todo off.

- Tick a todo off works

## Features

### FEAT-001 Adding

`REQ-001`

Adding.

- Adding is there

### FEAT-002 Reading and ticking

`REQ-002` `REQ-003`

Reading and ticking.

- Reading and ticking is there

## Later

Nothing is put off.
";

pub const DESIGN: &str = "# Design

One script and a few functions; todos live in one text file.

## Components

### COMP-001 Todo core

`module` `POSIX sh` `FEAT-001` `FEAT-002`

- Todo core does its part

```
shell functions
```

### COMP-002 Command line

`module` `POSIX sh` `FEAT-001`

- Command line does its part

```
shell functions
```

## Later

Nothing is put off.
";

/// `plan.md`, from [`TASKS`].
pub fn plan() -> String {
    let task = |(id, title, file, feature, component, dependencies): PlannedTask| {
        let fields = [&[feature, component], dependencies, &[file]].concat();
        let about = format!("{title}, in {file}.");
        section(id, title, &fields, &about, &format!("{file} exists"))
    };
    let tasks: String = TASKS.into_iter().map(task).collect();
    format!("# Plan\n\n## Tasks\n{tasks}\n## Later\n\nNothing is put off.\n")
}

/// A record as a section of a document.
fn section(id: &str, title: &str, fields: &[&str], about: &str, criterion: &str) -> String {
    let fields: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
    format!("\n### {id} {title}\n\n{}\n\n{about}\n\n- {criterion}\n", fields.join(" "))
}

/// [`requirement`] as a section of `prd.md`.
pub fn requirement_section(id: &str, title: &str) -> String {
    let about = format!("A user can: {title}.");
    section(id, title, &["high", "functional"], &about, &format!("{title} works"))
}

/// [`feature`] as a section of `prd.md`.
pub fn feature_section(id: &str, name: &str, requirements: &[&str]) -> String {
    section(id, name, requirements, &format!("{name}."), &format!("{name} is there"))
}

/// A task of COMP-001 that creates a file, as a section of `plan.md`.
pub fn task_section(id: &str, title: &str, feature: &str, file: &str) -> String {
    let about = format!("{title}, in {file}.");
    section(id, title, &[feature, "COMP-001", file], &about, &format!("{file} exists"))
}

pub const CHECK: &str = "# Check report

Every file of the plan is there. FEAT-001 and FEAT-002 are covered.
";

pub const DELIVERY: &str = "Add a todo list for the terminal

## Summary
A todo list of five small shell files.

## Changes
`todo.sh` and `lib/`.

## Scope
REQ-001, REQ-002 and REQ-003 through FEAT-001 and FEAT-002.

## Traceability
```mermaid
graph LR
  REQ-001 --> FEAT-001
```

## Testing
By hand.
";

/// The reply of an actor to feedback on its draft. The happy path never needs it.
pub const AT_A_LOSS: &str = "I know no better.";

/// The file that a task creates.
pub fn file_of(task: &str) -> &'static str {
    TASKS.iter().find(|t| t.0 == task).unwrap().2
}

/// The content of the task's file.
pub fn code_of(task: &str) -> String {
    format!("# {task}: {}\n", TASKS.iter().find(|t| t.0 == task).unwrap().1)
}

pub fn requirement(title: &str) -> Value {
    json!({
        "title": title,
        "description": format!("A user can: {title}."),
        "priority": "high",
        "category": "functional",
        "acceptance_criteria": [format!("{title} works")],
    })
}

pub fn feature(name: &str, requirements: &[&str]) -> Value {
    json!({
        "name": name,
        "description": format!("{name}."),
        "requirement_ids": requirements,
        "completion_criteria": [format!("{name} is there")],
    })
}

pub fn component(name: &str, features: &[&str]) -> Value {
    json!({
        "name": name,
        "component_type": "module",
        "responsibilities": [format!("{name} does its part")],
        "technology": "POSIX sh",
        "interfaces": ["shell functions"],
        "related_features": features,
    })
}

pub fn task(index: usize) -> Value {
    let (_, title, file, feature, component, dependencies) = TASKS[index];
    json!({
        "title": title,
        "description": format!("{title}, in {file}."),
        "feature_id": feature,
        "component_id": component,
        "dependencies": dependencies,
        "files_to_create": [file],
        "acceptance_criteria": [format!("{file} exists")],
    })
}

/// The whole PRD draft in one turn.
pub fn prd_draft() -> Reply {
    Reply::call("save_prd_doc", json!({"content": PRD}))
}

/// The whole design draft in one turn.
pub fn design_draft() -> Reply {
    Reply::call("save_design_doc", json!({"content": DESIGN}))
}

/// The whole plan draft in one turn.
pub fn plan_draft() -> Reply {
    Reply::call("save_plan_doc", json!({"content": plan()}))
}

/// Writes a task's file and reports it completed.
pub fn task_work(task: &str) -> Reply {
    Reply::call("write_file", json!({"path": file_of(task), "content": code_of(task)}))
        .and("update_task_status", json!({"task_id": task, "new_status": "completed"}))
        .saying("The task is done.")
}

/// An actor whose first turn does not end the draft, because one of its calls fails.
pub fn lingers(received: &Received, reply: Reply) -> Reply {
    if received.role != "actor" || received.turn != 1 || reply.calls.is_empty() {
        return reply;
    }
    reply.and("read_file", json!({"path": "nowhere.txt"}))
}

/// The critic's approval.
pub fn approve() -> Reply {
    Reply::call("exit_loop", json!({"summary": "It is simple and complete."}))
}

/// The critic's rejection.
pub fn reject(details: &str) -> Reply {
    Reply::call(
        "provide_feedback",
        json!({
            "feedback_type": "quality_issue",
            "severity": "major",
            "details": details,
            "suggested_fix": "Fix it.",
        }),
    )
}

impl Script {
    /// Scripts the happy path. Rules that are scripted later take precedence.
    pub fn todo() -> Self {
        let mut script = Self::default();
        let drafts = [
            ("idea", Reply::call("save_idea", json!({"content": IDEA}))),
            ("prd", prd_draft()),
            ("design", design_draft()),
            ("plan", plan_draft()),
            ("check", Reply::call("save_check_report", json!({"content": CHECK}))),
            ("delivery", Reply::call("save_delivery_report", json!({"content": DELIVERY}))),
        ];
        for (stage, draft) in drafts {
            let draft = draft.saying("The draft is saved.");
            script.on(at(stage, "actor"), Reply::text(AT_A_LOSS));
            script.on(at(stage, "actor").turn(1), draft);
            script.on(at(stage, "self-review"), Reply::text("<review>PASS</review>"));
        }
        script.on(at("triage", "actor"), Reply::text(AT_A_LOSS));
        script.on(at("coding", "actor"), Reply::text(AT_A_LOSS));
        script.on_with(at("coding", "actor").turn(1), |received| {
            let task = received.task.as_deref()?;
            TASKS.iter().any(|t| t.0 == task).then(|| task_work(task))
        });
        for stage in ["prd", "design", "plan", "coding"] {
            script.on(at(stage, "critic").turn(1), approve());
        }
        script
    }
}
