//! `git cowork modify`: a change request goes through exactly the stages its scope names, edits
//! the parent's records in place, and starts from where the parent's work is now.

use serde_json::json;

use crate::support::change::triage;
use crate::support::{Reply, Sandbox, at, todo};

const DIR: &str = ".cowork/sessions/todo";

/// A delivered session, whose requests are not counted.
pub fn delivered() -> Sandbox {
    let sandbox = Sandbox::delivered();
    sandbox.server.forget();
    sandbox
}

fn modify<'a>(words: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["modify", words, "--review", "auto"], more].concat()
}

#[test]
fn project_names_the_session_to_change() {
    let sandbox = delivered();
    sandbox.script_small_change("lib/add.sh", "at once");
    // On another session's branch, which would be meant otherwise.
    let other = ["new", "-n", "other", "something else", "--review", "auto"];
    sandbox.cowork(&[&other[..], &["--stop-after", "idea"]].concat()).exits(0);
    let words = "Say that adding is quick";
    let twice = ["--project", "todo", "--session", "todo"];
    sandbox.cowork(&modify(words, &twice)).exits(2).says("cannot be used with");
    sandbox.cowork(&modify(words, &["--project", "nope"])).exits(5).says("no session 'nope'");
    let more = ["--project", "todo", "-n", "quick", "--stop-after", "triage"];
    sandbox.cowork(&modify(words, &more)).exits(0).says("a change to todo");
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "cowork/todo--quick");
    sandbox.cowork(&["modify", "--help"]).exits(0);
}

#[test]
fn a_dry_run_says_what_would_be_started_and_starts_nothing() {
    let sandbox = delivered();
    let (refs, tip) = (sandbox.all_refs(), sandbox.git(&["rev-parse", "--short", "HEAD"]));
    let told = sandbox.cowork(&modify("Say that adding is quick", &["--dry-run"])).exits(0);
    let told = told.says("nothing was started").stdout;
    let from = format!("Changes  todo, from cowork/todo at {tip}\n");
    let branch = "Branch   cowork/todo--say-that-adding-is-quick, or a name the model chooses\n";
    assert_eq!(told, format!("{from}{branch}"));
    let told = sandbox.cowork(&modify("x", &["-n", "quick", "--dry-run", "-w"])).exits(0).stdout;
    assert_eq!(told, format!("{from}Branch   cowork/todo--quick\n"));
    assert!(sandbox.server.requests().is_empty(), "a model was asked");
    assert_eq!(sandbox.all_refs(), refs);
    assert!(!sandbox.exists(".git/cowork/sessions/todo--quick"));
    // What would be refused is refused.
    sandbox.cowork(&modify("x", &["--project", "nope", "--dry-run"])).exits(5);
}

#[test]
fn a_change_of_code_leaves_every_document_as_it_was() {
    let sandbox = delivered();
    // However a person has laid out a record: it is nobody's business.
    let features = sandbox.artifact("feature_list.json").replace("    ", "\t");
    sandbox.write(&format!("{DIR}/feature_list.json"), &features);
    sandbox.git(&["commit", "-q", "-a", "-m", "tabs"]);
    sandbox.script_small_change("lib/add.sh", "at once");
    let outcome = sandbox.cowork(&modify("Say that adding is quick", &["-n", "quick"])).exits(0);
    assert!(outcome.stderr.contains("a change to todo, from cowork/todo"), "{}", outcome.stderr);
    assert_eq!(
        sandbox.stages("cowork/todo..cowork/todo--quick"),
        ["start", "triage", "coding", "check", "delivery"]
    );
    let changed = sandbox.git(&["diff", "--name-only", "cowork/todo", "cowork/todo--quick"]);
    let own = format!("{DIR}/changes/quick");
    let mut expected: Vec<String> =
        ["change_request.json", "check_report.md", "delivery_report.md", "session.json"]
            .iter()
            .map(|name| format!("{own}/{name}"))
            .collect();
    expected.push("lib/add.sh".to_owned());
    assert_eq!(changed.lines().collect::<Vec<_>>(), expected);
    // What it is, in its own words.
    let subjects = sandbox.subjects("cowork/todo..cowork/todo--quick");
    assert_eq!(subjects[0], "start: Say that adding is quick");
    assert_eq!(subjects[1], "triage: low risk; code");
    assert_eq!(subjects[2], "coding: 1 file");
    let file: serde_json::Value =
        serde_json::from_str(&sandbox.blob("HEAD", &format!("{own}/session.json"))).unwrap();
    assert_eq!(file["kind"], "patch");
    assert_eq!(file["base"]["branch"], "cowork/todo");
    assert_eq!(file["parent"]["session"], "todo");
    assert_eq!(file["parent"]["commit"], sandbox.git(&["rev-parse", "cowork/todo"]));
    // The actor had what was asked for and what triage made of it, and no plan to follow.
    let asked = sandbox.server.requests_of("coding", "actor").last().unwrap().text();
    for part in ["Say that adding is quick", "change_request.json", "todos stay in one file"] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    sandbox.assert_sound();
}

