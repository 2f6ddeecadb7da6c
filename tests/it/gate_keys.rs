//! The gate's keys for a person's own edit: what broke is said and asked about, what was edited is taken
//! back, and nothing a person wrote is lost.

use serde_json::json;

use crate::support::change::triage;
use crate::support::pty::Terminal;
use crate::support::todo::{PRD, file_of, requirement_section};
use crate::support::{Reply, Sandbox, at};

/// The last words of the menu: from here on keys are read.
const ASKED: &str = "? help";
/// The last line of the question about an edit that broke.
const BROKEN: &str = "leave it as it is and stop";

const MINE: &str = ".cowork/sessions/todo/prd.md";
/// Deletes the only criterion of a requirement.
const NO_CRITERION: &str =
    "case \"$f\" in *prd.md) sed -i '/^### REQ-003/,/works$/{/^- /d}' \"$f\";; esac";
const CRITERION: &str = "- Tick a todo off works";
/// The second time it corrects what it broke.
const URGENT: &str = "case \"$f\" in *prd.md) if grep -q urgent \"$f\"; then \
    sed -i 's/urgent/high/' \"$f\"; else sed -i '0,/`high`/s//`urgent`/' \"$f\"; fi;; esac";

fn prd_gate(sandbox: &Sandbox) -> Terminal {
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    terminal.sees(ASKED);
    terminal
}

/// At the gate of the PRD, with this editor.
fn at_prd(editor: &str) -> (Sandbox, Terminal) {
    let mut sandbox = Sandbox::stopped_after("idea");
    sandbox.editor(editor);
    let terminal = prd_gate(&sandbox);
    (sandbox, terminal)
}

/// A file of the newest attempt.
fn attempted(sandbox: &Sandbox, number: u32) -> String {
    sandbox.blob(&format!("refs/cowork/attempts/todo/{number}"), MINE)
}

#[test]
fn an_edit_that_cannot_be_read_is_said_with_its_line_and_edited_again() {
    let (sandbox, mut terminal) = at_prd(URGENT);
    terminal.types("e");
    let shown = terminal.sees(BROKEN);
    let line = PRD.lines().position(|line| line.contains("`high`")).unwrap() + 1;
    assert!(shown.contains(&format!("prd.md:{line}: 'urgent' is not a priority")), "{shown}");
    assert!(shown.contains("Your edit cannot be read"), "{shown}");
    assert!(!shown.contains("hand it to the actor"), "{shown}");
    terminal.types("e");
    terminal.sees(ASKED);
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(sandbox.artifact("prd.md"), PRD);
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Iterations"], ["1"]);
}

#[test]
fn an_edit_that_broke_is_taken_back_and_kept() {
    let (sandbox, mut terminal) = at_prd(URGENT);
    terminal.types("e");
    terminal.sees(BROKEN);
    terminal.types("x");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("is reverted and kept as attempt 1"), "{shown}");
    assert!(shown.contains("git cowork restore todo 1"), "{shown}");
    assert!(!shown.contains("x take my edit back"), "{shown}");
    assert!(attempted(&sandbox, 1).contains("`urgent`"));
    assert_eq!(sandbox.artifact("prd.md"), PRD);
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    let commit = sandbox.stage_commit("prd");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["passed"]);
    assert_eq!(sandbox.blob(&commit, MINE), PRD);
    let log = sandbox.cowork(&["log"]).exits(0).stdout;
    assert!(log.contains("attempt 1: your edit of prd.md, taken back"), "{log}");
    sandbox.assert_sound();
}

#[test]
fn an_edit_the_checks_refuse_is_said_at_once_and_stays_where_it_is_left() {
    let (sandbox, mut terminal) = at_prd(NO_CRITERION);
    let asked = sandbox.server.requests().len();
    terminal.types("e");
    let shown = terminal.sees(BROKEN);
    assert!(shown.contains("REQ-003 has no criteria"), "{shown}");
    assert!(shown.contains("Your edit does not pass the checks"), "{shown}");
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    assert!(!sandbox.artifact("prd.md").contains(CRITERION), "the edit is gone");
    assert_eq!(sandbox.server.requests().len(), asked);
    // The gate says it again, and there the edit can be taken back, too.
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("your edit does not pass the checks"), "{shown}");
    assert!(shown.contains("x take my edit back"), "{shown}");
    terminal.types("x");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("kept as attempt 1"), "{shown}");
    assert!(!shown.contains("does not pass"), "{shown}");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(sandbox.blob(&sandbox.stage_commit("prd"), MINE), PRD);
    assert!(!attempted(&sandbox, 1).contains(CRITERION));
    sandbox.assert_sound();
}

