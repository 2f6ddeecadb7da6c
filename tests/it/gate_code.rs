//! The gate of the code: its hunks are commented on one by one, its files edited.

use crate::support::Sandbox;
use crate::support::pty::Terminal;
use crate::support::todo::file_of;

/// The last words of the menu: from here on keys are read.
const ASKED: &str = "? help";

fn at_the_code(sandbox: &Sandbox) -> Terminal {
    let mut terminal = sandbox.terminal(&["resume"]);
    terminal.sees("your decision");
    terminal.sees(ASKED);
    terminal
}

#[test]
fn a_comment_on_a_hunk_has_its_place_is_kept_and_sent_as_feedback() {
    let sandbox = Sandbox::stopped_after("plan");
    let mut terminal = at_the_code(&sandbox);
    terminal.types("h");
    terminal.sees("hunk 1 of");
    terminal.sees("q end");
    terminal.types("?");
    terminal.sees("go back to the hunk before");
    // The hunk stays in sight.
    let after = terminal.sees("q end");
    assert!(!after.contains("hunk 1 of"), "{after}");
    terminal.types("c");
    terminal.types("lock the file\r");
    terminal.sees("hunk 2 of");
    terminal.sees("q end");
    terminal.types("q");
    terminal.sees("Send 1 comment to the actor?");
    // Not sent yet, and not lost where the run ends here.
    terminal.types("n");
    terminal.sees(ASKED);
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    let kept = sandbox.repo().join(".git/cowork/sessions/todo/comments-coding.md");
    let text = std::fs::read_to_string(&kept).unwrap();
    let (place, words) = text.trim().trim_start_matches("- ").split_once(": ").unwrap();
    let (file, line) = place.rsplit_once(':').unwrap();
    assert!(sandbox.exists(file) || file.starts_with("lib/"), "{text}");
    assert!(line.parse::<usize>().unwrap() > 0 && words == "lock the file", "{text}");

    let mut terminal = at_the_code(&sandbox);
    sandbox.server.forget();
    terminal.types("h");
    terminal.sees("hunk 1 of");
    terminal.sees("q end");
    terminal.types("q");
    terminal.sees("Send 1 comment to the actor?");
    terminal.types("y");
    terminal.sees("your decision");
    terminal.sees(ASKED);
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    assert!(!kept.exists());
    let asked = sandbox.server.requests_of("coding", "actor");
    assert!(asked[0].text().contains(&format!("{place}: lock the file")), "{}", asked[0].text());
    sandbox.assert_sound();
}

#[test]
fn the_changed_files_are_edited_at_the_gate_and_shown_again() {
    let mut sandbox = Sandbox::stopped_after("plan");
    let file = file_of("TASK-001");
    sandbox
        .editor(&format!("for f; do case $f in *{file}) echo '# by hand' >>\"$f\";; esac; done"));
    let mut terminal = at_the_code(&sandbox);
    terminal.types("e");
    terminal.sees("it is checked and shown again");
    terminal.sees("your decision");
    terminal.sees(ASKED);
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert!(code == 3 || code == 0, "{rest}");
    let commit = sandbox.stage_commit("coding");
    assert!(sandbox.blob(&commit, file).ends_with("# by hand\n"));
    assert_eq!(sandbox.trailers(&commit)["Cowork-Review"], ["edited"]);
    assert_eq!(sandbox.server.requests_of("coding", "critic").len(), 1);
    sandbox.assert_sound();
}

#[test]
fn before_the_pass_it_is_plain_whether_a_test_ran() {
    let sandbox = Sandbox::stopped_after("plan");
    let mut screen = sandbox.screen(80, &["resume"]);
    let asks = |now: &str| now.trim_end().ends_with('▸');
    let shown = screen.shows(asks);
    let none = "Tests    none has run, because no test command is known; set one:\n         \
                git config cowork.project.test \"COMMAND\"\n";
    assert!(shown.contains(none), "{shown}");
    let by_review = "Criteria 0 of 3 shown by a test, 3 only by your review\n";
    assert!(shown.contains(by_review), "{shown}");
    screen.types("q");
    assert_eq!(screen.ends().0, 3);
    // As it says.
    let test = "printf '1..2\\nok 1 - adds\\nok 2 - lists\\n'";
    sandbox.git(&["config", "cowork.project.test", test]);
    let mut screen = sandbox.screen(80, &["resume"]);
    let shown = screen.shows(asks);
    assert!(shown.contains("2 passed, 0 failed\n") && shown.contains(by_review), "{shown}");
    screen.types("p");
    let (code, shown) = screen.ends();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("3 criteria                 0 by a test, 3 by review"), "{shown}");
    assert!(shown.contains("REQ-001 (review)") && !shown.contains("REQ-001 ✓"), "{shown}");
}

#[test]
fn a_wrong_key_beeps_and_says_so() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.terminal(&["new", "-n", "todo", "a todo list"]);
    terminal.sees(ASKED);
    terminal.types("h");
    terminal.sees("\u{7}");
    terminal.sees("unknown key 'h'; ? lists the keys");
    terminal.types("?");
    terminal.sees("this list");
    terminal.sees(ASKED);
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
}
