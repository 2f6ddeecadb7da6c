//! What it takes to be delivered: a change outside `.cowork`, whichever files it is in, and tasks that
//! have code behind them.

use serde_json::{Value, json};

use crate::support::change::triage;
use crate::support::todo::{self, task_work};
use crate::support::{Reply, Sandbox, at, kill};

/// Where a small project may be planned with one of each.
pub(super) const SMALL: &str = "[limits]
requirements = [1, 6]
features = [1, 4]
components = [1, 4]
tasks = [1, 12]
";

const SOURCE: &str = "due() { echo $(( $1 - 1 )); }\n";

/// A task, as `create_task` takes it.
pub(super) fn task(title: &str, description: &str, create: &[&str], change: &[&str]) -> Value {
    json!({
        "title": title,
        "description": description,
        "feature_id": "FEAT-001",
        "component_id": "COMP-001",
        "dependencies": [],
        "files_to_create": create,
        "files_to_change": change,
        "acceptance_criteria": ["it prints the sum"],
    })
}

/// The plan draft with these tasks.
fn plan(tasks: &[Value]) -> Reply {
    let draft = Reply::call("save_plan_doc", json!({"content": "# Plan\n\nAll of it.\n"}));
    tasks.iter().fold(draft, |draft, task| draft.and("create_task", task.clone()))
}

/// A repository with one source file, and a model that plans these tasks for it.
pub(super) fn one_source_file(tasks: &[Value]) -> Sandbox {
    let sandbox = Sandbox::unborn(&[]);
    sandbox.commit_file("due.sh", SOURCE, "first");
    sandbox.user_config(SMALL);
    sandbox.script(
        "prd",
        Reply::call("save_prd_doc", json!({"content": "# PRD\n\nREQ-001 through FEAT-001.\n"}))
            .and("create_requirement", todo::requirement("Kreditorsumme"))
            .and("add_feature", todo::feature("Kreditorsumme", &["REQ-001"])),
    );
    sandbox.script(
        "design",
        Reply::call("save_design_doc", json!({"content": "# Design\n\nCOMP-001 is all of it.\n"}))
            .and("create_design_component", todo::component("Due", &["FEAT-001"])),
    );
    sandbox.script("plan", plan(tasks));
    let report = "Summe je Kreditor zeigen\n\n## Zusammenfassung\nDie Summe stimmt.\n";
    sandbox.script("delivery", Reply::call("save_delivery_report", json!({"content": report})));
    sandbox
}

pub(super) fn done(task: &str) -> Reply {
    Reply::call("update_task_status", json!({"task_id": task, "new_status": "completed"}))
}

/// The task needs no change.
pub(super) fn needs_none(task: &str, why: &str) -> Reply {
    let done = json!({"task_id": task, "new_status": "completed", "reason": why});
    Reply::call("update_task_status", done)
}

/// The first task's work: one line of the source file.
pub(super) fn edit() -> Reply {
    let edit = json!({"path": "due.sh", "old_text": "$1 - 1", "new_text": "$1 + 1"});
    let done = json!({"task_id": "TASK-001", "new_status": "completed"});
    Reply::call("edit_file", edit).and("update_task_status", done)
}

/// The one task that edits the one file; nothing in its words says so.
fn edits() -> Sandbox {
    let words = "Den Gläubiger mit seiner Summe zeigen.";
    let sandbox = one_source_file(&[task("Summe", words, &[], &["due.sh"])]);
    sandbox.server.on(at("coding", "actor").turn(1), edit());
    sandbox
}

pub(super) fn new<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["new", "-n", "todo", "Kreditorsumme", "--review", "auto"], more].concat()
}

/// The status of the first feature in a stage's commit.
pub(super) fn status(sandbox: &Sandbox, stage: &str) -> String {
    let text =
        sandbox.blob(&sandbox.stage_commit(stage), ".cowork/sessions/todo/feature_list.json");
    let list: Value = serde_json::from_str(&text).unwrap();
    list["features"][0]["status"].as_str().unwrap().to_owned()
}

/// Paths outside `.cowork` that a commit changed.
pub(super) fn code_of(sandbox: &Sandbox, commit: &str) -> Vec<String> {
    let paths = sandbox.git(&["diff", "--name-only", &format!("{commit}^"), commit]);
    paths.lines().filter(|path| !path.starts_with(".cowork/")).map(str::to_owned).collect()
}

