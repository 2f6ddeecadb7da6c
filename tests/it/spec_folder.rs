//! `git cowork new -F DIR`: a folder of spec-kit or OpenSpec as the idea and the first draft of the plan.

use std::fs;

use serde_json::{Value, json};

use crate::support::kill::abort_at;
use crate::support::sandbox::Outcome;
use crate::support::{Reply, Sandbox, at};

const SPEC_KIT: [(&str, &str); 5] = [
    ("spec.md", include_str!("../corpus/specs/spec-kit/spec.md")),
    ("plan.md", include_str!("../corpus/specs/spec-kit/plan.md")),
    ("tasks.md", include_str!("../corpus/specs/spec-kit/tasks.md")),
    ("research.md", include_str!("../corpus/specs/spec-kit/research.md")),
    ("contracts/todo.yaml", include_str!("../corpus/specs/spec-kit/contracts/todo.yaml")),
];

const OPENSPEC: [(&str, &str); 5] = [
    ("proposal.md", include_str!("../corpus/specs/openspec/proposal.md")),
    ("design.md", include_str!("../corpus/specs/openspec/design.md")),
    ("tasks.md", include_str!("../corpus/specs/openspec/tasks.md")),
    (".openspec.yaml", include_str!("../corpus/specs/openspec/.openspec.yaml")),
    (
        "specs/data-export/spec.md",
        include_str!("../corpus/specs/openspec/specs/data-export/spec.md"),
    ),
];

const FOLDER: &str = "specs/001-todo-list";

/// A repository with these files in a folder, and a model that writes the files of each task.
fn with(folder: &str, files: &[(&str, &str)], work: &'static [(&str, &[&str])]) -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, text) in files {
        sandbox.write(&format!("{folder}/{path}"), text);
    }
    sandbox.commit_all("specs");
    sandbox.server.on_with(at("coding", "actor").turn(1), move |received| {
        let task = received.task.clone()?;
        let (_, files) = work.iter().find(|(id, _)| *id == task)?;
        let done = json!({"task_id": task, "new_status": "completed"});
        let write = |file: &&str| json!({"path": file, "content": format!("# {file}\n")});
        let mut files = files.iter();
        let first = Reply::call("write_file", write(files.next()?));
        let all = files.fold(first, |reply, file| reply.and("write_file", write(file)));
        Some(all.and("update_task_status", done))
    });
    sandbox
}

const TODO_WORK: &[(&str, &[&str])] = &[
    ("TASK-001", &["docs/usage.md"]),
    ("TASK-002", &["lib/store.sh"]),
    ("TASK-003", &["tests/add.sh", "lib/add.sh"]),
    ("TASK-004", &["lib/list.sh"]),
];

fn spec_kit() -> Sandbox {
    with(FOLDER, &SPEC_KIT, TODO_WORK)
}

#[track_caller]
fn new(sandbox: &Sandbox, more: &[&str]) -> Outcome {
    // The depth that is chosen by the work; the sandbox has another one configured.
    sandbox.cowork(&[&["new", "--depth", "auto", "-F", FOLDER], more].concat())
}

fn json_of(sandbox: &Sandbox, session: &str, name: &str) -> Value {
    let path = format!(".cowork/sessions/{session}/{name}");
    serde_json::from_str(&sandbox.blob(&format!("cowork/{session}"), &path)).unwrap()
}

