//! Two clones of one branch gave one id to two tasks, and both were done: what commits, plan and
//! records say of them follows the new id.

use serde_json::{Value, json};

use super::{DIR, edit, solve};
use crate::support::{Reply, Sandbox, at, todo};

/// Two clones of a delivered session, in each of which a reviewer's comment became TASK-006. `theirs`
/// is a branch here.
fn two_clones() -> Sandbox {
    let begun = Sandbox::delivered();
    let sides = [("Export", "lib/add.sh"), ("Import", "lib/list.sh")].map(|(title, file)| {
        let side = begun.fork();
        let work = json!({"path": format!("lib/{title}.sh"), "content": "# done\n"});
        let work = Reply::call("write_file", work);
        side.server.on(at("coding", "actor").task("TASK-006").turn(1), work);
        let comment = format!("{title} is missing beside {file}");
        // It stops at the gate behind the task.
        side.cowork(&["feedback", &comment, "--review", "wait"]).exits(3);
        side
    });
    let [ours, theirs] = sides;
    let from = theirs.repo().display().to_string();
    ours.git(&["fetch", "-q", &from, "cowork/todo:refs/heads/theirs"]);
    ours
}

fn log(sandbox: &Sandbox) -> Vec<Value> {
    let steps = sandbox.cowork(&["log", "--json"]).exits(0).json_lines();
    let here = steps.into_iter().filter(|step| step["attempt"].is_null());
    here.filter(|step| step["event"] == "task_completed").collect()
}

/// What each of the tasks that were done twice is called in the commits that say so.
fn assert_follow(sandbox: &Sandbox, way: &str) {
    let plan = sandbox.blob("HEAD", &format!("{DIR}/plan.md"));
    for heading in ["### TASK-006 review: Export", "### TASK-007 review: Import"] {
        assert_eq!(plan.matches(heading).count(), 1, "{way}: {plan}");
    }
    let done = log(sandbox);
    for (id, title) in [("TASK-006", "Export"), ("TASK-007", "Import")] {
        let of: Vec<&Value> = done.iter().filter(|step| step["task"] == id).collect();
        assert_eq!(of.len(), 1, "{way}: {id} in {done:#?}");
        let commit = of[0]["commit"].as_str().unwrap();
        let files = sandbox.git(&["show", "--format=", "--name-only", commit]);
        assert!(files.contains(&format!("lib/{title}.sh")), "{way}: {id} is {files}");
    }
}

#[test]
fn tasks_of_two_clones_follow_their_new_ids() {
    let begun = two_clones();
    for way in ["merge", "rebase"] {
        let sandbox = begun.fork();
        match way {
            "merge" => {
                sandbox.git_outcome(&["merge", "-q", "--no-ff", "-m", "Merge theirs", "theirs"]);
            }
            _ => {
                sandbox.git(&["branch", "-q", "ours"]);
                sandbox.git(&["reset", "-q", "--hard", "theirs"]);
                sandbox.git_outcome(&["rebase", "-q", "ours"]);
            }
        }
        solve(&sandbox, "tasks", way);
        sandbox.cowork(&["verify", "--fix"]);
        assert_follow(&sandbox, way);
        let json: Value =
            serde_json::from_str(&sandbox.blob("HEAD", &format!("{DIR}/implementation_plan.json")))
                .unwrap();
        let tasks = json["tasks"].as_array().unwrap();
        for id in ["TASK-006", "TASK-007"] {
            let task = tasks.iter().find(|task| task["id"] == id).unwrap();
            assert_eq!(task["status"], "completed", "{way}: {task}");
        }
    }
}

/// A person adds a task to the plan and does it, as a commit of the session says.
fn add_and_do(sandbox: &Sandbox, title: &str, before: &str) {
    let file = format!("lib/{title}.sh");
    let section = todo::task_section("TASK-006", &format!("review: {title}"), "FEAT-001", &file);
    let section = format!("{}\n{before}", section.trim_start());
    edit(sandbox, &[("plan.md", before, &section)]);
    let session: Value = serde_json::from_str(&sandbox.artifact("session.json")).unwrap();
    let id = session["id"].as_str().unwrap();
    let trailers =
        format!("Cowork-Session: todo\nCowork-Session-Id: {id}\nCowork-Task: TASK-006\n");
    sandbox.commit_file(&file, "# done\n", &format!("coding: TASK-006 {title}\n\n{trailers}"));
}

#[test]
fn tasks_of_two_clones_follow_new_ids_that_come_after_git_saw_no_conflict() {
    let begun = Sandbox::stopped_after("plan");
    begun.git(&["branch", "begun"]);
    add_and_do(&begun, "Import", "### TASK-005 ");
    begun.git(&["branch", "-q", "theirs"]);
    begun.git(&["reset", "-q", "--hard", "begun"]);
    add_and_do(&begun, "Export", "### TASK-002 ");
    for way in ["merge", "rebase"] {
        let sandbox = begun.fork();
        match way {
            "merge" => {
                sandbox.git(&["merge", "-q", "--no-ff", "-m", "Merge theirs", "theirs"]);
            }
            _ => {
                sandbox.git(&["branch", "-q", "ours"]);
                sandbox.git(&["reset", "-q", "--hard", "theirs"]);
                sandbox.git(&["rebase", "-q", "ours"]);
            }
        }
        let fixed = sandbox.cowork(&["verify", "--fix"]).stderr;
        assert!(fixed.contains("TASK-006 of todo is TASK-007 now"), "{way}: {fixed}");
        assert_follow(&sandbox, way);
    }
}
