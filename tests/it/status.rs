//! Where a session stands, in words: the bare command, `status`, `list`, `show`.

use crate::support::todo::{IDEA, PRD, reject};
use crate::support::{Sandbox, at};

#[test]
fn the_bare_command_names_the_one_next_step() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.cowork(&[]).exits(0);
    assert!(outcome.stdout.contains("git cowork new"), "{}", outcome.stdout);
    sandbox.wait(&[]).exits(3);
    let outcome = sandbox.cowork(&[]).exits(0);
    assert!(outcome.stdout.contains("git cowork review"), "{}", outcome.stdout);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    let outcome = sandbox.cowork(&[]).exits(0);
    assert!(outcome.stdout.contains("git cowork resume"), "{}", outcome.stdout);
    assert!(sandbox.git_cowork(&[]).exits(0).stdout.contains("git cowork resume"));
}

#[test]
fn status_tells_the_stages() {
    let sandbox = Sandbox::stopped_after("prd");
    let shown = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(shown.contains("todo") && shown.contains("cowork/todo"), "{shown}");
    assert!(shown.contains("a todo list for the terminal"), "{shown}");
    for stage in ["idea", "prd"] {
        let short = sandbox.git(&["rev-parse", "--short", &sandbox.stage_commit(stage)]);
        let line = shown.lines().find(|l| l.contains(&short));
        assert!(line.is_some_and(|l| l.contains(stage)), "{stage}: {shown}");
    }
    assert!(shown.contains("git cowork resume"), "{shown}");
    // Columns stand below each other, and what is not begun shares a line.
    for (stage, tokens, outcome) in [
        ("idea", "240", "A todo list for the terminal"),
        ("prd", "240", "3 requirements, 2 features"),
    ] {
        let line = shown.lines().find(|line| line.contains(&format!("✓ {stage} "))).unwrap();
        assert!(line.contains("  auto  1 draft  ") && line.contains(tokens), "{shown}");
        assert!(line.ends_with(outcome), "{shown}");
    }
    assert!(
        shown.contains("  ● design    not begun\n  · plan    · coding  · check   · delivery\n"),
        "{shown}"
    );
}

#[test]
fn the_bare_command_takes_a_session_and_counts_tasks() {
    let sandbox = Sandbox::new();
    sandbox.wait(&[]).exits(3);
    let shown = sandbox.cowork(&[]).exits(0).stdout;
    assert!(shown.contains("waits for review · no stage is done yet\n"), "{shown}");
    sandbox.git(&["switch", "-q", "main"]);
    // Off its branch, too, a review that is due is the next step.
    let shown = sandbox.cowork(&[]).exits(0).stdout;
    assert!(shown.contains("\nNext     git cowork review todo\n"), "{shown}");
    let shown = sandbox.cowork(&["--session", "todo"]).exits(0).stdout;
    assert!(shown.starts_with("Session  todo · "), "{shown}");
    sandbox.cowork(&["--session", "nowhere"]).exits(5).says("nowhere");
    sandbox.cowork(&["review", "--session", "todo", "--abort"]).exits(0);
    let shown = sandbox.cowork(&["status", "todo"]).exits(0).stdout;
    assert!(shown.contains("aborted, resume starts the stage again"), "{shown}");
}

#[test]
fn status_names_what_is_protected() {
    let sandbox = Sandbox::new();
    sandbox.write("README.md", "# Mine\n");
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let shown = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(shown.contains("README.md"), "{shown}");
}

#[test]
fn status_in_the_middle_of_coding_counts_tasks() {
    let sandbox = Sandbox::stopped_after("plan");
    let fault = crate::support::Reply::status(401, "enough");
    sandbox.server.on(at("coding", "actor").task("TASK-003"), fault);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(4);
    let shown = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(shown.contains("2 of 5 tasks"), "{shown}");
    let bare = sandbox.cowork(&[]).exits(0).stdout;
    assert!(bare.contains("Stands   coding, 2 of 5 tasks · done: "), "{bare}");
    let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
    assert_eq!(status["stage"], "coding");
    assert_eq!(status["state"], "in_progress");
}

#[test]
fn list_shows_every_session() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.cowork(&["new", "-n", "other", "x", "--review", "wait"]).exits(3);
    let shown = sandbox.cowork(&["list"]).exits(0).stdout;
    assert!(shown.contains("todo") && shown.contains("other"), "{shown}");
}