#[test]
fn an_edit_the_checks_refuse_can_be_handed_to_the_actor() {
    let (sandbox, mut terminal) = at_prd(NO_CRITERION);
    sandbox.server.on_with(at("prd", "actor").iteration(2).turn(1), |received| {
        let text = received.text();
        let told =
            text.contains("I edited prd.md by hand") && text.contains("REQ-003 has no criteria");
        let more = requirement_section("REQ-003", "Sort todos");
        told.then(|| Reply::call("save_prd_doc", json!({"content": more})))
    });
    terminal.types("e");
    terminal.sees(BROKEN);
    terminal.types("p");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("draft 2 of 3"), "{shown}");
    assert!(sandbox.artifact("prd.md").contains("REQ-003 Sort todos"));
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
}

#[test]
fn an_edit_that_was_taken_back_comes_again_and_passes_as_an_edit() {
    let sandbox = Sandbox::stopped_after("idea");
    let mut terminal = prd_gate(&sandbox);
    let theirs = PRD.replace("REQ-002 List todos", "REQ-002 List todos by date");
    // Beside the gate, with another program.
    sandbox.write(MINE, &theirs);
    terminal.types("?");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("take your edit of prd.md back"), "{shown}");
    terminal.types("x");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("kept as attempt 1"), "{shown}");
    assert_eq!(sandbox.artifact("prd.md"), PRD);
    terminal.types("x");
    terminal.sees("unknown key 'x'");
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    let listed = sandbox.cowork(&["undo", "--list"]).exits(0).stdout;
    assert!(listed.contains("your edit of prd.md, taken back"), "{listed}");
    sandbox.cowork(&["undo"]).exits(0);
    assert_eq!(sandbox.artifact("prd.md"), theirs);
    let mut terminal = prd_gate(&sandbox);
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let commit = sandbox.stage_commit("prd");
    assert_eq!(sandbox.blob(&commit, MINE), theirs);
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["edited"]);
    sandbox.cowork(&["verify"]).exits(0);
    assert!(sandbox.blob(&commit, ".cowork/sessions/todo/requirements.json").contains("by date"));
    sandbox.assert_sound();
}

#[test]
fn a_taken_back_edit_stays_taken_back_after_an_interruption() {
    let (sandbox, mut terminal) = at_prd(URGENT);
    terminal.types("e");
    terminal.sees(BROKEN);
    terminal.types("x");
    terminal.sees(ASKED);
    terminal.control('c');
    assert_eq!(terminal.ends().0, 130);
    sandbox.assert_sound();
    let mut terminal = prd_gate(&sandbox);
    assert_eq!(sandbox.artifact("prd.md"), PRD);
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    let commit = sandbox.stage_commit("prd");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["passed"]);
}

#[test]
fn an_edit_of_the_code_is_taken_back() {
    let mut sandbox = Sandbox::stopped_after("plan");
    let file = file_of("TASK-001");
    sandbox.editor(&format!("case $f in *{file}) echo '# by hand' >>\"$f\";; esac"));
    let mut terminal = sandbox.terminal(&["resume"]);
    let shown = terminal.sees(ASKED);
    assert!(!shown.contains("x take my edit back"), "{shown}");
    let drafted = sandbox.read(file);
    terminal.types("e");
    terminal.sees("it is checked and shown again");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("x take my edit back"), "{shown}");
    terminal.types("x");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("kept as attempt 1"), "{shown}");
    assert_eq!(sandbox.read(file), drafted);
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert!(code == 3 || code == 0, "{rest}");
    let commit = sandbox.stage_commit("coding");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["passed"]);
    let kept = sandbox.blob("refs/cowork/attempts/todo/1", file);
    assert_eq!(kept, format!("{drafted}# by hand\n"));
    sandbox.assert_sound();
}

#[test]
fn what_was_typed_in_this_run_comes_again_with_the_arrow() {
    let sandbox = Sandbox::stopped_after("idea");
    let mut terminal = prd_gate(&sandbox);
    for keys in ["sort by date\r", "\x1b[A, newest first\r"] {
        terminal.types("f");
        terminal.sees("f  ");
        terminal.types(keys);
        terminal.sees("your decision");
        terminal.sees(ASKED);
    }
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    let said: serde_json::Value =
        serde_json::from_str(&sandbox.artifact("feedback_history.json")).unwrap();
    assert_eq!(said[1]["details"], "sort by date, newest first", "{said}");
}

