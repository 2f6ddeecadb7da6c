//! Old attempts and drafts are dropped on demand, and nothing that somebody may still need.

use std::fs::File;

use crate::support::Sandbox;

const ATTEMPTS: &str = "refs/cowork/attempts/todo/";

/// A session after its idea, with `number` attempts that hold nothing but what was recorded.
fn with_attempts(number: usize) -> Sandbox {
    let sandbox = Sandbox::stopped_after("idea");
    for _ in 0..number {
        sandbox.cowork(&["revert", "--to", "idea", "--no-run"]).exits(0);
    }
    sandbox
}

fn numbers(sandbox: &Sandbox) -> Vec<String> {
    sandbox.refs(ATTEMPTS).iter().map(|name| name.replace(ATTEMPTS, "")).collect()
}

#[test]
fn prune_keeps_the_newest_five_attempts_and_prints_what_brings_the_others_back() {
    let sandbox = with_attempts(7);
    let before = sandbox.all_refs();
    let dry = sandbox.cowork(&["prune", "--dry-run"]).exits(0).says("would drop 2 refs");
    assert_eq!(sandbox.all_refs(), before);

    let pruned = sandbox.cowork(&["prune"]).exits(0).says("dropped 2 refs").says("update-ref");
    assert_eq!(pruned.stdout, dry.stdout);
    assert_eq!(numbers(&sandbox), ["3", "4", "5", "6", "7"]);
    for line in pruned.stdout.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[0], "drop", "{line}");
        sandbox.git(&["update-ref", words[1], words[2]]);
    }
    assert_eq!(sandbox.all_refs(), before);
    sandbox.cowork(&["restore", "todo", "1"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn prune_keeps_what_is_younger_than_the_age() {
    let mut sandbox = with_attempts(0);
    let revert = ["revert", "--to", "idea", "--no-run"];
    sandbox.set_env("GIT_COMMITTER_DATE", "2020-01-01T12:00:00Z");
    sandbox.cowork(&revert).exits(0);
    sandbox.set_env("GIT_COMMITTER_DATE", "");
    for _ in 0..6 {
        sandbox.cowork(&revert).exits(0);
    }
    for none in [["prune", "--older-than", "9999d"], ["prune", "--keep", "7"]] {
        sandbox.cowork(&none).exits(0).says("nothing to drop");
    }
    let dry = |age: &str| {
        let lines = sandbox.cowork(&["prune", "--dry-run", "--json", "--older-than", age]);
        let lines = lines.exits(0).json_lines();
        let gone = lines.iter().filter(|line| line["dropped"] == true);
        gone.map(|line| line["ref"].as_str().unwrap().replace(ATTEMPTS, "")).collect::<Vec<_>>()
    };
    for age in ["30d", "2w", "12h", "30.days.ago", "2021-06-01"] {
        assert_eq!(dry(age), ["1"], "{age}");
    }
    assert_eq!(dry("now"), ["2", "1"]);
    for wrong in ["30x", "30", "nonsense", ""] {
        sandbox.cowork(&["prune", "--older-than", wrong]).exits(2).says("age");
    }
    sandbox.cowork(&["prune", "--keep", "4"]).exits(2).says("newest 5 are always kept");
    sandbox.cowork(&["prune", "--older-than", "30d"]).exits(0);
    assert_eq!(numbers(&sandbox), ["2", "3", "4", "5", "6", "7"]);
}

#[test]
fn prune_drops_an_attempt_with_uncommitted_edits_only_when_it_is_named() {
    let sandbox = with_attempts(0);
    sandbox.write("README.md", "# Mine\n");
    sandbox.cowork(&["revert", "--to", "idea", "--no-run"]).exits(0);
    sandbox.git(&["checkout", "-q", "README.md"]);
    for _ in 0..6 {
        sandbox.cowork(&["revert", "--to", "idea", "--no-run"]).exits(0);
    }
    let pruned = sandbox.cowork(&["prune"]).exits(0);
    assert!(pruned.stdout.contains("keep refs/cowork/attempts/todo/1 "), "{}", pruned.stdout);
    assert!(pruned.stdout.contains("uncommitted edits"), "{}", pruned.stdout);
    assert_eq!(numbers(&sandbox), ["1", "3", "4", "5", "6", "7"]);
    assert_eq!(sandbox.blob("refs/cowork/attempts/todo/1", "README.md"), "# Mine\n");

    // By its full name, and by a short one although it is among the newest.
    sandbox.cowork(&["prune", "refs/cowork/attempts/todo/1", "attempts/todo/7"]).exits(0);
    assert_eq!(numbers(&sandbox), ["3", "4", "5", "6"]);
    sandbox.cowork(&["prune", "attempts/todo/1"]).exits(5).says("there is no");
    sandbox.cowork(&["prune", "refs/heads/main"]).exits(2).says("not an attempt or a draft");
    sandbox.assert_sound();
}

#[test]
fn prune_drops_drafts_of_finished_stages_but_no_draft_in_progress() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    let drafts = "refs/cowork/drafts/todo/";
    assert_eq!(sandbox.refs(drafts), [format!("{drafts}idea"), format!("{drafts}prd")]);
    let before = sandbox.all_refs();
    let named = format!("{drafts}prd");
    let refused = sandbox.cowork(&["prune", &named, "drafts/todo/idea"]).exits(5);
    refused.says("stage in progress").says("git cowork resume todo");
    assert_eq!(sandbox.all_refs(), before);
    sandbox.cowork(&["prune", "drafts/todo/idea"]).exits(0);
    assert_eq!(sandbox.refs(drafts), [named]);

    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let all = sandbox.refs(drafts).len();
    assert!(all > 5, "{all} drafts");
    sandbox.cowork(&["prune"]).exits(0);
    assert_eq!(sandbox.refs(drafts).len(), 5);
    sandbox.cowork(&["verify"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn prune_refuses_a_session_that_a_run_holds() {
    let sandbox = with_attempts(6);
    let before = sandbox.all_refs();
    let lock = File::open(sandbox.path(".git/cowork/sessions/todo/lock")).unwrap();
    lock.lock().unwrap();
    sandbox.cowork(&["prune"]).exits(5).says("'todo' is locked");
    assert_eq!(sandbox.all_refs(), before);
    sandbox.cowork(&["prune", "--dry-run"]).exits(0).says("would drop 1 ref");
    drop(lock);
    sandbox.cowork(&["prune", "--session", "other"]).exits(0).says("nothing to drop");
    sandbox.cowork(&["prune"]).exits(0);
}

#[test]
fn a_killed_prune_has_dropped_all_or_nothing() {
    let mut sandbox = with_attempts(7);
    for (point, left) in [("prune.before-refs", 7), ("prune.after-refs", 5)] {
        sandbox.set_env("COWORK_TEST_ABORT_AT", point);
        sandbox.cowork(&["prune"]).was_killed();
        assert_eq!(numbers(&sandbox).len(), left, "{point}");
    }
    sandbox.set_env("COWORK_TEST_ABORT_AT", "");
    sandbox.cowork(&["prune"]).exits(0).says("nothing to drop");
    sandbox.assert_sound();
}

#[test]
fn prune_asks_on_a_terminal() {
    let sandbox = with_attempts(6);
    let mut terminal = sandbox.terminal(&["prune"]);
    terminal.sees("attempts/todo/1");
    terminal.sees("drop 1 ref?");
    terminal.types("n");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 1, "{rest}");
    assert_eq!(numbers(&sandbox).len(), 6);
    let mut terminal = sandbox.terminal(&["prune"]);
    terminal.sees("drop 1 ref?");
    terminal.types("y");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(numbers(&sandbox).len(), 5);
}
