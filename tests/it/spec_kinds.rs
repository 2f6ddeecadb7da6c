//! `git cowork new -F` with the files of Kiro, Task Master, Backlog.md and BMAD.

use serde_json::Value;

use crate::support::Sandbox;
use crate::support::sandbox::Outcome;

const KIRO: [(&str, &str); 3] = [
    (
        ".kiro/specs/login/requirements.md",
        "# Requirements Document\n\n## Introduction\n\nA login for the shop.\n\n## Requirements\n\n\
         ### Requirement 1: Log in\n\n**User Story:** As a user, I want to log in, so that I see my orders.\n\n\
         #### Acceptance Criteria\n\n1. WHEN the password is right, THE System SHALL open a session\n\
         2. IF it is wrong, THEN THE System SHALL say so\n   and keep the name\n\n\
         ### Requirement 2\n\n**User Story:** As a user, I want to log out, so that nobody else buys.\n\n\
         #### Acceptance Criteria\n\n1. WHEN a user logs out, THE System SHALL end the session\n\n\
         ## Non-Functional Requirements\n\n### Performance\n\n- Pages come in 200 ms\n",
    ),
    (
        ".kiro/specs/login/design.md",
        "# Design Document\n\n## Overview\n\nSessions are kept in a table.\n\n## Properties\n\nProperty 1: Round trip\n",
    ),
    (
        ".kiro/specs/login/tasks.md",
        "# Implementation Plan\n\nThe shop gets a login.\n\n- [ ] 1. Set up the store\n  - Create `lib/__init__.py`\n\
         \u{20} - File: `src/session store.ts`, Makefile (new)\n  - _Requirements: 1.2_\n- [-] 2. Pages\n\
         \u{20} - [x] 2.1 Begun\n  - [ ] 2.2 Make app/routes/(shop)/[...slug].ts\n    - _Leverage: src/base.ts_\n\
         \u{20}   - **Validates: Requirements 2.1**\n  - [ ]* 2.3 Property tests\n- [ ] 3 Rest\n\
         - [ ] 3.1 Write `docs/user guide.md`\n  - _Requirements: All_\n- [ ] 4. Checkpoint - all tests pass\n\n\
         ## Notes\n\n- Tasks with a star are optional\n",
    ),
];

const TASK_MASTER: [(&str, &str); 3] = [
    (
        ".taskmaster/tasks/tasks.json",
        r#"{"master": {"tasks": [
          {"id": 1, "title": "Store", "description": "Keep todos in lib/store.sh", "details": "One file", "testStrategy": "a line is kept",
           "status": "in-progress", "dependencies": [], "priority": "high", "subtasks": []},
          {"id": "2", "title": "Add", "description": "In lib/add.sh", "status": "pending", "dependencies": ["1", 3, 4], "priority": "low",
           "subtasks": [{"id": 1, "title": "Parse", "description": "lib/args.sh", "status": "pending", "dependencies": []},
                        {"id": 2, "title": "Append", "description": "lib/add.sh", "status": "review", "dependencies": [1], "parentId": "undefined"},
                        {"id": 3, "title": "Tests", "description": "tests/add.sh", "status": "pending", "dependencies": ["2.2"]}]},
          {"id": 3, "title": "Old", "description": "x", "status": "done", "dependencies": []},
          {"id": 4, "title": "Later", "description": "x", "status": "deferred", "dependencies": []}]},
          "web": {"tasks": [{"id": 1, "title": "Page", "description": "web/page.html", "status": "pending"}]}}"#,
    ),
    (".taskmaster/state.json", r#"{"currentTag": "master"}"#),
    (".taskmaster/docs/prd.txt", "# Todos for the terminal\n\nAna forgets things.\n"),
];

