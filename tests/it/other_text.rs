//! Text outside the records: changed with edit_file at the path that the prompt names, in a later
//! draft and in a change; parts of a document delete nothing, and all of them are saved.

use serde_json::{Value, json};

use crate::support::change::triage;
use crate::support::todo::{self, PRD as PRD_TEXT, TASKS, prd_draft, reject};
use crate::support::{Reply, Sandbox, at};

const PRD: &str = ".cowork/sessions/todo/prd.md";
const REWORDED: &str = "# What the todo list must do";

fn reword() -> Reply {
    let edit = json!({"path": PRD, "old_text": "# Product requirements", "new_text": REWORDED});
    Reply::call("edit_file", edit)
}

/// The prompt tells to change other text with a tool on offer, in a file that exists.
#[track_caller]
fn is_told_the_path(sandbox: &Sandbox, iteration: u32) {
    let requests = sandbox.server.requests_of("prd", "actor");
    let request = requests.iter().find(|one| one.iteration == iteration).unwrap();
    assert!(request.tools().contains(&"edit_file".to_owned()), "{:?}", request.tools());
    let text = request.text();
    assert!(text.contains(&format!("Other text you change with edit_file in `{PRD}`")), "{text}");
    assert!(sandbox.exists(PRD));
}

#[track_caller]
fn all_records(sandbox: &Sandbox, commit: &str) {
    let text = sandbox.blob(commit, PRD);
    for id in ["REQ-001", "REQ-002", "REQ-003", "FEAT-001", "FEAT-002"] {
        assert!(text.contains(&format!("### {id} ")), "{id} is lost: {text}");
    }
}

#[test]
fn other_text_is_changed_in_a_later_draft() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.on(at("prd", "actor").iteration(1).turn(1), prd_draft());
    sandbox.server.on(at("prd", "critic").iteration(1), reject("the title says nothing"));
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), reword());
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    is_told_the_path(&sandbox, 2);
    assert!(sandbox.blob("cowork/todo", PRD).starts_with(REWORDED));
    all_records(&sandbox, "cowork/todo");
}

#[test]
fn other_text_is_changed_in_a_change_request() {
    let sandbox = Sandbox::delivered();
    sandbox.server.forget();
    sandbox.script("triage", triage("Say what it is", &["prd", "code"], &["lib/add.sh"]));
    sandbox.script("prd", reword());
    let words = ["modify", "Say what it is", "-n", "said", "--review", "auto"];
    sandbox.cowork(&[&words[..], &["--stop-after", "prd"]].concat()).exits(0);
    is_told_the_path(&sandbox, 1);
    // The edit ends the turn: another request would only say that nothing is left to do.
    assert_eq!(sandbox.server.requests_of("prd", "actor").len(), 1);
    assert!(sandbox.blob("cowork/todo--said", PRD).starts_with(REWORDED));
    all_records(&sandbox, "cowork/todo--said");
}

/// A stage's document after the actor sent this part of it as its second draft.
fn after_part(stage: &'static str, before: &'static str, part: &str) -> String {
    let sandbox = Sandbox::stopped_after(before);
    let save: Value = json!({"content": part});
    sandbox.server.on(at(stage, "critic").iteration(1), reject("a record is vague"));
    let save = Reply::call(&format!("save_{stage}_doc"), save);
    sandbox.server.on(at(stage, "actor").iteration(2).turn(1), save);
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", stage]).exits(0);
    sandbox.blob("cowork/todo", &format!(".cowork/sessions/todo/{stage}.md"))
}

/// The PRD after the actor sent this part of it as its second draft.
fn with_part(part: &str) -> String {
    let text = after_part("prd", "idea", part);
    for id in ["REQ-001", "REQ-002", "REQ-003", "FEAT-001", "FEAT-002"] {
        assert!(text.contains(&format!("### {id} ")), "{id} is lost: {text}");
    }
    text
}

const RECORD: &str = "### REQ-001 Add one todo\n\n`high` `functional`\n\nAdd it.\n\n- it works\n";

#[test]
fn a_part_that_begins_with_its_own_heading_deletes_nothing() {
    let text = with_part(&format!("## Requirements\n\n{RECORD}"));
    assert!(text.contains("### REQ-001 Add one todo") && text.contains("Nothing is put off."));
    assert_eq!(text.matches("## Requirements").count(), 1, "{text}");
}

#[test]
fn a_section_after_the_records_is_saved() {
    let text = with_part(&format!("{RECORD}\n## Left for later\n\nSharing lists.\n"));
    assert!(text.contains("## Left for later\n\nSharing lists.\n"), "{text}");
}

