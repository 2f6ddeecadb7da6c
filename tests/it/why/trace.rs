//! `git cowork trace`: from requirements to the lines that still stand, also before delivery.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{LONG, Plan, delivered, lines, merged_with_changes, title};
use crate::support::Sandbox;
use crate::support::todo::TASKS;

fn trace(sandbox: &Sandbox, args: &[&str]) -> Vec<Value> {
    sandbox.cowork(&[&["trace", "--json"], args].concat()).exits(0).json_lines()
}

fn of<'a>(all: &'a [Value], id: &str) -> &'a Value {
    all.iter().find(|one| one["requirement"]["id"] == id).unwrap_or(&Value::Null)
}

/// The tasks of a requirement with the lines of each, by file.
fn tasks(requirement: &Value) -> BTreeMap<String, BTreeSet<(String, u64)>> {
    let mut found = BTreeMap::new();
    for feature in requirement["features"].as_array().unwrap() {
        for task in feature["tasks"].as_array().unwrap() {
            let mut lines = BTreeSet::new();
            for file in task["files"].as_array().unwrap() {
                for range in file["lines"].as_array().unwrap() {
                    let [first, last] = [0, 1].map(|at| range[at].as_u64().unwrap());
                    let path = file["path"].as_str().unwrap();
                    lines.extend((first..=last).map(|n| (path.to_owned(), n)));
                }
            }
            assert_eq!(task["lines"], lines.len(), "{task}");
            found.insert(task["id"].as_str().unwrap().to_owned(), lines);
        }
    }
    found
}

/// Every line at HEAD that a task wrote, by the id that the plan has for its title.
fn expected(sandbox: &Sandbox, plan: &Plan) -> BTreeMap<String, BTreeSet<(String, u64)>> {
    let mut all: BTreeMap<String, BTreeSet<(String, u64)>> = BTreeMap::new();
    for file in sandbox.git(&["ls-files", "--", ".", ":!.cowork"]).lines() {
        for (n, text) in (1..).zip(sandbox.blob("HEAD", file).lines()) {
            // The plan has one task for what coding corrected.
            let id = match title(text) {
                "corrected" => Some("TASK-003"),
                title => plan.0.get(title).map(|found| found.0.as_str()),
            };
            if let Some(id) = id {
                all.entry(id.to_owned()).or_default().insert((file.to_owned(), n));
            }
        }
    }
    all
}

