//! What a person has in the working tree, and what a person says, survives everything.

use std::process::Command;

use serde_json::json;

use crate::support::todo::{self, PRD};
use crate::support::{Reply, Sandbox, at};

const RESUME: [&str; 3] = ["resume", "--review", "auto"];

/// Everything a commit range changed outside `.cowork`.
fn code_in(sandbox: &Sandbox, range: &str) -> Vec<String> {
    let names = sandbox.git(&["log", "--format=", "--name-only", range]);
    let code = names.lines().filter(|path| !path.is_empty() && !path.starts_with(".cowork/"));
    code.map(str::to_owned).collect()
}

#[test]
fn work_in_progress_between_two_commands_is_not_taken() {
    let sandbox = Sandbox::new();
    sandbox.wait(&[]).exits(3);
    sandbox.write("README.md", "# Mine now\n");
    sandbox.write("notes.txt", "mine\n");
    sandbox.write("staged.txt", "mine\n");
    sandbox.git(&["add", "staged.txt"]);
    sandbox.cowork(&["review", "todo", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let taken = code_in(&sandbox, "main..cowork/todo");
    for mine in ["README.md", "notes.txt", "staged.txt"] {
        assert!(!taken.iter().any(|path| path == mine), "{mine} was committed: {taken:?}");
    }
    assert_eq!(sandbox.read("README.md"), "# Mine now\n");
    assert_eq!(sandbox.read("notes.txt"), "mine\n");
    assert_eq!(sandbox.git(&["diff", "--cached", "--name-only"]), "staged.txt");
}

#[test]
fn going_back_leaves_other_work_alone() {
    let sandbox = Sandbox::stopped_after("design");
    sandbox.write("README.md", "# Mine now\n");
    sandbox.write("notes.txt", "mine\n");
    sandbox.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
    assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea"]);
    assert_eq!(sandbox.read("README.md"), "# Mine now\n");
    assert_eq!(sandbox.read("notes.txt"), "mine\n");
    // The attempt holds the old tip, and the edit of the tracked file with it.
    let attempt = "refs/cowork/attempts/todo/1";
    assert_eq!(sandbox.blob(attempt, "README.md"), "# Mine now\n");
    assert!(sandbox.git(&["ls-tree", "-r", "--name-only", attempt]).contains("design.md"));
    assert!(!sandbox.git(&["ls-tree", "-r", "--name-only", attempt]).contains("notes.txt"));
}

#[test]
fn going_back_over_uncommitted_work_is_refused() {
    let sandbox = Sandbox::stopped_after("coding");
    sandbox.write("lib/add.sh", "mine\n");
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.cowork(&["revert", "--to", "plan", "--no-run"]).exits(5).says("lib/add.sh");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), before);
    assert_eq!(sandbox.read("lib/add.sh"), "mine\n");
}

#[test]
fn a_branch_switched_while_we_work_is_left_as_it_is() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    sandbox.server.on_with(at("prd", "critic"), move |_| {
        let switch = ["-C", repo.to_str()?, "switch", "-q", "--force", "main"];
        assert!(Command::new("git").args(switch).status().ok()?.success());
        std::fs::write(repo.join("README.md"), "# Mine now\n").ok()?;
        std::fs::write(repo.join("notes.txt"), "mine\n").ok()?;
        Some(todo::approve())
    });
    sandbox.auto(&[]).exits(5).says("no longer on");
    assert_eq!(sandbox.read("README.md"), "# Mine now\n");
    assert_eq!(sandbox.read("notes.txt"), "mine\n");
    assert_eq!(sandbox.git(&["diff", "--cached", "--name-only"]), "");
}

#[test]
fn a_kept_draft_does_not_undo_what_was_committed_since() {
    let sandbox = Sandbox::new();
    sandbox.server.times(1, at("prd", "critic"), Reply::status(401, "no"));
    sandbox.auto(&["--stop-after", "prd"]).exits(4);
    sandbox.assert_clean();
    sandbox.write("README.md", "# From somebody else\n");
    sandbox.commit_all("somebody else's work");
    sandbox.server.on(at("prd", "critic"), todo::approve());
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "prd"]].concat()).exits(0);
    assert_eq!(sandbox.blob("HEAD", "README.md"), "# From somebody else\n");
    assert!(sandbox.artifact("prd.md").contains("REQ-001"));
    assert_eq!(sandbox.server.requests_of("prd", "actor").len(), 1, "the draft was made again");
}

