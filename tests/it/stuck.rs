//! When a stage cannot go on by itself: the menu a person gets, and what happens without one.

use serde_json::{Value, json};

use crate::support::pty::Terminal;
use crate::support::todo::{PRD, approve, reject};
use crate::support::{Reply, Sandbox, at};

const RESUME: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "prd"];

/// Every PRD draft differs from the one before.
pub fn drafts_differ(sandbox: &Sandbox) {
    sandbox.server.on_with(at("prd", "actor").turn(1), |received| {
        let text = format!("{PRD}\nDraft {}, fixed.\n", received.iteration);
        (received.iteration > 1).then(|| Reply::call("save_prd_doc", json!({"content": text})))
    });
}

/// Two PRD drafts are allowed and refused; a third would be approved.
fn refused_twice() -> Sandbox {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.user_config("[limits]\niterations = { prd = 2 }\n");
    drafts_differ(&sandbox);
    let refusals = vec![reject("no user is named"), reject("ticking off is unclear"), approve()];
    sandbox.server.sequence(at("prd", "critic"), refusals);
    sandbox.server.forget();
    sandbox
}

fn at_the_menu(sandbox: &Sandbox) -> Terminal {
    let mut terminal = sandbox.terminal(&RESUME);
    let shown = terminal.sees("What now");
    assert!(shown.contains("draft limit reached (2/2)"), "{shown}");
    assert!(shown.contains("ticking off is unclear"), "{shown}");
    terminal.sees("resume asks again");
    terminal
}

fn human_words(sandbox: &Sandbox) -> Vec<(String, String)> {
    let commit = sandbox.stage_commit("prd");
    let text = sandbox.blob(&commit, ".cowork/sessions/todo/feedback_history.json");
    let history: Value = serde_json::from_str(&text).unwrap();
    let entries = history.as_array().unwrap().iter().filter(|entry| entry["from"] == "human");
    let word = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
    entries.map(|entry| (word(entry, "severity"), word(entry, "details"))).collect()
}

#[test]
fn retry_restarts_the_count() {
    let sandbox = refused_twice();
    let mut terminal = at_the_menu(&sandbox);
    terminal.types("1");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert!(rest.contains("draft 3 of 4"), "{rest}");
    let drafts = sandbox.server.requests_of("prd", "actor");
    let third = drafts.iter().find(|r| r.iteration == 3).unwrap();
    assert!(third.text().contains("This is draft 3 of at most 4."));
    let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
    assert_eq!(trailers["Cowork-Iterations"], ["3"]);
    assert_eq!(human_words(&sandbox), [("critical".to_owned(), "try again".to_owned())]);
    sandbox.assert_sound();
}

#[test]
fn guidance_reaches_the_actor_as_critical_feedback() {
    let sandbox = refused_twice();
    let mut terminal = at_the_menu(&sandbox);
    terminal.types("2");
    terminal.sees("what should the actor do?");
    terminal.enters("name the user: a gardener");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let guided = ("critical".to_owned(), "name the user: a gardener".to_owned());
    assert_eq!(human_words(&sandbox), [guided]);
    let drafts = sandbox.server.requests_of("prd", "actor");
    let third = drafts.iter().find(|r| r.iteration == 3).unwrap();
    assert!(third.text().contains("human, critical: name the user: a gardener"));
}

#[test]
fn a_person_may_go_back_from_the_menu() {
    let sandbox = refused_twice();
    let mut terminal = at_the_menu(&sandbox);
    terminal.types("g");
    terminal.sees("Go back to which stage?");
    terminal.sees("any other key: stay here");
    terminal.types("1");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert!(
        sandbox.refs("refs/tags/cowork/todo/").contains(&"refs/tags/cowork/todo/idea-2".into())
    );
    let kept = sandbox.blob("refs/cowork/attempts/todo/1", ".cowork/sessions/todo/prd.md");
    assert!(kept.contains("Draft 2"), "{kept}");
    sandbox.assert_sound();
}

