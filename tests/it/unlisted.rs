//! Changes that `git status` does not list (`--skip-worktree`, `--assume-unchanged`) are a person's
//! like any other: nothing writes over them, and what may is preceded by a copy.

use serde_json::{Value, json};

use crate::support::sandbox::Outcome;
use crate::support::todo::task_work;
use crate::support::{Reply, Sandbox, at};

const MARKS: [&str; 2] = ["--skip-worktree", "--assume-unchanged"];
const MINE: &str = "# Mine, and in no commit\n";

/// Marks the README and edits it: git says nothing of it.
fn hide(sandbox: &Sandbox, mark: &str) {
    sandbox.git(&["update-index", mark, "README.md"]);
    sandbox.write("README.md", MINE);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

/// The first task also does these calls, before its own work.
fn first_task(sandbox: &Sandbox, call: Reply) {
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, vec![call, task_work("TASK-001"), Reply::text("Done.")]);
}

fn writes_readme() -> Reply {
    Reply::call("write_file", json!({"path": "README.md", "content": "# The model's\n"}))
}

/// What the session wrote down of the person's files: path and blob.
fn protected(sandbox: &Sandbox) -> Vec<(String, String)> {
    let list = sandbox.read(".git/cowork/sessions/todo/protected.json");
    let list: Value = serde_json::from_str(&list).unwrap();
    let entry = |entry: &Value| {
        let text = |key: &str| entry[key].as_str().unwrap().to_owned();
        (text("path"), text("blob"))
    };
    list.as_array().unwrap().iter().map(entry).collect()
}

#[test]
fn a_tool_is_kept_from_them_and_they_are_in_an_object_before_anything_begins() {
    let ordinary = [MARKS[0], MARKS[1]].map(|mark| (mark, Sandbox::new().into_ordinary_user()));
    let ours = [MARKS[0], MARKS[1]].map(|mark| (mark, Some(Sandbox::new())));
    for (mark, sandbox) in ours.into_iter().chain(ordinary) {
        let Some(sandbox) = sandbox else { continue };
        hide(&sandbox, mark);
        first_task(&sandbox, writes_readme());
        let ran = sandbox.auto(&["--stop-after", "coding"]).exits(0);
        let ran = ran.says("1 file with your uncommitted changes: protected");
        ran.says("tools wanted to write README.md, but you have uncommitted changes there");
        let told = sandbox.server.requests_of("coding", "actor");
        assert!(told[1].text().contains("README.md has uncommitted changes"), "{mark}");
        assert_eq!(sandbox.read("README.md"), MINE, "{mark}");
        let list = protected(&sandbox);
        let [(path, blob)] = list.as_slice() else { panic!("{mark}: {list:?}") };
        assert_eq!(path, "README.md");
        assert_eq!(format!("{}\n", sandbox.git(&["cat-file", "-p", blob])), MINE);
        let status = sandbox.cowork(&["status"]).exits(0);
        assert!(
            status.stdout.contains("README.md has your uncommitted edits"),
            "{}",
            status.stdout
        );
        assert_eq!(sandbox.git(&["log", "--format=%s", "main..", "--", "README.md"]), "");
    }
}

#[test]
fn a_command_that_changes_them_leaves_them_as_they_were() {
    for mark in MARKS {
        let sandbox = Sandbox::new();
        hide(&sandbox, mark);
        let command = "echo broken >README.md";
        first_task(&sandbox, Reply::call("run_command", json!({"command": command})));
        let ran = sandbox.auto(&["--stop-after", "coding"]).exits(0);
        let told = "a command changed your uncommitted README.md, or you did";
        assert!(ran.stderr.contains(told), "{mark}: {}", ran.stderr);
        assert_eq!(sandbox.read("README.md"), MINE, "{mark}");
        assert_eq!(sandbox.git(&["log", "--format=%s", "main..", "--", "README.md"]), "");
    }
}

