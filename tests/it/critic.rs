//! The actor–critic loop: feedback reaches the next draft, limits hold, and a model that does
//! nothing gets nowhere.

use serde_json::{Value, json};

use crate::support::script::At;
use crate::support::server::Received;
use crate::support::todo::{PRD, lingers, prd_draft, reject, requirement};
use crate::support::{Reply, Sandbox, anywhere, at};

/// The last line of a gate.
#[cfg(unix)]
const ASKED: &str = "stop for now";

/// The second and later PRD drafts change the document a little.
fn later_drafts(sandbox: &Sandbox) {
    let draft = |at: At, n: u32| {
        let text = format!("{PRD}\nDraft {n}, fixed.\n");
        sandbox.server.on(at, Reply::call("save_prd_doc", json!({"content": text})));
    };
    for n in 2..=5 {
        draft(at("prd", "actor").iteration(n).turn(1), n);
    }
}

#[test]
fn a_rejection_leads_to_a_second_draft_that_knows_why() {
    let sandbox = Sandbox::new();
    later_drafts(&sandbox);
    sandbox.server.on(at("prd", "critic").iteration(1), reject("REQ-002 is vague"));
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let drafts = sandbox.server.requests_of("prd", "actor");
    let second: Vec<_> = drafts.iter().filter(|r| r.iteration == 2).collect();
    assert!(second[0].text().contains("REQ-002 is vague"));
    // A fresh conversation, not the first one continued.
    assert_eq!(second[0].turn, 1);
    let commit = sandbox.stage_commit("prd");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Iterations"], ["2"]);
    let path = ".cowork/sessions/todo/";
    assert!(sandbox.blob(&commit, &format!("{path}prd.md")).contains("Draft 2"));
    let history: Value =
        serde_json::from_str(&sandbox.blob(&commit, &format!("{path}feedback_history.json")))
            .unwrap();
    assert_eq!(history.as_array().unwrap().len(), 1);
    assert_eq!(history[0]["from"], "critic");
    assert_eq!(history[0]["stage"], "prd");
    assert_eq!(history[0]["iteration"], 1);
    assert_eq!(history[0]["feedback_type"], "quality_issue");
    assert_eq!(history[0]["severity"], "major");
    assert_eq!(history[0]["details"], "REQ-002 is vague");
    assert_eq!(history[0]["suggested_fix"], "Fix it.");
    sandbox.assert_sound();
}

#[test]
fn when_iterations_run_out_the_last_feedback_is_said() {
    let sandbox = Sandbox::new();
    later_drafts(&sandbox);
    let complaints =
        ["no user is named", "the list may grow without end", "ticking off is unclear"];
    for (iteration, complaint) in (1..).zip(complaints) {
        sandbox.server.on(at("prd", "critic").iteration(iteration), reject(complaint));
    }
    sandbox.auto(&[]).exits(1).says("ticking off is unclear");
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 3);
    assert!(sandbox.refs("refs/tags/cowork/todo/prd").is_empty());
    // Everything is kept, and the tree is clean.
    assert_eq!(sandbox.stages("main..cowork/todo")[..2], ["start", "idea"]);
    let kept = sandbox.blob("refs/cowork/drafts/todo/prd", ".cowork/sessions/todo/prd.md");
    assert!(kept.contains("Draft 3"), "{kept}");
    sandbox.assert_sound();
}

#[test]
fn the_limit_is_configurable() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[limits]\niterations = { prd = 1 }\n");
    sandbox.server.on(at("prd", "critic"), reject("no user is named"));
    sandbox.auto(&[]).exits(1).says("no user is named");
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 1);
}

