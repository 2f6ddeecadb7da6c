//! How much process a session gets: what each depth does and leaves out, and who chooses it.

#[cfg(unix)]
mod decisions;
mod killed;
mod raise;

use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::support::sandbox::Outcome;
use crate::support::{Reply, Sandbox, at, todo};

const NEW: [&str; 4] = ["new", "-n", "todo", "a todo list for the terminal"];

/// The plan of a quick session: the first three tasks of the todo list, without components.
fn plan() -> String {
    let mut plan =
        "# A todo list\n\nAssumed: one user. Must keep working: the README.\n".to_owned();
    plan += &todo::requirement_section("REQ-001", "Add a todo");
    plan += &todo::requirement_section("REQ-002", "List todos");
    plan += &todo::feature_section("FEAT-001", "Adding", &["REQ-001"]);
    plan += &todo::feature_section("FEAT-002", "Reading", &["REQ-002"]);
    for (id, title, file, feature, _, _) in &todo::TASKS[..3] {
        plan += &format!(
            "\n### {id} {title}\n\n`{feature}` `{file}`\n\n{title}, in {file}.\n\n- {file} exists\n"
        );
    }
    plan
}

/// A repository with code, in which the model knows the quick plan.
pub fn with_code() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.commit_file("start.sh", "echo start\n", "code");
    sandbox.script("plan", Reply::call("save_plan_doc", json!({"content": plan()})));
    sandbox
}

/// The first request finds this depth fit.
fn suggest(sandbox: &Sandbox, depth: &str) {
    let said = json!({"depth": depth, "reason": "Two modules change."});
    sandbox.server.on(at("start", "actor"), Reply::call("name_work", said));
}

#[track_caller]
fn new(sandbox: &Sandbox, more: &[&str]) -> Outcome {
    sandbox.cowork(&[&NEW[..], more].concat())
}

fn depth(sandbox: &Sandbox, commit: &str) -> String {
    sandbox.trailers(commit)["Cowork-Depth"].join(" ")
}

/// A change that adds a requirement, a feature and a task to a session without components.
fn addition(sandbox: &Sandbox) {
    sandbox.script_addition("Count todos", ["REQ-003", "FEAT-003", "TASK-004"], "lib/count.sh");
    let triage = json!({
        "summary": "Count todos",
        "scope": {"prd": true, "design": false, "plan": true, "code": true},
        "risk": "low",
        "acceptance_criteria": ["todos are counted"],
    });
    sandbox.script("triage", Reply::call("save_change_request", triage));
}

/// A quick session that is delivered.
pub fn quick() -> Sandbox {
    static QUICK: OnceLock<Sandbox> = OnceLock::new();
    let original = QUICK.get_or_init(|| {
        let sandbox = with_code();
        new(&sandbox, &["--depth", "quick", "--review", "auto"]).exits(0);
        sandbox
    });
    let copy = original.fork();
    copy.server.inherit(&original.server);
    copy
}

#[test]
fn a_quick_session_is_a_plan_and_the_code() {
    let sandbox = quick();
    for (stage, has) in [("plan", true), ("coding", false)] {
        let text = sandbox.server.requests_of(stage, "actor")[0].text();
        assert_eq!(text.contains("## The idea, as it was given"), has, "{stage}: {text}");
    }
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "plan", "coding", "delivery"]);
    assert_eq!(sandbox.server.requests_of("coding", "critic").len(), 1);
    for (stage, role) in [("plan", "critic"), ("plan", "self-review"), ("delivery", "actor")] {
        assert!(sandbox.server.requests_of(stage, role).is_empty(), "{stage} {role}");
    }
    let brief = sandbox.server.requests_of("plan", "actor")[0].text();
    assert!(brief.contains("a todo list for the terminal"), "{brief}");
    assert!(brief.contains("REQ-001, FEAT-001, TASK-001"), "the ids of all its kinds: {brief}");
    for stage in ["plan", "coding", "delivery"] {
        assert_eq!(depth(&sandbox, &sandbox.stage_commit(stage)), "quick");
    }
    assert_eq!(depth(&sandbox, &sandbox.commit_of("cowork/todo", "start: ")), "quick");
    let files = sandbox.git(&["ls-tree", "--name-only", "cowork/todo", ".cowork/sessions/todo/"]);
    for name in ["plan.md", "requirements.json", "feature_list.json", "implementation_plan.json"] {
        assert!(files.contains(name), "{files}");
    }
    for name in ["idea.md", "prd.md", "design", "check_report.md"] {
        assert!(!files.contains(name), "{files}");
    }
    let approved = sandbox.trailers(&sandbox.stage_commit("plan"))["Cowork-Approved"].join(" ");
    assert!(approved.contains("plan.md@") && approved.contains("requirements.json@"), "{approved}");
    // What the last task's actor said is the summary.
    let report = sandbox.artifact("delivery_report.md");
    assert!(
        report.starts_with("# a todo list for the terminal\n\nThe task is done.\n"),
        "{report}"
    );
    assert!(report.contains("REQ-001"), "{report}");
    sandbox.assert_sound();
}

