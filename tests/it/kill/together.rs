//! A signal for everybody: Ctrl-C and `timeout` reach the program and the git that is at work. It
//! leaves a clean tree at whichever git child it comes, as it does between two steps.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::Sandbox;
use crate::support::wrapper::{How, Side, children_killed_at, children_of};

use super::{RESUME, begun, outcome_of};

const NEW: [&str; 8] =
    ["new", "-n", "todo", "a todo list", "--review", "auto", "--stop-after", "idea"];

/// One run that everybody in the group is stopped in, at its `n`th git child, and one that goes on.
fn stopped_at(base: &Sandbox, n: u64, side: Side, how: How, undisturbed: &Sandbox) {
    let when = format!("git child {n}, {side:?}, {how:?}");
    let sandbox = base.fork();
    children_killed_at(&sandbox, n, side, how);
    let outcome = sandbox.cowork(&NEW);
    children_of(&sandbox);
    assert!([0, 130].contains(&outcome.code), "{when}: exit {}\n{}", outcome.code, outcome.stderr);
    let status = sandbox.git(&["status", "--porcelain"]);
    assert_eq!(status, "?? notes.txt", "{when}\n{}", outcome.stderr);
    let head = sandbox.git(&["symbolic-ref", "--short", "HEAD"]);
    let begun = begun(&sandbox);
    assert_eq!(head, if begun { "cowork/todo" } else { "main" }, "{when}");
    let resume = [&RESUME[..], &["--stop-after", "idea"]].concat();
    let again = sandbox.cowork(if begun { &resume } else { &NEW });
    assert_eq!(again.code, 0, "{when}\n{}\nthen\n{}", outcome.stderr, again.stderr);
    let (found, expected) = (outcome_of(&sandbox), outcome_of(undisturbed));
    assert_eq!((found.0, found.2), (expected.0, expected.2), "{when}");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? notes.txt", "{when}");
}

#[test]
fn a_signal_for_the_whole_group_leaves_a_clean_tree_at_every_git_child() {
    let base = Sandbox::new();
    base.write("notes.txt", "mine\n");
    let undisturbed = base.fork();
    children_killed_at(&undisturbed, 0, Side::Before, How::Kill);
    undisturbed.cowork(&NEW).exits(0);
    let children = children_of(&undisturbed);
    assert!(children > 5, "only {children} git children");
    let next = AtomicU64::new(1);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n > children {
                        break;
                    }
                    let side = [Side::Before, Side::After][usize::try_from(n % 2).unwrap()];
                    let how = [How::GroupTerminate, How::GroupInterrupt];
                    let how = how[usize::try_from(n / 2 % 2).unwrap()];
                    let run = || stopped_at(&base, n, side, how, &undisturbed);
                    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
                        failed.lock().unwrap().push(n);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "at git children {failed:?} of {children}");
}
