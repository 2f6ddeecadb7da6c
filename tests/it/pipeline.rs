//! A whole session with `--review auto`: what history, tags, trailers and artifacts say.

use serde_json::Value;

use crate::support::todo::{STAGES, TASKS, code_of};
use crate::support::{Reply, Sandbox, at};

fn whole_run() -> Sandbox {
    Sandbox::delivered()
}

fn json(sandbox: &Sandbox, name: &str) -> Value {
    serde_json::from_str(&sandbox.artifact(name)).unwrap()
}

#[test]
fn the_history_tells_the_story() {
    let sandbox = whole_run();
    let told = [&["start"], &STAGES[..]].concat();
    assert_eq!(sandbox.stages("main..cowork/todo"), told);
    let subjects = sandbox.subjects("main..cowork/todo");
    assert!(subjects.contains(&"prd: 3 requirements, 2 features".to_owned()), "{subjects:#?}");
    assert!(subjects.iter().all(|s| s.chars().count() <= 72), "{subjects:#?}");
    // One commit per task, once, in the order of the dependencies; then the stage's own.
    let coding: Vec<_> = subjects.iter().filter(|s| s.starts_with("coding: ")).collect();
    assert_eq!(coding.len(), TASKS.len() + 1, "{subjects:#?}");
    for (subject, task) in coding.iter().zip(TASKS) {
        assert!(subject.starts_with(&format!("coding: {} ", task.0)), "{subject}");
    }
    assert!(coding[5].starts_with("coding: 5 of 5 tasks"), "{}", coding[5]);
    assert_eq!(sandbox.git(&["rev-list", "--count", "--merges", "main..cowork/todo"]), "0");
    sandbox.assert_sound();
}

#[test]
fn every_stage_has_a_lightweight_tag_on_its_commit() {
    let sandbox = whole_run();
    let mut expected: Vec<_> = STAGES.iter().map(|s| format!("cowork/todo/{s}")).collect();
    expected.sort();
    assert_eq!(sandbox.tags(), expected);
    for stage in STAGES {
        let tag = format!("refs/tags/cowork/todo/{stage}");
        assert_eq!(sandbox.git(&["cat-file", "-t", &tag]), "commit");
        assert_eq!(sandbox.trailers(&tag)["Cowork-Stage"], [stage]);
    }
    let tip = sandbox.git(&["rev-parse", "cowork/todo"]);
    assert_eq!(sandbox.stage_commit("delivery"), tip);
}

#[test]
fn without_tags_nothing_is_lost() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "cowork.project.tags", "false"]);
    sandbox.auto(&[]).exits(0);
    assert!(sandbox.tags().is_empty());
    assert_eq!(sandbox.cowork(&["status", "--json"]).exits(0).json()["state"], "completed");
}

#[test]
fn stage_commits_carry_their_trailers() {
    let sandbox = whole_run();
    let id = json(&sandbox, "session.json")["id"].as_str().unwrap().to_owned();
    for stage in STAGES {
        let trailers = sandbox.trailers(&sandbox.stage_commit(stage));
        let one = |key: &str| {
            let values =
                trailers.get(key).unwrap_or_else(|| panic!("{stage}: no {key}: {trailers:?}"));
            assert_eq!(values.len(), 1, "{stage}: {key}");
            values[0].as_str()
        };
        assert_eq!(one("Cowork-Session"), "todo");
        assert_eq!(one("Cowork-Session-Id"), id);
        assert_eq!(one("Cowork-Stage"), stage);
        assert_eq!(one("Cowork-Iterations"), "1");
        assert_eq!(one("Cowork-Review"), "auto");
        assert!(one("Cowork-Model").starts_with("scripted"));
        assert!(one("Cowork-Tokens").starts_with("in="));
        assert!(one("Assisted-by").contains("scripted"));
        for absent in ["Cowork-Event", "Cowork-Task", "Reviewed-by", "Signed-off-by"] {
            assert!(!trailers.contains_key(absent), "{stage}: {absent}");
        }
        let checked = ["coding", "check"].contains(&stage);
        assert_eq!(trailers.contains_key("Cowork-Checks"), checked, "{stage}");
        if checked {
            assert_eq!(one("Cowork-Checks"), "none");
        }
    }
    let idea = sandbox.trailers(&sandbox.stage_commit("idea"));
    // The first request of the session is one of two.
    assert_eq!(idea["Cowork-Tokens"], ["in=200 out=40 cached=0"]);
}