#[test]
fn abort_keeps_everything_and_the_next_run_starts_from_scratch() {
    let sandbox = refused_twice();
    let mut terminal = at_the_menu(&sandbox);
    terminal.types("3");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 1, "{rest}");
    assert!(rest.contains("prd was aborted"), "{rest}");
    let kept = sandbox.blob("refs/cowork/attempts/todo/1", ".cowork/sessions/todo/prd.md");
    assert!(kept.contains("Draft 2"), "{kept}");
    sandbox.assert_sound();
    sandbox.cowork(&RESUME).exits(0);
    let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
    assert_eq!(trailers["Cowork-Iterations"], ["1"]);
}

#[test]
fn stopping_or_an_interrupt_at_the_menu_decides_nothing_and_costs_nothing() {
    let sandbox = refused_twice();
    for (way, wanted) in [('q', 3), ('c', 130)] {
        let mut terminal = at_the_menu(&sandbox);
        match way {
            'q' => terminal.types("q"),
            _ => terminal.control(way),
        }
        let (code, rest) = terminal.ends();
        assert_eq!(code, wanted, "{rest}");
        sandbox.assert_sound();
        let kept = sandbox.blob("refs/cowork/drafts/todo/prd", ".cowork/sessions/todo/prd.md");
        assert!(kept.contains("Draft 2"), "{kept}");
        sandbox.server.forget();
    }
    // Still there, and nobody was asked for it.
    let mut terminal = at_the_menu(&sandbox);
    assert_eq!(sandbox.server.requests().len(), 0);
    terminal.types("1");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn a_person_may_pass_what_the_critic_refused() {
    let sandbox = refused_twice();
    let mut terminal = at_the_menu(&sandbox);
    terminal.types("r");
    let shown = terminal.sees("stop for now");
    let menu = shown.lines().find(|line| line.contains("p pass ")).unwrap();
    assert!(menu.contains(" commit ") && !menu.contains("critic"), "{shown}");
    let asked = sandbox.server.requests().len();
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(sandbox.server.requests().len(), asked, "the critic was asked once more");
    let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
    assert_eq!(trailers["Cowork-Review"], ["passed"]);
    assert_eq!(trailers["Cowork-Iterations"], ["2"]);
}

#[test]
fn without_a_terminal_it_fails_with_the_last_feedback_and_stays_so() {
    let sandbox = refused_twice();
    for _ in 0..2 {
        let outcome = sandbox.cowork(&RESUME).exits(1).says("[critic] ticking off is unclear");
        assert!(outcome.stderr.contains("cowork.limits.iterations.prd 4"), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains('⚠'), "{}", outcome.stderr);
        sandbox.assert_sound();
    }
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 2);
    assert_eq!(sandbox.server.requests_of("prd", "actor").len(), 2);
    // What the hint says helps.
    sandbox.git(&["config", "cowork.limits.iterations.prd", "4"]);
    sandbox.user_config("");
    sandbox.cowork(&RESUME).exits(0);
}

/// The critic asks for a person once; asked again it would approve.
fn critic_asks() -> Sandbox {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.times(1, at("prd", "critic"), human_review());
    sandbox.server.forget();
    sandbox
}

fn human_review() -> Reply {
    let review = json!({
        "reason": "I cannot tell", "suspected_issue": "unclear_requirements",
        "details": "who is it for?",
    });
    Reply::call("request_human_review", review)
}

#[test]
fn a_critic_that_asks_for_a_person_opens_the_menu() {
    let sandbox = critic_asks();
    let mut terminal = sandbox.terminal(&RESUME);
    let shown = terminal.sees("What now");
    assert!(shown.contains("prd: a person's decision is needed"), "{shown}");
    assert!(shown.contains("I cannot tell (unclear requirements): who is it for?"), "{shown}");
    terminal.sees("resume asks again");
    terminal.types("2");
    terminal.sees("what should the actor do?");
    terminal.enters("for gardeners");
    assert_eq!(terminal.ends().0, 0);
    let drafts = sandbox.server.requests_of("prd", "actor");
    let second = drafts.iter().find(|r| r.iteration == 2).unwrap();
    assert!(second.text().contains("human, critical: for gardeners"));
}

