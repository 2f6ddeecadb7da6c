//! What a session says it did: its summary is about the whole, what was corrected is told beside it,
//! and complaints say what to do.

use serde_json::json;

use crate::support::todo::{IDEA, TASKS, approve, code_of, file_of, reject, task_work};
use crate::support::{Reply, Sandbox, at, todo};

const WHOLE: &str = "Todos are added and listed; try `sh lib/list.sh`.";
const FIX: &str = "The missing `?` is there now.";

/// A quick session of two tasks, whose test fails until there is a file `fix.txt`.
fn quick() -> Sandbox {
    let mut plan = "# A todo list\n\nAssumed: one user.\n".to_owned();
    plan += &todo::requirement_section("REQ-001", "Add a todo");
    plan += &todo::feature_section("FEAT-001", "Adding", &["REQ-001"]);
    for (id, title, file, ..) in &TASKS[..2] {
        plan += &format!("\n### {id} {title}\n\n`FEAT-001` `{file}`\n\n{title}.\n\n- it exists\n");
    }
    let sandbox = Sandbox::new();
    sandbox.commit_file("start.sh", "echo start\n", "code");
    sandbox.script("plan", Reply::call("save_plan_doc", json!({"content": plan})));
    let test = format!("test ! -e {} || test -e fix.txt", file_of("TASK-002"));
    sandbox.user_config(&format!("[project]\ntest = \"{test}\"\n"));
    sandbox
}

fn fixed(words: &str) -> Reply {
    Reply::call("write_file", json!({"path": "fix.txt", "content": "fixed\n"}))
        .and("update_task_status", json!({"task_id": "TASK-002", "new_status": "completed"}))
        .saying(words)
}

fn run(sandbox: &Sandbox) {
    sandbox.auto(&["--depth", "quick"]).exits(0);
}

fn message(sandbox: &Sandbox, commit: &str) -> String {
    sandbox.git(&["log", "-1", "--format=%B", commit])
}

#[test]
fn after_a_check_failed_once_the_summary_is_still_the_whole_sessions() {
    let sandbox = quick();
    let last = || at("coding", "actor").task("TASK-002");
    sandbox.server.on(last().turn(1), task_work("TASK-002").saying(WHOLE));
    sandbox.server.on(last().turn(2), fixed(FIX));
    run(&sandbox);
    let report = sandbox.artifact("delivery_report.md");
    assert!(report.contains(&format!("\n\n{WHOLE}\n")), "{report}");
    assert!(report.contains(&format!("## Corrections\n\n- TASK-002: {FIX}\n")), "{report}");
    let task = message(&sandbox, &sandbox.commit_of("cowork/todo", "coding: TASK-002 "));
    assert!(task.contains(&format!("\n\n{WHOLE}\n\nCorrected: {FIX}\n\n")), "{task}");
    sandbox.cowork(&["merge"]).exits(0);
    let merge = message(&sandbox, "main");
    assert!(merge.contains(&format!("\n\n{WHOLE}\n\n")), "{merge}");
}

#[test]
fn words_about_a_correction_alone_are_no_summary() {
    let sandbox = quick();
    let last = || at("coding", "actor").task("TASK-002");
    sandbox.server.on(last().turn(1), task_work("TASK-002").saying(""));
    sandbox.server.on(last().turn(2), fixed(FIX));
    run(&sandbox);
    let report = sandbox.artifact("delivery_report.md");
    assert!(report.starts_with("# a todo list for the terminal\n\nAdding"), "{report}");
    assert!(report.contains(&format!("- TASK-002: {FIX}\n")), "{report}");
}

