//! The gate on a terminal: what is shown, which keys do what, and what never passes.

use serde_json::json;

use crate::support::pty::Terminal;
use crate::support::todo::{self, IDEA, PRD};
use crate::support::{Reply, Sandbox, at};

const NEW: [&str; 6] =
    ["new", "-n", "todo", "a todo list for the terminal", "--stop-after", "idea"];

/// The last line of the menu: from here on keys are read.
const ASKED: &str = "? help";

fn at_the_gate(sandbox: &Sandbox) -> Terminal {
    let mut terminal = sandbox.terminal(&NEW);
    terminal.sees("p pass ");
    terminal.sees(ASKED);
    terminal
}

#[test]
fn p_passes() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.terminal(&NEW);
    let shown = terminal.sees("p pass ");
    assert!(shown.contains("idea") && shown.contains("A todo list for the terminal"), "{shown}");
    terminal.sees(ASKED);
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let trailers = sandbox.trailers(&sandbox.stage_commit("idea"));
    assert_eq!(trailers["Cowork-Review"], ["passed"]);
    assert_eq!(trailers["Reviewed-by"], ["Ana Example <ana@example.org>"]);
    sandbox.assert_sound();
}

#[test]
fn f_asks_what_to_change_and_the_gate_comes_again() {
    let sandbox = Sandbox::new();
    let second = IDEA.replace("Add, list", "Haiku: add, list");
    sandbox.server.on_with(at("idea", "actor").turn(1), move |received| {
        let told = received.text().contains("say it in a haiku");
        told.then(|| Reply::call("save_idea", json!({"content": second})))
    });
    let mut terminal = at_the_gate(&sandbox);
    terminal.types("f");
    terminal.sees("f  ");
    terminal.enters("say it in a haiku");
    terminal.sees("Haiku");
    terminal.sees(ASKED);
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let commit = sandbox.stage_commit("idea");
    assert!(sandbox.blob(&commit, ".cowork/sessions/todo/idea.md").contains("Haiku"));
}

#[test]
fn e_opens_the_real_file_in_the_users_editor() {
    let mut sandbox = Sandbox::new();
    sandbox.editor("printf 'A line of mine.\\n' >>\"$f\"");
    let mut terminal = at_the_gate(&sandbox);
    // What was saved is shown, and passes only then.
    terminal.types("e");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("Your edit: 1 line added"), "{shown}");
    assert!(shown.contains("+A line of mine."), "{shown}");
    assert!(sandbox.tags().is_empty());
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(sandbox.edited(), ["idea.md"]);
    let commit = sandbox.stage_commit("idea");
    let text = sandbox.blob(&commit, ".cowork/sessions/todo/idea.md");
    assert_eq!(text, format!("{IDEA}A line of mine.\n"));
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["edited"]);
}

#[test]
fn a_failed_editor_comes_back_to_the_gate() {
    let mut sandbox = Sandbox::new();
    sandbox.editor("exit 1");
    let mut terminal = at_the_gate(&sandbox);
    terminal.types("e");
    terminal.sees("nothing is decided");
    terminal.sees("p pass ");
    terminal.types("q");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 3, "{rest}");
    assert!(sandbox.tags().is_empty());
}

#[test]
fn q_leaves_the_draft_waiting_in_a_clean_tree() {
    let sandbox = Sandbox::new();
    let mut terminal = at_the_gate(&sandbox);
    terminal.types("q");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 3, "{rest}");
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Event"], ["draft"]);
    sandbox.assert_sound();
    // It can be answered later, here or elsewhere.
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "idea"]).exits(0);
}

#[test]
fn enter_alone_never_passes() {
    let sandbox = Sandbox::new();
    let mut terminal = at_the_gate(&sandbox);
    terminal.types("\r\n\r\n");
    terminal.sees("Enter alone decides nothing");
    terminal.types("q");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 3, "{rest}");
    assert!(sandbox.tags().is_empty());
}

