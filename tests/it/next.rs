//! What `status` and the bare command say comes next after a run that could not go on.

use serde_json::json;

use crate::support::todo::{PRD, reject};
use crate::support::{Reply, Sandbox, at};

const RESUME: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "prd"];

/// What both say.
fn both(sandbox: &Sandbox) -> [String; 2] {
    [&["status"][..], &[]].map(|args| sandbox.cowork(args).exits(0).stdout)
}

#[track_caller]
fn both_say(sandbox: &Sandbox, lines: &[&str]) {
    for shown in both(sandbox) {
        for line in lines {
            assert!(shown.contains(line), "{line} is not in\n{shown}");
        }
    }
}

#[test]
fn after_a_reached_budget_the_next_step_is_to_raise_it() {
    for (key, limit, more) in [("tokens", "1000", "2000"), ("requests", "4", "8")] {
        let sandbox = Sandbox::new();
        sandbox.user_config(&format!("[budget]\n{key} = {limit}\n"));
        let told = sandbox.auto(&[]).exits(4).stderr;
        let raise = format!("git config cowork.budget.{key} {more}");
        assert!(told.contains(&raise), "{told}");
        let stopped = format!("Stopped  the session's budget of {key} is reached: ");
        let exceed =
            format!("Stopped  the next request would exceed the session's budget of {key}");
        for shown in both(&sandbox) {
            assert!(shown.contains(&stopped) || shown.contains(&exceed), "{shown}");
        }
        both_say(&sandbox, &[&format!("Next     {raise} && git cowork resume todo\n")]);
        // Also from elsewhere.
        sandbox.git(&["switch", "-q", "main"]);
        let shown = sandbox.cowork(&[]).exits(0).stdout;
        assert!(shown.contains(&raise), "{shown}");
        sandbox.git(&["switch", "-q", "cowork/todo"]);
        // Once it is raised, that is all.
        sandbox.git(&["config", &format!("cowork.budget.{key}"), "100000"]);
        both_say(&sandbox, &["Next     git cowork resume todo\n"]);
        assert!(both(&sandbox).iter().all(|shown| !shown.contains("Stopped")));
        sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    }
}

#[test]
fn a_price_nobody_knows_is_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[budget]\nusd = 5.0\n");
    sandbox.auto(&[]).exits(4);
    let price = "git config cowork.budget.prices.scripted.in DOLLARS && \
                 git config cowork.budget.prices.scripted.out DOLLARS && git cowork resume todo";
    both_say(&sandbox, &["Stopped  cannot enforce the session's budget of money", price]);
    for key in ["in", "out"] {
        sandbox.git(&["config", &format!("cowork.budget.prices.scripted.{key}"), "0"]);
    }
    both_say(&sandbox, &["Next     git cowork resume todo\n"]);
}

/// One PRD draft is allowed and refused.
fn refused() -> Sandbox {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.user_config("[limits]\niterations = { prd = 1 }\n");
    sandbox.server.times(1, at("prd", "critic"), reject("no user is named"));
    sandbox.cowork(&RESUME).exits(1);
    sandbox
}

#[test]
fn after_the_drafts_are_used_up_a_person_is_asked_for() {
    let sandbox = refused();
    both_say(
        &sandbox,
        &[
            "Stopped  prd: the only draft was refused\n",
            "Next     git cowork resume todo\n",
            "         or allow more drafts: git config cowork.limits.iterations.prd 3\n",
            "draft 1 of prd (git show refs/cowork/drafts/todo/prd)",
        ],
    );
    // Asking again changes nothing, allowing more does.
    sandbox.cowork(&RESUME).exits(1);
    both_say(&sandbox, &["Stopped  prd"]);
    sandbox.git(&["config", "cowork.limits.iterations.prd", "3"]);
    both_say(&sandbox, &["Next     git cowork resume todo\n"]);
    sandbox.cowork(&RESUME).exits(0);
    assert!(both(&sandbox).iter().all(|shown| !shown.contains("Stopped")));
}

#[test]
fn a_persons_word_unblocks_the_session() {
    let sandbox = refused();
    let mut terminal = sandbox.terminal(&RESUME);
    terminal.sees("What now");
    terminal.sees("resume asks again");
    terminal.types("1");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    both_say(&sandbox, &["Next     git cowork resume todo\n"]);
}

#[test]
fn a_role_that_goes_round_is_named() {
    let sandbox = Sandbox::stopped_after("idea");
    let wants = json!({"reason": "two todo formats", "details": "which?", "suspected_issue": "x"});
    let asks = Reply::call("request_human_review", wants);
    sandbox.server.on(at("prd", "actor").turn(1), asks);
    sandbox.cowork(&RESUME).exits(1);
    both_say(
        &sandbox,
        &[
            "Stopped  prd: the actor says: ",
            "two todo formats",
            "         or let the draft wait for an answer: git cowork resume todo --review wait\n",
        ],
    );
}

#[test]
fn the_bare_command_names_a_draft_that_is_kept() {
    let sandbox = Sandbox::stopped_after("idea");
    // A call that fails is looked at in another turn.
    let save = Reply::call("save_prd_doc", json!({"content": PRD}))
        .and("read_file", json!({"path": "nowhere.txt"}));
    let gone = Reply::status(401, "enough");
    sandbox.server.sequence(at("prd", "actor"), vec![save, gone]);
    sandbox.cowork(&RESUME).exits(4);
    let kept = "draft 1 of prd, not finished (git show refs/cowork/drafts/todo/prd)";
    both_say(&sandbox, &[kept, "Next     git cowork resume todo\n"]);
}
