//! Drafts are work, too: what a person wrote into one, and one that was begun after plain git took
//! the branch back.

use serde_json::json;

use super::{RESUME, designed, keeps};
use crate::support::todo::{self, PRD};
use crate::support::{Reply, Sandbox, at};

const SESSION: &str = ".cowork/sessions/todo";
const MINE: &str = "A line of mine.";
/// The last line of the menu: from here on keys are read.
const ASKED: &str = "stop for now";

/// True when a reference reaches a file that is exactly this.
fn is_kept(sandbox: &Sandbox, text: &str) -> bool {
    let format = match sandbox.git(&["rev-parse", "HEAD"]).len() {
        40 => git2::ObjectFormat::Sha1,
        _ => git2::ObjectFormat::Sha256,
    };
    let blob = git2::ObjectType::Blob;
    let id = git2::Oid::hash_object_ext(blob, text.as_bytes(), format).unwrap().to_string();
    sandbox.git(&["rev-list", "--objects", "--all"]).lines().any(|line| line.starts_with(&id))
}

/// A person has passed the PRD with a line of their own; the critic refused it, and the actor wrote
/// the next draft without. It is at the gate.
fn with_an_edit_in_an_older_draft() -> Sandbox {
    let mut sandbox = Sandbox::stopped_after("idea");
    sandbox.editor(&format!("printf '{MINE}\\n' >>\"$f\""));
    sandbox.server.times(1, at("prd", "critic"), todo::reject("REQ-002 is vague"));
    let again = Reply::call("save_prd_doc", json!({"content": format!("{PRD}\nAgain.\n")}));
    sandbox.server.on(at("prd", "actor").iteration(2).turn(1), again);
    sandbox
}

#[test]
fn an_edit_in_an_older_draft_is_kept_when_the_session_is_archived() {
    for recorded in [false, true] {
        let sandbox = with_an_edit_in_an_older_draft();
        let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
        terminal.sees(ASKED);
        terminal.types("e");
        terminal.sees(ASKED);
        terminal.types("p");
        terminal.sees("Again.");
        terminal.sees(ASKED);
        if recorded {
            terminal.types("p");
            assert_eq!(terminal.ends().0, 0);
            assert!(!sandbox.artifact("prd.md").contains(MINE));
        } else {
            terminal.control('c');
            assert_eq!(terminal.ends().0, 130);
        }
        let mine = format!("{PRD}{MINE}\n");
        assert!(is_kept(&sandbox, &mine), "before it is archived");
        let told = sandbox.cowork(&["archive"]).exits(0).says("attempt 1").stderr;
        assert!(sandbox.refs("refs/cowork/drafts").is_empty());
        assert!(is_kept(&sandbox, &mine), "recorded: {recorded}\n{told}");
        keeps(&sandbox, &["restore", "todo"], 0);
        keeps(&sandbox, &["restore", "todo", "1"], 0);
        assert!(is_kept(&sandbox, &mine), "recorded: {recorded}\n{told}");
        keeps(&sandbox, &["log"], 0);
        keeps(&sandbox, &["verify"], 0);
        if !recorded {
            assert!(sandbox.read(&format!("{SESSION}/prd.md")).contains("Again."));
        }
    }
}

/// In coding a person edits the code itself, and says what else should be different.
#[test]
fn code_of_a_person_in_an_older_draft_is_kept_when_the_session_is_archived() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.server.on_with(at("coding", "actor"), |received| {
        let told = received.text().contains("shorter, please") && received.turn == 1;
        let again = json!({"path": "lib/add.sh", "content": "# again\n"});
        told.then(|| Reply::call("write_file", again))
    });
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "coding"]);
    terminal.sees(ASKED);
    sandbox.write("lib/add.sh", "# mine\n");
    terminal.types("f");
    terminal.sees("f  ");
    terminal.enters("shorter, please");
    terminal.sees("p pass ");
    terminal.sees(ASKED);
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let last = sandbox.read("lib/add.sh");
    assert!(is_kept(&sandbox, "# mine\n"), "before it is archived, {last}: {rest}");
    keeps(&sandbox, &["archive"], 0);
    assert!(is_kept(&sandbox, "# mine\n"), "{last}");
}

