//! What a new draft and a person make of documents that the release before wrote.

use serde_json::{Value, json};

use super::fixtures::older;
use super::{RESUME, artifact_at, assert_verified, done, raised, status, without_status};
use crate::support::change::triage;
use crate::support::{Reply, Sandbox, at, todo};

const DIR: &str = ".cowork/sessions/todo";

/// The ids of a JSON file of the session, in order.
fn ids(sandbox: &Sandbox, file: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(&sandbox.artifact(file)).unwrap();
    let records = value.as_object().unwrap().values().find(|value| value.is_array()).unwrap();
    records.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

/// A change request that adds a requirement, said as sections.
fn script_due_dates(sandbox: &Sandbox) {
    sandbox.script("triage", triage("Due dates", &["prd", "plan", "code"], &["lib/due.sh"]));
    let sections = todo::requirement_section("REQ-004", "Due dates").trim_start().to_owned()
        + &todo::feature_section("FEAT-003", "Due dates", &["REQ-004"]);
    sandbox.script("prd", Reply::call("save_prd_doc", json!({"content": sections})));
    let section = todo::task_section("TASK-006", "Due dates", "FEAT-003", "lib/due.sh");
    sandbox.script("plan", Reply::call("save_plan_doc", json!({"content": section.trim_start()})));
    super::answers::work_on_due_dates(sandbox);
}

const MODIFY: [&str; 4] = ["modify", "add due dates", "-n", "due"];

#[test]
fn a_change_turns_the_documents_it_changes_into_sections_and_no_other() {
    for name in ["after-delivery", "passed", "feedback", "change-done"] {
        let sandbox = older(name);
        if name == "change-done" {
            // Its own number is taken; a change of the code leaves every document alone.
            sandbox.script_small_change("lib/add.sh", "at once");
            sandbox.cowork(&["modify", "say more", "-n", "more", "--review", "auto"]).exits(0);
            assert_verified(&sandbox, name);
            continue;
        }
        let tip = sandbox.git(&["rev-parse", "HEAD"]);
        script_due_dates(&sandbox);
        if name == "feedback" {
            let section = todo::task_section("TASK-007", "Due dates", "FEAT-003", "lib/due.sh");
            let draft = Reply::call("save_plan_doc", json!({"content": section.trim_start()}));
            sandbox.script("plan", draft);
            let work = Reply::call(
                "write_file",
                json!({"path": "lib/due.sh", "content": "# new\n"}),
            )
            .and("update_task_status", json!({"task_id": "TASK-007", "new_status": "completed"}));
            sandbox.server.on(at("coding", "actor").task("TASK-007").turn(1), work);
        }
        let outcome = sandbox.cowork(&[&MODIFY[..], &["--review", "auto"]].concat());
        assert_eq!(outcome.code, 0, "{name}: {}", outcome.stderr);
        let old = artifact_at(&sandbox, &tip, "prd.md");
        let new = sandbox.artifact("prd.md");
        assert!(new.starts_with(old.trim_end()), "{name}: the prose stays: {new}");
        for id in ["REQ-001", "REQ-002", "REQ-003", "REQ-004", "FEAT-001", "FEAT-002", "FEAT-003"] {
            assert_eq!(new.matches(&format!("### {id} ")).count(), 1, "{name}: {id} in {new}");
        }
        assert_eq!(
            ids(&sandbox, "requirements.json"),
            ["REQ-001", "REQ-002", "REQ-003", "REQ-004"]
        );
        assert_eq!(sandbox.artifact("design.md"), artifact_at(&sandbox, &tip, "design.md"));
        assert_verified(&sandbox, name);
        sandbox.assert_sound();
        sandbox.cowork(&["merge"]).exits(0);
        sandbox.cowork(&["merge", "todo--due"]).exits(0);
    }
}

#[test]
fn a_gate_shows_what_became_sections() {
    let sandbox = older("after-delivery");
    script_due_dates(&sandbox);
    sandbox
        .cowork(&[&MODIFY[..], &["--review", "auto", "--stop-after", "triage"]].concat())
        .exits(0);
    let outcome = sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    assert_eq!(status(&sandbox)["stage"], "prd", "{}", outcome.stderr);
    let diff = sandbox.git(&["diff", "cowork/todo", "HEAD", "--", &format!("{DIR}/prd.md")]);
    for id in ["REQ-001", "REQ-003", "FEAT-002", "REQ-004"] {
        assert!(diff.contains(&format!("\n+### {id} ")), "{id}: {diff}");
    }
    // The JSON says what is new and nothing else.
    let path = format!("{DIR}/requirements.json");
    let diff = sandbox.git(&["diff", "-U0", "cowork/todo", "HEAD", "--", &path]);
    assert!(!diff.lines().any(|l| l.starts_with('-') && l.contains("\"id\"")), "{diff}");
}

/// A session whose headings begin with ids and say other things than its records.
fn of_headings() -> Sandbox {
    let sandbox = older("headings");
    sandbox.cowork(&RESUME).exits(0);
    sandbox
}

#[test]
fn headings_that_look_like_records_lose_their_ids_when_a_draft_changes_the_document() {
    let sandbox = of_headings();
    assert_eq!(sandbox.artifact("prd.md"), super::answers::PRD_OF_HEADINGS);
    let before = without_status(&sandbox.artifact("requirements.json"));
    script_due_dates(&sandbox);
    let outcome = sandbox.cowork(&[&MODIFY[..], &["--review", "auto"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let new = sandbox.artifact("prd.md");
    for line in ["### Add a todo\n", "### List todos\n", "### Tick a todo off\n", "### Adding\n"] {
        assert_eq!(new.matches(line).count(), 1, "{line}: {new}");
    }
    assert!(new.contains("- it is there after a restart\n"), "{new}");
    let after = without_status(&sandbox.artifact("requirements.json"));
    let (old, new) =
        (before["requirements"].as_array().unwrap(), after["requirements"].as_array().unwrap());
    assert_eq!(&new[..3], &old[..]);
    assert_eq!(new.len(), 4);
    assert_verified(&sandbox, "headings");
    sandbox.assert_sound();
}

#[test]
fn a_persons_edit_of_an_older_document_is_prose() {
    for name in ["after-prd", "gate-prd", "headings", "after-delivery", "killed-plan"] {
        let sandbox = older(name);
        let json = sandbox.artifact("requirements.json");
        let mine = sandbox.artifact("prd.md") + "\n### REQ-001 Mine\n\n`urgent`\n\n### REQ-002\n";
        sandbox.write(&format!("{DIR}/prd.md"), &mine);
        if name != "gate-prd" {
            sandbox.git(&["add", &format!("{DIR}/prd.md")]);
            sandbox.git(&["commit", "-q", "-m", "by hand"]);
        }
        let outcome = sandbox.cowork(&RESUME);
        assert_eq!(outcome.code, 0, "{name}: {}", outcome.stderr);
        assert!(!outcome.stderr.contains("prd.md:"), "{name}: {}", outcome.stderr);
        assert_eq!(sandbox.artifact("prd.md"), mine, "{name}: {}", outcome.stderr);
        let now = sandbox.artifact("requirements.json");
        assert_eq!(without_status(&now), without_status(&json), "{name}");
        // What was approved before is said to be another now, and nothing else.
        let found = sandbox.cowork(&["verify", "--json"]).json_lines();
        let expected: &[&str] = if name == "gate-prd" { &[] } else { &["changed-after-approval"] };
        let kinds: Vec<&str> = found.iter().filter_map(|one| one["code"].as_str()).collect();
        assert_eq!(kinds, expected, "{name}: {found:?}");
        sandbox.assert_sound();
    }
}

#[test]
fn a_persons_edit_of_the_json_of_an_older_document_counts() {
    let sandbox = older("after-prd");
    let path = format!("{DIR}/requirements.json");
    let mine = sandbox.read(&path).replace("\"high\"", "\"low\"");
    sandbox.write(&path, &mine);
    sandbox.git(&["commit", "-q", "-a", "-m", "less urgent"]);
    let prd = sandbox.artifact("prd.md");
    sandbox.cowork(&RESUME).exits(0);
    assert_eq!((sandbox.read(&path), sandbox.artifact("prd.md")), (mine, prd));
    script_due_dates(&sandbox);
    sandbox.cowork(&[&MODIFY[..], &["--review", "auto"]].concat()).exits(0);
    assert_eq!(sandbox.artifact("prd.md").matches("`low` `functional`").count(), 3);
}

#[test]
fn feedback_of_reviewers_turns_the_plan_into_sections() {
    let sandbox = older("passed");
    let plan = sandbox.artifact("plan.md");
    let edit = json!({"path": "lib/list.sh", "old_text": "List todos", "new_text": "List all"});
    let draft = Reply::call("edit_file", edit);
    sandbox.server.on(at("coding", "actor").task("TASK-006").turn(1), draft);
    let words = ["feedback", "lib/list.sh lists some", "--review", "auto"];
    let outcome = sandbox.cowork(&words);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let now = sandbox.artifact("plan.md");
    assert!(now.starts_with(plan.trim_end()), "{now}");
    assert_eq!(now.matches("### TASK-00").count(), 6, "{now}");
    assert_verified(&sandbox, "feedback");
    sandbox.cowork(&["merge"]).exits(0);
}

#[test]
fn going_back_before_sections_makes_the_json_the_source_again() {
    let sandbox = older("after-prd");
    let prd = sandbox.artifact("prd.md");
    sandbox.cowork(&RESUME).exits(0);
    sandbox.cowork(&["revert", "--to", "design", "--no-run"]).exits(0);
    assert_eq!(done(&sandbox), ["idea", "prd"]);
    assert_eq!(sandbox.artifact("prd.md"), prd);
    sandbox.server.forget();
    let outcome = sandbox.cowork(&RESUME);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(sandbox.server.requests_of("prd", "actor").is_empty());
    assert_verified(&sandbox, "revert");
    // A stage that runs again is told what to change, and changes it in sections.
    sandbox.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
    sandbox.script("prd", todo::prd_draft());
    let outcome = sandbox.cowork(&RESUME);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(sandbox.artifact("prd.md"), todo::PRD);
    assert_verified(&sandbox, "reverted to prd");
    sandbox.assert_sound();
}

#[test]
fn a_new_session_begins_with_the_stage_of_an_older_one() {
    for (from, stages) in [("todo@idea", 1), ("todo@prd", 2), ("todo@plan", 4)] {
        let sandbox = older("passed");
        let args = ["new", "-n", "alt", "--review", "auto", "--from", from];
        let outcome = sandbox.cowork(&args);
        assert_eq!(outcome.code, 0, "{from}: {}", outcome.stderr);
        let asked = sandbox.server.requests();
        let skipped = &todo::STAGES[..stages];
        assert!(asked.iter().all(|r| !skipped.contains(&r.stage.as_str())), "{from}");
        if stages > 1 {
            let [theirs, ours] = ["todo", "alt"].map(|name| {
                let path = format!(".cowork/sessions/{name}/prd.md");
                sandbox.blob(&format!("cowork/{name}"), &path)
            });
            assert_eq!(theirs, ours, "{from}");
        }
        assert_eq!(raised(&sandbox).len(), 0, "{from}: it is of this format");
        assert_verified(&sandbox, from);
        sandbox.assert_sound();
    }
}