#[test]
fn more_drafts_never_lower_the_limit() {
    const AUTO: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "prd"];
    const WAIT: [&str; 5] = ["resume", "--review", "wait", "--stop-after", "prd"];
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.user_config("[limits]\niterations = { prd = 5 }\n[review]\ngates = [\"idea\"]\n");
    sandbox.server.times(
        1,
        at("prd", "actor"),
        Reply::call("ask_user", json!({"question": "Who?"})),
    );
    sandbox.cowork(&WAIT).exits(3);
    crate::stuck::drafts_differ(&sandbox);
    let refuse = |received: &Received| {
        Some(reject(&format!("it lacks number {}", "x".repeat(received.iteration as usize * 9))))
    };
    sandbox.server.on_with(at("prd", "critic"), refuse);
    for (more, said) in
        [("1", ["draft 2 of 5", "draft 5 of 5"]), ("2", ["draft 6 of 7", "draft 7 of 7"])]
    {
        sandbox.cowork(&["review", "--more", more]).exits(0);
        let outcome = sandbox.cowork(&WAIT).exits(1).says(said[0]).says(said[1]);
        assert!(!outcome.stderr.contains("draft 8"), "{}", outcome.stderr);
    }
    // Without anybody to wait for, the stop is told, too.
    sandbox.cowork(&["review", "--more", "1"]).exits(0);
    sandbox.cowork(&AUTO).exits(1).says("draft 8 of 8");
    assert_eq!(sandbox.cowork(&["status", "--json"]).exits(0).json()["state"], "stopped");
    sandbox.assert_sound();
}

#[test]
fn the_same_rejection_three_times_is_a_loop() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[limits]\niterations = { prd = 5 }\n");
    later_drafts(&sandbox);
    sandbox.server.on(at("prd", "critic"), reject("REQ-002 is vague, say in which order"));
    sandbox.auto(&[]).exits(1).says("REQ-002 is vague");
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 3);
}

#[test]
fn a_model_that_only_says_done_gets_nowhere() {
    let sandbox = Sandbox::new();
    sandbox.server.on(anywhere(), Reply::text("Done."));
    sandbox.auto(&[]).exits(1).says("idea.md");
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start"]);
    assert!(sandbox.tags().is_empty());
    let asked = sandbox.server.requests().len();
    assert!(asked <= 12, "{asked} requests for nothing");
    sandbox.assert_sound();
}

#[test]
fn a_critic_that_only_says_done_approves_nothing() {
    let sandbox = Sandbox::new();
    later_drafts(&sandbox);
    sandbox.server.on(at("prd", "critic"), Reply::text("Done."));
    let outcome = sandbox.auto(&[]).exits(1);
    assert!(outcome.stderr.contains("critic"), "{}", outcome.stderr);
    assert!(sandbox.refs("refs/tags/cowork/todo/prd").is_empty());
}

#[test]
fn a_critic_may_answer_in_prose_with_a_marker() {
    let sandbox = Sandbox::new();
    later_drafts(&sandbox);
    let no = "The order is missing.\n<review>NEEDS_REVISION</review>";
    sandbox.server.on(at("prd", "critic").iteration(1), Reply::text(no));
    let yes = Reply::text("Good now.\n**Verdict:** <review>PASS</review>");
    sandbox.server.on(at("prd", "critic").iteration(2), yes);
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let drafts = sandbox.server.requests_of("prd", "actor");
    let second = drafts.iter().find(|r| r.iteration == 2).unwrap();
    assert!(second.text().contains("The order is missing."));
}

