//! A gate that is open at a run's terminal, answered from another one with `git cowork watch`.

use crate::modify::delivered;
use crate::support::change::triage;
use crate::support::pty::Terminal;
use crate::support::todo::reject;
use crate::support::{Sandbox, at};

const NEW: [&str; 6] =
    ["new", "-n", "todo", "a todo list for the terminal", "--stop-after", "idea"];
/// The last line of the gate's menu.
const ASKED: &str = "stop for now";
/// The last line of what is shown to whoever watches.
const WATCHED: &str = "q stop watching";

/// A run that stands at the gate of the idea, and somebody who watches it there.
fn both(sandbox: &Sandbox) -> (Terminal, Terminal) {
    let mut run = sandbox.terminal(&NEW);
    run.sees("p pass ");
    run.sees(ASKED);
    let mut watch = sandbox.terminal(&["watch", "todo"]);
    let seen = watch.sees(WATCHED);
    assert!(seen.contains(" waits for you") && seen.contains("Notes get lost"), "{seen}");
    (run, watch)
}

#[test]
fn a_pass_from_another_terminal_passes_what_was_shown() {
    let sandbox = Sandbox::new();
    let (mut run, mut watch) = both(&sandbox);
    watch.types("x");
    watch.sees("unknown key 'x'");
    watch.sees(WATCHED);
    watch.types("p");
    watch.sees("your answer was taken");
    run.sees("answered from another terminal: pass");
    let (code, rest) = run.ends();
    assert_eq!(code, 0, "{rest}");
    let (code, rest) = watch.ends();
    assert!(code == 0 && rest.contains("todo: the run has ended"), "{rest}");
    let trailers = sandbox.trailers(&sandbox.stage_commit("idea"));
    assert_eq!(trailers["Cowork-Review"], ["passed"]);
    assert_eq!(trailers["Reviewed-by"], ["Ana Example <ana@example.org>"]);
    sandbox.assert_sound();
}

#[test]
fn feedback_from_another_terminal_reaches_the_actor() {
    let sandbox = Sandbox::new();
    let (mut run, mut watch) = both(&sandbox);
    watch.types("f");
    watch.sees("feedback (");
    watch.enters("name the users");
    watch.sees("your answer was taken");
    run.sees("answered from another terminal: feedback: name the users");
    // The next draft is shown at both.
    run.sees(ASKED);
    watch.sees(" waits for you");
    watch.sees(WATCHED);
    run.types("p");
    watch.sees("it was answered at the run's terminal");
    assert_eq!(run.ends().0, 0);
    assert_eq!(watch.ends().0, 0);
    let asked = sandbox.server.requests_of("idea", "actor");
    assert!(asked.iter().any(|request| request.text().contains("name the users")));
}

#[test]
fn an_answer_waits_for_an_editor_that_is_open_there() {
    let mut sandbox = Sandbox::new();
    let closes = sandbox.root().join("closes");
    sandbox.editor(&format!("until test -e '{}'; do sleep 0.1; done", closes.display()));
    let (mut run, mut watch) = both(&sandbox);
    run.types("e");
    watch.types("p");
    watch.sees("the run uses it when its terminal is back at the menu");
    std::fs::write(&closes, "").unwrap();
    watch.sees("your answer was taken");
    run.sees("answered from another terminal: pass");
    assert_eq!((run.ends().0, watch.ends().0), (0, 0));
}

#[test]
fn who_answers_second_is_told() {
    let sandbox = Sandbox::new();
    let (mut run, mut watch) = both(&sandbox);
    watch.types("f");
    watch.sees("feedback (");
    run.types("p");
    assert_eq!(run.ends().0, 0);
    watch.enters("too late");
    watch.sees("it was answered at the run's terminal");
    let (code, rest) = watch.ends();
    assert!(code == 0 && !rest.contains("was taken"), "{rest}");
    let asked = sandbox.server.requests_of("idea", "actor");
    assert!(!asked.iter().any(|request| request.text().contains("too late")));
}

