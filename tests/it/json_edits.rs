//! JSON is generated from the documents and says so: a person's edit of it is kept and put back with a sentence that names the
//! document, at every stage, and what is missing or broken is written again.

use serde_json::{Value, json};

use crate::support::todo::PRD;
use crate::support::{Reply, Sandbox, at};

const DIR: &str = ".cowork/sessions/todo";
const JSON: &str = ".cowork/sessions/todo/requirements.json";
const MARKDOWN: &str = ".cowork/sessions/todo/prd.md";
const ATTEMPT: &str = "refs/cowork/attempts/todo/1";

/// What is said of the edit, on one line.
const SAID: &str =
    "requirements.json is generated, so the edit of REQ-002 in it is put back; edit prd.md instead";

fn edit(sandbox: &Sandbox) {
    let text = sandbox.read(JSON);
    let edited = text.replace("\"List todos\"", "\"List todos by date\"");
    assert_ne!(text, edited);
    sandbox.write(JSON, &edited);
}

#[track_caller]
fn is_put_back(sandbox: &Sandbox, told: &str) {
    assert!(told.contains(SAID), "{told}");
    assert!(!sandbox.read(JSON).contains("by date"), "{told}");
    assert!(!sandbox.read(MARKDOWN).contains("by date"), "{told}");
    assert!(!sandbox.blob("HEAD", JSON).contains("by date"), "{told}");
}

#[test]
fn an_edit_of_json_is_put_back_before_every_stage() {
    for (done, next) in [
        ("prd", "design"),
        ("design", "plan"),
        ("plan", "coding"),
        ("coding", "check"),
        ("check", "delivery"),
    ] {
        let sandbox = Sandbox::stopped_after(done);
        edit(&sandbox);
        let resume = ["resume", "--review", "auto", "--stop-after", next];
        let told = sandbox.cowork(&resume).exits(0).stderr;
        is_put_back(&sandbox, &told);
        assert_eq!(told.matches(SAID).count(), 1, "{next}: {told}");
        assert!(told.contains("git cowork restore todo 1"), "{next}: {told}");
        assert!(sandbox.blob(ATTEMPT, JSON).contains("by date"), "{next}");
        assert_eq!(sandbox.trailers(ATTEMPT)["Cowork-Event"], ["attempt"]);
        sandbox.assert_sound();
    }
}

#[test]
fn an_edit_of_json_beside_a_waiting_draft_does_not_count_as_an_edit_of_it() {
    let sandbox = Sandbox::stopped_after("idea");
    let resume = ["resume", "--review", "wait", "--stop-after", "prd"];
    sandbox.cowork(&resume).exits(3);
    edit(&sandbox);
    let told = sandbox.cowork(&["review", "--pass"]).exits(0).stderr;
    is_put_back(&sandbox, &told);
    sandbox.cowork(&resume).exits(0);
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Review"], ["passed"]);
    // The attempt has the person's version.
    sandbox.cowork(&["restore", "todo", "1"]).exits(0);
    assert!(sandbox.read(JSON).contains("by date"));
}