#[test]
fn a_folder_of_spec_kit_is_delivered() {
    let sandbox = spec_kit();
    let told = new(&sandbox, &["--review", "wait"]).exits(3);
    assert!(sandbox.server.first_requests().is_empty(), "it has a name and a title");
    assert!(sandbox.server.requests().is_empty(), "the plan is the folder's");
    for words in [
        "From specs/001-todo-list (spec-kit): spec.md, plan.md, tasks.md\n",
        "Not read: contracts/todo.yaml, research.md\n",
        "depth quick (the requirements and tasks already exist)",
        "draft 1 of the plan is made from this folder: 6 requirements, 3 features, 4 tasks",
        "1 task already ticked in tasks.md; not planned",
        "1 place marked [NEEDS CLARIFICATION]: FR-004",
    ] {
        assert!(told.stderr.contains(words), "{words}\n---\n{}", told.stderr);
    }
    // A person sees the draft, and passes it.
    let plan = sandbox.blob("HEAD", ".cowork/sessions/todo-list/plan.md");
    for words in [
        "# Todo list for the terminal\n\nFrom specs/001-todo-list (spec-kit): ",
        "Not read: contracts/todo.yaml, research.md.",
        "Only in the text of the idea, not in records: Edge Cases, Key Entities, Measurable Outcomes.",
        "To be clarified:\n\n- FR-004: System MUST keep finished todos for [NEEDS CLARIFICATION: how long?]",
        "### REQ-001 US1 Add a todo\n\n`high` `functional`\n\nAna has something to do",
        "- Given a list of one, When Ana adds \"bread\", Then the file holds two lines\n",
        "### REQ-005 FR-003 System SHOULD print todos",
        "### FEAT-001 US1 Add a todo\n\n`REQ-001`\n",
        "### TASK-002 T003 Keep todos in lib/store.sh (FR-001)\n\n`FEAT-003` `REQ-003` `lib/store.sh`\n",
        "### TASK-003 Phase 3: User Story 1 - Add a todo\n\n`FEAT-001` `REQ-001`\n\nAna adds a todo\n",
        "TASK-003.3 T006 Add error handling",
    ] {
        assert!(plan.contains(words), "{words}\n---\n{plan}");
    }
    assert!(!plan.contains("not one"), "a comment: {plan}");
    let tasks = json_of(&sandbox, "todo-list", "implementation_plan.json");
    assert_eq!(tasks["tasks"][2]["id"], "TASK-003");
    assert_eq!(tasks["tasks"][3]["files_to_create"], json!(["tests/add.sh"]));
    let start = sandbox.commit_of("cowork/todo-list", "start: ");
    let message = sandbox.git(&["log", "-1", "--format=%B", &start]);
    assert!(message.contains("Not read: contracts/todo.yaml, research.md."), "{message}");
    let file = json_of(&sandbox, "todo-list", "session.json");
    assert_eq!(file["title"], "Todo list for the terminal");
    let origin =
        json!({"kind": "spec-kit", "name": FOLDER, "requirements": 6, "features": 3, "tasks": 4});
    assert_eq!(file["origin"], origin);
    assert!(file["idea"].as_str().unwrap().contains("A few shell functions around one text file."));

    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    assert!(sandbox.server.requests_of("plan", "actor").is_empty());
    let stages = sandbox.stages("main..cowork/todo-list");
    assert_eq!(
        (stages.first().unwrap().as_str(), stages.last().unwrap().as_str()),
        ("start", "delivery")
    );
    for (_, files) in TODO_WORK {
        files.iter().for_each(|file| assert!(sandbox.exists(file), "{file}"));
    }
    let plan = sandbox.commit_of("cowork/todo-list", "plan: ");
    assert_eq!(sandbox.trailers(&plan)["Reviewed-by"], ["Ana Example <ana@example.org>"]);
    assert!(!sandbox.trailers(&plan).contains_key("Cowork-Model"), "nobody was asked");
    let why = sandbox.cowork(&["why", "lib/add.sh:1"]).exits(0).stdout;
    assert!(why.contains("TASK-003") && why.contains("US1 Add a todo"), "{why}");
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.cowork(&["merge"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn a_change_of_openspec_is_delivered() {
    let folder = "openspec/changes/add-export";
    let work: &[(&str, &[&str])] =
        &[("TASK-001", &["lib/export.sh"]), ("TASK-002", &["docs/export.md"])];
    let mut sandbox = with(folder, &OPENSPEC, work);
    sandbox.write(&format!("{folder}/specs/other/notes.md"), "no spec\n");
    // From a folder inside, too.
    sandbox.enter("openspec/changes");
    let told = sandbox
        .cowork(&["new", "--depth", "auto", "-F", "add-export", "--review", "auto"])
        .exits(0);
    told.says("From openspec/changes/add-export (OpenSpec): proposal.md, specs/data-export/spec.md, design.md, tasks.md\n")
        .says("Not read: .openspec.yaml, specs/other/notes.md\n")
        .says("3 requirements, 1 feature, 2 tasks");
    let plan = sandbox.blob("cowork/add-export", ".cowork/sessions/add-export/plan.md");
    for words in [
        "# add export\n",
        "### REQ-001 data-export: Export as CSV\n\n`high` `functional`\n\nThe system SHALL print all todos as CSV.\n",
        "- Two todos: WHEN the user runs `todo export` on a list of two THEN two lines are printed AND each is a quoted field\n",
        "### REQ-002 data-export: Reading the file (changed)\n",
        "### REQ-003 data-export: Remove: Dump\n",
        "### FEAT-001 add export\n\n`REQ-001` `REQ-002` `REQ-003`\n\nTodos are caught",
        "### TASK-001 1. Export\n\n`FEAT-001`\n",
        "TASK-001.1 1.1 Write `lib/export.sh`",
        "### TASK-002 2.1 Tell of it in docs/export.md\n\n`FEAT-001` `docs/export.md`\n",
    ] {
        assert!(plan.contains(words), "{words}\n---\n{plan}");
    }
    assert!(sandbox.server.requests_of("plan", "actor").is_empty());
    assert_eq!(sandbox.stages("main..cowork/add-export").last().unwrap(), "delivery");
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.git(&["fsck", "--strict"]);
}

#[test]
fn what_the_checks_miss_the_actor_adds() {
    let tasks = "# Tasks\n\n- [ ] T001 Make it fast\n- [ ] T002 Write lib/store.sh\n";
    let work: &[(&str, &[&str])] =
        &[("TASK-001", &["lib/fast.sh"]), ("TASK-002", &["lib/store.sh"])];
    let sandbox = with(FOLDER, &[SPEC_KIT[0], ("tasks.md", tasks)], work);
    let section =
        "### TASK-001 T001 Make it fast\n\n`FEAT-001` `lib/fast.sh`\n\nMake it fast\n\n- it is\n";
    sandbox.script("plan", Reply::call("save_plan_doc", json!({"content": section})));
    new(&sandbox, &["--review", "auto", "--stop-after", "plan"]).exits(0);
    let asked = sandbox.server.requests_of("plan", "actor");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].iteration, 2);
    let text = asked[0].text();
    assert!(
        text.contains("TASK-001 names no file") && text.contains("T002 Write lib/store.sh"),
        "{text}"
    );
    let plan = sandbox.blob("HEAD", ".cowork/sessions/todo-list/plan.md");
    assert!(plan.contains("`FEAT-001` `lib/fast.sh`") && plan.contains("T002 Write"), "{plan}");
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
}

#[test]
fn many_requirements_of_a_folder_are_not_too_many() {
    let mut spec = SPEC_KIT[0].1.to_owned();
    for number in 10..25 {
        spec += &format!("\n- **FR-0{number}**: System MUST do {number}\n");
    }
    let sandbox = with(FOLDER, &[("spec.md", &spec), SPEC_KIT[2]], TODO_WORK);
    new(&sandbox, &["--review", "auto", "--stop-after", "plan"]).exits(0).says("21 requirements");
    assert!(sandbox.server.requests().is_empty());
}

#[test]
fn a_deeper_session_is_told_what_the_folder_says() {
    let sandbox = spec_kit();
    let told = sandbox
        .cowork(&[
            "new",
            "-F",
            FOLDER,
            "--depth",
            "standard",
            "--review",
            "auto",
            "--stop-after",
            "idea",
        ])
        .exits(0);
    told.says("depth standard: the model writes the documents from these files");
    let text = sandbox.server.requests_of("idea", "actor")[0].text();
    assert!(text.contains("Ana sees what is left to do"), "{text}");
    let file = json_of(&sandbox, "todo-list", "session.json");
    let idea = file["idea"].as_str().unwrap();
    for words in
        ["## Phase 4: User Story 2", "- [ ] T003 Keep todos in lib/store.sh", "one text file"]
    {
        assert!(idea.contains(words), "{words}: {idea}");
    }
    assert!(!idea.contains("not one") && !idea.contains("[P?]"), "{idea}");
    assert_eq!(file["origin"], Value::Null);
}

#[test]
fn a_folder_of_neither_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("docs/readme.md", "# x\n");
    sandbox.write("specs/001-todo-list/spec.md", SPEC_KIT[0].1);
    sandbox.commit_all("docs");
    let before = sandbox.all_refs();
    let refused = |args: &[&str]| sandbox.cowork(&[&["new", "-F"], args].concat()).exits(2);
    refused(&["docs"])
        .says("docs is a folder of neither spec-kit (spec.md) nor OpenSpec (proposal.md)")
        .says("hint: give a folder such as specs/001-NAME");
    refused(&["specs"]).says("hint: git cowork new -F specs/001-todo-list\n");
    refused(&["nowhere"]).says("nowhere cannot be read");
    fs::create_dir(sandbox.path("empty")).unwrap();
    refused(&["empty"]).says("neither");
    sandbox.write("specs/001-todo-list/spec.md", " \n");
    refused(&["specs/001-todo-list"])
        .says("there is no idea in specs/001-todo-list: spec.md (empty)");
    fs::write(sandbox.path("specs/001-todo-list/spec.md"), b"# \xff\xfe").unwrap();
    refused(&["specs/001-todo-list"]).says("spec.md (not UTF-8)");
    sandbox.write("specs/001-todo-list/spec.md", &"long\n".repeat(60_000));
    refused(&["specs/001-todo-list"]).says("spec.md (larger than 256 KiB)");
    sandbox.cowork(&["new", "-F", "docs", "an idea"]).exits(2);
    assert_eq!(sandbox.all_refs(), before);
    assert!(sandbox.server.requests().is_empty() && !sandbox.exists(".cowork"));
}

