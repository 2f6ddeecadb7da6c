//! What was passed stays passed where branches met: under new ids, beside what others passed, in
//! commits that git finished. What nobody passed is said.

use serde_json::{Value, json};

use super::{AFTER_REQUIREMENTS, DIR, solve, write};
use crate::support::{Reply, Sandbox, at, todo};

/// Changes `quick` and `sorted` gave the same ids; `quick` is merged, and `sorted` checked out.
fn two_changes() -> Sandbox {
    let sandbox = Sandbox::delivered();
    for (name, title) in [("quick", "Quick adding"), ("sorted", "Sorted lists")] {
        let file = format!("lib/{name}.sh");
        sandbox.script_addition(title, ["REQ-004", "FEAT-003", "TASK-006"], &file);
        sandbox.git(&["switch", "-q", "cowork/todo"]);
        sandbox.cowork(&["modify", name, "-n", name, "--review", "auto"]).exits(0);
    }
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "Merge quick", "cowork/todo--quick"]);
    sandbox.git(&["switch", "-q", "cowork/todo--sorted"]);
    sandbox
}

/// Solves and goes on until git is done, leaving out what has become empty.
fn go_on(sandbox: &Sandbox, way: &str) {
    for _ in 0..20 {
        if !sandbox.git(&["diff", "--name-only", "--diff-filter=U"]).is_empty() {
            sandbox.cowork(&["verify", "--fix"]).exits(0);
        }
        let outcome = sandbox.git_outcome(&["-c", "core.editor=true", way, "--continue"]);
        let outcome = match outcome.stderr.contains("is now empty") {
            true => sandbox.git_outcome(&[way, "--skip"]),
            false => outcome,
        };
        if outcome.code == 0 {
            return;
        }
    }
    panic!("{way} does not end");
}