#[test]
fn task_commits_carry_their_trailers_and_only_their_files() {
    let sandbox = whole_run();
    for (id, _, file, feature, _, _) in TASKS {
        let commit = sandbox.commit_of("cowork/todo", &format!("coding: {id} "));
        let trailers = sandbox.trailers(&commit);
        assert_eq!(trailers["Cowork-Task"], [id]);
        assert_eq!(trailers["Cowork-Feature"], [feature]);
        assert_eq!(trailers["Cowork-Checks"], ["none"]);
        assert_eq!(trailers["Cowork-Tokens"], ["in=100 out=20 cached=0"]);
        assert!(!trailers.contains_key("Cowork-Stage"), "{id}: {trailers:?}");
        let files = sandbox.git(&["diff", "--name-only", &format!("{commit}^"), &commit]);
        let code: Vec<_> = files.lines().filter(|f| !f.starts_with(".cowork/")).collect();
        assert_eq!(code, [file], "{id}");
        assert_eq!(sandbox.blob(&commit, file), code_of(id));
    }
}

#[test]
fn gated_stages_name_the_bytes_that_were_passed() {
    let sandbox = whole_run();
    let gated = [
        ("idea", &["idea.md"][..]),
        ("prd", &["prd.md", "requirements.json"]),
        ("design", &["design.md", "design_spec.json"]),
        ("plan", &["plan.md"]),
    ];
    for (stage, files) in gated {
        let commit = sandbox.stage_commit(stage);
        let approved = sandbox.trailers(&commit)["Cowork-Approved"].join(" ");
        for file in files {
            let path = format!("{commit}:.cowork/sessions/todo/{file}");
            let blob = sandbox.git(&["rev-parse", "--short=12", &path]);
            assert!(approved.contains(&format!("{file}@{blob}")), "{stage}: {approved}");
        }
    }
    let coding = sandbox.trailers(&sandbox.stage_commit("coding"));
    assert!(coding["Cowork-Approved"][0].starts_with("tree@"), "{coding:?}");
    for stage in ["check", "delivery"] {
        let trailers = sandbox.trailers(&sandbox.stage_commit(stage));
        assert!(!trailers.contains_key("Cowork-Approved"), "{stage}");
    }
}

#[test]
fn every_artifact_is_there_and_agrees() {
    let sandbox = whole_run();
    for name in [
        "session.json",
        "idea.md",
        "prd.md",
        "requirements.json",
        "feature_list.json",
        "design.md",
        "design_spec.json",
        "plan.md",
        "implementation_plan.json",
        "check_report.md",
        "delivery_report.md",
    ] {
        assert!(sandbox.artifact(name).ends_with('\n'), "{name}");
    }
    let requirements = &json(&sandbox, "requirements.json")["requirements"];
    let ids: Vec<_> = requirements
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, ["REQ-001", "REQ-002", "REQ-003"]);
    let features = json(&sandbox, "feature_list.json");
    assert_eq!(features["features"][1]["requirement_ids"][1], "REQ-003");
    for feature in features["features"].as_array().unwrap() {
        assert_eq!(feature["status"], "delivered");
    }
    let plan = json(&sandbox, "implementation_plan.json");
    assert_eq!(plan["tasks"].as_array().unwrap().len(), 5);
    for task in plan["tasks"].as_array().unwrap() {
        assert_eq!(task["status"], "completed");
    }
    assert_eq!(json(&sandbox, "design_spec.json")["components"][1]["id"], "COMP-002");
    let attributes = sandbox.read(".cowork/.gitattributes");
    assert!(attributes.contains("linguist-generated"), "{attributes}");
    let report = sandbox.artifact("delivery_report.md");
    assert_eq!(report.lines().next(), Some("Add a todo list for the terminal"));
}

