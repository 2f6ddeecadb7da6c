//! The first request of `new` and `modify`: what a session is called, how often that is asked, and
//! what happens where nobody answers, or not in a form that can be used.

use serde_json::{Value, json};

use crate::support::script::START;
use crate::support::{Reply, Sandbox, at};

const IDEA: &str = "Wir brauchen einen Befehl, der alle Messwerte als CSV ausgibt";
const STOP: [&str; 4] = ["--review", "auto", "--stop-after", "idea"];

fn named(title: &str, name: &str) -> Reply {
    let said = json!({
        "language": "German", "title": title, "name": name, "depth": "standard", "reason": "New.",
    });
    Reply::call("name_work", said)
}

fn scripted(reply: Reply) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.server.on(at(START, "actor"), reply);
    sandbox
}

fn new(sandbox: &Sandbox, more: &[&str]) -> crate::support::sandbox::Outcome {
    sandbox.cowork(&[&["new", IDEA], more, &STOP].concat())
}

fn session_json(sandbox: &Sandbox, folder: &str) -> Value {
    let path = format!(".cowork/sessions/{folder}/session.json");
    serde_json::from_str(&sandbox.read(&path)).unwrap()
}

#[test]
fn branch_title_and_subject_are_what_the_model_calls_them() {
    let sandbox = scripted(named("Messwerte als CSV ausgeben", "CSV export"));
    new(&sandbox, &[]).exits(0);
    assert_eq!(sandbox.refs("refs/heads"), ["refs/heads/cowork/csv-export", "refs/heads/main"]);
    let file = session_json(&sandbox, "csv-export");
    assert_eq!(file["title"], "Messwerte als CSV ausgeben");
    assert_eq!((&file["idea"], &file["language"]), (&json!(IDEA), &json!("German")));
    let start = sandbox.commit_of("cowork/csv-export", "start: ");
    let message = sandbox.git(&["log", "-1", "--format=%B", &start]);
    assert!(message.starts_with("start: Messwerte als CSV ausgeben\n\nWir brauchen"), "{message}");

    let asked = sandbox.server.first_requests();
    assert_eq!(asked.len(), 1);
    let first = &asked[0];
    assert_eq!(first.tools(), ["name_work"]);
    assert!(first.text().contains(IDEA));
    assert!(first.bytes < 4_000, "{} bytes", first.bytes);
    assert_eq!((first.stage.as_str(), first.role.as_str(), first.iteration), (START, "actor", 1));
    // It has no name yet.
    assert!(!first.headers.contains_key("cowork-session"), "{:?}", first.headers);
    let idea = sandbox.server.requests_of("idea", "actor")[0].clone();
    assert_eq!(idea.session, "csv-export");
    assert!(idea.text().contains("as it was given, in German"));
    // It is part of what the first stage took.
    let trailers = sandbox.trailers(&sandbox.commit_of("cowork/csv-export", "idea: "));
    assert_eq!(trailers["Cowork-Tokens"], ["in=200 out=40 cached=0"]);
    assert!(trailers["Cowork-Cost"][0].starts_with("requests=2 "), "{trailers:?}");
    let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
    assert_eq!(status["tokens"]["in"], 200);
    sandbox.assert_sound();
}

#[test]
fn a_name_that_was_given_wins_and_one_that_is_taken_gets_a_number() {
    let sandbox = scripted(named("Messwerte als CSV ausgeben", "csv"));
    new(&sandbox, &["-n", "mine"]).exits(0);
    assert_eq!(session_json(&sandbox, "mine")["title"], "Messwerte als CSV ausgeben");
    assert_eq!(sandbox.server.first_requests()[0].session, "mine");
    for _ in 0..2 {
        new(&sandbox, &[]).exits(0);
    }
    let heads = ["csv", "csv-2", "mine"].map(|name| format!("refs/heads/cowork/{name}"));
    assert_eq!(sandbox.refs("refs/heads/cowork"), heads);
    // Nobody is asked about a name that cannot be had.
    new(&sandbox, &["-n", "csv"]).exits(5).says("already exists");
    assert_eq!(sandbox.server.first_requests().len(), 3);
}

