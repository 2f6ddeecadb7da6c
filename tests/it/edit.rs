//! A person's edit stays, records follow it without a model, comments reach the actor with their place, and a second look says what
//! changed and what came of what was said.

use serde_json::{Value, json};

use crate::support::pty::Terminal;
use crate::support::todo::{PRD, reject};
use crate::support::{Reply, Sandbox, at};

/// The last line of the menu: from here on keys are read.
const ASKED: &str = "stop for now";

/// At the gate of the PRD, with this editor.
fn at_prd(editor: &str) -> (Sandbox, Terminal) {
    let mut sandbox = Sandbox::stopped_after("idea");
    sandbox.editor(editor);
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    terminal.sees(ASKED);
    (sandbox, terminal)
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

/// What it leaves.
fn dated() -> String {
    PRD.replace("REQ-002 List todos", "REQ-002 List todos by date")
}

#[test]
fn records_follow_an_edit_of_the_document_without_a_model() {
    let (sandbox, mut terminal) = at_prd(BY_DATE);
    let asked = sandbox.server.requests_of("prd", "actor").len();
    terminal.types("e");
    // What the edit changed is shown, and nothing has passed.
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("Your edit: 1 requirement changed, 2 lines changed"), "{shown}");
    assert!(shown.contains("-### REQ-002 List todos"), "{shown}");
    assert!(shown.contains("+### REQ-002 List todos by date"), "{shown}");
    assert!(shown.contains("x take my edit back"), "{shown}");
    assert!(sandbox.server.requests_of("prd", "critic").is_empty());
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(sandbox.server.requests_of("prd", "actor").len(), asked);
    let commit = sandbox.stage_commit("prd");
    assert_eq!(sandbox.blob(&commit, ".cowork/sessions/todo/prd.md"), dated());
    let records = sandbox.blob(&commit, ".cowork/sessions/todo/requirements.json");
    assert!(records.contains("List todos by date"), "{records}");
    let trailers = sandbox.trailers(&commit);
    assert_eq!(trailers["Cowork-Review"], ["edited"]);
    assert_eq!(trailers["Cowork-Iterations"], ["1"], "it is no draft");
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn an_edit_of_the_records_alone_is_put_back_and_passes_nothing() {
    let edit = "case \"$f\" in *requirements.json) \
                sed -i 's/\"List todos\"/\"List todos by date\"/' \"$f\";; esac";
    let (mut sandbox, mut terminal) = at_prd(edit);
    terminal.types("E");
    let shown = terminal.sees(ASKED);
    let said = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("requirements.json is generated"), "{shown}");
    assert!(said.contains("edit prd.md instead"), "{shown}");
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    assert_eq!(titles(&sandbox)[1], "List todos");
    assert_eq!(sandbox.artifact("prd.md"), PRD);
    // Nor does it pass without a terminal.
    sandbox.editor(edit);
    let told = sandbox.cowork(&["review", "--edit"]).exits(3).stderr;
    assert!(told.contains("nothing is passed, because your edit was put back"), "{told}");
    assert_eq!(sandbox.artifact("prd.md"), PRD);
}

#[test]
fn both_sides_may_be_edited_if_they_say_the_same() {
    let edit = "case \"$f\" in *requirements.json) \
                sed -i 's/\"List todos\"/\"List todos by date\"/' \"$f\";; *prd.md) \
                sed -i 's/REQ-002 List todos/REQ-002 List todos by date/' \"$f\";; esac";
    let (sandbox, mut terminal) = at_prd(edit);
    terminal.types("E");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("+### REQ-002 List todos by date"), "{shown}");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(titles(&sandbox)[1], "List todos by date");
}

#[test]
fn where_both_sides_are_edited_the_document_counts() {
    let edit = "case \"$f\" in *requirements.json) \
                sed -i 's/\"List todos\"/\"List todos by name\"/' \"$f\";; *prd.md) \
                sed -i 's/REQ-002 List todos$/REQ-002 List todos by date/' \"$f\";; esac";
    let (sandbox, mut terminal) = at_prd(edit);
    terminal.types("E");
    terminal.sees(ASKED);
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(titles(&sandbox)[1], "List todos by date");
    assert_eq!(sandbox.artifact("prd.md"), dated());
    let kept =
        sandbox.blob("refs/cowork/attempts/todo/1", ".cowork/sessions/todo/requirements.json");
    assert!(kept.contains("by name"), "{kept}");
}

