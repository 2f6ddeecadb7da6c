//! What a brief says: the sub-tasks of a task, what fails, why a stage is done again, how the
//! language is written; and what leaves it because it was answered.

use serde_json::{Value, json};

use crate::support::kill::{abort_at, kill_at_request};
use crate::support::server::Received;
use crate::support::todo::{self, IDEA, TASKS, reject, task_work};
use crate::support::{Reply, Sandbox, at};

/// The plan of `todo`, where the first task has two levels of sub-tasks, and a sub-task alone
/// works on FEAT-002.
fn plan_with_sub_tasks() -> Reply {
    let draft = Reply::call("save_plan_doc", json!({"content": "# Plan\n\nIn this order.\n"}));
    let draft = (0..TASKS.len()).fold(draft, |draft, index| {
        let mut task = todo::task(index);
        task["feature_id"] = json!("FEAT-001");
        draft.and("create_task", task)
    });
    let part = |parent: &str, title: &str, file: &str, feature: &str, criterion: &str| {
        json!({
            "parent_id": parent, "title": title, "description": format!("{title} ({file})."),
            "feature_id": feature, "component_id": "COMP-001",
            "files_to_create": [file], "acceptance_criteria": [criterion],
        })
    };
    let lock = part("TASK-001", "Lock", "lib/lock.sh", "FEAT-002", "two at once lose nothing");
    let tell = part("TASK-001.1", "Tell", "lib/tell.sh", "FEAT-001", "it says who holds the lock");
    draft.and("create_task", lock).and("create_task", tell)
}

/// Its session; the first task writes its own file only, is refused, and writes the others.
fn session_with_sub_tasks() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.server.on(at("plan", "actor").turn(1), plan_with_sub_tasks());
    let rest = write("lib/lock.sh", "# lock\n")
        .and("write_file", json!({"path": "lib/tell.sh", "content": "# tell\n"}))
        .and("update_task_status", json!({"task_id": "TASK-001", "new_status": "completed"}));
    let replies = vec![task_work("TASK-001"), rest, Reply::text("Done.")];
    sandbox.server.sequence(at("coding", "actor").task("TASK-001"), replies);
    sandbox
}

fn write(path: &str, content: &str) -> Reply {
    Reply::call("write_file", json!({"path": path, "content": content}))
}

/// The requests of a stage's actor that begin a conversation, about this task if one is named.
fn begun(sandbox: &Sandbox, stage: &str, task: Option<&str>) -> Vec<Received> {
    let mut requests = sandbox.server.requests_of(stage, "actor");
    requests.retain(|r| r.turn == 1 && (task.is_none() || r.task.as_deref() == task));
    requests
}

/// The last message of the newest of them: the brief.
fn brief(sandbox: &Sandbox, stage: &str, task: Option<&str>) -> String {
    let requests = begun(sandbox, stage, task);
    let message = requests.last().unwrap().messages().last().unwrap();
    message["content"].as_str().unwrap().to_owned()
}