const BACKLOG: [(&str, &str); 4] = [
    ("backlog/config.yml", "project_name: \"demo\"\nstatuses: [\"To Do\", \"Shipped\"]\n"),
    (
        "backlog/tasks/task-1 - Add-a-todo.md",
        "---\nid: TASK-1\ntitle: Add a todo\nstatus: To Do\nlabels:\n  - cli\ndependencies: []\npriority: high\nmodified_files: [lib/main.sh]\n---\n\n\
         ## Description\n\n<!-- SECTION:DESCRIPTION:BEGIN -->\nAna writes one down\n<!-- SECTION:DESCRIPTION:END -->\n\n\
         ## Acceptance Criteria\n<!-- AC:BEGIN -->\n- [ ] #1 one line is kept\n- [x] #2 the file is there\n<!-- AC:END -->\n\n\
         ## Definition of Done\n<!-- DOD:BEGIN -->\n- [ ] #1 the manual says so\n<!-- DOD:END -->\n\n\
         ## Implementation Plan\n\n<!-- SECTION:PLAN:BEGIN -->\n1. Write lib/store.sh\n2. Write lib/add.sh\n<!-- SECTION:PLAN:END -->\n\n\
         ## Implementation Notes\n\nNone yet.\n",
    ),
    (
        "backlog/tasks/task-2 - List.md",
        "---\nid: TASK-2\ntitle: List\nstatus: To Do\ndependencies:\n  - TASK-1\n---\n\n## Description\n\n<!-- SECTION:DESCRIPTION:BEGIN -->\nPrint in lib/list.sh\n<!-- SECTION:DESCRIPTION:END -->\n",
    ),
    ("backlog/tasks/task-3 - Old.md", "---\nid: TASK-3\ntitle: Old\nstatus: Shipped\n---\n"),
];

const BMAD: [(&str, &str); 5] = [
    (
        "specs/todo/SPEC.md",
        "---\nid: SPEC-todo\ncompanions: [glossary.md]\n---\n\n# Todo list\n\n## Why\n\nAna forgets things.\n\n## Capabilities\n\n\
         - **CAP-1**\n  - **intent:** Ana can add a todo.\n  - **success:** A line is in the file.\n\
         - **CAP-2**\n  - **intent:** Ana can list todos.\n  - **success:** All lines are printed.\n\n\
         ## Constraints\n\n- One text file\n\n## Open Questions\n\n- Is there an order?\n",
    ),
    ("specs/todo/glossary.md", "A todo is a line.\n"),
    (
        "specs/todo/stories.yaml",
        "- id: \"1\"\n  title: Add todos\n  description: >-\n    Add a line;\n    covers CAP-1.\n  spec_checkpoint: true\n\
         - id: \"2\"\n  title: List todos\n  description: Print (CAP-2) in lib/list.sh.\n- id: \"3\"\n  title: Gone\n  description: Done.\n",
    ),
    (
        "specs/todo/stories/1-add-todos.md",
        "---\ntitle: 'Add todos'\nstatus: 'ready-for-dev'\n---\n\n## Intent\n\n**Problem:** Nothing can be added.\n\n\
         ## I/O & Edge-Case Matrix\n\n| Scenario | Input | Expected | Errors |\n|---|---|---|---|\n| FULL | milk | it says so | N/A |\n\n\
         ## Tasks & Acceptance\n\n**Execution:**\n- [ ] `lib/add.sh` -- append a line -- the core\n- [ ] `tests/add.sh` -- test it -- edges\n\n\
         **Acceptance Criteria:**\n- Given an empty file, when Ana adds milk, then one line is there\n\n\
         ## Verification\n\n**Commands:**\n- `sh tests/add.sh` -- expected: exit 0\n",
    ),
    (
        "specs/todo/stories/3-gone.md",
        "---\ntitle: 'Gone'\nstatus: 'done'\n---\n\n## Tasks & Acceptance\n\n- [x] `a.sh` -- a -- b\n",
    ),
];