#[test]
fn a_new_requirement_gets_its_number() {
    let edit = r#"printf '\n### REQ-? Sort todos\n\n`low`\n\nNewest first.\n\n- sorted\n' >>"$f""#;
    let (sandbox, mut terminal) = at_prd(edit);
    terminal.types("e");
    terminal.sees(ASKED);
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert!(sandbox.artifact("prd.md").contains("### REQ-004 Sort todos"));
    assert_eq!(titles(&sandbox)[3], "Sort todos");
}

#[test]
fn what_cannot_be_read_waits_as_it_is_where_a_person_leaves_it() {
    let edit = "sed -i 's/^### FEAT-002.*/### FEAT-001 Again/' \"$f\"";
    let (mut sandbox, mut terminal) = at_prd(edit);
    terminal.types("e");
    let rest = terminal.sees("leave it as it is and stop");
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    assert!(rest.contains("FEAT-001 is already at line"), "{rest}");
    assert!(sandbox.artifact("prd.md").contains("### FEAT-001 Again"), "the edit is gone");
    assert!(sandbox.artifact("feature_list.json").contains("FEAT-002"), "half of it was read");
    // Nor does it pass without a terminal, and nothing is asked of a model.
    sandbox.server.forget();
    let told = sandbox.cowork(&["review", "--pass"]).exits(3).stderr;
    assert!(told.contains("prd.md:") && told.contains("git cowork review --edit"), "{told}");
    sandbox.editor("sed -i 's/### FEAT-001 Again/### FEAT-002 Again/' \"$f\"");
    sandbox.cowork(&["review", "--edit"]).exits(0);
    resume(&sandbox).exits(0);
    assert!(sandbox.server.requests_of("prd", "actor").is_empty());
    assert!(sandbox.artifact("feature_list.json").contains("Again"));
    sandbox.assert_sound();
}

#[test]
fn comments_reach_the_actor_with_their_place_and_leave_the_document() {
    let edit = "case \"$f\" in *prd.md) printf '%s\\n' '>>> top' >\"$f.new\"; \
                sed 's/^### REQ-002.*/&\\n>>> by date\\n>>> newest first/' \"$f\" >>\"$f.new\"; \
                mv \"$f.new\" \"$f\";; esac";
    let (sandbox, mut terminal) = at_prd(edit);
    let reply = Reply::call("save_prd_doc", json!({"content": dated()}));
    let reply = reply.saying("The list is sorted by date now.");
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), reply);
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
    assert!(text.contains("a comment on prd.md, under \"### REQ-002 List todos\")"), "{text}");
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
                s/^### REQ-003.*/&\\n>>> say how/' \"$f\"";
    let (sandbox, mut terminal) = at_prd(edit);
    sandbox.server.on_with(at("prd", "actor").iteration(2).turn(1), |received| {
        let text = received.text();
        let told = text.contains("I edited prd.md by hand") && text.contains("+# What it must do");
        let second = PRD
            .replace("Product requirements", "What it must do")
            .replace("3 Tick a todo off\n", "3 Tick a todo off by number\n");
        told.then(|| Reply::call("save_prd_doc", json!({"content": second})))
    });
    terminal.types("e");
    let shown = terminal.sees(ASKED);
    // Only what the actor did is new to the person.
    assert!(shown.contains("+### REQ-003 Tick a todo off by number"), "{shown}");
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
    sandbox.server.times(1, at("prd", "critic"), reject("REQ-003 is vague"));
    let second = dated().replace("REQ-003 Tick a todo off", "REQ-003 Tick a todo off by number");
    sandbox.server.on_with(at("prd", "actor").iteration(2).turn(1), move |received| {
        let text = received.text();
        let told = text.contains("REQ-003 is vague") && text.contains("I edited prd.md by hand");
        told.then(|| Reply::call("save_prd_doc", json!({"content": second})))
    });
    terminal.types("e");
    terminal.sees(ASKED);
    terminal.types("p");
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("off by number") && !shown.contains("+### REQ-002"), "{shown}");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    // The critic gets the difference to what it read (B14).
    let again = sandbox.server.requests_of("prd", "critic").pop().unwrap().text();
    assert!(again.contains("Changed since you last read it"), "{again}");
    assert!(again.contains("+### REQ-003 Tick a todo off by number"), "{again}");
}

