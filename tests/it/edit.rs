//! A person's edit is law, comments reach the actor with their place, and a second look says what
//! changed and what came of what was said.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::pty::Terminal;
use crate::support::todo::{PRD, reject};
use crate::support::{Reply, Sandbox, at};

/// The last line of the menu: from here on keys are read.
const ASKED: &str = "stop for now";

/// In the brief of the conversation that brings one side in line.
const ALIGN: &str = "bring the draft in line";

/// At the gate of the PRD, with this editor.
fn at_prd(editor: &str) -> (Sandbox, Terminal) {
    let mut sandbox = Sandbox::stopped_after("idea");
    sandbox.editor(editor);
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    terminal.sees(ASKED);
    (sandbox, terminal)
}

/// Scripts the conversation that brings one side in line; the closing words come after it.
fn aligns(sandbox: &Sandbox, reply: Reply) {
    sandbox.server.on_with(at("prd", "actor"), move |received| {
        let first = received.turn == 1;
        received
            .text()
            .contains(ALIGN)
            .then(|| if first { reply.clone() } else { Reply::text("Brought in line.") })
    });
}

fn aligning(sandbox: &Sandbox) -> Vec<crate::support::server::Received> {
    let mut requests = sandbox.server.requests_of("prd", "actor");
    requests.retain(|request| request.text().contains(ALIGN) && request.turn == 1);
    requests
}

fn titles(sandbox: &Sandbox) -> Vec<String> {
    let records: Value = serde_json::from_str(&sandbox.artifact("requirements.json")).unwrap();
    let list = records["requirements"].as_array().unwrap();
    list.iter().map(|r| r["title"].as_str().unwrap().to_owned()).collect()
}

fn feedback(sandbox: &Sandbox) -> Vec<Value> {
    serde_json::from_str(&sandbox.artifact("feedback_history.json")).unwrap()
}

const BY_DATE: &str = "sed -i 's/REQ-002 List todos/REQ-002 List todos by date/' \"$f\"";

fn by_date() -> Reply {
    Reply::call("update_requirement", json!({"id": "REQ-002", "title": "List todos by date"}))
}

#[test]
fn after_an_edit_of_the_document_the_records_follow_and_are_shown() {
    let (sandbox, mut terminal) = at_prd(BY_DATE);
    // What writes the document is refused in that turn.
    aligns(&sandbox, by_date().and("save_prd_doc", json!({"content": "# Mine\n"})));
    terminal.types("e");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("follows your edit of prd.md"), "{shown}");
    assert!(shown.contains("Since you last looked: 1 requirement changed"), "{shown}");
    assert!(shown.contains("List todos by date"), "{shown}");
    assert!(sandbox.tags().iter().all(|tag| !tag.ends_with("prd")), "recorded unseen");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let log = sandbox.cowork(&["log", "-v"]).stdout;
    assert!(log.contains("prd.1.actor.align.jsonl"), "{log}");
    let request = &aligning(&sandbox)[0];
    let tools = request.tools();
    assert!(tools.contains(&"update_requirement".to_owned()), "{tools:?}");
    assert!(!tools.iter().any(|tool| tool.starts_with("save_")), "{tools:?}");
    assert!(request.text().contains("+- REQ-002 List todos by date"), "the diff is not there");
    let commit = sandbox.stage_commit("prd");
    let prd = sandbox.blob(&commit, ".cowork/sessions/todo/prd.md");
    assert_eq!(prd, PRD.replace("REQ-002 List todos", "REQ-002 List todos by date"));
    assert_eq!(titles(&sandbox)[1], "List todos by date");
    let trailers = sandbox.trailers(&commit);
    assert_eq!(trailers["Cowork-Review"], ["edited"]);
    assert_eq!(trailers["Cowork-Iterations"], ["1"], "it is no draft");
    sandbox.assert_sound();
}

