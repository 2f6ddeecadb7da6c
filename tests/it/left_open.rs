//! A question at a gate that a person looks at and does not answer is asked again.

use serde_json::{Value, json};

use crate::answers::unreadable;
use crate::support::pty::Terminal;
use crate::support::todo::{file_of, prd_draft};
use crate::support::{Reply, Sandbox, at};

const ASKS: &str = "Which shell?";

#[test]
fn a_question_that_is_left_open_at_a_terminal_waits() {
    let sandbox = Sandbox::stopped_after("plan");
    let goto = Reply::call("goto_stage", json!({"stage": "design", "reason": "it is empty"}));
    sandbox.server.times(1, at("coding", "actor").task("TASK-001").turn(1), goto);
    let mut terminal = sandbox.terminal(&["resume"]);
    terminal.sees("stop for now");
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto"]).exits(3).says("to design: it is empty");
    assert!(sandbox.server.requests().is_empty());
    let history: Vec<Value> = sandbox.cowork(&["log", "--json"]).exits(0).json_lines();
    assert!(!history.iter().any(|step| step["event"] == "went_back"), "{history:?}");
}

/// The actor's question waits, and a person is shown it at the gate.
fn at_the_question(sandbox: &Sandbox, stage: &str) -> Terminal {
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", stage]).exits(3).says(ASKS);
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", stage]);
    terminal.sees(ASKS);
    terminal.sees("? help");
    terminal
}

/// The person leaves, and nothing goes on without an answer.
fn still_waits(sandbox: &Sandbox, mut terminal: Terminal) {
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Stuck"], [format!("asked the actor asks: {ASKS}")]);
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto"]).exits(3);
    assert!(sandbox.server.requests().is_empty());
    sandbox.assert_sound();
}

/// Asks about the second task, with the code of the first one there.
fn coding_asks() -> Sandbox {
    let sandbox = Sandbox::stopped_after("plan");
    let ask = Reply::call("ask_user", json!({"question": ASKS}));
    sandbox.server.times(1, at("coding", "actor").task("TASK-002").turn(1), ask);
    sandbox
}

#[test]
fn a_question_is_asked_again_after_an_edit_of_the_code() {
    let mut sandbox = coding_asks();
    let file = file_of("TASK-001");
    sandbox.editor(&format!("case $f in *{file}) echo '# by hand' >>\"$f\";; esac"));
    let mut terminal = at_the_question(&sandbox, "coding");
    terminal.types("e");
    terminal.sees("it is checked and shown again");
    terminal.sees(ASKS);
    terminal.sees("? help");
    assert!(sandbox.read(file).ends_with("# by hand\n"));
    still_waits(&sandbox, terminal);
}

#[test]
fn a_question_is_asked_again_after_an_answer_that_does_not_count() {
    let sandbox = coding_asks();
    let mut run = at_the_question(&sandbox, "coding");
    let mut watch = sandbox.terminal(&["watch", "todo"]);
    watch.sees("q stop watching");
    sandbox.write(file_of("TASK-001"), "# mine\n");
    watch.types("p");
    watch.sees("your answer does not count: the files have changed");
    run.sees(ASKS);
    run.sees("? help");
    still_waits(&sandbox, run);
}

#[test]
fn a_question_is_asked_again_after_a_pass_of_what_cannot_be_read() {
    let sandbox = Sandbox::stopped_after("idea");
    let ask = prd_draft().and("ask_user", json!({"question": ASKS}));
    sandbox.server.times(1, at("prd", "actor").turn(1), ask);
    let mut terminal = at_the_question(&sandbox, "prd");
    unreadable(&sandbox);
    terminal.types("p");
    terminal.sees("changed on disk after the draft was shown");
    terminal.sees("? help");
    terminal.types("p");
    terminal.sees("'urgent' is not a priority");
    terminal.sees("? help");
    still_waits(&sandbox, terminal);
}