#[test]
fn restarting_a_stage_touches_its_documents_only() {
    let sandbox = Sandbox::new();
    sandbox.wait(&[]).exits(3);
    sandbox.write(".cowork/config.toml", "[limits]\ntasks = [5, 12]\n");
    sandbox.commit_all("our limits");
    sandbox.cowork(&["review", "--abort"]).exits(0);
    sandbox.cowork(&[&RESUME[..], &["--stop-after", "idea"]].concat()).exits(0);
    assert_eq!(sandbox.blob("HEAD", ".cowork/config.toml"), "[limits]\ntasks = [5, 12]\n");
}

#[test]
fn a_failed_session_resumed_again_leaves_a_clean_tree() {
    let sandbox = Sandbox::new();
    for iteration in 1..=3 {
        let words = ["too long", "it names no user", "the second feature is vague"];
        let no = todo::reject(words[iteration as usize - 1]);
        sandbox.server.on(at("prd", "critic").iteration(iteration), no);
        let text = format!("{PRD}\nDraft {iteration}.\n");
        let draft = Reply::call("save_prd_doc", json!({"content": text}));
        if iteration > 1 {
            sandbox.server.on(at("prd", "actor").iteration(iteration).turn(1), draft);
        }
    }
    sandbox.auto(&[]).exits(1);
    sandbox.assert_clean();
    sandbox.server.forget();
    sandbox.cowork(&RESUME).exits(1).says("vague");
    assert!(sandbox.server.requests().is_empty());
    sandbox.assert_clean();
}

#[test]
fn a_comment_in_the_document_reaches_the_actor_and_leaves_the_document() {
    let mut sandbox = Sandbox::new();
    sandbox.wait(&[]).exits(3);
    sandbox.editor("printf '>>> say who pays\\n' >> \"$f\"");
    sandbox.cowork(&["review", "--edit"]).exits(0);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["feedback"]);
    assert!(!sandbox.artifact("idea.md").contains(">>>"));
    sandbox.server.on_with(at("idea", "actor").iteration(2).turn(1), |received| {
        assert!(received.text().contains("say who pays"));
        let text = format!("{}\nAna pays.\n", todo::IDEA);
        Some(Reply::call("save_idea", json!({"content": text})))
    });
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    assert!(sandbox.artifact("idea.md").contains("Ana pays."));
}

#[test]
fn nothing_empty_passes_and_a_hand_edit_is_called_one() {
    let sandbox = Sandbox::new();
    sandbox.wait(&[]).exits(3);
    let draft = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.write(".cowork/sessions/todo/idea.md", "\n");
    sandbox.cowork(&["review", "--pass"]).exits(2).says("idea.md");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), draft);
    sandbox.write(".cowork/sessions/todo/idea.md", &format!("{}\nBy hand.\n", todo::IDEA));
    sandbox.cowork(&["review", "--pass"]).exits(0);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["edited"]);
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    let commit = sandbox.stage_commit("idea");
    assert!(sandbox.blob(&commit, ".cowork/sessions/todo/idea.md").contains("By hand."));
}

/// A test command that fails once `broken` is there, until `fix.txt` is.
const TESTS: &str = "[project]\ntest = \"test ! -e broken || test -e fix.txt\"\n";