#[test]
fn a_committed_edit_of_json_is_put_back_by_a_commit() {
    let sandbox = Sandbox::stopped_after("prd");
    edit(&sandbox);
    sandbox.commit_all("mine");
    let mine = sandbox.git(&["rev-parse", "HEAD"]);
    let resume = ["resume", "--review", "auto", "--stop-after", "design"];
    let told = sandbox.cowork(&resume).exits(0).stderr;
    is_put_back(&sandbox, &told);
    assert!(told.contains(&format!("your version is in {}", &mine[..7])), "{told}");
    let files = sandbox.git(&["show", "--format=", "--name-only", &format!("{mine}..HEAD~1")]);
    assert_eq!(files, JSON, "{told}");
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn a_status_and_a_record_in_json_are_put_back_and_unknown_fields_and_layout_stay() {
    let sandbox = Sandbox::stopped_after("prd");
    let features = format!("{DIR}/feature_list.json");
    let mut list: Value = serde_json::from_str(&sandbox.read(&features)).unwrap();
    list["features"][0]["status"] = "delivered".into();
    sandbox.write(&features, &list.to_string());
    let mut all: Value = serde_json::from_str(&sandbox.read(JSON)).unwrap();
    all["requirements"].as_array_mut().unwrap().remove(1);
    all["owner"] = "ana".into();
    sandbox.write(JSON, &serde_json::to_string(&all).unwrap());
    let resume = ["resume", "--review", "auto", "--stop-after", "design"];
    let told = sandbox.cowork(&resume).exits(0).stderr;
    is_put_back(&sandbox, &told);
    let said = "feature_list.json is generated, so the edit of FEAT-001 in it is put back";
    assert!(told.contains(said), "{told}");
    assert!(!sandbox.blob("HEAD", &features).contains("delivered"));
    assert!(sandbox.blob("HEAD", JSON).contains("\"owner\": \"ana\""));
    assert!(sandbox.blob("HEAD", JSON).contains("REQ-002"));

    let sandbox = Sandbox::stopped_after("prd");
    let mut all: Value = serde_json::from_str(&sandbox.read(JSON)).unwrap();
    all["requirements"][0]["owner"] = "ana".into();
    let mine = all.to_string();
    sandbox.write(JSON, &mine);
    let told = sandbox.cowork(&resume).exits(0).stderr;
    assert!(!told.contains("put back"), "{told}");
    assert_eq!(sandbox.blob("HEAD", JSON), mine);
    assert!(sandbox.refs("refs/cowork/attempts/todo/").is_empty());
}

#[test]
fn json_says_which_document_to_edit() {
    let sandbox = Sandbox::stopped_after("plan");
    for (file, document) in [
        ("requirements.json", "prd.md"),
        ("feature_list.json", "prd.md"),
        ("design_spec.json", "design.md"),
        ("implementation_plan.json", "plan.md"),
    ] {
        let text = sandbox.artifact(file);
        let first = format!("{{\n  \"generated\": \"edit {document}\",\n");
        assert!(text.starts_with(&first), "{text}");
    }
    // Its absence is no problem, and nothing is written for it alone.
    let old = sandbox.read(JSON).replacen("  \"generated\": \"edit prd.md\",\n", "", 1);
    sandbox.write(JSON, &old);
    sandbox.commit_all("as an earlier release wrote it");
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]).exits(0);
    assert_eq!(sandbox.blob("HEAD", JSON), old);
}

#[test]
fn json_that_is_missing_or_broken_is_written_again_also_beside_an_edit() {
    let by_date = PRD.replace("REQ-002 List todos", "REQ-002 List todos by date");
    for broken in ["", "{ \"requirements\": ["] {
        for is_committed in [false, true] {
            let sandbox = Sandbox::stopped_after("prd");
            match broken {
                "" => sandbox.git(&["rm", "-q", JSON]),
                text => {
                    sandbox.write(JSON, text);
                    String::new()
                }
            };
            if is_committed {
                sandbox.commit_all("broken");
            }
            sandbox.write(MARKDOWN, &by_date);
            let resume = ["resume", "--review", "auto", "--stop-after", "design"];
            let told = sandbox.cowork(&resume).exits(0).stderr;
            let lines = told.lines().filter(|line| line.contains("was regenerated from prd.md"));
            assert_eq!(lines.count(), 1, "{broken:?} {is_committed}: {told}");
            assert!(sandbox.blob("HEAD", JSON).contains("List todos by date"), "{told}");
            assert_eq!(sandbox.blob("HEAD", MARKDOWN), by_date);
            sandbox.assert_sound();
        }
    }
}