#[test]
fn a_session_that_only_edits_is_delivered_and_merged() {
    let sandbox = edits();
    sandbox.cowork(&new(&[])).exits(0);
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-001 ");
    assert_eq!(code_of(&sandbox, &commit), ["due.sh"]);
    assert_eq!(sandbox.trailers(&commit)["Cowork-Checks"], ["none"]);
    let asked = sandbox.server.requests_of("coding", "actor")[0].text();
    assert!(asked.contains("Files to change: due.sh"), "{asked}");
    let check = sandbox.artifact("check_report.md");
    assert!(check.contains("- no tests to run: no test command is configured"), "{check}");
    assert!(check.contains("- files outside .cowork are changed\n"), "{check}");
    let report = sandbox.artifact("delivery_report.md");
    for part in [
        "**REQ-001 Kreditorsumme**: FEAT-001 verified by the check: TASK-001\n",
        "\n1 file: 1 line added, 1 removed.\n\n- TASK-001 Summe: `due.sh`\n",
        "\nNo test command is known, so nothing was run.\n",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let plan: Value = serde_json::from_str(&sandbox.artifact("implementation_plan.json")).unwrap();
    let fields: Vec<&String> = plan["tasks"][0].as_object().unwrap().keys().collect();
    let create = fields.iter().position(|field| *field == "files_to_create").unwrap();
    assert_eq!(fields[create + 1], "files_to_change");
    assert_eq!(fields[create + 2], "acceptance_criteria");
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.cowork(&["merge"]).exits(0);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    assert_eq!(sandbox.read("due.sh"), SOURCE.replace('-', "+"));
    assert_eq!(sandbox.subjects("-1")[0], "Summe je Kreditor zeigen");
    sandbox.assert_sound();
}

#[test]
fn a_task_that_names_no_file_is_told_at_once_and_refused() {
    // English words that look like a change of something that exists, and none at all.
    for words in ["Show the creditor in the changelog.", "Die Summe je Kreditor."] {
        let sandbox = one_source_file(&[task("Summe", words, &[], &[])]);
        let update = json!({"task_id": "TASK-001", "reason": "r", "files_to_change": ["due.sh"]});
        sandbox
            .server
            .on(at("plan", "actor").iteration(2).turn(1), Reply::call("update_task", update));
        sandbox.cowork(&new(&["--stop-after", "plan"])).exits(0).says("TASK-001 names no file");
        let requests = sandbox.server.requests_of("plan", "actor");
        let told = requests[1].text();
        assert!(told.contains("It names no file; set files_to_change"), "{told}");
        let again = requests.iter().find(|request| request.iteration == 2).unwrap().text();
        let fix = "name below its heading the files that it changes or creates";
        assert!(again.contains(fix), "{again}");
    }
}

#[test]
fn a_file_to_change_exists_or_is_created_by_an_earlier_task() {
    let tasks = [
        task("One", "d", &["lib/a.sh", "due.sh"], &["due.sh", "./lib/later.sh", "Due.sh"]),
        task("Two", "d", &["lib/later.sh"], &["lib/a.sh", "lib/"]),
    ];
    let sandbox = one_source_file(&tasks);
    let update = json!({"task_id": "TASK-001", "reason": "r", "files_to_change": ["due.sh"]});
    sandbox.server.on(at("plan", "actor").iteration(2).turn(1), Reply::call("update_task", update));
    let update = json!({"task_id": "TASK-002", "reason": "r", "files_to_change": ["lib/a.sh"]});
    sandbox.server.on(at("plan", "actor").iteration(3).turn(1), Reply::call("update_task", update));
    let told = sandbox.cowork(&new(&["--stop-after", "plan"])).exits(0).stderr;
    let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "TASK-001 is to change lib/later.sh, which TASK-002 creates later",
        "TASK-001 is to change Due.sh, which is not in the repository, and no earlier task",
        "TASK-002 is to change lib, which is not in the repository",
    ] {
        assert!(flat.contains(part), "{part}: {told}");
    }
    // What is there may be named as to be created; what an earlier task creates may be changed.
    for part in ["change due.sh", "change lib/a.sh"] {
        assert!(!flat.contains(part), "{part}: {told}");
    }
}

