//! The logs that `Cowork-Evidence` names: kept as notes, published with the session, fetched by
//! whoever goes on with it elsewhere.

use std::path::PathBuf;

use crate::support::Sandbox;
use crate::support::kill::{abort_at, points};

const NOTES: &str = "refs/notes/cowork";
const KEY: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

/// A project whose tests say something else on each tree.
fn with_tests() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.user_config("[project]\ntest = \"sh run.sh\"\n");
    sandbox.commit_file("run.sh", "ls lib 2>/dev/null; echo all is well\n", "tests");
    sandbox
}

/// The logs that commits of this branch name.
fn logs(sandbox: &Sandbox, branch: &str) -> Vec<String> {
    let format = "--format=%(trailers:key=Cowork-Evidence,valueonly)";
    let values = sandbox.git(&["log", "--reverse", format, &format!("main..{branch}")]);
    let log = |value: &str| {
        let (_, log) = value.split_once(", log ")?;
        Some(log.split_once(',')?.0.to_owned())
    };
    let mut logs: Vec<String> = values.lines().filter_map(log).collect();
    logs.sort();
    logs.dedup();
    logs
}

/// Every log can be read with nothing but git.
#[track_caller]
fn are_readable(sandbox: &Sandbox, logs: &[String]) {
    for log in logs {
        let text = sandbox.git(&["notes", "--ref", "cowork", "show", log]);
        assert!(text.starts_with("$ sh run.sh\ntree ") && text.contains("all is well"), "{text}");
    }
}

/// A clone over the wire, with its own sandbox around the same repository as its origin.
fn clone_of(sandbox: &Sandbox, name: &str) -> PathBuf {
    let path = sandbox.root().join(name);
    let origin = format!("file://{}", sandbox.repo().display());
    sandbox.git(&["clone", "-q", &origin, &path.display().to_string()]);
    path
}

#[test]
fn a_log_can_be_read_in_a_clone_whenever_the_session_was_interrupted() {
    let base = with_tests();
    base.auto(&["--stop-after", "plan"]).exits(0);
    let resume = ["resume", "--review", "auto"];
    let mut whole = base.fork();
    let (outcome, points) = points(&mut whole, &resume);
    outcome.exits(0);
    let after_commits = ["task.after-commit:", "stage.after-commit:"];
    let commits: Vec<String> =
        points.into_iter().filter(|p| after_commits.iter().any(|c| p.starts_with(c))).collect();
    assert_eq!(commits.len(), 5 + 3, "{commits:?}");
    for (n, commit) in commits.iter().enumerate() {
        let mut origin = base.fork();
        abort_at(&mut origin, &resume, commit).was_killed();
        let named = logs(&origin, "cowork/todo");
        assert!(!named.is_empty(), "nothing was run before {commit}");
        origin.git(&["gc", "--quiet", "--prune=now"]);
        origin.git(&["switch", "-q", "main"]);
        let clone = clone_of(&origin, "clone");
        let mut elsewhere = origin.fork();
        elsewhere.enter(&clone);
        assert!(elsewhere.git_fails(&["cat-file", "-e", &named[0]]), "the clone has it already");
        let status = elsewhere.cowork(&["status", "todo"]).exits(0).stdout;
        // One half goes on, the other only reads.
        if n % 2 == 0 {
            elsewhere.cowork(&["resume", "todo", "--review", "auto"]).exits(0);
        } else {
            let line = status.lines().find(|line| line.starts_with("Logs ")).unwrap();
            let command = line.split_once(": ").unwrap().1;
            let args: Vec<&str> = command.split(' ').skip(1).collect();
            elsewhere.git(&args);
            assert!(!elsewhere.cowork(&["status", "todo"]).stdout.contains("\nLogs "));
        }
        are_readable(&elsewhere, &named);
        are_readable(&elsewhere, &logs(&elsewhere, "origin/cowork/todo"));
    }
}