const EPICS: &str = "# Todo - Epic Breakdown\n\n## Requirements Inventory\n\n### Functional Requirements\n\nFR1: Users can add\nFR2: Users can list\n\n\
    ### NonFunctional Requirements\n\nNFR1: Fast\n\n### FR Coverage Map\n\nFR1: Epic 1 - adding\nFR2: Epic 2 - listing\n\n\
    ## Epic List\n\n### Epic 1: Adding\nAna adds.\n\n## Epic 1: Adding\n\nAna adds todos.\n\n### Story 1.1: Add\n\n\
    As a user,\nI want to add,\nSo that I do not forget.\n\n**Acceptance Criteria:**\n\n\
    **Given** an empty list\n**When** Ana adds milk\n**Then** one line is there\n**And** it is milk\n\n**Given** a full disk\n**When** Ana adds\n**Then** it says so\n\n\
    ## Epic 2: Listing\n\nAna lists.\n\n### Story 2.1: List\n\nAs a user,\nI want to list,\nSo that I see.\n\n**Acceptance Criteria:**\n\n**Given** two\n**When** listed\n**Then** both are printed\n";

fn with(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    files.iter().for_each(|(path, text)| sandbox.write(path, text));
    sandbox.commit_all("specs");
    sandbox
}

/// Starts a session whose first draft a person is to review, without a request.
#[track_caller]
fn drafted(sandbox: &Sandbox, args: &[&str]) -> (Outcome, String) {
    let args = [&["new", "-n", "s", "--depth", "quick", "--review", "wait", "-F"], args].concat();
    let told = sandbox.cowork(&args).exits(3);
    assert!(sandbox.server.requests().is_empty(), "the plan is that of the files");
    let plan = sandbox.blob("HEAD", ".cowork/sessions/s/plan.md");
    (told, plan)
}

#[track_caller]
fn has_all(text: &str, all: &[&str]) {
    for words in all {
        assert!(text.contains(words), "{words}\n---\n{text}");
    }
}

