//! Conversations that go on: at a depth where stages, drafts and tasks share one, what comes next is
//! asked behind what was said, and is told only what it does not know yet.

use serde_json::json;

use crate::support::sandbox::Outcome;
use crate::support::server::Received;
use crate::support::todo::{self, TASKS};
use crate::support::{Reply, Sandbox, at};

fn new(sandbox: &Sandbox, more: &[&str]) -> Outcome {
    let new = ["new", "-n", "todo", "a todo list for the terminal", "--depth", "standard"];
    sandbox.cowork(&[&new[..], more].concat())
}

/// The requests to the actor of a stage.
fn actor(sandbox: &Sandbox, stage: &str) -> Vec<Received> {
    sandbox.server.requests_of(stage, "actor")
}

/// Whether one request is sent behind what another one was and what was answered.
fn goes_on(later: &Received, earlier: &Received) -> bool {
    later.messages().len() > earlier.messages().len() + 1
        && later.messages().starts_with(earlier.messages())
}

/// What the newest message says.
fn newest(request: &Received) -> String {
    request.messages().last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[test]
fn stages_and_tasks_share_conversations_that_only_grow() {
    let sandbox = Sandbox::new();
    new(&sandbox, &["--review", "auto"]).exits(0);
    let first = |stage| actor(&sandbox, stage).remove(0);
    assert!(goes_on(&first("prd"), &first("idea")));
    assert!(!goes_on(&first("design"), &first("prd")), "the critic's words are no part of it");
    assert!(goes_on(&first("plan"), &first("design")));
    for (one, other) in [("idea", "prd"), ("design", "plan")] {
        // A prefix begins with the tools. Only idea must decide without asking.
        let mut tools = first(other).tools();
        tools.retain(|name| one != "idea" || name != "ask_user");
        assert_eq!(first(one).tools(), tools);
    }
    let tasks = actor(&sandbox, "coding");
    assert_eq!(tasks.len(), TASKS.len());
    for (earlier, later) in tasks.iter().zip(&tasks[1..]) {
        assert!(goes_on(later, earlier), "{}", later.position());
        let brief = newest(later);
        assert!(brief.starts_with("# The next task") && brief.len() < 1_500, "{brief}");
    }
    assert_eq!(tasks[1].headers["cowork-task"], "TASK-002");
    assert!(!sandbox.server.requests_of("coding", "critic")[0].text().contains("# The next task"));
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn at_thorough_each_task_is_a_conversation_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.auto(&[]).exits(0);
    let tasks = actor(&sandbox, "coding");
    assert!(tasks.iter().all(|request| request.messages().len() == 2));
}

#[test]
fn a_rejected_draft_is_answered_where_it_was_written() {
    let sandbox = Sandbox::new();
    sandbox.server.on(at("plan", "critic").iteration(1), todo::reject("TASK-003 prints nothing."));
    let section = todo::plan();
    let from = section.find("### TASK-003").unwrap();
    let to = section.find("### TASK-004").unwrap();
    let section = section[from..to].replace("List todos, in", "Print all todos, in");
    let again = Reply::call("save_plan_doc", json!({"content": section}));
    sandbox.server.on(at("plan", "actor").iteration(2), again);
    new(&sandbox, &["--review", "auto", "--stop-after", "plan"]).exits(0);
    let drafts = actor(&sandbox, "plan");
    assert!(goes_on(&drafts[1], &drafts[0]));
    let brief = newest(&drafts[1]);
    assert!(brief.contains("TASK-003 prints nothing.") && brief.len() < 1_500, "{brief}");
    let plan = sandbox.artifact("plan.md");
    assert!(plan.contains("Print all todos") && plan.contains("### TASK-005"), "{plan}");
}

#[test]
fn at_thorough_a_document_is_a_conversation_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.server.on(at("prd", "critic").iteration(1), todo::reject("REQ-002 is vague."));
    let from = todo::PRD.find("### REQ-002").unwrap();
    let to = todo::PRD.find("### REQ-003").unwrap();
    let section = todo::PRD[from..to].replace("List todos", "List todos by date");
    let again = Reply::call("save_prd_doc", json!({"content": section}));
    sandbox.server.on(at("prd", "actor").iteration(2), again);
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let drafts = actor(&sandbox, "prd");
    assert_eq!(drafts[0].messages().len(), 2, "nothing goes on from the idea");
    assert!(goes_on(&drafts[1], &drafts[0]));
    assert!(newest(&drafts[1]).contains("REQ-002 is vague."));
    let prd = sandbox.artifact("prd.md");
    assert!(prd.contains("List todos by date") && prd.contains("### REQ-003"), "{prd}");
}