#[test]
fn an_addition_edits_the_records_in_place_and_says_what_it_adds() {
    let sandbox = delivered();
    sandbox.script_addition("Due dates", ["REQ-004", "FEAT-003", "TASK-006"], "lib/due.sh");
    let outcome = sandbox.cowork(&modify("add due dates", &[])).exits(0);
    let branch = "cowork/todo--add-due-dates";
    let range = format!("cowork/todo..{branch}");
    assert_eq!(
        sandbox.subjects(&range)[..6],
        [
            "start: add due dates",
            "triage: low risk; prd, plan and code",
            "prd: +1 requirement, +1 feature",
            "plan: +1 task",
            "coding: TASK-006 Due dates",
            "coding: 1 of 1 task, 1 file",
        ]
    );
    let said = "the change so far: +1 requirement, +1 feature, +1 task";
    let (before, _) = outcome.stderr.split_once("TASK-006 Due dates").unwrap();
    assert!(before.contains(said), "{}", outcome.stderr);
    // Exactly what was added stands in the diff.
    let diff = |file: &str| {
        let path = format!("{DIR}/{file}");
        let diff = sandbox.git(&["diff", "-U0", "cowork/todo", branch, "--", &path]);
        diff.lines().filter(|line| line.contains("\"id\"")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(diff("requirements.json"), ["+      \"id\": \"REQ-004\","]);
    assert_eq!(diff("implementation_plan.json"), ["+      \"id\": \"TASK-006\","]);
    assert!(diff("design_spec.json").is_empty());
    // Update mode: the actor began with what is there.
    let asked = sandbox.server.requests_of("prd", "actor");
    let asked = asked.iter().rev().find(|request| request.turn == 1).unwrap().text();
    assert!(
        asked.contains("REQ-003 Tick a todo off") && asked.contains("change request"),
        "{asked}"
    );
    let trailers = sandbox.trailers(&sandbox.commit_of(branch, "coding: TASK-006 Due dates"));
    assert_eq!(trailers["Cowork-Session"], ["todo--add-due-dates"]);
    sandbox.cowork(&["verify"]).exits(0);
    let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
    assert_eq!(status["kind"], "patch");
    assert_eq!(status["done"], json!(["triage", "prd", "plan", "coding", "check", "delivery"]));
}

#[test]
fn a_changed_requirement_is_all_the_diff_shows() {
    let sandbox = delivered();
    sandbox.script("triage", triage("Sort todos", &["prd", "code"], &["lib/list.sh"]));
    let update = json!({"id": "REQ-002", "description": "A user can: List todos, sorted."});
    sandbox.script("prd", Reply::call("update_requirement", update));
    let edit =
        json!({"path": "lib/list.sh", "old_text": "List todos", "new_text": "List todos, sorted"});
    sandbox.script("coding", Reply::call("edit_file", edit));
    sandbox.cowork(&modify("sort todos", &[])).exits(0);
    assert_eq!(sandbox.subjects("cowork/todo..")[2], "prd: ~1 requirement");
    let path = format!("{DIR}/requirements.json");
    let diff = sandbox.git(&["diff", "-U0", "cowork/todo", "HEAD", "--", &path]);
    let lines: Vec<&str> = diff.lines().filter(|l| l.starts_with(['+', '-'])).skip(2).collect();
    assert_eq!(lines.len(), 2, "{diff}");
    assert!(lines[1].contains("List todos, sorted"), "{diff}");
}

#[test]
fn a_file_outside_the_scope_is_warned_of_once() {
    let sandbox = delivered();
    sandbox.script_small_change("lib/add.sh", "at once");
    sandbox.script(
        "coding",
        Reply::call("write_file", json!({"path": "lib/add.sh", "content": "# quick\n"}))
            .and("write_file", json!({"path": "lib/other.sh", "content": "# other\n"})),
    );
    let outcome = sandbox.cowork(&modify("be quick", &[])).exits(0);
    let warned = outcome.stderr.matches("lib/other.sh is outside the scope of this change").count();
    assert_eq!(warned, 1, "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("lib/add.sh is outside"), "{}", outcome.stderr);
    let report = sandbox.blob("HEAD", &format!("{DIR}/changes/be-quick/check_report.md"));
    assert!(report.contains("outside the scope of the change: lib/other.sh"), "{report}");
}

/// The prd of a change adds a feature, and nothing else is scripted for it.
fn adds_a_feature(sandbox: &Sandbox) {
    let requirement = todo::requirement_section("REQ-004", "Due dates");
    let feature = todo::feature_section("FEAT-003", "Due dates", &["REQ-004"]);
    let sections = json!({"content": format!("{requirement}{feature}")});
    sandbox.script("prd", Reply::call("save_prd_doc", sections));
}

#[test]
fn what_was_merged_in_meanwhile_is_not_the_changes() {
    let sandbox = delivered();
    sandbox.script_small_change("lib/add.sh", "at once");
    sandbox.cowork(&modify("be quick", &["--stop-after", "triage"])).exits(0);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("colleague.sh", "# theirs\n");
    sandbox.commit_all("a colleague's file");
    sandbox.git(&["switch", "-q", "cowork/todo--be-quick"]);
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "Merge main", "main"]);
    let outcome = sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    assert!(!outcome.stderr.contains("outside the scope"), "{}", outcome.stderr);
    assert!(sandbox.subjects("cowork/todo..").contains(&"coding: 1 file".to_owned()));
}

#[test]
fn a_scope_too_narrow_goes_back_to_triage() {
    let sandbox = delivered();
    adds_a_feature(&sandbox);
    sandbox.script("triage", triage("Due dates", &["prd", "code"], &[]));
    let outcome = sandbox.cowork(&["modify", "due dates", "--review", "wait"]).exits(3);
    assert!(outcome.stderr.contains("triage"), "{}", outcome.stderr);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    let asks = sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    assert!(asks.stderr.contains("FEAT-003 is new, but the scope"), "{}", asks.stderr);
    // Where nobody is asked it is done.
    let sandbox = delivered();
    sandbox.script_addition("Due dates", ["REQ-004", "FEAT-003", "TASK-006"], "lib/due.sh");
    sandbox.server.times(
        1,
        at("triage", "actor").turn(1),
        triage("Due dates", &["prd", "code"], &[]),
    );
    sandbox.cowork(&modify("due dates", &[])).exits(0);
    assert_eq!(sandbox.subjects("cowork/todo..")[1], "triage: low risk; prd, plan and code");
    let asked = sandbox.server.requests_of("triage", "actor").last().unwrap().text();
    assert!(asked.contains("the scope of this change is too narrow"), "{asked}");
}

#[test]
fn a_change_of_code_that_changes_none_is_not_delivered() {
    let sandbox = delivered();
    sandbox.script_small_change("lib/add.sh", "at once");
    sandbox.script("coding", Reply::text("Nothing to do."));
    sandbox.cowork(&modify("be quick", &[])).exits(1).says("changes no file outside .cowork");
    assert_eq!(sandbox.stages("cowork/todo.."), ["start", "triage"]);
}

#[test]
fn a_change_of_code_cannot_touch_documents_or_old_tasks() {
    let mut sandbox = delivered();
    // Where the kernel keeps commands from documents, there is nothing to put back.
    sandbox.set_env("COWORK_TEST_SANDBOX", "none");
    sandbox.script_small_change("lib/add.sh", "at once");
    sandbox.script(
        "coding",
        Reply::call(
            "run_command",
            json!({"command": format!("echo more >>{DIR}/prd.md; echo quick >lib/add.sh")}),
        )
        .and("update_task_status", json!({"task_id": "TASK-001", "new_status": "pending"})),
    );
    let outcome = sandbox.cowork(&modify("be quick", &[])).exits(0);
    assert!(
        outcome.stderr.contains("todo/prd.md changed while a command ran"),
        "{}",
        outcome.stderr
    );
    assert_eq!(sandbox.blob("HEAD", &format!("{DIR}/prd.md")), todo::PRD);
    let plan = format!("{DIR}/implementation_plan.json");
    assert_eq!(sandbox.blob("HEAD", &plan), sandbox.blob("cowork/todo", &plan));
    let told = sandbox.server.requests_of("coding", "actor").last().unwrap().tool_results();
    assert!(told.iter().any(|text| text.contains("was completed before this change")), "{told:?}");
}

#[test]
fn triage_waits_at_its_gate() {
    let sandbox = delivered();
    sandbox.script_small_change("lib/add.sh", "at once");
    sandbox.cowork(&["modify", "be quick", "--review", "wait"]).exits(3);
    let shown = sandbox.cowork(&["show", "change"]).exits(0).stdout;
    assert!(shown.contains("\"summary\": \"Say more\""), "{shown}");
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let trailers =
        sandbox.trailers(&sandbox.commit_of("cowork/todo--be-quick", "triage: low risk; code"));
    assert_eq!(trailers["Cowork-Review"], ["passed"]);
    assert!(trailers["Cowork-Approved"][0].starts_with("change_request.json@"));
}

#[test]
fn it_starts_from_where_the_work_was_merged() {
    let merges: [&[&[&str]]; 4] = [
        &[&["merge", "-q", "--no-ff", "-m", "Add a todo list", "cowork/todo"]],
        &[&["merge", "-q", "--squash", "cowork/todo"], &["commit", "-q", "-m", "Add a todo list"]],
        &[
            &["merge", "-q", "--squash", "cowork/todo"],
            &["commit", "-q", "-m", "Add a todo list"],
            &["branch", "-q", "-D", "cowork/todo"],
        ],
        &[&["merge", "-q", "--ff-only", "cowork/todo"], &["branch", "-q", "-d", "cowork/todo"]],
    ];
    for merge in merges {
        let sandbox = delivered();
        sandbox.git(&["switch", "-q", "main"]);
        for step in merge {
            sandbox.git(step);
        }
        sandbox.write("later.txt", "later\n");
        sandbox.commit_all("later: a commit of main's own");
        let main = sandbox.git(&["rev-parse", "main"]);
        sandbox.script_small_change("lib/add.sh", "at once");
        sandbox.cowork(&modify("be quick", &[])).exits(0).says("todo, the newest completed one");
        assert_eq!(sandbox.git(&["merge-base", "main", "HEAD"]), main, "{merge:?}");
        assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "cowork/todo--be-quick");
        let file = sandbox.blob("HEAD", &format!("{DIR}/changes/be-quick/session.json"));
        let file: serde_json::Value = serde_json::from_str(&file).unwrap();
        assert_eq!(file["base"], json!({"branch": "main", "commit": main}));
        sandbox.cowork(&["verify"]).exits(0);
    }
}

