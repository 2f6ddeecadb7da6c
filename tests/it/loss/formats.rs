//! Formats age: what a newer program wrote is left alone, and said.

use super::{Belongings, designed, keeps};

#[test]
fn a_session_of_a_newer_format_is_refused_and_left_as_it_is() {
    let base = designed();
    let file = ".cowork/sessions/todo/session.json";
    let text = base.read(file);
    for newer in [
        text.replace("\"1.0\"", "\"1.1\""),
        text.replace("\"1.0\"", "\"2.0\""),
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
            &["delete", "todo"],
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
