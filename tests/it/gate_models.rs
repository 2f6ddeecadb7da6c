//! The gate's keys that ask a model: `m` takes another one for the next draft, `t` asks the actor about
//! the draft it wrote.

use serde_json::{Value, json};

use crate::support::pty::Terminal;
use crate::support::todo::PRD;
use crate::support::{Fault, Reply, Sandbox, at};

/// The last words of the menu: from here on keys are read.
const ASKED: &str = "? help";

fn prd_gate(sandbox: &Sandbox) -> Terminal {
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    terminal.sees(ASKED);
    terminal
}

/// At the gate of the PRD; its server has two more models.
fn at_prd() -> (Sandbox, Terminal) {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.lists(json!([{"id": "scripted"}, {"id": "large"}, {"id": "small"}]));
    let terminal = prd_gate(&sandbox);
    (sandbox, terminal)
}

/// Chooses to type a name, the last in the list, and types it.
fn types_model(terminal: &mut Terminal, name: &str) {
    terminal.types("m");
    terminal.sees("another one, by its name");
    terminal.types("k\r");
    terminal.sees("model: ");
    terminal.enters(name);
}

fn models(sandbox: &Sandbox, stage: &str, role: &str) -> Vec<String> {
    let asked = sandbox.server.requests_of(stage, role);
    let mut models: Vec<String> =
        asked.iter().map(|one| one.body["model"].as_str().unwrap().to_owned()).collect();
    models.dedup();
    models
}

fn second_draft(sandbox: &Sandbox) {
    let second = PRD.replace("REQ-002 List todos", "REQ-002 List todos by date");
    let reply = Reply::call("save_prd_doc", json!({"content": second})).by("large-1");
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), reply);
}

#[test]
fn another_model_makes_the_next_draft_and_is_in_the_trailers() {
    let (sandbox, mut terminal) = at_prd();
    second_draft(&sandbox);
    terminal.types("m");
    let shown = terminal.sees("another one, by its name");
    assert!(shown.contains("scripted (default) at http"), "{shown}");
    assert!(shown.contains("large at http") && shown.contains("small at http"), "{shown}");
    // Down to the second one.
    terminal.types("jj\r");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("next draft by large"), "{shown}");
    assert!(!shown.contains("your decision"), "the draft is as it was: {shown}");
    terminal.types("f");
    terminal.sees("f  ");
    terminal.enters("by date");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("draft 2 of 3") && shown.contains("Next     draft by large"), "{shown}");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(models(&sandbox, "prd", "actor"), ["scripted", "large"]);
    assert_eq!(models(&sandbox, "prd", "critic"), ["scripted"]);
    let commit = sandbox.stage_commit("prd");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Model"], ["scripted-1, large-1"]);
    let log = sandbox.cowork(&["log", "-v"]).exits(0).stdout;
    assert!(log.contains("scripted-1, large-1"), "{log}");
    // The choice was for this stage, and in no configuration.
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "design"]).exits(0);
    assert_eq!(models(&sandbox, "design", "actor"), ["scripted"]);
    assert!(!sandbox.git(&["config", "--list"]).contains("large"));
    sandbox.assert_sound();
}

#[test]
fn a_taken_model_is_kept_over_a_stop_and_an_interruption() {
    let (sandbox, mut terminal) = at_prd();
    second_draft(&sandbox);
    types_model(&mut terminal, "small");
    terminal.sees("next draft by small");
    terminal.sees(ASKED);
    terminal.control('c');
    assert_eq!(terminal.ends().0, 130);
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("Next     draft by small"), "{shown}");
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    let status = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(status.contains("next draft by small"), "{status}");
    // Also where the next draft is asked for by another command.
    sandbox.cowork(&["review", "--feedback", "by date"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "prd"]).exits(3);
    assert_eq!(models(&sandbox, "prd", "actor"), ["scripted", "small"]);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Actor-Model"], ["default model=small"]);
    sandbox.assert_sound();
}

#[test]
fn a_model_taken_while_a_draft_waits_makes_the_draft_that_its_answer_asks_for() {
    let (sandbox, mut terminal) = at_prd();
    second_draft(&sandbox);
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    let mut terminal = prd_gate(&sandbox);
    types_model(&mut terminal, "large");
    terminal.sees("next draft by large");
    terminal.sees(ASKED);
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    let status = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(status.contains("next draft by large"), "{status}");
    sandbox.cowork(&["review", "--feedback", "by date"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "prd"]).exits(3);
    assert_eq!(models(&sandbox, "prd", "actor"), ["scripted", "large"]);
    sandbox.assert_sound();
}

