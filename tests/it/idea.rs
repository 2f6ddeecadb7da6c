//! The idea's document: the sections its prompt names, in any language, and what a change makes of it.

use serde_json::json;

use crate::support::change::triage;
use crate::support::todo::{self, IDEA, PRD};
use crate::support::{Reply, Sandbox, at};

const PATH: &str = ".cowork/sessions/todo/idea.md";

fn saves(idea: &str) -> Reply {
    Reply::call("save_idea", json!({"content": idea}))
}

#[test]
fn a_missing_section_is_feedback_that_names_it() {
    let sandbox = Sandbox::new();
    let short = IDEA.replace("## Thoughts\nOne file, no server.\n\n", "");
    sandbox.server.on(at("idea", "actor").iteration(1).turn(1), saves(&short));
    sandbox.server.on_with(at("idea", "actor").iteration(2).turn(1), |received| {
        received.text().contains("idea.md lacks Thoughts").then(|| saves(IDEA))
    });
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    assert_eq!(sandbox.artifact("idea.md"), IDEA);
    let first = &sandbox.server.requests_of("idea", "actor")[0].text();
    for heading in ["Problem", "Users", "Goals", "Thoughts", "Technical", "Next steps"] {
        assert!(first.contains(&format!("- `## {heading}")), "{heading}: {first}");
    }
    assert!(first.contains("into the language of the idea"), "{first}");
    let commit = sandbox.stage_commit("idea");
    assert_eq!(sandbox.trailers(&commit)["Cowork-Iterations"], ["2"]);
}

#[test]
fn the_headings_may_be_in_the_language_of_the_idea() {
    let sandbox = Sandbox::new();
    let mut german = IDEA.to_owned();
    for (english, other) in [
        ("Users", "Nutzer"),
        ("Goals", "Ziele"),
        ("Thoughts", "Gedanken"),
        ("Technical", "Technisches"),
        ("Next", "Nächste Schritte"),
    ] {
        german = german.replace(&format!("## {english}"), &format!("## {other}"));
    }
    let empty = german.replace("One file, no server.\n", "");
    sandbox.server.on(at("idea", "actor").iteration(1).turn(1), saves(&empty));
    let whole = german.clone();
    sandbox.server.on_with(at("idea", "actor").iteration(2).turn(1), move |received| {
        let told = received.text().contains("the section 'Gedanken' of idea.md is empty");
        told.then(|| saves(&whole))
    });
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    assert_eq!(sandbox.artifact("idea.md"), german);
}

#[test]
fn a_change_of_what_the_idea_says_changes_its_document() {
    let sandbox = Sandbox::delivered();
    let changed = IDEA.replace("One file, no server.", "One file a list, no server.");
    let work = || {
        let update = json!({"id": "REQ-001", "title": "Add a todo to a list"});
        let prd = PRD.replace("REQ-001 Add a todo", "REQ-001 Add a todo to a list");
        Reply::call("update_requirement", update)
            .and("save_prd_doc", json!({"content": prd}))
            .and("save_idea", json!({"content": changed}))
    };
    sandbox.script("triage", triage("Several lists", &["prd", "plan", "code"], &["lib/add.sh"]));
    sandbox.script("prd", work());
    let modify = ["modify", "several lists", "-n", "lists", "--stop-after", "prd"];
    sandbox.cowork(&[&modify[..], &["--review", "auto"]].concat()).exits(0);
    assert_eq!(sandbox.blob("HEAD", PATH), changed);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Stage"], ["prd"]);
    let approved = sandbox.trailers("HEAD")["Cowork-Approved"].join(" ");
    assert!(approved.contains("idea.md@"), "{approved}");
    // The critic judges it with the rest: the difference first, then the document.
    let critic = sandbox.server.requests_of("prd", "critic").last().unwrap().text();
    assert!(critic.contains("One file a list"), "{critic}");
    assert_eq!(critic.matches("One file a list").count(), 2, "{critic}");
    assert!(critic.contains("+One file a list, no server."), "{critic}");
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn a_change_that_leaves_the_idea_alone_leaves_its_document_alone() {
    let sandbox = Sandbox::new();
    // A session from before there were six sections.
    let older = IDEA.replace("## Thoughts\nOne file, no server.\n\n", "");
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    sandbox.commit_file(PATH, &older, "an older idea");
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    sandbox.script_addition("Due dates", ["REQ-004", "FEAT-003", "TASK-006"], "lib/due.sh");
    sandbox.cowork(&["modify", "add due dates", "-n", "due", "--review", "auto"]).exits(0);
    assert_eq!(sandbox.blob("HEAD", PATH), older);
    let range = "cowork/todo..cowork/todo--due";
    assert_eq!(sandbox.git(&["log", "--format=%s", range, "--", PATH]), "");
    // An idea that was changed has to say something.
    let sandbox = Sandbox::delivered();
    sandbox.script_addition("Due dates", ["REQ-004", "FEAT-003", "TASK-006"], "lib/due.sh");
    let rest = |idea: &str| saves(idea);
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), rest(IDEA));
    let requirement = todo::requirement_section("REQ-004", "Due");
    let feature = todo::feature_section("FEAT-003", "Due", &["REQ-004"]);
    let prd = json!({"content": format!("{PRD}{requirement}{feature}")});
    let first =
        Reply::call("save_prd_doc", prd).and("save_idea", json!({"content": "# Due dates\n"}));
    sandbox.server.on(at("prd", "actor").iteration(1).turn(1), first);
    let modify = ["modify", "due", "-n", "due", "--review", "auto", "--stop-after", "prd"];
    let told = sandbox.cowork(&modify).exits(0).stderr;
    assert!(told.contains("idea.md lacks Problem, Users, Goals"), "{told}");
    assert_eq!(sandbox.blob("HEAD", PATH), IDEA);
}