/// A clone of a branch that holds a delivered session has its records, and none of its references.
#[test]
fn a_merged_session_keeps_its_name_in_a_clone() {
    let mut sandbox = Sandbox::new();
    sandbox.auto(&[]).exits(0);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.cowork(&["merge", "todo"]).exits(0);
    sandbox.git(&["clone", "-q", "--no-tags", "--single-branch", "-b", "main", ".", "clone"]);
    sandbox.enter("clone");
    let tip = sandbox.git(&["rev-parse", "main"]);
    let new = ["new", "-n", "todo", "another list", "--review", "auto", "--stop-after", "idea"];
    sandbox
        .cowork(&new)
        .exits(5)
        .says("a session named 'todo' has records in the tree that this one starts from")
        .says(".cowork/sessions/todo/");
    assert_eq!(sandbox.refs("refs/heads"), ["refs/heads/main"]);
    // A name that is made is another one.
    sandbox.cowork(&["new", "todo", "--review", "auto", "--stop-after", "idea"]).exits(0);
    assert_eq!(sandbox.refs("refs/heads/cowork"), ["refs/heads/cowork/todo-2"]);
    assert_eq!(sandbox.git(&["diff", "--name-only", &tip, "--", ".cowork/sessions/todo"]), "");
    // From a commit without the records, the name is free.
    let base = sandbox.git(&["rev-list", "--max-parents=0", "main"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.cowork(&[&new[..], &["-b", &base]].concat()).exits(0);
    assert!(sandbox.refs("refs/heads/cowork").contains(&"refs/heads/cowork/todo".to_owned()));
}

/// Merged or squashed, in a clone or a bare repository: its records say what it was.
#[test]
fn commands_that_read_know_a_merged_session_without_a_branch() {
    let delivered = Sandbox::new();
    delivered.auto(&[]).exits(0);
    delivered.git(&["switch", "-q", "main"]);
    for (way, commits) in [("merge", true), ("squash", false)] {
        let mut sandbox = delivered.fork();
        if commits {
            sandbox.cowork(&["merge", "todo"]).exits(0);
        } else {
            sandbox.git(&["merge", "-q", "--squash", "cowork/todo"]);
            sandbox.git(&["commit", "-q", "-m", "Todo (#1)"]);
        }
        let clone = ["clone", "-q", "--no-tags", "--single-branch", "-b", "main", "."];
        sandbox.git(&[&clone[..], &["clone"]].concat());
        sandbox.git(&[&clone[..], &["../bare", "--bare"]].concat());
        let top = sandbox.repo();
        for place in ["clone", "../bare"] {
            sandbox.enter(top.join(place));
            let status = sandbox.cowork(&["status", "todo", "--json"]).exits(0).json();
            assert_eq!((&status["state"], &status["stage"]), (&json!("merged"), &json!(null)));
            assert_eq!(status["done"].as_array().unwrap().len(), 7, "{way} {place}");
            let text = sandbox.cowork(&["status", "todo"]).exits(0);
            assert!(text.stderr.contains("todo has no branch any more"), "{way} {place}");
            let prd = sandbox.cowork(&["show", "todo", "prd"]).exits(0);
            assert!(prd.stdout.contains("REQ-001"), "{way} {place}");
            let log = sandbox.cowork(&["log", "todo"]).exits(0).stdout;
            assert_eq!(log.contains("prd"), commits, "{way} {place}: {log}");
            assert_eq!(sandbox.cowork(&["list"]).exits(0).stdout, "");
            let listed = sandbox.cowork(&["list", "--all"]).exits(0).stdout;
            assert!(
                listed.contains("todo") && listed.contains("merged"),
                "{way} {place}: {listed}"
            );
            if place == "../bare" {
                assert_eq!(sandbox.cowork(&[]).exits(0).stdout, listed, "{way}");
                let told = sandbox.cowork(&["--json"]).exits(0).json();
                assert_eq!(told["state"], "merged", "{way}");
            }
            let verified = sandbox.cowork(&["verify", "--all"]).exits(0).stdout;
            assert!(verified.contains("todo: all is well"), "{way} {place}: {verified}");
            assert_eq!(text.stdout.contains("(squashed)"), !commits, "{way} {place}");
            let merged = "'todo' was merged, and has no branch any more";
            if place == "clone" {
                sandbox.cowork(&["resume", "todo"]).exits(5).says(merged);
                sandbox.cowork(&["status", "todoo"]).exits(5).says("todo");
            }
        }
    }
}

/// Written by a newer version, or broken: the others are told.
#[test]
fn a_merged_session_that_cannot_be_read_hides_no_other() {
    let sandbox = Sandbox::new();
    sandbox.auto(&[]).exits(0);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "todo", "cowork/todo"]);
    sandbox.cowork(&["delete", "todo", "--yes"]).exits(0);
    let folder = ".cowork/sessions";
    for file in sandbox.git(&["ls-files", &format!("{folder}/todo")]).lines() {
        let text = sandbox.read(file).replace("\"name\": \"todo\"", "\"name\": \"other\"");
        let text = text.replace("\"schema_version\": \"", "\"schema_version\": \"9");
        sandbox.write(&file.replace("/todo/", "/other/"), &text);
    }
    sandbox.commit_all("a session of a newer version");
    sandbox.cowork(&["status", "todo"]).exits(0);
    sandbox.cowork(&["log", "todo"]).exits(0);
    sandbox.cowork(&["list"]).exits(0);
    let all = sandbox.cowork(&["list", "--all"]).exits(0).says("a session cannot be read: other");
    assert!(all.stdout.contains("todo"), "{}", all.stdout);
    let verified = sandbox.cowork(&["verify"]).exits(1).says("a session cannot be read: other");
    assert!(verified.stdout.contains("todo: all is well"), "{}", verified.stdout);
    sandbox.cowork(&["status", "other"]).exits(5).says("format 9");
}

