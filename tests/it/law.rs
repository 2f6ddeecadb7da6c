//! What a person wrote stays, or the person hears which of their lines a later draft changed, and
//! where their version is: in every mode, also when edit and remark were one save.

use serde_json::json;

use crate::support::todo::{PRD, reject};
use crate::support::{Reply, Sandbox, at};

/// The last line of the menu: from here on keys are read.
const ASKED: &str = "stop for now";

/// An edit and a remark on another line in one save.
const EDIT_AND_REMARK: &str = "case \"$f\" in *prd.md) sed -i \
     's/REQ-002 List todos/REQ-002 List todos by date/; s/^### REQ-003.*/&\\n>>> say how/' \"$f\";; esac";

const BROKEN: &str = "draft 2 changed what you wrote in prd.md";

/// What the person left.
fn theirs() -> String {
    PRD.replace("REQ-002 List todos", "REQ-002 List todos by date")
}

/// The actor's second draft: it answers the remark and writes over the person.
fn disobeys(sandbox: &Sandbox) {
    second_draft(sandbox, &PRD.replace("todo off", "todo off by number"));
}

fn second_draft(sandbox: &Sandbox, prd: &str) {
    let save = Reply::call("save_prd_doc", json!({"content": prd}));
    let second = at("prd", "actor").iteration(2);
    sandbox.server.sequence(second, vec![save, Reply::text("It says how now.")]);
}

/// The PRD waits, and was answered with an edit and a remark.
fn answered() -> Sandbox {
    let mut sandbox = Sandbox::stopped_after("idea");
    resume(&sandbox, "wait").exits(3);
    sandbox.editor(EDIT_AND_REMARK);
    sandbox.cowork(&["review", "--edit"]).exits(0).says("your comment goes to the actor");
    assert_eq!(sandbox.artifact("prd.md"), theirs());
    sandbox
}

fn resume(sandbox: &Sandbox, mode: &str) -> crate::support::sandbox::Outcome {
    sandbox.cowork(&["resume", "--review", mode, "--stop-after", "prd"])
}

/// Runs the command that was printed to take the person's version back.
fn takes_back(sandbox: &Sandbox, told: &str) {
    let (_, command) = told.split_once("restore yours: git ").unwrap();
    let args: Vec<&str> = command.split_whitespace().take(4).collect();
    sandbox.git(&args);
    assert_eq!(sandbox.artifact("prd.md"), theirs(), "{args:?}");
}

#[test]
fn a_waiting_draft_that_changed_a_persons_lines_says_which_and_where_theirs_are() {
    let sandbox = answered();
    disobeys(&sandbox);
    let told = resume(&sandbox, "wait").exits(3).says("warning").stderr;
    assert!(
        told.contains(&format!("{BROKEN}: \"### REQ-002 List todos by date\" is gone")),
        "{told}"
    );
    // What the person took out is named, too.
    assert!(told.contains("is back although you deleted it"), "{told}");
    // On any machine: it is in the commit that waits.
    assert!(sandbox.git(&["log", "-1", "--format=%b"]).contains(BROKEN));
    assert!(sandbox.cowork(&["status"]).stdout.contains(BROKEN));
    takes_back(&sandbox, &told);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    let rest = resume(&sandbox, "wait").exits(0).stderr;
    assert!(!rest.contains(BROKEN), "{rest}");
    let commit = sandbox.stage_commit("prd");
    assert_eq!(sandbox.blob(&commit, ".cowork/sessions/todo/prd.md"), theirs());
    sandbox.assert_sound();
}

#[test]
fn a_draft_that_keeps_a_persons_lines_is_not_accused() {
    let sandbox = answered();
    second_draft(&sandbox, &theirs().replace("todo off", "todo off by number"));
    let told = resume(&sandbox, "wait").exits(3).stderr;
    assert!(!told.contains("what you wrote"), "{told}");
    // Nor is one that comes after the person has changed their mind.
    let path = ".cowork/sessions/todo/prd.md";
    sandbox.write(path, &sandbox.read(path).replace(" by date", ""));
    sandbox.cowork(&["review", "--feedback", "as it was after all"]).exits(0);
    let third = at("prd", "actor").iteration(3);
    sandbox.server.sequence(third, vec![Reply::text("As you say.")]);
    let told = resume(&sandbox, "wait").exits(3).stderr;
    assert!(!told.contains("what you wrote"), "{told}");
}

#[test]
fn whoever_reads_json_is_told() {
    let sandbox = answered();
    disobeys(&sandbox);
    let args = ["resume", "--review", "wait", "--stop-after", "prd", "--json"];
    let outcome = sandbox.cowork(&args).exits(3).says(BROKEN);
    let mut lines = outcome.json_lines().into_iter();
    let asked = lines.find(|line| line["event"] == "review_requested").unwrap();
    assert!(asked["reason"].as_str().is_some_and(|reason| reason.contains(BROKEN)), "{asked}");
}

#[test]
fn the_gate_says_it_at_once_and_after_a_stop() {
    let mut sandbox = Sandbox::stopped_after("idea");
    sandbox.editor(EDIT_AND_REMARK);
    disobeys(&sandbox);
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    terminal.sees(ASKED);
    terminal.types("e");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains(BROKEN) && shown.contains("is gone"), "{shown}");
    terminal.control('c');
    assert_eq!(terminal.ends().0, 130);
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    let shown = terminal.sees(ASKED);
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(BROKEN), "{shown}");
    takes_back(&sandbox, &flat);
    terminal.types("q");
    terminal.ends();
}

#[test]
fn where_nobody_is_asked_it_is_a_warning() {
    let sandbox = answered();
    disobeys(&sandbox);
    sandbox.server.times(1, at("prd", "critic"), reject("REQ-003 is vague"));
    let told = resume(&sandbox, "auto").exits(0).stderr;
    assert!(told.contains(BROKEN), "{told}");
    takes_back(&sandbox, &told);
}