#[test]
fn words_that_came_too_late_begin_the_next_feedback() {
    let sandbox = Sandbox::new();
    let mut run = sandbox.terminal(&["new", "-n", "todo", "a todo list", "--stop-after", "prd"]);
    run.sees(ASKED);
    let mut watch = sandbox.terminal(&["watch", "todo"]);
    watch.sees(WATCHED);
    // The run's terminal is late.
    run.types("f");
    run.sees("f  ");
    watch.types("p");
    watch.sees("the run uses it when its terminal is back at the menu");
    run.enters("name the users");
    run.sees("answered from another terminal: pass; your answer came later");
    run.sees("what you typed is kept for your next feedback");
    let shown = run.sees(ASKED);
    assert!(shown.contains("\"name the users\"; f continues the text"), "{shown}");
    // Now the other one is.
    watch.sees(WATCHED);
    watch.types("f");
    watch.sees("feedback (");
    let mut second = sandbox.terminal(&["watch", "todo"]);
    second.sees(WATCHED);
    second.types("f");
    second.sees("feedback (");
    run.types("f");
    run.sees("name the users");
    run.enters(" and the files");
    run.sees("draft 2");
    run.sees(ASKED);
    watch.enters("sort by date");
    watch.sees("it was answered at the run's terminal");
    watch.sees("what you typed is kept for your next feedback");
    second.enters("by name");
    second.sees("what you typed is kept for your next feedback");
    second.sees(WATCHED);
    second.types("q");
    second.sees("not sent: by name");
    let asked = sandbox.server.requests_of("prd", "actor");
    assert!(asked.iter().any(|request| request.text().contains("name the users and the files")));
    watch.sees(WATCHED);
    watch.types("f");
    watch.sees("sort by date");
    watch.enters(", newest first");
    watch.sees("your answer was taken");
    run.sees("feedback: sort by date, newest first");
    run.sees(ASKED);
    run.types("q");
    assert_eq!(run.ends().0, 3);
    sandbox.assert_sound();
}

#[test]
fn bytes_that_nobody_there_has_seen_do_not_pass() {
    let sandbox = Sandbox::new();
    let (mut run, mut watch) = both(&sandbox);
    let path = ".cowork/sessions/todo/idea.md";
    sandbox.write(path, &sandbox.read(path).replace("One file", "Two files"));
    watch.types("p");
    watch.sees("your answer does not count: the files have changed");
    run.sees("does not count");
    // Asked again, about what is there now.
    run.sees(ASKED);
    let seen = watch.sees(WATCHED);
    assert!(seen.contains("Two files"), "{seen}");
    watch.types("q");
    assert_eq!(watch.ends().0, 0);
    run.types("p");
    assert_eq!(run.ends().0, 0);
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("idea"))["Cowork-Review"], ["edited"]);
}

#[test]
fn code_is_shown_as_a_difference_and_passes_from_there_too() {
    let sandbox = Sandbox::stopped_after("plan");
    let mut run = sandbox.terminal(&["resume", "--stop-after", "coding"]);
    run.sees(ASKED);
    let mut watch = sandbox.terminal(&["watch", "todo"]);
    let seen = watch.sees(WATCHED);
    assert!(seen.contains(" waits for you") && seen.contains("+++ b/lib/add.sh"), "{seen}");
    assert!(!seen.contains("implementation_plan.json"), "{seen}");
    watch.types("p");
    watch.sees("your answer was taken");
    assert_eq!(run.ends().0, 0);
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("coding"))["Cowork-Review"], ["passed"]);
}

#[test]
fn code_edited_meanwhile_is_asked_about_again() {
    let sandbox = Sandbox::stopped_after("plan");
    let mut run = sandbox.terminal(&["resume", "--stop-after", "coding"]);
    run.sees(ASKED);
    let mut watch = sandbox.terminal(&["watch", "todo"]);
    watch.sees(WATCHED);
    sandbox.write("lib/add.sh", "# mine\n");
    watch.types("p");
    watch.sees("your answer does not count: the files have changed");
    run.sees(ASKED);
    watch.sees("+# mine");
    watch.sees(WATCHED);
    watch.types("p");
    watch.sees("your answer was taken");
    assert_eq!(run.ends().0, 0);
    let commit = sandbox.stage_commit("coding");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["edited"]);
    assert_eq!(sandbox.blob(&commit, "lib/add.sh"), "# mine\n");
}

#[test]
fn a_run_that_ends_takes_its_gate_with_it() {
    let sandbox = Sandbox::new();
    let (mut run, mut watch) = both(&sandbox);
    run.types("q");
    assert_eq!(run.ends().0, 3);
    watch.sees("it was answered at the run's terminal");
    let (code, rest) = watch.ends();
    assert!(code == 0 && rest.contains("git cowork review todo"), "{rest}");
}

/// A run whose critic refuses each PRD, at the menu behind its last draft, and somebody who watches.
fn at_the_limit() -> (Sandbox, Terminal, Terminal) {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.user_config("[limits]\niterations = { prd = 1 }\n[review]\ngates = [\"coding\"]\n");
    sandbox.server.on(at("prd", "critic").iteration(1), reject("REQ-002 is vague"));
    let mut run = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    run.sees("q  stop for now");
    let mut watch = sandbox.terminal(&["watch", "todo"]);
    let seen = watch.sees(WATCHED);
    for text in ["draft limit reached (1/1)", "REQ-002 is vague", "2  give guidance and retry"] {
        assert!(seen.contains(text), "{text}: {seen}");
    }
    (sandbox, run, watch)
}