#[test]
fn a_pull_request_publishes_the_logs_of_its_session_only() {
    let sandbox = with_tests();
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let far = sandbox.root().join("far.git");
    let far = far.display().to_string();
    sandbox.git(&["init", "-q", "--bare", &far]);
    sandbox.git(&["remote", "add", "origin", &far]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    // Somebody else's log is there, and one of another session is here.
    let blob = |text: &str| {
        sandbox.write("log", text);
        let blob = sandbox.git(&["hash-object", "-w", "log"]);
        std::fs::remove_file(sandbox.path("log")).unwrap();
        blob
    };
    let (theirs, other) = (blob("theirs"), blob("other"));
    sandbox.git(&["notes", "--ref", "theirs", "add", "-C", &theirs, &theirs]);
    sandbox.git(&["push", "-q", "origin", "refs/notes/theirs:refs/notes/cowork"]);
    sandbox.git(&["update-ref", "-d", "refs/notes/theirs"]);
    sandbox.git(&["notes", "--ref", "cowork", "add", "-C", &other, &other]);
    let named = logs(&sandbox, "cowork/todo");
    assert!(named.len() >= 5, "{named:?}");
    let there = || sandbox.git(&["--git-dir", &far, "notes", "--ref", "cowork", "list"]);

    sandbox.cowork(&["pr", "--without-artifacts"]).exits(0);
    assert_eq!(there().lines().count(), 1, "logs were pushed without the session");
    let dry = format!("Logs     of {} checks to {NOTES}\n", named.len());
    assert!(sandbox.cowork(&["pr", "--dry-run"]).exits(0).stdout.contains(&dry));
    assert_eq!(there().lines().count(), 1, "a dry run pushed");

    sandbox.cowork(&["pr"]).exits(0).says(&format!("pushed {} check logs", named.len()));
    let list = there();
    for log in named.iter().chain([&theirs]) {
        assert!(list.contains(log.as_str()), "{log} in\n{list}");
    }
    assert!(!list.contains(&other), "a log of another session was published");
    assert_eq!(sandbox.refs("refs/notes"), [NOTES]);
    let again = sandbox.cowork(&["pr"]).exits(0);
    assert!(!again.stderr.contains("check log"), "{}", again.stderr);
}

#[test]
fn a_remote_that_takes_no_notes_is_a_warning() {
    let sandbox = with_tests();
    sandbox.auto(&[]).exits(0);
    let far = sandbox.root().join("far.git");
    let path = far.display().to_string();
    sandbox.git(&["init", "-q", "--bare", &path]);
    sandbox.git(&["remote", "add", "origin", &path]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    let update = far.join("hooks/update");
    sandbox.executable(&update, "case $1 in refs/notes/*) echo no notes here >&2; exit 1;; esac");
    let pushed = sandbox.cowork(&["pr"]).exits(0).says("no notes here");
    pushed.says("the check logs were not pushed to refs/notes/cowork on origin");
    let has = sandbox.git(&["--git-dir", &path, "for-each-ref", "--format=%(refname)"]);
    assert!(has.contains("refs/heads/cowork/todo") && !has.contains("refs/notes"), "{has}");
    assert_eq!(sandbox.refs("refs/notes"), [NOTES]);
}

#[test]
fn no_key_that_a_test_prints_is_in_a_log() {
    let sandbox = with_tests();
    // In two pieces, or the file itself would be refused.
    let (a, b) = KEY.split_at(10);
    let script = format!("echo {a}''{b}; echo all is well\n");
    sandbox.commit_file("run.sh", &script, "a test that prints a token");
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let named = logs(&sandbox, "cowork/todo");
    are_readable(&sandbox, &named);
    for log in &named {
        let text = sandbox.git(&["notes", "--ref", "cowork", "show", log]);
        assert!(text.contains("[secret]") && !text.contains(KEY), "{text}");
    }
}

#[test]
fn the_logs_of_one_step_are_one_commit_of_notes_beside_those_of_others() {
    let sandbox = Sandbox::new();
    let own = ["build", "test", "lint"].map(|which| format!("{which} = \"sh run.sh {which}\"\n"));
    sandbox.user_config(&format!("[project]\n{}", own.concat()));
    sandbox.commit_file("run.sh", "ls lib 2>/dev/null; echo all is well\n", "commands");
    // More notes than git keeps without folders, and what is no note.
    let mut many = String::from("commit refs/notes/cowork\ncommitter A <a@b> 1 +0000\ndata 0\n");
    for n in 0..400 {
        many += &format!("M 100644 inline {n:040x}\ndata 1\nx\n");
        many += &format!("M 100644 inline {}/{n:038x}\ndata 1\nx\n", ["aa", "0b", "7f"][n % 3]);
    }
    many += "M 100644 inline README\ndata 1\nx\n";
    sandbox.write("many", &many);
    let import = sandbox.command("sh").args(["-c", "git fast-import --quiet < many"]).status();
    assert!(import.unwrap().success());
    std::fs::remove_file(sandbox.path("many")).unwrap();
    let before = sandbox.git(&["notes", "--ref", "cowork", "list"]);
    let tip = sandbox.git(&["rev-parse", NOTES]);

    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let named = logs(&sandbox, "cowork/todo");
    assert_eq!(named.len(), 5 * 3, "{named:?}");
    let after = sandbox.git(&["notes", "--ref", "cowork", "list"]);
    for line in before.lines() {
        assert!(after.contains(line), "{line} is lost");
    }
    assert_eq!(after.lines().count(), before.lines().count() + named.len());
    for log in &named {
        let text = sandbox.git(&["notes", "--ref", "cowork", "show", log]);
        assert!(text.starts_with("$ sh run.sh ") && text.contains("all is well"), "{text}");
    }
    assert_eq!(sandbox.git(&["show", &format!("{NOTES}:README")]), "x");
    let commits = sandbox.git(&["rev-list", "--count", &format!("{tip}..{NOTES}")]);
    assert_eq!(commits, "5", "one commit of notes a task");
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}
