//! What a person is told where a run has delivered.

use serde_json::json;

use crate::support::todo::DELIVERY;
use crate::support::{Reply, Sandbox, at};

const RESUME: [&str; 3] = ["resume", "--review", "auto"];

/// What stands on a terminal from the heading of the summary on.
#[track_caller]
fn summary(sandbox: &Sandbox, args: &[&str]) -> String {
    let (code, seen) = sandbox.screen(100, args).ends();
    assert_eq!(code, 0, "{seen}");
    let at = seen.find("━━ delivered ━━ ").unwrap_or_else(|| panic!("no summary in {seen}"));
    seen[at..].to_owned()
}

#[test]
fn a_terminal_shows_a_summary_and_the_commands_that_come_next() {
    let sandbox = Sandbox::stopped_after("check");
    let report = format!("{DELIVERY}\n## How to try it\n\n`sh todo.sh list` lists them.\n");
    let save = Reply::call("save_delivery_report", json!({"content": report}));
    sandbox.server.on(at("delivery", "actor").turn(1), save);
    let seen = summary(&sandbox, &RESUME);
    for line in [
        "━━ delivered ━━ Add a todo list for the terminal ━━",
        "  3 of 3 requirements met    REQ-001 (review)  REQ-002 (review)  REQ-003 (review)\n",
        "  3 criteria                 0 by a test, 3 by review\n",
        "  5 files, +5 −0             lib/add.sh  lib/done.sh  lib/list.sh  lib/store.sh  todo.sh\n",
        "  tests                      not run: no test command is known\n",
        "  try it      sh todo.sh list\n",
        "  read it     git cowork show report\n",
        "  take it     git cowork merge\n",
        "  change it   git cowork modify \"what to change\"",
    ] {
        assert!(seen.contains(line), "{line} in {seen}");
    }
    // Without a remote nothing can be opened there, and nothing was rejected.
    assert!(!seen.contains("or review") && !seen.contains("rejected"), "{seen}");
    // Each does what it is there for.
    assert!(sandbox.cowork(&["show", "report"]).exits(0).stdout.contains("Add a todo list"));
    let copy = sandbox.fork();
    copy.script_small_change("lib/add.sh", "at once");
    copy.cowork(&["modify", "what to change", "--review", "auto"]).exits(0);
    sandbox.cowork(&["merge"]).exits(0);
}

#[test]
fn a_report_without_a_command_offers_none() {
    let sandbox = Sandbox::stopped_after("check");
    let seen = summary(&sandbox, &RESUME);
    assert!(!seen.contains("try it"), "{seen}");
}

#[test]
fn a_change_request_has_its_summary() {
    let sandbox = Sandbox::delivered();
    sandbox.script_small_change("lib/add.sh", "at once");
    let seen = summary(&sandbox, &["modify", "be quick", "--review", "auto"]);
    assert!(seen.contains("  1 file, +1 −1 ") && seen.contains("  lib/add.sh\n"), "{seen}");
    assert!(seen.contains("  take it     git cowork merge\n"), "{seen}");
}

#[test]
fn where_no_terminal_is_the_end_is_told_as_before() {
    let sandbox = Sandbox::stopped_after("check");
    let told = sandbox.cowork(&RESUME).exits(0);
    assert!(told.stderr.contains("✓ session completed · "), "{}", told.stderr);
    let look = "todo is delivered; look at it: git cowork show todo report\n";
    assert!(told.stderr.ends_with(look), "{}", told.stderr);
    assert!(!told.stderr.contains("━━") && told.stdout.is_empty(), "{}", told.stderr);
    let (code, seen) = sandbox.screen(100, &[&RESUME[..], &["todo", "--quiet"]].concat()).ends();
    assert!(code == 0 && seen.trim().starts_with("✓ session completed · "), "{seen}");
    assert_eq!(seen.trim().lines().count(), 1, "{seen}");
}