#[test]
fn a_refusal_that_names_the_marker_of_a_pass_is_neither_a_pass_nor_a_rejection() {
    const REFUSAL: &str = "To earn `<review>PASS</review>` this draft must first name a user.";
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.forget();
    sandbox.server.on(at("prd", "critic"), Reply::text(REFUSAL));
    for mode in ["auto", "wait"] {
        let resume = ["resume", "--review", mode, "--stop-after", "prd"];
        if mode == "wait" {
            sandbox.cowork(&["review", "--pass"]).exits(5);
            sandbox.user_config("[review]\ngates = [\"plan\"]\n");
        }
        let told = sandbox.cowork(&resume).exits(1).stderr;
        assert!(told.contains("prd: the critic gave no verdict; it said: To earn"), "{told}");
        assert!(told.contains("ask again: git cowork resume"), "{told}");
    }
    // Reminded once each time; the actor was asked for one draft.
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 4);
    let drafts = sandbox.server.requests_of("prd", "actor");
    assert!(drafts.iter().all(|request| request.iteration == 1), "a draft was used up");
    assert!(sandbox.refs("refs/tags/cowork/todo/prd").is_empty());
    let kept = sandbox.trailers("refs/cowork/drafts/todo/prd")["Cowork-Stuck"].join("");
    assert!(kept.contains("must first name a user."), "{kept}");
    let status = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(status.contains("the critic gave no verdict"), "{status}");
    sandbox.server.on(at("prd", "critic"), crate::support::todo::approve());
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Iterations"], ["1"]);
    sandbox.assert_sound();
}

#[test]
fn a_critic_without_a_verdict_is_asked_again_whoever_was_to_review() {
    const WORDS: &str = "prd: the critic gave no verdict; it said: This cannot be";
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.on(at("prd", "critic"), Reply::text("This cannot be approved as it stands."));
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(1).says(WORDS);
    let asked = || sandbox.server.requests_of("prd", "critic").len();
    for runs in 2..=3 {
        let outcome = sandbox.cowork(&["resume", "--stop-after", "prd"]).exits(1).says(WORDS);
        assert!(outcome.stderr.contains("ask again: git cowork resume"), "{}", outcome.stderr);
        assert_eq!(asked(), runs * 2, "it is reminded once each time");
        assert_eq!(sandbox.cowork(&["status", "--json"]).exits(0).json()["state"], "stopped");
        assert!(sandbox.cowork(&["status"]).exits(0).stdout.contains("This cannot be approved"));
    }
    assert!(sandbox.trailers("HEAD")["Cowork-Stuck"].join("").contains("This cannot be approved"));
    // Nobody has passed the draft: the critic's approval does not, either.
    sandbox.server.on(at("prd", "critic"), crate::support::todo::approve());
    let outcome = sandbox.cowork(&["resume", "--stop-after", "prd"]).exits(3);
    assert!(!outcome.stderr.contains("no verdict"), "{}", outcome.stderr);
    assert!(sandbox.refs("refs/tags/cowork/todo/prd").is_empty());
    assert_eq!(sandbox.cowork(&["status", "--json"]).exits(0).json()["state"], "waiting");
    let readings = asked();
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--stop-after", "prd"]).exits(0);
    assert_eq!(asked(), readings, "it has approved this draft");
    assert_eq!(sandbox.server.requests_of("prd", "actor").len(), 1);
    let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
    assert_eq!(trailers["Cowork-Review"], ["passed"]);
    assert_eq!(trailers["Cowork-Iterations"], ["1"]);
    sandbox.assert_sound();
}

#[cfg(unix)]
#[test]
fn a_critic_without_a_verdict_is_asked_again_at_a_terminal() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.on(at("prd", "critic"), Reply::text("This cannot be approved as it stands."));
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(1);
    for runs in 2..=4 {
        let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
        let shown = terminal.sees(ASKED);
        assert!(shown.contains("the critic gave no verdict; it said: This cannot be"), "{shown}");
        assert_eq!(sandbox.server.requests_of("prd", "critic").len(), runs * 2);
        terminal.types("q");
        assert_eq!(terminal.ends().0, 3);
    }
    let outcome = sandbox.cowork(&["resume", "--stop-after", "prd"]).exits(1);
    assert!(outcome.stderr.contains("ask again: git cowork resume"), "{}", outcome.stderr);
    assert_eq!(sandbox.cowork(&["status", "--json"]).exits(0).json()["state"], "stopped");
    let mut terminal = sandbox.terminal(&["review"]);
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("the critic gave no verdict"), "{shown}");
    terminal.types("q");
    terminal.ends();
    sandbox.server.on(at("prd", "critic"), crate::support::todo::approve());
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    let shown = terminal.sees(ASKED);
    assert!(!shown.contains("no verdict"), "{shown}");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(sandbox.server.requests_of("prd", "actor").len(), 1, "a draft was used up");
    let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
    assert_eq!(trailers["Cowork-Iterations"], ["1"]);
    sandbox.assert_sound();
}