#[test]
fn it_brings_the_artifacts_along_where_the_merge_left_them_out() {
    let sandbox = delivered();
    let id = sandbox.trailers("cowork/todo")["Cowork-Session-Id"][0].clone();
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["checkout", "cowork/todo", "--", "lib", "todo.sh"]);
    let message = format!(
        "Add a todo list\n\nCowork-Session: todo\nCowork-Session-Id: {id}\nCowork-Event: merge\n"
    );
    sandbox.git(&["commit", "-q", "-m", &message]);
    sandbox.script_addition("Due dates", ["REQ-004", "FEAT-003", "TASK-006"], "lib/due.sh");
    sandbox.cowork(&modify("add due dates", &["--session", "todo"])).exits(0);
    let start = sandbox.commit_of("HEAD", "start: add due dates");
    assert_eq!(sandbox.blob(&start, &format!("{DIR}/prd.md")), todo::PRD);
    assert!(
        sandbox
            .git(&["diff", "--name-only", "main", &start])
            .lines()
            .all(|p| p.starts_with(".cowork/"))
    );
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn ten_changes_in_a_row() {
    let sandbox = delivered();
    let mut prd = todo::PRD.to_owned();
    let mut plan = todo::plan();
    for number in 1..=10_u32 {
        let title = format!("Wish {number}");
        let (requirement, feature) = (format!("REQ-{:03}", number + 3), "FEAT-001");
        let task_id = format!("TASK-{:03}", number + 5);
        let file = format!("lib/wish{number}.sh");
        sandbox.script("triage", triage(&title, &["prd", "plan", "code"], &[]));
        prd += &todo::requirement_section(&requirement, &title);
        plan += &todo::task_section(&task_id, &title, feature, &file);
        sandbox.script(
            "prd",
            Reply::call("save_prd_doc", json!({"content": prd}))
                .and("update_feature", json!({"id": feature, "description": title})),
        );
        sandbox.script("plan", Reply::call("save_plan_doc", json!({"content": plan})));
        let work = Reply::call("write_file", json!({"path": file, "content": "# wish\n"}))
            .and("update_task_status", json!({"task_id": task_id, "new_status": "completed"}));
        sandbox.server.on(at("coding", "actor").task(&task_id).turn(1), work);
        // Each on top of the last one, merged or not.
        sandbox.cowork(&modify(&title, &[])).exits(0);
        assert_eq!(sandbox.subjects("HEAD~8..")[1], "triage: low risk; prd, plan and code");
        if number % 2 == 0 {
            let branch = format!("cowork/todo--wish-{number}");
            sandbox.git(&["switch", "-q", "main"]);
            sandbox.git(&["merge", "-q", "--no-ff", "-m", &title, &branch]);
        }
    }
    assert_eq!(sandbox.git(&["ls-files", "lib/wish*"]).lines().count(), 10);
    sandbox.cowork(&["verify", "todo--wish-10"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn what_cannot_be_changed_is_said() {
    let sandbox = Sandbox::new();
    let none = sandbox.cowork(&modify("faster", &[])).exits(5);
    assert!(none.stderr.contains("no completed session"), "{}", none.stderr);
    sandbox
        .cowork(&modify("faster", &["--session", "nobody"]))
        .exits(5)
        .says("no session 'nobody'");
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    sandbox.cowork(&modify("faster", &[])).exits(5).says("'todo' is not completed");
    let sandbox = delivered();
    sandbox.cowork(&["modify", "--no-interactive"]).exits(2);
    sandbox.cowork(&modify("x", &["-n", "No!"])).exits(2);
    sandbox.script_small_change("lib/add.sh", "at once");
    sandbox.cowork(&modify("be quick", &["--stop-after", "triage"])).exits(0);
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.cowork(&modify("x", &["-n", "be-quick"])).exits(5).says("resume todo--be-quick");
    sandbox.cowork(&modify("be quick", &["--stop-after", "triage"])).exits(0);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "cowork/todo--be-quick-2");
    // A change to a change is its sibling, based on its tip.
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.script_small_change("lib/list.sh", "sorted");
    sandbox.cowork(&modify("sort", &[])).exits(0);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "cowork/todo--sort");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD~5"]), tip);
}

#[test]
fn killed_anywhere_it_continues() {
    let whole = delivered();
    whole.script_addition("Due dates", ["REQ-004", "FEAT-003", "TASK-006"], "lib/due.sh");
    whole.server.forget();
    whole.cowork(&modify("add due dates", &[])).exits(0);
    let requests = whole.server.requests().len();
    for n in (1..=requests).step_by(3) {
        let sandbox = delivered();
        sandbox.script_addition("Due dates", ["REQ-004", "FEAT-003", "TASK-006"], "lib/due.sh");
        crate::support::kill::kill_at_request(&sandbox, &modify("add due dates", &[]), n)
            .was_killed();
        sandbox.cowork(&["resume", "todo--add-due-dates", "--review", "auto"]).exits(0);
        let range = "cowork/todo..cowork/todo--add-due-dates";
        assert_eq!(sandbox.subjects(range), whole.subjects(range), "killed at request {n}");
        sandbox.assert_sound();
    }
}

#[cfg(unix)]
#[test]
fn the_gates_show_what_the_change_makes_of_the_documents() {
    let sandbox = delivered();
    sandbox.script_addition("Due dates", ["REQ-004", "FEAT-003", "TASK-006"], "lib/due.sh");
    let mut terminal = sandbox.terminal(&["modify", "add due dates", "--stop-after", "prd"]);
    terminal.sees("stop for now");
    terminal.types("p");
    let shown = terminal.sees("p pass ");
    terminal.sees("stop for now");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    for part in ["Changes by this change request: 1 requirement added", "+### REQ-004 Due dates"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("### REQ-001"), "{shown}");
    assert!(shown.contains(" + REQ-004  Due dates        high\r\n"), "{shown}");
}