#[test]
fn an_edit_the_records_agree_with_is_not_shown_again() {
    let (sandbox, mut terminal) = at_prd("sed -i 's/Product requirements/What it must do/' \"$f\"");
    aligns(&sandbox, Reply::text("Both say the same."));
    terminal.types("e");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(aligning(&sandbox).len(), 1);
    let commit = sandbox.stage_commit("prd");
    assert!(sandbox.blob(&commit, ".cowork/sessions/todo/prd.md").starts_with("# What it must do"));
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["edited"]);
}

#[test]
fn after_an_edit_of_the_records_only_the_document_may_follow() {
    let edit = "case \"$f\" in *requirements.json) \
                sed -i 's/\"List todos\"/\"List todos by date\"/' \"$f\";; esac";
    let (sandbox, mut terminal) = at_prd(edit);
    let second = PRD.replace("REQ-002 List todos", "REQ-002 List todos by date");
    let reply = Reply::call("save_prd_doc", json!({"content": second}))
        .and("update_requirement", json!({"id": "REQ-002", "title": "Mine"}));
    aligns(&sandbox, reply);
    terminal.types("E");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("prd.md follows your edit of requirements.json"), "{shown}");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    assert!(!aligning(&sandbox)[0].tools().contains(&"update_requirement".to_owned()));
    assert_eq!(titles(&sandbox)[1], "List todos by date");
    assert!(sandbox.artifact("prd.md").contains("by date"));
}

#[test]
fn where_both_sides_were_edited_no_model_is_asked() {
    let edit = "case \"$f\" in *requirements.json) \
                sed -i 's/\"List todos\"/\"List todos by date\"/' \"$f\";; *prd.md) \
                sed -i 's/REQ-002 List todos/REQ-002 List todos by date/' \"$f\";; esac";
    let (sandbox, mut terminal) = at_prd(edit);
    terminal.types("E");
    assert_eq!(terminal.ends().0, 0);
    assert!(aligning(&sandbox).is_empty());
    assert_eq!(titles(&sandbox)[1], "List todos by date");
}

#[test]
fn records_that_cannot_follow_open_the_gate_again_and_burn_no_draft() {
    let mut sandbox = Sandbox::new();
    sandbox.user_config("[limits]\niterations = { prd = 1 }\n");
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    sandbox.editor("sed -i 's/FEAT-002/FEAT-009/' \"$f\"");
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    terminal.sees(ASKED);
    // Half a change, which is taken back.
    aligns(&sandbox, Reply::call("delete_feature", json!({"id": "FEAT-002"})));
    terminal.types("e");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("could not be brought in line"), "{shown}");
    assert!(sandbox.artifact("feature_list.json").contains("FEAT-002"), "half a change stayed");
    assert!(sandbox.artifact("prd.md").contains("FEAT-009"));
    sandbox.editor("sed -i 's/FEAT-009/FEAT-002/' \"$f\"");
    terminal.types("e");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(aligning(&sandbox).len(), 1, "what was put back is no edit");
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Iterations"], ["1"]);
}

#[test]
fn a_turn_that_spoils_what_held_is_taken_back_and_told() {
    let (sandbox, mut terminal) = at_prd(BY_DATE);
    aligns(&sandbox, Reply::call("delete_requirement", json!({"id": "REQ-003"})));
    terminal.types("e");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("could not be brought in line"), "{shown}");
    assert_eq!(titles(&sandbox).len(), 3);
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(aligning(&sandbox).len(), 1);
    assert!(sandbox.artifact("prd.md").contains("by date"));
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Review"], ["edited"]);
}