#[test]
fn a_person_passes_in_place_of_the_critic_that_asked() {
    let sandbox = critic_asks();
    let mut terminal = sandbox.terminal(&RESUME);
    terminal.sees("resume asks again");
    terminal.types("r");
    terminal.sees("stop for now");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 1);
}

#[test]
fn a_critic_that_asks_waits_where_reviews_wait() {
    let sandbox = critic_asks();
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "prd"]).exits(3);
    // The gate came first: its pass is not the critic's.
    sandbox.cowork(&["review", "--pass"]).exits(0);
    let resume = ["resume", "--review", "wait", "--stop-after", "prd"];
    sandbox.cowork(&resume).exits(3).says("who is it for?");
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.server.forget();
    sandbox.cowork(&resume).exits(0);
    assert_eq!(sandbox.server.requests().len(), 0, "the person has decided");
    sandbox.assert_sound();
}

#[test]
fn a_critic_that_asks_waits_in_an_unattended_run_and_is_not_asked_again() {
    let sandbox = critic_asks();
    sandbox.cowork(&RESUME).exits(3).says("who is it for?");
    sandbox.assert_sound();
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Event"], ["draft"]);
    sandbox.server.forget();
    sandbox.cowork(&RESUME).exits(3).says("who is it for?");
    assert_eq!(sandbox.server.requests().len(), 0);
    sandbox.cowork(&["review", "--feedback", "for gardeners"]).exits(0);
    sandbox.cowork(&RESUME).exits(0);
    let drafts = sandbox.server.requests_of("prd", "actor");
    assert!(drafts[0].text().contains("for gardeners"));
}

#[test]
fn a_question_nobody_can_answer_waits() {
    for mode in ["auto", "wait"] {
        let sandbox = Sandbox::stopped_after("idea");
        let question = json!({"question": "Which shell?", "options": ["sh", "bash"]});
        let ask = Reply::call("ask_user", question);
        sandbox.server.times(1, at("prd", "actor"), ask);
        let resume = ["resume", "--review", mode, "--stop-after", "prd"];
        sandbox.cowork(&resume).exits(3).says("Which shell? (sh / bash)");
        let said = "Which shell? (sh / bash)";
        assert!(sandbox.cowork(&["status"]).exits(0).stdout.contains(said));
        assert!(sandbox.cowork(&[]).exits(0).stdout.contains(said));
        let again = sandbox.cowork(&["resume", "--review", "wait"]).exits(3).says(said);
        assert!(!again.stderr.contains("draft 2"), "{}", again.stderr);
        let events =
            sandbox.cowork(&["resume", "--review", "wait", "--json"]).exits(3).json_lines();
        let asked = events.iter().find(|event| event["event"] == "review_requested").unwrap();
        assert!(asked["reason"].as_str().unwrap().contains(said), "{asked}");
        sandbox.cowork(&["review", "--feedback", "sh"]).exits(0);
        sandbox.cowork(&RESUME).exits(0);
        let drafts = sandbox.server.requests_of("prd", "actor");
        assert!(drafts.iter().any(|r| r.iteration == 2 && r.text().contains("critical: sh")));
    }
}

#[test]
fn a_person_says_no_to_an_idea_as_often_as_they_like() {
    let sandbox = Sandbox::new();
    sandbox.server.on_with(at("idea", "actor").turn(1), |received| {
        let text = format!("{}\nDraft {}.\n", crate::support::todo::IDEA, received.iteration);
        Some(Reply::call("save_idea", json!({"content": text})))
    });
    let new = ["new", "-n", "todo", "a todo list for the terminal", "--stop-after", "idea"];
    let mut terminal = sandbox.terminal(&new);
    for n in 1..=4 {
        terminal.sees("stop for now");
        terminal.types("f");
        terminal.sees("f  ");
        terminal.enters(&format!("again, for the {n}th time"));
    }
    terminal.sees("stop for now");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let trailers = sandbox.trailers(&sandbox.stage_commit("idea"));
    assert_eq!(trailers["Cowork-Iterations"], ["5"]);
}

