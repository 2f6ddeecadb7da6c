//! Ideas and changes: what was written in the editor is not lost, and a session says what it builds on.

use crate::support::Sandbox;

const KEPT: &str = ".git/cowork/idea.md";

#[test]
fn an_idea_that_was_written_is_kept_until_its_session_has_begun() {
    let mut sandbox = Sandbox::new();
    sandbox.git(&["switch", "-q", "-c", "elsewhere"]);
    sandbox.hook("pre-commit", "test -e \"$(git rev-parse --git-dir)/open\" || exit 1");
    sandbox.editor("printf 'A todo list\\n' >\"$f\"");
    let mut terminal = sandbox.terminal(&["new", "-n", "todo", "--stop-after", "idea"]);
    terminal.sees("the idea you wrote is kept; go on with it:");
    assert_eq!(terminal.ends().0, 5);
    assert_eq!(sandbox.read(KEPT).trim(), "A todo list");
    // The next editor opens with it.
    sandbox.write(".git/open", "");
    sandbox.editor("grep -q 'A todo list' \"$f\" && echo 'with dates' >>\"$f\"");
    let terminal =
        sandbox.terminal(&["new", "-n", "todo", "--review", "auto", "--stop-after", "idea"]);
    assert_eq!(terminal.ends().0, 0);
    assert!(sandbox.artifact("session.json").contains("A todo list\\nwith dates"));
    assert!(!sandbox.exists(KEPT));
}

#[test]
fn no_editor_opens_before_there_is_a_model() {
    let mut sandbox = Sandbox::new();
    sandbox.editor("echo 'A todo list' >\"$f\"");
    for name in ["COWORK_LLM_BASE_URL", "COWORK_LLM_API_KEY", "COWORK_LLM_MODEL"] {
        sandbox.set_env(name, "");
    }
    let terminal = sandbox.terminal(&["new"]);
    assert_eq!(terminal.ends().0, 4);
    assert!(sandbox.edited().is_empty());
}

#[test]
fn no_editor_opens_for_a_base_that_is_not_there() {
    let mut sandbox = Sandbox::new();
    sandbox.editor("echo 'A todo list' >\"$f\"");
    let mut terminal = sandbox.terminal(&["new", "-b", "nowhere"]);
    terminal.sees("nowhere");
    assert_ne!(terminal.ends().0, 0);
    assert!(sandbox.edited().is_empty());
}

#[test]
fn a_session_on_the_branch_of_a_delivered_one_says_what_it_starts_from() {
    let sandbox = Sandbox::delivered();
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    let new = ["new", "-n", "two", "a second idea", "--stop-after", "idea"];
    let two = sandbox.fork();
    two.cowork(&[&new[..], &["--review", "auto"]].concat()).exits(0).says(
        "todo is delivered and not merged: this session starts from main; to build on it, \
         start it with -b cowork/todo",
    );
    assert!(!two.exists("lib/store.sh"));
    let mut terminal = sandbox.terminal(&[&new[..], &["--review", "auto"]].concat());
    terminal.sees("start from cowork/todo instead of main?");
    terminal.types("y");
    assert_eq!(terminal.ends().0, 0);
    assert!(sandbox.exists("lib/store.sh"));
    assert!(sandbox.cowork(&["status", "two"]).exits(0).stdout.contains("based on cowork/todo"));
}
