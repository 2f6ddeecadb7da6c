//! Project memory: sessions propose facts, a person takes or drops them on a terminal, later sessions read
//! them as data.

mod hostile;
mod sessions;

use serde_json::json;

use crate::support::todo::{DELIVERY, TASKS};
use crate::support::{Reply, Sandbox, at};

/// Where the facts are.
const FILE: &str = ".cowork/knowledge.md";
const FACT: &str = "Commands: `sh todo.sh add x` adds a todo";

/// The delivery actor says these lines below its report.
fn delivers_with(sandbox: &Sandbox, lines: &str) {
    let report = format!("{DELIVERY}\n{lines}\n");
    let save = Reply::call("save_delivery_report", json!({"content": report}));
    sandbox.server.on(at("delivery", "actor").turn(1), save);
}

/// Tasks write other bytes than those of the happy path.
fn writes(sandbox: &Sandbox, what: &'static str) {
    sandbox.server.on_with(at("coding", "actor").turn(1), move |received| {
        let task = received.task.as_deref()?;
        let file = TASKS.iter().find(|known| known.0 == task)?.2;
        let content = format!("# {what} {task}\n");
        let write = Reply::call("write_file", json!({"path": file, "content": content}));
        let done = json!({"task_id": task, "new_status": "completed"});
        Some(write.and("update_task_status", done).saying("Done."))
    });
}

/// A session of this name, delivered without a terminal.
#[track_caller]
fn deliver(sandbox: &Sandbox, name: &str, lines: &str) {
    delivers_with(sandbox, lines);
    sandbox.cowork(&["new", "-n", name, "a todo list", "--review", "auto"]).exits(0);
}

/// Session `todo`, delivered without a terminal, proposes one fact.
fn proposed() -> Sandbox {
    let sandbox = Sandbox::new();
    deliver(&sandbox, "todo", &format!("Learned: {FACT}"));
    sandbox
}

/// A person resumes a session and answers with this key.
#[track_caller]
fn answers(sandbox: &Sandbox, session: &str, key: &str) -> String {
    let mut terminal = sandbox.terminal(&["resume", session]);
    let shown = terminal.sees("later: the next run asks again");
    terminal.types(key);
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    shown
}

fn decisions(sandbox: &Sandbox, branch: &str) -> Vec<String> {
    let trailers = sandbox.trailers(branch);
    assert_eq!(trailers["Cowork-Event"], ["knowledge"]);
    trailers["Cowork-Knowledge"].clone()
}

#[test]
fn without_a_terminal_facts_are_listed_and_not_applied() {
    let sandbox = proposed();
    let report = sandbox.artifact("delivery_report.md");
    assert!(
        report.contains("\n## Proposed knowledge\n")
            && report.contains("\n- learned Commands: `sh todo.sh add x` adds a todo\n"),
        "{report}"
    );
    assert!(!report.contains("Learned:"), "{report}");
    let delivery = sandbox.commit_of("cowork/todo", "delivery: ");
    assert_eq!(sandbox.trailers(&delivery)["Cowork-Knowledge"], [format!("learned {FACT}")]);
    assert!(!sandbox.path(FILE).exists());
    // Nor does a later run without one, or one that approves by itself.
    sandbox.cowork(&["resume", "todo"]).exits(0);
    let terminal = sandbox.terminal(&["resume", "todo", "--review", "auto"]);
    assert_eq!(terminal.ends().0, 0);
    assert!(!sandbox.path(FILE).exists());
}

#[test]
fn the_next_run_on_a_terminal_offers_them() {
    let sandbox = proposed();
    let shown = answers(&sandbox, "todo", "l");
    assert!(
        shown.contains("1 fact proposed") && shown.contains("+- `sh todo.sh add x`"),
        "{shown}"
    );
    assert_eq!(sandbox.commit_of("cowork/todo", "delivery: "), sandbox.git(&["rev-parse", "HEAD"]));
    answers(&sandbox, "todo", "t");
    assert_eq!(decisions(&sandbox, "cowork/todo"), [format!("taken {FACT}")]);
    let file = sandbox.blob("cowork/todo", FILE);
    let expected = "# Project knowledge\n\n## Conventions\n\n## Commands\n\n- `sh todo.sh add x` adds a todo\n\n## Decisions\n\n## Traps\n";
    assert_eq!(file, expected);
    assert_eq!(sandbox.read(FILE), file);
    let log = sandbox.cowork(&["log", "--json", "todo"]).exits(0).stdout;
    assert!(log.contains("\"event\":\"knowledge_decided\""), "{log}");
    // Nobody is asked again.
    let (code, rest) = sandbox.terminal(&["resume", "todo"]).ends();
    assert!(code == 0 && !rest.contains("proposed"), "{rest}");
    sandbox.cowork(&["verify"]).exits(0);
    let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
    assert_eq!(status["state"], "completed", "{status}");
    sandbox.assert_sound();
}