#[test]
fn a_person_may_let_tools_write_them_after_they_were_kept() {
    for mark in MARKS {
        let sandbox = Sandbox::stopped_after("plan");
        hide(&sandbox, mark);
        first_task(&sandbox, writes_readme());
        sandbox.server.on_with(at("coding", "actor").iteration(2).turn(1), |received| {
            received.text().contains("you may now change README.md").then(writes_readme)
        });
        let mut terminal = sandbox.terminal(&["resume", "--stop-after", "coding"]);
        terminal.sees("Allow it?");
        terminal.types("y");
        terminal.sees("your version is in attempt 1");
        terminal.sees("stop for now");
        terminal.types("p");
        let (code, rest) = terminal.ends();
        assert_eq!(code, 0, "{mark}: {rest}");
        assert_eq!(sandbox.blob("refs/cowork/attempts/todo/1", "README.md"), MINE, "{mark}");
        assert_eq!(sandbox.blob("HEAD", "README.md"), "# The model's\n", "{mark}");
        sandbox.assert_clean();
    }
}

/// A session that changed the README in its first task.
fn changed_readme() -> Sandbox {
    let sandbox = Sandbox::new();
    first_task(&sandbox, writes_readme());
    sandbox.auto(&[]).exits(0);
    assert_eq!(sandbox.blob("HEAD", "README.md"), "# The model's\n");
    sandbox
}

/// What is refused, and changes neither file nor history.
#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str]) -> Outcome {
    let before = sandbox.git(&["rev-parse", "HEAD", "main", "cowork/todo"]);
    let outcome = sandbox.cowork(args).exits(5).says("README.md");
    assert_eq!(sandbox.read("README.md"), MINE, "{args:?}");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD", "main", "cowork/todo"]), before, "{args:?}");
    outcome
}

#[test]
fn no_command_that_moves_goes_over_them() {
    let base = changed_readme();
    let back = ["revert", "--to", "plan", "--no-run"];
    let reverted = base.fork();
    reverted.cowork(&back).exits(0);
    for mark in MARKS {
        let delivered = base.fork();
        hide(&delivered, mark);
        for args in
            [&back[..], &["merge"], &["merge", "--without-artifacts"], &["archive"], &["delete"]]
        {
            refused(&delivered, args);
        }
        let sandbox = reverted.fork();
        hide(&sandbox, mark);
        for args in [&["restore", "todo", "1"][..], &["undo"]] {
            refused(&sandbox, args);
        }
        // From another branch, whose README is not the session's.
        let sandbox = base.fork();
        sandbox.git(&["switch", "-q", "main"]);
        hide(&sandbox, mark);
        for args in [&["merge", "todo"][..], &["merge", "todo", "--without-artifacts"]] {
            refused(&sandbox, args).says("--no-skip-worktree -- README.md");
        }
        refused(&sandbox, &["modify", "--session", "todo", "add due dates", "--review", "auto"]);
        sandbox.git(&["switch", "-q", "--detach", "main"]);
        refused(&sandbox, &["resume", "todo", "--review", "auto"]);
    }
}

#[test]
fn a_working_tree_that_holds_some_stays_where_it_is() {
    for mark in MARKS {
        let mut sandbox = Sandbox::new();
        sandbox.auto(&["--worktree=../linked", "--stop-after", "idea"]).exits(0);
        sandbox.enter("../linked");
        sandbox.git(&["update-index", mark, "README.md"]);
        sandbox.enter("");
        sandbox.write("../linked/README.md", MINE);
        sandbox.cowork(&["delete", "todo", "--yes"]).exits(5).says("README.md");
        assert_eq!(sandbox.read("../linked/README.md"), MINE, "{mark}");
    }
}

#[test]
fn files_that_a_sparse_checkout_leaves_out_change_nothing() {
    let sandbox = Sandbox::new();
    for name in ["in/a.txt", "out/deep/b.txt", "out/c.txt"] {
        sandbox.write(name, "there\n");
    }
    sandbox.commit_all("files");
    sandbox.git(&["sparse-checkout", "set", "in", "lib", ".cowork"]);
    assert!(!sandbox.exists("out"));
    let ran = sandbox.auto(&["--stop-after", "coding"]).exits(0);
    assert!(!ran.stderr.contains("uncommitted"), "{}", ran.stderr);
    assert!(!sandbox.exists("out"));
    assert_eq!(protected(&sandbox), []);
    sandbox.assert_clean();
}
