//! What was left behind comes back: undo, restore, archive and delete.

use crate::support::todo::IDEA;
use crate::support::{Sandbox, at, todo};

const TODO: &str = ".cowork/sessions/todo";

fn tip(sandbox: &Sandbox) -> String {
    sandbox.git(&["rev-parse", "cowork/todo"])
}

#[test]
fn a_draft_begun_after_a_revert_is_taken_up_like_any_other() {
    let sandbox = Sandbox::stopped_after("design");
    sandbox.cowork(&["revert", "--to", "design", "--no-run"]).exits(0);
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "design"]);
    terminal.sees("stop for now");
    terminal.control('c');
    assert_eq!(terminal.ends().0, 130);
    let status = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(status.contains("design    draft 1"), "{status}");
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "design"]).exits(0);
    assert!(sandbox.server.requests_of("design", "actor").is_empty());
    sandbox.assert_sound();
}

#[test]
fn undo_takes_a_revert_back_and_is_itself_undone() {
    let sandbox = Sandbox::stopped_after("design");
    let before = tip(&sandbox);
    sandbox.write("README.md", "# Mine now\n");
    sandbox.write("notes.txt", "mine\n");
    let revert = sandbox.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
    let reverted = tip(&sandbox);
    assert_ne!(before, reverted);
    let moves = format!("cowork/todo moves from {} to {}", &before[..7], &reverted[..7]);
    let revert = revert.says(&moves);
    let lines: Vec<&str> = revert.stderr.lines().map(str::trim).collect();
    for line in [
        "kept as attempt 1: git log refs/cowork/attempts/todo/1",
        "undo it: git cowork undo",
        "restore it at any time: git cowork restore todo 1",
    ] {
        assert!(lines.contains(&line), "{}", revert.stderr);
    }
    let status = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(status.contains("git cowork restore todo 1"), "{status}");
    sandbox.cowork(&["undo"]).exits(0).says("attempt 1").says("attempt 2");
    assert_eq!(tip(&sandbox), before);
    assert!(sandbox.exists(&format!("{TODO}/design.md")));
    assert_eq!(sandbox.read("README.md"), "# Mine now\n");
    assert_eq!(sandbox.read("notes.txt"), "mine\n");
    sandbox.cowork(&["undo"]).exits(0);
    assert_eq!(tip(&sandbox), reverted);
    assert!(!sandbox.exists(&format!("{TODO}/design.md")));
    sandbox.cowork(&["restore", "1"]).exits(0);
    assert_eq!(tip(&sandbox), before);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M README.md\n?? notes.txt");
    // Nothing is asked of a model for what is there again.
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "plan"]).exits(0);
    assert!(sandbox.server.requests_of("design", "actor").is_empty());
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn a_revert_speaks_of_uncommitted_edits_only_where_there_are_some() {
    let sandbox = Sandbox::stopped_after("prd");
    let revert = ["revert", "--to", "prd", "--no-run"];
    let clean = sandbox.cowork(&revert).exits(0).says("1 commit of cowork/todo is kept");
    assert!(!clean.stderr.contains("not committed"), "{}", clean.stderr);
    assert!(!clean.stderr.contains("uncommitted"), "{}", clean.stderr);
    let nothing = sandbox.cowork(&revert).exits(0).says("no commits of cowork/todo are dropped");
    assert!(!nothing.stderr.contains("uncommitted"), "{}", nothing.stderr);
    sandbox.cowork(&["undo"]).exits(0);
    sandbox.cowork(&["undo"]).exits(0);
    sandbox.write("README.md", "# Mine\n");
    let edited = sandbox.cowork(&revert).exits(0).says("uncommitted edits are kept");
    edited.says("uncommitted edits in the attempt: README.md");
}

#[test]
fn restore_brings_edits_back_where_nothing_else_lies() {
    let sandbox = Sandbox::stopped_after("prd");
    sandbox.write("README.md", "# Then\n");
    sandbox.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
    sandbox.git(&["checkout", "-q", "README.md"]);
    sandbox.cowork(&["restore", "todo", "1"]).exits(0);
    assert_eq!(sandbox.read("README.md"), "# Then\n");
    sandbox.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
    sandbox.write("README.md", "# Now\n");
    sandbox.cowork(&["restore", "todo", "1"]).exits(0).says("README.md");
    assert_eq!(sandbox.read("README.md"), "# Now\n");
    assert_eq!(sandbox.blob("refs/cowork/attempts/todo/1", "README.md"), "# Then\n");
}