fn start_of(sandbox: &Sandbox) -> String {
    let start = sandbox.commit_of("cowork/s", "start: ");
    let message = sandbox.git(&["log", "-1", "--format=%B", &start]);
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn kiro_is_read() {
    let sandbox = with(&KIRO);
    let (told, plan) = drafted(&sandbox, &[".kiro/specs/login"]);
    let left_out =
        "Left out, not a task: tasks.md line 3 (Implementation Plan), tasks.md line 22 (Notes)";
    let not_planned =
        "Not planned: 1 task ticked (2.1), 1 task optional (2.3), 1 task as checkpoint (4)";
    has_all(
        &told.stderr,
        &[
            "From .kiro/specs/login (Kiro): requirements.md, design.md, tasks.md\n",
            left_out,
            not_planned,
            "3 requirements, 1 feature, 3 tasks",
        ],
    );
    has_all(&start_of(&sandbox), &[left_out, not_planned]);
    has_all(
        &plan,
        &[
            "# login\n",
            "### REQ-001 Requirement 1: Log in\n\n`medium` `functional`\n\nUser Story: As a user, I want to log in",
            "- IF it is wrong, THEN THE System SHALL say so and keep the name\n",
            "### REQ-002 Requirement 2: log out\n",
            "### REQ-003 Performance\n\n`medium` `non_functional`\n\nPerformance.\n\n- Pages come in 200 ms\n",
            "### FEAT-001 login\n\n`REQ-001` `REQ-002` `REQ-003`\n\nSessions are kept in a table.\n",
            "### TASK-001 1 Set up the store\n\n`FEAT-001` `REQ-001` `src/session store.ts` `Makefile` `lib/__init__.py`\n",
            "- IF it is wrong, THEN THE System SHALL say so and keep the name\n\n### TASK-002",
            "### TASK-002 2 Pages\n\n`FEAT-001` `REQ-002`\n",
            "TASK-002.1 2.2 Make app/routes/(shop)/[...slug].ts\n\n`FEAT-001` `app/routes/(shop)/[...slug].ts`\n\n",
            "_Leverage: src/base.ts_\n\n- WHEN a user logs out, THE System SHALL end the session\n",
            "### TASK-003 3 Rest\n\n`FEAT-001` `REQ-001` `REQ-002` `REQ-003`\n",
            "TASK-003.1 3.1 Write `docs/user guide.md`\n\n`FEAT-001` `docs/user guide.md`\n",
        ],
    );
    // The plan can be edited and passed with such paths.
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn the_same_three_files_are_read_elsewhere() {
    let moved: Vec<(String, &str)> =
        KIRO.iter().map(|(path, text)| (path.replace(".kiro", ".claude"), *text)).collect();
    let moved: Vec<(&str, &str)> = moved.iter().map(|(path, text)| (&**path, *text)).collect();
    let (_, plan) = drafted(&with(&moved), &[".claude/specs/login"]);
    has_all(&plan, &["From .claude/specs/login (Kiro)", "TASK-003.1 3.1 Write"]);
}

#[test]
fn task_master_is_read() {
    for path in [".taskmaster", ".taskmaster/tasks", ".taskmaster/tasks/tasks.json"] {
        let sandbox = with(&TASK_MASTER);
        let (told, plan) = drafted(&sandbox, &[path]);
        has_all(
            &told.stderr,
            &[
                "(Task Master): docs/prd.txt, state.json, tasks/tasks.json\n",
                "Not planned: 1 task done (3), 1 task deferred (4)\n",
                "Note: tag master; there are also: web (--tag NAME)\n",
                "Note: 2 needs 4, which is deferred\n",
                "2 requirements, 1 feature, 2 tasks",
            ],
        );
        has_all(
            &plan,
            &[
                "# Todos for the terminal\n",
                "### REQ-001 Store\n\n`high` `functional`\n\nKeep todos in lib/store.sh\n\nOne file\n\n- a line is kept\n",
                "### REQ-002 Add\n\n`low` `functional`\n\nIn lib/add.sh\n\n- In lib/add.sh\n",
                "### TASK-001 1 Store\n\n`FEAT-001` `REQ-001` `lib/store.sh`\n",
                "### TASK-002 2 Add\n\n`FEAT-001` `REQ-002` `TASK-001` `lib/add.sh`\n",
                "TASK-002.2 2.2 Append\n\n`FEAT-001` `TASK-002.1` `lib/add.sh`\n",
                "TASK-002.3 2.3 Tests\n\n`FEAT-001` `TASK-002.2` `tests/add.sh`\n",
            ],
        );
        let file = sandbox.blob("cowork/s", ".cowork/sessions/s/session.json");
        let file: Value = serde_json::from_str(&file).unwrap();
        let idea = file["idea"].as_str().unwrap();
        has_all(idea, &["Ana forgets things.", "- 3 Old (done)", "  - 2.1 Parse"]);
    }
}

#[test]
fn a_tag_of_task_master_is_chosen() {
    let sandbox = with(&TASK_MASTER);
    let (_, plan) = drafted(&sandbox, &[".taskmaster", "--tag", "web"]);
    has_all(&plan, &["# web\n", "### TASK-001 1 Page\n\n`FEAT-001` `REQ-001` `web/page.html`\n"]);
    let sandbox = with(&TASK_MASTER);
    let refused = |args: &[&str]| sandbox.cowork(&[&["new", "-F"], args].concat()).exits(2);
    refused(&[".taskmaster", "--tag", "x"])
        .says(".taskmaster: tasks/tasks.json has no tag 'x'")
        .says("hint: git cowork new -F .taskmaster --tag web\n");
    refused(&[".taskmaster", "--task", "1"]).says("--task is for Backlog.md");
    sandbox.write(".taskmaster/tasks/tasks.json", "{\"master\": ");
    refused(&[".taskmaster"]).says("tasks/tasks.json is not JSON: EOF");
    refused(&[".taskmaster/tasks/tasks.json"]).says("tasks/tasks.json is not JSON");
    let tags =
        r#"{"a": {"tasks": [{"id": 1, "title": "x", "status": "done"}]}, "b": {"tasks": []}}"#;
    sandbox.write(".taskmaster/tasks/tasks.json", tags);
    refused(&[".taskmaster", "--tag", "a"])
        .says(".taskmaster: tag 'a' has no open task")
        .says("hint: git cowork new -F .taskmaster --tag b\n");
    sandbox.write(
        ".taskmaster/tasks/tasks.json",
        "{\"tasks\": [{\"id\": 7, \"title\": \"Old form\", \"description\": \"a.sh\"}]}",
    );
    let (_, plan) = drafted(&sandbox, &[".taskmaster/tasks/tasks.json"]);
    has_all(&plan, &["### TASK-001 7 Old form\n\n`FEAT-001` `REQ-001`"]);
}

#[test]
fn a_task_of_a_backlog_is_chosen() {
    let sandbox = with(&BACKLOG);
    let refused = |args: &[&str]| sandbox.cowork(&[&["new", "-F"], args].concat()).exits(2);
    refused(&["backlog"])
        .says("backlog: it has 2 open tasks: TASK-1 (Add a todo), TASK-2 (List)")
        .says("hint: git cowork new -F backlog --task TASK-1\n")
        .says("hint: git cowork new -F backlog --task TASK-2\n");
    refused(&["backlog", "--task", "TASK-9"]).says("there is no task TASK-9");
    refused(&["backlog", "--task", "TASK-3"]).says("TASK-3 is finished: its status is Shipped");
    refused(&["backlog/tasks/task-2 - List.md", "--task", "TASK-1"])
        .says("--task does not apply: backlog/tasks/task-2 - List.md is one task");
    refused(&["backlog", "--task", "TASK-1", "--tag", "x"]).says("--tag is for Task Master");
    sandbox.write("backlog/tasks/task-4 - Bad.md", "---\nid: TASK-4\n  title: x: y\n---\n");
    refused(&["backlog", "--task", "TASK-4"])
        .says("the front matter of tasks/task-4 - Bad.md cannot be read: line ");
    assert!(!sandbox.exists(".cowork"));
    let (told, plan) = drafted(&sandbox, &["backlog/tasks", "--task", "task-1"]);
    has_all(
        &told.stderr,
        &[
            "From backlog (Backlog.md): tasks/task-1 - Add-a-todo.md, config.yml\n",
            "1 requirement, 1 feature, 2 tasks",
        ],
    );
    has_all(
        &plan,
        &[
            "# Add a todo\n",
            "### REQ-001 TASK\u{2011}1 Add a todo\n\n`high` `functional`\n\nAna writes one down\n\nLabels: cli\n\n\
             - one line is kept\n- the file is there (already checked)\n- the manual says so\n",
            "### FEAT-001 Add a todo\n\n`REQ-001`\n",
            "### TASK-001 Write lib/store.sh\n\n`FEAT-001` `REQ-001` `lib/main.sh` `lib/store.sh`\n",
            "### TASK-002 Write lib/add.sh\n\n`FEAT-001` `REQ-001` `lib/add.sh`\n",
            "not in records: Implementation Notes.",
        ],
    );
}

#[test]
fn sub_tasks_of_a_backlog_are_sub_tasks() {
    let mut files = BACKLOG.to_vec();
    files.push((
        "backlog/tasks/task-1.2 - Print.md",
        "---\nid: TASK-1.2\ntitle: Print\nstatus: To Do\nparent_task_id: TASK-1\ndependencies: [TASK-1.1, TASK-2]\n---\n\n## Description\n\n<!-- SECTION:DESCRIPTION:BEGIN -->\nIn lib/print.sh\n<!-- SECTION:DESCRIPTION:END -->\n",
    ));
    files.push((
        "backlog/tasks/task-1.1 - Parse.md",
        "---\nid: TASK-1.1\ntitle: Parse\nstatus: To Do\nparent_task_id: TASK-1\ndependencies: [TASK-1]\n---\n\n<!-- AC:BEGIN -->\n- [ ] #1 words are read in lib/parse.sh\n<!-- AC:END -->\n",
    ));
    let sandbox = with(&files);
    let (told, plan) = drafted(&sandbox, &["backlog/tasks/task-1 - Add-a-todo.md"]);
    told.says("Note: TASK-1.2 needs TASK-2, which is not among the tasks\n");
    has_all(
        &plan,
        &[
            "### REQ-002 TASK\u{2011}1.1 Parse\n\n`medium` `functional`\n\nParse.\n\n- words are read in lib/parse.sh\n",
            "### TASK-001 TASK\u{2011}1 Add a todo\n\n`FEAT-001` `REQ-001` `REQ-002` `REQ-003` `lib/main.sh`\n",
            "TASK-001.1 Write lib/store.sh\n",
            "TASK-001.3 TASK\u{2011}1.1 Parse\n\n`FEAT-001`\n",
            "TASK-001.4 TASK\u{2011}1.2 Print\n\n`FEAT-001` `TASK-001.3` `lib/print.sh`\n",
        ],
    );
}

#[test]
fn bmad_is_read() {
    let sandbox = with(&BMAD);
    let (told, plan) = drafted(&sandbox, &["specs/todo"]);
    has_all(
        &told.stderr,
        &[
            "From specs/todo (BMAD): SPEC.md, glossary.md, stories.yaml, stories/1-add-todos.md, stories/3-gone.md\n",
            "Not planned: 1 task done (3)\n",
            "Note: spec_checkpoint of 1: a person stops the work there; here a gate does (--review)\n",
            "Note: named in stories/1-add-todos.md, not run from there: sh tests/add.sh\n",
            "1 place to be clarified: Is there an order?",
            "2 requirements, 1 feature, 2 tasks",
        ],
    );
    has_all(
        &plan,
        &[
            "# Todo list\n",
            "not in records: Constraints.",
            "### REQ-001 CAP-1 Ana can add a todo.\n\n`medium` `functional`\n\nAna can add a todo.\n\n- A line is in the file.\n",
            "### FEAT-001 Todo list\n\n`REQ-001` `REQ-002`\n\nAna forgets things.\n",
            "### TASK-001 1 Add todos\n\n`FEAT-001` `REQ-001`\n\nAdd a line; covers CAP-1.\n\nProblem: Nothing can be added.\n\n\
             - FULL: milk → it says so\n- Given an empty file, when Ana adds milk, then one line is there\n",
            "TASK-001.1 append a line -- the core\n\n`FEAT-001` `lib/add.sh`\n",
            "### TASK-002 2 List todos\n\n`FEAT-001` `REQ-002` `lib/list.sh`\n",
        ],
    );
    sandbox.write("specs/todo/stories.yaml", "- id: \"1\"\n  title: Add: it\n");
    let refused = sandbox.cowork(&["new", "-n", "t", "-F", "specs/todo"]).exits(2);
    refused.says("specs/todo: stories.yaml cannot be read: line 2: ");
}

#[test]
fn a_story_of_bmad_is_read_by_itself() {
    let sandbox = with(&BMAD);
    let (_, plan) = drafted(&sandbox, &["specs/todo/stories/1-add-todos.md"]);
    has_all(
        &plan,
        &[
            "### REQ-001 Add todos\n\n`medium` `functional`\n\nProblem: Nothing can be added.\n\n- FULL: milk → it says so\n",
            "### TASK-001 1 Add todos\n\n`FEAT-001` `REQ-001`\n",
            "TASK-001.2 test it -- edges\n\n`FEAT-001` `tests/add.sh`\n",
        ],
    );
}

#[test]
fn epics_of_bmad_are_features() {
    let sandbox = with(&[("plan/epics.md", EPICS)]);
    let args = ["new", "-n", "s", "--depth", "quick", "--review", "wait", "--stop-after", "plan"];
    // There are no tasks: these the plan's actor writes.
    sandbox
        .cowork(&[&args[..], &["-F", "plan/epics.md"]].concat())
        .says("5 requirements, 2 features, 0 tasks");
    let draft = sandbox.server.requests_of("plan", "actor")[0].text();
    has_all(
        &draft,
        &[
            "### REQ-001 FR1 Users can add\n",
            "### REQ-003 NFR1 Fast\n\n`medium` `non_functional`\n",
            "### REQ-004 Story 1.1: Add\n",
            "- Given an empty list When Ana adds milk Then one line is there And it is milk\n- Given a full disk When Ana adds Then it says so\n",
            "### FEAT-001 Epic 1: Adding\n\n`REQ-001` `REQ-004` `REQ-003`\n\nAna adds todos.\n",
            "### FEAT-002 Epic 2: Listing\n\n`REQ-002` `REQ-005` `REQ-003`\n",
        ],
    );
}