#[test]
fn a_model_that_nobody_knows_is_named_and_nothing_changes() {
    let (sandbox, mut terminal) = at_prd();
    let refs = sandbox.all_refs();
    types_model(&mut terminal, "larch");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("no model is called 'larch', so nothing was changed"), "{shown}");
    assert!(shown.contains("known models: scripted,"), "{shown}");
    terminal.types("m");
    terminal.sees("another one, by its name");
    terminal.types("\x1b");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("nothing was changed"), "{shown}");
    assert_eq!(sandbox.all_refs(), refs);
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
}

#[test]
fn a_model_of_the_configuration_is_taken_by_its_name_and_given_back() {
    let (sandbox, terminal) = at_prd();
    drop(terminal);
    sandbox.user_config("[models.reviewer]\nmodel = \"large\"\n");
    let mut terminal = prd_gate(&sandbox);
    types_model(&mut terminal, "reviewer");
    terminal.sees("next draft by large");
    terminal.sees(ASKED);
    types_model(&mut terminal, "reviewer");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("that model makes the next draft anyway"), "{shown}");
    types_model(&mut terminal, "default");
    terminal.sees("next draft by scripted");
    terminal.sees(ASKED);
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(models(&sandbox, "prd", "actor"), ["scripted"]);
}

#[test]
fn a_taken_model_that_is_gone_is_said_and_the_configured_one_goes_on() {
    let (sandbox, mut terminal) = at_prd();
    types_model(&mut terminal, "small");
    terminal.sees("next draft by small");
    terminal.sees(ASKED);
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    sandbox.server.lists(json!([{"id": "scripted"}]));
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    let shown = terminal.sees(ASKED);
    // The message is wrapped.
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("has no model 'small'"), "{shown}");
    assert!(!shown.contains("Next     draft by"), "{shown}");
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
}

const QUESTION: &str = "Why is listing not by date?";

/// The actor answers a question about its draft, after a look at a file.
fn answers(sandbox: &Sandbox) {
    sandbox.server.on_with(at("prd", "actor").iteration(1), |received| {
        let text = received.text();
        if !text.contains(QUESTION) {
            return None;
        }
        Some(match received.tool_results().iter().any(|result| result.contains("README")) {
            false => Reply::call("list_files", json!({})),
            true => Reply::text("Nobody asked for it, see **REQ-002**:\n\n- one\n- two")
                .usage(200, 30, 0),
        })
    });
}

fn asks(terminal: &mut Terminal, question: &str) -> String {
    terminal.types("t");
    terminal.sees("t  ");
    terminal.enters(question);
    terminal.sees(ASKED)
}

#[test]
fn the_actor_answers_a_question_and_the_draft_stays_what_it_was() {
    let sandbox = Sandbox::stopped_after("idea");
    answers(&sandbox);
    let mut terminal = prd_gate(&sandbox);
    let before = sandbox.server.requests_of("prd", "actor").len();
    let shown = asks(&mut terminal, QUESTION);
    assert!(shown.contains("Nobody asked for it, see **REQ-002**:"), "{shown}");
    assert!(shown.contains(" one\r\n") && !shown.contains("- one"), "{shown}");
    assert_eq!(shown.matches("Nobody asked").count(), 1, "{shown}");
    assert!(!shown.contains("your decision"), "{shown}");
    let asked = &sandbox.server.requests_of("prd", "actor")[before..];
    assert_eq!(asked.len(), 2);
    // In the stage's conversation, with tools that only read.
    assert!(asked[0].messages().iter().any(|message| message["role"] == "assistant"));
    for tool in asked[0].tools() {
        let reads = ["list_", "read_", "search_", "load_", "get_"];
        assert!(reads.iter().any(|begin| tool.starts_with(begin)), "{tool}");
    }
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    let commit = sandbox.stage_commit("prd");
    let trailers = sandbox.trailers(&commit);
    assert_eq!(trailers["Cowork-Iterations"], ["1"]);
    assert_eq!(trailers["Cowork-Review"], ["passed"]);
    assert!(!sandbox.exists(".cowork/sessions/todo/feedback_history.json"));
    assert_eq!(sandbox.artifact("prd.md"), PRD);
    let log = sandbox.cowork(&["log", "-v"]).exits(0).stdout;
    assert!(log.contains(&format!("question: {QUESTION}")), "{log}");
    assert!(log.contains("actor: Nobody asked for it"), "{log}");
    let steps = sandbox.cowork(&["log", "--json"]).exits(0).json_lines();
    let told = steps.iter().find(|step| step["event"] == "question_answered").unwrap();
    assert_eq!((&told["reason"], &told["iteration"]), (&json!(QUESTION), &json!(1)));
    sandbox.assert_sound();
}