#[test]
fn comments_reach_the_actor_with_their_place_and_leave_the_document() {
    let edit = "case \"$f\" in *prd.md) printf '%s\\n' '>>> top' >\"$f.new\"; \
                sed 's/^- REQ-002.*/&\\n>>> by date\\n>>> newest first/' \"$f\" >>\"$f.new\"; \
                mv \"$f.new\" \"$f\";; esac";
    let (sandbox, mut terminal) = at_prd(edit);
    let second = PRD.replace("REQ-002 List todos", "REQ-002 List todos by date");
    let reply = Reply::call("save_prd_doc", json!({"content": second}))
        .and("update_requirement", json!({"id": "REQ-002", "title": "List todos by date"}));
    sandbox.server.sequence(
        at("prd", "actor").iteration(2),
        vec![reply, Reply::text("The list is sorted by date now.")],
    );
    terminal.types("e");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("your 2 comments go to the actor"), "{shown}");
    assert!(shown.contains("draft 2 of 3"), "{shown}");
    assert!(
        shown.contains("Since you last looked: 1 requirement changed, 2 lines changed"),
        "{shown}"
    );
    assert!(shown.contains("You said \"by date newest first\""), "{shown}");
    assert!(shown.contains("done: REQ-002 changed"), "{shown}");
    assert!(shown.contains("You said \"top\""), "{shown}");
    assert!(shown.contains("Actor    The list is sorted by date now."), "{shown}");
    let request = &sandbox.server.requests_of("prd", "actor").pop().unwrap();
    let text = request.text();
    assert!(text.contains("by date\nnewest first"), "{text}");
    assert!(text.contains("a comment on prd.md, under \"## Requirements\", about this:"), "{text}");
    assert!(text.contains("> - REQ-002 List todos"), "{text}");
    assert!(aligning(&sandbox).is_empty(), "a comment is no edit");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    let said = feedback(&sandbox);
    assert_eq!(said.len(), 2, "{said:#?}");
    assert!(said.iter().all(|entry| entry["from"] == "human"));
    let commit = sandbox.stage_commit("prd");
    assert!(!sandbox.blob(&commit, ".cowork/sessions/todo/prd.md").contains(">>>"));
    sandbox.assert_sound();
}

#[test]
fn the_rest_of_a_commented_save_is_kept_and_told_as_an_edit() {
    let edit = "sed -i 's/Product requirements/What it must do/; \
                s/^- REQ-003.*/&\\n>>> say how/' \"$f\"";
    let (sandbox, mut terminal) = at_prd(edit);
    sandbox.server.on_with(at("prd", "actor").iteration(2).turn(1), |received| {
        let text = received.text();
        let told = text.contains("I edited prd.md by hand") && text.contains("+# What it must do");
        let second = PRD
            .replace("Product requirements", "What it must do")
            .replace("off\n", "off by number\n");
        told.then(|| Reply::call("save_prd_doc", json!({"content": second})))
    });
    terminal.types("e");
    let shown = terminal.sees(ASKED);
    // Only what the actor did is new to the person.
    assert!(shown.contains("+- REQ-003 Tick a todo off by number"), "{shown}");
    assert!(!shown.contains("+# What it must do"), "{shown}");
    assert!(!shown.contains("I edited prd.md"), "{shown}");
    // Taking the comments out is not writing over the person.
    assert!(!shown.contains("written over") && !shown.contains("set-aside"), "{shown}");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    assert!(sandbox.artifact("prd.md").starts_with("# What it must do"));
}

#[test]
fn a_rejection_after_an_edit_tells_the_actor_and_shows_what_changed_since() {
    let (sandbox, mut terminal) = at_prd(BY_DATE);
    aligns(&sandbox, by_date());
    sandbox.server.times(1, at("prd", "critic"), reject("REQ-003 is vague"));
    let second = PRD
        .replace("REQ-002 List todos", "REQ-002 List todos by date")
        .replace("REQ-003 Tick a todo off", "REQ-003 Tick a todo off by number");
    sandbox.server.on_with(at("prd", "actor").iteration(2).turn(1), move |received| {
        let text = received.text();
        let told = text.contains("REQ-003 is vague") && text.contains("I edited prd.md by hand");
        told.then(|| Reply::call("save_prd_doc", json!({"content": second})))
    });
    terminal.types("e");
    terminal.sees(ASKED);
    terminal.types("p");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("off by number") && !shown.contains("+- REQ-002"), "{shown}");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    // The critic gets the difference to what it read (B14).
    let again = sandbox.server.requests_of("prd", "critic").pop().unwrap().text();
    assert!(again.contains("Changed since you last read it"), "{again}");
    assert!(again.contains("+- REQ-003 Tick a todo off by number"), "{again}");
}