fn changed_after_approval(sandbox: &Sandbox) -> Vec<String> {
    let told = sandbox.cowork(&["verify", "--json"]).json_lines();
    let told = told.iter().filter(|one| one["code"] == "changed-after-approval");
    told.map(|one| one["about"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()).collect()
}

fn assert_sorted_follows(sandbox: &Sandbox) {
    let prd = sandbox.blob("HEAD", &format!("{DIR}/prd.md"));
    for heading in ["REQ-004 Quick adding", "REQ-005 Sorted lists", "FEAT-004 Sorted lists"] {
        assert!(prd.contains(&format!("### {heading}\n")), "{prd}");
    }
    let plan = sandbox.blob("HEAD", &format!("{DIR}/plan.md"));
    assert!(plan.contains("### TASK-006 Quick adding\n\n`FEAT-003`"), "{plan}");
    // Its feature got its id in an earlier commit of the series.
    assert!(plan.contains("### TASK-007 Sorted lists\n\n`FEAT-004`"), "{plan}");
}

#[test]
fn a_change_that_is_rebased_keeps_its_approvals_under_new_ids() {
    let sandbox = two_changes();
    assert_ne!(sandbox.git_outcome(&["rebase", "-q", "cowork/todo"]).code, 0);
    go_on(&sandbox, "rebase");
    assert_sorted_follows(&sandbox);
    assert_eq!(changed_after_approval(&sandbox), Vec::<String>::new());
    sandbox.cowork(&["verify", "--fix"]).exits(0);
    let status = sandbox.cowork(&["status", "todo--sorted"]).exits(0).stdout;
    assert!(status.contains(" attempts") && !status.contains("after a revert"), "{status}");
    // Nobody has passed what a person makes of it then.
    let item = ("prd.md", "- Sorted lists works", "- Sorted lists works twice");
    write(&sandbox, &[item]);
    sandbox.git(&["commit", "-q", "-a", "-m", "by hand"]);
    sandbox.cowork(&["verify", "--fix"]).exits(1);
    assert_eq!(changed_after_approval(&sandbox), ["prd.md", "requirements.json"]);
    sandbox.git(&["reset", "-q", "--hard", "HEAD~2"]);
    assert_eq!(changed_after_approval(&sandbox), Vec::<String>::new());
    // Nor that a feature of another change is what the task is for.
    write(&sandbox, &[("plan.md", "Sorted lists\n\n`FEAT-004`", "Sorted lists\n\n`FEAT-001`")]);
    sandbox.git(&["commit", "-q", "-a", "-m", "by hand"]);
    assert!(changed_after_approval(&sandbox).contains(&"plan.md".to_owned()));
}

/// The tasks that `log` says were completed.
fn completed(sandbox: &Sandbox, name: &str) -> Vec<String> {
    let steps = sandbox.cowork(&["log", name, "--json"]).json_lines();
    let here = steps.iter().filter(|step| step["attempt"].is_null());
    let tasks = here.filter(|step| step["event"] == "task_completed");
    tasks.map(|step| step["task"].as_str().unwrap().to_owned()).collect()
}

/// The status of a record at the tip.
fn state_of(sandbox: &Sandbox, file: &str, list: &str, id: &str) -> String {
    let all: Value = serde_json::from_str(&sandbox.blob("HEAD", &format!("{DIR}/{file}"))).unwrap();
    let one = all[list].as_array().unwrap().iter().find(|one| one["id"] == id).unwrap();
    one["status"].as_str().unwrap().to_owned()
}

#[test]
fn tasks_that_were_done_before_a_rebase_are_done_under_their_new_ids() {
    let sandbox = two_changes();
    // The second change has one more task, which nobody has done yet.
    let start = sandbox.commit_of("cowork/todo--sorted", "start: ");
    sandbox.git(&["reset", "-q", "--hard", &start]);
    let more = format!(
        "{}{}",
        todo::task_section("TASK-006", "Sorted lists", "FEAT-003", "lib/sorted.sh").trim_start(),
        todo::task_section("TASK-007", "Sorted again", "FEAT-003", "lib/again.sh"),
    );
    sandbox.script("plan", Reply::call("save_plan_doc", json!({"content": more})));
    let answer = Reply::status(403, "no");
    sandbox.server.times(1, at("coding", "actor").task("TASK-007"), answer);
    sandbox.cowork(&["resume", "todo--sorted", "--review", "auto"]).exits(4);
    assert_eq!(completed(&sandbox, "todo--sorted"), ["TASK-006"]);

    assert_ne!(sandbox.git_outcome(&["rebase", "-q", "cowork/todo"]).code, 0);
    go_on(&sandbox, "rebase");
    sandbox.cowork(&["verify", "--fix"]);
    let plan = sandbox.blob("HEAD", &format!("{DIR}/plan.md"));
    assert!(plan.contains("### TASK-008 Sorted lists\n"), "{plan}");
    assert!(plan.contains("### TASK-007 Sorted again\n"), "{plan}");
    assert_eq!(completed(&sandbox, "todo--sorted"), ["TASK-008"]);
    let status = sandbox.cowork(&["status", "todo--sorted"]).exits(0).stdout;
    assert!(
        status.contains(" 1 of 2 tasks ") && status.contains("  TASK-007 is next\n"),
        "{status}"
    );
    let plan_json = "implementation_plan.json";
    assert_eq!(state_of(&sandbox, plan_json, "tasks", "TASK-008"), "completed");
    assert_eq!(state_of(&sandbox, plan_json, "tasks", "TASK-006"), "completed", "of the other");

    // Only what is open is done; what is said of it then has the ids of then.
    let work = Reply::call("write_file", json!({"path": "lib/again.sh", "content": "# new\n"}))
        .and("update_task_status", json!({"task_id": "TASK-007", "new_status": "completed"}));
    sandbox.server.on(at("coding", "actor").task("TASK-007").turn(1), work);
    sandbox.cowork(&["resume", "todo--sorted", "--review", "auto"]).exits(0);
    assert_eq!(completed(&sandbox, "todo--sorted"), ["TASK-008", "TASK-007"]);
    assert_eq!(state_of(&sandbox, "feature_list.json", "features", "FEAT-004"), "delivered");
    let report = sandbox.artifact("changes/sorted/delivery_report.md");
    assert!(report.contains("TASK-008") && !report.contains("TASK-006"), "{report}");
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn the_commits_of_a_change_are_picked_with_the_ids_of_the_first_ones() {
    let sandbox = two_changes();
    let base = sandbox.git(&["merge-base", "cowork/todo", "HEAD"]);
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    let range = format!("{base}..cowork/todo--sorted");
    assert_ne!(sandbox.git_outcome(&["cherry-pick", &range]).code, 0);
    go_on(&sandbox, "cherry-pick");
    assert_sorted_follows(&sandbox);
    sandbox.cowork(&["verify"]).exits(0);
}

/// Two clones of one branch, whose prd stages gave REQ-004 to different things. `theirs` is a branch
/// here; `by_hand` is committed there after it was passed.
fn two_clones(by_hand: Option<&str>) -> Sandbox {
    let begun = Sandbox::stopped_after("idea");
    let sides = ["Export", "Import"].map(|title| {
        let side = begun.fork();
        let section = todo::requirement_section("REQ-004", title);
        let feature = todo::feature_section("FEAT-003", title, &["REQ-004"]);
        let text = todo::PRD
            .replace(AFTER_REQUIREMENTS, &format!("{section}{AFTER_REQUIREMENTS}"))
            .replace("\n## Later", &format!("{feature}\n## Later"));
        let draft = Reply::call("save_prd_doc", json!({"content": text}));
        side.server.on(at("prd", "actor").turn(1), draft);
        side.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
        side
    });
    let [ours, theirs] = sides;
    if let Some(title) = by_hand {
        write(&theirs, &[("prd.md", "REQ-004 Import", &format!("REQ-004 {title}"))]);
        theirs.git(&["commit", "-q", "-a", "-m", "by hand"]);
        theirs.cowork(&["verify", "--fix"]).exits(1);
    }
    let from = theirs.repo().display().to_string();
    ours.git(&["fetch", "-q", &from, "cowork/todo:refs/heads/theirs"]);
    ours
}

#[test]
fn what_two_clones_passed_is_passed_where_they_meet() {
    for way in ["merge", "rebase"] {
        let sandbox = two_clones(None);
        match way {
            "merge" => {
                let args = ["merge", "-q", "--no-ff", "-m", "Merge theirs", "theirs"];
                assert_ne!(sandbox.git_outcome(&args).code, 0);
                solve(&sandbox, "two clones", way);
            }
            _ => {
                sandbox.git(&["branch", "-q", "ours"]);
                sandbox.git(&["reset", "-q", "--hard", "theirs"]);
                assert_ne!(sandbox.git_outcome(&["rebase", "-q", "ours"]).code, 0);
                go_on(&sandbox, way);
            }
        }
        let prd = sandbox.blob("HEAD", &format!("{DIR}/prd.md"));
        for heading in ["### REQ-004 Export\n", "### REQ-005 Import\n"] {
            assert_eq!(prd.matches(heading).count(), 1, "{way}: {prd}");
        }
        assert!(prd.contains("### FEAT-004 Import\n\n`REQ-005`"), "{way}: {prd}");
        assert_eq!(changed_after_approval(&sandbox), Vec::<String>::new(), "{way}");
    }
    let sandbox = two_clones(Some("Import nobody passed"));
    let args = ["merge", "-q", "--no-ff", "-m", "Merge theirs", "theirs"];
    assert_ne!(sandbox.git_outcome(&args).code, 0);
    solve(&sandbox, "two clones", "merge");
    assert_eq!(changed_after_approval(&sandbox), ["prd.md", "requirements.json"]);
}
