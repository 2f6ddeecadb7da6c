//! Who decides at each stage, and how often it may be tried: the decision matrix, with the limits
//! nobody has configured.

use serde_json::json;

use crate::support::server::Received;
use crate::support::todo::{DESIGN, IDEA, PRD, plan, reject};
use crate::support::{Reply, Sandbox, at};

/// Refusals that have no more in common than two sentences must.
const WORDS: [&str; 6] = [
    "no user is named anywhere",
    "an empty list prints garbage",
    "REQ-002 contradicts itself",
    "ticking off needs an undo",
    "where do files live?",
    "nobody checks for duplicates",
];

/// Stages with a critic, the one before, and how many drafts the critic may refuse.
const LIMITS: [(&str, &str, u32); 4] =
    [("prd", "idea", 3), ("design", "prd", 3), ("plan", "design", 3), ("coding", "plan", 5)];

/// The first turn of each later draft changes something.
fn drafts_differ(sandbox: &Sandbox, stage: &'static str) {
    sandbox.server.on_with(at(stage, "actor").turn(1), move |received: &Received| {
        let n = received.iteration;
        let more = |text: &str| json!({"content": format!("{text}\nDraft {n}, fixed.\n")});
        let reply = match stage {
            "idea" => Reply::call("save_idea", more(IDEA)),
            "prd" => Reply::call("save_prd_doc", more(PRD)),
            "design" => Reply::call("save_design_doc", more(DESIGN)),
            "plan" => Reply::call("save_plan_doc", more(&plan())),
            _ => {
                let text = format!("echo {n}\n");
                Reply::call("write_file", json!({"path": "todo.sh", "content": text}))
            }
        };
        (n > 1).then_some(reply)
    });
}

/// The critic refuses every draft, each time for another reason.
fn refuses(sandbox: &Sandbox, stage: &str) {
    sandbox.server.on_with(at(stage, "critic"), |received: &Received| {
        Some(reject(WORDS[usize::try_from(received.iteration).unwrap() - 1]))
    });
}

fn newest_draft(sandbox: &Sandbox, stage: &str) -> u32 {
    let requests = sandbox.server.requests_of(stage, "actor");
    requests.iter().map(|request| request.iteration).max().unwrap()
}

#[test]
fn between_actor_and_critic_there_are_as_many_drafts_as_the_matrix_says() {
    for (stage, before, limit) in LIMITS {
        let sandbox = Sandbox::new();
        sandbox.auto(&["--stop-after", before]).exits(0);
        drafts_differ(&sandbox, stage);
        refuses(&sandbox, stage);
        let resume = ["resume", "--review", "auto"];
        let last = WORDS[usize::try_from(limit).unwrap() - 1];
        let outcome = sandbox.cowork(&resume).exits(1).says(last);
        assert!(outcome.stderr.contains(&format!("{limit} drafts were refused")), "{stage}");
        assert_eq!(newest_draft(&sandbox, stage), limit, "{stage}: {}", outcome.stderr);
        // All of it is kept, and what ended the run ends the next one without a request.
        assert!(sandbox.refs("refs/cowork/drafts").iter().any(|name| name.ends_with(stage)));
        sandbox.assert_sound();
        sandbox.server.forget();
        sandbox.cowork(&resume).exits(1);
        assert!(sandbox.server.requests().is_empty(), "{stage}");
    }
}

#[test]
fn a_person_may_say_no_more_often_than_any_critic() {
    for (stage, before) in [("idea", None), ("prd", Some("idea")), ("design", Some("prd"))] {
        let sandbox = Sandbox::new();
        let run = ["resume", "--review", "wait"];
        match before {
            Some(before) => {
                sandbox.auto(&["--stop-after", before]).exits(0);
                drafts_differ(&sandbox, stage);
                sandbox.cowork(&run).exits(3);
            }
            None => {
                drafts_differ(&sandbox, stage);
                sandbox.wait(&[]).exits(3);
            }
        }
        for words in &WORDS[..4] {
            sandbox.cowork(&["review", "--feedback", words]).exits(0);
            sandbox.cowork(&run).exits(3);
        }
        assert_eq!(newest_draft(&sandbox, stage), 5);
        sandbox.cowork(&["review", "--pass"]).exits(0);
        sandbox.cowork(&[&run[..], &["--stop-after", stage]].concat()).exits(0);
        let trailers = sandbox.trailers(&sandbox.stage_commit(stage));
        assert_eq!(trailers["Cowork-Iterations"], ["5"], "{stage}");
        assert_eq!(trailers["Cowork-Review"], ["passed"], "{stage}");
    }
}

#[test]
fn the_idea_has_no_critic_and_nobody_but_a_person_refuses_it() {
    let sandbox = Sandbox::new();
    sandbox.wait(&[]).exits(3);
    assert!(sandbox.server.requests_of("idea", "critic").is_empty());
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "idea"]).exits(0);
    assert!(sandbox.server.requests_of("idea", "critic").is_empty());
}

#[test]
fn in_coding_tasks_ask_nobody_and_the_whole_asks_the_critic_then_the_gate_once() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.server.times(1, at("coding", "critic"), reject(WORDS[0]));
    drafts_differ(&sandbox, "coding");
    // Without its gate the critic alone decides.
    let ungated = sandbox.fork();
    ungated.user_config("[review]\ngates = [\"idea\"]\n");
    ungated.server.times(1, at("coding", "critic"), reject(WORDS[0]));
    drafts_differ(&ungated, "coding");
    ungated.cowork(&["resume", "--review", "wait", "--stop-after", "coding"]).exits(0);
    let trailers = ungated.trailers(&ungated.stage_commit("coding"));
    assert_eq!(trailers["Cowork-Iterations"], ["2"]);
    assert_eq!(ungated.server.requests_of("coding", "critic").len(), 2);
    // With it a person sees the whole, after five tasks that asked nobody.
    let outcome = sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    assert!(outcome.stderr.contains("TASK-005"), "{}", outcome.stderr);
    assert!(sandbox.server.requests_of("coding", "critic").is_empty());
    sandbox.cowork(&["review", "--pass"]).exits(0);
    // The critic refuses what was passed: another draft, and the gate on it.
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "coding"]).exits(0);
    let trailers = sandbox.trailers(&sandbox.stage_commit("coding"));
    assert_eq!(trailers["Cowork-Iterations"], ["2"]);
    assert_eq!(trailers["Cowork-Review"], ["passed"]);
}