#[test]
fn an_interruption_between_the_edit_and_what_follows_loses_neither() {
    let (sandbox, mut terminal) = at_prd(BY_DATE);
    sandbox.server.on_with(at("prd", "actor"), |received| {
        let body = json!({"error": {"message": "out of quota", "type": "insufficient_quota"}});
        received.text().contains(ALIGN).then(|| Reply::status(401, &body.to_string()))
    });
    terminal.types("e");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 4, "{rest}");
    sandbox.assert_sound();
    aligns(&sandbox, by_date());
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("Since you last looked: 1 requirement changed"), "{shown}");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let commit = sandbox.stage_commit("prd");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["edited"]);
    assert_eq!(sandbox.trailers(&commit)["Cowork-Iterations"], ["1"]);
    assert!(sandbox.artifact("prd.md").contains("by date"));
}

/// The PRD waits for a review.
fn prd_waits() -> Sandbox {
    let sandbox = Sandbox::stopped_after("idea");
    resume(&sandbox).exits(3);
    sandbox
}

fn resume(sandbox: &Sandbox) -> crate::support::sandbox::Outcome {
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "prd"])
}

#[test]
fn without_a_terminal_what_follows_an_edit_waits_to_be_seen() {
    let mut sandbox = prd_waits();
    sandbox.editor(BY_DATE);
    sandbox.cowork(&["review", "--edit"]).exits(0);
    aligns(&sandbox, by_date());
    let outcome = resume(&sandbox).exits(3);
    assert!(outcome.stderr.contains("follows your edit of prd.md"), "{}", outcome.stderr);
    assert!(sandbox.server.requests_of("prd", "critic").is_empty());
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Event"], ["draft"]);
    assert_eq!(titles(&sandbox)[1], "List todos by date");
    sandbox.cowork(&["review", "--pass"]).exits(0);
    resume(&sandbox).exits(0);
    assert_eq!(aligning(&sandbox).len(), 1);
    let commit = sandbox.stage_commit("prd");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["edited"]);
    assert_eq!(sandbox.trailers(&commit)["Cowork-Iterations"], ["1"]);
    let prd = sandbox.blob(&commit, ".cowork/sessions/todo/prd.md");
    assert_eq!(prd, PRD.replace("REQ-002 List todos", "REQ-002 List todos by date"));
    sandbox.assert_sound();
}

#[test]
fn a_kill_while_the_records_follow_leaves_the_edit() {
    let mut sandbox = prd_waits();
    sandbox.editor(BY_DATE);
    sandbox.cowork(&["review", "--edit"]).exits(0);
    aligns(&sandbox, by_date());
    sandbox.server.forget();
    sandbox.server.signal_at(2, Signal::KILL);
    let args = ["resume", "--review", "wait", "--stop-after", "prd"];
    sandbox.cowork_watched(&args, |pid| sandbox.server.set_victim(pid)).was_killed();
    sandbox.server.spare_everyone();
    resume(&sandbox).exits(3).says("follows your edit of prd.md");
    let prd = sandbox.artifact("prd.md");
    assert_eq!(prd, PRD.replace("REQ-002 List todos", "REQ-002 List todos by date"));
    assert_eq!(titles(&sandbox)[1], "List todos by date");
    sandbox.cowork(&["review", "--pass"]).exits(0);
    resume(&sandbox).exits(0);
    sandbox.assert_sound();
}

#[test]
fn edits_and_comments_in_a_waiting_draft_are_taken_up_without_an_answer() {
    let sandbox = prd_waits();
    let path = ".cowork/sessions/todo/prd.md";
    let mine = PRD.replace("REQ-002 List todos", "REQ-002 List todos by date");
    sandbox.write(path, &mine);
    sandbox.commit_all("my words");
    aligns(&sandbox, by_date());
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("follows your edit of prd.md"), "{shown}");
    terminal.control('c');
    assert_eq!(terminal.ends().0, 130);
    // A remark in the same file needs no gate.
    sandbox.write(path, &mine.replace("## Features", ">>> fewer?\n\n## Features"));
    sandbox.commit_all("a remark");
    sandbox.server.on_with(at("prd", "actor").iteration(2).turn(1), |received| {
        let text = received.text();
        let told = text.contains("fewer?") && text.contains("I edited prd.md by hand");
        told.then(|| Reply::text("It stays as it is."))
    });
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("draft 2 of 3") && shown.contains("You said \"fewer?\""), "{shown}");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(sandbox.artifact("prd.md"), mine);
    sandbox.assert_sound();
}

