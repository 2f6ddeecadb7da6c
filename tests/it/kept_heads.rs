//! The heads of sessions are kept where there are many, and nobody sees a difference.

use crate::support::Sandbox;
use crate::support::copied::Refs;
use crate::support::sessions::Sessions;

/// Below the repository.
const HEADS: &str = ".git/cowork/heads";

/// A repository of so many sessions.
fn repository(sessions: usize) -> Sandbox {
    let mut made = Sessions::new();
    made.grow(sessions, Refs::Packed);
    made.sandbox
}

fn listed(sandbox: &Sandbox) -> [String; 2] {
    let lists: [&[&str]; 2] = [&["list"], &["list", "--json"]];
    lists.map(|list| sandbox.cowork(list).exits(0).stdout)
}

#[test]
fn with_few_sessions_none_are_kept() {
    let sandbox = repository(20);
    listed(&sandbox);
    assert!(!sandbox.path(HEADS).exists());
}

#[test]
fn what_is_kept_is_what_would_be_read_and_a_broken_file_is_made_again() {
    let sandbox = repository(300);
    let first = listed(&sandbox);
    let kept = sandbox.read(HEADS);
    assert_eq!(kept.lines().count(), 301);
    assert_eq!(listed(&sandbox), first);

    let half = &kept[..kept.len() / 2];
    let lines = kept.lines().map(|line| line[..line.len() - 9].to_owned()).collect::<Vec<_>>();
    let other = kept.replacen("heads 2", "heads 0", 1).replace("todo list", "something else");
    for broken in [half, &lines.join("\n"), &other, "", "nonsense\n"] {
        sandbox.write(HEADS, broken);
        assert_eq!(listed(&sandbox), first, "{broken:.80}");
    }
    assert_eq!(sandbox.read(HEADS).lines().count(), 301);

    // A session that goes on is another tip.
    sandbox.git(&["branch", "-f", "cowork/session-1", "cowork/session-1~1"]);
    let [_, json] = listed(&sandbox);
    let before = first[1].lines().find(|line| line.contains(r#""session":"session-1""#)).unwrap();
    let now = json.lines().find(|line| line.contains(r#""session":"session-1""#)).unwrap();
    assert_ne!(before, now);
    std::fs::remove_file(sandbox.path(HEADS)).unwrap();
    assert_eq!(listed(&sandbox)[1], json);
}

#[test]
fn a_file_that_says_something_else_is_named_and_not_used_where_commits_are_replaced() {
    let sandbox = repository(300);
    let first = listed(&sandbox);
    sandbox.cowork(&["verify", "session-5"]).exits(0);
    let forged = sandbox.read(HEADS).replace("todo list for the terminal", "forged title");
    sandbox.write(HEADS, &forged);
    assert!(listed(&sandbox)[0].contains("forged title"), "it is not used");
    let told = sandbox.cowork(&["verify", "session-5"]).exits(1).stdout;
    assert!(told.contains("kept-head-differs") && told.contains("rm "), "{told}");

    let commit = sandbox.git(&["rev-parse", "cowork/session-7~1"]);
    sandbox.git(&["replace", "--graft", &commit]);
    assert!(!listed(&sandbox)[0].contains("forged title"), "it is used with replaced commits");
    sandbox.git(&["replace", "-d", &commit]);
    std::fs::remove_file(sandbox.path(HEADS)).unwrap();
    assert_eq!(listed(&sandbox), first);
}