#[test]
fn a_later_draft_edits_a_passage_and_its_records_follow() {
    let sandbox = Sandbox::new();
    sandbox.server.on(at("plan", "critic").iteration(1), todo::reject("TASK-003 prints nothing."));
    let edit = |path: &str, new: &str| {
        Reply::call(
            "edit_file",
            json!({"path": path, "old_text": "List todos, in", "new_text": new}),
        )
    };
    let plan = ".cowork/sessions/todo/plan.md";
    // No code is written before its stage.
    let code =
        Reply::call("edit_file", json!({"path": "README.md", "old_text": "e", "new_text": "f"}));
    sandbox.server.on(at("plan", "actor").iteration(2).turn(1), code);
    sandbox.server.on(at("plan", "actor").iteration(2).turn(2), edit(plan, "Print all todos, in"));
    new(&sandbox, &["--review", "auto", "--stop-after", "plan"]).exits(0);
    let drafts = actor(&sandbox, "plan");
    assert_eq!(drafts.len(), 3, "the edit ends the draft");
    let refused = drafts[2].tool_results().join("\n");
    assert!(refused.contains("README.md is not a document of plan"), "{refused}");
    assert!(sandbox.artifact("implementation_plan.json").contains("Print all todos"));
    assert!(sandbox.artifact("plan.md").contains("Print all todos, in"));
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn what_a_person_has_changed_is_told_again() {
    let sandbox = Sandbox::new();
    new(&sandbox, &["--review", "wait"]).exits(3);
    let edited = sandbox.artifact("prd.md").replacen('\n', "\n\nRead this first.\n", 1);
    sandbox.write(".cowork/sessions/todo/prd.md", &edited);
    sandbox.cowork(&["review", "--feedback", "say more of adding"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    let drafts = actor(&sandbox, "prd");
    let second = drafts.iter().find(|request| (request.iteration, request.turn) == (2, 1)).unwrap();
    let first = &drafts[0];
    assert!(goes_on(second, first), "also by another process");
    let brief = newest(second);
    assert!(brief.contains("Read this first.") && brief.contains("say more of adding"), "{brief}");
    assert!(!brief.contains("# Idea"), "what is as it was is not repeated: {brief}");
}

#[test]
fn what_is_said_twice_asks_for_another_way_and_a_fresh_conversation() {
    let sandbox = Sandbox::new();
    for iteration in 1..=2 {
        let rejected = todo::reject("Adding loses the todo when the disk is full.");
        sandbox.server.on(at("prd", "critic").iteration(iteration), rejected);
    }
    for iteration in 2..=3 {
        let prd = todo::PRD.replace("# Product", &format!("# The {iteration}. product"));
        let again = Reply::call("save_prd_doc", json!({"content": prd}));
        sandbox.server.on(at("prd", "actor").iteration(iteration), again);
    }
    new(&sandbox, &["--review", "auto", "--stop-after", "prd"]);
    let drafts = actor(&sandbox, "prd");
    assert!(goes_on(&drafts[1], &drafts[0]));
    assert_eq!(drafts[2].messages().len(), 2, "{}", drafts[2].text());
    assert!(drafts[2].text().contains("when the disk is full"));
}

#[test]
fn without_its_transcript_a_conversation_begins_with_the_documents() {
    let sandbox = Sandbox::new();
    new(&sandbox, &["--review", "auto", "--stop-after", "design"]).exits(0);
    std::fs::remove_dir_all(sandbox.path(".git/cowork/sessions/todo/transcripts")).unwrap();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "plan"]).exits(0);
    let plan = actor(&sandbox, "plan").remove(0);
    assert_eq!(plan.messages().len(), 2);
    assert!(plan.text().contains("## .cowork/sessions/todo/design.md"), "{}", plan.text());
}

#[test]
fn after_going_back_nothing_goes_on() {
    let sandbox = Sandbox::new();
    new(&sandbox, &["--review", "auto", "--stop-after", "coding"]).exits(0);
    sandbox.server.forget();
    sandbox.cowork(&["revert", "--to", "coding"]).exits(3);
    assert_eq!(actor(&sandbox, "coding")[0].messages().len(), 2);
}

#[test]
fn a_window_that_is_nearly_full_is_not_filled_further() {
    let sandbox = Sandbox::new();
    // Some 12 kB: a task's brief and a few answers fit, and not much more.
    sandbox.user_config("[llm]\ncontext_window = 3700\n");
    new(&sandbox, &["--review", "auto"]).exits(0);
    let tasks = actor(&sandbox, "coding");
    assert!(tasks.iter().any(
        |request| request.messages().len() == 2 && request.task.as_deref() != Some("TASK-001")
    ));
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn the_program_checks_and_reports_where_it_knows_enough() {
    let sandbox = Sandbox::new();
    let last = TASKS[TASKS.len() - 1].0;
    let said = "Todos can be added, listed and cleared. Try it: sh todo.sh add milk";
    let work = todo::task_work(last).saying(said);
    sandbox.server.on(at("coding", "actor").task(last), work);
    new(&sandbox, &["--review", "auto"]).exits(0);
    assert!(actor(&sandbox, "check").is_empty() && actor(&sandbox, "delivery").is_empty());
    let brief = newest(&actor(&sandbox, "coding")[TASKS.len() - 1]);
    assert!(brief.contains("for whoever reviews the whole session"), "{brief}");
    let report = sandbox.artifact("delivery_report.md");
    assert!(report.contains(said), "{report}");
    let check = sandbox.artifact("check_report.md");
    assert!(
        check.contains("no model was asked") && check.contains("## What the program"),
        "{check}"
    );
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn where_something_is_not_shown_a_model_is_asked() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[project]\ntest = \"no-such-program-here\"\n");
    let last = TASKS[TASKS.len() - 1].0;
    let silent = todo::task_work(last).saying("");
    sandbox.server.on(at("coding", "actor").task(last), silent);
    new(&sandbox, &["--review", "auto"]).exits(0);
    assert_eq!(actor(&sandbox, "check").len(), 1, "the tests did not run");
    assert_eq!(actor(&sandbox, "delivery").len(), 1, "nobody has said what the code does");
}
