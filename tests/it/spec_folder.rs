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
        "draft 1 of the plan is made from these files: 6 requirements, 3 features, 4 tasks",
        "Not planned: 1 task ticked (T001)\n",
        "Left out, not a task: tasks.md lines 7 to 8 (Tasks: Todo list for the terminal), tasks.md lines 12 to 13 (Format: ",
        ", tasks.md line 63 (Dependencies & Execution Order), tasks.md line 67 (Notes)\n",
        "1 place to be clarified: Given a finished todo",
    ] {
        assert!(told.stderr.contains(words), "{words}\n---\n{}", told.stderr);
    }
    // A person sees the draft, and passes it.
    let plan = sandbox.blob("HEAD", ".cowork/sessions/todo-list/plan.md");
    for words in [
        "# Todo list for the terminal\n\nFrom specs/001-todo-list (spec-kit): ",
        "Not read: contracts/todo.yaml, research.md.",
        "Only in the text of the idea, not in records: Edge Cases, Key Entities, Measurable Outcomes.",
        "To be clarified:\n\n- Given a finished todo, When Ana lists them, Then it is there for [NEEDS CLARIFICATION: how long?]",
        "- Given two todos, When Ana lists them, Then both are printed in the order they were added\n\n### REQ-003",
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
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["Not read: contracts/todo.yaml, research.md.", "Left out, not a task: tasks.md"] {
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(tasks["tasks"][4]["dependencies"], json!(["TASK-002"]), "depends on T003");
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
    assert!(!idea.contains("not one") && !idea.contains("Can run in parallel"), "{idea}");
    assert_eq!(file["origin"], Value::Null);
}

#[test]
fn what_is_broken_or_no_specification_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("specs/001-todo-list/spec.md", SPEC_KIT[0].1);
    sandbox.write("specs/002-more/spec.md", SPEC_KIT[0].1);
    sandbox.write("src/main.rs", "fn main() {}\n");
    sandbox.commit_all("docs");
    let before = sandbox.all_refs();
    let refused = |args: &[&str]| sandbox.cowork(&[&["new", "-F"], args].concat()).exits(2);
    refused(&["src"])
        .says("src is not a folder of specifications: no proposal.md (OpenSpec), spec.md (spec-kit), ")
        .says("there is no Markdown in it")
        .says("hint: give a folder such as specs/001-NAME");
    refused(&["specs"])
        .says("specs holds specifications, and one is read: 001-todo-list (spec-kit), 002-more (spec-kit)")
        .says("hint: git cowork new -F specs/001-todo-list\n")
        .says("hint: git cowork new -F specs/002-more\n");
    sandbox.write("specs/001-todo-list/notes/a.md", "# A\n");
    refused(&["specs/001-todo-list/notes"])
        .says("specs/001-todo-list/notes is a part of specs/001-todo-list, which is of spec-kit")
        .says("hint: git cowork new -F specs/001-todo-list\n");
    sandbox.write("openspec/changes/a/proposal.md", "## Why\n\nx\n");
    sandbox.write("openspec/changes/a/specs/b/spec.md", "# x\n");
    refused(&["openspec"]).says("hint: git cowork new -F openspec/changes/a\n");
    refused(&["openspec/changes/a/specs"])
        .says("is a part of openspec/changes/a, which is of OpenSpec");
    refused(&["nowhere"]).says("nowhere cannot be read");
    fs::create_dir(sandbox.path("empty")).unwrap();
    refused(&["empty"]).says("not a folder of specifications");
    let spec = "specs/001-todo-list/spec.md";
    sandbox.write(spec, " \n");
    refused(&["specs/001-todo-list"]).says(&format!("{spec} cannot be read: empty"));
    fs::write(sandbox.path(spec), b"# \xff\xfe").unwrap();
    refused(&["specs/001-todo-list"]).says(&format!("{spec} cannot be read: not UTF-8"));
    sandbox.write(spec, &"long\n".repeat(60_000));
    refused(&["specs/001-todo-list"]).says(&format!("{spec} cannot be read: larger than 256 KiB"));
    sandbox.write(spec, SPEC_KIT[0].1);
    fs::write(sandbox.path("specs/001-todo-list/tasks.md"), b"- [ ] \xff").unwrap();
    refused(&["specs/001-todo-list"])
        .says("specs/001-todo-list/tasks.md cannot be read: not UTF-8");
    sandbox.cowork(&["new", "-F", "docs", "an idea"]).exits(2);
    for option in ["--tag", "--task"] {
        refused(&["specs/002-more", option, "x"]).says(&format!("{option} is for "));
        refused(&["README.md", option, "x"]).says(&format!("{option} does not apply"));
        sandbox.cowork(&["new", option, "x", "an idea"]).exits(2);
    }
    assert_eq!(sandbox.all_refs(), before);
    assert!(sandbox.server.requests().is_empty() && !sandbox.exists(".cowork"));
}