#[cfg(unix)]
#[test]
fn a_person_decides_where_the_critic_gives_no_verdict() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.on(at("prd", "critic"), Reply::text("This cannot be approved as it stands."));
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    terminal.sees(ASKED);
    terminal.types("p");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("the critic gave no verdict; it said: This cannot be"), "{shown}");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    let commit = sandbox.stage_commit("prd");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["passed"]);
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 2);
}

#[test]
fn the_actors_reason_for_leaving_a_draft_as_it_is_reaches_the_critic() {
    const REASON: &str = "REQ-002 stays as it is: the idea names no order.";
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.on(at("prd", "critic").iteration(1), reject("REQ-002 is vague"));
    sandbox.server.on(at("prd", "actor").iteration(2), Reply::text(REASON));
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    let readings = sandbox.server.requests_of("prd", "critic");
    let second = readings.iter().find(|request| request.iteration == 2).unwrap().text();
    assert!(second.contains("Nothing in it has changed.") && second.contains(REASON), "{second}");
}

#[test]
fn a_critics_marker_stays_out_of_what_people_read() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[review]\norder = \"critic-first\"\n");
    let summary = json!({"summary": "Small and whole. <review>PASS</review>"});
    sandbox.server.on(at("prd", "critic"), Reply::call("exit_loop", summary));
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let body = sandbox.git(&["log", "-1", "--format=%B", &sandbox.stage_commit("prd")]);
    assert!(body.contains("The critic approved: Small and whole.\n"), "{body}");
}

#[test]
fn checks_come_before_the_critic_and_cost_no_request() {
    let sandbox = Sandbox::new();
    // Without a feature nothing would be built.
    let thin = Reply::call("save_prd_doc", json!({"content": "# PRD\n\nWhat it must do.\n"}))
        .and("create_requirement", requirement("Add a todo"));
    sandbox.server.on(at("prd", "actor").iteration(1).turn(1), thin);
    let rest = Reply::call("create_requirement", requirement("List todos"))
        .and("create_requirement", requirement("Tick a todo off"))
        .and("add_feature", crate::support::todo::feature("Adding", &["REQ-001"]))
        .and("add_feature", crate::support::todo::feature("Reading", &["REQ-002", "REQ-003"]));
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), rest);
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let critics = sandbox.server.requests_of("prd", "critic");
    assert_eq!(critics.len(), 1);
    assert_eq!(critics[0].iteration, 2);
    let history: Value = serde_json::from_str(&sandbox.artifact("feedback_history.json")).unwrap();
    assert_eq!(history[0]["from"], "validator");
    let drafts = sandbox.server.requests_of("prd", "actor");
    let second = drafts.iter().find(|r| r.iteration == 2).unwrap();
    assert!(second.text().contains("requirements"), "{}", second.text());
}

#[test]
fn ids_that_only_one_of_document_and_json_has_are_found() {
    let sandbox = Sandbox::new();
    sandbox.server.manner(lingers);
    let draft = prd_draft();
    let lie = json!({"content": format!("{PRD}\nIt syncs, as REQ-004 says.\n")});
    sandbox.server.on(at("prd", "actor").iteration(1).turn(2), Reply::call("save_prd_doc", lie));
    sandbox.server.on(at("prd", "actor").iteration(1).turn(3), Reply::text("Saved."));
    sandbox.server.on(at("prd", "actor").iteration(1).turn(1), draft);
    let truth = Reply::call("save_prd_doc", json!({"content": PRD}));
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), truth);
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let drafts = sandbox.server.requests_of("prd", "actor");
    let second = drafts.iter().find(|r| r.iteration == 2).unwrap();
    assert!(second.text().contains("REQ-004"), "{}", second.text());
}