#[test]
fn every_line_of_every_task_is_told_after_merges() {
    let sandbox = merged_with_changes();
    let plan = Plan::of(&sandbox, "main");
    let expected = expected(&sandbox, &plan);
    assert_eq!(expected.len(), 7);
    let all = trace(&sandbox, &["todo"]);
    let ids: Vec<_> = all.iter().map(|one| one["requirement"]["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["REQ-001", "REQ-002", "REQ-003", "REQ-004", "REQ-005"]);
    let mut told = BTreeMap::new();
    for requirement in &all {
        assert_eq!(requirement["why"], Value::Null);
        for (task, lines) in tasks(requirement) {
            assert_eq!(lines, expected[&task], "{task}");
            told.insert(task, lines);
        }
    }
    assert_eq!(told, expected);
    assert_eq!(tasks(of(&all, "REQ-005")).keys().collect::<Vec<_>>(), ["TASK-007"]);
    // The newest delivered one is meant where nothing else is; and its branch may be gone.
    for branch in ["cowork/todo", "cowork/todo--quick", "cowork/todo--sorted"] {
        sandbox.git(&["branch", "-q", "-D", branch]);
    }
    sandbox.cowork(&["trace", "REQ-001"]).exits(0).says("session todo, the newest delivered one");
    assert_eq!(tasks(of(&trace(&sandbox, &["todo"]), "REQ-005"))["TASK-007"], expected["TASK-007"]);
}

#[test]
fn what_is_asked_for_is_told_alone() {
    let sandbox = delivered();
    let whole = trace(&sandbox, &[]);
    assert_eq!(of(&trace(&sandbox, &["req-2"]), "REQ-002"), of(&whole, "REQ-002"));
    assert_eq!(trace(&sandbox, &["REQ-002"]).len(), 1);
    let keys = |args: &[&str]| -> BTreeSet<String> {
        trace(&sandbox, args).iter().flat_map(|one| tasks(one).into_keys()).collect()
    };
    let set = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(keys(&["todo", "TASK-004"]), set(&["TASK-004"]));
    assert_eq!(keys(&["COMP-002"]), set(&["TASK-005"]));
    assert_eq!(keys(&["FEAT-001"]), set(&["TASK-001", "TASK-002", "TASK-005"]));
    let told = sandbox.cowork(&["trace", "TASK-005"]).exits(0).stdout;
    for said in [
        "REQ-001 Add a todo\n  FEAT-001 Adding\n    TASK-005 Read the command line · COMP-002 · ",
        &format!(" · {} lines\n      lib/store.sh 3-5\n      todo.sh 1-{LONG}\n", LONG + 3),
    ] {
        assert!(told.contains(said), "{said} in\n{told}");
    }
    sandbox.git(&["switch", "-q", "main"]);
    let elsewhere = sandbox.cowork(&["trace", "TASK-005"]).exits(0);
    assert_eq!(elsewhere.says("session todo, the newest delivered one").stdout, told);
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.cowork(&["trace", "REQ-009"]).exits(5).says("'todo' has no REQ-009");
    sandbox.cowork(&["trace", "todo", "REQ"]).exits(2).says("'REQ' is not an id");
    sandbox.cowork(&["trace", "nothing"]).exits(5).says("no session 'nothing'");
}

#[test]
fn a_requirement_without_a_line_is_named() {
    let sandbox = Sandbox::stopped_after("plan");
    let all = trace(&sandbox, &[]);
    assert_eq!(of(&all, "REQ-001")["why"], "TASK-001, TASK-002, TASK-005 have no commit yet");
    let sandbox = delivered();
    sandbox.cowork(&["merge"]).exits(0);
    // What a person removes, and moves into a file of another name.
    sandbox.git(&["rm", "-q", "lib/list.sh"]);
    sandbox.git(&["mv", "lib/done.sh", "tick.sh"]);
    sandbox.commit_all("less");
    let all = trace(&sandbox, &["todo"]);
    let ticking = &tasks(of(&all, "REQ-003"))["TASK-004"];
    let moved: BTreeSet<_> = (1..=LONG as u64).map(|n| ("tick.sh".to_owned(), n)).collect();
    assert_eq!(*ticking, moved);
    assert_eq!(of(&all, "REQ-002")["lines"], LONG, "the feature's other task");
    sandbox.git(&["rm", "-q", "tick.sh"]);
    sandbox.commit_all("still less");
    let all = trace(&sandbox, &["todo"]);
    assert_eq!(
        of(&all, "REQ-003")["why"],
        "the lines of its tasks have since been replaced or removed"
    );
    let told = sandbox.cowork(&["trace", "todo", "REQ-003"]).exits(0).stdout;
    assert!(
        told.contains(
            "  no line is left: the lines of its tasks have since been replaced or removed\n"
        ),
        "{told}"
    );
}

#[test]
fn an_archived_session_is_found_by_what_only_reads() {
    let sandbox = delivered();
    sandbox.cowork(&["merge", "--without-artifacts"]).exits(0);
    sandbox.git(&["branch", "-q", "-D", "cowork/todo"]);
    let said = "todo is in the archive; bring it back: git cowork restore todo";
    for command in [
        &["trace", "todo"][..],
        &["trace"],
        &["log", "todo"],
        &["show", "todo", "plan"],
        &["status", "todo"],
    ] {
        sandbox.cowork(command).exits(0).says(said);
    }
    assert_eq!(of(&trace(&sandbox, &[]), "REQ-001")["why"], Value::Null);
    sandbox.cowork(&["revert", "todo", "--to", "plan"]).exits(5).says("git cowork restore todo");
}

#[test]
fn a_squash_is_traced_by_the_plan_where_its_commits_are_gone() {
    let sandbox = delivered();
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--squash", "cowork/todo"]);
    sandbox.git(&["commit", "-q", "-m", "All of it"]);
    sandbox.git(&["branch", "-q", "-D", "cowork/todo"]);
    // The label of its delivery still leads to them.
    let known = |all: &[Value]| of(all, "REQ-001")["features"][0]["tasks"][1]["known_by"].clone();
    assert_eq!(known(&trace(&sandbox, &["todo"])), "commit");
    for label in sandbox.git(&["tag", "-l", "cowork/todo/*"]).lines() {
        sandbox.git(&["tag", "-d", label]);
    }
    let all = trace(&sandbox, &["todo"]);
    assert_eq!(known(&all), "plan");
    let adding = of(&all, "REQ-001");
    let task = &adding["features"][0]["tasks"][1];
    assert_eq!((&task["id"], &task["known_by"]), (&"TASK-002".into(), &"plan".into()));
    assert_eq!(task["files"], json!([{"path": "lib/add.sh", "lines": [[1, LONG]]}]));
    // Two tasks name this one, and none the other.
    let others = all.iter().find(|one| one["requirement"].is_null()).unwrap();
    let files: Vec<_> =
        others["files"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
    assert_eq!(files, ["by-hand.sh", "lib/store.sh"]);
    assert!(lines(TASKS[0].1, "lib/store.sh", 1).contains("Keep todos"));
}