fn feature_status(sandbox: &Sandbox) -> Vec<String> {
    let list: Value = serde_json::from_str(&sandbox.artifact("feature_list.json")).unwrap();
    let features = list["features"].as_array().unwrap();
    features.iter().map(|feature| feature["status"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_brief_names_the_sub_tasks_of_its_task() {
    let sandbox = session_with_sub_tasks();
    sandbox.auto(&[]).exits(0);
    let told = brief(&sandbox, "coding", Some("TASK-001"));
    let role = told.split("# Your role").nth(1).unwrap();
    for part in [
        "TASK-001.1 Lock",
        "lib/lock.sh",
        "two at once lose nothing",
        "FEAT-002 Reading and ticking",
        "TASK-001.1.1 Tell",
        "lib/tell.sh",
        "it says who holds the lock",
    ] {
        assert!(role.contains(part), "no '{part}' in {role}");
    }
    let other = brief(&sandbox, "coding", Some("TASK-002"));
    assert!(!other.split("# Your role").nth(1).unwrap().contains("### TASK-001.1"));
    // Completed is refused until the files of all of them are there, and completes them all.
    let refused = &sandbox.server.requests_of("coding", "actor")[1].tool_results()[1];
    assert!(refused.contains("lib/lock.sh, lib/tell.sh must exist first"), "{refused}");
    let plan: Value = serde_json::from_str(&sandbox.artifact("implementation_plan.json")).unwrap();
    let tasks = plan["tasks"].as_array().unwrap();
    assert!(tasks.iter().all(|task| task["status"] == "completed"), "{plan}");
    // Who judges reads the same.
    for (stage, role) in [("coding", "critic"), ("check", "actor")] {
        let read = sandbox.server.requests_of(stage, role)[0].text();
        for part in ["two at once lose nothing", "it says who holds the lock", "lib/tell.sh"] {
            assert!(read.contains(part), "no '{part}' for {stage} {role}");
        }
    }
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-001 ");
    let body = sandbox.git(&["log", "-1", "--format=%b", &commit]);
    assert!(body.contains("- two at once lose nothing"), "{body}");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Feature"], ["FEAT-001", "FEAT-002"]);
    sandbox.assert_sound();
}

#[test]
fn a_feature_that_only_a_sub_task_names_is_not_lost() {
    let sandbox = session_with_sub_tasks();
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    assert_eq!(feature_status(&sandbox), ["implemented", "implemented"]);
    let status = sandbox.cowork(&["status", "-v"]).exits(0).stdout;
    let reading = status.split("FEAT-002").last().unwrap();
    assert!(reading.contains("TASK-001"), "{status}");
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    assert_eq!(feature_status(&sandbox), ["delivered", "delivered"]);
    let report = sandbox.artifact("delivery_report.md");
    assert!(report.contains("FEAT-002 verified by the check: TASK-001"), "{report}");
}

#[test]
fn files_of_sub_tasks_are_judged_in_coding() {
    let sandbox = session_with_sub_tasks();
    let gone = Reply::call("delete_file", json!({"path": "lib/tell.sh"}));
    let replies = vec![gone, task_work("TASK-002"), Reply::text("Done.")];
    sandbox.server.sequence(at("coding", "actor").task("TASK-002"), replies);
    let again = write("lib/tell.sh", "# tell\n");
    sandbox.server.on(at("coding", "actor").iteration(2).turn(1), again);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let corrected = sandbox.server.requests_of("coding", "actor");
    let corrected = corrected.iter().find(|request| request.iteration == 2).unwrap().text();
    assert!(corrected.contains("lib/tell.sh, promised by TASK-001.1.1, is not"), "{corrected}");
    assert!(sandbox.exists("lib/tell.sh"));
    let critic = sandbox.server.requests_of("coding", "critic");
    assert!(critic.iter().all(|request| request.iteration == 2), "asked about a missing file");
}

/// Tests that fail once `lib/add.sh` is there and `fix.txt` is not.
const SUITE: &str = "[ ! -e lib/add.sh ] || [ -e fix.txt ] || {
  echo 'test adds_two ... FAILED'; echo 'adds_two: got 1'; exit 1; }
echo fine
";

/// A session whose second task breaks the tests and whose fourth fixes them.
fn broken_and_fixed() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.commit_file("suite.sh", SUITE, "a suite");
    sandbox.user_config("[project]\ntest = \"sh suite.sh\"\n");
    let fix = task_work("TASK-004").and("write_file", json!({"path": "fix.txt", "content": "x\n"}));
    sandbox.server.on(at("coding", "actor").task("TASK-004").turn(1), fix);
    sandbox
}

/// What a brief says of it.
const TOLD: [&str; 4] = ["`sh suite.sh`: exit 1", "TASK-002 Add a todo", "adds_two", "got 1"];

#[test]
fn what_a_task_breaks_is_red_and_in_the_next_briefs_until_it_passes() {
    let sandbox = broken_and_fixed();
    let told = sandbox.auto(&["--stop-after", "coding", "--color", "always"]).exits(0).stderr;
    let line = told.lines().find(|line| line.contains("TASK-002 Add a todo · ")).unwrap();
    assert!(line.starts_with("\x1b[31m✗\x1b[0m TASK-002"), "{line:?}");
    assert!(line.contains("\x1b[31mfailed (sh suite.sh, exit 1)"), "{line:?}");
    let fine = told.lines().find(|line| line.contains("TASK-004 Tick a todo off · ")).unwrap();
    assert!(fine.starts_with("\x1b[32m✓\x1b[0m"), "{fine:?}");
    for task in ["TASK-003", "TASK-004"] {
        let brief = brief(&sandbox, "coding", Some(task));
        let failing = brief.split("## Failing now").nth(1).unwrap_or_default();
        for part in TOLD {
            assert!(failing.contains(part), "no '{part}' for {task} in {brief}");
        }
    }
    // Since when it fails, and where it was seen last.
    assert!(brief(&sandbox, "coding", Some("TASK-004")).contains("TASK-003"));
    for task in ["TASK-001", "TASK-002", "TASK-005"] {
        assert!(!brief(&sandbox, "coding", Some(task)).contains("## Failing now"), "{task}");
    }
}

#[test]
fn a_failing_task_is_told_in_words_where_there_is_no_colour() {
    let sandbox = broken_and_fixed();
    let told = sandbox.auto(&["--stop-after", "coding"]).exits(0).stderr;
    let line = told.lines().find(|line| line.contains("TASK-002 Add a todo · ")).unwrap();
    assert!(line.starts_with("✗ ") && line.contains("failed (sh suite.sh, exit 1)"), "{line}");
}

#[test]
fn a_run_that_was_killed_tells_what_fails_all_the_same() {
    let sandbox = broken_and_fixed();
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    let resume = ["resume", "--review", "auto", "--stop-after", "coding"];
    // One for TASK-001, two for TASK-002, which is told what it broke: this one begins TASK-003.
    kill_at_request(&sandbox, &resume, 4).was_killed();
    let status = sandbox.cowork(&["status", "--color", "always"]).exits(0).stdout;
    assert!(status.contains("last test run: \x1b[31mfailed (sh suite.sh, exit 1)"), "{status}");
    sandbox.server.forget();
    sandbox.cowork(&resume).exits(0);
    let brief = brief(&sandbox, "coding", Some("TASK-003"));
    for part in TOLD {
        assert!(brief.contains(part), "no '{part}' in {brief}");
    }
}

#[test]
fn a_stage_that_is_done_again_is_told_why_until_it_passed() {
    let reason = "COMP-002 has no file format";
    let wish = Reply::call("goto_stage", json!({"stage": "design", "reason": reason}));
    let wishing = || {
        let sandbox = Sandbox::stopped_after("design");
        sandbox.server.times(1, at("plan", "actor").turn(1), wish.clone());
        sandbox
    };
    let resume = ["resume", "--review", "auto"];
    // Killed before anything was written down but the attempt.
    for point in ["attempt.after-ref:1", "rewind.after-reset:1"] {
        let mut sandbox = wishing();
        abort_at(&mut sandbox, &resume, point).was_killed();
        // Asked again where the branch had not moved yet.
        if point.starts_with("attempt") {
            sandbox.server.times(1, at("plan", "actor").turn(1), wish.clone());
        }
        sandbox.cowork(&resume).exits(0);
        let told = brief(&sandbox, "design", None);
        assert_eq!(told.matches(reason).count(), 1, "{point}: {told}");
        assert!(told.contains("plan actor, who asked to go back to design"), "{point}: {told}");
        for stage in ["plan", "coding", "check", "delivery"] {
            let later = brief(&sandbox, stage, None);
            assert!(!later.contains(reason), "{stage} after {point}: {later}");
        }
        sandbox.assert_sound();
    }
}

#[test]
fn a_person_who_goes_back_is_quoted_to_the_stage_that_is_done_again() {
    let sandbox = Sandbox::stopped_after("plan");
    let reason = "one file is enough";
    sandbox.cowork(&["revert", "--to", "design", "--no-run", "--reason", reason]).exits(0);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    let resume = ["resume", "--review", "auto"];
    sandbox.server.forget();
    kill_at_request(&sandbox, &resume, 1).was_killed();
    sandbox.server.forget();
    sandbox.cowork(&resume).exits(0);
    let told = brief(&sandbox, "design", None);
    let line = told.lines().find(|line| line.contains(reason)).unwrap();
    assert!(line.starts_with("- human, critical: "), "{line}");
    assert!(line.contains("coding"), "{line}");
    assert_eq!(told.matches(reason).count(), 1);
    assert!(!brief(&sandbox, "plan", None).contains(reason));
    let history = sandbox.artifact("feedback_history.json");
    assert!(history.contains(reason), "{history}");
    // Answered: another way back does not bring it up again.
    sandbox.cowork(&["revert", "--to", "design", "--no-run"]).exits(0);
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "design"]).exits(0);
    let told = brief(&sandbox, "design", None);
    assert!(!told.contains(reason) && told.contains("a person went back"), "{told}");
    sandbox.assert_sound();
}