#[test]
fn a_branch_that_points_to_nothing_is_not_followed() {
    let sandbox = Sandbox::new();
    sandbox.git(&["symbolic-ref", "refs/heads/cowork/todo", "refs/heads/victim"]);
    for more in [&[][..], &["-w"]] {
        sandbox.auto(more).exits(5).says("points to refs/heads/victim");
    }
    assert_eq!(sandbox.refs("refs/heads"), ["refs/heads/main"]);
}

#[test]
fn the_name_of_a_deleted_session_is_told_with_the_way_back() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.cowork(&["delete", "todo", "--yes"]).exits(0);
    let new = ["new", "-n", "todo", "another list", "--review", "auto", "--stop-after", "idea"];
    let undo = "git cowork undo --session todo";
    sandbox.cowork(&new).exits(5).says("was deleted").says(undo);
    sandbox.cowork(&["undo", "--session", "todo"]).exits(0);
    sandbox.cowork(&new).exits(5).says("git cowork resume todo");
}

#[test]
fn an_answer_of_no_use_leaves_the_names_to_the_idea() {
    let useless = [
        Reply::text("Sure, I would love to help you with that!"),
        Reply::empty(),
        Reply::call("name_work", json!({"title": "…", "name": "数据", "depth": "endless"})),
        Reply::call("name_work", json!([])),
    ];
    for reply in useless {
        let sandbox = scripted(reply);
        new(&sandbox, &[]).exits(0);
        let name = "wir-brauchen-einen-befehl-der-alle";
        assert_eq!(sandbox.refs("refs/heads/cowork"), [format!("refs/heads/cowork/{name}")]);
        assert_eq!(session_json(&sandbox, name)["title"], IDEA);
        assert_eq!(sandbox.server.first_requests().len(), 1);
    }
    // Any form it can be read in is of use.
    let fenced = "```json\n{\"title\": \"Readings as CSV\", \"name\": \"csv\"}\n```";
    let sandbox = scripted(Reply::text(fenced));
    new(&sandbox, &[]).exits(0);
    assert_eq!(session_json(&sandbox, "csv")["title"], "Readings as CSV");
}