#[cfg(unix)]
#[test]
fn only_files_of_the_folder_are_read() {
    let sandbox = with(FOLDER, &SPEC_KIT[..1], TODO_WORK);
    sandbox.write("secret.txt", "the password is swordfish\n");
    for name in ["plan.md", "tasks.md", "contracts"] {
        std::os::unix::fs::symlink("../../secret.txt", sandbox.path(&format!("{FOLDER}/{name}")))
            .unwrap();
    }
    new(&sandbox, &["--review", "auto", "--stop-after", "plan"])
        .says("Not read: contracts (a link), plan.md (a link), tasks.md (a link)");
    let asked = sandbox.server.requests_of("plan", "actor");
    assert!(!asked[0].text().contains("swordfish"));
    // The file itself is no link either.
    sandbox.git(&["switch", "-qf", "main"]);
    fs::remove_file(sandbox.path(&format!("{FOLDER}/spec.md"))).unwrap();
    std::os::unix::fs::symlink("../../secret.txt", sandbox.path(&format!("{FOLDER}/spec.md")))
        .unwrap();
    new(&sandbox, &["-n", "other"]).exits(2).says("spec.md (a link)");
}

#[test]
fn a_start_that_was_killed_keeps_its_draft() {
    for point in
        ["start.before-commit", "start.after-commit", "draft.before-ref", "draft.after-ref"]
    {
        let mut sandbox = spec_kit();
        let args = ["new", "--depth", "auto", "-F", FOLDER, "--review", "wait"];
        let killed = abort_at(&mut sandbox, &args, &format!("{point}:1"));
        assert!(![0, 3].contains(&killed.code), "{point}");
        sandbox.cowork(&["resume", "todo-list", "--review", "wait"]).exits(3);
        assert!(sandbox.server.requests().is_empty(), "{point}: the plan was drafted again");
        let plan = sandbox.blob("cowork/todo-list", ".cowork/sessions/todo-list/plan.md");
        assert!(plan.contains("### TASK-004 T007"), "{point}: {plan}");
        let waiting = sandbox.trailers("cowork/todo-list");
        assert_eq!(waiting["Cowork-Iterations"], ["1"], "{point}");
        sandbox.cowork(&["review", "--pass"]).exits(0);
        sandbox.git(&["fsck", "--strict"]);
    }
}

#[cfg(unix)]
#[test]
fn a_linked_folder_is_refused_and_one_with_very_many_files_is_read() {
    let sandbox = spec_kit();
    std::os::unix::fs::symlink("001-todo-list", sandbox.path("specs/linked")).unwrap();
    for path in ["specs/linked", "specs/linked/"] {
        let told = sandbox.cowork(&["new", "-F", path]).exits(2);
        told.says("is a link to 001-todo-list").says("git cowork new -F 001-todo-list");
    }
    for number in 0..1_100 {
        sandbox.write(&format!("{FOLDER}/assets/{number}.svg"), "");
    }
    new(&sandbox, &["--review", "wait"]).exits(3);
    assert!(sandbox.read(".cowork/sessions/todo-list/plan.md").contains("FR-004"));
}
