//! Formats age: what a newer program wrote is left alone, and said; what an older one wrote is read,
//! and raised in a commit of its own.

use super::{Belongings, designed, keeps};
use crate::support::kill::abort_at;
use crate::support::{Reply, Sandbox, at, todo};

#[test]
fn a_session_of_a_newer_format_is_refused_and_left_as_it_is() {
    let base = designed();
    let file = ".cowork/sessions/todo/session.json";
    let text = base.read(file);
    for newer in [
        text.replace("\"1.1\"", "\"1.2\""),
        text.replace("\"1.1\"", "\"2.0\""),
        "{\"schema_version\": \"3.0\", \"all\": \"different\"}\n".to_owned(),
    ] {
        let sandbox = base.fork();
        sandbox.write(file, &newer);
        sandbox.commit_all("written by a newer program");
        let refs = sandbox.all_refs();
        for args in [
            &["status"][..],
            &["log"],
            &["resume", "--review", "auto"],
            &["revert", "--to", "prd", "--no-run"],
            &["archive"],
            &["delete", "todo", "--yes"],
        ] {
            let told = keeps(&sandbox, args, 5);
            assert!(told.contains("newer git-cowork"), "{args:?}: {told}");
        }
        keeps(&sandbox, &["list", "--all"], 0);
        sandbox.git(&["update-ref", "refs/cowork/archive/old", "HEAD"]);
        let told = keeps(&sandbox, &["list", "--all"], 0);
        assert!(told.contains("refs/cowork/archive/old"), "{told}");
        sandbox.git(&["update-ref", "-d", "refs/cowork/archive/old"]);
        assert_eq!(sandbox.all_refs(), refs);
    }
}

#[test]
fn unknown_fields_survive_stages_and_going_back() {
    let sandbox = designed();
    for file in ["session.json", "requirements.json", "feature_list.json", "design_spec.json"] {
        let file = format!(".cowork/sessions/todo/{file}");
        let text = sandbox.read(&file);
        let end = text.rfind('}').unwrap();
        let body = text[..end].trim_end();
        sandbox.write(&file, &format!("{body},\n  \"of_another_tool\": {{\"kept\": true}}\n}}\n"));
    }
    sandbox.commit_all("another tool's fields");
    let before = Belongings::of(&sandbox);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    before.assert_kept(&sandbox, "resumed to the end");
    for file in ["session.json", "requirements.json", "feature_list.json", "design_spec.json"] {
        assert!(sandbox.artifact(file).contains("of_another_tool"), "{file}");
    }
}

const FILE: &str = ".cowork/sessions/todo/session.json";

/// A session whose `session.json` is as the format before 1.1 had it, with a field of its own.
fn of_an_older_format() -> Sandbox {
    let sandbox = designed();
    let text = sandbox.read(FILE).replace("\"1.1\"", "\"1.0\"");
    let end = text.rfind('}').unwrap();
    let body = text[..end].trim_end();
    sandbox.write(FILE, &format!("{body},\n  \"of_another_tool\": {{\"kept\": true}}\n}}\n"));
    sandbox.commit_all("as an early program wrote it");
    sandbox
}

fn raised(sandbox: &Sandbox) -> Vec<String> {
    let subjects = sandbox.subjects("main..cowork/todo");
    subjects.into_iter().filter(|s| s.starts_with("session: format")).collect()
}

#[test]
fn an_older_format_is_read_as_it_is_and_raised_in_a_commit_of_its_own() {
    let sandbox = of_an_older_format();
    let old = sandbox.read(FILE);
    let refs = sandbox.all_refs();
    for args in [&["status"][..], &["log"], &["list"], &["show", "design"], &["verify"]] {
        keeps(&sandbox, args, 0);
    }
    assert_eq!((sandbox.all_refs(), sandbox.read(FILE)), (refs, old));
    sandbox.write("README.md", "# Mine\n");
    sandbox.git(&["add", "README.md"]);
    sandbox.server.forget();
    let told = keeps(&sandbox, &["resume", "--review", "auto", "--stop-after", "plan"], 0);
    assert!(told.contains("is now in format 1.1 (was 1.0)"), "{told}");
    assert!(sandbox.server.requests().iter().all(|request| request.stage == "plan"));
    let subject = "session: format 1.0 -> 1.1";
    assert_eq!(sandbox.subjects("cowork/todo~2..cowork/todo")[0], subject);
    assert_eq!(sandbox.git(&["show", "--format=", "--name-only", "HEAD~1"]), FILE);
    let trailers = sandbox.trailers("HEAD~1");
    let keys: Vec<_> = trailers.keys().map(String::as_str).collect();
    assert_eq!(keys, ["Cowork-Session", "Cowork-Session-Id"]);
    let new = sandbox.blob("HEAD", FILE);
    assert!(new.starts_with("{\n  \"schema_version\": \"1.1\",\n"), "{new}");
    assert!(new.contains("\"of_another_tool\""), "{new}");
    // Every session had all stages and gates then, whatever its `depth` said.
    assert!(new.contains("\"depth\": \"thorough\""), "{new}");
    keeps(&sandbox, &["resume", "--review", "auto", "--stop-after", "coding"], 0);
    assert_eq!(raised(&sandbox), [subject]);
    keeps(&sandbox, &["verify"], 0);
    // Going back to before it, it is done again.
    keeps(&sandbox, &["revert", "--to", "prd", "--no-run"], 0);
    assert_eq!(sandbox.git(&["diff", "--cached", "--name-only"]), "README.md");
}