#[test]
fn parts_of_a_design_delete_no_component_and_no_text() {
    let core = "### COMP-001 Todo core\n\n`module` `POSIX sh` `FEAT-001` `FEAT-002`\n\n\
                - Todo core keeps one file\n";
    let text =
        after_part("design", "prd", &format!("## Components\n\n{core}\n## Risks\n\nNone.\n"));
    assert!(text.starts_with("# Design\n\nOne script and a few functions"), "{text}");
    assert!(text.contains("- Todo core keeps one file\n"), "{text}");
    assert!(text.contains("### COMP-002 Command line") && text.contains("## Risks\n\nNone."));
    assert!(text.contains("## Later\n\nNothing is put off."), "{text}");
}

#[test]
fn parts_of_a_plan_delete_no_task_and_no_text() {
    let second = todo::task_section("TASK-002", "Add one todo", "FEAT-001", "lib/add.sh");
    let text = after_part("plan", "design", &format!("## Tasks\n{second}"));
    for (id, ..) in TASKS {
        assert_eq!(text.matches(&format!("### {id} ")).count(), 1, "{text}");
    }
    assert!(text.contains("### TASK-002 Add one todo\n"), "{text}");
    assert!(text.contains("## Later\n\nNothing is put off."), "{text}");
}

#[test]
fn a_section_of_the_idea_is_edited_and_the_others_stay() {
    let sandbox = Sandbox::new();
    let part = json!({"content": "## Goals\nAdd and list todos.\n"});
    let (old, new) = ("Add, list and tick off todos.", "Add and list todos.");
    let edit = json!({"path": ".cowork/sessions/todo/idea.md", "old_text": old, "new_text": new});
    sandbox.server.on(at("idea", "actor").iteration(2).turn(1), Reply::call("edit_file", edit));
    // A part alone is told apart from the document it would replace.
    sandbox.server.on(at("idea", "actor").iteration(1).turn(1), Reply::call("save_idea", part));
    let whole = Reply::call("save_idea", json!({"content": todo::IDEA}));
    sandbox.server.on(at("idea", "actor").iteration(1).turn(2), whole);
    sandbox.wait(&[]).exits(3);
    let told = sandbox.server.requests_of("idea", "actor")[1].text();
    assert!(told.contains("save_idea replaces the whole document"), "{told}");
    sandbox.cowork(&["review", "--feedback", "Ticking is not wanted."]).exits(0);
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "idea"]).exits(0);
    let idea = sandbox.blob("cowork/todo", ".cowork/sessions/todo/idea.md");
    assert_eq!(idea, todo::IDEA.replace(old, new));
}

#[test]
fn a_whole_document_without_a_record_keeps_it_and_says_so_unless_the_call_deletes_it() {
    let without = PRD_TEXT.replace(" `REQ-003`", "");
    let cut = without.find("### REQ-003").unwrap();
    let next = without.find("## Features").unwrap();
    let shorter = format!("{}{}", &without[..cut], &without[next..]);
    for (whole, has) in [(false, true), (true, false)] {
        let sandbox = Sandbox::stopped_after("idea");
        sandbox.server.on(at("prd", "actor").iteration(1).turn(1), prd_draft());
        sandbox.server.on(at("prd", "critic").iteration(1), reject("REQ-003 is too much"));
        let save = json!({"content": shorter, "whole": whole});
        let draft = Reply::call("save_prd_doc", save).and("read_file", json!({"path": "no"}));
        let draft = vec![draft, Reply::text("Shorter now.")];
        sandbox.server.sequence(at("prd", "actor").iteration(2), draft);
        sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
        assert_eq!(sandbox.blob("cowork/todo", PRD).contains("### REQ-003"), has);
        let requests = sandbox.server.requests_of("prd", "actor");
        let answer = requests.iter().find(|one| one.iteration == 2 && one.turn == 2).unwrap();
        let answer = answer.tool_results().join("\n");
        let words =
            if has { "Kept, although you did not send it: REQ-003" } else { "Deleted: REQ-003" };
        assert!(answer.contains(words), "{answer}");
    }
}

#[test]
fn a_whole_plan_of_a_change_keeps_the_tasks_completed_before() {
    let sandbox = Sandbox::delivered();
    sandbox.script_addition("Due dates", ["REQ-004", "FEAT-003", "TASK-006"], "lib/due.sh");
    let task = todo::task_section("TASK-006", "Due dates", "FEAT-003", "lib/due.sh");
    let whole = json!({"content": format!("# Plan\n\nDue dates.\n{task}"), "whole": true});
    sandbox.script("plan", Reply::call("save_plan_doc", whole));
    sandbox.cowork(&["modify", "due dates", "-n", "due", "--review", "auto"]).exits(0);
    let plan = sandbox.blob("cowork/todo--due", ".cowork/sessions/todo/plan.md");
    assert!(plan.starts_with("# Plan\n\nDue dates.\n"), "{plan}");
    for id in TASKS.iter().map(|(id, ..)| *id).chain(["TASK-006"]) {
        assert_eq!(plan.matches(&format!("### {id} ")).count(), 1, "{plan}");
    }
}
