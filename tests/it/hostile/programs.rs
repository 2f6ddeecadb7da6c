//! Configuration and programs in the tree that a person's git would read and run outside of the
//! sandbox: commands leave them as they are.

use super::{at_every_level, results, sandbox};
use crate::support::Sandbox;

/// Runs a command that changes these files; all of them are restored, and git runs nothing of it.
#[track_caller]
fn is_restored(sandbox: &Sandbox, command: &str, paths: &[&str]) {
    let told = results(sandbox, &[command], 20).remove(0);
    assert!(told.starts_with("exit 0"), "{told}");
    for path in paths {
        assert!(told.contains(&format!("{path} changed and was restored")), "{path}: {told}");
    }
    sandbox.git(&["status"]);
    sandbox.git(&["add", "--all"]);
    assert!(!sandbox.exists("../ran"), "git ran a command's program");
}

#[test]
fn configuration_that_is_included_but_not_there_yet_is_not_made() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        sandbox.write("lib/team.gitconfig", "[include]\n\tpath = local.inc\n");
        sandbox.commit_all("configuration");
        sandbox.git(&["config", "include.path", "../lib/team.gitconfig"]);
        sandbox.git(&["config", "includeIf.onbranch:main.path", "../lib/main.inc"]);
        let ran = sandbox.root().join("ran");
        let made = format!("printf '[core]\\n\\tfsmonitor = \"touch {}\"\\n'", ran.display());
        let command = format!("{made} >lib/local.inc; {made} >lib/main.inc");
        is_restored(&sandbox, &command, &["lib/local.inc", "lib/main.inc"]);
        assert!(!sandbox.exists("lib/local.inc") && !sandbox.exists("lib/main.inc"));
        sandbox.git(&["switch", "-q", "main"]);
        assert!(!sandbox.exists("../ran"), "git ran a command's program");
    });
}
