//! Branches that hold no session, and sessions that cannot be read: named, and no command stops.

use std::process::Stdio;

use crate::support::Sandbox;

/// Makes an object of these bytes, even if git would not.
fn commit_of(sandbox: &Sandbox, text: &str) -> String {
    sandbox.write("../commit", text);
    let path = sandbox.path("../commit").display().to_string();
    sandbox.git(&["hash-object", "-t", "commit", "-w", "--literally", &path])
}

#[test]
fn many_branches_that_are_no_sessions_are_one_warning() {
    let sandbox = Sandbox::stopped_after("idea");
    let main = sandbox.git(&["rev-parse", "main"]);
    let creates: String =
        (0..300).map(|n| format!("create refs/heads/cowork/x{n} {main}\n")).collect();
    let mut update = sandbox.command("git");
    update.args(["update-ref", "--stdin"]).stdin(Stdio::piped());
    let mut update = update.spawn().unwrap();
    std::io::Write::write_all(update.stdin.as_mut().unwrap(), creates.as_bytes()).unwrap();
    assert!(update.wait().unwrap().success());
    for args in [&["list"][..], &["list", "--all"], &["verify", "--all"]] {
        let told = sandbox.cowork(args).stderr;
        assert_eq!(told.matches("warning").count(), 1, "{args:?}: {told}");
        assert!(told.contains("300 branches are not sessions: x0, x1, x10 and 297 more"), "{told}");
    }
    sandbox.cowork(&["resume", "todo", "--review", "auto", "--stop-after", "prd"]).exits(0);
}

#[test]
fn a_session_of_a_newer_format_is_said_to_be_one() {
    let sandbox = Sandbox::stopped_after("idea");
    let path = ".cowork/sessions/todo/session.json";
    let text = sandbox.read(path);
    let version = text.split("\"schema_version\": \"").nth(1).unwrap().split('"').next().unwrap();
    sandbox.write(path, &text.replace(&format!("\"{version}\""), "\"9.0\""));
    sandbox.git(&["commit", "-qam", "as a newer git-cowork would"]);
    sandbox.git(&["switch", "-q", "main"]);
    let listed = sandbox.cowork(&["list"]).exits(0).stderr;
    assert!(listed.contains("a session cannot be read: todo: "), "{listed}");
    assert!(listed.contains("format 9.0") && !listed.contains("no sessions here"), "{listed}");
    sandbox.cowork(&["status", "todo"]).exits(5).says("use a newer git-cowork");
}

#[test]
fn a_commit_without_a_committer_stops_no_command() {
    let sandbox = Sandbox::delivered();
    let tree = sandbox.git(&["rev-parse", "cowork/todo^{tree}"]);
    let tip = sandbox.git(&["rev-parse", "cowork/todo"]);
    let commit = commit_of(
        &sandbox,
        &format!("tree {tree}\nparent {tip}\nauthor broken\ncommitter broken\n\nby another tool\n"),
    );
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["update-ref", "refs/heads/cowork/todo", &commit]);
    for args in [
        &["list"][..],
        &["status", "todo"],
        &["log", "todo"],
        &["trace", "todo"],
        &["merge", "todo", "--dry-run"],
    ] {
        sandbox.cowork(args).exits(0);
    }
    let verified = sandbox.cowork(&["verify", "todo"]).exits(0).stdout;
    assert!(verified.contains("no author or committer that git can read"), "{verified}");
    sandbox.cowork(&["delete", "todo", "--yes"]).exits(0);
}

#[test]
fn a_commit_that_nobody_can_read_is_named_and_hides_no_other_session() {
    let sandbox = Sandbox::stopped_after("idea");
    let tip = sandbox.git(&["rev-parse", "cowork/todo"]);
    let text = format!("parent {tip}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n");
    let commit = commit_of(&sandbox, &text);
    // Git itself writes no reference to it.
    sandbox.write(".git/refs/heads/cowork/bad", &format!("{commit}\n"));
    let named = format!("commit {commit} has a header that git cannot read");
    let listed = sandbox.cowork(&["list"]).exits(0);
    assert!(listed.stderr.contains(&format!("bad: {named}")), "{}", listed.stderr);
    assert!(listed.stdout.contains("todo"), "{}", listed.stdout);
    sandbox.cowork(&["status", "todo"]).exits(0);
    sandbox.cowork(&["delete", "bad", "--yes"]).exits(5).says("git branch -D cowork/bad");
    sandbox.cowork(&["resume", "todo", "--review", "auto", "--stop-after", "prd"]).exits(0);
}