#[test]
fn what_is_dropped_is_not_asked_for_again() {
    let sandbox = proposed();
    answers(&sandbox, "todo", "d");
    assert_eq!(decisions(&sandbox, "cowork/todo"), [format!("dropped {FACT}")]);
    assert!(!sandbox.path(FILE).exists());
    let (code, rest) = sandbox.terminal(&["resume", "todo"]).ends();
    assert!(code == 0 && !rest.contains("proposed"), "{rest}");
    sandbox.assert_sound();
}

#[test]
fn what_is_edited_is_the_file() {
    let mut sandbox = proposed();
    sandbox.set_env("GIT_EDITOR", "sed -i 's/adds a todo/adds one/;s/## Traps/&\\n\\n- own/'");
    let mut terminal = sandbox.terminal(&["resume", "todo"]);
    terminal.sees("later: the next run asks again");
    terminal.types("e");
    terminal.sees("+- own");
    terminal.sees("later: the next run asks again");
    assert!(!sandbox.exists(FILE), "written before it was taken");
    terminal.types("t");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    let said = decisions(&sandbox, "cowork/todo");
    let own = "taken Commands: `sh todo.sh add x` adds one";
    assert_eq!(said, [own, "taken Traps: own", &format!("dropped {FACT}")]);
    let file = sandbox.blob("cowork/todo", FILE);
    assert!(file.contains("- `sh todo.sh add x` adds one\n") && file.contains("- own"), "{file}");
    let (code, rest) = sandbox.terminal(&["resume", "todo"]).ends();
    assert!(code == 0 && !rest.contains("proposed"), "{rest}");
}

#[test]
fn a_decision_that_was_killed_is_asked_for_again() {
    let base = proposed();
    for (point, is_made) in [("knowledge.before-commit", false), ("knowledge.after-commit", true)] {
        let mut sandbox = base.fork();
        sandbox.set_env("COWORK_TEST_ABORT_AT", point);
        let mut terminal = sandbox.terminal(&["resume", "todo"]);
        terminal.sees("later: the next run asks again");
        terminal.types("t");
        assert_ne!(terminal.ends().0, 0, "{point}");
        sandbox.set_env("COWORK_TEST_ABORT_AT", "");
        if is_made {
            sandbox.cowork(&["resume", "todo"]).exits(0);
        } else {
            // A run without a terminal leaves nothing of it in the tree.
            sandbox.cowork(&["resume", "todo"]).exits(0);
            assert!(!sandbox.path(FILE).exists(), "{point}");
            answers(&sandbox, "todo", "t");
        }
        assert_eq!(decisions(&sandbox, "cowork/todo"), [format!("taken {FACT}")], "{point}");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "{point}");
        sandbox.assert_sound();
    }
}

#[test]
fn a_decision_survives_merge_revert_and_undo() {
    let sandbox = proposed();
    answers(&sandbox, "todo", "t");
    let tip = sandbox.git(&["rev-parse", "cowork/todo"]);
    sandbox.cowork(&["revert", "--to", "check", "--no-run"]).exits(0);
    assert!(!sandbox.path(FILE).exists());
    sandbox.cowork(&["undo"]).exits(0);
    assert_eq!(sandbox.git(&["rev-parse", "cowork/todo"]), tip);
    sandbox.cowork(&["diff", "--stat"]).exits(0);
    let whole = sandbox.fork();
    whole.cowork(&["merge"]).exits(0);
    assert!(whole.blob("main", FILE).contains("adds a todo"));
    whole.assert_sound();
    let squashed = sandbox.fork();
    squashed.git(&["switch", "-q", "main"]);
    squashed.git(&["merge", "-q", "--squash", "cowork/todo"]);
    squashed.git(&["commit", "-qm", "All of it"]);
    assert!(squashed.blob("main", FILE).contains("adds a todo"));
    squashed.cowork(&["verify", "todo"]).exits(0);
    sandbox.git(&["init", "-q", "--bare", "../shared.git"]);
    sandbox.git(&["remote", "add", "origin", "../shared.git"]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    let request = sandbox.cowork(&["pr", "--dry-run"]).exits(0).stdout;
    assert!(request.contains("Proposed knowledge"), "{request}");
    sandbox.cowork(&["merge", "--without-artifacts"]).exits(0);
    assert!(sandbox.blob("main", FILE).contains("adds a todo"));
    assert_eq!(sandbox.cowork(&["status", "--json", "todo"]).exits(0).json()["state"], "merged");
    sandbox.assert_sound();
}

#[test]
fn proposed_facts_are_taken_from_another_terminal() {
    let sandbox = proposed();
    let mut run = sandbox.terminal(&["resume", "todo"]);
    run.sees("later: the next run asks again");
    let mut watch = sandbox.terminal(&["watch", "todo"]);
    let seen = watch.sees("q stop watching");
    assert!(seen.contains("adds a todo") && seen.contains("t  take all"), "{seen}");
    watch.types("t");
    watch.sees("your answer was taken");
    run.sees("answered from another terminal: take all");
    assert_eq!((run.ends().0, watch.ends().0), (0, 0));
    assert_eq!(decisions(&sandbox, "cowork/todo"), [format!("taken {FACT}")]);
}