#[test]
fn every_command_works_on_a_quick_session() {
    let sandbox = quick();
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.cowork(&["log"]).exits(0);
    let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
    assert_eq!(status["done"], json!(["plan", "coding", "delivery"]));
    let prd = sandbox.cowork(&["show", "prd"]).exits(0);
    assert!(prd.stdout.starts_with("### REQ-001 Add a todo"), "{}", prd.stdout);
    assert!(!prd.stdout.contains("TASK-001"), "{}", prd.stdout);
    assert!(prd.stderr.contains("is a quick session and has no prd.md"), "{}", prd.stderr);
    let design = sandbox.cowork(&["show", "design"]).exits(0);
    assert!(design.stdout.contains("Must keep working"), "{}", design.stdout);
    let check = sandbox.cowork(&["show", "check"]).exits(0);
    assert!(check.stdout.contains("- none\n"), "{}", check.stdout);
    // Comments open the code again, and no check.
    sandbox.server.on(at("coding", "actor").task("TASK-004").turn(1), {
        let file = json!({"path": "lib/more.sh", "content": "# more\n"});
        let done = json!({"task_id": "TASK-004", "new_status": "completed"});
        Reply::call("write_file", file).and("update_task_status", done)
    });
    sandbox.cowork(&["feedback", "say more", "--review", "auto"]).exits(0);
    let stages = sandbox.stages("main..cowork/todo");
    assert_eq!(stages[4..].iter().filter(|stage| *stage == "check").count(), 0, "{stages:?}");
    assert_eq!(stages.last().map(String::as_str), Some("delivery"));
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.cowork(&["revert", "--to", "plan", "--no-run"]).exits(0);
    sandbox.cowork(&["undo"]).exits(0);
    sandbox.cowork(&["merge"]).exits(0);
    assert!(sandbox.exists("lib/store.sh"));
}