#[test]
fn coding_without_its_gate_is_between_actor_and_critic() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[review]\ngates = [\"prd\"]\n[limits]\niterations = { coding = 2 }\n");
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    let words = ["todo.sh says nothing", "a file without a newline"];
    sandbox.server.on_with(at("coding", "critic"), move |received| {
        let words = words.get(usize::try_from(received.iteration).unwrap() - 1)?;
        Some(reject(words))
    });
    let echo = json!({"path": "todo.sh", "content": "echo\n"});
    sandbox.server.on(at("coding", "actor").iteration(2).turn(1), Reply::call("write_file", echo));
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "coding"]);
    let shown = terminal.sees("What now");
    assert!(shown.contains("draft limit reached (2/2)") && !shown.contains("p pass "), "{shown}");
    terminal.sees("resume asks again");
    terminal.types("1");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let trailers = sandbox.trailers(&sandbox.stage_commit("coding"));
    assert_eq!(trailers["Cowork-Iterations"], ["3"]);
    assert_eq!(trailers["Cowork-Review"], ["auto"]);
}

#[test]
fn corrections_that_never_help_are_bounded_and_a_person_may_say_how() {
    let sandbox = Sandbox::new();
    // Well until coding is recorded, and then only with a file nobody thought of.
    let test = "test ! -e .git/refs/tags/cowork/todo/coding || test -f fixed.txt";
    sandbox.user_config(&format!("[project]\ntest = \"{test}\"\n[limits]\nmax_replans = 0\n"));
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let outcome = sandbox.cowork(&["resume", "--review", "auto"]).exits(1);
    let outcome = outcome.says("checks still fail, and max_replans = 0 allows");
    assert!(outcome.stderr.contains("it printed nothing"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("revert todo --to coding"), "{}", outcome.stderr);
    sandbox.assert_sound();
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto"]).exits(1).says("checks still fail");
    assert_eq!(sandbox.server.requests().len(), 0);
    let write = Reply::call("write_file", json!({"path": "fixed.txt", "content": "fixed\n"}));
    sandbox.server.on_with(at("coding", "actor").turn(1), move |received| {
        received.text().contains("human, critical: it wants fixed.txt").then(|| write.clone())
    });
    for key in ["q", "3"] {
        let mut terminal = sandbox.terminal(&["resume", "--review", "auto"]);
        terminal.sees("resume asks again");
        terminal.types(key);
        assert_eq!(terminal.ends().0, if key == "q" { 3 } else { 1 });
    }
    let mut terminal = sandbox.terminal(&["resume", "--review", "auto"]);
    let shown = terminal.sees("What now");
    assert!(shown.contains("going back again and again"), "{shown}");
    terminal.sees("resume asks again");
    terminal.types("2");
    terminal.sees("what should the actor do?");
    terminal.enters("it wants fixed.txt");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(sandbox.blob("refs/tags/cowork/todo/coding-2", "fixed.txt"), "fixed\n");
    sandbox.assert_sound();
}

#[test]
fn a_stop_at_the_gate_stops_although_a_hook_refuses() {
    let sandbox = Sandbox::new();
    let new = ["new", "-n", "todo", "a todo list for the terminal", "--stop-after", "idea"];
    let mut terminal = sandbox.terminal(&new);
    terminal.sees("stop for now");
    sandbox.hook("pre-commit", "echo no drafts here; exit 1");
    terminal.types("q");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 3, "{rest}");
    assert!(rest.contains("no drafts here"), "{rest}");
    assert_eq!(sandbox.server.requests().len(), 1, "another draft was begun");
    sandbox.assert_sound();
    std::fs::remove_file(sandbox.path(".git/hooks/pre-commit")).unwrap();
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "idea"]);
    terminal.sees("stop for now");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(sandbox.server.requests().len(), 1);
}