#[test]
fn a_session_that_changes_nothing_ends_before_it_is_checked() {
    for review in ["auto", "wait"] {
        let sandbox = edits();
        sandbox.user_config(&format!("[review]\ngates = []\n{SMALL}"));
        sandbox.server.on(at("coding", "actor"), Reply::text("It was like that already."));
        let none = needs_none("TASK-001", "it was like that");
        sandbox.server.on(at("coding", "actor").iteration(1).turn(1), none);
        let args = ["new", "-n", "todo", "Kreditorsumme", "--review", review];
        let told = sandbox.cowork(&args).exits(1).says("changes no file outside .cowork").stderr;
        assert!(!told.contains("TASK-001 is completed, but"), "said twice: {told}");
        let asked = sandbox.server.requests_of("coding", "actor");
        let again = asked.iter().find(|request| request.iteration == 2).unwrap().text();
        assert!(again.contains("this session changes no file outside .cowork"), "{again}");
        assert!(sandbox.server.requests_of("coding", "critic").is_empty());
        let history: Value =
            serde_json::from_str(&kept(&sandbox, "feedback_history.json")).unwrap();
        assert_eq!(history[0]["details"], "TASK-001 needs no change: it was like that");
        assert_eq!(history[1]["severity"], "critical", "{history}");
        assert_eq!(history[1]["from"], "validator", "{history}");
        for stage in ["coding", "check", "delivery"] {
            assert!(sandbox.refs(&format!("refs/tags/cowork/todo/{stage}")).is_empty(), "{stage}");
        }
        // Nor when it is tried again.
        sandbox.cowork(&["resume", "--review", "auto"]).exits(1);
        sandbox.assert_sound();
    }
}

/// An artifact in the kept draft of coding.
fn kept(sandbox: &Sandbox, name: &str) -> String {
    sandbox.blob("refs/cowork/drafts/todo/coding", &format!(".cowork/sessions/todo/{name}"))
}

#[test]
fn a_change_that_touches_documents_only_is_not_delivered() {
    let sandbox = edits();
    sandbox.cowork(&new(&[])).exits(0);
    sandbox.script("triage", triage("Say more", &["prd"], &[]));
    let update = json!({"id": "REQ-001", "description": "More of it."});
    sandbox.script("prd", Reply::call("update_requirement", update));
    sandbox.server.on(at("coding", "actor"), Reply::text("There is nothing to code."));
    sandbox
        .cowork(&["modify", "say more", "--review", "auto"])
        .exits(1)
        .says("changes no file outside .cowork");
    assert_eq!(sandbox.stages("cowork/todo.."), ["start", "triage", "prd"]);
}

#[test]
fn the_gate_tells_that_nothing_was_changed() {
    let sandbox = edits();
    sandbox.user_config(&format!(
        "[review]\ngates = [\"coding\"]\n{SMALL}iterations = {{ coding = 1 }}\n"
    ));
    sandbox.server.on(at("coding", "actor"), Reply::text("It was like that already."));
    let none = needs_none("TASK-001", "it was like that");
    sandbox.server.on(at("coding", "actor").turn(1), none);
    let mut terminal = sandbox.terminal(&["new", "-n", "todo", "Kreditorsumme"]);
    terminal.sees("draft limit reached");
    terminal.sees("changes no file outside");
    terminal.sees("read the draft");
    terminal.types("r");
    let gate = terminal.sees("p pass ");
    assert!(gate.contains("changes no file outside"), "{gate}");
    // Nobody can pass it.
    terminal.types("p");
    terminal.sees("draft limit reached");
    terminal.control('c');
    terminal.ends();
    assert!(sandbox.refs("refs/tags/cowork/todo/coding").is_empty());
}