#[test]
fn every_command_works_on_a_standard_session() {
    let sandbox = Sandbox::new();
    sandbox.commit_file("start.sh", "echo start\n", "code");
    new(&sandbox, &["--depth", "standard", "--review", "auto"]).exits(0);
    for artifact in ["idea", "prd", "design", "plan", "check", "report"] {
        let shown = sandbox.cowork(&["show", artifact]).exits(0);
        assert!(shown.stdout.len() > 40 && shown.stderr.is_empty(), "{artifact}: {}", shown.stderr);
    }
    let listed = sandbox.cowork(&["show"]).exits(0).stdout;
    let listed: Vec<Vec<&str>> =
        listed.lines().map(|line| line.split_whitespace().collect()).collect();
    let path_of = |file: &str| format!(".cowork/sessions/todo/{file}");
    assert_eq!(listed[..2], [["idea", &path_of("idea.md")], ["prd", &path_of("prd.md")]]);
    let object = sandbox.cowork(&["show", "--json"]).exits(0).json();
    assert_eq!(object["artifacts"]["plan"], path_of("plan.md").as_str());
    sandbox.cowork(&["log"]).exits(0);
    let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
    assert_eq!(status["done"], json!(todo::STAGES));
    // Comments open the code again, and all that comes after it.
    sandbox.server.on(at("coding", "actor").task("TASK-006").turn(1), {
        let file = json!({"path": "lib/more.sh", "content": "# more\n"});
        let done = json!({"task_id": "TASK-006", "new_status": "completed"});
        Reply::call("write_file", file).and("update_task_status", done).saying("More is said.")
    });
    sandbox.cowork(&["feedback", "say more", "--review", "auto"]).exits(0);
    let stages = sandbox.stages("main..cowork/todo");
    assert_eq!(stages[stages.len() - 3..], ["coding", "check", "delivery"]);
    assert!(sandbox.artifact("delivery_report.md").contains("More is said."));
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.cowork(&["resume", "--goto-stage", "design", "--review", "auto"]).exits(0);
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.cowork(&["undo"]).exits(0);
    sandbox.cowork(&["revert", "--to", "plan", "--no-run"]).exits(0);
    sandbox.cowork(&["undo"]).exits(0);
    sandbox.cowork(&["merge"]).exits(0);
    assert!(sandbox.exists("lib/more.sh"));
    sandbox.assert_sound();
}

#[test]
fn a_standard_session_continues_in_a_clone() {
    let sandbox = Sandbox::new();
    new(&sandbox, &["--depth", "standard", "--review", "auto", "--stop-after", "coding"]).exits(0);
    let mut clone = sandbox.fork();
    clone.git(&["clone", "-q", ".", "clone"]);
    clone.enter("clone");
    clone.cowork(&["resume", "todo", "--review", "auto"]).exits(0);
    // What the last task's actor said is in its commit.
    assert!(clone.server.requests_of("delivery", "actor").is_empty());
    let report = clone.blob("cowork/todo", ".cowork/sessions/todo/delivery_report.md");
    assert!(report.contains("The task is done."), "{report}");
    clone.cowork(&["verify", "todo"]).exits(0);
}

#[test]
fn a_quick_session_continues_in_a_clone() {
    let sandbox = with_code();
    new(&sandbox, &["--depth", "quick", "--review", "auto", "--stop-after", "plan"]).exits(0);
    let mut clone = sandbox.fork();
    clone.server.inherit(&sandbox.server);
    clone.git(&["clone", "-q", ".", "clone"]);
    clone.enter("clone");
    clone.cowork(&["resume", "todo", "--review", "auto"]).exits(0);
    assert_eq!(clone.stages("origin/main..cowork/todo"), ["start", "plan", "coding", "delivery"]);
}

#[test]
fn a_squashed_session_of_each_depth_is_changed_from_where_it_landed() {
    for depth in ["quick", "standard", "thorough"] {
        let sandbox = with_code();
        if depth != "quick" {
            sandbox.script("plan", todo::plan_draft());
        }
        new(&sandbox, &["--depth", depth, "--review", "auto"]).exits(0);
        sandbox.git(&["switch", "-q", "main"]);
        sandbox.git(&["merge", "-q", "--squash", "cowork/todo"]);
        sandbox.git(&["commit", "-q", "-m", "squashed"]);
        let file: Value = serde_json::from_str(&sandbox.artifact("session.json")).unwrap();
        assert_eq!(file["depth"], depth);
        for command in [&["verify", "todo"][..], &["show", "todo", "report"], &["log", "todo"]] {
            sandbox.cowork(command).exits(0);
        }
        let triage = json!({
            "summary": "Say more",
            "scope": {"prd": false, "design": false, "plan": false, "code": true},
            "risk": "low",
            "acceptance_criteria": ["more is said"],
        });
        sandbox.script("triage", Reply::call("save_change_request", triage));
        let file = json!({"path": "lib/add.sh", "content": "# more\n"});
        sandbox.script("coding", Reply::call("write_file", file));
        let change = ["modify", "say more", "-n", "more", "--session", "todo", "--review", "auto"];
        sandbox.cowork(&change).exits(0);
        assert!(sandbox.git(&["diff", "--name-only", "main"]).contains("lib/add.sh"), "{depth}");
        sandbox.cowork(&["verify"]).exits(0);
        sandbox.cowork(&["merge"]).exits(0);
        sandbox.assert_sound();
    }
}