#[test]
fn a_paste_at_the_gate_decides_nothing() {
    let sandbox = Sandbox::new();
    let mut terminal = at_the_gate(&sandbox);
    terminal.types("please pass\rp\r");
    terminal.sees("that was a paste");
    terminal.types("q");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 3, "{rest}");
    assert!(sandbox.tags().is_empty());
}

#[test]
fn the_gate_stands_below_what_was_shown_and_says_things_once() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.terminal(&NEW);
    let before = terminal.sees("p pass ");
    assert!(!before.contains("draft 1: waiting for you"), "{before}");
    assert_eq!(before.matches('\u{7}').count(), 1, "{before}");
    // Every line of the gate begins where lines begin.
    let header = before.lines().find(|line| line.contains("your decision"));
    let header = header.unwrap_or_default().rsplit('\r').next().unwrap_or_default();
    assert!(!header.contains("tokens · "), "{header:?}");
    terminal.sees(ASKED);
    terminal.types("f shorter, please\r");
    let after = terminal.sees("p pass ");
    assert_eq!(after.matches("shorter, please").count(), 2, "typed, and what was said: {after}");
    terminal.sees(ASKED);
    terminal.types("q");
    terminal.ends();
}

#[test]
fn the_end_of_input_never_passes() {
    let sandbox = Sandbox::new();
    let mut terminal = at_the_gate(&sandbox);
    terminal.control('d');
    let (code, rest) = terminal.ends();
    assert!([3, 130].contains(&code), "exit {code}: {rest}");
    assert!(sandbox.tags().is_empty());
}

#[test]
fn an_interrupt_at_the_gate_loses_nothing() {
    let sandbox = Sandbox::new();
    let mut terminal = at_the_gate(&sandbox);
    terminal.control('c');
    let (code, rest) = terminal.ends();
    assert_eq!(code, 130, "{rest}");
    assert!(sandbox.tags().is_empty());
    sandbox.assert_sound();
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "idea"]).exits(0);
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea"]);
}

#[test]
fn a_aborts_and_keeps_everything() {
    let sandbox = Sandbox::new();
    let mut terminal = at_the_gate(&sandbox);
    terminal.types("a");
    terminal.sees("Everything is kept");
    terminal.types("y");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 1, "{rest}");
    let kept = sandbox.git(&["log", "--all", "-p", "--format=", "--", ".cowork"]);
    assert!(kept.contains("Notes get lost"), "the draft is nowhere");
    sandbox.assert_sound();
}

#[test]
fn an_abort_in_coding_says_and_does_that_the_whole_is_corrected() {
    let sandbox = Sandbox::stopped_after("plan");
    let mut terminal = sandbox.terminal(&["resume"]);
    terminal.sees("stop for now");
    terminal.types("a");
    terminal.sees("[y/n]");
    terminal.types("y");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 1, "{rest}");
    assert!(rest.contains("corrects the code as a whole"), "{rest}");
    sandbox.assert_clean();
    sandbox.server.forget();
    sandbox.server.on_with(at("coding", "actor").turn(1), |received| {
        let again = received.text().contains("do it differently");
        let args = json!({"path": "lib/add.sh", "content": "# differently\n"});
        again.then(|| Reply::call("write_file", args))
    });
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
    assert_eq!(sandbox.server.requests_of("coding", "actor").len(), 2, "one correction");
    assert_eq!(sandbox.blob("HEAD", "lib/add.sh"), "# differently\n");
}

#[test]
fn v_shows_the_whole_document() {
    let sandbox = Sandbox::new();
    let mut terminal = at_the_gate(&sandbox);
    terminal.types("v");
    terminal.sees("Write the requirements.");
    terminal.sees("p pass ");
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
}

#[test]
fn review_without_a_flag_asks() {
    let sandbox = Sandbox::new();
    sandbox.wait(&["--stop-after", "idea"]).exits(3);
    let mut terminal = sandbox.terminal(&["review"]);
    terminal.sees(ASKED);
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["passed"]);
    assert!(sandbox.tags().is_empty(), "review runs nothing");
}