#[test]
fn an_aborted_draft_waits_again_after_undo() {
    let sandbox = Sandbox::new();
    sandbox.wait(&[]).exits(3);
    let waiting = tip(&sandbox);
    sandbox.cowork(&["review", "--abort"]).exits(0);
    assert_ne!(tip(&sandbox), waiting);
    sandbox.cowork(&["undo"]).exits(0);
    assert_eq!(tip(&sandbox), waiting);
    assert_eq!(sandbox.cowork(&["status", "--json"]).json()["state"], "waiting");
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "idea"]).exits(0);
    assert_eq!(sandbox.server.requests_of("idea", "actor").len(), 1);
}

#[test]
fn a_draft_dropped_at_the_gate_is_shown_again_after_undo() {
    let sandbox = Sandbox::new();
    let args = ["new", "-n", "todo", "a todo list for the terminal", "--stop-after", "idea"];
    let mut terminal = sandbox.terminal(&args);
    terminal.sees("stop for now");
    terminal.types("a");
    terminal.sees("Abort idea?");
    terminal.types("y");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 1, "{rest}");
    sandbox.assert_clean();
    sandbox.cowork(&["undo"]).exits(0);
    assert_eq!(sandbox.read(&format!("{TODO}/idea.md")), IDEA);
    sandbox.server.forget();
    let mut terminal = sandbox.terminal(&["resume", "--stop-after", "idea"]);
    terminal.sees("stop for now");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert!(sandbox.server.requests().is_empty(), "the draft was made again");
    assert_eq!(sandbox.artifact("idea.md"), IDEA);
}

#[test]
fn an_archived_session_is_out_of_the_list_and_comes_back() {
    let sandbox = Sandbox::stopped_after("prd");
    let before = tip(&sandbox);
    sandbox.write("notes.txt", "mine\n");
    sandbox.cowork(&["archive"]).exits(0).says("restore todo");
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    assert!(sandbox.refs("refs/heads/cowork").is_empty());
    assert!(sandbox.refs("refs/cowork/drafts").is_empty());
    assert_eq!(sandbox.git(&["rev-parse", "refs/cowork/archive/todo"]), before);
    assert_eq!(sandbox.cowork(&["list"]).stdout, "");
    let listed = sandbox.cowork(&["list", "--all", "--json"]).json();
    assert_eq!(listed["state"], "archived");
    sandbox.cowork(&["new", "-n", "todo", "again"]).exits(5);
    sandbox.cowork(&["restore", "todo"]).exits(0);
    assert_eq!(tip(&sandbox), before);
    assert!(sandbox.refs("refs/cowork/archive").is_empty());
    sandbox.cowork(&["resume", "todo", "--review", "auto", "--stop-after", "design"]).exits(0);
    assert_eq!(sandbox.read("notes.txt"), "mine\n");
}

#[test]
fn an_unfinished_draft_is_kept_when_its_session_is_archived() {
    let sandbox = Sandbox::new();
    sandbox.server.on(at("prd", "critic"), crate::support::Reply::status(401, "no"));
    sandbox.auto(&[]).exits(4);
    sandbox.cowork(&["archive"]).exits(0).says("attempt 1");
    sandbox.cowork(&["restore", "todo"]).exits(0);
    sandbox.cowork(&["restore", "todo", "1"]).exits(0);
    assert!(sandbox.read(&format!("{TODO}/prd.md")).contains("REQ-001"));
    sandbox.server.on(at("prd", "critic"), todo::approve());
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    assert!(sandbox.artifact("prd.md").contains("REQ-001"));
}

#[test]
fn a_deleted_session_is_an_attempt_and_undo_brings_it_back() {
    let sandbox = Sandbox::stopped_after("prd");
    let before = tip(&sandbox);
    let tags = sandbox.tags();
    // Nobody is there to be asked.
    sandbox.cowork(&["delete"]).exits(2).says("git cowork delete todo --yes");
    let said = sandbox.cowork(&["delete", "--dry-run"]).exits(0);
    said.says("would delete cowork/todo");
    assert_eq!((tip(&sandbox), sandbox.tags()), (before.clone(), tags.clone()));
    sandbox.cowork(&["delete", "todo", "--yes"]).exits(0).says("undo");
    assert!(sandbox.refs("refs/heads/cowork").is_empty() && sandbox.tags().is_empty());
    assert_eq!(sandbox.git(&["rev-parse", "refs/cowork/attempts/todo/1^"]), before);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    let list = sandbox.cowork(&["undo", "--list"]).exits(0).stdout;
    assert!(list.contains("deleted\n") && list.contains("git cowork restore todo 1\n"), "{list}");
    assert_eq!(
        sandbox.cowork(&["undo", "--list", "--json"]).exits(0).json_lines()[0]["attempt"],
        1
    );
    sandbox.cowork(&["undo"]).exits(0);
    // What was undone is there again.
    let list = sandbox.cowork(&["undo", "--list"]).exits(0);
    assert!(list.says("there is nothing to undo in 'todo'").stdout.is_empty());
    assert_eq!(tip(&sandbox), before);
    assert_eq!(sandbox.tags(), tags);
    sandbox.assert_sound();
}