#[test]
fn a_change_of_a_quick_session_stays_in_its_plan() {
    let sandbox = quick();
    sandbox.git(&["config", "cowork.project.depth", "auto"]);
    addition(&sandbox);
    let sections = todo::requirement_section("REQ-003", "Count todos").trim_start().to_owned()
        + &todo::feature_section("FEAT-003", "Count todos", &["REQ-003"])
        + "\n### TASK-004 Count todos\n\n`FEAT-003` `lib/count.sh`\n\nCount.\n\n- it counts\n";
    sandbox.script("plan", Reply::call("save_plan_doc", json!({"content": sections})));
    sandbox.cowork(&["modify", "count todos", "-n", "count", "--review", "auto"]).exits(0);
    let stages = sandbox.stages("cowork/todo..cowork/todo--count");
    assert_eq!(stages, ["start", "triage", "plan", "coding", "delivery"]);
    assert_eq!(depth(&sandbox, &sandbox.commit_of("cowork/todo--count", "triage: ")), "quick");
    let plan = sandbox.artifact("plan.md");
    assert!(plan.contains("REQ-003") && plan.contains("TASK-004"), "{plan}");
    assert!(sandbox.artifact("requirements.json").contains("REQ-003"));
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn a_standard_session_shows_two_documents_at_a_gate() {
    let sandbox = Sandbox::new();
    new(&sandbox, &["--depth", "standard", "--review", "wait"]).exits(3);
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea", "prd"], "prd waits");
    let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
    assert_eq!(status["stage"], "prd");
    sandbox.cowork(&["review", "--feedback", "the goals are vague"]).exits(0);
    let idea = todo::IDEA.replace("Add, list", "Add, count, list");
    let again = Reply::call("save_idea", json!({"content": idea}));
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), again);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    // One conversation: the idea stands where its author wrote it, and nowhere else.
    let brief = sandbox.server.requests_of("prd", "actor").pop().unwrap().body.to_string();
    assert_eq!(brief.matches("Notes get lost").count(), 1, "{brief}");
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    let prd = sandbox.stage_commit("prd");
    let approved = sandbox.trailers(&prd)["Cowork-Approved"].join(" ");
    assert!(approved.contains("prd.md@") && approved.contains("idea.md@"), "{approved}");
    assert!(sandbox.blob(&prd, ".cowork/sessions/todo/idea.md").contains("Add, count, list"));
    let critic = sandbox.server.requests_of("prd", "critic")[0].text();
    assert!(critic.contains("Add, count, list") && critic.contains("REQ-002"), "{critic}");
    // Design is committed by itself, and shown with the plan.
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("design"))["Cowork-Review"], ["auto"]);
    let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
    assert_eq!(status["stage"], "plan");
    let mut gate = sandbox.screen(80, &["review"]);
    let shown = gate.shows(|now| now.trim_end().ends_with("\n▸"));
    let lines = sandbox.artifact("design.md").lines().count();
    let with_it =
        format!("With it  design.md ({lines} lines): decided here as well; V reads all\n");
    assert!(shown.contains(&with_it), "{shown}");
    gate.types("q");
    assert_eq!(gate.runs_out(), 3);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    for (stage, role) in [("design", "critic"), ("plan", "self-review")] {
        assert!(sandbox.server.requests_of(stage, role).is_empty(), "{stage} {role}");
    }
    let approved = sandbox.trailers(&sandbox.stage_commit("plan"))["Cowork-Approved"].join(" ");
    assert!(approved.contains("plan.md@") && approved.contains("design.md@"), "{approved}");
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn the_depth_is_chosen_by_the_work() {
    let long = "a todo list ".repeat(40);
    let thorough = ["a todo list", "--stop-after", "idea", "--depth", "thorough"];
    let cases: [(&str, &[&str], &str, &str); 7] = [
        ("quick", &["a todo list", "--stop-after", "plan"], "quick", "Two modules change."),
        // The model has read the idea; its length says less.
        ("quick", &[&long], "quick", "Two modules change."),
        ("standard", &["a todo list"], "standard", "Two modules change."),
        ("", &["a todo list"], "quick", "a short idea"),
        ("", &[&long], "standard", "479 characters"),
        ("quick", &["a todo list", "--stop-after", "prd"], "standard", "stops after prd"),
        ("quick", &thorough, "thorough", "--depth"),
    ];
    let original = with_code();
    original.git(&["config", "cowork.project.depth", "auto"]);
    for (suggested, args, chosen, why) in cases {
        let sandbox = original.fork();
        sandbox.server.inherit(&original.server);
        suggest(&sandbox, suggested);
        let told = sandbox.cowork(&[&["new", "-n", "todo", "--review", "wait"], args].concat());
        let found = depth(&sandbox, &sandbox.commit_of("cowork/todo", "start: "));
        assert_eq!(found, chosen, "{args:?}: {}", told.stderr);
        assert!(told.stderr.contains(&format!("depth {chosen} (")), "{}", told.stderr);
        assert!(told.stderr.contains(why), "{}", told.stderr);
    }
    let sandbox = original.fork();
    suggest(&sandbox, "standard");
    let told = new(&sandbox, &["--review", "wait"]).exits(3);
    let ways = "raise it: git cowork resume todo --depth thorough; with less process: \
                git cowork new --depth quick";
    assert!(told.stderr.contains(ways), "{}", told.stderr);
    let sandbox = original.fork();
    sandbox.git(&["config", "cowork.review.gates", "prd,coding"]);
    let told = new(&sandbox, &["--review", "wait"]).exits(3);
    assert!(told.stderr.contains("depth standard (prd is among your gates)"), "{}", told.stderr);
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "cowork.project.depth", "auto"]);
    suggest(&sandbox, "");
    let told = new(&sandbox, &["--review", "wait"]).exits(3);
    assert!(told.stderr.contains("depth standard (a repository without code)"), "{}", told.stderr);
}

