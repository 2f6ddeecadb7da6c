//! Several change requests on one session: merged with plain git, in both orders, and what happens
//! where they touch the same thing.

use serde_json::{Value, json};

use crate::support::change::triage;
use crate::support::{Reply, Sandbox};

const DIR: &str = ".cowork/sessions/todo";
const QUICK: &str = "cowork/todo--quick";
const SORTED: &str = "cowork/todo--sorted";

fn modify(sandbox: &Sandbox, name: &str) {
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.cowork(&["modify", name, "-n", name, "--review", "auto"]).exits(0);
}

/// One change of code in `lib/add.sh`, one of a requirement and `lib/list.sh`.
fn two_changes() -> Sandbox {
    let sandbox = Sandbox::delivered();
    sandbox.script_small_change("lib/add.sh", "at once");
    modify(&sandbox, "quick");
    sandbox.script("triage", triage("Sort todos", &["prd", "code"], &["lib/list.sh"]));
    let update = json!({"id": "REQ-002", "description": "A user can: List todos, sorted."});
    sandbox.script("prd", Reply::call("update_requirement", update));
    let edit = json!({"path": "lib/list.sh", "old_text": "List todos", "new_text": "Sort todos"});
    sandbox.script("coding", Reply::call("edit_file", edit));
    modify(&sandbox, "sorted");
    sandbox
}

/// Two changes that each add a requirement, a feature and a task: with the same ids.
fn two_additions() -> Sandbox {
    let sandbox = Sandbox::delivered();
    for (name, title) in [("quick", "Quick adding"), ("sorted", "Sorted lists")] {
        let file = format!("lib/{name}.sh");
        sandbox.script_addition(title, ["REQ-004", "FEAT-003", "TASK-006"], &file);
        modify(&sandbox, name);
    }
    sandbox
}

fn merge(sandbox: &Sandbox, into: &str, branches: [&str; 2]) {
    sandbox.git(&["switch", "-q", into]);
    for branch in branches {
        sandbox.git(&["merge", "-q", "--no-ff", "-m", &format!("Merge {branch}"), branch]);
    }
}

#[test]
fn a_session_is_merged_with_its_finished_changes() {
    let sandbox = two_changes();
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.cowork(&["merge", "--dry-run", "--with-changes"]).exits(0).says(SORTED);
    sandbox.cowork(&["merge", "--with-changes"]).exits(0);
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
    assert_eq!(sandbox.git(&["rev-list", "--count", "--first-parent", "main", "--merges"]), "3");
    assert!(sandbox.blob("main", "lib/add.sh").contains("at once"));
    assert!(sandbox.blob("main", "lib/list.sh").contains("Sort todos"));
    for name in ["todo", "todo--quick", "todo--sorted"] {
        let merged = sandbox.cowork(&["merge", name]).exits(0);
        merged.says("already merged into main");
    }
    sandbox.assert_sound();
}

/// Merged by git, then corrected: the correction is not merged yet.
#[test]
fn what_came_after_a_plain_merge_is_merged_too() {
    let sandbox = Sandbox::delivered();
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "by hand", "cowork/todo"]);
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.commit_file("lib/store.sh", "# corrected\n", "correct it");
    sandbox.cowork(&["review", "todo", "--stage", "coding", "--pass"]).exits(0);
    sandbox.cowork(&["merge", "todo"]).exits(0);
    assert_eq!(sandbox.blob("main", "lib/store.sh"), "# corrected\n");
    sandbox.cowork(&["merge", "todo"]).exits(0).says("already merged");
}

#[test]
fn different_things_merge_in_both_orders() {
    let sandbox = two_changes();
    let mut trees = Vec::new();
    for order in [[QUICK, SORTED], [SORTED, QUICK]] {
        for into in ["cowork/todo", "main"] {
            let sandbox = sandbox.fork();
            merge(&sandbox, into, order);
            trees.push(sandbox.tree("HEAD"));
            assert!(sandbox.blob("HEAD", "lib/add.sh").contains("at once"));
            assert!(sandbox.blob("HEAD", &format!("{DIR}/requirements.json")).contains("sorted"));
            let told = sandbox.cowork(&["verify"]).exits(0).stdout;
            assert!(told.contains("todo: all is well"), "{told}");
            for session in ["todo--quick", "todo--sorted"] {
                sandbox.cowork(&["verify", session]).exits(0);
            }
        }
    }
    trees.dedup();
    assert_eq!(trees.len(), 1, "one tree, whatever the order");
}

