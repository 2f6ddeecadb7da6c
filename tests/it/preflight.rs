//! Before a session goes back or forward: a person at a terminal is told what leaves the branch, and
//! asked when that may surprise.

use crate::support::Sandbox;
use crate::support::pty::Terminal;

const REVERT: [&str; 4] = ["revert", "--to", "prd", "--no-run"];
const UNDO: [&str; 1] = ["undo"];
const ASKED: &str = "Continue anyway?";
/// The last line of the question: from here on keys are read.
const KEYS: &str = "cancel (Enter)";
const DESIGN: &str = ".cowork/sessions/todo/design.md";

/// A session with an approved design.
fn designed() -> Sandbox {
    Sandbox::stopped_after("design")
}

/// References, where HEAD is, and what is not committed.
fn all_of(sandbox: &Sandbox) -> (String, String, String) {
    let head = sandbox.git(&["rev-parse", "--abbrev-ref", "HEAD"]);
    (sandbox.all_refs(), head, sandbox.git(&["diff", "HEAD"]))
}

/// The command asks, having said all of this; the terminal waits for the answer.
#[track_caller]
fn asks(sandbox: &Sandbox, args: &[&str], said: &[&str]) -> Terminal {
    let mut terminal = sandbox.terminal(args);
    let told = terminal.sees(ASKED);
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.iter().all(|words| told.contains(words)), "{said:?} in {told}");
    terminal.sees(KEYS);
    terminal
}

/// No is no; asked again, yes goes on.
#[track_caller]
fn asks_and_obeys(sandbox: &Sandbox, args: &[&str], said: &[&str]) {
    let before = all_of(sandbox);
    for no in ["q", "\r", "\u{1b}", "\u{3}"] {
        let mut terminal = asks(sandbox, args, said);
        terminal.types(no);
        let (code, rest) = terminal.ends();
        assert_eq!(code, 130, "{no:?}: {rest}");
        assert_eq!(all_of(sandbox), before, "{no:?}: {rest}");
    }
    let mut terminal = asks(sandbox, args, said);
    // Behind the last one, cancel, comes the first.
    terminal.types("j\r");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_ne!(all_of(sandbox).0, before.0);
    assert_eq!(sandbox.git(&["rev-parse", "--abbrev-ref", "HEAD"]), "cowork/todo");
}

#[test]
fn where_nothing_may_surprise_nobody_is_asked() {
    let sandbox = designed();
    sandbox.write("notes.txt", "untracked, and not in the way\n");
    for args in [&REVERT[..], &UNDO] {
        let (code, rest) = sandbox.terminal(args).ends();
        assert_eq!(code, 0, "{rest}");
        assert!(rest.contains("of cowork/todo") && !rest.contains(ASKED), "{rest}");
    }
}

#[test]
fn uncommitted_edits() {
    let base = designed();
    base.cowork(&REVERT).exits(0);
    base.cowork(&UNDO).exits(0);
    base.write("README.md", "# Mine\n");
    base.write(DESIGN, "A design of mine.\n");
    let said = ["uncommitted edits in the attempt: .cowork/sessions/todo/design.md, README.md"];
    let goto = [
        "resume",
        "--goto-stage",
        "design",
        "--stop-after",
        "prd",
        "--no-stream",
        "--review",
        "ask",
    ];
    for args in [&REVERT[..], &UNDO, &["restore", "todo", "2"], &goto] {
        let sandbox = base.fork();
        asks_and_obeys(&sandbox, args, &said);
        let kept = "refs/cowork/attempts/todo/3";
        assert_eq!(sandbox.blob(kept, DESIGN), "A design of mine.\n", "{args:?}");
        assert_eq!(sandbox.blob(kept, "README.md"), "# Mine\n", "{args:?}");
        assert_eq!(sandbox.read("README.md"), "# Mine\n", "{args:?}");
    }
}

#[test]
fn d_shows_what_would_leave() {
    let sandbox = designed();
    sandbox.write("README.md", "# Mine\n");
    let mut terminal = asks(&sandbox, &REVERT, &["2 commits", "README.md"]);
    terminal.types("k\r");
    terminal.sees("COMP-001 Todo core");
    terminal.sees("Not committed:");
    terminal.sees("+# Mine");
    terminal.sees(KEYS);
    terminal.types("\r");
    assert_eq!(terminal.ends().0, 130);
}

#[test]
fn head_on_another_branch() {
    let sandbox = designed();
    sandbox.git(&["switch", "-q", "main"]);
    let args = ["revert", "todo", "--to", "prd", "--no-run"];
    asks_and_obeys(&sandbox, &args, &["HEAD is on main and moves to cowork/todo"]);
}

#[test]
fn commits_of_ones_own_on_top() {
    let sandbox = designed();
    sandbox.write("mine.txt", "mine\n");
    sandbox.commit_all("my own work");
    asks_and_obeys(&sandbox, &REVERT, &["3 commits", "my own work", "git cherry-pick"]);
    // Forward again nothing is left behind, so nobody is asked.
    let (code, rest) = sandbox.terminal(&UNDO).ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(sandbox.read("mine.txt"), "mine\n");
}

#[test]
fn what_others_may_have_by_now() {
    let sandbox = designed();
    sandbox.git(&["init", "-q", "--bare", "../hub"]);
    sandbox.git(&["remote", "add", "hub", "../hub"]);
    sandbox.git(&["push", "-q", "hub", "cowork/todo"]);
    let said = [
        "2 of the attempt's commits are on hub/cowork/todo already",
        "a push needs --force-with-lease",
    ];
    asks_and_obeys(&sandbox, &REVERT, &said);
}

#[test]
fn who_said_so_beforehand_or_is_not_there_is_not_asked() {
    let base = designed();
    base.write("README.md", "# Mine\n");
    let sandbox = base.fork();
    let told = sandbox.cowork(&REVERT).exits(0).stderr;
    assert!(told.contains("edits in the attempt: README.md") && !told.contains(ASKED), "{told}");
    for option in [&["--review", "auto"][..], &["--review", "wait"], &["--no-interactive"]] {
        let sandbox = base.fork();
        let (code, rest) = sandbox.terminal(&[&REVERT[..], option].concat()).ends();
        assert_eq!(code, 0, "{option:?}: {rest}");
        assert!(!rest.contains(ASKED), "{option:?}: {rest}");
    }
    base.cowork(&[&REVERT[..], &["--review", "ask"]].concat()).exits(2);
}
