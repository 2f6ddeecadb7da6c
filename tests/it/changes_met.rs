//! Changes that met in a merge a person made: what was passed counts as passed, ids are told apart
//! by whose they are, and what a merge lost is said.

use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::support::change::triage;
use crate::support::{Reply, Sandbox, at, todo};

const DIR: &str = ".cowork/sessions/todo";

fn modify(sandbox: &Sandbox, name: &str) {
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.cowork(&["modify", name, "-n", name, "--review", "auto"]).exits(0);
}

/// Changes `quick` and `sorted`, which add records with the same ids.
fn two_additions() -> Sandbox {
    static BOTH: OnceLock<Sandbox> = OnceLock::new();
    let original = BOTH.get_or_init(|| {
        let sandbox = Sandbox::delivered();
        for (name, title) in [("quick", "Quick adding"), ("sorted", "Sorted lists")] {
            let file = format!("lib/{name}.sh");
            sandbox.script_addition(title, ["REQ-004", "FEAT-003", "TASK-006"], &file);
            modify(&sandbox, name);
        }
        sandbox.git(&["switch", "-q", "cowork/todo"]);
        sandbox
    });
    original.fork()
}

/// Merges a change as a person does who keeps both sides; `fix` is theirs to do before the commit.
fn merge(sandbox: &Sandbox, how: &str, change: &str, fix: impl FnOnce()) {
    let branch = format!("cowork/todo--{change}");
    let merge = ["merge", "-q", how, &branch];
    let options: &[&str] = if how == "--squash" { &[] } else { &["-m", "Merge"] };
    sandbox.git_outcome(&[&merge[..], options].concat());
    sandbox.keep_both();
    fix();
    sandbox.git(&["add", "-A", ".cowork", "lib"]);
    let is_merging = !sandbox.git_fails(&["rev-parse", "-q", "--verify", "MERGE_HEAD"]);
    if is_merging || !sandbox.git(&["diff", "--cached", "--name-only"]).is_empty() {
        sandbox.git(&["commit", "-q", "-m", &format!("Merge {change}")]);
    }
}

fn records(sandbox: &Sandbox, file: &str, list: &str) -> Vec<Value> {
    let text = sandbox.blob("HEAD", &format!("{DIR}/{file}"));
    serde_json::from_str::<Value>(&text).unwrap()[list].as_array().unwrap().clone()
}

fn edit(sandbox: &Sandbox, file: &str, change: impl FnOnce(&mut Value)) {
    let path = format!("{DIR}/{file}");
    let mut value: Value = serde_json::from_str(&sandbox.read(&path)).unwrap();
    change(&mut value);
    sandbox.write(&path, &(serde_json::to_string_pretty(&value).unwrap() + "\n"));
}

fn codes(sandbox: &Sandbox) -> Vec<(String, String)> {
    let told = sandbox.cowork(&["verify", "todo", "--json"]).json_lines();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    told.iter().map(|one| (text(&one["code"]), text(&one["about"]))).collect()
}

#[test]
fn what_renumbering_did_to_a_document_of_one_change_was_passed() {
    let sandbox = two_additions();
    // A third one says in the design what its feature is.
    sandbox.script_addition("Due dates", ["REQ-004", "FEAT-003", "TASK-006"], "lib/due.sh");
    sandbox.script("triage", triage("Due dates", &["prd", "design", "plan", "code"], &[]));
    let design = format!("{}\nFEAT-003 is done by COMP-001, too.\n", todo::DESIGN);
    let core = json!({"id": "COMP-001", "related_features": ["FEAT-001", "FEAT-002", "FEAT-003"]});
    sandbox.script(
        "design",
        Reply::call("save_design_doc", json!({"content": design}))
            .and("update_design_component", core),
    );
    modify(&sandbox, "due");
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    for change in ["quick", "sorted", "due"] {
        merge(&sandbox, "--no-ff", change, || ());
    }
    sandbox.cowork(&["verify", "--fix"]).exits(0);
    let path = format!("{DIR}/design.md");
    assert!(sandbox.blob("HEAD", &path).contains("FEAT-005 is done"), "it was renumbered");
    sandbox.cowork(&["verify"]).exits(0);
    // What a person writes on top of it was not passed, and nobody is sent back before the merges.
    let edited = sandbox.read(&path).replace("FEAT-005 is done", "FEAT-005 is done well");
    sandbox.write(&path, &edited);
    sandbox.git(&["commit", "-q", "-a", "-m", "by hand"]);
    let told = sandbox.cowork(&["verify"]).exits(1).stdout;
    assert!(told.contains("changed-after-approval") && told.contains("design.md"), "{told}");
    assert!(!told.contains("revert") && told.contains("git cowork modify"), "{told}");
    let back = told.split("restore the approved version: ").nth(1).unwrap();
    let back = back.split("; ").next().unwrap();
    assert!(sandbox.command("sh").args(["-c", back]).status().unwrap().success(), "{back}");
    sandbox.cowork(&["verify"]).exits(0);
}