#[test]
fn what_a_question_takes_counts_and_the_next_draft_knows_the_answer() {
    let tokens = |question: bool| {
        let sandbox = Sandbox::stopped_after("idea");
        answers(&sandbox);
        second_draft(&sandbox);
        let mut terminal = prd_gate(&sandbox);
        if question {
            asks(&mut terminal, QUESTION);
        }
        terminal.types("f");
        terminal.sees("f  ");
        terminal.enters("by date");
        let shown = terminal.sees(ASKED);
        // A question is no draft and no feedback.
        assert!(shown.contains("draft 2 of 3") && !shown.contains(QUESTION), "{shown}");
        terminal.types("p");
        assert_eq!(terminal.ends().0, 0);
        let asked = sandbox.server.requests_of("prd", "actor");
        let text = asked.iter().rfind(|one| one.iteration == 2).unwrap().text();
        assert_eq!(text.contains("Nobody asked for it"), question, "{text}");
        let said: Value = serde_json::from_str(&sandbox.artifact("feedback_history.json")).unwrap();
        assert_eq!(said.as_array().unwrap().len(), 1, "{said}");
        let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
        trailers["Cowork-Tokens"][0].clone()
    };
    let number = |text: &str, key: &str| -> u64 {
        let value = text.split(' ').find_map(|part| part.strip_prefix(key)).unwrap();
        value.parse().unwrap()
    };
    let (without, with) = (tokens(false), tokens(true));
    // A look at the files, and the answer.
    assert_eq!(number(&with, "in="), number(&without, "in=") + 100 + 200, "{with} {without}");
    assert_eq!(number(&with, "out="), number(&without, "out=") + 20 + 30);
}

#[test]
fn a_question_changes_nothing_whatever_the_model_tries() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.on_with(at("prd", "actor").iteration(1), |received| {
        let text = received.text();
        if !text.contains(QUESTION) {
            return None;
        }
        let refused = received.tool_results().iter().any(|r| r.contains("not available"));
        Some(match refused {
            false => Reply::call("save_prd_doc", json!({"content": "# Mine\n"})),
            true => Reply::text("I may not."),
        })
    });
    let mut terminal = prd_gate(&sandbox);
    let shown = asks(&mut terminal, QUESTION);
    assert!(shown.contains("I may not."), "{shown}");
    assert_eq!(sandbox.artifact("prd.md"), PRD);
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
}

#[test]
fn where_the_server_fails_the_gate_comes_again_and_says_so() {
    let sandbox = Sandbox::stopped_after("idea");
    let mut terminal = prd_gate(&sandbox);
    let body = json!({"error": {"message": "out of quota", "type": "insufficient_quota"}});
    sandbox.server.times(1, at("prd", "actor"), Reply::status(401, &body.to_string()));
    let shown = asks(&mut terminal, QUESTION);
    assert!(shown.contains("the actor did not answer"), "{shown}");
    assert!(shown.contains("out of quota"), "{shown}");
    answers(&sandbox);
    let shown = asks(&mut terminal, QUESTION);
    assert!(shown.contains("Nobody asked for it"), "{shown}");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn an_interruption_while_the_actor_answers_keeps_the_draft() {
    let sandbox = Sandbox::stopped_after("idea");
    let mut terminal = prd_gate(&sandbox);
    sandbox.server.on(at("prd", "actor"), Reply::text("slow").fault(Fault::NeverAnswers));
    terminal.types("t");
    terminal.sees("t  ");
    terminal.enters(QUESTION);
    terminal.sees("Ctrl-C");
    terminal.control('c');
    assert_eq!(terminal.ends().0, 130);
    sandbox.assert_sound();
    let mut terminal = prd_gate(&sandbox);
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Iterations"], ["1"]);
}

#[test]
fn the_code_is_asked_about_too() {
    let sandbox = Sandbox::stopped_after("plan");
    let mut terminal = sandbox.terminal(&["resume"]);
    terminal.sees(ASKED);
    sandbox.server.on_with(at("coding", "actor"), |received| {
        let text = received.text();
        text.contains(QUESTION).then(|| Reply::text("It is in lib/list.sh."))
    });
    let shown = asks(&mut terminal, QUESTION);
    assert!(shown.contains("It is in lib/list.sh."), "{shown}");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert!(code == 3 || code == 0, "{rest}");
    let commit = sandbox.stage_commit("coding");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["passed"]);
    sandbox.assert_sound();
}