#[test]
fn feature_status_follows_the_tasks() {
    let sandbox = whole_run();
    let status = |stage: &str, feature: usize| {
        let path = ".cowork/sessions/todo/feature_list.json";
        let text = sandbox.blob(&sandbox.stage_commit(stage), path);
        let list: Value = serde_json::from_str(&text).unwrap();
        list["features"][feature]["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status("prd", 0), "planned");
    assert_eq!(status("coding", 0), "implemented");
    assert_eq!(status("check", 1), "verified");
    assert_eq!(status("delivery", 1), "delivered");
}

#[test]
fn every_request_says_where_it_stands() {
    let sandbox = whole_run();
    let requests = sandbox.server.requests();
    for request in &requests {
        assert_eq!(request.session, "todo");
        assert!(STAGES.contains(&request.stage.as_str()), "{}", request.position());
        assert!(request.iteration >= 1, "{}", request.position());
        assert_eq!(request.headers["authorization"], "Bearer test-key");
        assert_eq!(request.messages()[0]["role"], "system", "{}", request.position());
        assert!(request.body["temperature"].is_number(), "{}", request.position());
        assert_eq!(request.body["model"], "scripted");
    }
    assert_eq!(sandbox.server.requests_of("plan", "self-review").len(), 1);
    for stage in ["prd", "design", "plan", "coding"] {
        assert_eq!(sandbox.server.requests_of(stage, "critic").len(), 1, "{stage}");
    }
    for stage in ["idea", "check", "delivery"] {
        assert!(sandbox.server.requests_of(stage, "critic").is_empty(), "{stage}");
    }
}

#[test]
fn a_critic_and_the_check_cannot_write() {
    let sandbox = whole_run();
    let writers = ["write_file", "edit_file", "delete_file", "save_prd_doc", "create_requirement"];
    let readers = sandbox.server.requests().into_iter();
    for request in readers.filter(|r| r.role == "critic" || r.stage == "check") {
        let tools = request.tools();
        assert!(!tools.is_empty(), "{}", request.position());
        assert!(writers.iter().all(|w| !tools.iter().any(|t| t == w)), "{}", request.position());
    }
    let critic = &sandbox.server.requests_of("prd", "critic")[0].tools();
    assert!(critic.contains(&"exit_loop".to_owned()) && critic.contains(&"read_file".to_owned()));
}

#[test]
fn a_tool_a_role_may_not_have_is_refused_when_called() {
    let sandbox = Sandbox::new();
    let write = serde_json::json!({"path": "sneaky.txt", "content": "x"});
    sandbox.server.sequence(
        at("prd", "critic"),
        vec![Reply::call("write_file", write), crate::support::todo::approve()],
    );
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    assert!(!sandbox.exists("sneaky.txt"));
    let told = sandbox.server.requests_of("prd", "critic")[1].tool_results().join("\n");
    assert!(told.contains("write_file"), "{told}");
}

#[test]
fn stop_after_stops_there_and_resume_continues() {
    let sandbox = Sandbox::stopped_after("prd");
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea", "prd"]);
    sandbox.assert_sound();
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "design"]).exits(0);
    assert!(sandbox.server.requests().iter().all(|r| r.stage == "design"));
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.cowork(&["resume", "todo", "--review", "auto"]).exits(0);
    assert_eq!(sandbox.stages("main..cowork/todo").last().unwrap(), "delivery");
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "cowork/todo");
    sandbox.assert_sound();
    // A completed session has nothing left to do.
    sandbox.server.forget();
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    assert!(sandbox.server.requests().is_empty());
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
}

#[test]
fn a_clone_can_go_on_without_tags() {
    let sandbox = Sandbox::stopped_after("plan");
    let mut clone = sandbox.fork();
    clone.git(&["clone", "-q", "--no-tags", ".", "../clone"]);
    clone.enter("../clone");
    clone.git(&["switch", "-q", "cowork/todo"]);
    assert!(clone.tags().is_empty());
    clone.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
    assert!(clone.server.requests().iter().all(|r| r.stage == "coding"));
    assert!(clone.tags().contains(&"cowork/todo/idea".to_owned()), "labels are rebuilt");
    clone.assert_sound();
}