#[test]
fn a_corrector_gets_the_files_and_its_words_are_in_the_commit_and_the_report() {
    let sandbox = Sandbox::new();
    let add = file_of("TASK-001");
    let unused = format!("{add} does not say how to use it");
    sandbox.server.on(at("coding", "critic").iteration(1), reject(&unused));
    sandbox.server.on(at("coding", "critic").iteration(2), approve());
    let said = "Named the arguments in the first line.";
    let fix = json!({"path": add, "content": "# usage: add TEXT\n"});
    let last = TASKS[TASKS.len() - 1].0;
    let done = json!({"task_id": last, "new_status": "completed"});
    let fix = Reply::call("write_file", fix).and("update_task_status", done).saying(said);
    sandbox.server.on(at("coding", "actor").iteration(2), fix);
    // In a clone nothing of the conversation is left: the run begins a new one.
    sandbox.auto(&["--depth", "thorough"]).exits(0);
    let asked = sandbox.server.requests_of("coding", "actor");
    let asked = asked.iter().find(|request| request.iteration == 2).unwrap().text();
    let section = format!("## {add} (as it is now)\n\n");
    let text = asked.split(&section).nth(1).unwrap_or_else(|| panic!("{asked}"));
    assert!(text.contains(code_of("TASK-001").trim()), "{text}");
    let coding = message(&sandbox, &sandbox.stage_commit("coding"));
    assert!(coding.contains(&format!("\n\nCorrected: {said}\n\n")), "{coding}");
    let report = sandbox.artifact("delivery_report.md");
    assert!(report.contains(&format!("- coding: {said}\n")), "{report}");
}

#[test]
fn the_summary_of_an_adopted_branch_says_what_it_does() {
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "-qc", "feature/log"]);
    for (number, title) in ["Write a log", "Rotate the log"].iter().enumerate() {
        sandbox.commit_file(&format!("lib/part{number}.sh"), "echo\n", title);
    }
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.cowork(&["adopt", "feature/log", "--review", "auto"]).exits(0);
    let report = sandbox.blob("HEAD", ".cowork/sessions/log/delivery_report.md");
    assert!(report.contains("\n\nWrite a log; Rotate the log.\n"), "{report}");
}

#[test]
fn complaints_say_what_to_do_in_the_sessions_own_words() {
    let sandbox = Sandbox::new();
    let idea = IDEA.replacen("# A todo list for the terminal", "# Todos im Terminal", 1);
    let (short, _) = idea.split_once("## Next").unwrap();
    let save = |text: &str| Reply::call("save_idea", json!({"content": text}));
    sandbox.server.on(at("idea", "actor").turn(1), save(short));
    sandbox.server.on(at("idea", "actor").turn(2), save(&idea));
    let report = json!({"content": "# Report\n\n## Summary\n\nIt adds todos.\n"});
    let call = Reply::call("save_delivery_report", report);
    sandbox.server.on(at("delivery", "actor").turn(1), call);
    let report = json!({"content": todo::DELIVERY});
    let call = Reply::call("save_delivery_report", report);
    sandbox.server.on(at("delivery", "actor").turn(2), call);
    sandbox.auto(&[]).exits(0);
    let told = sandbox.server.requests_of("idea", "actor")[1].text();
    assert!(told.contains("idea.md lacks Next steps"), "{told}");
    assert!(told.contains("save_idea replaces the whole document"), "{told}");
    let told = sandbox.server.requests_of("delivery", "actor")[1].text();
    assert!(told.contains("such as '# Todos im Terminal'"), "{told}");
}

#[test]
fn a_feature_without_a_component_is_told_in_words_that_every_tool_takes() {
    let sandbox = Sandbox::stopped_after("prd");
    let design = todo::DESIGN.replace(" `FEAT-002`", "");
    let save = |text: &str| Reply::call("save_design_doc", json!({"content": text}));
    sandbox.server.on(at("design", "actor").turn(1), save(&design));
    sandbox.server.on(at("design", "actor").turn(2), save(todo::DESIGN));
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "design"]).exits(0);
    let told = sandbox.server.requests_of("design", "actor")[1].text();
    assert!(told.contains("name FEAT-002 below the heading of the component"), "{told}");
    assert!(!told.contains("add FEAT-002 to related_features"), "{told}");
}

#[test]
fn a_call_as_bare_json_in_text_is_made() {
    let sandbox = Sandbox::new();
    let call = json!({"name": "save_idea", "arguments": {"content": IDEA}});
    let text = format!("I save the idea now.\n\n{call}\n\nThat is all.");
    sandbox.server.on(at("idea", "actor").turn(1), Reply::text(&text));
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    assert_eq!(sandbox.artifact("idea.md"), IDEA);
    assert_eq!(sandbox.server.requests_of("idea", "actor").len(), 1);
}
