//! A person who goes on by hand where the models could not: what they edit after a run stopped is the
//! next draft, and is looked at before another one is asked for.

use serde_json::json;

use crate::support::todo::{PRD, approve, reject};
use crate::support::{Reply, Sandbox, at};

const PATH: &str = ".cowork/sessions/todo/prd.md";
const DRAFT: &str = "refs/cowork/drafts/todo/prd";

fn resume<'a>(mode: &'a str, stage: &'a str) -> [&'a str; 5] {
    ["resume", "--review", mode, "--stop-after", stage]
}

/// The critic refuses each of the PRD drafts there may be.
fn refused(drafts: u32) -> Sandbox {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.user_config(&format!("[limits]\niterations = {{ prd = {drafts} }}\n"));
    sandbox.server.on_with(at("prd", "actor").turn(1), |received| {
        let text = format!("{PRD}\nDraft {}.\n", received.iteration);
        (received.iteration > 1).then(|| Reply::call("save_prd_doc", json!({"content": text})))
    });
    let words = ["no user is named", "ticking off is unclear", "the second feature is vague"];
    let refusals = words.into_iter().take(drafts as usize).map(reject).collect();
    sandbox.server.sequence(at("prd", "critic"), refusals);
    sandbox.cowork(&resume("auto", "prd")).exits(1);
    sandbox.assert_clean();
    sandbox.server.forget();
    sandbox
}

/// What the person makes of the newest draft: one line more, which the records agree with.
fn edit(sandbox: &Sandbox) -> String {
    sandbox.git(&["restore", &format!("--source={DRAFT}"), "--", ".cowork/sessions/todo"]);
    let mine = format!("{}\nThe user is a gardener.\n", sandbox.read(PATH));
    sandbox.write(PATH, &mine);
    mine
}

#[test]
fn edits_after_the_drafts_ran_out_are_judged_and_recorded_as_edited() {
    let sandbox = refused(2);
    let mine = edit(&sandbox);
    let told = sandbox.cowork(&resume("auto", "prd")).exits(0).stderr;
    assert!(told.contains("your edits of prd.md are draft 3"), "{told}");
    assert!(sandbox.server.requests_of("prd", "actor").is_empty(), "{told}");
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 1);
    let commit = sandbox.stage_commit("prd");
    assert_eq!(sandbox.blob(&commit, PATH), mine);
    let trailers = sandbox.trailers(&commit);
    assert_eq!(trailers["Cowork-Review"], ["edited"]);
    assert_eq!(trailers["Cowork-Iterations"], ["3"]);
    sandbox.assert_sound();
}

#[test]
fn edits_after_the_drafts_ran_out_wait_without_a_request() {
    let sandbox = refused(2);
    let mine = edit(&sandbox);
    sandbox.cowork(&resume("wait", "prd")).exits(3).says("draft 3");
    assert_eq!(sandbox.server.requests().len(), 0);
    assert_eq!(sandbox.blob("HEAD", PATH), mine);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Event"], ["draft"]);
    assert_eq!(sandbox.cowork(&["status", "--json"]).json()["state"], "waiting");
    // Asked again it waits as before.
    sandbox.cowork(&resume("wait", "prd")).exits(3);
    assert_eq!(sandbox.server.requests().len(), 0);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&resume("wait", "prd")).exits(0);
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 1);
    let commit = sandbox.stage_commit("prd");
    assert_eq!(sandbox.blob(&commit, PATH), mine);
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["edited"]);
    sandbox.assert_sound();
}

#[test]
fn edits_after_the_drafts_ran_out_open_the_gate_and_not_the_menu() {
    let sandbox = refused(2);
    let mine = edit(&sandbox);
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    let shown = terminal.sees("p pass ");
    assert!(shown.contains("draft 3 contains your edits of prd.md"), "{shown}");
    assert!(!shown.contains("What now"), "{shown}");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let commit = sandbox.stage_commit("prd");
    assert_eq!(sandbox.blob(&commit, PATH), mine);
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["edited"]);
}

#[test]
fn without_an_edit_nothing_is_asked_for_again() {
    let sandbox = refused(2);
    sandbox.git(&["restore", &format!("--source={DRAFT}"), "--", ".cowork/sessions/todo"]);
    sandbox.cowork(&resume("auto", "prd")).exits(1).says("2 drafts were refused");
    sandbox.cowork(&resume("wait", "prd")).exits(1);
    assert_eq!(sandbox.server.requests().len(), 0);
    sandbox.assert_sound();
}

#[test]
fn edits_that_are_refused_again_stop_again_and_are_kept() {
    let sandbox = refused(1);
    sandbox.server.times(1, at("prd", "critic"), reject("gardeners have no terminal"));
    let mine = edit(&sandbox);
    let told = sandbox.cowork(&resume("auto", "prd")).exits(1).stderr;
    assert!(told.contains("2 drafts were refused"), "{told}");
    assert_eq!(sandbox.blob(DRAFT, PATH), mine);
    sandbox.assert_sound();
    // And once more by hand.
    let mine = edit(&sandbox);
    sandbox.cowork(&resume("auto", "prd")).exits(0);
    assert_eq!(sandbox.blob(&sandbox.stage_commit("prd"), PATH), mine);
}