#[test]
fn a_paragraph_written_after_a_kill_opens_the_gate() {
    for mode in ["wait", "ask"] {
        let mut sandbox = Sandbox::stopped_after("idea");
        sandbox.set_env("COWORK_TEST_ABORT_AT", "draft.before-ref:1");
        let auto = ["resume", "--review", "auto", "--stop-after", "prd"];
        sandbox.cowork(&auto).was_killed();
        sandbox.set_env("COWORK_TEST_ABORT_AT", "");
        let mine = format!("{}\nThe user is a gardener.\n", sandbox.read(MARKDOWN));
        sandbox.write(MARKDOWN, &mine);
        sandbox.server.forget();
        sandbox.server.on_with(at("prd", "actor"), |_| panic!("a draft was asked for"));
        if mode == "wait" {
            let resume = ["resume", "--review", "wait", "--stop-after", "prd"];
            sandbox.cowork(&resume).exits(3).says("draft 1 contains your edits of prd.md");
            assert_eq!(sandbox.blob("HEAD", MARKDOWN), mine);
            continue;
        }
        let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
        let shown = terminal.sees("stop for now");
        assert!(shown.contains("your edits of prd.md"), "{shown}");
        terminal.types("p");
        assert_eq!(terminal.ends().0, 0);
        assert_eq!(sandbox.blob("HEAD", MARKDOWN), mine);
        assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["edited"]);
    }
}

#[test]
fn status_and_verify_name_uncommitted_edits() {
    let sandbox = Sandbox::stopped_after("design");
    sandbox.write(MARKDOWN, &PRD.replace("REQ-002 List todos", "REQ-002 List todos by date"));
    edit(&sandbox);
    let status = sandbox.cowork(&["status"]).exits(0).stdout;
    let line = |path: &str| format!("Edited   {path} has edits that are not committed");
    assert!(status.contains(&line(MARKDOWN)) && status.contains(&line(JSON)), "{status}");
    let told = sandbox.cowork(&["verify"]).exits(0).stdout;
    assert!(told.contains("uncommitted-edit") && told.contains(JSON), "{told}");
}

#[test]
fn an_edit_of_an_earlier_document_is_named_where_it_is_committed() {
    let sandbox = Sandbox::stopped_after("prd");
    let resume = ["resume", "--review", "wait", "--stop-after", "plan"];
    sandbox.cowork(&resume).exits(3);
    sandbox.write(MARKDOWN, &PRD.replace("REQ-002 List todos", "REQ-002 List todos by date"));
    let told = sandbox.cowork(&["review", "--pass"]).exits(0).stderr;
    assert!(told.contains(&format!("{MARKDOWN} has your edits since it was approved")), "{told}");
}

#[test]
fn an_answer_on_a_terminal_is_recorded() {
    let sandbox = Sandbox::stopped_after("idea");
    let ask = Reply::call("ask_user", json!({"question": "Which shell?", "options": ["sh"]}));
    sandbox.server.times(1, at("prd", "actor"), ask);
    let save = Reply::call("save_prd_doc", json!({"content": PRD}));
    sandbox.server.on(at("prd", "actor").turn(2), save);
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    terminal.sees("or your own words");
    terminal.enters("zsh");
    terminal.sees("stop for now");
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    let said: Vec<Value> =
        serde_json::from_str(&sandbox.artifact("feedback_history.json")).unwrap();
    let entry = said.iter().find(|entry| entry["details"].as_str().unwrap().contains("zsh"));
    let entry = entry.unwrap_or_else(|| panic!("{said:#?}"));
    assert_eq!(entry["from"], "human");
    assert_eq!(entry["details"], "answer to \"Which shell?\": zsh");
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Iterations"], ["1"], "it refuses no draft");
}

#[test]
fn the_actor_of_the_idea_is_not_offered_to_ask() {
    let sandbox = Sandbox::stopped_after("prd");
    for (stage, offered) in [("idea", false), ("prd", true)] {
        let requests = sandbox.server.requests_of(stage, "actor");
        let tools = requests[0].tools();
        assert_eq!(tools.iter().any(|tool| tool == "ask_user"), offered, "{stage}: {tools:?}");
    }
}