#[test]
fn a_document_that_the_session_passed_meanwhile_and_a_change_have_met() {
    let sandbox = Sandbox::delivered();
    sandbox.script_addition("Quick adding", ["REQ-004", "FEAT-003", "TASK-006"], "lib/quick.sh");
    modify(&sandbox, "quick");
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    let file =
        json!({"path": "lib/list.sh", "old_text": "List todos", "new_text": "List all todos"});
    sandbox.server.on(at("coding", "actor").turn(1), Reply::call("edit_file", file));
    sandbox.cowork(&["feedback", "lib/list.sh says too little", "--review", "auto"]).exits(0);
    merge(&sandbox, "--no-ff", "quick", || ());
    // Were both given the same id, the session's own is told from the change's.
    sandbox.cowork(&["verify", "--fix"]).exits(0);
    let tasks = records(&sandbox, "implementation_plan.json", "tasks");
    let title = |task: &Value| task["title"].as_str().unwrap().to_owned();
    let quick = tasks.iter().find(|task| title(task) == "Quick adding").unwrap();
    let review = tasks.iter().find(|task| title(task).contains("review")).unwrap();
    assert_ne!(quick["id"], review["id"]);
    assert_eq!(quick["feature_id"], "FEAT-003");
}

#[test]
fn a_record_a_person_edited_follows_its_own_side() {
    let edits: [&dyn Fn(&mut Value); 2] =
        [&|feature| feature["description"] = "Sorted as the person says.".into(), &|feature| {
            feature["name"] = "Lists in order".into()
        }];
    for change in edits {
        let sandbox = two_additions();
        merge(&sandbox, "--no-ff", "quick", || ());
        merge(&sandbox, "--no-ff", "sorted", || {
            edit(&sandbox, "feature_list.json", |file| change(&mut file["features"][3]));
        });
        let told = codes(&sandbox);
        assert!(told.contains(&("duplicate-id".to_owned(), "FEAT-003".to_owned())), "{told:?}");
        sandbox.cowork(&["verify", "--fix"]).exits(0);
        let features = records(&sandbox, "feature_list.json", "features");
        let ids: Vec<&Value> = features.iter().map(|feature| &feature["id"]).collect();
        assert_eq!(ids, ["FEAT-001", "FEAT-002", "FEAT-003", "FEAT-004"]);
        assert_eq!(features[2]["requirement_ids"], json!(["REQ-004"]));
        assert_eq!(features[3]["requirement_ids"], json!(["REQ-005"]));
    }
}

#[test]
fn a_squashed_change_is_a_side_as_well() {
    for (first, second) in [("--squash", "--no-ff"), ("--no-ff", "--squash")] {
        let sandbox = two_additions();
        merge(&sandbox, first, "quick", || ());
        merge(&sandbox, second, "sorted", || ());
        let gone = sandbox.fork();
        sandbox.cowork(&["verify", "--fix"]).exits(0);
        let of = |sandbox: &Sandbox, file: &str, list: &str, name: &str| {
            let all = records(sandbox, file, list);
            all.into_iter().find(|one| one["name"] == name || one["title"] == name).unwrap()
        };
        let assert_told_apart = |sandbox: &Sandbox| {
            for (name, requirement) in [("Quick adding", "REQ-004"), ("Sorted lists", "REQ-005")] {
                let feature = of(sandbox, "feature_list.json", "features", name);
                assert_eq!(feature["requirement_ids"], json!([requirement]), "{first}");
                let task = of(sandbox, "implementation_plan.json", "tasks", name);
                assert_eq!(task["feature_id"], feature["id"], "{first}");
                let one = of(sandbox, "requirements.json", "requirements", name);
                assert_eq!(one["id"], requirement, "{first}");
            }
        };
        assert_told_apart(&sandbox);
        // Where nothing says any more what was squashed, the commit that brought both together does.
        let squashed = if first == "--squash" { "quick" } else { "sorted" };
        gone.git(&["branch", "-q", "-D", &format!("cowork/todo--{squashed}")]);
        gone.cowork(&["verify", "--fix"]);
        assert_told_apart(&gone);
        let told = codes(&gone);
        assert!(told.iter().all(|(code, _)| code != "duplicate-id"), "{told:?}");
    }
}