#[test]
fn what_undo_took_back_is_not_told() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.cowork(&["revert", "--to", "design", "--no-run", "--reason", "no"]).exits(0);
    sandbox.cowork(&["undo"]).exits(0);
    sandbox.cowork(&["revert", "--to", "plan", "--no-run"]).exits(0);
    sandbox.cowork(&["undo"]).exits(0);
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
    for request in sandbox.server.requests() {
        assert!(!request.text().contains("went back"), "{}", request.position());
    }
}

/// A session of five Python files in a repository that holds none.
fn python() -> Sandbox {
    let sandbox = Sandbox::new();
    let design = todo::DESIGN.replace("POSIX sh", "Python 3, standard library");
    let design = Reply::call("save_design_doc", json!({"content": design}));
    sandbox.server.on(at("design", "actor").turn(1), design);
    let file = |index: usize| format!("todo/part{index}.py");
    let plan = (0..TASKS.len()).fold(todo::plan(), |plan, index| {
        plan.replace(&format!("`{}`", TASKS[index].2), &format!("`{}`", file(index)))
    });
    let plan = Reply::call("save_plan_doc", json!({"content": plan}));
    sandbox.server.on(at("plan", "actor").turn(1), plan);
    for (index, task) in TASKS.iter().enumerate() {
        let work = write(&file(index), "x = 1\n")
            .and("update_task_status", json!({"task_id": task.0, "new_status": "completed"}));
        sandbox.server.on(at("coding", "actor").task(task.0).turn(1), work);
    }
    sandbox
}