#[test]
fn comments_on_hunks_stay_until_they_are_sent_and_go_with_a_review() {
    let sandbox = Sandbox::stopped_after("plan");
    let kept = sandbox.repo().join(".git/cowork/sessions/todo/comments-coding.md");
    let comments = |terminal: &mut Terminal, send: &str| {
        terminal.types("h");
        terminal.sees("hunk 1 of");
        terminal.sees("q end");
        terminal.types("c");
        terminal.enters("lock the file");
        terminal.sees("hunk 2 of");
        terminal.sees("q end");
        terminal.types("q");
        terminal.sees("to the actor?");
        terminal.types(send);
    };
    let mut terminal = sandbox.terminal(&["resume"]);
    terminal.sees(ASKED);
    comments(&mut terminal, "n");
    terminal.sees(ASKED);
    terminal.types("f");
    terminal.sees("f  ");
    terminal.enters("shorter names");
    terminal.sees("your decision");
    terminal.sees(ASKED);
    assert!(kept.exists(), "what was not sent is lost");
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    let mut terminal = sandbox.terminal(&["review"]);
    terminal.sees(ASKED);
    comments(&mut terminal, "y");
    assert_eq!(terminal.ends().0, 0);
    assert!(!kept.exists(), "what was sent is sent again");
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["feedback"]);
    assert!(sandbox.git(&["log", "-1", "--format=%B"]).contains("lock the file"));
    sandbox.assert_sound();
}

#[test]
fn a_review_says_what_an_edit_broke_and_takes_it_back() {
    let mut sandbox = Sandbox::stopped_after("idea");
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "prd"]).exits(3);
    sandbox.editor(URGENT);
    let mut terminal = sandbox.terminal(&["review", "--edit"]);
    let shown = terminal.sees(BROKEN);
    assert!(shown.contains("'urgent' is not a priority"), "{shown}");
    terminal.types("x");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 3, "{rest}");
    assert!(rest.contains("kept as attempt 1"), "{rest}");
    assert!(rest.contains("git cowork restore todo 1"), "{rest}");
    assert_eq!(sandbox.artifact("prd.md"), PRD);
    assert!(attempted(&sandbox, 1).contains("`urgent`"));
    sandbox.assert_sound();
    // Left as it is, it is there for the next time.
    sandbox.editor(NO_CRITERION);
    let mut terminal = sandbox.terminal(&["review", "--edit"]);
    let shown = terminal.sees(BROKEN);
    assert!(shown.contains("REQ-003 has no criteria"), "{shown}");
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    assert!(!sandbox.artifact("prd.md").contains(CRITERION));
    // At the review's gate it is taken back as at a run's.
    let mut terminal = sandbox.terminal(&["review"]);
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("x take my edit back"), "{shown}");
    terminal.types("x");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("kept as attempt 2"), "{shown}");
    assert_eq!(sandbox.artifact("prd.md"), PRD);
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["passed"]);
}

#[test]
fn the_gate_on_triage_shows_what_the_change_comes_to() {
    let sandbox = Sandbox::delivered();
    let because = "Only the words of one line change.";
    let small = triage("Say more", &["code"], &["lib/add.sh"]).saying(because);
    let first = at("triage", "actor").iteration(1);
    sandbox.server.sequence(first, vec![small, Reply::text(because)]);
    let larger = triage("Say more everywhere", &["plan", "code"], &["lib/add.sh"]);
    sandbox.server.on(at("triage", "actor").iteration(2).turn(1), larger);
    let mut terminal = sandbox.terminal(&["modify", "be quick", "--stop-after", "triage"]);
    let shown = terminal.sees("p pass ");
    let prose =
        ["This is a low risk change of code:", "Say more", "- lib/add.sh", "Stays as it is:"];
    for part in prose.into_iter().chain(["Actor    Only the words of one line change."]) {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("\"summary\""), "{shown}");
    terminal.sees("stop for now");
    terminal.types("f");
    terminal.sees("f  ");
    terminal.enters("and elsewhere?");
    let shown = terminal.sees("p pass ");
    for part in ["change of plan and code:", "Say more everywhere", "You said \"and elsewhere?\""] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("\"plan\": true"), "{shown}");
    terminal.sees("stop for now");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
}

#[test]
fn the_menu_tells_what_a_model_did_that_calls_no_tool_and_why_p_is_not_there() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.on(at("prd", "actor"), Reply::text("Here is your PRD: a todo list."));
    let resume = ["resume", "--review", "auto", "--stop-after", "prd"];
    let mut screen = sandbox.screen(80, &resume);
    let shown = screen.shows(|now| now.contains("resume asks again"));
    let said = "the actor did not call save_prd_doc, so there is no prd.md; it only said:";
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(said) && shown.contains("Here is your PRD"), "{shown}");
    assert!(shown.contains("Pass p is not here: the draft has no prd.md"), "{shown}");
    screen.types("p");
    screen.shows(|now| now.matches("p is not here: the draft has no prd.md").count() == 2);
    screen.types("q");
    assert_eq!(screen.ends().0, 3);
    sandbox.cowork(&resume).exits(1).says(said);
}