#[test]
fn the_same_requirement_is_an_honest_conflict_and_its_resolution_is_accepted() {
    let sandbox = Sandbox::delivered();
    for (name, how) in [("quick", "quickly"), ("sorted", "sorted")] {
        sandbox.script("triage", triage("List better", &["prd", "code"], &["lib/list.sh"]));
        let update =
            json!({"id": "REQ-002", "description": format!("A user can list todos {how}.")});
        sandbox.script("prd", Reply::call("update_requirement", update));
        let file = json!({"path": format!("lib/{name}.sh"), "content": "# new\n"});
        sandbox.script("coding", Reply::call("write_file", file));
        modify(&sandbox, name);
    }
    merge_conflicts(&sandbox);
    let told = sandbox.cowork(&["verify", "--fix"]).exits(1);
    let said = "prd.md: description of REQ-002 was changed on both sides";
    assert!(told.stdout.contains(said), "{}", told.stdout);
    let path = format!("{DIR}/prd.md");
    let text = sandbox.read(&path);
    let (ours, theirs) = ("list todos quickly.", "list todos sorted.");
    // The person's word: both.
    let mut resolved: Vec<String> = text.lines().map(str::to_owned).collect();
    resolved.retain(|line| !line.starts_with(['<', '=', '>']) && !line.contains(theirs));
    let resolved = resolved.join("\n").replace(ours, "list todos quickly and sorted.") + "\n";
    sandbox.write(&path, &resolved);
    // The rest follows from it.
    sandbox.cowork(&["verify", "--fix"]).exits(0);
    assert_eq!(sandbox.read(&path), resolved);
    let json = sandbox.read(&format!("{DIR}/requirements.json"));
    assert!(json.contains("list todos quickly and sorted."), "{json}");
    sandbox.git(&["commit", "-q", "--no-edit"]);
    sandbox.cowork(&["verify", "todo"]).exits(0);
    sandbox.cowork(&["verify"]).exits(0);
}

fn merge_conflicts(sandbox: &Sandbox) {
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "Merge quick", QUICK]);
    assert!(sandbox.git_fails(&["merge", "-q", "--no-ff", SORTED]));
}

/// Merges both and keeps, as a person would, both sides of every conflict.
fn merge_keeping_both(sandbox: &Sandbox, into: &str) {
    sandbox.git(&["switch", "-q", into]);
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "Merge quick", QUICK]);
    assert!(sandbox.git_fails(&["merge", "-q", "--no-ff", SORTED]));
    sandbox.keep_both();
    sandbox.git(&["commit", "-q", "-a", "-m", "Merge sorted"]);
}