#[test]
fn a_dependency_cycle_is_named() {
    let sandbox = Sandbox::new();
    sandbox.server.manner(lingers);
    let cycle = json!({
        "task_id": "TASK-001", "reason": "it needs the list", "dependencies": ["TASK-003"],
    });
    sandbox.server.on(at("plan", "actor").iteration(1).turn(2), Reply::call("update_task", cycle));
    sandbox.server.on(at("plan", "actor").iteration(1).turn(3), Reply::text("Planned."));
    let straight = json!({"task_id": "TASK-001", "reason": "no cycle", "dependencies": []});
    let fixed = Reply::call("update_task", straight);
    sandbox.server.on(at("plan", "actor").iteration(2).turn(1), fixed);
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    let drafts = sandbox.server.requests_of("plan", "actor");
    let told = drafts.iter().filter(|r| r.iteration == 2 || r.turn == 3).map(Received::text);
    let told: String = told.collect();
    assert!(told.contains("TASK-001 → TASK-003 → TASK-001"), "{told}");
}

#[test]
fn an_uncovered_feature_is_found() {
    let sandbox = Sandbox::new();
    let design = crate::support::todo::DESIGN.replace("`FEAT-001` `FEAT-002`", "`FEAT-001`");
    let draft = Reply::call("save_design_doc", json!({"content": design}));
    sandbox.server.on(at("design", "actor").iteration(1).turn(1), draft);
    let cover = json!({"id": "COMP-001", "related_features": ["FEAT-001", "FEAT-002"]});
    let fixed = Reply::call("update_design_component", cover);
    sandbox.server.on(at("design", "actor").iteration(2).turn(1), fixed);
    sandbox.auto(&["--stop-after", "design"]).exits(0);
    assert_eq!(sandbox.server.requests_of("design", "critic").len(), 1);
    let history = sandbox.artifact("feedback_history.json");
    assert!(history.contains("FEAT-002"), "{history}");
}

#[test]
fn a_self_review_may_revise_its_own_draft() {
    let sandbox = Sandbox::new();
    let plan = format!("{}\nOne more thought.\n", crate::support::todo::plan());
    sandbox.server.sequence(
        at("plan", "self-review"),
        vec![
            Reply::call("save_plan_doc", json!({"content": plan})),
            Reply::text("Revised. <review>PASS</review>"),
        ],
    );
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    assert!(sandbox.artifact("plan.md").contains("One more thought."));
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("plan"))["Cowork-Iterations"], ["1"]);
}

#[test]
fn a_rejected_coding_stage_is_corrected_in_its_own_commit() {
    let sandbox = Sandbox::new();
    sandbox.server.on(at("coding", "critic").iteration(1), reject("todo.sh says nothing"));
    let correct = json!({"path": "todo.sh", "content": "echo corrected\n"});
    sandbox
        .server
        .on(at("coding", "actor").iteration(2).turn(1), Reply::call("write_file", correct));
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let commit = sandbox.stage_commit("coding");
    assert_eq!(sandbox.blob(&commit, "todo.sh"), "echo corrected\n");
    let files = sandbox.git(&["diff", "--name-only", &format!("{commit}^"), &commit]);
    assert!(files.lines().any(|file| file == "todo.sh"), "{files}");
    let subjects = sandbox.subjects("main..cowork/todo");
    let tasks = subjects.iter().filter(|s| s.starts_with("coding: TASK-")).count();
    assert_eq!(tasks, 5, "{subjects:#?}");
    sandbox.assert_sound();
}