#[test]
fn code_that_check_finds_wrong_goes_back_to_coding_and_its_gate() {
    let sandbox = Sandbox::new();
    sandbox.user_config(TESTS);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    sandbox.write("broken", "");
    sandbox.commit_all("somebody breaks it");
    let fix = Reply::call("write_file", json!({"path": "fix.txt", "content": "fixed\n"}));
    sandbox.server.on(at("coding", "actor").iteration(2).turn(1), fix);
    sandbox.server.on(at("coding", "actor").iteration(2).turn(2), Reply::text("Fixed."));
    sandbox.server.on(at("coding", "critic").iteration(2), todo::approve());
    let wait = ["resume", "--review", "wait"];
    sandbox.cowork(&wait).exits(3).says("coding");
    assert_eq!(sandbox.cowork(&["status", "--json"]).json()["stage"], "coding");
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&wait).exits(0);
    assert_eq!(sandbox.cowork(&["status", "--json"]).json()["state"], "completed");
    assert!(sandbox.tags().contains(&"cowork/todo/coding-2".to_owned()));
    let commit = sandbox.stage_commit("check");
    assert_eq!(code_in(&sandbox, &format!("{commit}^..{commit}")), Vec::<String>::new());
    sandbox.assert_sound();
}

#[test]
fn a_file_git_ignores_is_not_overwritten() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", ".env\nkeys/\n");
    sandbox.commit_all("ignore");
    sandbox.write(".env", "SECRET=mine\n");
    sandbox.write("keys/a.pem", "mine\n");
    let write = |path: &str| json!({"path": path, "content": "overwritten\n"});
    let work = Reply::call("write_file", write(".env")).and("write_file", write("keys/a.pem"));
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(1), work);
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(2), todo::task_work("TASK-001"));
    sandbox.server.on(at("coding", "actor").task("TASK-001").turn(3), Reply::text("Done."));
    sandbox.auto(&[]).exits(0);
    assert_eq!(sandbox.read(".env"), "SECRET=mine\n");
    assert_eq!(sandbox.read("keys/a.pem"), "mine\n");
}

#[test]
fn an_answer_about_code_takes_no_other_work_along() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    sandbox.write("README.md", "# Mine now\n");
    sandbox.write("other.txt", "mine\n");
    sandbox.git(&["add", "other.txt"]);
    sandbox.write("lib/add.sh", "# fixed by hand\n");
    sandbox.cowork(&["review", "--pass"]).exits(0);
    // A person's edit of the session's own file is part of the answer; nothing else is.
    assert_eq!(code_in(&sandbox, "HEAD^..HEAD"), ["lib/add.sh"]);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["edited"]);
    assert_eq!(sandbox.git(&["diff", "--cached", "--name-only"]), "other.txt");
    assert_eq!(sandbox.read("README.md"), "# Mine now\n");
}

#[test]
fn going_back_leaves_what_is_staged_staged() {
    for format in ["sha1", "sha256"] {
        let sandbox = Sandbox::unborn(&[&format!("--object-format={format}")]);
        for name in ["README.md", "gone", "kept", "mode"] {
            sandbox.write(name, "# Somewhere\n");
        }
        sandbox.commit_all("first");
        sandbox.auto(&["--stop-after", "prd"]).exits(0);
        sandbox.write("README.md", "staged\n");
        sandbox.write("new.txt", "staged\n");
        sandbox.git(&["add", "README.md", "new.txt"]);
        sandbox.write("README.md", "and changed again\n");
        sandbox.write("promised.txt", "mine\n");
        sandbox.git(&["add", "--intent-to-add", "promised.txt"]);
        sandbox.git(&["rm", "-q", "gone"]);
        sandbox.git(&["rm", "-q", "--cached", "kept"]);
        sandbox.git(&["update-index", "--chmod=+x", "mode"]);
        let status = || sandbox.git(&["status", "--porcelain"]);
        let staged = || sandbox.git(&["diff", "--cached"]);
        let before = (status(), staged());
        sandbox.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
        assert_eq!((status(), staged()), before, "{format}");
        sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
        assert_eq!((status(), staged()), before, "{format}");
        assert_eq!(sandbox.stages("main..cowork/todo"), ["start", "idea", "prd"]);
    }
}

#[test]
fn what_a_command_breaks_of_yours_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.write("notes.txt", "precious\n");
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let id = sandbox.git(&["hash-object", "notes.txt"]);
    std::fs::remove_file(sandbox.path("notes.txt")).unwrap();
    assert_eq!(sandbox.git(&["cat-file", "blob", &id]), "precious");
}