#[test]
fn ids_that_collide_are_found_and_renumbered_with_all_that_means_them() {
    for into in ["cowork/todo", "main"] {
        let sandbox = two_additions();
        merge_keeping_both(&sandbox, into);
        let problems = sandbox.cowork(&["verify", "--json"]).exits(1).json_lines();
        let about: Vec<&Value> = problems
            .iter()
            .filter(|problem| problem["code"] == "duplicate-id" && problem["fixable"] == true)
            .map(|problem| &problem["about"])
            .collect();
        assert_eq!(about, ["REQ-004", "FEAT-003", "TASK-006"], "{problems:?}");
        let before = sandbox.git(&["rev-parse", "HEAD"]);
        let outcome = sandbox.cowork(&["verify", "--fix"]).exits(0);
        let said = "REQ-004 of todo--sorted is REQ-005 now";
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
        assert_eq!(sandbox.git(&["rev-parse", "HEAD~1"]), before);
        assert!(sandbox.git(&["log", "-1", "--format=%B"]).contains(said));
        let records = |file: &str, list: &str| -> Vec<Value> {
            let text = sandbox.blob("HEAD", &format!("{DIR}/{file}"));
            serde_json::from_str::<Value>(&text).unwrap()[list].as_array().unwrap().clone()
        };
        let feature = records("feature_list.json", "features").pop().unwrap();
        assert_eq!(
            (&feature["id"], &feature["name"]),
            (&json!("FEAT-004"), &json!("Sorted lists"))
        );
        assert_eq!(feature["requirement_ids"], json!(["REQ-005"]));
        let task = records("implementation_plan.json", "tasks").pop().unwrap();
        assert_eq!((&task["id"], &task["feature_id"]), (&json!("TASK-007"), &json!("FEAT-004")));
        let prd = sandbox.blob("HEAD", &format!("{DIR}/prd.md"));
        assert!(
            prd.contains("### REQ-004 Quick adding") && prd.contains("### REQ-005 Sorted lists"),
            "{prd}"
        );
        sandbox.cowork(&["verify"]).exits(0);
        sandbox.assert_sound();
        // Nothing left to do.
        sandbox.cowork(&["verify", "--fix"]).exits(0);
        assert_eq!(sandbox.git(&["rev-parse", "HEAD~1"]), before);
        // The next change goes on from there.
        let ids = ["REQ-006", "FEAT-005", "TASK-008"];
        sandbox.script_addition("Due dates", ids, "lib/due.sh");
        sandbox.cowork(&["modify", "due dates", "--session", "todo", "--review", "auto"]).exits(0);
    }
}

#[test]
fn a_branch_that_is_not_checked_out_is_not_renumbered() {
    let sandbox = two_additions();
    merge_keeping_both(&sandbox, "cowork/todo");
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.cowork(&["verify", "todo", "--fix"]).exits(5).says("not checked out");
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    let path = format!("{DIR}/plan.md");
    let mine = format!("{}\nmine\n", sandbox.read(&path));
    sandbox.write(&path, &mine);
    sandbox.cowork(&["verify", "todo", "--fix"]).exits(5).says("uncommitted changes");
    assert_eq!(sandbox.read(&path), mine);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
}

#[test]
fn comments_after_a_merged_change_repeat_nothing() {
    let sandbox = Sandbox::delivered();
    sandbox.script_addition("Quick adding", ["REQ-004", "FEAT-003", "TASK-006"], "lib/quick.sh");
    modify(&sandbox, "quick");
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "Merge quick", QUICK]);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    let edit =
        json!({"path": "lib/list.sh", "old_text": "List todos", "new_text": "List all todos"});
    sandbox.server.on(
        crate::support::at("coding", "actor").task("TASK-007").turn(1),
        Reply::call("edit_file", edit),
    );
    sandbox.cowork(&["feedback", "List all, please", "--review", "auto"]).exits(0);
    let subjects = sandbox.subjects(&format!("{tip}..HEAD"));
    let tasks: Vec<&String> = subjects.iter().filter(|subject| subject.contains("TASK-")).collect();
    assert_eq!(tasks, ["coding: TASK-007 review: List all, please"]);
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn a_sibling_that_was_taken_in_is_not_the_changes_own() {
    let sandbox = Sandbox::delivered();
    sandbox.script_addition("Quick adding", ["REQ-004", "FEAT-003", "TASK-006"], "lib/quick.sh");
    modify(&sandbox, "quick");
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.script_small_change("lib/add.sh", "at once");
    let args = ["modify", "say more", "-n", "more", "--review", "auto", "--stop-after", "triage"];
    sandbox.cowork(&args).exits(0);
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "Merge quick", QUICK]);
    let outcome = sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    assert!(!outcome.stderr.contains("the change so far"), "{}", outcome.stderr);
    let own = sandbox.git(&["log", "--first-parent", "--format=%s", "cowork/todo.."]);
    assert!(!own.contains("TASK-006"), "{own}");
    assert!(sandbox.blob("HEAD", "lib/add.sh").contains("at once"));
}