#[test]
fn language_guidance_applies_from_the_first_task_and_yields() {
    let sandbox = python();
    sandbox.user_config("[project]\ntest = \"no-such-program-here\"\n");
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    // The plan names files before there are any.
    let told = brief(&sandbox, "coding", Some("TASK-001"));
    let guidance = told.split("## Language guidance").nth(1).unwrap_or_default();
    assert!(guidance.contains("Python"), "{told}");
    assert!(guidance.contains("the repository's conventions and the rule on tests win"), "{told}");
    assert!(!brief(&sandbox, "plan", None).contains("Language guidance"), "for who writes code");
    let critic = sandbox.server.requests_of("coding", "critic")[0].text();
    assert!(!critic.contains("Language guidance"), "style is no matter of the critic: {critic}");
}

#[test]
fn what_the_session_has_fixed_is_no_failure_from_before() {
    let sandbox = Sandbox::new();
    let suite = "[ -e lib/add.sh ] && exit 0; echo 'test old ... FAILED'; exit 1\n";
    sandbox.commit_file("suite.sh", suite, "a suite that fails");
    sandbox.user_config("[project]\ntest = \"sh suite.sh\"\n");
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    for (task, failing) in [("TASK-001", true), ("TASK-002", true), ("TASK-003", false)] {
        let told = brief(&sandbox, "coding", Some(task));
        assert_eq!(told.contains("## Failing before you began"), failing, "{task}: {told}");
    }
}