/// How a run ends without a person: what happens, with which configuration, and the exit code
/// with `--review auto` and with `--review wait`.
#[test]
fn every_end_without_a_person_has_its_exit_code() {
    const DRAFTS: &str = "[limits]\niterations = { prd = 2 }\n";
    const MANY: &str = "[limits]\niterations = { prd = 9 }\n";
    // So that a run that waits reaches the critic.
    const NO_GATE: &str = "[review]\ngates = [\"idea\"]\n";
    const NO_REPLAN: &str = "[review]\ngates = [\"idea\"]\n[limits]\nmax_replans = 0\n";
    const WINDOW: &str = "[llm]\ncontext_window = 1024\n";
    let call = |name: &str, arguments: Value| Reply::call(name, arguments);
    let replan = json!({"issue_type": "requirement_mismatch", "severity": "major", "details": "d"});
    let too_long = json!({"error": {"code": "context_length_exceeded", "message": "too long"}});
    let too_long = Reply::empty().fault(crate::support::Fault::Status {
        code: 400,
        headers: Vec::new(),
        body: too_long.to_string(),
    });
    let ends = [
        ("drafts run out", DRAFTS, "actor", Reply::text("Done."), [1, 1]),
        ("a circle", MANY, "actor", Reply::text("Done."), [1, 1]),
        ("the same call", "", "actor", call("load_idea", json!({})), [1, 1]),
        ("the same failure", "", "actor", call("read_file", json!({"path": "no"})), [1, 1]),
        ("guards refuse", "", "actor", call("read_file", json!({"path": "../a"})), [1, 1]),
        ("an actor wants a person", "", "actor", human_review(), [3, 3]),
        ("an actor asks", "", "actor", call("ask_user", json!({"question": "who?"})), [3, 3]),
        ("a critic wants a person", NO_GATE, "critic", human_review(), [3, 3]),
        ("a critic repeats itself", NO_GATE, "critic", call("get_requirements", json!({})), [1, 1]),
        ("a critic gives no verdict", NO_GATE, "critic", Reply::text("Hm."), [1, 1]),
        ("a critic goes back", NO_REPLAN, "critic", call("request_replanning", replan), [1, 3]),
        ("nothing fits the window", WINDOW, "actor", too_long, [4, 4]),
    ];
    let before = Sandbox::stopped_after("idea");
    for (what, config, role, reply, codes) in ends {
        for (mode, wanted) in ["auto", "wait"].into_iter().zip(codes) {
            let sandbox = before.fork();
            sandbox.user_config(config);
            sandbox.server.on(at("prd", role), reply.clone());
            let outcome = sandbox.cowork(&["resume", "--review", mode, "--stop-after", "prd"]);
            assert_eq!(outcome.code, wanted, "{what}, {mode}: {}", outcome.stderr);
            assert!(sandbox.refs("refs/tags/cowork/todo/prd").is_empty(), "{what}, {mode}");
            sandbox.assert_sound();
        }
    }
}

/// A question waits, and there is no document: there is nothing to pass.
#[test]
fn at_a_terminal_a_document_that_is_not_there_is_not_passed() {
    let sandbox = Sandbox::stopped_after("idea");
    let ask = Reply::call("ask_user", json!({"question": "Which shell?"}));
    sandbox.server.times(1, at("prd", "actor"), ask);
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "prd"]).exits(3);
    for command in [&["review"][..], &["resume", "--stop-after", "prd"]] {
        let mut terminal = sandbox.terminal(command);
        let shown = terminal.sees("? help");
        assert!(shown.contains("Which shell?"), "{shown}");
        assert!(!shown.contains("p pass") && shown.contains("f feedback"), "{shown}");
        terminal.types("p");
        terminal.sees("nothing to pass: a document is missing");
        terminal.types("q");
        assert_eq!(terminal.ends().0, 3);
    }
}