#[test]
fn an_interruption_after_the_edit_loses_nothing() {
    let (sandbox, mut terminal) = at_prd(BY_DATE);
    let body = json!({"error": {"message": "out of quota", "type": "insufficient_quota"}});
    sandbox.server.times(1, at("prd", "critic"), Reply::status(401, &body.to_string()));
    terminal.types("e");
    terminal.sees(ASKED);
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 4, "{rest}");
    sandbox.assert_sound();
    // What was passed is not asked again.
    resume(&sandbox).exits(0);
    let commit = sandbox.stage_commit("prd");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["edited"]);
    assert_eq!(sandbox.trailers(&commit)["Cowork-Iterations"], ["1"]);
    assert_eq!(sandbox.artifact("prd.md"), dated());
    assert_eq!(titles(&sandbox)[1], "List todos by date");
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
fn without_a_terminal_an_edit_passes_with_the_records_it_makes() {
    let mut sandbox = prd_waits();
    sandbox.editor(BY_DATE);
    let asked = sandbox.server.requests_of("prd", "actor").len();
    sandbox.cowork(&["review", "--edit"]).exits(0);
    assert!(sandbox.blob("HEAD", ".cowork/sessions/todo/requirements.json").contains("by date"));
    resume(&sandbox).exits(0);
    assert_eq!(sandbox.server.requests_of("prd", "actor").len(), asked);
    let commit = sandbox.stage_commit("prd");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["edited"]);
    assert_eq!(sandbox.trailers(&commit)["Cowork-Iterations"], ["1"]);
    assert_eq!(sandbox.blob(&commit, ".cowork/sessions/todo/prd.md"), dated());
    assert_eq!(titles(&sandbox)[1], "List todos by date");
    sandbox.assert_sound();
}

#[test]
fn edits_and_comments_in_a_waiting_draft_are_taken_up_without_an_answer() {
    let sandbox = prd_waits();
    let path = ".cowork/sessions/todo/prd.md";
    let mine = dated();
    sandbox.write(path, &mine);
    sandbox.commit_all("my words");
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("List todos by date"), "{shown}");
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
    // Its only criterion goes.
    sandbox.editor("sed -i '/^### REQ-003/,/works$/{/^- /d}' \"$f\"");
    sandbox.cowork(&["review", "--edit"]).exits(0);
    let outcome = resume(&sandbox).exits(3);
    assert!(outcome.stderr.contains("your edit does not pass the checks"), "{}", outcome.stderr);
    assert!(!sandbox.artifact("prd.md").contains("Tick a todo off works"), "the edit is gone");
    // Now it is the actor's, and it knows what the person wrote.
    sandbox.cowork(&["review", "--feedback", "what shows REQ-003?"]).exits(0);
    sandbox.server.on_with(at("prd", "actor").iteration(2).turn(1), |received| {
        let told = received.text().contains("I edited prd.md by hand");
        let more = crate::support::todo::requirement_section("REQ-003", "Sort todos");
        told.then(|| Reply::call("save_prd_doc", json!({"content": more})))
    });
    resume(&sandbox).exits(3);
    assert_eq!(titles(&sandbox), ["Add a todo", "List todos", "Sort todos"]);
    sandbox.assert_sound();
}

#[test]
fn comments_in_a_plain_commit_or_the_working_tree_are_comments() {
    let sandbox = prd_waits();
    let path = ".cowork/sessions/todo/prd.md";
    sandbox.write(path, &PRD.replace("## Features", ">>> fewer features?\n\n## Features"));
    sandbox.commit_all("my remarks");
    let text = sandbox.read(path).replace("- Tick", "- Tick >>> stays\n>>> by number?\n- Tick");
    sandbox.write(path, &text);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    let told = sandbox.cowork(&["review", "--pass", "--at", &tip]).exits(0).stderr;
    assert!(told.contains("your 2 comments go to the actor"), "{told}");
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["feedback"]);
    let said = feedback(&sandbox);
    let details: Vec<&str> = said.iter().map(|e| e["details"].as_str().unwrap()).collect();
    assert_eq!(details.len(), 2, "{details:?}");
    assert!(details[0].starts_with("by number?\n\n(a comment on prd.md"), "{details:?}");
    assert!(details[1].starts_with("fewer features?\n\n(a comment on prd.md"), "{details:?}");
    assert!(sandbox.artifact("prd.md").contains("- Tick >>> stays"));
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
    let mine = dated();
    sandbox.write(path, &mine);
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    let shown = terminal.sees(ASKED);
    assert!(shown.contains("List todos by date"), "{shown}");
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