#[test]
fn a_few_files_of_markdown_are_the_idea() {
    let sandbox = Sandbox::new();
    sandbox.write("docs/a.md", "# Todos for Ana\n\nOne text file.\n");
    sandbox.write("docs/more/b.md", "Sorted by age.\n");
    sandbox.write("docs/picture.svg", "<svg/>");
    sandbox.commit_all("docs");
    let new = |more: &[&str]| {
        sandbox.cowork(&[&["new", "-F", "docs", "--review", "auto"], more].concat())
    };
    for number in 0..18 {
        sandbox.write(&format!("docs/{number}.md"), "x\n");
    }
    new(&[]).exits(2).says("it has more than the 20 files that can be an idea");
    for number in 0..18 {
        fs::remove_file(sandbox.path(&format!("docs/{number}.md"))).unwrap();
    }
    sandbox.write("docs/long.md", &"word ".repeat(14_000));
    new(&[]).exits(2).says("it has more than the 64 KiB of Markdown");
    fs::remove_file(sandbox.path("docs/long.md")).unwrap();
    new(&["--tag", "x"]).exits(2).says("--tag does not apply");
    assert!(sandbox.server.requests().is_empty() && !sandbox.exists(".cowork"));
    new(&["-n", "todos", "--depth", "quick", "--stop-after", "plan"]);
    let file = json_of(&sandbox, "todos", "session.json");
    let idea = file["idea"].as_str().unwrap();
    let start = "Todos for Ana\n\nFrom docs (Markdown): a.md, more/b.md.\n\n<!-- a.md -->";
    assert!(idea.starts_with(start) && idea.contains("Sorted by age."), "{idea}");
    assert_eq!(file["origin"], Value::Null);
}

const TWO: &str = "# Feature Specification: Todos\n\n## Requirements\n\n\
    - **FR-001**: System MUST keep todos\n- **FR-002**: System MUST print todos\n";
const TWO_TASKS: &str =
    "# Tasks\n\n- [ ] T001 Write lib/store.sh (FR-001)\n- [ ] T002 Write lib/list.sh (FR-002)\n";

#[test]
fn a_place_to_be_clarified_is_a_question_and_no_criterion() {
    let spec = TWO.replace("keep todos", "keep todos for [NEEDS CLARIFICATION: how long?]");
    let sandbox = with(FOLDER, &[("spec.md", &spec), ("tasks.md", TWO_TASKS)], TODO_WORK);
    // The model answers the question.
    let section = "### REQ-001 FR-001 System MUST keep todos\n\n`high` `functional`\n\nTodos stay.\n\n- a todo stays for a year\n";
    sandbox.script("plan", Reply::call("save_plan_doc", json!({"content": section})));
    new(&sandbox, &["--review", "auto", "--stop-after", "plan"])
        .exits(0)
        .says("1 place to be clarified: FR-001: System MUST keep todos for");
    let asked = sandbox.server.requests_of("plan", "actor");
    assert!(asked[0].text().contains("REQ-001"), "{}", asked[0].text());
    let plan = sandbox.blob("HEAD", ".cowork/sessions/todo-list/plan.md");
    let answered = plan.contains("- a todo stays for a year");
    assert!(answered && !plan.contains("- System MUST keep"), "{plan}");
}

#[test]
fn a_later_plan_says_which_imported_records_it_dropped() {
    let sandbox = with(FOLDER, &[("spec.md", TWO), ("tasks.md", TWO_TASKS)], TODO_WORK);
    let whole = "# Todos\n\n### REQ-001 FR-001 Keep todos\n\n`high` `functional`\n\nKeep.\n\n- it is kept\n\n\
        ### FEAT-001 Todos\n\n`REQ-001`\n\nTodos.\n\n\
        ### TASK-001 T001 Write\n\n`FEAT-001` `REQ-001` `lib/store.sh`\n\nWrite.\n\n- it is\n";
    let gone = json!({"content": whole, "whole": true, "deleted": ["REQ-002", "TASK-002"]});
    sandbox.script("plan", Reply::call("save_plan_doc", gone));
    new(&sandbox, &["--review", "wait"]).exits(3);
    sandbox.cowork(&["review", "--feedback", "no list yet"]);
    let dropped = "Not in the plan any more, imported from specs/001-todo-list: REQ-002 (FR-002 System MUST print todos), TASK-002 (T002 Write lib/list.sh (FR\u{2011}002))";
    let dropped = dropped.replace('\u{2011}', "-");
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3).says(&dropped);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "plan"]);
    let plan = sandbox.commit_of("cowork/todo-list", "plan: ");
    let message = sandbox.git(&["log", "-1", "--format=%B", &plan]);
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains(&dropped), "{message}");
}

#[cfg(unix)]
#[test]
fn a_link_is_refused_unless_the_kind_does_not_read_it() {
    let sandbox = with(FOLDER, &SPEC_KIT[..1], TODO_WORK);
    sandbox.write("secret.txt", "the password is swordfish\n");
    let link = |name: &str| {
        let path = sandbox.path(&format!("{FOLDER}/{name}"));
        std::os::unix::fs::symlink("../../secret.txt", path).unwrap();
    };
    let before = sandbox.all_refs();
    link("tasks.md");
    new(&sandbox, &[]).exits(2).says("specs/001-todo-list/tasks.md cannot be read: a link");
    fs::remove_file(sandbox.path(&format!("{FOLDER}/tasks.md"))).unwrap();
    fs::remove_file(sandbox.path(&format!("{FOLDER}/spec.md"))).unwrap();
    link("spec.md");
    new(&sandbox, &[]).exits(2).says("specs/001-todo-list/spec.md cannot be read: a link");
    assert_eq!(sandbox.all_refs(), before);
    fs::remove_file(sandbox.path(&format!("{FOLDER}/spec.md"))).unwrap();
    sandbox.write(&format!("{FOLDER}/spec.md"), SPEC_KIT[0].1);
    link("contracts");
    new(&sandbox, &["--review", "auto", "--stop-after", "plan"])
        .says("Not read: contracts (a link)");
    assert!(!sandbox.server.requests_of("plan", "actor")[0].text().contains("swordfish"));
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