#[test]
fn delete_asks_and_no_is_no() {
    let sandbox = Sandbox::stopped_after("idea");
    let mut terminal = sandbox.terminal(&["delete", "todo"]);
    terminal.sees("delete todo?");
    terminal.types("n");
    let (code, _) = terminal.ends();
    assert_eq!(code, 1);
    assert_eq!(sandbox.refs("refs/heads/cowork"), ["refs/heads/cowork/todo"]);
}

#[test]
fn leaving_a_session_loses_no_uncommitted_work() {
    let sandbox = Sandbox::stopped_after("coding");
    sandbox.write("lib/add.sh", "mine\n");
    let before = tip(&sandbox);
    for command in ["archive", "delete"] {
        sandbox.cowork(&[command, "todo"]).exits(5).says("lib/add.sh");
        assert_eq!(tip(&sandbox), before);
        assert_eq!(sandbox.read("lib/add.sh"), "mine\n");
        assert!(sandbox.refs("refs/cowork/attempts").is_empty());
    }
}

#[test]
fn a_linked_working_tree_goes_with_its_session_only_when_clean() {
    let sandbox = Sandbox::new();
    sandbox.auto(&["-w=../tree", "--stop-after", "idea"]).exits(0);
    sandbox.write("../tree/notes.txt", "mine\n");
    sandbox.cowork(&["archive", "todo"]).exits(5).says("tree");
    assert_eq!(sandbox.read("../tree/notes.txt"), "mine\n");
    std::fs::remove_file(sandbox.path("../tree/notes.txt")).unwrap();
    sandbox.cowork(&["archive", "todo"]).exits(0);
    assert!(!sandbox.exists("../tree"));
    assert_eq!(sandbox.refs("refs/cowork/archive"), ["refs/cowork/archive/todo"]);
}

#[test]
fn what_cannot_be_brought_back_is_said() {
    let sandbox = Sandbox::new();
    sandbox.cowork(&["undo"]).exits(5).says("nothing to undo");
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    sandbox.cowork(&["restore", "todo", "7"]).exits(5).says("no attempt 7");
    sandbox.cowork(&["restore", "todo"]).exits(5).says("not in the archive");
    sandbox.cowork(&["restore", "todo", "x"]).exits(2);
    sandbox.cowork(&["archive", "other"]).exits(5).says("no session");
}

#[test]
fn a_tag_of_ones_own_does_not_keep_a_session_from_being_deleted() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.git(&["tag", "-a", "-m", "shown to the team", "cowork/todo/shown"]);
    sandbox.cowork(&["delete", "--yes"]).exits(0);
    assert!(sandbox.refs("refs/heads/cowork").is_empty());
    assert!(sandbox.refs("refs/tags/cowork").is_empty());
}

#[test]
fn what_was_written_after_an_abort_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.wait(&[]).exits(3);
    sandbox.cowork(&["review", "--abort"]).exits(0);
    let path = format!("{TODO}/idea.md");
    sandbox.write(&path, "# Mine\n");
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3).says("attempt 2");
    assert_eq!(sandbox.blob("refs/cowork/attempts/todo/2", &path), "# Mine\n");
}

#[test]
fn an_abort_moves_nothing_on_another_branch() {
    let sandbox = Sandbox::new();
    let args = ["new", "-n", "todo", "a todo list for the terminal", "--stop-after", "idea"];
    let mut terminal = sandbox.terminal(&args);
    terminal.sees("stop for now");
    sandbox.git(&["switch", "-q", "main"]);
    terminal.types("a");
    terminal.sees("Abort idea?");
    terminal.types("y");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 5, "{rest}");
    assert!(rest.contains("git switch cowork/todo"), "{rest}");
    assert_eq!(sandbox.read(&format!("{TODO}/idea.md")), IDEA);
    assert!(!sandbox.exists(&format!("{TODO}/session.json")), "main got files of the session");
    assert!(sandbox.refs("refs/cowork/attempts").is_empty());
}

#[test]
fn a_dry_run_of_revert_says_what_would_be_left_and_moves_nothing() {
    let sandbox = Sandbox::stopped_after("plan");
    let refs = sandbox.all_refs();
    let said = sandbox.cowork(&["revert", "--to", "design", "--dry-run"]).exits(0);
    let said = said.says("nothing was moved").stdout;
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("Moves    cowork/todo from "), "{said}");
    assert!(lines[1].starts_with("Leaves   ") && lines.len() == 3, "{said}");
    assert_eq!(sandbox.all_refs(), refs);
    sandbox.cowork(&["revert", "--to", "coding", "--dry-run"]).exits(0);
    sandbox.cowork(&["revert", "--to", "delivery", "--dry-run"]).exits(5).says("has not reached");
}
