//! A model that would throw work away.

use serde_json::json;

use super::{Belongings, designed, scatter};
use crate::support::{Reply, at, todo};

/// Pain 1: what is uncommitted is not the model's to reset, stash or clean.
#[test]
fn a_model_that_resets_stashes_or_cleans_with_git_is_refused() {
    let base = designed();
    base.cowork(&["resume", "--review", "auto", "--stop-after", "plan"]).exits(0);
    scatter(&base);
    let uncommitted = base.git(&["status", "--porcelain", "--ignored"]);
    for command in [
        "git reset --hard",
        "git checkout -- . ; git clean -fdx",
        "sh -c 'git stash -u'",
        "env git reset --hard HEAD~3",
        "eval 'git reset --hard'",
        "git -C . restore --staged --worktree .",
        "true && (git switch -f main)",
        "echo $(git clean -fdx)",
    ] {
        let sandbox = base.fork();
        let run = Reply::call("run_command", json!({"command": command}));
        let first = at("coding", "actor").task("TASK-001");
        sandbox.server.on(first.clone().turn(1), run);
        sandbox.server.on(first.clone().turn(2), todo::task_work("TASK-001"));
        sandbox.server.on(first.turn(3), Reply::text("Done."));
        let before = Belongings::of(&sandbox);
        let told = sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "coding"]);
        before.assert_kept(&sandbox, &format!("{command}\n{}", told.stderr));
        sandbox.git(&["fsck", "--strict", "--no-dangling"]);
        assert_eq!(told.code, 0, "{command}: {}", told.stderr);
        assert_eq!(sandbox.git(&["status", "--porcelain", "--ignored"]), uncommitted, "{command}");
    }
}