#[test]
fn an_edit_the_checks_refuse_waits_and_says_so() {
    let mut sandbox = prd_waits();
    sandbox.editor("case \"$f\" in *prd.md) sed -i 's/FEAT-002/FEAT-009/' \"$f\";; esac");
    sandbox.cowork(&["review", "--edit"]).exits(0);
    aligns(&sandbox, Reply::text("I cannot."));
    let outcome = resume(&sandbox).exits(3);
    assert!(outcome.stderr.contains("could not be brought in line"), "{}", outcome.stderr);
    assert!(sandbox.artifact("prd.md").contains("FEAT-009"), "the edit is gone");
    // Now it is the actor's, and it knows what the person wrote.
    sandbox.cowork(&["review", "--feedback", "mend the id"]).exits(0);
    sandbox.server.on_with(at("prd", "actor").iteration(2).turn(1), |received| {
        let told = received.text().contains("I edited prd.md by hand");
        told.then(|| Reply::call("save_prd_doc", json!({"content": PRD})))
    });
    resume(&sandbox).exits(3);
    assert_eq!(sandbox.artifact("prd.md"), PRD);
    sandbox.assert_sound();
}

#[test]
fn comments_in_a_plain_commit_or_the_working_tree_are_comments() {
    let sandbox = prd_waits();
    let path = ".cowork/sessions/todo/prd.md";
    sandbox.write(path, &PRD.replace("## Features", ">>> fewer features?\n\n## Features"));
    sandbox.commit_all("my remarks");
    let text =
        sandbox.read(path).replace("- REQ-003", "- REQ-003 >>> stays\n>>> by number?\n- REQ-003");
    sandbox.write(path, &text);
    let told = sandbox.cowork(&["review", "--pass"]).exits(0).stderr;
    assert!(told.contains("your 2 comments go to the actor"), "{told}");
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["feedback"]);
    let said = feedback(&sandbox);
    let details: Vec<&str> = said.iter().map(|e| e["details"].as_str().unwrap()).collect();
    assert_eq!(details.len(), 2, "{details:?}");
    assert!(details[0].starts_with("by number?\n\n(a comment on prd.md"), "{details:?}");
    assert!(details[1].starts_with("fewer features?\n\n(a comment on prd.md"), "{details:?}");
    assert!(sandbox.artifact("prd.md").contains("- REQ-003 >>> stays"));
    assert!(!sandbox.artifact("prd.md").contains("\n>>>"));
    sandbox.assert_sound();
}

#[test]
fn edits_of_a_kept_draft_stay_in_the_next_one() {
    let sandbox = Sandbox::stopped_after("idea");
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    terminal.sees(ASKED);
    terminal.control('c');
    assert_eq!(terminal.ends().0, 130);
    sandbox.assert_sound();
    sandbox.git(&["restore", "--source=refs/cowork/drafts/todo/prd", "--", ".cowork"]);
    let path = ".cowork/sessions/todo/prd.md";
    let mine = PRD.replace("REQ-002 List todos", "REQ-002 List todos by date");
    sandbox.write(path, &mine);
    aligns(&sandbox, by_date());
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("follows your edit of prd.md"), "{shown}");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(sandbox.artifact("prd.md"), mine);
    assert_eq!(titles(&sandbox)[1], "List todos by date");
}

#[test]
fn an_editor_that_changes_nothing_decides_nothing() {
    let (_sandbox, mut terminal) = at_prd("true");
    terminal.types("e");
    terminal.sees("nothing was changed");
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
}