#[test]
fn a_list_cuts_the_middle_of_names_and_shows_why_a_session_stopped() {
    let sandbox = Sandbox::new();
    let long = "a-todo-list-that-is-kept-in-one-plain-text-file";
    let idea = "a todo list for the terminal that is kept in one plain text file, with tests";
    sandbox.cowork(&["new", "-n", long, idea, "--review", "auto", "--stop-after", "idea"]).exits(0);
    sandbox.cowork(&["new", "-n", "other", "x", "--review", "wait"]).exits(3);
    sandbox.user_config("[limits]\niterations = { prd = 1 }\n");
    sandbox.server.on(at("prd", "critic"), reject("no user is named"));
    sandbox.cowork(&["resume", long, "--review", "auto"]).exits(1);
    let rows = |width: u16| {
        let mut screen = sandbox.screen(width, &["list"]);
        assert_eq!(screen.runs_out(), 0);
        screen.seen().contents().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    for (width, name) in
        [(80, "a-todo-list-t…in-text-file "), (100, "a-todo-list-that…-plain-text-file ")]
    {
        let rows = rows(width);
        let cut = rows.iter().find(|row| row.contains(name)).unwrap_or_else(|| panic!("{rows:#?}"));
        let other = rows.iter().find(|row| row.contains("other ")).unwrap();
        let column = |row: &str, text: &str| row[..row.find(text).unwrap()].chars().count();
        assert_eq!(column(cut, "stopped"), column(other, "waiting"), "{rows:#?}");
        assert!(rows.iter().any(|row| row.contains("the only draft was refused")), "{rows:#?}");
        assert!(rows.iter().all(|row| row.chars().count() <= usize::from(width)), "{rows:#?}");
    }
    // A program gets whole names.
    assert!(sandbox.cowork(&["list"]).exits(0).stdout.contains(long));
}

#[test]
fn show_prints_an_artifact_without_switching() {
    let sandbox = Sandbox::stopped_after("prd");
    assert_eq!(sandbox.cowork(&["show", "idea"]).exits(0).stdout, IDEA);
    sandbox.git(&["switch", "-q", "main"]);
    assert_eq!(sandbox.cowork(&["show", "todo", "prd"]).exits(0).stdout, PRD);
    assert_eq!(sandbox.cowork(&["show", "--session", "todo", "prd"]).exits(0).stdout, PRD);
    // Off its branch the newest unfinished session is meant, and that is said.
    let outcome = sandbox.cowork(&["show", "prd"]).exits(0).says("todo");
    assert_eq!(outcome.stdout, PRD);
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    let outcome = sandbox.cowork(&["show", "todo", "design"]);
    assert_ne!(outcome.code, 0, "{outcome:?}");
    sandbox.assert_sound();
}

#[test]
fn reading_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.wait(&[]).exits(3);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.server.forget();
    let before = sandbox.all_refs();
    for args in
        [&["status", "todo"][..], &["list"], &["show", "todo", "idea"], &[], &["list", "--all"]]
    {
        sandbox.cowork(args).exits(0);
    }
    assert_eq!(sandbox.all_refs(), before);
    assert!(sandbox.server.requests().is_empty());
    assert_eq!(sandbox.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    sandbox.assert_sound();
}

#[test]
fn reading_needs_no_model() {
    let mut sandbox = Sandbox::stopped_after("idea");
    sandbox.set_env("COWORK_LLM_BASE_URL", "http://127.0.0.1:1/v1");
    sandbox.cowork(&["status"]).exits(0);
    sandbox.cowork(&["list"]).exits(0);
    sandbox.cowork(&["show", "idea"]).exits(0);
}

#[test]
fn an_unknown_session_is_named() {
    let sandbox = Sandbox::new();
    for command in ["status", "resume"] {
        sandbox.cowork(&[command, "nowhere"]).exits(5).says("nowhere");
    }
    sandbox.cowork(&["resume"]).exits(5);
}

#[test]
fn a_squashed_history_still_says_what_is_done() {
    let sandbox = Sandbox::stopped_after("design");
    let message = sandbox.git(&["log", "-1", "--format=%B", "HEAD"]);
    sandbox.git(&["reset", "-q", "--soft", "main"]);
    sandbox.git(&["commit", "-q", "-m", &message]);
    let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
    assert_eq!(status["done"], serde_json::json!(["idea", "prd", "design"]));
    assert_eq!(status["stage"], "plan");
}

#[test]
fn verbose_status_shows_each_requirement_and_each_features_tasks() {
    let sandbox = Sandbox::stopped_after("idea");
    let status = || sandbox.cowork(&["status", "-v"]).exits(0).stdout;
    assert!(!status().contains("Requirements"), "{}", status());
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "plan"]).exits(0);
    let shown = status();
    assert!(shown.contains("  REQ-001 planned     Add a todo (FEAT-001)\n"), "{shown}");
    assert!(shown.contains("  FEAT-002 planned     Reading and ticking · 20"), "{shown}");
    assert!(shown.contains("    · TASK-003 List todos\n"), "{shown}");
    assert!(!sandbox.cowork(&["status"]).exits(0).stdout.contains("REQ-001"));

    // After the third task one feature is begun and so are its requirements.
    let mut sandbox = sandbox;
    sandbox.set_env("COWORK_TEST_ABORT_AT", "task.after-commit:3");
    sandbox.cowork(&["resume", "--review", "auto"]).was_killed();
    sandbox.set_env("COWORK_TEST_ABORT_AT", "");
    let status = || sandbox.cowork(&["status", "--verbose"]).exits(0).stdout;
    let shown = status();
    assert!(shown.contains("  REQ-003 in progress Tick a todo off (FEAT-002)\n"), "{shown}");
    assert!(shown.contains("    ✓ TASK-003 List todos\n    · TASK-004 Tick a"), "{shown}");
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let shown = status();
    assert!(shown.contains("  REQ-002 delivered   List todos (FEAT-002)\n"), "{shown}");
    assert!(shown.contains("  FEAT-001 delivered   Adding"), "{shown}");
    assert!(shown.contains("    ✓ TASK-005 Read the command line\n"), "{shown}");
    assert!(!shown.contains("· TASK"), "{shown}");
}