#[test]
fn raising_a_format_waits_for_a_draft_and_for_a_persons_edit() {
    let sandbox = of_an_older_format();
    let mine = sandbox.read(FILE).replace("\"kept\": true", "\"kept\": \"by me\"");
    sandbox.write(FILE, &mine);
    sandbox.server.on(at("plan", "critic"), Reply::status(401, "no"));
    let told = keeps(&sandbox, &["resume", "--review", "auto"], 4);
    assert!(told.contains("stays in format 1.0"), "{told}");
    // A draft was made on that tip, which must stay the tip until it is recorded.
    sandbox.server.on(at("plan", "critic"), todo::approve());
    sandbox.server.forget();
    keeps(&sandbox, &["resume", "--review", "auto", "--stop-after", "plan"], 0);
    assert!(sandbox.server.requests_of("plan", "actor").is_empty(), "drafted again");
    assert_eq!((raised(&sandbox).len(), sandbox.blob("HEAD", FILE)), (0, mine));
    keeps(&sandbox, &["resume", "--review", "auto", "--stop-after", "coding"], 0);
    assert_eq!(raised(&sandbox).len(), 1);
    assert!(sandbox.blob("HEAD", FILE).contains("by me"));
}

#[test]
fn killed_while_a_format_is_raised_it_is_raised_once() {
    let base = of_an_older_format();
    for point in ["format.before-commit", "format.after-commit"] {
        let mut sandbox = base.fork();
        let before = Belongings::of(&sandbox);
        let args = ["resume", "--review", "auto", "--stop-after", "plan"];
        abort_at(&mut sandbox, &args, point).was_killed();
        before.assert_kept(&sandbox, point);
        keeps(&sandbox, &args, 0);
        assert_eq!(raised(&sandbox).len(), 1, "{point}");
        sandbox.assert_sound();
    }
}

#[test]
fn a_hook_that_refuses_the_new_format_stops_the_run_and_changes_nothing() {
    let sandbox = of_an_older_format();
    sandbox.hook(
        "pre-commit",
        "git diff --cached --name-only | grep -q session.json && exit 1; exit 0",
    );
    let (old, refs) = (sandbox.read(FILE), sandbox.all_refs());
    let told = keeps(&sandbox, &["resume", "--review", "auto"], 5);
    assert!(told.contains("pre-commit hook refused"), "{told}");
    assert_eq!((sandbox.read(FILE), sandbox.all_refs()), (old, refs));
    sandbox.assert_clean();
}

#[test]
fn a_format_nobody_can_raise_is_refused_and_left_as_it_is() {
    let sandbox = designed();
    sandbox.write(FILE, &sandbox.read(FILE).replace("\"1.1\"", "\"0.8\""));
    sandbox.commit_all("written by a much older program");
    let refs = sandbox.all_refs();
    for args in [&["status"][..], &["resume", "--review", "auto"], &["archive"]] {
        let told = keeps(&sandbox, args, 5);
        assert!(told.contains("format 0.8") && told.contains("that wrote it"), "{told}");
    }
    assert_eq!(sandbox.all_refs(), refs);
}

#[test]
fn records_that_only_the_json_of_an_older_format_has_are_not_lost() {
    let sandbox = of_an_older_format();
    sandbox.write(".cowork/sessions/todo/prd.md", "# Product requirements\n\n- REQ-001 Add\n");
    sandbox.commit_all("prose, as before records were sections");
    let refs = sandbox.all_refs();
    keeps(&sandbox, &["status"], 0);
    for args in [&["verify", "--fix"][..], &["resume", "--review", "auto"]] {
        let told = keeps(&sandbox, args, 5);
        assert!(told.contains("format 1.0") && told.contains("that wrote it"), "{told}");
    }
    assert_eq!(sandbox.all_refs(), refs);
}