#[test]
fn delivery_is_refused_without_the_files_the_plan_promised() {
    let sandbox = Sandbox::new();
    sandbox.server.on(at("coding", "actor"), Reply::text("It is all there, believe me."));
    // Every task is reported done, but nothing is written.
    sandbox.server.on_with(at("coding", "actor").turn(1), |received| {
        let task = received.task.as_deref()?;
        let done = serde_json::json!({"task_id": task, "new_status": "completed"});
        Some(Reply::call("update_task_status", done))
    });
    let outcome = sandbox.auto(&[]);
    assert!([1, 3].contains(&outcome.code), "{outcome:?}");
    assert!(outcome.stderr.contains("lib/store.sh"), "{}", outcome.stderr);
    assert!(sandbox.refs("refs/tags/cowork/todo/delivery").is_empty());
    sandbox.server.unexpected();
}

#[test]
fn the_projects_own_tests_are_run_and_written_down() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "cowork.project.test", "test -f README.md"]);
    sandbox.auto(&[]).exits(0);
    for stage in ["coding", "check"] {
        let trailers = sandbox.trailers(&sandbox.stage_commit(stage));
        assert_eq!(
            trailers["Cowork-Checks"],
            ["passed, tests not counted (test -f README.md)"],
            "{stage}"
        );
    }
}

#[test]
fn failing_tests_are_written_down_and_fail_the_session() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "cowork.project.test", "sh -c 'exit 3'"]);
    sandbox.server.on(at("coding", "actor").iteration(2), Reply::text("I cannot fix it."));
    sandbox.server.on(at("coding", "actor").iteration(3), Reply::text("I cannot fix it."));
    sandbox.server.on(at("coding", "actor").iteration(4), Reply::text("I cannot fix it."));
    sandbox.server.on(at("coding", "actor").iteration(5), Reply::text("I cannot fix it."));
    let outcome = sandbox.auto(&[]);
    assert!([1, 3].contains(&outcome.code), "{outcome:?}");
    assert!(outcome.stderr.contains("exit 3"), "{}", outcome.stderr);
    assert!(sandbox.refs("refs/tags/cowork/todo/delivery").is_empty());
    sandbox.server.unexpected();
}

#[test]
fn the_same_works_as_a_git_command() {
    let sandbox = Sandbox::new();
    let args = ["new", "-n", "todo", "a list", "--review", "auto", "--stop-after", "idea"];
    sandbox.git_cowork(&args).exits(0);
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea"]);
    sandbox.git_cowork(&["review", "--pass"]).exits(5);
}

#[test]
fn a_git_that_cannot_be_asked_is_no_missing_file() {
    // Where objects are replaced, nothing but git itself reads them.
    let sandbox = Sandbox::new();
    sandbox.write("../replaced", "one");
    let replaced = sandbox.git(&["hash-object", "-w", "../replaced"]);
    sandbox.git(&["replace", &replaced, "HEAD:README.md"]);
    let path = std::env::var_os("PATH").unwrap();
    let git = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|git| git.is_file());
    let git = git.unwrap().display().to_string();
    let once = sandbox.root().join("once").display().to_string();
    let over = sandbox.root().join("over");
    // All looks at objects after coding was recorded.
    let tag = ".git/refs/tags/cowork/todo/coding";
    sandbox.executable(
        &sandbox.root().join("bin/git"),
        &format!(
            "case \" $* \" in *' cat-file --batch '*)\n\
             if [ -e {tag} ] && [ ! -e '{}' ]; then mkdir -p '{once}'; exit 130; fi;;\nesac\n\
             exec '{git}' \"$@\"",
            over.display()
        ),
    );
    let outcome = sandbox.auto(&[]);
    assert_ne!(outcome.code, 0, "{}", outcome.stderr);
    assert!(std::path::Path::new(&once).is_dir(), "nothing failed");
    assert!(!outcome.stderr.contains("promised by"), "{}", outcome.stderr);
    std::fs::write(&over, "").unwrap();
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    sandbox.assert_sound();
    let subjects = sandbox.subjects("main..cowork/todo");
    let coded = subjects.iter().filter(|s| s.starts_with("coding: 5 of 5 tasks"));
    assert_eq!(coded.count(), 1, "{subjects:?}");
}
