//! What models write into calls: more than was asked for, reasons, directories, wishes for another
//! plan.

use serde_json::{Value, json};

use crate::support::kill::kill_at_request;
use crate::support::todo::{STAGES, approve, lingers, task, task_work};
use crate::support::{Reply, Sandbox, at};

#[test]
fn arguments_nobody_knows_are_ignored_by_every_tool_and_that_is_said() {
    let sandbox = Sandbox::new();
    sandbox.server.manner(|received, mut reply| {
        for call in &mut reply.calls {
            let mut arguments: Value = serde_json::from_str(&call.arguments).unwrap();
            arguments["colour"] = json!("red");
            call.arguments = arguments.to_string();
        }
        lingers(received, reply)
    });
    sandbox.auto(&[]).exits(0);
    assert_eq!(sandbox.stages("main..")[1..], STAGES);
    for stage in STAGES {
        let told = sandbox.server.requests_of(stage, "actor")[1].text();
        assert!(told.contains("(ignored, because unknown: colour (known: "), "{stage}: {told}");
    }
    sandbox.assert_sound();
}

#[test]
fn optional_arguments_have_an_effect() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.commit_file("docs/deep/a.md", "a\n", "documents");
    sandbox.user_config("[project]\nlint = \"eslint .\"\n");
    // Stands in for the linter.
    sandbox.commit_file("bin/eslint", "#!/bin/sh\necho \"linted $*\"\n", "a linter");
    let calls = Reply::call("list_files", json!({"path": "docs", "recursive": false}))
        .and("list_files", json!({"recursive": true, "max_depth": 2, "pattern": "*.md"}))
        .and("check_tests", json!({"command": "echo all is well"}))
        .and("check_lint", json!({"fix": true, "command": "eslint docs; true", "path": "docs"}));
    sandbox.server.sequence(
        at("coding", "actor").task("TASK-001"),
        vec![calls, task_work("TASK-001"), Reply::text("Done.")],
    );
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]);
    let requests = sandbox.server.requests_of("coding", "actor");
    let results = requests[1].tool_results();
    assert_eq!(results[0], "docs/deep/");
    // The other one is a level further down.
    assert_eq!(results[1], "README.md");
    assert!(results[2].starts_with("passed: `echo all is well`, exit 0"), "{}", results[2]);
    assert!(results[3].contains("(the path was ignored: "), "{}", results[3]);
    assert!(results[3].contains("(nothing was fixed: "), "{}", results[3]);
    assert!(
        results[3].contains("(the project's own lint command is `eslint .`)"),
        "{}",
        results[3]
    );
}

#[cfg(unix)]
#[test]
fn a_directory_is_refused_as_a_directory_whoever_it_belongs_to() {
    let sandbox = Sandbox::stopped_after("plan");
    // Nobody added it to git.
    sandbox.write("notes/mine.txt", "mine\n");
    let edit = json!({"path": "notes", "old_text": "a", "new_text": "b"});
    let calls = Reply::call("delete_file", json!({"path": "notes"}))
        .and("edit_file", edit)
        .and("write_file", json!({"path": "notes/", "content": "x"}))
        .and("read_file", json!({"path": "."}));
    sandbox.server.sequence(
        at("coding", "actor").task("TASK-001"),
        vec![calls, task_work("TASK-001"), Reply::text("Done.")],
    );
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
    let results = sandbox.server.requests_of("coding", "actor")[1].tool_results();
    for (result, instead) in
        results.iter().zip(["one by one", "a file in it", "a file in it", "list_files"])
    {
        assert!(result.contains("is a directory, not a file; "), "{result}");
        assert!(result.contains(instead), "{result}");
    }
    assert_eq!(results.len(), 4);
    assert_eq!(sandbox.read("notes/mine.txt"), "mine\n");
}

#[test]
fn reasons_for_updates_and_deletions_are_kept_in_history_over_a_kill() {
    let sandbox = Sandbox::new();
    sandbox.server.manner(lingers);
    let title = json!({"id": "REQ-003", "title": "Tick todos off", "reason": "there are several"});
    sandbox.server.on(at("prd", "actor").turn(2), Reply::call("update_requirement", title));
    sandbox.server.on(at("prd", "actor").turn(3), Reply::text("Done."));
    let update =
        json!({"task_id": "TASK-002", "reason": "it was vague", "description": "Adds one line."});
    let mut sixth = task(0);
    sixth["title"] = json!("Colour the list");
    let delete = json!({"task_id": "TASK-006", "reason": "nobody asked for colours"});
    let changes = Reply::call("update_task", update).and("create_task", sixth);
    sandbox.server.on(at("plan", "actor").turn(2), changes.and("delete_task", delete));
    sandbox.server.on(at("plan", "actor").turn(3), Reply::text("Done."));
    sandbox.auto(&["--stop-after", "design"]).exits(0);
    let resume = ["resume", "--review", "auto"];
    kill_at_request(&sandbox, &resume, 3).was_killed();
    sandbox.cowork(&resume).exits(0);
    let commit = sandbox.stage_commit("plan");
    let path = ".cowork/sessions/todo/feedback_history.json";
    let history = sandbox.git(&["show", &format!("{commit}:{path}")]);
    let entries: Vec<Value> = serde_json::from_str(&history).unwrap();
    let said: Vec<_> = entries
        .iter()
        .map(|entry| {
            [&entry["stage"], &entry["from"], &entry["details"]].map(|v| v.as_str().unwrap())
        })
        .collect();
    assert_eq!(
        said,
        [
            ["prd", "actor", "REQ-003 updated (title): there are several"],
            ["plan", "actor", "TASK-002 updated (description): it was vague"],
            ["plan", "actor", "TASK-006 deleted: nobody asked for colours"],
        ],
        "{history}"
    );
    let log = sandbox.cowork(&["log"]).exits(0).stdout;
    assert!(log.contains("TASK-006 deleted: nobody asked for colours"), "{log}");
    // They refuse nothing: no draft more, and nothing to be read as criticism.
    assert_eq!(sandbox.trailers(&commit)["Cowork-Iterations"], ["1"]);
    let critic = sandbox.server.requests_of("plan", "critic");
    assert!(!critic[0].text().contains("nobody asked for colours"), "{}", critic[0].text());
    let report = sandbox.artifact("delivery_report.md");
    assert!(!report.contains("nobody asked for colours"), "{report}");
    sandbox.assert_sound();
}