#[test]
fn no_interactive_never_prompts_on_a_terminal_either() {
    let sandbox = Sandbox::new();
    let args = [&NEW[..], &["--no-interactive"]].concat();
    let (code, rest) = sandbox.terminal(&args).ends();
    assert_eq!(code, 3, "{rest}");
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Event"], ["draft"]);
}

#[test]
fn streamed_text_is_shown() {
    let sandbox = Sandbox::new();
    let args = [&NEW[..], &["--review", "auto", "--stream"]].concat();
    let mut terminal = sandbox.terminal(&args);
    terminal.sees("The draft is saved.");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
}

#[test]
fn an_edit_that_fails_the_checks_comes_back_to_the_person() {
    let mut sandbox = Sandbox::stopped_after("idea");
    // Its only criterion becomes a sentence.
    sandbox.editor("sed -i 's/^- Tick a todo off works/Tick a todo off works/' \"$f\"");
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    terminal.sees(ASKED);
    terminal.types("e");
    let shown = terminal.sees("leave it as it is and stop");
    assert!(shown.contains("Your edit") && shown.contains("REQ-003 has no criteria"), "{shown}");
    sandbox.editor("sed -i 's/^Tick a todo off works/- Tick a todo off works/' \"$f\"");
    terminal.types("e");
    terminal.sees(ASKED);
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
    assert_eq!(trailers["Cowork-Iterations"], ["1"]);
}

#[test]
fn a_second_review_elsewhere_shows_what_changed_since_the_answer() {
    let sandbox = Sandbox::stopped_after("idea");
    let resume = || sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "prd"]).exits(3);
    resume();
    sandbox.cowork(&["review", "--feedback", "REQ-002 by date"]).exits(0);
    let second = PRD.replace("REQ-002 List todos", "REQ-002 List todos by date");
    sandbox.server.sequence(
        at("prd", "actor").iteration(2),
        vec![Reply::call("save_prd_doc", json!({"content": second})), Reply::text("Done.")],
    );
    resume();
    let mut terminal = sandbox.terminal(&["review"]);
    let shown = terminal.sees(ASKED);
    assert!(
        shown.contains("Since you last looked: 1 requirement changed, 2 lines changed"),
        "{shown}"
    );
    assert!(shown.contains("+### REQ-002 List todos by date"), "{shown}");
    assert!(shown.contains("You said \"REQ-002 by date\""), "{shown}");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn a_wish_to_go_back_is_not_forgotten_when_the_gate_is_left() {
    let base = Sandbox::stopped_after("prd");
    for leave in ["q", "interrupt"] {
        let sandbox = base.fork();
        let wish = json!({"stage": "prd", "reason": "REQ-001 cannot be built"});
        sandbox.server.on(at("design", "critic"), Reply::call("goto_stage", wish));
        let mut terminal = sandbox.terminal(&["resume", "--stop-after", "design"]);
        terminal.sees("stop for now");
        terminal.types("p");
        let shown = terminal.sees("stop for now");
        assert!(shown.contains("the design critic asks to go back to prd"), "{shown}");
        if leave == "q" {
            terminal.types("q");
        } else {
            terminal.control('c');
        }
        assert!([3, 130].contains(&terminal.ends().0));
        sandbox.assert_clean();
        // Nobody has answered: where nobody can be asked it waits, and no model is.
        sandbox.server.on(at("design", "critic"), todo::approve());
        sandbox.server.forget();
        let wait = ["resume", "--review", "wait", "--stop-after", "design"];
        sandbox.cowork(&wait).exits(3).says("REQ-001 cannot be built");
        assert!(sandbox.server.requests().is_empty(), "{leave}");
        // At the gate it is said again, and a pass is the answer.
        let mut terminal = sandbox.terminal(&["resume", "--stop-after", "design"]);
        let shown = terminal.sees("stop for now");
        assert!(shown.contains("REQ-001 cannot be built"), "{leave}: {shown}");
        terminal.types("p");
        let (code, rest) = terminal.ends();
        assert_eq!(code, 0, "{leave}: {rest}");
        assert!(sandbox.server.requests().is_empty(), "{leave}");
    }
}