#[test]
fn a_first_request_that_fails_leaves_nothing_behind() {
    let sandbox = scripted(Reply::status(400, "this model is asleep"));
    let before = sandbox.all_refs();
    let outcome = new(&sandbox, &[]).exits(4).says("this model is asleep");
    outcome.says("then run the same command again; nothing was changed");
    assert_eq!(sandbox.all_refs(), before);
    assert!(!sandbox.exists(".cowork") && sandbox.server.requests().is_empty());
    sandbox.assert_clean();
    // One that may be better next time is asked again, as every other.
    let sandbox = scripted(named("Messwerte als CSV", "csv"));
    sandbox.server.times(2, at(START, "actor"), Reply::status(503, "loading"));
    new(&sandbox, &[]).exits(0).says("trying again");
    assert_eq!(sandbox.server.first_requests().len(), 3);
    assert!(sandbox.exists(".cowork/sessions/csv"));
    let trailers = sandbox.trailers(&sandbox.commit_of("cowork/csv", "idea: "));
    assert!(trailers["Cowork-Cost"][0].starts_with("requests=4 "), "{trailers:?}");
}

#[test]
fn a_change_is_named_by_its_first_request() {
    let sandbox = Sandbox::delivered();
    sandbox.script_small_change("lib/add.sh", "at once");
    sandbox.server.on(at(START, "actor"), named("Say that adding is quick", "quick add"));
    let modify = ["modify", "--session", "todo", "Please tell people that it is quick"];
    let stop = ["--review", "auto", "--stop-after", "triage"];
    sandbox.cowork(&[&modify[..], &stop].concat()).exits(0);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "cowork/todo--quick-add");
    let file = session_json(&sandbox, "todo/changes/quick-add");
    assert_eq!(file["title"], "Say that adding is quick");
    let asked = sandbox.server.first_requests();
    assert!(asked[asked.len() - 1].text().contains("a change to the finished session `todo`"));
    sandbox.cowork(&[&modify[..], &["-n", "mine"], &stop].concat()).exits(0);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "cowork/todo--mine");
    let asked = sandbox.server.first_requests();
    assert_eq!(asked[asked.len() - 1].session, "todo--mine");
}

#[test]
fn a_recording_holds_it_and_an_older_one_still_plays() {
    let sandbox = scripted(named("Messwerte als CSV ausgeben", "csv"));
    let file = sandbox.root().join("said.jsonl");
    let path = file.display().to_string();
    new(&sandbox, &["--record", &path]).exits(0);
    let again = Sandbox::new();
    new(&again, &["--replay", &path]).exits(0);
    assert_eq!(again.refs("refs/heads/cowork"), ["refs/heads/cowork/csv"]);
    let said = std::fs::read_to_string(&file).unwrap();
    let older: Vec<&str> = said.lines().filter(|line| !line.contains("name_work")).collect();
    assert_eq!(older.len() + 1, said.lines().count());
    std::fs::write(&file, older.join("\n")).unwrap();
    new(&again, &["--replay", &path]).exits(0);
    assert_eq!(again.refs("refs/heads/cowork").len(), 2);
    assert!(again.exists(".cowork/sessions/wir-brauchen-einen-befehl-der-alle"));
    assert!(again.server.first_requests().is_empty());
}

#[test]
fn a_server_that_takes_no_tools_names_a_session_in_words() {
    let sandbox = Sandbox::new();
    sandbox.server.on_with(at(START, "actor"), |received| {
        let said = "{\"title\": \"Readings as CSV\", \"name\": \"csv\"}";
        Some(match received.tools().is_empty() {
            true => Reply::text(said),
            false => Reply::status(400, "registry.ollama.ai/m does not support tools"),
        })
    });
    new(&sandbox, &[]).exits(0);
    assert!(sandbox.exists(".cowork/sessions/csv"));
    // What was learned is not tried again.
    assert!(sandbox.server.requests().iter().all(|request| request.tools().is_empty()));
}

#[test]
fn a_tag_that_leaves_no_room_for_the_sessions_tags_is_named_before_any_request() {
    for tag in ["cowork", "cowork/todo"] {
        let sandbox = Sandbox::new();
        sandbox.git(&["tag", tag]);
        let told = sandbox.auto(&[]).exits(5);
        told.says(&format!("a tag named '{tag}' prevents tags named '{tag}/…'")).says("git tag -d");
        assert_eq!(sandbox.server.asked(), 0);
        sandbox.git(&["config", "cowork.project.tags", "false"]);
        sandbox.auto(&["--stop-after", "idea"]).exits(0);
    }
}