#[test]
fn a_stage_that_is_stuck_goes_on_with_guidance_from_another_terminal() {
    let (sandbox, mut run, mut watch) = at_the_limit();
    watch.types("2");
    watch.sees("what should the actor do?");
    watch.enters("number the second requirement");
    watch.sees("your answer was taken");
    run.sees("answered from another terminal: guidance: number the second requirement");
    assert_eq!(run.ends().0, 0);
    assert_eq!(watch.ends().0, 0);
    let asked = sandbox.server.requests_of("prd", "actor");
    assert!(asked.iter().any(|request| request.text().contains("number the second requirement")));
    sandbox.assert_sound();
}

#[test]
fn a_draft_read_from_a_stuck_stages_menu_is_answered_at_its_gate() {
    let (sandbox, mut run, mut watch) = at_the_limit();
    watch.types("x");
    watch.sees("unknown key 'x'");
    watch.sees(WATCHED);
    watch.types("r");
    watch.sees("your answer was taken");
    run.sees("answered from another terminal: read the draft");
    run.sees(ASKED);
    watch.sees(" waits for you");
    watch.sees("p pass ");
    watch.types("p");
    watch.sees("your answer was taken");
    assert_eq!((run.ends().0, watch.ends().0), (0, 0));
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Review"], ["passed"]);
}

#[test]
fn going_back_and_giving_up_can_be_said_from_another_terminal() {
    let (sandbox, mut run, mut watch) = at_the_limit();
    watch.types("g");
    watch.sees("1  idea");
    watch.types("1");
    watch.sees("your answer was taken");
    run.sees("answered from another terminal: go back to idea");
    assert!(!sandbox.git(&["for-each-ref", "refs/cowork/attempts/todo/1"]).is_empty());
    drop((run, watch));
    let (sandbox, mut run, mut watch) = at_the_limit();
    watch.types("3");
    watch.sees("your answer was taken");
    run.sees("answered from another terminal: abort");
    assert_eq!((run.ends().0, watch.ends().0), (1, 0));
    sandbox.assert_sound();
}

#[test]
fn who_answers_a_menu_second_is_told() {
    let (_sandbox, mut run, mut watch) = at_the_limit();
    watch.types("2");
    watch.sees("what should the actor do?");
    run.types("3");
    assert_eq!(run.ends().0, 1);
    watch.enters("too late");
    watch.sees("it was answered at the run's terminal");
    assert_eq!(watch.ends().0, 0);
    // And the other way round: a list of stages that is open there goes when the answer comes.
    let (_sandbox, mut run, mut watch) = at_the_limit();
    run.types("g");
    run.sees("1  idea");
    watch.types("3");
    run.sees("answered from another terminal: abort");
    watch.sees("your answer was taken");
    assert_eq!((run.ends().0, watch.ends().0), (1, 0));
}

#[test]
fn what_tools_may_write_of_a_persons_files_is_allowed_from_another_terminal() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.write("lib/add.sh", "mine\n");
    let mut run = sandbox.terminal(&["resume", "--stop-after", "coding"]);
    run.sees("Tools want to write lib/add.sh");
    run.sees("[y/N]");
    let mut watch = sandbox.terminal(&["watch", "todo"]);
    let seen = watch.sees(WATCHED);
    assert!(seen.contains("Tools want to write lib/add.sh") && seen.contains("y  yes"), "{seen}");
    // There is nothing to look at but what is asked.
    assert!(!seen.contains("d diff"), "{seen}");
    watch.types("y");
    watch.sees("your answer was taken");
    run.sees("answered from another terminal: yes");
    run.sees(ASKED);
    watch.sees(WATCHED);
    run.types("p");
    assert_eq!((run.ends().0, watch.ends().0), (0, 0));
    assert_eq!(sandbox.blob("refs/cowork/attempts/todo/1", "lib/add.sh"), "mine\n");
    assert_ne!(sandbox.blob("cowork/todo", "lib/add.sh"), "mine\n");
    sandbox.assert_sound();
}

#[test]
fn the_gate_on_triage_shows_prose_after_feedback_and_to_who_watches() {
    let sandbox = delivered();
    sandbox.script_small_change("lib/add.sh", "at once");
    let again = triage("Say much more", &["code"], &["lib/add.sh"]);
    sandbox.server.on(at("triage", "actor").iteration(2).turn(1), again);
    let mut terminal = sandbox.terminal(&["modify", "be quick", "--stop-after", "triage"]);
    terminal.sees("stop for now");
    terminal.types("f");
    terminal.enters("say more");
    let shown = terminal.sees("stop for now");
    let mut watch = sandbox.terminal(&["watch", "todo--be-quick"]);
    let watched = watch.sees("q stop watching");
    for shown in [&shown, &watched] {
        assert!(
            shown.contains("Say much more") && shown.contains("low risk change of code"),
            "{shown}"
        );
        assert!(!shown.contains("\"summary\""), "{shown}");
    }
    watch.types("q");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
}