#[test]
fn what_was_taken_back_before_delivery_is_not_delivered() {
    let sandbox = edits();
    sandbox.cowork(&new(&["--stop-after", "check"])).exits(0);
    sandbox.commit_file("due.sh", SOURCE, "take it back");
    sandbox.server.forget();
    let told = sandbox.cowork(&["resume", "--review", "auto"]).exits(1).stderr;
    assert!(told.contains("delivery: this session changes no file outside .cowork"), "{told}");
    assert!(told.contains("git cowork revert todo --to coding"), "{told}");
    assert!(sandbox.server.requests().is_empty(), "a report was asked for");
    // The way out that was named.
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.cowork(&["revert", "todo", "--to", "coding", "--review", "auto"]).exits(0);
    assert_ne!(sandbox.git(&["rev-parse", "HEAD"]), tip);
    assert_eq!(sandbox.stages("main..cowork/todo").last().unwrap(), "delivery");
}

#[test]
fn a_promised_file_that_is_gone_is_no_reason_to_refuse_delivery() {
    let sandbox = Sandbox::stopped_after("check");
    sandbox.git(&["mv", "lib/add.sh", "lib/append.sh"]);
    sandbox.git(&["commit", "-q", "-m", "a better name"]);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    assert_eq!(sandbox.stages("main..cowork/todo").last().unwrap(), "delivery");
}

#[test]
fn code_squashed_into_the_sessions_only_commit_counts() {
    let sandbox = edits();
    sandbox.cowork(&new(&[])).exits(0);
    let message = sandbox.git(&["log", "-1", "--format=%B"]);
    sandbox.git(&["reset", "-q", "--soft", "main"]);
    sandbox.git(&["commit", "-q", "-m", &message]);
    let told = sandbox.cowork(&["verify"]).stdout;
    assert!(!told.contains("nothing-changed") && !told.contains("outside .cowork"), "{told}");
}

#[test]
fn a_shallow_clone_concludes_nothing_from_what_it_lacks() {
    let mut sandbox = edits();
    sandbox.cowork(&new(&[])).exits(0);
    let url = format!("file://{}", sandbox.repo().display());
    sandbox.git(&["clone", "-q", "--depth", "1", "-b", "cowork/todo", &url, "../shallow"]);
    sandbox.enter("../shallow");
    let told = sandbox.cowork(&["verify"]).stdout;
    assert!(!told.contains("outside .cowork"), "{told}");
}

/// Writes the files of several tasks of the todo list; the status is that of the first.
fn writes(files: &[&str], task: &str) -> Reply {
    let write = |id: &&str| json!({"path": todo::file_of(id), "content": todo::code_of(id)});
    let (first, rest) = files.split_first().unwrap();
    let draft = Reply::call("write_file", write(first));
    let draft = rest.iter().fold(draft, |draft, id| draft.and("write_file", write(id)));
    draft.and("update_task_status", json!({"task_id": task, "new_status": "completed"}))
}

/// The first task's conversation writes the files of the next two, too.
fn three_in_one_turn() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.user_config("[project]\ntest = \"sh -n lib/store.sh\"\n");
    let three = writes(&["TASK-001", "TASK-002", "TASK-003"], "TASK-001");
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(1), three);
    for id in ["TASK-002", "TASK-003"] {
        sandbox.server.on(at("coding", "actor").task(id).turn(1), done(id));
    }
    sandbox
}

#[test]
fn files_of_several_tasks_are_committed_with_the_task_that_names_them() {
    let sandbox = three_in_one_turn();
    sandbox.auto(&[]).exits(0);
    for (id, _, file, ..) in todo::TASKS {
        let commit = sandbox.commit_of("cowork/todo", &format!("coding: {id} "));
        assert_eq!(code_of(&sandbox, &commit), [file], "{id}");
    }
    let checks = |id: &str| {
        let commit = sandbox.commit_of("cowork/todo", &format!("coding: {id} "));
        let mut trailers = sandbox.trailers(&commit);
        (trailers["Cowork-Checks"].join(""), trailers.remove("Cowork-Evidence"))
    };
    // What runs in the working tree says nothing of a commit that lacks some of its files.
    let (said, evidence) = checks("TASK-001");
    assert_eq!(said, "not run (files of TASK-002, TASK-003 are written but not in this commit)");
    assert_eq!(evidence, None);
    assert_eq!(checks("TASK-003").0, "passed, tests not counted (sh -n lib/store.sh)");
    let told = sandbox.server.requests_of("coding", "actor");
    let second = told.iter().find(|r| r.task.as_deref() == Some("TASK-002")).unwrap().text();
    let section = second.split("Files already written").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    assert!(section.contains("lib/add.sh") && !section.contains("lib/list.sh"), "{section}");
    assert_eq!(status(&sandbox, "coding"), "implemented");
    sandbox.assert_sound();
}