#[test]
fn what_a_merge_lost_is_said() {
    let sandbox = two_additions();
    merge(&sandbox, "--no-ff", "quick", || ());
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    for how in ["--no-ff", "--squash"] {
        sandbox.git(&["reset", "-q", "--hard", &before]);
        sandbox.git_outcome(&["merge", "-q", "-X", "ours", how, "cowork/todo--sorted"]);
        sandbox.git_outcome(&["commit", "-q", "--no-edit"]);
        let told = codes(&sandbox);
        let lost = |id: &str| ("lost-record".to_owned(), id.to_owned());
        assert_eq!(told, ["REQ-004", "FEAT-003", "TASK-006"].map(lost), "{how}");
        let said = sandbox.cowork(&["verify"]).exits(1).stdout;
        assert!(said.contains("REQ-004 of todo--sorted is missing: Sorted lists"), "{said}");
    }
    // Put back as told, it is one of two with the same id; renumbered, all is well.
    let from = "cowork/todo--sorted";
    for (file, list) in [
        ("requirements.json", "requirements"),
        ("feature_list.json", "features"),
        ("implementation_plan.json", "tasks"),
    ] {
        let theirs: Value =
            serde_json::from_str(&sandbox.blob(from, &format!("{DIR}/{file}"))).unwrap();
        let record = theirs[list].as_array().unwrap().last().unwrap().clone();
        edit(&sandbox, file, |all| all[list].as_array_mut().unwrap().push(record));
    }
    sandbox.git(&["commit", "-q", "-a", "-m", "put back"]);
    let told = codes(&sandbox);
    assert!(told.iter().all(|(code, _)| code != "lost-record"), "{told:?}");
    sandbox.cowork(&["verify", "--fix"]);
    let told = codes(&sandbox);
    assert!(told.iter().all(|(code, _)| code != "lost-record"), "{told:?}");
    // What a person takes out on purpose, in a commit of its own, is not lost.
    edit(&sandbox, "implementation_plan.json", |all| {
        drop(all["tasks"].as_array_mut().unwrap().pop())
    });
    sandbox.git(&["commit", "-q", "-a", "-m", "not that task"]);
    let told = codes(&sandbox);
    assert!(told.iter().all(|(code, _)| code != "lost-record"), "{told:?}");
}

#[test]
fn a_conflict_that_was_committed_as_it_stood_is_said() {
    let sandbox = two_additions();
    merge(&sandbox, "--no-ff", "quick", || ());
    let path = format!("{DIR}/prd.md");
    let text = sandbox.read(&path);
    let conflict = "<<<<<<< HEAD\n- one\n=======\n- other\n>>>>>>> cowork/todo--sorted\n";
    sandbox.write(&path, &format!("{text}{conflict}"));
    sandbox.git(&["commit", "-q", "-a", "-m", "as it stood"]);
    let told = codes(&sandbox);
    assert!(told.contains(&("conflict-marker".to_owned(), path)), "{told:?}");
}

#[test]
fn a_change_begins_with_the_documents_of_the_newest_one_that_was_merged() {
    let sandbox = Sandbox::delivered();
    sandbox.cowork(&["merge", "--without-artifacts"]).exits(0);
    sandbox.script_addition("Due dates", ["REQ-004", "FEAT-003", "TASK-006"], "lib/due.sh");
    let modify =
        |name: &'static str| ["modify", name, "-n", name, "--session", "todo", "--review", "auto"];
    sandbox.cowork(&modify("due")).exits(0).says("its documents come from todo");
    sandbox.cowork(&["merge", "--without-artifacts"]).exits(0);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.script_small_change("lib/add.sh", "at once");
    sandbox.cowork(&modify("tags")).exits(0).says("its documents come from todo--due");
    assert!(sandbox.artifact("requirements.json").contains("Due dates"));
    assert!(sandbox.artifact("prd.md").contains("REQ-004 Due dates"));
    sandbox.cowork(&["verify"]).exits(0);
    // Also when the branch of the first is gone: it is in the archive.
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["branch", "-q", "-D", "cowork/todo--due"]);
    sandbox.cowork(&modify("again")).exits(0).says("its documents come from todo--due");
}

#[test]
fn a_change_to_what_a_remote_knows_more_of_is_refused() {
    let mut sandbox = Sandbox::delivered();
    sandbox.git(&["init", "-q", "--bare", "../hub.git"]);
    sandbox.git(&["remote", "add", "origin", "../hub.git"]);
    sandbox.git(&["push", "-q", "origin", "main", "cowork/todo"]);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["clone", "-q", "-b", "cowork/todo", "../hub.git", "../second"]);
    let first = sandbox.repo();
    sandbox.enter("../second");
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "elsewhere"]);
    sandbox.git(&["push", "-q"]);
    sandbox.enter(first);
    sandbox.git(&["fetch", "-q"]);
    let modify = ["modify", "be quick", "--stop-after", "triage", "--review", "auto"];
    sandbox.cowork(&modify).exits(5).says("1 commit").says("git merge --ff-only");
    assert!(sandbox.refs("refs/heads/cowork/").len() == 1);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
    sandbox.git(&["merge", "-q", "--ff-only", "origin/cowork/todo"]);
    sandbox.script_small_change("lib/add.sh", "at once");
    sandbox.cowork(&modify).exits(0);
}
