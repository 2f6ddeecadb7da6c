//! What the coding stage costs besides the model and the person: five tasks with a commit each, and
//! the stage's own commit, next to git committing the same paths. The cost should follow how many
//! paths a task changes, not how many files the repository has. With loose and with packed refs.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its numbers")]

#[path = "../tests/it/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the tests use more of it")]
mod support;

#[expect(dead_code, reason = "other benchmarks use more of it")]
mod measure;

use measure::{compared, cowork, files_of, git, ratio, recording, repository, time};
use support::copied::Refs;
use support::{Sandbox, todo};

/// Files of the repository, and how many each task adds.
const SIZES: [(usize, &[usize]); 4] =
    [(10, &[1]), (1_000, &[1, 10, 100]), (10_000, &[1, 10, 100]), (100_000, &[1])];
/// What is wanted, as a multiple of what git takes.
const TARGET: f64 = 2.0;
const SAMPLES: usize = 5;

fn main() {
    for (size, changes) in SIZES {
        let sandbox = repository(size);
        for changes in changes {
            for kept in [Refs::Loose, Refs::Packed] {
                coding(&sandbox, size, *changes, kept);
            }
        }
    }
}

fn coding(sandbox: &Sandbox, size: usize, changes: usize, kept: Refs) {
    let added = |task| files_of(task, changes, (size / 100).max(1));
    let replay = recording(sandbox, added);
    let auto = ["--review", "auto", "--replay", &replay, "--stop-after"];
    let name = format!("todo-{changes}-{kept:?}").to_lowercase();
    let new = ["new", "-b", "main", "-n", &name, "a todo list"];
    time(vec![cowork(sandbox, &[&new[..], &auto, &["plan"]].concat())]);
    let plan = sandbox.git(&["rev-parse", "HEAD"]);
    let resume = [&["resume"], &auto[..], &["coding"]].concat();
    let aside = sandbox.root().join(format!("aside-{name}"));
    std::fs::create_dir(&aside).unwrap();
    let moved = std::cell::Cell::new(0);
    let back = || {
        // They are moved away, not deleted: where many files were just deleted, ext4 looks long for
        // an inode for each new one, and only one side makes new ones.
        for path in (0..todo::TASKS.len()).flat_map(added) {
            moved.set(moved.get() + 1);
            std::fs::rename(sandbox.path(&path), aside.join(moved.get().to_string())).ok();
        }
        sandbox.git(&["reset", "-q", "--hard", &plan]);
        sandbox.git(&["update-ref", "-d", &format!("refs/tags/cowork/{name}/coding")]);
        if kept == Refs::Packed {
            sandbox.git(&["pack-refs", "--all"]);
        }
        sandbox.git(&["status"]);
    };
    time(vec![cowork(sandbox, &resume)]);
    let coded = sandbox.git(&["rev-parse", "HEAD"]);
    let by_git = || {
        back();
        let commits = (0..todo::TASKS.len()).flat_map(|task| {
            let paths = added(task);
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            sandbox.git(&[&["restore", "--source", &coded, "--"], &paths[..]].concat());
            let with = |first: &[&str]| git(sandbox, &[first, &["--"], &paths].concat());
            [with(&["add"]), with(&["commit", "-q", "--only", "-m", "task"])]
        });
        commits.collect()
    };
    let [ours, start_up, theirs] = compared(
        SAMPLES,
        [
            &|| {
                back();
                vec![cowork(sandbox, &resume)]
            },
            &|| vec![cowork(sandbox, &["--version"])],
            &by_git,
        ],
    );
    let what = format!("5 tasks of {changes} in {size} files, {kept:?}");
    ratio(&what, ours - start_up, "git add && commit, 5 times", theirs, TARGET);
    sandbox.git(&["reset", "-q", "--hard", &plan]);
}
