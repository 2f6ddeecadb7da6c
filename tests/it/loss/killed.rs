//! Killed in the middle of going back or putting away, and done again.

use super::{Belongings, designed, scatter};
use crate::support::Sandbox;
use crate::support::kill::{abort_at, points};

/// Kills a command at each point it passes, then does it again and takes it back.
#[track_caller]
fn at_every_point_of(base: &Sandbox, args: &[&str], again: &[&str]) {
    let mut undisturbed = base.fork();
    let (outcome, points) = points(&mut undisturbed, args);
    outcome.exits(0);
    assert!(points.len() >= 2, "too few points to kill at: {points:?}");
    for point in points {
        let mut sandbox = base.fork();
        let before = Belongings::of(&sandbox);
        abort_at(&mut sandbox, args, &point).was_killed();
        before.assert_kept(&sandbox, &format!("killed at {point}"));
        sandbox.git(&["fsck", "--strict", "--no-dangling"]);
        let told = sandbox.cowork(again);
        before.assert_kept(&sandbox, &format!("{point}, again\n{}", told.stderr));
        sandbox.git(&["fsck", "--strict", "--no-dangling"]);
        assert!(matches!(told.code, 0 | 5), "{point}: {}", told.stderr);
        assert!(!sandbox.exists(".git/index.lock"), "{point}");
    }
}

fn with_work() -> Sandbox {
    let sandbox = designed();
    scatter(&sandbox);
    sandbox.write(".cowork/sessions/todo/design.md", "A design of mine.\n");
    sandbox
}

#[test]
fn a_revert() {
    let args = ["revert", "--to", "prd", "--no-run"];
    at_every_point_of(&with_work(), &args, &args);
}

#[test]
fn an_undo() {
    let base = with_work();
    base.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
    base.write(".cowork/sessions/todo/idea.md", "An idea of mine.\n");
    at_every_point_of(&base, &["undo"], &["restore", "todo", "1"]);
}

#[test]
fn archiving() {
    at_every_point_of(&with_work(), &["archive", "todo"], &["archive", "todo"]);
}

#[test]
fn deleting() {
    at_every_point_of(&with_work(), &["delete", "todo", "--yes"], &["delete", "todo", "--yes"]);
}