#[test]
fn what_could_not_run_before_is_not_told_once_it_runs() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[project]\ntest = \"./suite.sh\"\n");
    let suite = json!({"command": "printf '#!/bin/sh\\n' >suite.sh; chmod +x suite.sh"});
    let replies =
        vec![Reply::call("run_command", suite), task_work("TASK-001"), Reply::text("Done.")];
    sandbox.server.sequence(at("coding", "actor").task("TASK-001"), replies);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let first = brief(&sandbox, "coding", Some("TASK-001"));
    assert!(first.contains("- `./suite.sh`: not run (not installed)"), "{first}");
    let commit = sandbox.commit_of("cowork/todo", "coding: TASK-001 ");
    assert_eq!(
        sandbox.trailers(&commit)["Cowork-Checks"],
        ["passed, tests not counted (./suite.sh)"]
    );
    let second = brief(&sandbox, "coding", Some("TASK-002"));
    assert!(!second.contains("not run ("), "{second}");
}

#[test]
fn a_command_that_is_no_longer_the_projects_is_no_failure_from_before() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[project]\ntest = \"sh -c 'exit 3'\"\n");
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    let resume = ["resume", "--review", "auto", "--stop-after", "coding"];
    kill_at_request(&sandbox, &resume, 2).was_killed();
    sandbox.user_config("[project]\ntest = \"true\"\n");
    sandbox.server.forget();
    sandbox.cowork(&resume).exits(0);
    let told = brief(&sandbox, "coding", Some("TASK-003"));
    assert!(!told.contains("exit 3"), "{told}");
}

#[test]
fn feedback_that_was_answered_is_not_repeated() {
    let sandbox = Sandbox::new();
    // Without a feature nothing would be built; then the critic objects, then all is well.
    let few = Reply::call("save_prd_doc", json!({"content": "# PRD\n\nWhat it must do.\n"}))
        .and("create_requirement", todo::requirement("Add a todo"));
    sandbox.server.on(at("prd", "actor").iteration(1).turn(1), few);
    let more = todo::prd_draft();
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), more);
    let again =
        Reply::call("save_prd_doc", json!({"content": format!("{}\nBy date.\n", todo::PRD)}));
    sandbox.server.on(at("prd", "actor").iteration(3).turn(1), again);
    sandbox.server.times(1, at("prd", "critic"), reject("REQ-002 is vague"));
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let briefs: Vec<String> = begun(&sandbox, "prd", None).iter().map(Received::text).collect();
    assert_eq!(briefs.len(), 3);
    let (_, last) = briefs[2].rsplit_once("was judged").unwrap();
    assert!(briefs[1].contains("- validator, major: no feature; at least one is needed"));
    assert!(last.contains("REQ-002 is vague") && !last.contains("- validator"), "{last}");
    assert_eq!(sandbox.artifact("idea.md"), IDEA);
}

#[test]
fn a_task_that_got_its_commit_has_answered_the_hook() {
    let sandbox = Sandbox::new();
    let hook = "git diff --cached --name-only | grep -q lib/add.sh || exit 0\n\
                [ -e \"$(git rev-parse --git-dir)/met\" ] && exit 0\n\
                touch \"$(git rev-parse --git-dir)/met\"; echo 'no adding today'; exit 1\n";
    sandbox.hook("pre-commit", hook);
    let set = json!({"task_id": "TASK-002", "new_status": "completed"});
    let work = write("lib/add.sh", "# nicer\n").and("update_task_status", set);
    sandbox.server.on(at("coding", "actor").iteration(2).task("TASK-002").turn(1), work);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    assert!(brief(&sandbox, "coding", Some("TASK-002")).contains("no adding today"));
    let after = brief(&sandbox, "coding", Some("TASK-003"));
    assert!(!after.contains("no adding today"), "{after}");
}
