//! `git cowork new --from S@STAGE`: a session that begins with what another one has completed.

use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::support::{Reply, Sandbox, at, todo};

const ALT: [&str; 6] = ["new", "-n", "alt", "--review", "auto", "--from"];

/// A session whose plan is complete, with a person's pass on its requirements.
fn planned() -> Sandbox {
    static PLANNED: OnceLock<Sandbox> = OnceLock::new();
    let original = PLANNED.get_or_init(|| {
        let sandbox = Sandbox::stopped_after("idea");
        sandbox.server.times(1, at("prd", "critic"), todo::reject("REQ-002 is vague"));
        sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
        sandbox.cowork(&["review", "--pass"]).exits(0);
        sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
        sandbox.cowork(&["review", "--pass"]).exits(0);
        sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "plan"]).exits(0);
        sandbox
    });
    original.fork()
}

fn alt<'a>(from: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&ALT[..], &[from], more].concat()
}

fn start(sandbox: &Sandbox) -> String {
    sandbox.commit_of("cowork/alt", "start: ")
}

fn status(sandbox: &Sandbox) -> Value {
    sandbox.cowork(&["status", "--json", "alt"]).exits(0).json()
}

#[test]
fn the_start_commit_copies_the_stage_and_completes_it() {
    let sandbox = planned();
    // Its base has gone on: the session starts where the other one did.
    let base = sandbox.git(&["rev-parse", "main"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.commit_file("news.txt", "news\n", "news");
    sandbox.server.forget();
    sandbox.cowork(&alt("todo@prd", &["--stop-after", "prd"])).exits(0);
    assert!(sandbox.server.requests().is_empty(), "nothing is left to do");

    let start = start(&sandbox);
    assert_eq!(sandbox.git(&["rev-parse", "cowork/alt"]), start);
    assert_eq!(sandbox.git(&["rev-parse", &format!("{start}^")]), base);
    let files = sandbox.git(&["diff", "--name-only", &base, &start]);
    let names = ["feature_list", "feedback_history", "requirements", "session"];
    for name in names {
        assert!(files.contains(&format!(".cowork/sessions/alt/{name}.json")), "{files}");
    }
    assert!(!files.contains("sessions/todo/") && !files.contains("design"), "{files}");
    for name in ["idea.md", "prd.md", "requirements.json", "feature_list.json"] {
        let [theirs, ours] = ["todo", "alt"].map(|session| {
            let commit = if session == "alt" { start.clone() } else { sandbox.stage_commit("prd") };
            sandbox.blob(&commit, &format!(".cowork/sessions/{session}/{name}"))
        });
        assert_eq!(theirs, ours, "{name}");
    }

    let (theirs, ours) = (sandbox.stage_commit("prd"), sandbox.trailers(&start));
    let theirs = sandbox.trailers(&theirs);
    assert_eq!(ours["Cowork-Event"], ["start"]);
    assert_eq!(ours["Cowork-Stage"], ["prd"]);
    assert_eq!(theirs["Reviewed-by"], ["Ana Example <ana@example.org>"]);
    for key in ["Cowork-Approved", "Reviewed-by", "Cowork-Review", "Assisted-by"] {
        assert_eq!(ours[key], theirs[key], "{key}");
    }
    assert!(!ours.contains_key("Cowork-Tokens"), "it took nothing here: {ours:?}");
    assert_ne!(ours["Cowork-Session-Id"], theirs["Cowork-Session-Id"]);
    let file: Value =
        serde_json::from_str(&sandbox.blob(&start, ".cowork/sessions/alt/session.json")).unwrap();
    assert_eq!(file["name"], "alt");
    assert_eq!(file["idea"], "a todo list for the terminal");
    assert_eq!(file["base"], json!({"branch": "main", "commit": base}));
    assert_eq!(file["parent"], Value::Null);

    assert_eq!(status(&sandbox)["done"], json!(["idea", "prd"]));
    assert_eq!(status(&sandbox)["stage"], "design");
    let tag = sandbox.git(&["rev-parse", "refs/tags/cowork/alt/prd"]);
    assert_eq!(tag, start);
    let said = sandbox.cowork(&["status", "alt"]).exits(0).stdout;
    assert!(said.contains("passed by Ana Example  from todo@prd"), "{said}");
    assert!(said.contains("idea      (from todo@prd)"), "{said}");
    let log = sandbox.cowork(&["log", "--json", "alt"]).exits(0).json_lines();
    let events: Vec<_> = log.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["session_started"], "what was said to todo is not told again");
    assert_eq!((&log[0]["to"], &log[0]["reason"]), (&json!("design"), &json!("from todo@prd")));
    sandbox.cowork(&["log", "alt"]).exits(0);
    assert_eq!(sandbox.cowork(&["show", "alt", "prd"]).exits(0).stdout, todo::PRD);
    sandbox.cowork(&["verify", "alt"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn a_session_from_a_plan_is_coded_delivered_and_merged() {
    let sandbox = planned();
    let todo = sandbox.git(&["rev-parse", "cowork/todo"]);
    sandbox.server.forget();
    sandbox.cowork(&alt("todo@plan", &["the same, but smaller"])).exits(0);
    for stage in ["idea", "prd", "design", "plan"] {
        assert!(sandbox.server.requests_of(stage, "actor").is_empty(), "{stage} was done again");
    }
    let text = sandbox.server.requests_of("coding", "actor")[0].text();
    assert!(text.contains("Keep todos in a file"), "{text}");
    assert_eq!(sandbox.stages("main..cowork/alt"), ["start", "coding", "check", "delivery"]);
    assert_eq!(sandbox.trailers(&start(&sandbox))["Cowork-Stage"], ["plan"]);
    let file = sandbox.blob("cowork/alt", ".cowork/sessions/alt/session.json");
    assert!(file.contains("the same, but smaller"), "{file}");
    sandbox.cowork(&["verify", "--all"]).exits(0);
    let pr = sandbox.cowork(&["pr", "alt", "--dry-run"]);
    assert!(pr.code == 0 || pr.stderr.contains("remote"), "{}", pr.stderr);
    sandbox.cowork(&["merge", "alt"]).exits(0);
    assert_eq!(status(&sandbox)["state"], "merged");
    assert_eq!(sandbox.git(&["rev-parse", "cowork/todo"]), todo);
    assert!(!sandbox.exists(".cowork/sessions/todo"), "only its own folder came along");
    sandbox.assert_sound();
}

#[test]
fn only_completed_stages_up_to_the_plan_can_be_started_from() {
    let sandbox = planned();
    let before = sandbox.all_refs();
    for stage in ["coding", "delivery", "triage"] {
        let refused = sandbox.cowork(&alt(&format!("todo@{stage}"), &[])).exits(5);
        refused.says("idea, prd, design, plan").says("git cowork new --from todo@plan");
    }
    sandbox.cowork(&alt("nope@prd", &[])).exits(5).says("no session 'nope'");
    sandbox.cowork(&alt("todo@prdx", &[])).exits(2).says("there is no stage");
    sandbox.cowork(&alt("todo", &[])).exits(2).says("todo@prd");
    sandbox.cowork(&alt("todo--x@prd", &[])).exits(5).says("change request");
    sandbox.cowork(&["revert", "--to", "design", "--no-run"]).exits(0);
    sandbox.cowork(&alt("todo@plan", &[])).exits(5).says("start from idea, prd");
    sandbox.cowork(&["revert", "--to", "idea", "--no-run"]).exits(0);
    sandbox.cowork(&alt("todo@idea", &[])).exits(5).says("completed no stage");
    sandbox.cowork(&["undo"]).exits(0);
    assert!(!sandbox.all_refs().contains("/alt"), "{before}");
    assert!(!sandbox.exists(".cowork/sessions/alt"));
}

#[test]
fn going_back_to_before_the_start_is_refused() {
    let sandbox = planned();
    sandbox.cowork(&alt("todo@prd", &["--stop-after", "design"])).exits(0);
    let before = sandbox.all_refs();
    for stage in ["idea", "prd"] {
        let refused = sandbox.cowork(&["revert", "--to", stage, "--no-run"]).exits(5);
        let refused = refused.says("took its stages up to prd from todo@prd");
        refused.says("git cowork revert alt --to design");
    }
    sandbox
        .cowork(&["resume", "--goto-stage", "prd", "--review", "auto"])
        .exits(5)
        .says("git cowork new --from todo@idea");
    assert_eq!(sandbox.all_refs(), before);
    sandbox.cowork(&["revert", "--to", "design", "--no-run"]).exits(0);
    assert_eq!(sandbox.git(&["rev-parse", "cowork/alt"]), start(&sandbox));

    // A model is told so, and goes on.
    let back = json!({"stage": "prd", "reason": "REQ-001 is wrong"});
    let asks = Reply::call("goto_stage", back);
    sandbox
        .server
        .sequence(at("design", "actor"), vec![asks, todo::design_draft(), Reply::text("Done.")]);
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "design"]).exits(0);
    let told = sandbox.server.requests_of("design", "actor")[1].text();
    assert!(told.contains("no stage comes before design"), "{told}");
    sandbox.cowork(&["undo"]).exits(0);
}

#[test]
fn ids_go_on_where_the_other_session_was() {
    let sandbox = Sandbox::new();
    // The third feature of the first draft is deleted again before the stage is recorded.
    let doc = todo::PRD.to_owned() + &todo::feature_section("FEAT-003", "Sorting", &["REQ-001"]);
    let first = todo::prd_draft()
        .and("add_feature", todo::feature("Sorting", &["REQ-001"]))
        .and("save_prd_doc", json!({"content": doc}));
    let drop = Reply::call("delete_feature", json!({"id": "FEAT-003"}))
        .and("save_prd_doc", json!({"content": todo::PRD}));
    sandbox.server.times(1, at("prd", "actor").iteration(1).turn(1), first);
    sandbox.server.times(1, at("prd", "critic"), todo::reject("sorting was not asked for"));
    sandbox.server.sequence(at("prd", "actor").iteration(2), vec![drop, Reply::text("Done.")]);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    // Waiting drafts are commits: history knows of the third feature.
    for _ in 0..2 {
        sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
        sandbox.cowork(&["review", "--pass"]).exits(0);
    }
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    let features =
        sandbox.blob(&sandbox.stage_commit("prd"), ".cowork/sessions/todo/feature_list.json");
    assert!(!features.contains("FEAT-003"), "{features}");
    sandbox.git(&["switch", "-q", "main"]);

    sandbox.cowork(&alt("todo@prd", &["--stop-after", "prd"])).exits(0);
    assert_eq!(sandbox.trailers(&start(&sandbox))["Cowork-Ids"], ["REQ-003 FEAT-003"]);
    // Also in a clone that has never heard of the other session.
    let clone = sandbox.root().join("clone").display().to_string();
    sandbox.git(&["clone", "-q", "--single-branch", "-b", "cowork/alt", ".", &clone]);
    let mut sandbox = sandbox;
    sandbox.enter(&clone);
    assert_eq!(status(&sandbox)["done"], json!(["idea", "prd"]));
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let tags = sandbox.git(&["tag", "--list", "cowork/alt/p*"]);
    assert_eq!(tags, "cowork/alt/plan\ncowork/alt/prd");
    sandbox.cowork(&["verify", "alt"]).exits(0);
    // The number of the feature that the other session gave up is not given again.
    let ids = ["REQ-004", "FEAT-004", "TASK-006"];
    sandbox.script_addition("Colours", ids, "lib/colours.sh");
    let change = ["modify", "Show colours", "-n", "colours", "--review", "auto"];
    sandbox.cowork(&[&change[..], &["--stop-after", "prd"]].concat()).exits(0);
    let features = sandbox.blob("HEAD", ".cowork/sessions/alt/feature_list.json");
    assert!(features.contains("FEAT-004") && !features.contains("FEAT-003"), "{features}");
}

#[test]
fn a_start_that_was_killed_is_finished_by_resume() {
    let mut sandbox = planned();
    sandbox.set_env("COWORK_TEST_ABORT_AT", "start.before-commit");
    sandbox.cowork(&alt("todo@design", &["--stop-after", "design"])).was_killed();
    sandbox.set_env("COWORK_TEST_ABORT_AT", "");
    sandbox.cowork(&["resume", "alt", "--review", "auto", "--stop-after", "design"]).exits(0);
    assert_eq!(status(&sandbox)["done"], json!(["idea", "prd", "design"]));
    assert_eq!(sandbox.trailers(&start(&sandbox))["Cowork-From"].len(), 1);
    sandbox.cowork(&["verify", "alt"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn a_hand_edit_of_what_was_taken_over_is_noticed() {
    let sandbox = planned();
    sandbox.cowork(&alt("todo@prd", &["--stop-after", "prd"])).exits(0);
    let path = ".cowork/sessions/alt/prd.md";
    let edited = format!("{}\nMore.\n", sandbox.read(path));
    sandbox.commit_file(path, &edited, "more");
    let found = sandbox.cowork(&["verify", "alt", "--json"]).exits(1);
    let found = found.json_lines();
    assert_eq!(found[0]["code"], "changed-after-approval");
    let fix = found[0]["suggested_fix"].as_str().unwrap();
    assert!(!fix.contains("revert"), "it cannot go back to before its start: {fix}");
    assert!(fix.contains("git checkout"), "{fix}");
}
