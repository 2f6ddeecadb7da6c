//! Text outside the records: changed with edit_file at the path that the prompt names, in a later
//! draft and in a change; parts of a document delete nothing, and all of them are saved.

use serde_json::{Value, json};

use crate::support::change::triage;
use crate::support::todo::{PRD as PRD_TEXT, prd_draft, reject};
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
    assert!(sandbox.blob("cowork/todo--said", PRD).starts_with(REWORDED));
    all_records(&sandbox, "cowork/todo--said");
}

/// The PRD after the actor sent this part of it as its second draft.
fn with_part(part: &str) -> String {
    let sandbox = Sandbox::stopped_after("idea");
    let save: Value = json!({"content": part});
    sandbox.server.on(at("prd", "actor").iteration(1).turn(1), prd_draft());
    sandbox.server.on(at("prd", "critic").iteration(1), reject("REQ-001 is vague"));
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), Reply::call("save_prd_doc", save));
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    all_records(&sandbox, "cowork/todo");
    sandbox.blob("cowork/todo", PRD)
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