#[test]
fn a_critic_that_asks_for_another_plan_of_this_stage_has_given_its_verdict() {
    let sandbox = Sandbox::stopped_after("prd");
    let replan = json!({
        "target_stage": "design", "issue_type": "design_flaw", "severity": "major",
        "details": "two stores for one list", "affected_features": ["FEAT-001"],
        "suggested_approach": "keep one",
    });
    sandbox
        .server
        .on(at("design", "critic").iteration(1), Reply::call("request_replanning", replan));
    sandbox.server.on(at("design", "critic").iteration(2), approve());
    let resume = ["resume", "--review", "auto", "--stop-after", "design"];
    sandbox.cowork(&resume).exits(0);
    let first = sandbox.server.requests_of("design", "critic");
    assert_eq!(first.iter().filter(|request| request.iteration == 1).count(), 1, "it was nudged");
    let actor = sandbox.server.requests_of("design", "actor");
    let told = actor.iter().find(|request| request.iteration == 2).unwrap().text();
    let said =
        "design_flaw (major): two stores for one list; affected: FEAT-001; suggested: keep one";
    assert!(told.contains(said), "{told}");
    assert!(!sandbox.artifact("feedback_history.json").contains("no verdict"));
    sandbox.assert_sound();
}

/// As gpt-oss (a channel behind the name), Kimi (a number) and small models behind vLLM and Ollama
/// write calls.
#[test]
fn calls_of_open_models_are_read() {
    let sandbox = Sandbox::new();
    let calls = Reply::empty()
        .and_raw("write_file<|channel|>commentary", r#"{"path": "a.txt", "content": "1\n"}"#)
        .and_raw("functions.write_file:1", r#"{}{"path": "b.txt", "content": "2\n"}"#)
        .and_raw("write_file_2", "{\"path\": \"c.txt\", \"content\": \"3,]\\n\",\n}")
        .and_raw("read_file<|message|>", r#"{"path": "README.md", "limit": "2.0",}"#)
        .and_raw("edit_file", r#"{"path": "a.txt", "edits": [{"old_text": 1, "new_text": 4,},],}"#)
        .and_raw("edit_file", r#"{"path": "a.txt", "edits": 7}"#)
        .and_raw("read_file", r#"{"path": "a.txt", "limit": "some"}"#)
        .and_raw("write_file", r#"{"path": "d.txt"}{"path": "e.txt", "content": "x"}"#);
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, vec![calls, task_work("TASK-001"), Reply::text("Done.")]);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    for (path, text) in [("a.txt", "4\n"), ("b.txt", "2\n"), ("c.txt", "3,]\n")] {
        assert_eq!(sandbox.read(path), text, "{path}");
    }
    let requests = sandbox.server.requests_of("coding", "actor");
    let second = requests.iter().find(|r| r.task.as_deref() == Some("TASK-001") && r.turn == 2);
    let second = second.unwrap();
    let told = second.tool_results();
    assert!(told[3].starts_with("README.md, lines 1-1 of 1"), "{}", told[3]);
    assert!(told[5].contains("edits must be a list of objects, not a number"), "{}", told[5]);
    assert!(told[6].contains("limit must be a whole number"), "{}", told[6]);
    assert!(told[7].contains("not valid JSON"), "two calls in one are none: {}", told[7]);
    // What is sent back is what the server takes.
    let sent = second.messages().iter().find(|m| m["tool_calls"].is_array()).unwrap();
    for call in &sent["tool_calls"].as_array().unwrap()[..5] {
        let name = call["function"]["name"].as_str().unwrap();
        assert!(["write_file", "read_file", "edit_file"].contains(&name), "{name}");
        let arguments = call["function"]["arguments"].as_str().unwrap();
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        assert!(arguments["path"].is_string(), "{arguments}");
    }
}