#[test]
fn edits_the_checks_refuse_wait_with_what_they_say() {
    let sandbox = refused(1);
    edit(&sandbox);
    let without = sandbox.read(PATH).replace("- Tick a todo off works\n", "");
    sandbox.write(PATH, &without);
    let told = sandbox.cowork(&resume("wait", "prd")).exits(3).stderr;
    assert!(told.contains("your edit does not pass the checks"), "{told}");
    assert!(told.contains("REQ-003 has no criteria"), "{told}");
    assert_eq!(sandbox.server.requests().len(), 0);
    sandbox.assert_sound();
}

#[test]
fn an_edit_ends_a_circle_and_survives_a_kill() {
    let mut sandbox = Sandbox::stopped_after("idea");
    sandbox.server.on(at("prd", "actor").turn(1), Reply::text("Done."));
    sandbox.cowork(&resume("auto", "prd")).exits(1);
    sandbox.server.on_with(at("prd", "actor"), |_| panic!("a draft was asked for"));
    // By hand, all of it: the document and its records.
    let files = Sandbox::stopped_after("prd");
    for name in ["prd.md", "requirements.json", "feature_list.json"] {
        sandbox.write(&format!(".cowork/sessions/todo/{name}"), &files.artifact(name));
    }
    sandbox.set_env("COWORK_TEST_ABORT_AT", "draft.after-ref:1");
    sandbox.cowork(&resume("auto", "prd")).was_killed();
    sandbox.set_env("COWORK_TEST_ABORT_AT", "");
    sandbox.cowork(&resume("wait", "prd")).exits(3);
    assert_eq!(sandbox.blob("HEAD", PATH), PRD);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&resume("wait", "prd")).exits(0);
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Review"], ["edited"]);
    sandbox.assert_sound();
}

/// The critic refuses the one draft of the code there may be.
fn code_refused() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.user_config("[limits]\niterations = { coding = 1 }\n");
    sandbox.server.times(1, at("coding", "critic"), reject("add.sh adds nothing"));
    sandbox.auto(&["--stop-after", "coding"]).exits(1);
    sandbox.assert_clean();
    sandbox.server.forget();
    sandbox
}

#[test]
fn code_that_is_edited_after_the_drafts_ran_out_is_judged_and_recorded_as_edited() {
    for committed in [false, true] {
        let sandbox = code_refused();
        sandbox.write("lib/add.sh", "# by hand\n");
        sandbox.write("notes.txt", "mine\n");
        if committed {
            sandbox.commit_file("lib/add.sh", "# by hand\n", "fix it myself");
        }
        let told = sandbox.cowork(&resume("auto", "coding")).exits(0).stderr;
        assert!(told.contains("your edits of the code are draft 2"), "{told}");
        assert!(sandbox.server.requests_of("coding", "actor").is_empty());
        assert_eq!(sandbox.server.requests_of("coding", "critic").len(), 1);
        let commit = sandbox.stage_commit("coding");
        assert_eq!(sandbox.blob(&commit, "lib/add.sh"), "# by hand\n");
        assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["edited"]);
        // Whatever else lies there stays the person's.
        assert!(!sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD"]).contains("notes.txt"));
        assert_eq!(sandbox.read("notes.txt"), "mine\n");
    }
}

#[test]
fn code_that_is_edited_after_the_drafts_ran_out_waits_without_a_request() {
    let sandbox = code_refused();
    sandbox.write("lib/add.sh", "# by hand\n");
    sandbox.cowork(&resume("wait", "coding")).exits(3);
    assert_eq!(sandbox.server.requests().len(), 0);
    assert_eq!(sandbox.blob("HEAD", "lib/add.sh"), "# by hand\n");
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Event"], ["draft"]);
    sandbox.server.on(at("coding", "critic"), approve());
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&resume("wait", "coding")).exits(0);
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("coding"))["Cowork-Review"], ["edited"]);
    sandbox.assert_sound();
}

#[test]
fn the_next_draft_of_the_code_is_told_what_the_person_wrote() {
    let sandbox = code_refused();
    sandbox.git(&["config", "cowork.limits.iterations.coding", "3"]);
    sandbox.user_config("");
    sandbox.write("lib/add.sh", "# by hand\n");
    sandbox.server.times(1, at("coding", "critic"), reject("list.sh lists nothing"));
    sandbox.server.on_with(at("coding", "actor").iteration(3).turn(1), |received| {
        let text = received.text();
        let told = text.contains("I edited the code by hand") && text.contains("+# by hand");
        let work = json!({"path": "lib/list.sh", "content": "# lists\n"});
        told.then(|| Reply::call("write_file", work))
    });
    sandbox.cowork(&resume("auto", "coding")).exits(0);
    assert_eq!(sandbox.blob(&sandbox.stage_commit("coding"), "lib/list.sh"), "# lists\n");
    assert_eq!(sandbox.blob(&sandbox.stage_commit("coding"), "lib/add.sh"), "# by hand\n");
}