#[test]
fn an_edit_that_was_recorded_is_not_kept_twice() {
    let mut sandbox = Sandbox::stopped_after("idea");
    sandbox.editor(&format!("printf '{MINE}\\n' >>\"$f\""));
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    terminal.sees(ASKED);
    terminal.types("e");
    terminal.sees(ASKED);
    terminal.types("p");
    assert_eq!(terminal.ends().0, 0);
    keeps(&sandbox, &["archive"], 0);
    assert!(sandbox.refs("refs/cowork/attempts").is_empty());
}

#[test]
fn what_only_models_wrote_is_let_go_with_the_drafts() {
    let sandbox = Sandbox::new();
    sandbox.server.times(1, at("prd", "critic"), todo::reject("REQ-002 is vague"));
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    keeps(&sandbox, &["archive"], 0);
    assert!(sandbox.refs("refs/cowork/drafts").is_empty());
    assert!(sandbox.refs("refs/cowork/attempts").is_empty());
}

/// A draft of the design that was begun after `git reset` is taken up like any other.
#[test]
fn after_a_plain_reset_an_interrupted_draft_continues() {
    let sandbox = designed();
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["reset", "-q", "--keep", "HEAD~1"]);
    let again = format!("{}\nAgain.\n", todo::DESIGN);
    let draft = todo::design_draft().and("save_design_doc", json!({"content": again}));
    sandbox.server.on(at("design", "actor").turn(1), draft);
    sandbox.server.on(at("design", "critic"), Reply::status(401, "no"));
    let before = super::Belongings::of(&sandbox);
    sandbox.cowork(&RESUME).exits(4);
    before.assert_kept(&sandbox, "reset, and a new draft");
    let archived = sandbox.fork();
    keeps(&archived, &["archive"], 0);
    keeps(&archived, &["restore", "todo"], 0);
    keeps(&archived, &["restore", "todo", "1"], 0);
    sandbox.server.on(at("design", "critic"), todo::approve());
    sandbox.server.forget();
    for sandbox in [&sandbox, &archived] {
        keeps(sandbox, &[&RESUME[..], &["--stop-after", "design"]].concat(), 0);
        assert!(sandbox.artifact("design.md").contains("Again."));
        // The design that was reset is behind its tag.
        assert_eq!(sandbox.stage_commit("design"), tip);
        assert_ne!(sandbox.stage_commit("design-2"), tip);
        keeps(sandbox, &[&RESUME[..], &["--stop-after", "plan"]].concat(), 0);
        sandbox.assert_sound();
    }
    keeps(&sandbox, &["verify"], 0);
    let asked = sandbox.server.requests_of("design", "actor").len();
    assert_eq!(asked, 0, "it was drafted again");
}

/// The same, in the middle of a draft a person had a word in.
#[test]
fn after_a_plain_reset_an_edit_of_the_new_draft_survives_an_interruption() {
    let sandbox = designed();
    sandbox.git(&["reset", "-q", "--keep", "HEAD~1"]);
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "design"]);
    terminal.sees(ASKED);
    let document = format!("{SESSION}/design.md");
    let mine = format!("{}{MINE}\n", sandbox.read(&document));
    sandbox.write(&document, &mine);
    terminal.control('c');
    assert_eq!(terminal.ends().0, 130);
    assert!(is_kept(&sandbox, &mine));
    sandbox.server.forget();
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "design"]);
    terminal.sees(ASKED);
    assert_eq!(sandbox.read(&document), mine);
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(sandbox.artifact("design.md"), mine);
}

/// Reset over two stages: the drafts of both begin again, each once.
#[test]
fn after_a_plain_reset_over_two_stages_each_draft_is_made_once() {
    let sandbox = designed();
    sandbox.git(&["reset", "-q", "--keep", "HEAD~2"]);
    for stage in ["prd", "design"] {
        sandbox.server.on(at(stage, "critic"), Reply::status(401, "no"));
        sandbox.server.forget();
        sandbox.cowork(&RESUME).exits(4);
        assert!(!sandbox.server.requests_of(stage, "actor").is_empty(), "{stage}");
        sandbox.server.on(at(stage, "critic"), todo::approve());
        sandbox.server.forget();
        keeps(&sandbox, &[&RESUME[..], &["--stop-after", stage]].concat(), 0);
        assert!(sandbox.server.requests_of(stage, "actor").is_empty(), "{stage} again");
    }
    sandbox.assert_sound();
}