#[test]
fn what_a_quick_session_lacks_is_said() {
    let sandbox = with_code();
    let told = new(&sandbox, &["--depth", "quick", "--stop-after", "prd"]).exits(2);
    assert!(told.stderr.contains("--depth standard"), "{}", told.stderr);
    // A gate moves to where the work is done.
    sandbox.git(&["config", "cowork.review.gates", "prd"]);
    new(&sandbox, &["--depth", "quick", "--review", "wait"]).exits(3);
    assert_eq!(sandbox.cowork(&["status", "--json"]).exits(0).json()["stage"], "plan");
    let told = sandbox.cowork(&["resume", "--stop-after", "check", "--review", "wait"]).exits(5);
    assert!(told.stderr.contains("git cowork resume todo --depth standard"), "{}", told.stderr);
    let told = sandbox.cowork(&["revert", "--to", "design"]).exits(5);
    assert!(told.stderr.contains("git cowork resume todo --depth standard"), "{}", told.stderr);
    sandbox.assert_sound();
}

/// There is no `prd.md`: the plan holds the requirements.
#[test]
fn broken_json_of_a_quick_session_is_written_again_from_its_plan() {
    let sandbox = with_code();
    new(&sandbox, &["--depth", "quick", "--review", "auto", "--stop-after", "plan"]).exits(0);
    let json = ".cowork/sessions/todo/requirements.json";
    for is_committed in [false, true] {
        let good = sandbox.read(json);
        sandbox.write(json, "{ \"requirements\": [");
        if is_committed {
            sandbox.commit_all("broken");
        }
        let told = sandbox.cowork(&["resume", "--review", "wait"]).stderr;
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            told.contains("requirements.json") && told.contains("was regenerated from plan.md"),
            "{told}"
        );
        assert!(!told.contains("prd.md"), "{told}");
        assert_eq!(sandbox.read(json), good);
    }
}