#[test]
fn a_run_killed_between_such_tasks_continues() {
    let whole = three_in_one_turn();
    whole.auto(&["--stop-after", "coding"]).exits(0);
    let before = |r: &crate::support::server::Received| r.task.as_deref() != Some("TASK-002");
    let number = 1 + whole.server.requests().iter().take_while(|r| before(r)).count();
    let sandbox = three_in_one_turn();
    let args = ["new", "-n", "todo", "a todo list for the terminal", "--review", "auto"];
    kill::kill_at_request(&sandbox, &args, number).was_killed();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
    assert_eq!(sandbox.subjects("main..cowork/todo"), whole.subjects("main..cowork/todo"));
    for (id, _, file, ..) in todo::TASKS {
        let commit = sandbox.commit_of("cowork/todo", &format!("coding: {id} "));
        assert_eq!(code_of(&sandbox, &commit), [file], "{id}");
    }
    sandbox.assert_sound();
}

#[test]
fn a_task_left_with_nothing_names_the_commit_that_holds_its_files() {
    // Both tasks name the file; the first does it all.
    let tasks =
        [task("One", "The sum.", &[], &["due.sh"]), task("Two", "The sign.", &[], &["./due.sh"])];
    let sandbox = one_source_file(&tasks);
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(1), edit());
    sandbox.server.on(at("coding", "actor").task("TASK-002").turn(1), done("TASK-002"));
    sandbox.cowork(&new(&[])).exits(0);
    let first = sandbox.commit_of("cowork/todo", "coding: TASK-001 ");
    let second = sandbox.commit_of("cowork/todo", "coding: TASK-002 ");
    assert!(code_of(&sandbox, &second).is_empty());
    let body = sandbox.git(&["log", "-1", "--format=%b", &second]);
    let short = sandbox.git(&["rev-parse", "--short", &first]);
    let line = format!("Its files are in other commits:\n- `due.sh`: {short} coding: TASK-001 One");
    assert!(body.contains(&line), "{body}");
    let report = sandbox.artifact("delivery_report.md");
    assert!(report.contains("\n- TASK-002 Two: (with others)\n"), "{report}");
    assert!(report.contains("verified by the check"), "{report}");
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn only_tests_that_passed_verify_a_feature() {
    for (test, said, found) in [
        ("sh -n due.sh", "verified", "verified by the check"),
        // Fails as it did before the session.
        ("sh -c 'echo no; exit 1'", "implemented", "implemented, not verified"),
        // Is not here.
        ("no-such-program-here", "implemented", "implemented, not verified"),
    ] {
        let sandbox = edits();
        sandbox.user_config(&format!("[project]\ntest = \"{test}\"\n{SMALL}"));
        sandbox.cowork(&new(&[])).exits(0);
        assert_eq!(status(&sandbox, "coding"), "implemented", "{test}");
        assert_eq!(status(&sandbox, "check"), said, "{test}");
        assert_eq!(status(&sandbox, "delivery"), "delivered", "{test}");
        let check = sandbox.artifact("check_report.md");
        assert!(!check.contains("no tests to run"), "{test}: {check}");
        let not = "no feature is verified: the project's tests did not pass on this tree";
        assert_eq!(check.contains(not), said == "implemented", "{test}: {check}");
        let report = sandbox.artifact("delivery_report.md");
        assert!(report.contains(&format!("FEAT-001 {found}: TASK-001")), "{test}: {report}");
    }
}

#[test]
fn tasks_that_write_in_their_own_turns_commit_as_before() {
    let sandbox = Sandbox::new();
    // A file that no task names goes with the conversation that wrote it.
    let more = Reply::call("write_file", json!({"path": "lib/more.sh", "content": "# more\n"}));
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, vec![more, task_work("TASK-001"), Reply::text("Done.")]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-001 ");
    assert_eq!(code_of(&sandbox, &commit), ["lib/more.sh", "lib/store.sh"]);
}
